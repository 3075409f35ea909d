"""Describes the Python package: reference pages from its docstrings.

    python tools/describe_python.py              prints what lacks an example
    python tools/describe_python.py --refresh    writes docs/python

A page has the names of one family (``python_families``); which names are public is
said by the ``__all__`` of the package and of its public modules. Every function, class
and method has a docstring with an example, which a test runs on each device. In
examples ``gpuarray`` and ``np`` are imported, the context is the default one, and
``print(a)`` shows elements alone: the same on every device.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import gpuarray
import numpy as np
from gpuarray._names import MODULES, OF_NUMPY, PLACE_OF, SUBMODULES
from gpuarray._ufunc.elementwise import Ufunc
from pages import write_pages
from python_families import CONSTANT, ELSEWHERE, GIVEN, PAGES

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "docs" / "python"
REFRESH = "python tools/describe_python.py --refresh"


@dataclass(frozen=True)
class Entry:
    """Something public: its names, the first one first, and what it is."""

    names: tuple[str, ...]
    value: Any
    module: str

    @property
    def name(self) -> str:
        """The name that it is listed by."""
        return self.names[0]

    @property
    def text(self) -> str:
        """Its docstring; that of a constant says its value."""
        if self.module == CONSTANT:
            return f"`{_value_text(self)}`"
        return inspect.getdoc(self.value) or ""

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring."""
        return self.text.split("\n\n")[0].replace("\n", " ")


# ---- what is public ----


def _is_constant(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, int | float | str | np.generic)
        or (isinstance(value, type) and issubclass(value, np.generic))
    )


def _value_text(constant: Entry) -> str:
    """Return the value of a number, NumPy's name of anything else."""
    value = constant.value
    if value is None or isinstance(value, int | float | str | np.generic):
        return repr(value)
    name = constant.name.removeprefix("gpuarray.")
    return f"numpy.{getattr(value, '__name__', name)}"


def _listed() -> Iterator[tuple[str, Any, str]]:
    """Every public name, its value, and the module that says its page."""
    for name in gpuarray.__all__:
        value = getattr(gpuarray, name)
        if isinstance(value, Ufunc):
            yield f"gpuarray.{name}", value, "elementwise"
        elif not isinstance(value, ModuleType):
            place = PLACE_OF.get(name, "")
            is_constant = name in OF_NUMPY or _is_constant(value)
            place = CONSTANT if is_constant else place
            yield f"gpuarray.{name}", value, place
    for module in (*MODULES, *SUBMODULES):
        found = import_module(f"gpuarray.{module}")
        for name in found.__all__:
            if not _is_constant(getattr(found, name)):
                yield f"gpuarray.{module}.{name}", getattr(found, name), module


def entries() -> list[Entry]:
    """What is public, each once with all its names: first that of its definition."""
    names: dict[int | str, list[str]] = {}
    values: dict[int | str, tuple[Any, str]] = {}
    for name, value, module in _listed():
        key = name if module == CONSTANT else id(value)
        names.setdefault(key, []).append(name)
        values.setdefault(key, (value, module))
    return [
        Entry(_own_name_first(names[key], value), value, module)
        for key, (value, module) in values.items()
    ]


def _own_name_first(names: list[str], value: Any) -> tuple[str, ...]:
    own = getattr(value, "__name__", "").strip("_")
    first = [name for name in names if name.rpartition(".")[2].strip("_") == own]
    return tuple(dict.fromkeys([*first[:1], *names]))


@cache
def _classes() -> set[type]:
    """The public classes."""
    return {value for _, value, _ in _listed() if isinstance(value, type)}


def members(entry: Entry) -> list[Entry]:
    """The public members of a class of ours, each once with all its names.

    Those of a base class that is public itself are described there.
    """
    if not isinstance(entry.value, type) or issubclass(entry.value, BaseException):
        return []
    names: dict[int, list[str]] = {}
    found: dict[int, Any] = {}
    for name in dir(entry.value):
        if name[0] == "_":
            continue
        owner = next(kind for kind in entry.value.__mro__ if name in vars(kind))
        if owner is not entry.value and owner in _classes():
            continue
        raw = vars(owner)[name]
        if owner.__module__.partition(".")[0] == "gpuarray":
            value = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
            names.setdefault(id(value), []).append(f"{entry.name}.{name}")
            found[id(value)] = value
    return [
        Entry(_own_name_first(names[key], value), value, entry.module)
        for key, value in found.items()
    ]


def is_of_the_table(entry: Entry) -> bool:
    """Whether a method is made from a row of the table, which describes it."""
    return getattr(entry.value, "__module__", "") == "gpuarray._ufunc.operators"


# ---- what is missing ----


def missing() -> list[str]:
    """Each public name without a docstring or without an example, and what it lacks."""
    lacks = []
    for entry in entries():
        if entry.module != CONSTANT:
            lacks += _lacking(entry)
            for member in members(entry):
                lacks += _member_lacking(entry, member)
    return lacks


def _lacking(entry: Entry) -> list[str]:
    if not entry.text:
        return [f"{entry.name}: a docstring"]
    owner = entry.name.rpartition(".")[0]
    is_excused = _is_error(entry.value) or {entry.name, owner} & ELSEWHERE.keys()
    has_example = ">>> " in entry.text or is_excused
    return [] if has_example else [f"{entry.name}: an example"]


def _member_lacking(entry: Entry, member: Entry) -> list[str]:
    if inspect.isfunction(member.value):
        return [] if is_of_the_table(member) else _lacking(member)
    if isinstance(member.value, property):
        return [] if member.text else [f"{member.name}: a docstring"]
    field = member.name.rpartition(".")[2]
    told = f"``{field}``" in entry.text
    return (
        [] if told else [f"{member.name}: a word about it in {entry.name}'s docstring"]
    )


# ---- pages ----


_MARKUP = r"[*<]|(?<!\w)_|_(?!\w)"  # characters that mean something in Markdown


def _prose(text: str) -> str:
    """Paragraphs of a docstring as Markdown."""
    parts = re.split(r"(``.*?``)", text, flags=re.DOTALL)
    parts[::2] = [re.sub(_MARKUP, r"\\\g<0>", part) for part in parts[::2]]
    parts[1::2] = [part[1:-1] for part in parts[1::2]]
    return "".join(parts)


def _body(text: str) -> list[str]:
    """A docstring as Markdown, its examples as code."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith((">>> ", "    ")):
            language = "pycon" if paragraph.startswith(">>> ") else "python"
            lines += [f"```{language}", textwrap.dedent(paragraph), "```", ""]
        else:
            lines += [re.sub("::$", ":", _prose(paragraph)), ""]
    return lines


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
    text = stars.get(parameter.kind, "") + parameter.name
    note, default = parameter.annotation, parameter.default
    has_note = note is not parameter.empty and note != "Any"
    text += f": {note}" if has_note else ""
    if default is parameter.empty:
        return text
    shown = default.__name__ if isinstance(default, type) else repr(default)
    return f"{text} = {shown}" if has_note else f"{text}={shown}"


def _signature(name: str, value: Any, is_method: bool = False) -> list[str]:
    """How something is called, in lines of at most 88 columns."""
    signature = inspect.signature(value)
    listed = list(signature.parameters.values())[is_method:]
    parts: list[str] = []
    for before, one in zip([None, *listed], listed, strict=False):
        last = before.kind if before else None
        if last is one.POSITIONAL_ONLY and one.kind is not last:
            parts.append("/")
        if one.kind is one.KEYWORD_ONLY and last not in (one.kind, one.VAR_POSITIONAL):
            parts.append("*")
        parts.append(_parameter(one))
    if listed and listed[-1].kind is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    note = signature.return_annotation
    gives = "" if note in (signature.empty, "Any", None, "None") else f" -> {note}"
    line = f"{name}({', '.join(parts)}){gives}"
    if len(line) <= 88:
        return [line]
    return [f"{name}(", *(f"    {part}," for part in parts), f"){gives}"]


def _also(entry: Entry) -> list[str]:
    others = ", ".join(f"`{name}`" for name in entry.names[1:])
    lines = [f"Also {others}.", ""] if others else []
    if _is_error(entry.value):
        bases = " and ".join(f"`{base.__name__}`" for base in entry.value.__bases__)
        lines += [f"A kind of {bases}.", ""]
    return lines


def _section(entry: Entry, is_method: bool = False) -> list[str]:
    value, name = entry.value, entry.name
    short = name.removeprefix("gpuarray.")
    lines = [f"{'###' if is_method else '##'} `{short}`", ""]
    if isinstance(value, Ufunc):
        first, _, example = entry.text.split("\n\n")
        return [*lines, *_also(entry), *_body(f"{first}\n\n{example}")]
    given = isinstance(value, type) and value.__name__ in GIVEN
    if callable(value) and not given and not _is_error(value):
        called = short if is_method else name
        lines += ["```python", *_signature(called, value, is_method), "```", ""]
    lines += [*_also(entry), *_body(entry.text)]
    call = vars(value).get("__call__") if isinstance(value, type) else None
    if call is not None and value is not Ufunc:
        called = _signature("kernel", call, is_method=True)
        lines += ["An object of it is called:", "", "```python", *called, "```", ""]
        lines += _body(inspect.getdoc(call) or "")
    return lines


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _anchors(listed: list[Entry]) -> dict[str, str]:
    """The fragment of each section's heading, as GitHub makes it."""
    before: Counter[str] = Counter()
    found = {}
    for entry in listed:
        heading = entry.name.removeprefix("gpuarray.").lower()
        plain = re.sub(r"[^\w\- ]", "", heading)
        found[entry.name] = f"{plain}-{before[plain]}" if before[plain] else plain
        before[plain] += 1
    return found


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [head, ("---",) * len(head), *rows]
    return [*(f"| {' | '.join(row)} |" for row in lines), ""]


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|")


def _class_parts(entry: Entry) -> list[str]:
    """What a class has: a table of its properties, and a section for each method."""
    inside = members(entry)
    kept = [one for one in inside if isinstance(one.value, property)]
    table = [one for one in inside if is_of_the_table(one)]
    methods = [one for one in inside if inspect.isfunction(one.value)]
    short = entry.name.removeprefix("gpuarray.")
    lines = []
    if kept:
        rows = [(_names_within(one), _cell(one.summary)) for one in kept]
        lines += _table((f"property of {short}", ""), rows)
    if table:
        names = ", ".join(f"`{one.name.rpartition('.')[2]}`" for one in table)
        said = "Methods that are [elementwise functions](elementwise.md) of the array"
        lines += [f"{said}: {names}.", ""]
    for one in methods:
        if one not in table:
            lines += _section(one, is_method=True)
    return lines


def _names_within(entry: Entry) -> str:
    return ", ".join(f"`{name.rpartition('.')[2]}`" for name in entry.names)


_KINDS = {"?": "bool", "bBhHiIlLqQ": "integers", "efd": "floats", "FD": "complex"}


def _takes(ufunc: Ufunc) -> str:
    """The kinds of dtypes that there are loops for."""
    first = {text[0] for text in ufunc.types}
    kinds = [kind for letters, kind in _KINDS.items() if first & set(letters)]
    return ", ".join(kinds) or "all"


def _gives(ufunc: Ufunc) -> str:
    """The dtype of the result, in a word."""
    if ufunc.nout == 2:
        return "two arrays"
    pairs = {(text[0], text.split("->")[1][ufunc.row.output]) for text in ufunc.types}
    if ufunc.row.gives_complex:
        return "complex"
    if ufunc.row.result == "bool":
        return "bool"
    if pairs and all(taken in "efd" and given in "ilq" for taken, given in pairs):
        return "integers"
    has_parts = ufunc.row.gives_parts or any(
        taken in "FD" and given in "fd" for taken, given in pairs
    )
    return "that; of complex its parts'" if has_parts else "that"


def _ufunc_table(listed: list[Entry]) -> list[str]:
    rows, anchors = [], _anchors(listed)
    for entry in listed:
        ufunc = entry.value
        stem = ufunc.row.operator if ufunc.nout == 1 else None
        method = f"`__{stem}__`" if stem else ""
        link = f"[`{ufunc.__name__}`](#{anchors[entry.name]})"
        rows.append((link, method, _takes(ufunc), _gives(ufunc), _cell(entry.summary)))
    head = ("function", "operator", "takes", "gives", "")
    return [
        "Made from the rows of the table in `scalars/`. What each takes and gives is",
        'what NumPy\'s function does; "that" is the dtype of the operands together.',
        "Integers become floats where only those are named; float16 and bfloat16 are",
        "computed in float32 and rounded.",
        "",
        *_table(head, rows),
    ]


def page(name: str, listed: list[Entry]) -> str:
    """The text of one page."""
    about = PAGES[name]
    lines = [f"# {about.title}", ""]
    if about.about:
        lines += _body(inspect.getdoc(import_module(f"gpuarray.{about.about}")) or "")
    constants = [entry for entry in listed if entry.module == CONSTANT]
    described = [entry for entry in listed if entry.module != CONSTANT]
    if name == "elementwise":
        lines += _ufunc_table(described)
        lines += _section(Entry(("Ufunc",), Ufunc, "elementwise"))
        lines += _class_parts(Entry(("Ufunc",), Ufunc, "elementwise"))
    else:
        anchors = _anchors(described)
        rows = [
            (
                f"[`{entry.name.removeprefix('gpuarray.')}`](#{anchors[entry.name]})",
                _cell(entry.summary),
            )
            for entry in described
        ]
        lines += _table(("name", ""), rows)
    if constants:
        rows = [
            (f"`{one.name.removeprefix('gpuarray.')}`", one.text) for one in constants
        ]
        lines += _table(("constant", "is"), rows)
    for entry in described:
        lines += _section(entry)
        if isinstance(entry.value, type):
            lines += _class_parts(entry)
    return "\n".join(lines).rstrip("\n") + "\n"


def _families() -> dict[str, list[Entry]]:
    """The entries of each page, in the order of their names."""
    page_of = {
        module: name
        for name, about in PAGES.items()
        for module in about.modules.split()
    }
    found: dict[str, list[Entry]] = {name: [] for name in PAGES}
    for entry in entries():
        assert entry.module in page_of, f"{entry.module}: give it a page in PAGES"
        found[page_of[entry.module]].append(entry)
    return {
        name: sorted(
            listed, key=lambda entry: (entry.name.count("."), entry.name.lower())
        )
        for name, listed in found.items()
    }


def reference() -> dict[str, str]:
    """The text of each file of docs/python, by its name."""
    families = _families()
    summaries = {one.name: one.summary for of in families.values() for one in of}
    pages = {f"{name}.md": page(name, families[name]) for name in PAGES}
    lines = ["# The Python package", ""]
    lines += [f"Written from the docstrings by `{REFRESH}`."]
    lines += [
        "In examples `gpuarray` and `np`, NumPy, are imported; a test runs them on"
    ]
    lines += ["every device.", ""]
    lines += _body(gpuarray.__doc__ or "")
    for file, about in PAGES.items():
        lines += [f"## [{about.title}]({file}.md)", ""]
        described = [entry for entry in families[file] if entry.module != CONSTANT]
        rows = []
        for name, anchor in _anchors(described).items():
            link = f"[`{name}`]({file}.md#{anchor})"
            rows.append((link, _cell(summaries[name])))
        lines += _table(("name", ""), rows)
    return pages | {"README.md": "\n".join(lines).rstrip("\n") + "\n"}


if __name__ == "__main__":
    if "--refresh" in sys.argv[1:]:
        write_pages(REFERENCE, reference())
    else:
        sys.stdout.write("".join(f"{line}\n" for line in missing()))
