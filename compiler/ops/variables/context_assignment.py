"""Which context each variable of a graph belongs to, where a program says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpuarray.compiler.graph.core import Apply, Variable, is_device_node
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.variables.transfer import HostFromGpu, Transfer, meant_for

Places = Mapping[Variable, str | None]


def places_of(inputs: Iterable[Variable], order: Iterable[Apply]) -> Places:
    """The names of contexts by variable; without those that may be anywhere.

    An operation runs where the first of its inputs is that is somewhere. An input that
    may be anywhere is where the first operation is that takes it.
    """
    found: dict[Variable, str | None] = {}
    for variable in inputs:
        is_meant, name = meant_for(variable)
        if is_meant:
            found[variable] = name
    free: dict[Variable, str | None] = {}
    for node in order:
        known = [found[each] for each in node.inputs if each in found]
        if isinstance(node.op, Transfer) and not isinstance(node.op, HostFromGpu):
            known = [node.outputs[0].type.context_name]
        elif is_device_node(node) and not isinstance(node.op, HostFromGpu):
            known = [own_place(node)]
        if known:
            found.update(dict.fromkeys(node.outputs, known[0]))
            for each in node.inputs:
                if each.owner is None and each not in found:
                    free.setdefault(each, known[0])
    return {**free, **found}


def own_place(node: Apply) -> str | None:
    """The context of the first of a node's arrays that has one."""
    kinds = (variable.type for variable in (*node.outputs, *node.inputs))
    name: str | None = next(
        kind.context_name for kind in kinds if isinstance(kind, GpuArrayType)
    )
    return name
