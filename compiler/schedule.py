"""From a placed graph to a plan: the nodes in order, each lowered to steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpuarray.compiler.gpukernels import Lowerer, array_value, lower_node
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.broadcast import BroadcastTo
from gpuarray.compiler.plan import Copy, IntValue, Plan


@dataclass(frozen=True, slots=True)
class Lowered:
    """A plan with what it was made from.

    ``nodes`` has the placed node of each step, None for those at the end; ``numbers``
    the value of each variable that has one.
    """

    plan: Plan
    nodes: tuple[Apply | None, ...]
    numbers: Mapping[Variable, int]


def lower(fgraph: FunctionGraph, name: str) -> Plan:
    """The plan that computes the graph's outputs from its inputs, all on one context.

    Results that the caller keeps on the device never share memory with an input, a
    constant or one another, nor within themselves: where they would, a copy is made.
    """
    return lowered(fgraph, name).plan


def lowered(fgraph: FunctionGraph, name: str) -> Lowered:
    """The plan of `lower`, and which node each of its steps comes from."""
    lowerer = Lowerer(fgraph.outputs)
    nodes: list[Apply | None] = []
    for variable in fgraph.inputs:
        is_int = getattr(variable.tag, "is_host_int", False)
        value = IntValue() if is_int else array_value(variable)
        lowerer.bind(variable, lowerer.new_value(value))
    for node in fgraph.toposort():
        lower_node(node, lowerer)
        nodes += [node] * (len(lowerer.steps) - len(nodes))
    owned: set[Variable] = set()
    outputs = tuple(result(v, fgraph, lowerer, owned) for v in fgraph.outputs)
    nodes += [None] * (len(lowerer.steps) - len(nodes))
    plan = Plan(
        name=name,
        values=tuple(lowerer.values),
        n_inputs=len(fgraph.inputs),
        constants=tuple(lowerer.constants),
        steps=tuple(lowerer.steps),
        outputs=outputs,
    )
    return Lowered(plan, tuple(nodes), lowerer.numbers)


def result(
    variable: Variable, fgraph: FunctionGraph, lowerer: Lowerer, owned: set[Variable]
) -> int:
    """The value of an output, copied if its memory belongs to something else."""
    number = lowerer.number(variable)
    if not isinstance(variable.type, GpuArrayType):
        return number
    root = fgraph.view_root(variable)
    if root.owner is None or root in owned or is_repeated(variable):
        copied = lowerer.new_value(lowerer.values[number])
        lowerer.add(Copy("copy", lowerer.origin(variable), (copied,), (number,)))
        return copied
    owned.add(root)
    return number


def is_repeated(variable: Variable) -> bool:
    """Whether the variable is a view in which elements share a place."""
    while variable.owner is not None and variable.owner.op.view_map.get(
        variable.index or 0
    ):
        if isinstance(variable.owner.op, BroadcastTo):
            return True
        variable = variable.owner.inputs[0]
    return False
