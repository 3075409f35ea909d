"""Positions that kernels compute of the place they are at."""

from __future__ import annotations

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.fused.mapreduce import Mapped, MapReduces
from gpuarray.compiler.ops.fused.row_steps import NUMBER
from gpuarray.compiler.ops.fused.rowwise import Rowwise
from gpuarray.compiler.ops.random.positions import (
    ImpliedPositions,
    are_positions,
    is_implied,
)
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass


@graph_pass(phase="inplace")
def imply_positions(fgraph: FunctionGraph, log: Log) -> bool:
    """Let kernels compute positions, instead of reading them from memory.

    Of row programs those that have the numbers of their elements.
    """
    changed = False
    implied: dict[Variable, Variable] = {}
    for node in fgraph.toposort():
        is_elementwise = type(node.op) is Elemwise
        if not is_elementwise and not isinstance(
            node.op, Mapped | MapReduces | Rowwise
        ):
            continue
        places = [v for v in numbers_of(node) if not is_implied(v)]
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


def numbers_of(node: Apply) -> list[Variable]:
    """Return the positions that a node's kernel may compute."""
    if isinstance(node.op, Rowwise):
        kinds = [kind for _, kind in node.op.program.inputs]
        pairs = zip(node.inputs, kinds, strict=True)
        return [variable for variable, kind in pairs if kind == NUMBER]
    return [variable for variable in node.inputs if are_positions(variable)]


def made(positions: Variable) -> Variable:
    """Return implied positions in place of those in memory."""
    assert positions.owner is not None
    node = Apply(ImpliedPositions(), positions.owner.inputs, [positions.type()])
    return node.outputs[0]
