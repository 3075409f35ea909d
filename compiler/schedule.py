"""Lowers a placed graph to a plan: each node, in order, to steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpuarray.compiler.gpukernels import Lowerer, array_value, lower_node
from gpuarray.compiler.gpukernels.bodies import (
    IN_PLANS,
    inlined,
    is_opened,
)
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import use
from gpuarray.compiler.graph.ordering import arranged
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo
from gpuarray.compiler.ops.control.ifelse import IfElse
from gpuarray.compiler.ops.variables.transfer import GpuFromHost
from gpuarray.compiler.plan import ArrayValue, Call, Choose, Copy, IntValue, Plan
from gpuarray.compiler.plan_order import beside_readers, ordered, relaxed


@dataclass(frozen=True, slots=True)
class Lowered:
    """A plan with the nodes it was lowered from.

    ``nodes`` has the placed node of each step, None for those at the end; ``numbers``
    the value of each variable that has one; ``bodies`` those of the loops, by their
    steps' indices.
    """

    plan: Plan
    nodes: tuple[Apply | None, ...]
    numbers: Mapping[Variable, int]
    bodies: Mapping[int, Lowered]


def lower(fgraph: FunctionGraph, name: str) -> Plan:
    """Return the plan that computes the graph's outputs from its inputs.

    Results that the caller keeps on the device never share memory with an input, a
    constant or one another, nor within themselves: where they would, a copy is made.
    """
    return lowered(fgraph, name).plan


def lowered(
    fgraph: FunctionGraph,
    name: str,
    home: str | None = None,
    become: Mapping[int, int] | None = None,
    confirms: bool = False,
    is_body: bool = False,
) -> Lowered:
    """Return the plan of `lower`, and the node of each step.

    ``home`` is the name of the plan's own context where the graph has several.
    ``become`` maps an output to the number of the input that it is the next value of,
    whose memory it may share: the caller has no other use for it. ``confirms`` is the
    plan's. That of a loop's body, if ``is_body``, returns results as they are, copied
    or not.
    """
    names = context_names(fgraph)
    several = len(names if home is None else names | {home}) > 1
    if not several:
        home = next(iter(names), home)
    bodies: dict[int, Lowered] = {}

    def lower_body(body: FunctionGraph, called: str) -> Plan:
        """Return the plan of one iteration; its loop is the next step."""
        inner = lowered(body, called, lowerer.place, is_body=True)
        bodies[len(lowerer.steps)] = inner
        return inner.plan

    lowerer = Lowerer(fgraph.outputs, fgraph.guards(), home, lower_body, fgraph.clients)
    bind_inputs(fgraph, lowerer, home, several)
    nodes: list[Apply | None] = []
    for node in in_order(fgraph):
        lower_node(node, lowerer)
        nodes += [node] * (len(lowerer.steps) - len(nodes))
    if is_body:
        outputs = tuple(map(lowerer.number, fgraph.outputs))
    else:
        outputs = results(fgraph, lowerer, become or {})
    nodes += [None] * (len(lowerer.steps) - len(nodes))
    plan = Plan(
        name=name,
        values=tuple(lowerer.values),
        n_inputs=len(fgraph.inputs),
        constants=tuple(lowerer.constants),
        steps=tuple(lowerer.steps),
        outputs=outputs,
        confirms=confirms,
        names=tuple(variable.name for variable in fgraph.inputs),
    )
    whole = without_pauses(Lowered(plan, tuple(nodes), lowerer.numbers, bodies))
    if several:
        return reordered(whole)
    order = beside_readers(whole.plan, IN_PLANS)
    return whole if order is None else with_steps(whole, whole.plan, order)


def bind_inputs(
    fgraph: FunctionGraph, lowerer: Lowerer, home: str | None, several: bool
) -> None:
    """Number the inputs; where there are ``several`` contexts, each with its own."""
    for variable in fgraph.inputs:
        is_int = getattr(variable.tag, "is_host_int", False)
        value = IntValue() if is_int else array_value(variable)
        if several and isinstance(value, ArrayValue):
            place = lowerer.elsewhere(input_place(variable, fgraph, home))
            value = replace(value, place=place)
        lowerer.bind(variable, lowerer.new_value(value))


def results(
    fgraph: FunctionGraph, lowerer: Lowerer, become: Mapping[int, int]
) -> tuple[int, ...]:
    """Return the values of the outputs, each in memory of its own.

    Those that ``become`` names may be in the memory of their inputs.
    """
    owned: set[Variable] = set()
    next_of = {out: lowerer.number(fgraph.inputs[n]) for out, n in become.items()}
    return tuple(
        result(variable, fgraph, lowerer, owned, next_of.get(out, -1))
        for out, variable in enumerate(fgraph.outputs)
    )


def reordered(current: Lowered) -> Lowered:
    """Return the plan with its steps in the order for several contexts."""
    plan = relaxed(current.plan)
    return with_steps(current, plan, ordered(plan))


def with_steps(current: Lowered, plan: Plan, order: Sequence[int]) -> Lowered:
    """Return ``plan``, of the same steps, in the order of these indices."""
    return replace(
        current,
        plan=replace(plan, steps=tuple(plan.steps[place] for place in order)),
        nodes=tuple(current.nodes[place] for place in order),
        bodies=moved_bodies(current, order),
    )


def moved_bodies(current: Lowered, origins: Sequence[int]) -> dict[int, Lowered]:
    """Return the loops' bodies by the indices of steps that had these indices."""
    return {
        place: current.bodies[origin]
        for place, origin in enumerate(origins)
        if origin in current.bodies
    }


def in_order(fgraph: FunctionGraph) -> list[Apply]:
    """Return the nodes in the order in which they run."""
    order = fgraph.toposort()
    if any(node.op.program_order is not None for node in order):
        return arranged(order, fgraph.orderings())
    return order


def without_pauses(current: Lowered, for_files: bool = False) -> Lowered:
    """Return the plan with bodies for functions that the library binds, if it can."""
    if not any(isinstance(s, Call) and is_opened(s) for s in current.plan.steps):
        return current
    whole = inlined(current.plan, for_files)
    if whole is None:
        return current
    nodes = tuple(current.nodes[place] for place in whole.origins)
    numbers = {v: whole.numbers[number] for v, number in current.numbers.items()}
    return Lowered(whole.plan, nodes, numbers, moved_bodies(current, whole.origins))


def context_names(fgraph: FunctionGraph) -> set[str | None]:
    """Return the names of the contexts of a placed graph."""
    kinds = [variable.type for variable in fgraph.variables]
    return {kind.context_name for kind in kinds if isinstance(kind, GpuArrayType)}


def input_place(
    variable: Variable, fgraph: FunctionGraph, home: str | None
) -> str | None:
    """Return the context of an input, or that to which it is transferred first."""
    if isinstance(variable.type, GpuArrayType):
        name: str | None = variable.type.context_name
        return name
    ops = (node.op for node in fgraph.toposort() if variable in node.inputs)
    return next((op.context_name for op in ops if isinstance(op, GpuFromHost)), home)


def result(
    variable: Variable,
    fgraph: FunctionGraph,
    lowerer: Lowerer,
    owned: set[Variable],
    own: int = -1,
) -> int:
    """Return the value of an output, copied if its memory belongs to something else.

    That of value ``own`` belongs to it.
    """
    number = lowerer.number(variable)
    if not isinstance(variable.type, GpuArrayType) or number == own:
        return number
    owner = variable.owner
    if owner is not None and isinstance(owner.op, IfElse):
        return chosen(owner, variable, fgraph, lowerer, owned, own)
    arrays = fgraph.seen_through(variable)
    roots = {array for array in arrays if not is_view(array)}
    is_repeated = any(
        array.owner is not None and isinstance(array.owner.op, BroadcastTo)
        for array in arrays
    )
    if is_repeated or any(root.owner is None or root in owned for root in roots):
        copied = lowerer.new_value(lowerer.values[number])
        with lowerer.at(variable):
            step = Copy("copy", lowerer.origin(variable), (copied,), (number,))
            lowerer.add(step)
        return copied
    owned.update(roots)
    return number


def chosen(
    node: Apply,
    variable: Variable,
    fgraph: FunctionGraph,
    lowerer: Lowerer,
    owned: set[Variable],
    own: int,
) -> int:
    """The value of an output that is one of two, of each a copy if it needs one."""
    assert isinstance(node.op, IfElse)
    sides = []
    guard = lowerer.guard(node)
    branches = [node.inputs[place] for place in node.op.places(variable.index or 0)]
    for side, place in zip(branches, node.op.places(variable.index or 0), strict=True):
        with lowerer.under(use(node, place, guard)):
            sides.append(result(side, fgraph, lowerer, owned, own))
    if sides == [lowerer.number(side) for side in branches]:
        return lowerer.number(variable)
    number = lowerer.new_value(lowerer.values[lowerer.number(variable)])
    ins = (lowerer.integer(node.inputs[0]), *sides)
    with lowerer.at(variable):
        lowerer.add(Choose("if", lowerer.origin(node), (number,), ins))
    return number


def is_view(variable: Variable) -> bool:
    """Return True if the variable may share the memory of another."""
    owner = variable.owner
    return owner is not None and bool(owner.op.view_map.get(variable.index or 0))
