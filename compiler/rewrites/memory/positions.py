"""Positions that elementwise kernels compute of the place they are at."""

from __future__ import annotations

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.random.positions import (
    ImpliedPositions,
    are_positions,
    is_implied,
)
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass


@graph_pass(phase="inplace")
def imply_positions(fgraph: FunctionGraph, log: Log) -> bool:
    """Let elementwise nodes compute positions, instead of reading them from memory."""
    changed = False
    implied: dict[Variable, Variable] = {}
    for node in fgraph.toposort():
        if type(node.op) is not Elemwise:
            continue
        places = [v for v in node.inputs if are_positions(v) and not is_implied(v)]
        if not places:
            continue
        for variable in places:
            if variable not in implied:
                implied[variable] = made(variable)
        read = [implied.get(variable, variable) for variable in node.inputs]
        computed = Apply(node.op, read, [out.type() for out in node.outputs])
        for old, new in zip(node.outputs, computed.outputs, strict=True):
            log.note("imply_positions", old, new)
            fgraph.replace(old, new, reason="imply_positions")
        changed = True
    return changed


def made(positions: Variable) -> Variable:
    """Return implied positions in place of those in memory."""
    assert positions.owner is not None
    node = Apply(ImpliedPositions(), positions.owner.inputs, [positions.type()])
    return node.outputs[0]
