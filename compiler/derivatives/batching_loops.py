"""The batching rule of loops: each iteration does all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.derivatives.batching import (
    BatchedOperand,
    over_rows,
    repeated,
    rule,
)
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan, rows_of
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i


@rule(Scan)
def loop(op: Scan, node: Apply, operands: Sequence[BatchedOperand]) -> Any:
    """Batch the body; states are batched from the initial ones on.

    None, for the fallback, if the number of iterations differs by row or is not fixed.
    """
    iterations, *inputs_by_row = operands
    if iterations.by_row or op.until:
        return None
    length = shape_i(next(x.value for x in inputs_by_row if x.by_row), 0)
    first, last = op.n_sequences, op.n_sequences + op.n_states
    rows: dict[Variable, Variable] = {}
    inputs, outside = [], []
    for i, (inner, operand) in enumerate(
        zip(op.body.inputs, inputs_by_row, strict=True)
    ):
        value = operand.value
        is_state = first <= i < last
        if not operand.by_row and not is_state:
            inputs.append(inner)
        else:
            rows[inner] = rows_of(inner.type)(inner.name)
            inputs.append(rows[inner])
            value = value if operand.by_row else repeated(value, length)
            value = swapped(value) if i < first else value
        outside.append(value)
    body = Body(inputs, over_rows(op.body.outputs, rows))
    batched = op.like(body, op.n_sequences, op.n_states)
    loop_node = batched.make_node(iterations.value, *outside)
    finals, traces = loop_node.outputs[: op.n_states], loop_node.outputs[op.n_states :]
    return [*finals, *map(swapped, traces)]


def swapped(x: Variable) -> Variable:
    """Return an array with its first two axes swapped."""
    return dimshuffle(x, 1, 0, *range(2, x.type.ndim))
