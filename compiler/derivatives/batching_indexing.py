"""Batching rules of indexing: the same part of each row, after a full slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.derivatives.batching import BatchedOperand, repeated, rule
from gpuarray.compiler.derivatives.batching_rules import same_for_all
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.index.advanced import (
    MASK,
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedChange,
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    Picks,
    flat,
)
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.slicing.subtensor import FULL, IncSubtensor, Slice, Subtensor


@rule(Subtensor)
def part(op: Subtensor, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Take the same part of each row."""
    x, *integers = operands
    if not same_for_all(operands):
        return None
    return Subtensor((FULL, *op.idx_list))(
        x.value, *(integer.value for integer in integers)
    )


@rule(IncSubtensor)
def changed_part(
    op: IncSubtensor, node: Apply, operands: Sequence[BatchedOperand]
) -> Any:
    """Change the same part of each row; an operand without rows is repeated."""
    x, y, *integers = operands
    if any(integer.by_row for integer in integers):
        return None
    array = x.value if x.by_row else repeated(x.value, shape_i(y.value, 0))
    ndim = op.getter().make_node(
        *(operand.value for operand in (_row(x, node), *integers))
    )
    values = y.rows(ndim.out.type.ndim)
    changed = IncSubtensor((FULL, *op.idx_list), False, op.set_instead_of_inc)
    return changed(array, values, *(integer.value for integer in integers))


def _row(operand: BatchedOperand, node: Apply) -> BatchedOperand:
    """Return a variable of a single row of an operand, for its type."""
    return BatchedOperand(node.inputs[0].type(), False) if operand.by_row else operand


def leading(idx_list: Sequence[Any], index: Sequence[Variable]) -> int:
    """Return the number of axes of arrays that come first, as with slices in between.

    They then come before the rows' axis, too.
    """
    arrays = [i for i, entry in enumerate(idx_list) if not isinstance(entry, Slice)]
    between = idx_list[arrays[0] : arrays[-1]]
    if not any(isinstance(entry, Slice) for entry in between):
        return 0
    ranks = [
        1 if entry == MASK else part.type.ndim
        for entry, part in zip(flat(idx_list), index, strict=True)
    ]
    return max(ranks)


@rule(Picks)
def picked(op: Any, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Pick the indexed elements of each row."""
    x, *index = operands
    if not same_for_all(operands):
        return None
    parts = [operand.value for operand in index]
    getter = (AdvancedBooleanSubtensor if MASK in op.idx_list else AdvancedSubtensor)(
        (FULL, *op.idx_list)
    )
    result = getter(x.value, *parts)
    first = leading(op.idx_list, parts)
    rest = range(first + 1, result.type.ndim)
    return dimshuffle(result, first, *range(first), *rest)


@rule(AdvancedChange)
def changed_where_picked(
    op: Any, node: Apply, operands: Sequence[BatchedOperand]
) -> Any:
    """Change the indexed elements of each row; operands without rows are repeated."""
    x, y, *index = operands
    if any(operand.by_row for operand in index):
        return None
    parts = [operand.value for operand in index]
    array = x.value if x.by_row else repeated(x.value, shape_i(y.value, 0))
    target = op.getter().make_node(node.inputs[0], *parts).out
    values = y.rows(target.type.ndim)
    first = leading(op.idx_list, parts)
    if y.by_row and first:
        values = dimshuffle(
            values, *range(1, first + 1), 0, *range(first + 1, values.type.ndim)
        )
    elif first:
        ndim = target.type.ndim
        values = dimshuffle(
            values, *("x",) * (ndim - values.type.ndim), *range(values.type.ndim)
        )
        values = dimshuffle(values, *range(first), "x", *range(first, ndim))
    kind = AdvancedBooleanIncSubtensor if MASK in op.idx_list else AdvancedIncSubtensor
    changed = kind((FULL, *op.idx_list), False, op.set_instead_of_inc)
    return changed(array, values, *parts)
