"""From a placed graph to a plan: the nodes in order, each lowered to steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpuarray.compiler.gpukernels import Lowerer, array_value, lower_node
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import use
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.broadcast import BroadcastTo
from gpuarray.compiler.ops.ifelse import IfElse
from gpuarray.compiler.plan import Choose, Copy, IntValue, Plan


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
    lowerer = Lowerer(fgraph.outputs, fgraph.guards())
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
    owner = variable.owner
    if owner is not None and isinstance(owner.op, IfElse):
        return chosen(owner, variable, fgraph, lowerer, owned)
    seen = fgraph.seen_through(variable)
    roots = {each for each in seen if not is_view(each)}
    is_repeated = any(
        each.owner is not None and isinstance(each.owner.op, BroadcastTo)
        for each in seen
    )
    if is_repeated or any(each.owner is None or each in owned for each in roots):
        copied = lowerer.new_value(lowerer.values[number])
        lowerer.add(Copy("copy", lowerer.origin(variable), (copied,), (number,)))
        return copied
    owned.update(roots)
    return number


def chosen(
    node: Apply,
    variable: Variable,
    fgraph: FunctionGraph,
    lowerer: Lowerer,
    owned: set[Variable],
) -> int:
    """The value of an output that is one of two: of each a copy where it needs one."""
    assert isinstance(node.op, IfElse)
    sides = []
    guard = lowerer.guard(node)
    for place in node.op.places(variable.index or 0):
        with lowerer.under(use(node, place, guard)):
            sides.append(result(node.inputs[place], fgraph, lowerer, owned))
    number = lowerer.new_value(lowerer.values[lowerer.number(variable)])
    ins = (lowerer.integer(node.inputs[0]), *sides)
    lowerer.add(Choose("if", lowerer.origin(node), (number,), ins))
    return number


def is_view(variable: Variable) -> bool:
    """Whether the variable may lie in the memory of another."""
    owner = variable.owner
    return owner is not None and bool(owner.op.view_map.get(variable.index or 0))
