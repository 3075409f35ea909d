"""Results of a function, computed element by element, in one launch for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuarray.compiler.graph.core import Apply, Constant, Variable, is_float
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS
from gpuarray.compiler.ops.elemwise import Elemwise
from gpuarray.compiler.ops.places import Places, places_of
from gpuarray.compiler.ops.together import Part, Together
from gpuarray.compiler.rewrites.engine import Log, graph_pass
from gpuarray.compiler.rewrites.fusion import compose
from gpuarray.compiler.rewrites.partition import is_fusible

_MOST_PARTS = 16
_MOST_ARGUMENTS = 250
_MOST_STEPS = 32


@graph_pass(phase="fuse")
def fuse_results(fgraph: FunctionGraph, log: Log) -> bool:
    """Compute results of the function that nothing else reads in one launch."""
    found = list(bunches(fgraph))
    for nodes in found:
        replace_nodes(fgraph, nodes, log)
    return bool(found)


def bunches(fgraph: FunctionGraph) -> Iterator[list[Apply]]:
    """Nodes that can run together: nothing reads them, so none needs another."""
    places = places_of(fgraph.inputs, fgraph.toposort())
    for place in dict.fromkeys([None, *places.values()]):
        yield from bunches_at(fgraph, place, places)


def bunches_at(
    fgraph: FunctionGraph, place: str | None, places: Places
) -> Iterator[list[Apply]]:
    """The bunches of one context; None is the default one."""
    guards = fgraph.guards()
    bunch: list[Apply] = []
    size = 0
    for node in fgraph.toposort():
        if places.get(node.outputs[0]) != place:
            continue
        if not is_result(fgraph, node) or guards.get(node, ALWAYS):
            continue
        given = [v for v in node.inputs if not isinstance(v, Constant)]
        arguments = 2 * (len(given) + len(node.outputs)) + 2
        if len(bunch) == _MOST_PARTS or size + arguments > _MOST_ARGUMENTS:
            if len(bunch) > 1:
                yield bunch
            bunch, size = [], 0
        bunch.append(node)
        size += arguments
    if len(bunch) > 1:
        yield bunch


def is_result(fgraph: FunctionGraph, node: Apply) -> bool:
    """Whether only the caller reads the node, and no input but numbers is repeated."""
    if not is_plain(node) or any(
        client != "output" for out in node.outputs for client, _ in fgraph.clients[out]
    ):
        return False
    pattern = node.outputs[0].type.broadcastable
    wholes = [v for v in node.inputs if is_whole(v, pattern)]
    if all(pattern):  # integers may be on the host, and have no shape
        wholes = [v for v in wholes if is_float(v)]
    return bool(wholes) and all(
        all(v.type.broadcastable) or v in wholes for v in node.inputs
    )


def is_whole(variable: Variable, pattern: tuple[bool, ...]) -> bool:
    """Whether a variable has as many elements as results of the pattern."""
    is_constant = isinstance(variable, Constant)
    return not is_constant and variable.type.broadcastable == pattern


def is_plain(node: Apply) -> bool:
    """Whether the node is elementwise, of the host's types, and not about lengths."""
    return type(node.op) is Elemwise and is_fusible(node)


def replace_nodes(fgraph: FunctionGraph, nodes: Sequence[Apply], log: Log) -> None:
    """Put one node in the place of several."""
    inputs: list[Variable] = []
    parts: list[Part] = []
    for node in nodes:
        members = [*numbers_for(fgraph, node, nodes), node]
        inside = set(members)
        given = list(
            dict.fromkeys(
                v for each in members for v in each.inputs if v.owner not in inside
            )
        )
        pattern = node.outputs[0].type.broadcastable
        is_one = tuple(not is_whole(v, pattern) for v in given)
        parts.append(Part(compose(members, given, node.outputs), is_one))
        inputs += given
    made = Together(parts).make_node(*inputs)
    old = [out for node in nodes for out in node.outputs]
    for before, after in zip(old, made.outputs, strict=True):
        log.note("fuse_results", before, after)
        fgraph.replace(before, after, reason="fuse_results")


def numbers_for(
    fgraph: FunctionGraph, node: Apply, nodes: Sequence[Apply]
) -> list[Apply]:
    """What computes numbers that these nodes alone read; each does so for itself."""
    found: list[Apply] = []
    if all(node.outputs[0].type.broadcastable):
        return found
    for variable in node.inputs:
        owner = variable.owner
        if owner is None or owner in found or not is_plain(owner):
            continue
        op = owner.op
        assert isinstance(op, Elemwise)
        is_short = len(getattr(op.scalar, "steps", ())) <= _MOST_STEPS
        is_number = all(all(v.type.broadcastable) for v in owner.inputs)
        is_ours = all(
            client in nodes
            for out in owner.outputs
            for client, _ in fgraph.clients[out]
        )
        if is_number and is_short and is_ours and len(owner.outputs) == 1:
            found.append(owner)
    return found
