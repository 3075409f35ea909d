"""Parameter lists of kernels as users write them, in C or by the names of dtypes.

``"float32 x, T y, raw T z"``, ``"float *x, ga_int n"`` and the list between the
parentheses of a KERNEL.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuarray.dtypes import NAME_TO_DTYPE, as_dtype, work_ctype
from gpuarray.errors import BadType, BadValue

DType = np.dtype[Any]

QUALIFIERS = re.compile(
    r"\b(const|volatile|restrict|__restrict__|GA_RESTRICT|GA_APART|GLOBAL_MEM|__global"
    r"|struct)\b"
)

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_SHARED = re.compile(r"\bGA_DECL_SHARED_PARAM\s*\([^)]*\)")


class Parameter(NamedTuple):
    """One parameter: its name and type, and whether it is an array.

    ``dtype`` is None for a letter that stands for any type, in ``generic``. ``is_raw``:
    the text indexes it itself; ``is_const``: it does not write there.
    """

    name: str
    dtype: DType | None
    generic: str
    is_array: bool
    is_raw: bool
    is_const: bool = False


def parse(text: str, operation: str) -> list[Parameter]:
    """Return the parameters of a comma-separated list.

    >>> [one.name for one in parse("float32 x, raw T y", "kernel")]
    ['x', 'y']
    """
    listed = [entry.strip() for entry in text.split(",")]
    if listed == [""]:
        return []
    parameters = [_parse_one(entry, operation) for entry in listed]
    names = [entry.name for entry in parameters]
    if len(set(names)) != len(names):
        raise BadValue(f"{operation}: a name stands twice in {text!r}")
    return parameters


def _parse_one(text: str, operation: str) -> Parameter:
    is_pointer = "*" in text or "[" in text
    plain = QUALIFIERS.sub(" ", re.sub(r"\*|\[\s*\d*\s*\]", " ", text))
    words = plain.split()
    is_raw = words[:1] == ["raw"]
    words = words[is_raw:]
    if len(words) < 2 or not words[-1].isidentifier():
        raise BadValue(
            f"{operation}: the parameter {text!r} is not understood; expected a type "
            "and a name, such as 'float32 x'"
        )
    kind, name = " ".join(words[:-1]), words[-1]
    dtype = NAME_TO_DTYPE.get(kind)
    is_generic = dtype is None and len(kind) == 1 and kind.isupper()
    if dtype is None and not is_generic:
        raise BadValue(
            f"{operation}: {kind!r} of the parameter {name!r} is no type; expected a "
            "dtype such as float32, a type of C, or a capital letter for any type"
        )
    is_array = is_pointer or is_raw
    return Parameter(name, dtype, kind if is_generic else "", is_array, is_raw)


def resolve_types(
    parameters: Sequence[Parameter],
    dtypes: Sequence[DType | None],
    operation: str,
) -> dict[str, DType]:
    """Return the dtype of each letter, for arguments' dtypes (None: a number)."""
    letters: dict[str, DType] = {}
    for parameter, dtype in zip(parameters, dtypes, strict=True):
        if dtype is None:
            continue
        expected = (
            parameter.dtype
            if parameter.dtype is not None
            else letters.get(parameter.generic)
        )
        if expected is None:
            letters[parameter.generic] = dtype
        elif expected != dtype:
            raise BadType(
                f"{operation}: {parameter.name} is of {dtype}, expected {expected}; "
                f"convert it with astype({str(expected)!r})"
            )
    return letters


def dtype_of(one: Parameter, types: dict[str, DType], operation: str) -> DType:
    """Return the dtype of a parameter once the letters are known."""
    dtype = one.dtype if one.dtype is not None else types.get(one.generic)
    if dtype is None:
        raise BadType(
            f"{operation}: nothing says what {one.generic} is, the type of "
            f"{one.name}; name a dtype, or give an array of it"
        )
    return as_dtype(dtype, operation)


def with_types(text: str, types: dict[str, DType]) -> str:
    """Return C text with the letters replaced by their types."""
    for letter, dtype in types.items():
        text = re.sub(rf"\b{letter}\b", work_ctype(dtype), text)
    return text


def of_kernel(source: str, name: str) -> list[Parameter]:
    """The parameters of the kernel ``name`` in a source; a type may be unknown."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)
    match = re.search(rf"\b{re.escape(name)}\s*\(([^)]*)\)\s*{{", bare)
    if match is None:
        raise BadValue(f"RawKernel: there is no kernel {name!r} in the source")
    inside = " ".join(match.group(1).split())
    if inside in ("", "void"):
        return []
    listed = []
    for text in inside.split(","):
        is_pointer = "*" in text
        words = QUALIFIERS.sub(" ", text.replace("*", " ")).split()
        kind, named = " ".join(words[:-1]), words[-1]
        dtype = NAME_TO_DTYPE.get(kind)
        is_const = is_pointer and "const" in text.partition("*")[0].split()
        listed.append(Parameter(named, dtype, kind, is_pointer, is_pointer, is_const))
    return listed


def declared(code: str, name: str) -> list[str] | None:
    """Return the parameters that a kernel's text declares; None if it is not plain.

    >>> from gpuarray._kernels.parameters import declared
    >>> declared("KERNEL void k(GLOBAL_MEM ga_float *x, const ga_size n) {}", "k")
    ['GLOBAL_MEM ga_float *x', 'const ga_size n']
    """
    plain = _COMMENT.sub(" ", code)
    start = re.search(rf"\bKERNEL\b[^;{{}}]*\b{re.escape(name)}\s*\(", plain)
    if start is None:
        return None
    depth, end = 1, start.end()
    while depth and end < len(plain):
        depth += {"(": 1, ")": -1}.get(plain[end], 0)
        end += 1
    inside = _SHARED.sub(" ", plain[start.end() : end - 1]).strip()
    if depth or "#" in inside or "(" in inside:
        return None
    if inside in ("", "void"):
        return []
    pieces = [" ".join(piece.split()) for piece in inside.split(",")]
    return [piece for piece in pieces if "LOCAL_MEM_ARG" not in piece]


def pointed_dtypes(code: str, name: str) -> tuple[DType | None, ...] | None:
    """Return the dtype that each parameter points to; None without a plain type.

    The result is None if the list of parameters is not plain.

    >>> from gpuarray._kernels.parameters import pointed_dtypes
    >>> pointed_dtypes("KERNEL void k(GLOBAL_MEM ga_float *x, ga_int n) {}", "k")
    (dtype('float32'), None)
    """
    texts = declared(code, name)
    if texts is None:
        return None
    split = (QUALIFIERS.sub(" ", text).partition("*") for text in texts)
    names = (" ".join(before.split()) if star else "" for before, star, _ in split)
    return tuple(map(NAME_TO_DTYPE.get, names))


def misreads(wanted: np.dtype[Any] | None, given: np.dtype[Any]) -> bool:
    """True if a pointer to ``wanted`` steps over elements of ``given`` wrongly.

    A pointer to bytes may read any dtype, and one to parts a complex number.
    """
    if wanted is None or wanted.itemsize == 1 or given.kind == "c":
        return False
    return wanted.itemsize != given.itemsize
