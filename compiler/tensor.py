"""The namespace ``T`` of programs: types, constructors of variables, functions of them.

>>> import gpuarray.compiler.tensor as T
>>> T.fmatrix("x").type
TensorType(float32, matrix)

`T.<row>` exists for every row of the table of scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.gradient import Lop, grad
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.graph.types import TensorType, dtype_name
from gpuarray.compiler.ops import math
from gpuarray.compiler.ops.basic import MakeVector, as_tensor_variable, constant
from gpuarray.compiler.ops.broadcast import (
    Rebroadcast,
    addbroadcast,
    broadcast_to,
    patternbroadcast,
    unbroadcast,
)
from gpuarray.compiler.ops.elemwise import Elemwise
from gpuarray.compiler.ops.linalg import Dot, dot, outer
from gpuarray.compiler.ops.math import (
    cast,
    divmod,
    isclose,
    largest,
    ones_like,
    smallest,
    true_div,
    zeros_like,
)
from gpuarray.compiler.ops.operators import Operators
from gpuarray.compiler.ops.reduce import (
    Reduce,
    all,
    any,
    max,
    mean,
    min,
    prod,
    ptp,
    std,
    sum,
    var,
)
from gpuarray.compiler.ops.shape import (
    DimShuffle,
    Reshape,
    dimshuffle,
    flatten,
    reshape,
    shape,
    shape_padleft,
    shape_padright,
    squeeze,
    swapaxes,
    transpose,
)
from gpuarray.compiler.ops.transfer import gpu_from_host, host_from_gpu, transfer

Constructor = Callable[..., Variable]

as_tensor = as_tensor_variable

# The prefix of a constructor's name says the dtype; without one it is floatX.
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
}
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
    """A variable of ``dtype`` whose axes broadcast where ``broadcastable`` says so."""
    return TensorType(dtype_name(dtype), tuple(broadcastable))(name)


def _constructor(
    kind: str, pattern: tuple[bool, ...], fixed: str | None = None
) -> Constructor:
    def make(name: str | None = None, dtype: Any = None) -> Variable:
        if name is not None and not isinstance(name, str):
            raise GraphTypeError(f"{kind}: the name is {name!r}, expected a string")
        return TensorType(fixed or dtype_name(dtype or config.floatX), pattern)(name)

    def make_fixed(name: str | None = None) -> Variable:
        return make(name)

    chosen: Constructor = make if fixed is None else make_fixed
    chosen.__name__ = chosen.__qualname__ = kind
    chosen.__doc__ = f"A variable: a {kind} of dtype {fixed or 'floatX, or another'}."
    return chosen


def _several(make: Constructor) -> Callable[..., list[Variable]]:
    def make_several(*names: str | int) -> list[Variable]:
        listed: Sequence[str | int | None] = names
        if len(names) == 1 and isinstance(names[0], int):
            listed = [None] * names[0]
        elif len(names) == 1 and isinstance(names[0], str):
            listed = list(names[0])
        return [make(name) for name in listed]

    make_several.__doc__ = (
        f"Variables made by `{make.__name__}`: one a name, one a letter of a single "
        "string, or as many as a number says."
    )
    return make_several


def _constructors() -> dict[str, Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {}
    for shape_name, pattern in PATTERNS.items():
        plural = "matrices" if shape_name == "matrix" else f"{shape_name}s"
        for prefix, dtype in {"": None, **PREFIXES}.items():
            make = _constructor(prefix + shape_name, pattern, dtype)
            made[prefix + shape_name] = make
            made[prefix + plural] = _several(make)
    return made


_MADE = {**math.FUNCTIONS, **_constructors()}
globals().update({name: each for name, each in _MADE.items() if name not in globals()})


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    *_MADE,
    "Constant",
    "DimShuffle",
    "Dot",
    "Elemwise",
    "Lop",
    "MakeVector",
    "Operators",
    "Rebroadcast",
    "Reduce",
    "Reshape",
    "TensorType",
    "Variable",
    "addbroadcast",
    "all",
    "any",
    "as_tensor",
    "as_tensor_variable",
    "broadcast_to",
    "cast",
    "constant",
    "dimshuffle",
    "divmod",
    "dot",
    "flatten",
    "gpu_from_host",
    "grad",
    "host_from_gpu",
    "isclose",
    "largest",
    "max",
    "mean",
    "min",
    "ones_like",
    "outer",
    "patternbroadcast",
    "prod",
    "ptp",
    "reshape",
    "shape",
    "shape_padleft",
    "shape_padright",
    "smallest",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "tensor",
    "transfer",
    "transpose",
    "true_div",
    "unbroadcast",
    "var",
    "zeros_like",
]
