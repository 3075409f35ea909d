"""Norms of vectors and of matrices."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import is_integer_name
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.nlinalg import svd
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import dimshuffle
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    axis_list,
    normalise_axis,
)

Axis = int | Sequence[int] | None


def norm(
    x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False
) -> Variable:
    """Return NumPy's norm: of vectors along one axis, of matrices in two, else of all.

    ``ord`` of vectors is any number, also 0 (the number of nonzeros), inf and -inf; of
    matrices 1, -1, 2, -2, inf, -inf, "fro" or "nuc"; "inf" and "-inf" are inf and -inf.
    Without ``axis`` and ``ord`` it is that of all elements as one vector.
    """
    variable, ord = _floats(x), _order(ord)
    ndim = variable.type.ndim
    if axis is None:
        if ord is None or (ord == 2 and ndim == 1):
            return _of_vectors(variable, 2, tuple(range(ndim)), keepdims)
        axes = tuple(range(ndim))
    else:
        axes = tuple(normalise_axis("norm", number, ndim) for number in axis_list(axis))
    if len(axes) == 1:
        return _of_vectors(variable, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2 and axes[0] != axes[1]:
        return _of_matrices(variable, ord, (axes[0], axes[1]), keepdims)
    raise GraphValueError(
        f"norm: over the axes {axes}, expected 1 (vectors) or 2 (matrices)"
    )


def norm_of_all(
    x: Any, L: Any, axis: reduce.Axis = None, keepdims: bool = False
) -> Variable:
    """Return the norm of order ``L`` over ``axis``, as of one vector; see `norm`."""
    variable = _floats(x)
    axes = reduce.axes_of("norm", axis, variable.type.ndim)
    return _of_vectors(variable, _order(L), axes, keepdims)


def _order(order: Any) -> Any:
    """Return the order of a norm; infinite ones may be texts."""
    return float(order) if order in ("inf", "-inf") else order


def _floats(x: Any) -> Variable:
    variable = as_tensor_variable(x)
    if is_integer_name(variable.type.dtype):
        return math.cast(variable, "float64")
    return variable


def _of_vectors(
    x: Variable, ord: Any, axes: tuple[int, ...], keepdims: bool
) -> Variable:
    if isinstance(ord, bool) or not isinstance(ord, (int, float, np.number)):
        raise GraphValueError(
            f"norm: the order is {ord!r}, expected a number for vectors"
        )
    size = math.abs(x)
    if ord == 2:
        squares = math.square(size if x.type.dtype.startswith("complex") else x)
        return math.sqrt(reduce.sum(squares, axes, keepdims=keepdims))
    if ord == 0:
        is_used = math.ne(x, core.constant(0, x.type.dtype))
        return reduce.sum(math.cast(is_used, size.type.dtype), axes, keepdims=keepdims)
    if ord == numbers.inf:
        return reduce.max(size, axes, keepdims)
    if ord == -numbers.inf:
        return reduce.min(size, axes, keepdims)
    if ord == 1:
        return reduce.sum(size, axes, keepdims=keepdims)
    dtype = size.type.dtype
    order, inverse = core.constant(ord, dtype), core.constant(1 / float(ord), dtype)
    total = reduce.sum(math.power(size, order), axes, keepdims=keepdims)
    return math.power(total, inverse)


def _of_matrices(
    x: Variable, ord: Any, axes: tuple[int, int], keepdims: bool
) -> Variable:
    row, column = axes
    if ord is None or ord in ("f", "fro"):
        return _of_vectors(x, 2, axes, keepdims)
    if ord in (2, -2, "nuc"):
        rest = [i for i in range(x.type.ndim) if i not in axes]
        values = svd(dimshuffle(x, *rest, row, column), compute_uv=False)
        folds: dict[Any, Any] = {2: reduce.max, -2: reduce.min, "nuc": reduce.sum}
        folded: Variable = folds[ord](values, axis=-1)
        if not keepdims:
            return folded
        places = iter(range(len(rest)))
        wide = ("x" if i in axes else next(places) for i in range(x.type.ndim))
        return dimshuffle(folded, *wide)
    if ord in (1, -1, numbers.inf, -numbers.inf):
        over, then = (row, column) if abs(ord) == 1 else (column, row)
        sums = reduce.sum(math.abs(x), over, keepdims=True)
        largest = (reduce.max if ord > 0 else reduce.min)(sums, then, keepdims=True)
        if keepdims:
            return largest
        return dimshuffle(largest, *(i for i in range(x.type.ndim) if i not in axes))
    raise GraphValueError(
        f"norm: the order is {ord!r}, expected 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc' "
        "for matrices"
    )
