"""Gathers in place of views, for indices that an iteration computes.

An integer index is a view, whose offset the host must know. In a recorded loop the host
knows no value that an iteration computes, so ``A[i]`` with such an ``i`` becomes a
gather on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.graph.core import Apply, Variable, traced_as
from gpuarray.compiler.graph.traverse import clone_replace, toposort
from gpuarray.compiler.ops.index.indexing import index, set_subtensor
from gpuarray.compiler.ops.index.picking import take
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_padleft
from gpuarray.compiler.ops.slicing.subtensor import IncSubtensor, Subtensor
from gpuarray.compiler.ops.variables.transfer import like


def gathered(outputs: Sequence[Variable], inner: Sequence[Variable]) -> list[Variable]:
    """Return the outputs with each index that depends on ``inner`` as a gather."""
    dependent = set(inner)
    replaced: dict[Variable, Variable] = {}
    for node in toposort(outputs, blockers=inner):
        if dependent.isdisjoint(node.inputs):
            continue
        dependent.update(node.outputs)
        inputs = [replaced.get(variable, variable) for variable in node.inputs]
        with traced_as(node.trace):
            new = _gathered(node, inputs, dependent)
        if new is not None:
            new = like(new, node.outputs[0].type)
            new.tag.trace = node.outputs[0].tag.trace
            replaced[node.outputs[0]] = new
        elif inputs != node.inputs:
            copies = node.clone_with(inputs).outputs
            replaced.update(zip(node.outputs, copies, strict=True))
    return clone_replace(outputs, replaced)


def _gathered(
    node: Apply, inputs: Sequence[Variable], dependent: set[Variable]
) -> Variable | None:
    """Return the output of an index node by a gather; None where it needs none."""
    op = node.op
    if not isinstance(op, Subtensor | IncSubtensor):
        return None
    first = 1 if isinstance(op, Subtensor) else 2
    originals = op.parts(node.inputs[first:])
    moves = [not isinstance(part, tuple) and part in dependent for part in originals]
    if not any(moves):
        return None
    parts = op.parts(inputs[first:])
    if isinstance(op, Subtensor):
        return _gather(inputs[0], parts, moves)
    if len(parts) > 1:
        return None
    x, y = inputs[:2]
    target = index(x, shape_padleft(parts[0]))
    return set_subtensor(target, y if op.set_instead_of_inc else target + y)


def _gather(x: Variable, parts: Sequence[Any], moves: Sequence[bool]) -> Variable:
    """Return ``x[parts]``; ``moves`` marks the integers that an iteration computes."""
    fixed = [
        slice(None) if moves_here else slice(*part) if isinstance(part, tuple) else part
        for part, moves_here in zip(parts, moves, strict=True)
    ]
    result = x if all(moves) else index(x, tuple(fixed))
    axis = 0
    for part, moves_here in zip(parts, moves, strict=True):
        if moves_here:
            picked = take(result, dimshuffle(part, "x"), axis)
            result = index(picked, (slice(None),) * axis + (0,))
        elif isinstance(part, tuple):
            axis += 1
    return result
