"""Constructors of variables, named by prefixes (dtypes) and shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import TensorType, dtype_name

Constructor = Callable[..., Any]

PREFIXES = {
    "b": "int8",
    "w": "int16",
    "i": "int32",
    "l": "int64",
    "ub": "uint8",
    "uw": "uint16",
    "ui": "uint32",
    "ul": "uint64",
    "f": "float32",
    "d": "float64",
    "c": "complex64",
    "z": "complex128",
}
"""Dtypes, by the prefix of a constructor's name; without one it is floatX."""
PATTERNS: dict[str, tuple[bool, ...]] = {
    "scalar": (),
    "vector": (False,),
    "row": (True, False),
    "col": (False, True),
    "matrix": (False, False),
    "tensor3": (False,) * 3,
    "tensor4": (False,) * 4,
    "tensor5": (False,) * 5,
    "tensor6": (False,) * 6,
    "tensor7": (False,) * 7,
}


def tensor(
    dtype: Any, broadcastable: Iterable[bool] = (), name: str | None = None
) -> Variable:
    """Return a variable of ``dtype`` whose axes broadcast by ``broadcastable``."""
    return TensorType(dtype_name(dtype), tuple(broadcastable))(name)


def _constructor(kind: str, pattern: tuple[bool, ...]) -> Constructor:
    """Return a function that makes variables of a dtype known when it is called."""

    def make(name: str | None = None, dtype: Any = None) -> Variable:
        return TensorType(dtype_name(dtype or config.floatX), pattern)(name)

    make.__name__ = make.__qualname__ = kind
    make.__doc__ = f"A variable: a {kind} of dtype floatX, or another."
    return make


def _several(kind: str, make: Constructor) -> Callable[..., list[Variable]]:
    def make_several(*names: str | int) -> list[Variable]:
        listed: Sequence[str | int | None] = names
        if len(names) == 1 and isinstance(names[0], int):
            listed = [None] * names[0]
        elif len(names) == 1 and isinstance(names[0], str):
            listed = list(names[0])
        return [make(name) for name in listed]

    make_several.__doc__ = (
        f"Variables made by `{kind}`: one a name, one a letter of a single "
        "string, or as many as a number says."
    )
    return make_several


def constructors() -> dict[str, Constructor]:
    """A type for each dtype and pattern, a function where floatX is the dtype."""
    by_name: dict[str, Constructor] = {}
    for shape_name, pattern in PATTERNS.items():
        plural = "matrices" if shape_name == "matrix" else f"{shape_name}s"
        for prefix, dtype in {"": None, **PREFIXES}.items():
            kind = prefix + shape_name
            make = (
                _constructor(kind, pattern)
                if dtype is None
                else TensorType(dtype, pattern)
            )
            by_name[kind] = make
            by_name[prefix + plural] = _several(kind, make)
    return by_name


def type_groups(kinds: dict[str, Constructor]) -> dict[str, tuple[Constructor, ...]]:
    """Return Theano's tuples of types: ``int_types``, ``float_vector_types`` etc."""
    groups = {"int": "bwil", "float": "fd", "complex": "cz"}
    shapes = {"_": "scalar", "_scalar_": "scalar"}
    shapes |= {f"_{shape}_": shape for shape in ("vector", "matrix")}
    return {
        f"{group}{middle}types": tuple(kinds[prefix + shape] for prefix in prefixes)
        for group, prefixes in groups.items()
        for middle, shape in shapes.items()
    }
