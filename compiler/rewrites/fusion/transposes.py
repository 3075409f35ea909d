"""Transpositions are moved before elementwise nodes, so that these can fuse."""

from __future__ import annotations

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.fused.mapreduce import MapReduce
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.ops.shape.shape import DimShuffle
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.fusion.partition import is_fusible


@graph_pass(phase="fuse")
def move_axes_before_computing(fgraph: FunctionGraph, log: Log) -> bool:
    """Move a transposition from an elementwise node's result to its operands.

    It is moved where only elementwise nodes and reductions read the transposed result,
    and nothing reads the other: then these can fuse with its producer.
    """
    changed = False
    waiting = [node for node in fgraph.toposort() if is_transpose(node)]
    while waiting:
        node = waiting.pop()
        maker = node.inputs[0].owner
        is_here = node in fgraph.apply_nodes and is_transpose(node)
        if not is_here or maker is None or not may_move(fgraph, node, maker):
            continue
        assert isinstance(node.op, DimShuffle)
        moved = [moved_axes(operand, node.op.new_order) for operand in maker.inputs]
        old, new = node.outputs[0], Apply(maker.op, moved, [node.outputs[0].type()])
        log.note("move_axes_before_computing", old, new.outputs[0])
        fgraph.replace(old, new.outputs[0], reason="move_axes_before_computing")
        waiting += [operand.owner for operand in moved if operand.owner is not None]
        changed = True
    return changed


def is_transpose(node: Apply) -> bool:
    """True if the node permutes axes, and neither adds nor drops any."""
    op = node.op
    if not isinstance(op, DimShuffle):
        return False
    order = list(range(node.inputs[0].type.ndim))
    return list(op.new_order) != order and sorted(map(str, op.new_order)) == sorted(
        map(str, order)
    )


def may_move(fgraph: FunctionGraph, node: Apply, maker: Apply) -> bool:
    """True if the node's readers can fuse with its producer."""
    readers = [client for client, _ in fgraph.clients[node.outputs[0]]]
    return (
        is_fusible(maker)
        and len(maker.outputs) == 1
        and len(fgraph.clients[maker.outputs[0]]) == 1
        and all(
            isinstance(reader, Apply)
            and (is_fusible(reader) or isinstance(reader.op, Reduce | MapReduce))
            for reader in readers
        )
    )


def moved_axes(variable: Variable, order: tuple[int | str, ...]) -> Variable:
    """Return a view with the axes in another order; a number itself."""
    if all(variable.type.broadcastable):
        return variable
    owner = variable.owner
    if owner is not None and isinstance(owner.op, DimShuffle):
        inner = owner.op.new_order
        order = tuple(inner[int(axis)] for axis in order)
        (variable,) = owner.inputs
    if order == tuple(range(variable.type.ndim)):
        return variable
    view: Variable = DimShuffle(variable.type.broadcastable, order)(variable)
    return view
