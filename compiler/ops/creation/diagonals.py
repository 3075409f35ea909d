"""Diagonals and triangles: read, made into matrices, filled, summed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.creation.joining import as_length
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    is_constant,
    known_integer,
    normalise_axis,
)


def _two_axes(name: str, axis1: int, axis2: int, ndim: int) -> tuple[int, int]:
    if ndim < 2:
        raise GraphArgumentError(f"{name}: given {ndim} axes, expected 2 or more")
    first = normalise_axis(name, axis1, ndim)
    second = normalise_axis(name, axis2, ndim)
    if first == second:
        raise GraphValueError(f"{name}: axis1 and axis2 are both axis {first}")
    return first, second


class ExtractDiag(Op):
    """A view of a diagonal of two axes, which become one axis at the end.

    ``offset`` counts diagonals to the right of the main one.
    """

    __props__ = ("offset", "axis1", "axis2")

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> None:
        self.offset = offset
        self.axis1, self.axis2 = axis1, axis2

    def make_node(self, x: Any) -> Apply:
        """A node over an array of two axes or more."""
        variable = as_tensor_variable(x)
        ndim = variable.type.ndim
        axes = _two_axes("diagonal", self.axis1, self.axis2, ndim)
        flags = variable.type.broadcastable
        pattern = [flags[axis] for axis in range(ndim) if axis not in axes]
        pattern.append(self.offset == 0 and all(flags[axis] for axis in axes))
        op = type(self)(self.offset, *axes)
        return Apply(op, [variable], [variable.type.clone(broadcastable=pattern)()])

    def reference(self, x: Any) -> Any:
        """The diagonal."""
        return np.diagonal(x, self.offset, self.axis1, self.axis2)

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """``g`` on the diagonal, zeros elsewhere."""
        op = AllocDiag(self.offset, self.axis1, self.axis2)
        spread = op(g, shape_i(x, self.axis1), shape_i(x, self.axis2))
        fitted: Variable = m.patternbroadcast(spread, x.type.broadcastable)
        return fitted

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The lengths of the other axes, and that of the diagonal."""
        (lengths,) = input_shapes
        rest = [n for i, n in enumerate(lengths) if i not in (self.axis1, self.axis2)]
        rows, columns = lengths[self.axis1], lengths[self.axis2]
        if rows is None or columns is None:
            return [(*rest, None)]
        return [(*rest, diagonal_length(rows, columns, self.offset))]


def diagonal_length(rows: Any, columns: Any, offset: int) -> Variable:
    """The length of a diagonal of a matrix."""
    if offset < 0:
        rows = rows + offset
    elif offset > 0:
        columns = columns - offset
    shorter = math.minimum(rows, columns)
    return math.maximum(shorter, core.constant(0, "int64")) if offset else shorter


class AllocDiag(Op):
    """Zeros but for a diagonal of two axes, whose elements are the input's last axis.

    Further inputs are the lengths of the two axes, on which the diagonal must fit.
    """

    leaves_zeros = True

    __props__ = ("offset", "axis1", "axis2")

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> None:
        self.offset = offset
        self.axis1, self.axis2 = axis1, axis2

    def make_node(self, x: Any, rows: Any = None, columns: Any = None) -> Apply:
        """Return a node over the diagonal and two lengths, by default a square."""
        variable = as_tensor_variable(x)
        if variable.type.ndim < 1:
            raise GraphArgumentError(
                f"AllocDiag: given {variable} of {variable.type}, expected a vector, "
                "or several along other axes"
            )
        ndim = variable.type.ndim + 1
        axes = _two_axes("AllocDiag", self.axis1, self.axis2, ndim)
        if rows is None:
            rows = shape_i(variable, -1)
            columns = rows = rows + abs(self.offset) if self.offset else rows
        lengths = [as_length("AllocDiag", count) for count in (rows, columns)]
        rest = list(variable.type.broadcastable[:-1])
        for axis, length in sorted(zip(axes, lengths, strict=True), key=_first):
            rest.insert(axis, is_constant(length, 1))
        output = variable.type.clone(broadcastable=tuple(rest))()
        return Apply(type(self)(self.offset, *axes), [variable, *lengths], [output])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The two lengths."""
        return (1, 2)

    def reference(self, x: Any, rows: Any, columns: Any) -> Any:
        """Return the array. Raises ValueError for a diagonal of another length."""
        result = np.zeros((*x.shape[:-1], int(rows), int(columns)), x.dtype)
        down, right = max(-self.offset, 0), max(self.offset, 0)
        length = max(min(int(rows) - down, int(columns) - right), 0)
        if x.shape[-1] != length:
            raise GraphValueError(
                f"{self}: given {x.shape[-1]} elements for a diagonal of {length}"
            )
        places = np.arange(length)
        result[..., places + down, places + right] = x
        return np.moveaxis(result, (-2, -1), (self.axis1, self.axis2))

    def grad(
        self, m: Any, g: Variable, y: Variable, x: Variable, *lengths: Variable
    ) -> tuple[Any, None, None]:
        """The diagonal of ``g``."""
        gradient = ExtractDiag(self.offset, self.axis1, self.axis2)(g)
        return m.patternbroadcast(gradient, x.type.broadcastable), None, None

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """The lengths of the other axes, with the two in their places."""
        lengths = list(input_shapes[0][:-1])
        pairs = zip((self.axis1, self.axis2), node.inputs[1:], strict=True)
        for axis, length in sorted(pairs, key=_first):
            lengths.insert(axis, length)
        return [tuple(lengths)]


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def diagonal(a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """Return a diagonal of two axes, which become one at the end: a view.

    ``offset`` counts diagonals to the right of the main one, or to its left.
    """
    shift = known_integer("diagonal", "offset", offset)
    result: Variable = ExtractDiag(shift, axis1, axis2)(a)
    return result


extract_diag = diagonal


def alloc_diag(x: Any, offset: Any = 0) -> Variable:
    """The square matrix of zeros with the vector ``x`` on a diagonal."""
    result: Variable = AllocDiag(known_integer("diag", "offset", offset))(x)
    return result


def diag(v: Any, k: Any = 0) -> Variable:
    """The matrix with a vector on diagonal ``k``; of a matrix its diagonal."""
    variable = as_tensor_variable(v)
    if variable.type.ndim == 1:
        return alloc_diag(variable, k)
    if variable.type.ndim >= 2:
        return diagonal(variable, k)
    raise GraphArgumentError(
        f"diag: given {variable} of {variable.type}, expected a vector or a matrix"
    )


def trace(a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """The sum of a diagonal of two axes, as NumPy's."""
    return reduce.sum(diagonal(a, offset, axis1, axis2), axis=-1)


# ---- filled ----


def _scalar_like(name: str, value: Any, a: Variable) -> Variable:
    """``value`` as a scalar of the dtype of ``a``, which must hold it."""
    scalar = as_tensor_variable(value)
    if scalar.type.ndim != 0:
        raise GraphArgumentError(
            f"{name}: the value is {scalar.type}, expected a scalar"
        )
    if isinstance(scalar, Constant):
        return core.constant(scalar.data, a.type.dtype)
    if np.promote_types(scalar.type.dtype, a.type.dtype) != np.dtype(a.type.dtype):
        raise GraphTypeError(
            f"{name}: a value of {scalar.type.dtype} does not fit {a.type.dtype}; cast "
            "it"
        )
    return math.cast(scalar, a.type.dtype)


def fill_diagonal(a: Any, val: Any) -> Variable:
    """``a`` with the scalar ``val`` on its main diagonal.

    A matrix has it from the top left, as far as it reaches; more axes must have one
    length, and elements with equal indices are set.
    """
    variable = as_tensor_variable(a)
    ndim = variable.type.ndim
    if ndim < 2:
        raise GraphArgumentError(
            f"fill_diagonal: given {variable} of {variable.type}, expected 2 axes or "
            "more"
        )
    value = _scalar_like("fill_diagonal", val, variable)
    places = [_places(variable, axis) for axis in range(ndim)]
    on_diagonal = math.eq(places[0], places[1])
    for place in places[2:]:
        on_diagonal = math.bitwise_and(on_diagonal, math.eq(places[0], place))
    return math.where(on_diagonal, value, variable)


def fill_diagonal_offset(a: Any, val: Any, offset: Any) -> Variable:
    """The matrix ``a`` with the scalar ``val`` on the diagonal ``offset``."""
    variable = as_tensor_variable(a)
    if variable.type.ndim != 2:
        raise GraphArgumentError(
            f"fill_diagonal_offset: given {variable} of {variable.type}, expected a "
            "matrix"
        )
    value = _scalar_like("fill_diagonal_offset", val, variable)
    shift = as_length("fill_diagonal_offset", offset, "offset")
    down, right = _places(variable, 0), _places(variable, 1)
    return math.where(math.eq(down + shift, right), value, variable)


def _places(x: Variable, axis: int) -> Variable:
    """Return 0, 1, 2, ... along an axis of ``x``, of length 1 along the others."""
    order = ["x"] * x.type.ndim
    return dimshuffle(counted(shape_i(x, axis)), *order[:axis], 0, *order[axis + 1 :])


def mask_below(rows: Variable, columns: Variable, k: Any) -> Variable:
    """Return a mask of the elements of a matrix on or below diagonal ``k``."""
    down = dimshuffle(counted(rows), 0, "x")
    right = dimshuffle(counted(columns), "x", 0)
    return math.ge(down + as_length("tri", k, "k"), right)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Variable:
    """The matrix of ones on and below diagonal ``k`` and zeros above; of floatX."""
    rows = as_length("tri", N)
    columns = rows if M is None else as_length("tri", M)
    return math.cast(mask_below(rows, columns, k), dtype or "floatX")


def _triangle(name: str, m: Any, k: Any, is_upper: bool) -> Variable:
    variable = as_tensor_variable(m)
    if variable.type.ndim < 2:
        raise GraphArgumentError(
            f"{name}: given {variable} of {variable.type}, expected a matrix"
        )
    shift = as_length(name, k, "k")
    below = mask_below(
        shape_i(variable, -2), shape_i(variable, -1), shift - 1 if is_upper else shift
    )
    zero = core.constant(0, variable.type.dtype)
    if is_upper:
        return math.where(below, zero, variable)
    return math.where(below, variable, zero)


def tril(m: Any, k: Any = 0) -> Variable:
    """The matrix, or stack of them, with zeros above diagonal ``k``."""
    return _triangle("tril", m, k, is_upper=False)


def triu(m: Any, k: Any = 0) -> Variable:
    """The matrix, or stack of them, with zeros below diagonal ``k``."""
    return _triangle("triu", m, k, is_upper=True)
