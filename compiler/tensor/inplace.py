"""Theano's ``tensor.inplace``: each row of the table by the name ``<row>_inplace``.

>>> import gpuarray.compiler.tensor as T
>>> from gpuarray.compiler.tensor import inplace
>>> inplace.add_inplace(T.ivector("i"), 0.5).type
TensorType(int32, vector)

A compiled function decides what it overwrites: the result is the variable of the
changed array, in the type of the first operand, which does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.names import unknown_name
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.special import chi2sf
from gpuarray.compiler.ops.shape.shape import transpose
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.scalars import SCALARS

Function = Callable[..., Variable]


def _stored(name: str, function: Function) -> Function:
    """Return the function whose result replaces its first operand."""

    def apply(a: Any, *others: Any) -> Variable:
        place = as_tensor_variable(a)
        result = function(place, *others)
        if result.type.broadcastable != place.type.broadcastable:
            raise GraphTypeError(
                f"{name}: the result is {result.type}, which does not fit into "
                f"{place} of {place.type}"
            )
        return math.cast(result, place.type.dtype)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"`{function.__name__}`, as the first operand's new value."
    return apply


_FUNCTIONS: dict[str, Function] = {
    **{name: math.FUNCTIONS[name] for name in (*SCALARS, *math.ALIASES)},
    "chi2sf": chi2sf,
}
_MADE = {
    f"{name}_inplace": _stored(f"{name}_inplace", function)
    for name, function in _FUNCTIONS.items()
}
globals().update(_MADE)

transpose_inplace = transpose

__all__ = [*_MADE, "transpose_inplace"]


def __getattr__(name: str) -> Function:
    raise unknown_name(__name__, name)
