"""Products over chosen axes, composed of matrix products and reductions."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from gpuarray.base import axes_numbers, axis_number, require_all
from gpuarray.blas import contract, matmul
from gpuarray.dtypes import result_type
from gpuarray.errors import BadType, BadValue
from gpuarray.shaping import moveaxis


def tensordot(a: Any, b: Any, axes: int | Sequence[Any] = 2) -> Any:
    """The sum of products over axes of both arrays.

    ``axes`` is a number, of last axes of the first and first ones of the second, or a
    pair of lists of axes. The other axes of the first come before those of the second.

    >>> a = gpuarray.arange(4).reshape(2, 2)
    >>> print(gpuarray.tensordot(a, a, axes=([0], [1])))
    [[ 2  6]
     [ 3 11]]
    """
    first, second = require_all("tensordot", a, b)
    left, right = _pairs(axes, first.ndim, second.ndim)
    lengths = [first.shape[i] for i in left]
    others = [second.shape[i] for i in right]
    if lengths != others:
        raise BadValue(
            f"tensordot: axes {left} of shape {first.shape} have lengths {lengths}, "
            f"axes {right} of shape {second.shape} {others}; expected the same"
        )
    kept = [i for i in range(first.ndim) if i not in left]
    rest = [i for i in range(second.ndim) if i not in right]
    rows = [first.shape[i] for i in kept]
    columns = [second.shape[i] for i in rest]
    inner = math.prod(lengths)
    matrix = first.transpose(*kept, *left) if first.ndim else first
    other = second.transpose(*right, *rest) if second.ndim else second
    product = matmul(
        matrix.reshape(math.prod(rows), inner), other.reshape(inner, math.prod(columns))
    )
    return product.reshape((*rows, *columns))


def _pairs(axes: Any, ndim: int, other: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of either array that are summed over."""
    if not hasattr(axes, "__len__") or getattr(axes, "ndim", 1) == 0:
        try:
            count = operator.index(axes)
        except TypeError:
            raise BadType(f"tensordot: axes is {axes!r}, expected a number") from None
        if not 0 <= count <= min(ndim, other):
            raise BadValue(
                f"tensordot: {count} axes of arrays that have {ndim} and {other}"
            )
        return tuple(range(ndim - count, ndim)), tuple(range(count))
    left, right = axes
    first = axes_numbers(left, ndim, "tensordot")
    second = axes_numbers(right, other, "tensordot")
    if len(first) != len(second):
        raise BadValue(
            f"tensordot: {len(first)} axes of the first array for {len(second)} of the "
            "second"
        )
    return first, second


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """The sum over ``axis`` of ``x1``, conjugated, times ``x2``; they broadcast.

    >>> a = gpuarray.arange(4).reshape(2, 2)
    >>> print(gpuarray.vecdot(a, a))
    [ 1 13]
    """
    first, second = require_all("vecdot", x1, x2)
    vectors = []
    for array in (first, second):
        if array.ndim == 0:
            raise BadValue("vecdot: a 0-d array is no vector")
        at = axis_number(axis, array.ndim, "vecdot")
        vectors.append(moveaxis(array, at, -1))
    x, y = vectors
    if x.shape[-1] != y.shape[-1]:
        raise BadValue(
            f"vecdot: axis {axis} has lengths {x.shape[-1]} and {y.shape[-1]}, "
            "expected the same"
        )
    x = x.conj() if x.dtype.kind == "c" else x
    return contract(x, y, result_type(x.dtype, y.dtype))
