"""Describes the C library's interface, read from its headers.

    python tools/describe_api.py             the description as JSON
    python tools/describe_api.py --refresh   writes docs/abi and docs/reference anew

The description has each function with its parameters and text, each constant, enum and
struct, with the values and layouts that a C compiler gives them: those come from the
installed package ``gpuarray``, whose binding is compiled from the same headers.

``docs/abi/libgpuarray-4.json`` is the baseline that releases of this SOVERSION keep: a
test fails where something of it was removed or changed. What was added has to be
written to it by ``--refresh``, which refuses to write what would break it.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pages import write_pages
from pycparser import c_ast, c_generator, c_parser  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "libgpuarray-py" / "include"
SOVERSION = 4
BASELINE = ROOT / "docs" / "abi" / f"libgpuarray-{SOVERSION}.json"
REFERENCE = ROOT / "docs" / "reference"
REFRESH = "python tools/describe_api.py --refresh"
PROMISES = ("Ownership:", "Waiting:", "Failure:", "Threads:")

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DEFINE = re.compile(r"#define[ \t]+(\w+)[ \t]+[^\n]*")
_SECTION = re.compile(r"-{4} (.*) -{4}")
_NAME = re.compile(r"(\w+)\s*\(")
_KNOWN_TYPES = (
    "size_t ssize_t intptr_t uintptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t "
    "uint32_t uint64_t FILE"
)


def _binding_builder() -> Any:
    """The module that makes the binding, which knows how headers are marked."""
    path = ROOT / "libgpuarray-py" / "binding" / "build.py"
    spec = importlib.util.spec_from_file_location("build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- what stands in a header ----


@dataclass
class Item:
    """A comment on its own, or a declaration with the comment right before it."""

    text: str
    code: str = ""
    after: str = ""  # a comment behind the declaration, on its last line


@dataclass
class Header:
    """A public header: its name, its first comment and its items, in order."""

    name: str
    text: str
    items: list[Item] = field(default_factory=list)


def _plain(comment: str) -> str:
    """The text of a comment without its stars."""
    inner = comment.removeprefix("/*").removesuffix("*/")
    lines = [re.sub(r"^\s*\* ?", "", line) for line in inner.split("\n")]
    return "\n".join(line.strip() for line in lines).strip()


def _declaration_end(text: str, start: int) -> int:
    """Where the declaration that begins at ``start`` ends, behind its semicolon."""
    depth = 0
    at = start
    while at < len(text):
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if text[at - 1] == ";" and depth == 0:
            break
    return at


def _tokens(text: str) -> Iterator[tuple[str, str, bool]]:
    """Each comment and declaration: its kind, itself, whether a blank line precedes."""
    at = 0
    while at < len(text):
        space = len(text[at:]) - len(text[at:].lstrip())
        gap = text[at : at + space]
        at += space
        if at == len(text):
            return
        if text.startswith("/*", at):
            end, kind = text.index("*/", at) + 2, "comment"
            kind = kind if "\n" in gap or not gap or at == space else "after"
        elif text[at] == "#":
            end, kind = (text + "\n").index("\n", at), "code"
            behind = text.find("/*", at, end)
            end = end if behind < 0 else behind
        else:
            end, kind = _declaration_end(text, at), "code"
        yield kind, text[at:end].rstrip(), gap.count("\n") > 1
        at = end


def _items(text: str) -> list[Item]:
    items: list[Item] = []
    for kind, token, is_apart in _tokens(text):
        last = items[-1] if items else None
        if kind == "comment":
            items.append(Item(_plain(token)))
        elif kind == "after" and last is not None:
            last.after = _plain(token)
        elif last is not None and last.text and not last.code and not is_apart:
            last.code = token
        else:
            items.append(Item("", token))
    return items


def read_headers(include: Path = INCLUDE) -> list[Header]:
    """Every public header, each after those that it includes."""
    build = _binding_builder()
    found = []
    for path in build.headers(include):
        text = path.read_text()
        first = _COMMENT.match(text)
        header = Header(path.name, _plain(first.group()) if first else "")
        for marked in build.MARKED.findall(text):
            header.items += _items(marked)
        found.append(header)
    return found


# ---- what it declares ----


def _type_text(node: Any) -> str:
    """A type without the name that is declared of it."""
    node = copy.deepcopy(node)
    inner = node
    while not isinstance(inner, c_ast.TypeDecl):
        inner = inner.type
    inner.declname = None
    return str(c_generator.CGenerator().visit(node)).strip()


def _parameters(function: Any) -> list[dict[str, str]]:
    listed = []
    for parameter in function.args.params if function.args else ():
        if isinstance(parameter, c_ast.EllipsisParam):
            listed.append({"name": "...", "type": "..."})
        elif _type_text(parameter.type) != "void":
            listed.append(
                {"name": parameter.name or "", "type": _type_text(parameter.type)}
            )
    return listed


def _parse(headers: list[Header]) -> Any:
    known = "".join(f"typedef int {name};\n" for name in _KNOWN_TYPES.split())
    code = [
        _COMMENT.sub("", item.code)
        for header in headers
        for item in header.items
        if item.code and not item.code.startswith("#")
    ]
    return (
        c_parser.CParser()
        .parse(known + "\n".join(code))
        .ext[len(_KNOWN_TYPES.split()) :]
    )


class _Enums(c_ast.NodeVisitor):  # type: ignore[misc]
    """Collects the enumerators of each enum."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Enumerator(self, node: Any) -> None:
        """Note an enumerator."""
        self.found.append(node.name)


def _struct_name(node: Any) -> str | None:
    """The name by which a struct that is declared here, with its fields, is known."""
    inner = node.type.type if isinstance(node.type, c_ast.TypeDecl) else node.type
    if not isinstance(inner, c_ast.Struct) or inner.decls is None:
        return None
    return node.name if isinstance(node, c_ast.Typedef) else f"struct {inner.name}"


def _layout(ffi: Any, name: str) -> dict[str, Any]:
    kind = ffi.typeof(name)
    fields = [
        {
            "name": part,
            "type": about.type.cname,
            "offset": about.offset,
            "size": ffi.sizeof(about.type),
        }
        for part, about in kind.fields
    ]
    return {"size": ffi.sizeof(kind), "align": ffi.alignof(kind), "fields": fields}


def describe(include: Path = INCLUDE) -> dict[str, Any]:
    """The whole interface, with the values and layouts of the installed package."""
    from gpuarray._gpuarray import ffi, lib

    headers = read_headers(include)
    texts = function_texts(headers)
    functions, structs, enums = {}, {}, _Enums()
    for node in _parse(headers):
        enums.visit(node)
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl):
            functions[node.name] = {
                **texts[node.name],
                "result": _type_text(node.type.type),
                "parameters": _parameters(node.type),
            }
        elif isinstance(node, c_ast.Typedef | c_ast.Decl) and (
            name := _struct_name(node)
        ):
            structs[name] = _layout(ffi, name)
    names = [
        match[1]
        for header in headers
        for item in header.items
        if (match := _DEFINE.match(item.code))
    ]
    constants = {name: int(getattr(lib, name)) for name in [*names, *enums.found]}
    return {
        "soversion": SOVERSION,
        "functions": dict(sorted(functions.items())),
        "constants": dict(sorted(constants.items())),
        "structs": dict(sorted(structs.items())),
    }


def function_of(code: str) -> str | None:
    """The name of the function that a declaration declares, or None."""
    code = _COMMENT.sub("", code)
    if code.startswith(("#", "typedef", "struct", "enum")) and "{" in code:
        return None
    if code.startswith(("#", "typedef")):
        return None
    match = _NAME.search(code)
    return match[1] if match else None


def function_texts(headers: list[Header]) -> dict[str, dict[str, str]]:
    """The header and the text of each function.

    Functions that differ in one letter, that of their type, share the text that stands
    before the first of them: ``gpublas_hdot``, ``gpublas_sdot``.
    """
    found: dict[str, dict[str, str]] = {}
    for header in headers:
        first = ""
        for item in header.items:
            name = function_of(item.code)
            if name is None:
                continue
            first = name if item.text or not _is_variant(first, name) else first
            text = found[first]["text"] if first != name else item.text
            found[name] = {"header": header.name, "text": text}
    return found


def _is_variant(first: str, name: str) -> bool:
    """Whether two names of the same length differ in one letter."""
    differing = [pair for pair in zip(first, name, strict=False) if len({*pair}) == 2]
    return len(first) == len(name) and len(differing) == 1


# ---- the baseline ----


def baseline_of(api: dict[str, Any]) -> dict[str, Any]:
    """What of a description a release promises: no texts, no names of arguments."""
    functions = {
        name: {
            "result": about["result"],
            "parameters": [parameter["type"] for parameter in about["parameters"]],
        }
        for name, about in api["functions"].items()
    }
    return {**api, "functions": functions}


def _changed(kind: str, name: str, old: Any, new: Any) -> str:
    return (
        f"{kind} {name} changed:\n    was {json.dumps(old)}\n    is  {json.dumps(new)}"
    )


def _struct_breaks(name: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """A struct that begins with its size may grow at its end; no other may change."""
    first = old["fields"][0] if old["fields"] else {}
    may_grow = (
        first.get("name") in ("size", "struct_size") and new["size"] >= old["size"]
    )
    kept = new["fields"][: len(old["fields"])] if may_grow else new["fields"]
    lines = []
    if kept != old["fields"]:
        lines.append(_changed("struct", name, old["fields"], new["fields"]))
    elif not may_grow and (new["size"], new["align"]) != (old["size"], old["align"]):
        lines.append(_changed("struct", name, old["size"], new["size"]))
    return lines


def compare(old: dict[str, Any], new: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What of the old description the new one breaks, and what it adds; in words."""
    broken, added = [], []
    for group in ("functions", "constants", "structs"):
        kind = group.removesuffix("s")
        for name, was in old[group].items():
            now = new[group].get(name)
            if now is None:
                broken.append(f"{kind} {name} was removed")
            elif group == "structs":
                broken += _struct_breaks(name, was, now)
                if not _struct_breaks(name, was, now) and now != was:
                    added.append(f"struct {name} grew")
            elif now != was:
                broken.append(_changed(kind, name, was, now))
        added += [f"{kind} {name}" for name in new[group] if name not in old[group]]
    return broken, added


# ---- the reference ----


def _prose(text: str) -> str:
    """A comment's text as Markdown: stars mean themselves, but for those of code."""
    parts = text.split("`")
    parts[::2] = [part.replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)


def _code(lines: str) -> list[str]:
    return ["```c", lines, "```", ""]


def _page_item(item: Item) -> list[str]:
    name = function_of(item.code)
    section = _SECTION.fullmatch(item.text)
    if section and not item.code:
        return [f"## {section[1].capitalize()}", ""]
    if name:
        text = "\n".join(filter(None, (item.text, item.after)))
        return [f"### `{name}`", "", *_code(item.code), _prose(text), ""]
    text = [_prose(item.text), ""] if item.text else []
    if not item.code:
        return text
    after = f" /* {item.after} */" if item.after else ""
    return [*text, *_code(item.code + after)]


def _join_defines(lines: list[str]) -> list[str]:
    """Neighbouring blocks of code become one."""
    text = "\n".join(lines)
    return re.sub(r"```\n\n```c\n(?=#define)", "", text).split("\n")


def page(header: Header) -> str:
    """The page of one header."""
    lines = [f"# `<gpuarray/{header.name}>`", "", _prose(header.text), ""]
    for item in header.items:
        lines += _page_item(item)
    return "\n".join(_join_defines(lines)).rstrip("\n") + "\n"


def reference(include: Path = INCLUDE) -> dict[str, str]:
    """The text of each file of docs/reference, by its name."""
    headers = read_headers(include)
    pages = {f"{Path(header.name).stem}.md": page(header) for header in headers}
    lines = ["# The C library, header by header", ""]
    lines += ["Written from the headers by `" + REFRESH + "`.", ""]
    for header in sorted(headers, key=lambda header: header.name):
        first = header.text.split("\n\n")[0].split("\n")
        said = " ".join(first).split(". ")[0].rstrip(".")
        lines.append(f"- [`{header.name}`]({Path(header.name).stem}.md): {said}.")
    lines += ["", "`api.json` has the same for programs, with values and layouts."]
    whole = json.dumps(describe(include), indent=1)
    return pages | {"README.md": "\n".join(lines) + "\n", "api.json": whole + "\n"}


def refresh() -> int:
    """Write the baseline and the reference; 1 if the baseline would be broken."""
    new = baseline_of(describe())
    old = json.loads(BASELINE.read_text()) if BASELINE.exists() else new
    broken, _ = compare(old, new)
    if broken:
        sys.stderr.write(
            f"not written, for programs linked to libgpuarray.so.{SOVERSION} would "
            "break:\n" + "\n".join(broken) + "\n"
            "Keep what was, or, for another SOVERSION, delete the baseline.\n"
        )
        return 1
    BASELINE.parent.mkdir(parents=True, exist_ok=True)
    BASELINE.write_text(json.dumps(new, indent=1) + "\n")
    write_pages(REFERENCE, reference())
    return 0


if __name__ == "__main__":
    if "--refresh" in sys.argv[1:]:
        sys.exit(refresh())
    sys.stdout.write(json.dumps(describe(), indent=1) + "\n")
