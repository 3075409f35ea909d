"""Sibling reductions: of one array over the same axes, in one pass over it."""

from __future__ import annotations

from collections.abc import Iterator

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.elemwise.elemwise import Composite, Elemwise
from gpuarray.compiler.ops.fused.mapreduce import MapReduce, MapReduces
from gpuarray.compiler.ops.reduce.argmax import Argmax, Extremum
from gpuarray.compiler.ops.reduce.reduce import Reduce
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass
from gpuarray.compiler.rewrites.fusion.fusion import compose, join_sibling
from gpuarray.compiler.rewrites.fusion.partition import Partition


@graph_pass(phase="fuse")
def fuse_extrema(fgraph: FunctionGraph, log: Log) -> bool:
    """Merge a max and an argmax along an axis into one reduction."""
    guards = fgraph.guards()
    changed = False
    for node in fgraph.toposort():
        if type(node.op) is not Argmax or len(node.op.axes) != 1:
            continue
        (x,) = node.inputs
        op = Extremum(node.op.axes[0], node.op.smallest)
        extremum = op.parts[0].make_node(x)
        for other, _ in list(fgraph.clients[x]):
            if (
                isinstance(other, Apply)
                and other.op == extremum.op
                and guards.get(other) == guards.get(node)
            ):
                old = [other.outputs[0], node.outputs[0]]
                for before, after in zip(old, op.make_node(x).outputs, strict=True):
                    log.note("fuse_extrema", before, after)
                    fgraph.replace(before, after, reason="fuse_extrema")
                changed = True
                break
    return changed


@graph_pass(phase="fuse")
def fuse_sibling_reductions(fgraph: FunctionGraph, log: Log) -> bool:
    """Merge reductions of shared arrays over the same axes."""
    if sum(is_reduction(node) for node in fgraph.apply_nodes) < 2:
        return False
    partition = Partition(fgraph)
    for first, second in neighbours(partition):
        join_sibling(partition, first, second)
    groups = [nodes for nodes in map(partition.nodes, partition.members) if nodes[1:]]
    for nodes in groups:
        replace_siblings(fgraph, nodes, log)
    return bool(groups)


def is_reduction(node: Apply) -> bool:
    """True if the node reduces real numbers of host types."""
    return type(node.op) in (Reduce, MapReduce) and not any(
        v.type.dtype.startswith("complex") for v in (*node.inputs, *node.outputs)
    )


def reduce_of(node: Apply) -> Reduce:
    """Return the reduction without its map."""
    op = node.op.reduce if isinstance(node.op, MapReduce) else node.op
    assert isinstance(op, Reduce)
    return op


def pattern_of(node: Apply) -> tuple[bool, ...]:
    """Return the broadcastable pattern of the reduced elements."""
    flags = zip(*(v.type.broadcastable for v in node.inputs), strict=True)
    return tuple(all(flag) for flag in flags)


def neighbours(partition: Partition) -> Iterator[tuple[Apply, Apply]]:
    """Yield pairs of reductions over the same axes that read an array in turn."""
    for variable, clients in list(partition.fgraph.clients.items()):
        latest: dict[tuple[int, ...], Apply] = {}
        readers = {client for client, _ in clients if isinstance(client, Apply)}
        for node in sorted(readers, key=partition.position.__getitem__):
            if is_reduction(node) and pattern_of(node) == variable.type.broadcastable:
                axes = reduce_of(node).axes
                if axes in latest:
                    yield latest[axes], node
                latest[axes] = node


def replace_siblings(fgraph: FunctionGraph, nodes: list[Apply], log: Log) -> None:
    """Replace several reductions by one node."""
    maps: list[Apply] = []
    mapped: list[Variable] = []
    for node in nodes:
        if isinstance(node.op, MapReduce):
            maps.append(node.op.map.make_node(*node.inputs))
            mapped.append(maps[-1].outputs[0])
        else:
            mapped.append(node.inputs[0])
    inputs = list(dict.fromkeys(v for node in nodes for v in node.inputs))
    scalar: Composite = compose(maps, inputs, mapped)
    reduces = [reduce_of(node) for node in nodes]
    merged = MapReduces(Elemwise(scalar), reduces).make_node(*inputs)
    for node, new in zip(nodes, merged.outputs, strict=True):
        log.note("fuse_sibling_reductions", node.outputs[0], new)
        fgraph.replace(node.outputs[0], new, reason="fuse_sibling_reductions")
