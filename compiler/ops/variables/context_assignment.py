"""Assignment of a graph's variables to contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuarray.compiler.graph.core import Apply, Variable, is_device_node
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.variables.transfer import HostFromGpu, Transfer, meant_for

Places = Mapping[Variable, str | None]


def places_of(inputs: Iterable[Variable], order: Iterable[Apply]) -> Places:
    """Return the names of contexts by variable, save variables that may be anywhere.

    An operation runs on the context of its first input that has one. An input without a
    context is on that of the first operation that reads it.
    """
    assigned: dict[Variable, str | None] = {}
    for variable in inputs:
        is_meant, name = meant_for(variable)
        if is_meant:
            assigned[variable] = name
    free: dict[Variable, str | None] = {}
    for node in order:
        known = [assigned[operand] for operand in node.inputs if operand in assigned]
        if isinstance(node.op, Transfer) and not isinstance(node.op, HostFromGpu):
            known = [node.outputs[0].type.context_name]
        elif is_device_node(node) and not isinstance(node.op, HostFromGpu):
            known = [own_place(node)]
        if known:
            assigned.update(dict.fromkeys(node.outputs, known[0]))
            for source in node.inputs:
                if source.owner is None and source not in assigned:
                    free.setdefault(source, known[0])
    return {**free, **assigned}


def own_place(node: Apply) -> str | None:
    """Return the context of the first of a node's arrays that has one."""
    kinds = (variable.type for variable in (*node.outputs, *node.inputs))
    name: str | None = next(
        kind.context_name for kind in kinds if isinstance(kind, GpuArrayType)
    )
    return name
