"""Assignment of a graph's variables to contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpuarray.compiler.graph.core import Apply, Variable, is_device_node
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.variables.transfer import HostFromGpu, Transfer, meant_for

Places = Mapping[Variable, str | None]


def places_of(
    inputs: Iterable[Variable], order: Iterable[Apply], homes: Places | None = None
) -> Places:
    """Return the names of contexts by variable, save variables that may be anywhere.

    An operation runs on the first of its `homes`, mostly the context of its first input
    that has one; lengths have none.
    An input without a context, and an operation whose inputs have none, is on that of
    the first operation that reads it. ``homes`` has inputs whose contexts are known.
    """
    assigned: dict[Variable, str | None] = dict(homes or {})
    for variable in inputs:
        is_meant, name = meant_for(variable)
        if is_meant:
            assigned[variable] = name
    nodes = list(order)
    for node in nodes:
        if node.op.gives_lengths:
            continue
        known = list(node.op.homes(node, assigned))
        if isinstance(node.op, Transfer) and not isinstance(node.op, HostFromGpu):
            known = [node.outputs[0].type.context_name]
        elif is_device_node(node) and not isinstance(node.op, HostFromGpu):
            known = [own_place(node)]
        if known:
            assigned.update(dict.fromkeys(node.outputs, known[0]))
    return {**of_readers(nodes, assigned), **assigned}


def of_readers(nodes: Sequence[Apply], assigned: Places) -> Places:
    """Return the contexts of the first readers of variables that have none."""
    free: dict[Variable, str | None] = {}
    for node in reversed(nodes):
        result = node.outputs[0]
        if node.op.gives_lengths or (result not in assigned and result not in free):
            continue
        place = assigned[result] if result in assigned else free[result]
        free.update({v: place for v in node.inputs if v not in assigned})
        free.update(dict.fromkeys(node.outputs, place))
    return free


def own_place(node: Apply) -> str | None:
    """Return the context of the first of a node's arrays that has one."""
    kinds = (variable.type for variable in (*node.outputs, *node.inputs))
    name: str | None = next(
        kind.context_name for kind in kinds if isinstance(kind, GpuArrayType)
    )
    return name
