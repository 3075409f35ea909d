"""Batching rules of each family of ops: the rows are a new first axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.derivatives.batching import (
    BatchedOperand,
    over_rows,
    repeated,
    rule,
)
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.ops.broadcast.axes import SpecifyShape
from gpuarray.compiler.ops.broadcast.broadcast import (
    BroadcastTo,
    Rebroadcast,
    broadcast_to,
)
from gpuarray.compiler.ops.control.gradient_markers import Mark
from gpuarray.compiler.ops.control.ifelse import IfElse, ifelse
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.creation.joining import Join, Split
from gpuarray.compiler.ops.custom.fromgraph import OpFromGraph
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.linalg.products import BatchedDot, batched_dot
from gpuarray.compiler.ops.nnet.nnet import Normalised
from gpuarray.compiler.ops.nnet.normalisation import BatchNormalization
from gpuarray.compiler.ops.nnet.response import SumOfNeighbours
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.scan.products import SlopeOfProduct
from gpuarray.compiler.ops.shape.shape import (
    DimShuffle,
    Reshape,
    Shape,
    Shape_i,
    dimshuffle,
    elements,
    reshape,
    shape_i,
)
from gpuarray.compiler.ops.sorting.scanning import CumOp
from gpuarray.compiler.ops.sorting.sorting import Sort
from gpuarray.compiler.ops.sparse.products import SparseMatmul
from gpuarray.compiler.ops.variables.basic import MakeVector
from gpuarray.compiler.ops.variables.transfer import Transfer


def same_for_all(operands: Sequence[BatchedOperand]) -> bool:
    """Return True if the rows share the inputs after the first, which decide shapes."""
    return not any(operand.by_row for operand in operands[1:])


@rule(Elemwise)
def elemwise(op: Elemwise, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Broadcast over one more axis on the left."""
    ndim = node.outputs[0].type.ndim
    return Elemwise(op.scalar)(*(operand.rows(ndim) for operand in operands))


@rule(SlopeOfProduct)
def slope(op: SlopeOfProduct, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Mark slopes of products over the same axes of each row."""
    rows = next(operand.value for operand in operands if operand.by_row)
    length = shape_i(rows, 0)
    wide = [x.value if x.by_row else repeated(x.value, length) for x in operands]
    return SlopeOfProduct([axis + 1 for axis in op.axes], op.reverse)(*wide)


@rule(Transfer, Mark)
def unchanged(op: Op, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Apply the op, whatever the axes; what is marked comes first."""
    first, *others = operands
    rows = first.value
    if not first.by_row:
        rows = repeated(rows, shape_i(next(x.value for x in others if x.by_row), 0))
    return op(rows, *(other.value for other in others))


@rule(IfElse)
def branches(op: IfElse, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Choose all rows of a branch by one condition for all."""
    condition, *sides = operands
    if condition.by_row:
        return None
    length = shape_i(next(side.value for side in sides if side.by_row), 0)
    rows = [
        side.value if side.by_row else repeated(side.value, length) for side in sides
    ]
    return ifelse(condition.value, rows[: op.n_outs], rows[op.n_outs :], op.name)


@rule(Reduce)
def reduction(op: Reduce, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Reduce each axis one further to the right."""
    axes = tuple(axis + 1 for axis in op.axes)
    batched = type(op)(op.monoid, axes, op.dtype, op.acc_dtype, op.of_none)
    return batched(operands[0].value)


@rule(DimShuffle)
def axes_in_order(
    op: DimShuffle, node: Apply, operands: Sequence[BatchedOperand]
) -> Any:
    """Permute the other axes after the first."""
    order = ["x" if axis == "x" else int(axis) + 1 for axis in op.new_order]
    return dimshuffle(operands[0].value, 0, *order)


@rule(Rebroadcast)
def flags(op: Rebroadcast, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Keep the flag of the rows' axis."""
    x = operands[0].value
    return Rebroadcast((x.type.broadcastable[0], *op.broadcastable))(x)


@rule(SpecifyShape)
def declared_lengths(
    op: SpecifyShape, node: Apply, operands: Sequence[BatchedOperand]
) -> Any:
    """Declare the rows' own length too."""
    lengths = elements(operands[1].value) if same_for_all(operands) else None
    if lengths is None:
        return None
    x = operands[0].value
    return op(x, [shape_i(x, 0), *lengths])


@rule(Reshape)
def other_lengths(op: Reshape, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Put the rows' length first in the new shape."""
    lengths = elements(operands[1].value) if same_for_all(operands) else None
    if lengths is None:
        return None
    x = operands[0].value
    return reshape(x, [shape_i(x, 0), *lengths], ndim=op.ndim + 1)


@rule(BroadcastTo)
def repeated_axes(
    op: BroadcastTo, node: Apply, operands: Sequence[BatchedOperand]
) -> Any:
    """Give rows all the axes that they are repeated along, of length 1."""
    lengths = elements(operands[1].value) if same_for_all(operands) else None
    if lengths is None:
        return None
    x = operands[0].rows(op.ndim)
    return broadcast_to(x, [shape_i(x, 0), *lengths], ndim=op.ndim + 1)


@rule(Shape)
def lengths(op: Shape, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Return the lengths of a row, the same for all."""
    x = operands[0].value
    vector = MakeVector("int64")(*(shape_i(x, i) for i in range(1, x.type.ndim)))
    return BatchedOperand(vector, False)


@rule(Shape_i)
def length(op: Shape_i, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Return the length of an axis of a row, the same for all."""
    return BatchedOperand(shape_i(operands[0].value, op.i + 1), False)


@rule(MakeVector)
def side_by_side(
    op: MakeVector, node: Apply, operands: Sequence[BatchedOperand]
) -> Any:
    """Join columns: each element of a row is its scalar."""
    place = counted(len(operands))
    columns = [
        dimshuffle(operand.value, 0, "x") if operand.by_row else operand.value
        for operand in operands
    ]
    result = math.cast(columns[-1], op.dtype)
    for i, column in enumerate(columns[:-1]):
        merged = math.FUNCTIONS["where"](math.FUNCTIONS["eq"](place, i), column, result)
        result = math.cast(merged, op.dtype)
    return result


@rule(Dot)
def product(op: Dot, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Compute one product of matrices if only one operand has rows."""
    a, b = operands
    if a.by_row and b.by_row:
        return batched_dot(a.value, b.value)
    left, right = node.inputs
    if a.by_row:
        return _times(a.value, b.value, left.type.ndim, right.type.ndim)
    turned = dimshuffle(a.value, *reversed(range(left.type.ndim)))
    if right.type.ndim == 2:  # a . b is (b.T . a.T).T
        b_turned = dimshuffle(b.value, 0, 2, 1)
        result = _times(b_turned, turned, 2, left.type.ndim)
        return result if left.type.ndim == 1 else dimshuffle(result, 0, 2, 1)
    return _times(b.value, turned, 1, left.type.ndim)


def _times(a: Variable, b: Variable, ndim: int, b_ndim: int) -> Variable:
    """Return rows of ``ndim`` axes times an operand that they share."""
    if ndim == 1:
        return Dot()(a, b)  # type: ignore[no-any-return]
    count, height, width = (shape_i(a, axis) for axis in range(3))
    flat: Variable = Dot()(reshape(a, [count * height, width]), b)
    if b_ndim == 1:
        return reshape(flat, [count, height])
    return reshape(flat, [count, height, shape_i(b, 1)])


@rule(BatchedDot)
def products(op: BatchedDot, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Make the rows an axis of the batch, repeated for an operand without."""
    ndim = node.outputs[0].type.ndim
    return op(
        *(
            operand.value
            if operand.by_row
            else dimshuffle(operand.value, "x", *range(ndim))
            for operand in operands
        )
    )


@rule(Join)
def joined(op: Join, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Join along the axis one further to the right; repeat operands without rows."""
    length = next(shape_i(operand.value, 0) for operand in operands if operand.by_row)
    return Join(op.axis + 1)(
        *(
            operand.value if operand.by_row else repeated(operand.value, length)
            for operand in operands
        )
    )


@rule(Split)
def cut(op: Split, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Split along the axis one further to the right."""
    x, sizes = operands
    if sizes.by_row:
        return None
    return Split(op.n_splits, op.axis + 1).make_node(x.value, sizes.value).outputs


@rule(OpFromGraph, BatchNormalization, SumOfNeighbours)
def graph(
    op: OpFromGraph | BatchNormalization | SumOfNeighbours,
    node: Apply,
    operands: Sequence[BatchedOperand],
) -> Any:
    """Batch the inner graph; a result that the rows share is repeated."""
    places = [
        old.type() if operand.by_row else operand.value
        for operand, old in zip(operands, node.inputs, strict=True)
    ]
    rows = {
        place: operand.value
        for place, operand in zip(places, operands, strict=True)
        if operand.by_row
    }
    return over_rows(op.expand(places), rows)


@rule(Sort, Normalised)
def along_an_axis(op: Any, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Apply it along the axis one further to the right."""
    return type(op)(op.axis + 1 if op.axis >= 0 else op.axis)(operands[0].value)


@rule(CumOp)
def folded(op: CumOp, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Scan along the axis one further to the right; by default each raveled row."""
    x = operands[0].value
    if op.axis is None:
        flat = reshape(x, [shape_i(x, 0), -1])
        return CumOp(1, op.mode, op.reverse)(flat)
    return CumOp(op.axis + 1, op.mode, op.reverse)(x)


@rule(SparseMatmul)
def sparse_product(
    op: SparseMatmul, node: Apply, operands: Sequence[BatchedOperand]
) -> Any:
    """One product with the rows' vectors, or columns, beside one another."""
    *arrays, x, rows, columns = operands
    if any(operand.by_row for operand in (*arrays, rows, columns)):
        return None
    rest = [operand.value for operand in (*arrays, rows, columns)]
    if x.value.type.ndim == 2:
        beside = dimshuffle(x.value, 1, 0)
        return dimshuffle(op(*rest[:3], beside, *rest[3:]), 1, 0)
    count, length, width = (shape_i(x.value, axis) for axis in range(3))
    beside = reshape(dimshuffle(x.value, 1, 0, 2), [length, count * width], ndim=2)
    made = op(*rest[:3], beside, *rest[3:])
    apart = reshape(made, [shape_i(made, 0), count, width], ndim=3)
    return dimshuffle(apart, 1, 0, 2)
