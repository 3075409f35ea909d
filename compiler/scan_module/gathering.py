"""Indices that a turn computes: what they lead to is gathered on the device.

An index of integers is a view, whose place the host must know; a recording of a loop
knows no value of a turn. So ``A[i]`` with an ``i`` of the turn becomes a gather.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.traverse import clone_replace, toposort
from gpuarray.compiler.ops.index.indexing import index, set_subtensor
from gpuarray.compiler.ops.index.picking import take
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_padleft
from gpuarray.compiler.ops.slicing.subtensor import IncSubtensor, Subtensor


def gathered(outputs: Sequence[Variable], inner: Sequence[Variable]) -> list[Variable]:
    """The outputs of a body with indices that depend on ``inner`` as gathers."""
    dependent = set(inner)
    known: dict[Variable, Variable] = {}
    for node in toposort(outputs, blockers=inner):
        if dependent.isdisjoint(node.inputs):
            continue
        dependent.update(node.outputs)
        inputs = [known.get(variable, variable) for variable in node.inputs]
        new = _gathered(node, inputs, dependent)
        if new is not None:
            new.tag.trace = node.outputs[0].tag.trace
            known[node.outputs[0]] = new
        elif inputs != node.inputs:
            made = node.clone_with(inputs).outputs
            known.update(zip(node.outputs, made, strict=True))
    return clone_replace(outputs, known)


def _gathered(
    node: Apply, inputs: Sequence[Variable], dependent: set[Variable]
) -> Variable | None:
    """What a node of an index gives by a gather; None where it needs none."""
    op = node.op
    if not isinstance(op, Subtensor | IncSubtensor):
        return None
    first = 1 if isinstance(op, Subtensor) else 2
    was = op.parts(node.inputs[first:])
    moves = [not isinstance(each, tuple) and each in dependent for each in was]
    if not any(moves):
        return None
    parts = op.parts(inputs[first:])
    if isinstance(op, Subtensor):
        return _taken(inputs[0], parts, moves)
    if len(parts) > 1:
        return None
    x, y = inputs[:2]
    target = index(x, shape_padleft(parts[0]))
    return set_subtensor(target, y if op.set_instead_of_inc else target + y)


def _taken(x: Variable, parts: Sequence[Any], moves: Sequence[bool]) -> Variable:
    """An index of which some integers depend on the turn."""
    fixed = [
        slice(None) if moves_here else slice(*part) if isinstance(part, tuple) else part
        for part, moves_here in zip(parts, moves, strict=True)
    ]
    result = index(x, tuple(fixed))
    axis = 0
    for part, moves_here in zip(parts, moves, strict=True):
        if moves_here:
            picked = take(result, dimshuffle(part, "x"), axis)
            result = index(picked, (slice(None),) * axis + (0,))
        elif isinstance(part, tuple):
            axis += 1
    return result
