"""Products of stacks of matrices, over chosen axes, and Kronecker products."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.linalg import (
    Blas,
    MatrixProduct,
    common_dtype,
    dot,
    merged_length,
    paired_axes,
    tensordot,
    wide,
)
from gpuarray.compiler.ops.reduce.reduce import sum as add_up
from gpuarray.compiler.ops.shape.shape import (
    dimshuffle,
    flatten,
    reshape,
    shape_i,
    shape_padleft,
    swapaxes,
)
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


class BatchedDot(Op):
    """The matrix products of two stacks: the last two axes are matrices.

    Both operands have the same rank, 3 or more; the axes before the last two are the
    batch, and broadcast where their types do.
    """

    __props__ = ()

    def make_node(self, a: Any, b: Any) -> Apply:
        """A node over the stacks, cast to their common dtype."""
        x, y = as_tensor_variable(a), as_tensor_variable(b)
        ndim = x.type.ndim
        if ndim < 3 or y.type.ndim != ndim:
            raise GraphArgumentError(
                f"BatchedDot: given {x.type} and {y.type}, expected operands of the "
                "same number of axes, 3 or more"
            )
        dtype = common_dtype(x, y)
        flags = zip(x.type.broadcastable, y.type.broadcastable, strict=True)
        batch = [of_x and of_y for of_x, of_y in flags][:-2]
        pattern = (*batch, x.type.broadcastable[-2], y.type.broadcastable[-1])
        inputs = [math.cast(x, dtype), math.cast(y, dtype)]
        return Apply(self, inputs, [TensorType(dtype, pattern)()])

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """The products. Raises ValueError where lengths of the batch differ."""
        a, b = node.inputs
        flags = zip(a.type.broadcastable, b.type.broadcastable, strict=True)
        for axis, (of_a, of_b) in list(enumerate(flags))[:-2]:
            lengths = arrays[0].shape[axis], arrays[1].shape[axis]
            if not (of_a or of_b) and lengths[0] != lengths[1]:
                raise GraphValueError(
                    f"{self}: axis {axis} of the batch has lengths {lengths[0]} and "
                    f"{lengths[1]}"
                )
        return [self.reference(*arrays)]

    def reference(self, a: Any, b: Any) -> Any:
        """The products with NumPy; 16-bit floats are summed in float32."""
        return np.asarray(np.matmul(wide(a), wide(b))).astype(a.dtype)

    def grad(
        self, m: Any, g: Any, y: Variable, a: Variable, b: Variable
    ) -> tuple[Variable, Variable]:
        """``g`` times the other operand, its matrices transposed."""
        return batched(g, swapaxes(b, -2, -1)), batched(swapaxes(a, -2, -1), g)

    def requirements(self, node: Apply, input_shapes: Any) -> Iterable[Requirement]:
        """Require equal lengths of the summed axes, and of the batch's."""
        a, b = input_shapes
        yield from equal(a[-1], b[-2])
        flags = zip(
            *(variable.type.broadcastable for variable in node.inputs), strict=True
        )
        for axis, (of_a, of_b) in list(enumerate(flags))[:-2]:
            if not (of_a or of_b):
                yield from equal(a[axis], b[axis])

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The batch, the rows of the first and the columns of the second."""
        a, b = input_shapes
        flags = node.inputs[0].type.broadcastable
        batch = [b[i] if flags[i] else a[i] for i in range(len(flags) - 2)]
        return [(*batch, a[-2], b[-1])]


def batched(a: Variable, b: Variable) -> Variable:
    """The products of two stacks of the same number of axes."""
    product: Variable = BatchedDot()(a, b)
    return product


def batched_dot(a: Any, b: Any) -> Variable:
    """Return ``dot`` of each pair of elements along the first axes.

    With more axes: the last of ``a`` by the last but one of ``b``.
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    for operand in (x, y):
        if operand.type.ndim == 0:
            raise GraphArgumentError(
                f"batched_dot: given {operand} of {operand.type}, expected an axis of "
                "the batch"
            )
    if x.type.ndim == 1:
        return math.mul(dimshuffle(x, 0, *("x",) * (y.type.ndim - 1)), y)
    if y.type.ndim == 1:
        return math.mul(x, dimshuffle(y, 0, *("x",) * (x.type.ndim - 1)))
    if x.type.ndim > 3 or y.type.ndim > 3:
        return batched_tensordot(x, y, [[-1], [max(1, y.type.ndim - 2)]])
    if x.type.ndim == y.type.ndim == 2:
        return add_up(x * y, axis=1, dtype=common_dtype(x, y))
    left = dimshuffle(x, 0, "x", 1) if x.type.ndim == 2 else x
    right = dimshuffle(y, 0, 1, "x") if y.type.ndim == 2 else y
    product = batched(left, right)
    if x.type.ndim == 2:
        return dimshuffle(product, 0, 2)
    return dimshuffle(product, 0, 1) if y.type.ndim == 2 else product


def batched_tensordot(a: Any, b: Any, axes: Any = 2) -> Variable:
    """``tensordot`` of each pair of elements along the first axes.

    ``axes`` is a number, of last axes of ``a`` and first ones of ``b`` after the batch,
    or a pair of lists of axes, of which none is 0.
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    name = "batched_tensordot"
    for operand in (x, y):
        if operand.type.ndim == 0:
            raise GraphTypeError(f"{name}: given {operand.type}, expected a batch")
    left, right = paired_axes(name, axes, x.type.ndim, y.type.ndim, first=1)
    rows = [axis for axis in range(1, x.type.ndim) if axis not in left]
    columns = [axis for axis in range(1, y.type.ndim) if axis not in right]
    batch = shape_i(y if x.type.broadcastable[0] else x, 0)
    lengths = [batch, *(shape_i(x, i) for i in rows), *(shape_i(y, i) for i in columns)]
    return reshape(batched(_stack(x, rows, left), _stack(y, right, columns)), lengths)


def _stack(x: Variable, rows: Sequence[int], columns: Sequence[int]) -> Variable:
    """``x`` with all axes but the first merged into rows and columns."""
    moved = dimshuffle(x, 0, *rows, *columns)
    if len(rows) == len(columns) == 1:
        return moved
    merged = [merged_length(x, axes) for axes in (rows, columns)]
    return reshape(moved, [shape_i(x, 0), *merged])


def matmul(a: Any, b: Any) -> Variable:
    """Return the matrix product ``a @ b``, by NumPy's rules for vectors and stacks.

    The axes before the last two broadcast where their types do.
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    for operand in (x, y):
        if operand.type.ndim == 0:
            raise GraphArgumentError(
                f"matmul: given {operand} of {operand.type}, a scalar; use a * b"
            )
    if y.type.ndim <= 2:
        return dot(x, y)
    row = dimshuffle(x, "x", 0) if x.type.ndim == 1 else x
    ndim = max(row.type.ndim, y.type.ndim)
    stacks = [shape_padleft(side, ndim - side.type.ndim) for side in (row, y)]
    product = batched(*stacks)
    if x.type.ndim > 1:
        return product
    return dimshuffle(product, *(i for i in range(ndim) if i != ndim - 2))


def kron(a: Any, b: Any) -> Variable:
    """Return the Kronecker product: blocks of ``b``, each times an element of ``a``.

    The operand of lower rank gets new axes on its left, as NumPy has it.
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    ndim = max(x.type.ndim, y.type.ndim)
    left = shape_padleft(x, ndim - x.type.ndim)
    right = shape_padleft(y, ndim - y.type.ndim)
    coarse = dimshuffle(left, *(entry for i in range(ndim) for entry in (i, "x")))
    fine = dimshuffle(right, *(entry for i in range(ndim) for entry in ("x", i)))
    lengths = []
    for axis in range(ndim):
        longer = [
            operand for operand in (left, right) if not operand.type.broadcastable[axis]
        ]
        own = [shape_i(operand, axis) for operand in longer or [left]]
        lengths.append(own[0] if len(own) == 1 else own[0] * own[1])
    return reshape(coarse * fine, lengths) if ndim else math.mul(x, y)


def inner(a: Any, b: Any) -> Variable:
    """Return the sums of products over the last axes, as NumPy's; of scalars ``a*b``.

    Raises TypeError or ValueError as ``tensordot`` does.
    """
    x, y = as_tensor_variable(a), as_tensor_variable(b)
    if x.type.ndim == 0 or y.type.ndim == 0:
        return math.mul(x, y)
    return tensordot(x, y, [[x.type.ndim - 1], [y.type.ndim - 1]])


def vdot(a: Any, b: Any) -> Variable:
    """Return the product of all elements as two vectors, the first conjugated."""
    x, y = flatten(as_tensor_variable(a)), flatten(as_tensor_variable(b))
    return dot(math.conjugate(x) if x.type.is_complex else x, y)


class Ger(Blas):
    """``A + alpha * outer(x, y)``."""

    __props__ = ("alpha", "inplace")

    axes = (2, 1, 1)
    beta = 1.0

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.alpha, self.inplace = float(alpha), bool(inplace)
        self._share()

    def reference(self, A: Any, x: Any, y: Any) -> Any:
        """The result with NumPy."""
        return self._combine(A, np.outer(wide(x), wide(y)))

    def grad(
        self, m: Any, g: Any, out: Variable, A: Variable, x: Variable, y: Variable
    ) -> tuple[Variable, Variable, Variable]:
        """Return the gradients by the product rule."""
        scaled = self.alpha * g
        return g, dot(scaled, y), dot(x, scaled)


class BatchedGemm(MatrixProduct):
    """``beta * C + alpha * op(A) @ op(B)`` of stacks of 3 axes."""

    axes = (3, 3, 3)

    def product(self, a: Variable, b: Variable) -> Variable:
        """Return ``batched``."""
        return batched(a, b)
