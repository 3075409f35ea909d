"""Bodies of a plan's step functions, which let a saved file run without Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpuarray.compiler import plan as p, rewrites
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.gpukernels.bodies import Unfold, unfold_of, written
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.placement import place
from gpuarray.compiler.plan_stages import is_called
from gpuarray.compiler.schedule import Lowered, lowered

DEPTH = 4
"""Levels of nested bodies that a file holds."""
FORMS = frozenset({"rowwise", "together"})
"""Rewrites that would fuse a body's operations into the op that has the body."""


@dataclass(frozen=True, slots=True)
class StepBodies:
    """The bodies of a plan's calls, by step number, and the calls without a body.

    ``loops`` has the bodies of loops whose calls have theirs.
    """

    bodies: Mapping[int, p.BodyPlan]
    loops: Mapping[int, p.BodyPlan]
    without: tuple[p.Call, ...]


def bodies_of(
    whole: Lowered, steps: Sequence[p.Step], depth: int = DEPTH
) -> StepBodies:
    """Return the bodies of the calls among ``steps``, the first of a plan."""
    bodies: dict[int, p.BodyPlan] = {}
    loops: dict[int, p.BodyPlan] = {}
    without: list[p.Call] = []
    for number, step in enumerate(steps):
        if isinstance(step, p.LoopStep) and number in whole.bodies:
            turn = whole.bodies[number]
            inner = bodies_of(turn, turn.plan.steps, depth - 1)
            loops[number] = p.BodyPlan(with_loops(turn.plan, inner.loops), inner.bodies)
            without += inner.without
        if isinstance(step, p.Call) and step.recorded:
            body = step.body or body_of(step, whole, whole.nodes[number], depth)
            if body is None:
                without.append(step)
            else:
                bodies[number] = body
    return StepBodies(bodies, loops, tuple(without))


def with_loops(plan: p.Plan, loops: Mapping[int, p.BodyPlan]) -> p.Plan:
    """A plan whose loops, by their places, have these bodies."""
    steps = [
        replace(step, body=loops[place])
        if place in loops and isinstance(step, p.LoopStep)
        else step
        for place, step in enumerate(plan.steps)
    ]
    return replace(plan, steps=tuple(steps))


def with_bodies(whole: Lowered) -> p.Plan | None:
    """The plan where the functions in its loops have bodies; None if it is as it is."""
    complete = with_loops(whole.plan, bodies_of(whole, whole.plan.steps).loops)
    return None if complete == whole.plan else complete


def body_of(
    step: p.Call, whole: Lowered, node: Apply | None, depth: int
) -> p.BodyPlan | None:
    """Return a call as steps of the library; None where it has no such form."""
    if depth == 0:
        return None
    plan = written(step, whole.plan.values)
    if plan is not None:
        return p.BodyPlan(plan)
    if node is None or (unfold := unfold_of(node.op)) is None:
        return None
    try:
        inner = unfolded(step, whole, node, unfold)
    except CompilerError:  # an operation without a lowering
        return None
    if inner is None:
        return None
    own = bodies_of(inner, inner.plan.steps, depth - 1)
    if own.without or any(map(is_called, inner.plan.steps)):
        return None
    return p.BodyPlan(with_loops(inner.plan, own.loops), own.bodies)


def unfolded(
    step: p.Call, whole: Lowered, node: Apply, unfold: Unfold
) -> Lowered | None:
    """Return the plan of an op's parts; None where its inputs are not the step's."""
    values = [whole.plan.values[number] for number in step.ins]
    takes = [variable_of(value) for value in values]
    places = places_of(step, whole, node)
    operands = [
        host_constant(variable) if isinstance(variable, Constant) and at is None else at
        for variable, at in zip(node.inputs, places, strict=True)
    ]
    if None in operands:
        return None
    for variable, at in zip(node.inputs, places, strict=True):
        if at is not None:  # with the op's dtype, also for an integer
            takes[at] = TensorType(variable.type.dtype, variable.type.broadcastable)()
    inputs = [takes[x] if isinstance(x, int) else x for x in operands if x is not None]
    fgraph = FunctionGraph(takes, list(unfold(node.op, inputs)))
    rewrites.optimize(fgraph, rewrites.Selection(excluding=FORMS))
    pairs = list(zip(fgraph.inputs, values, strict=True))
    integers = [v for v, value in pairs if isinstance(value, p.IntValue)]
    arrays = [v for v, value in pairs if isinstance(value, p.ArrayValue)]
    stay = range(len(fgraph.outputs))
    inner = lowered(place(fgraph, None, arrays, stay, integers=integers), step.label)
    kinds = [type(value) for value in inner.plan.values[: len(values)]]
    return inner if kinds == [type(value) for value in values] else None


def variable_of(value: p.Value) -> Variable:
    """Return the variable of an input of a step."""
    if isinstance(value, p.IntValue):
        return TensorType("int64", ())()
    return TensorType(value.dtype, value.broadcastable)()


def host_constant(variable: Constant) -> Constant:
    """Return a host copy of a constant that is text of the kernel, not an input."""
    kind = TensorType(variable.type.dtype, variable.type.broadcastable)
    return Constant(kind, variable.data, variable.name)


def places_of(step: p.Call, whole: Lowered, node: Apply) -> list[int | None]:
    """Return the step's input for each of the node's; None for text of the kernel.

    Integers that the plan reads have no number of their own: they are in order.
    """
    places: list[int | None] = []
    for variable in node.inputs:
        number = whole.numbers.get(variable, -1)
        places.append(step.ins.index(number) if number in step.ins else None)
    free = (
        at
        for at, number in enumerate(step.ins)
        if at not in places and isinstance(whole.plan.values[number], p.IntValue)
    )
    return [
        next(free, None) if at is None and not isinstance(operand, Constant) else at
        for operand, at in zip(node.inputs, places, strict=True)
    ]


def called_labels(plan: p.Plan) -> list[str]:
    """Return the labels of the steps of a loop's body that Python calls."""
    labels = []
    for step in filter(is_called, plan.steps):
        if isinstance(step, p.LoopStep):
            labels += called_labels(step.body.plan)
        else:
            labels.append(name_of(step) if isinstance(step, p.Call) else step.label)
    return labels


def name_of(step: p.Call) -> str:
    """Return a step's name for messages, with its op where the label is general."""
    op = dict(step.options).get("op")
    is_own = op is None or step.label != step.function
    return step.label if is_own else f"{step.label} ({op})"
