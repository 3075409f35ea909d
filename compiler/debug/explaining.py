"""Messages of failed runs: the node, its inputs, the user's line, the iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import empty
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.debug.failing import (
    failure_text,
    is_inside,
    is_long,
    late_text,
)
from gpuarray.compiler.debug.stepwise import (
    Stepwise,
    Values,
    Walker,
    Watcher,
    unnamed,
)
from gpuarray.compiler.executor import contexts_of
from gpuarray.compiler.explain import Explain
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.iterations import Iterations
from gpuarray.compiler.plan_stages import pauses, taken_over
from gpuarray.compiler.schedule import Lowered
from gpuarray.errors import DeviceLimit, OutOfMemory

MOST_ITERATIONS = 4096
"""The number of iterations that are run again to find the one that failed."""


@dataclass(frozen=True)
class Explainer:
    """Explains failed steps of a function's plan, ``whole``.

    ``lowered`` returns the plan with the nodes that it was lowered from; without it
    errors name steps only. ``written`` returns the plan of the graph before rewriting:
    for inputs whose shapes do not fit it has the operation that fails, which may be one
    of many in a step.
    """

    lowered: Callable[[], Lowered] | None
    whole: p.Plan
    context: Context
    written: Callable[[], Lowered] | None = None

    def __call__(
        self,
        error: Exception,
        plan: p.Plan,
        number: int,
        first: int,
        values: Sequence[Any],
    ) -> str:
        """Return the message of a failed run."""
        # A late error is of a step queued before, not of the last one.
        late = "" if self.context.launch_blocking else late_text(self.whole, error)
        if late:
            is_all = plan is self.whole
            return (is_all and self.late_iteration(error, values)) or late
        if number < 0:
            return before_text(self.whole, error, self.context)
        if (
            self.written is not None
            and plan is self.whole
            and isinstance(error, ValueError)
        ):
            minded = minded_by(self.written, values, self.context)
            if minded is not None:
                error.args = minded.args
                return "\n".join(minded.__notes__)
        known = {**dict(enumerate(values)), **dict(plan.constants)}
        if not isinstance(error, OutOfMemory):
            with suppress(Exception):  # it fails again
                known |= values_before(plan, number, self.context, values)
        node, names, lowering = None, {}, None
        if self.lowered is not None:
            lowering = self.lowered()
            node = lowering.nodes[first + number]
            names = names_of(lowering, plan, number, first)
        step = plan.steps[number]
        if isinstance(step, p.LoopStep) and not isinstance(error, OutOfMemory):
            body = None if lowering is None else lowering.bodies.get(first + number)
            there = contexts_of(plan, self.context)[step.place]
            text = iteration_text(step, body, there, known)
            if text:
                return text
        return failure_text(plan, number, node, names, known)

    def late_iteration(self, error: Exception, values: Sequence[Any]) -> str:
        """Return the message of a late error's iteration, by running its loop again.

        Empty if it is of no loop, or does not come again.
        """
        steps, places = self.whole.steps, self.whole.places()
        contexts = contexts_of(self.whole, self.context)
        if any(map(pauses, steps)):  # code of the program would run again
            return ""
        for number, step in enumerate(steps):
            if isinstance(step, p.LoopStep) and is_inside(error, step):
                with suppress(Exception):
                    arrays = [
                        asarray(v, context=contexts[place])
                        if isinstance(v, np.ndarray)
                        else v
                        for v, place in zip(values, places, strict=False)
                    ]
                    known = dict(self.whole.constants) | dict(enumerate(arrays))
                    known |= values_before(self.whole, number, self.context, arrays)
                    body = self.lowered and self.lowered().bodies.get(number)
                    there = contexts[step.place]
                    return iteration_text(step, body, there, known, str(error))
        return ""

    def inside(self, number: int) -> Explain:
        """Return the explainer of the body of the loop that is a step of the plan."""
        step = self.whole.steps[number]
        assert isinstance(step, p.LoopStep)
        body, lowered = step.body.plan, self.lowered

        def lowered_body() -> Lowered:
            assert lowered is not None
            return lowered().bodies[number]

        there = contexts_of(self.whole, self.context)[step.place]
        return Explainer(lowered and lowered_body, body, there)


class _Reached(Exception):
    """The step whose inputs are wanted comes next; ``known`` has the values."""

    def __init__(self, known: Values) -> None:
        super().__init__()
        self.known = known


class _Stop(Watcher):
    """Ends a run before a step."""

    def __init__(self, number: int) -> None:
        self.number = number

    def before(self, step: int, known: Values) -> None:
        """Raise _Reached before the step."""
        if step == self.number:
            raise _Reached(known)


def values_before(
    plan: p.Plan, number: int, context: Context, values: Sequence[Any]
) -> Values:
    """Return the values before a step of a plan without pauses, by running it again.

    What the plan would overwrite is copied first. None are known behind a collective,
    which the other ranks would have to run again.
    """
    if any(map(meets_ranks, plan.steps[:number])):
        return {}
    copies = list(values)
    if any(map(overwrites, plan.steps)):
        copies = [v.copy() if isinstance(v, Array) else v for v in copies]
    try:
        Stepwise(unnamed(plan), context, _Stop(number)).run(copies)
    except _Reached as reached:
        return reached.known
    return {}


def iteration_text(
    step: p.LoopStep,
    body: Lowered | None,
    context: Context,
    known: Values,
    message: str = "",
) -> str:
    """Return the message of the step and the iteration of a loop that fails.

    The iterations run again, one by one; empty if none of them fails with an error that
    ends in ``message``, or other ranks would have to run them, too.
    """
    if meets_ranks(step):
        return ""
    body = replace(body or unnamed(step.body.plan), plan=step.body.plan)
    stepwise = Stepwise(body, context, Walker(), waits=True)
    loop = Iterations(step, stepwise.run, MOST_ITERATIONS)
    try:
        loop.run([known[number] for number in step.ins])
    except Exception as error:
        if loop.current is not None and str(error).endswith(message):
            return "\n".join(error.__notes__)
    return ""


def meets_ranks(step: p.Step) -> bool:
    """True if the step is a collective, or a loop with one."""
    if isinstance(step, p.LoopStep):
        return any(map(meets_ranks, step.body.plan.steps))
    return isinstance(step, p.Call) and step.function == "collective"


def overwrites(step: p.Step) -> bool:
    """True if the step writes to the memory of one of its inputs."""
    return bool(taken_over(step))


def before_text(plan: p.Plan, error: Exception, context: Context) -> str:
    """Return the message of a failure before the first step of a plan."""
    if not isinstance(error, OutOfMemory):
        return ""
    return f"  in {plan.name}: its inputs are brought to {context.name}"


def minded_by(
    written: Callable[[], Lowered], values: Sequence[Any], context: Context
) -> ValueError | None:
    """Return the error of the first operation that fails for inputs of such shapes.

    They are run on a device that computes nothing, but where messages have values and
    no other rank would have to run them. None where shapes depend on computed values,
    or code of the program would run.
    """
    with suppress(Exception):
        lowered = written()  # a failure here adds nothing to the step's
        steps = lowered.plan.steps
        if any(step.pauses or step.place is not None for step in steps):
            return None
        is_real = is_long() and not any(map(meets_ranks, steps))
        with nullcontext(context) if is_real else dry() as there:
            return _first_error(lowered, values, there, context)
    return None


def _first_error(
    lowered: Lowered, values: Sequence[Any], there: Context, context: Context
) -> ValueError | None:
    """Return the error of the first operation that fails on the device ``there``."""
    arrays = [
        empty(v.shape, v.dtype, context=there)
        if isinstance(v, Array) and there is not context
        else v
        for v in values
    ]
    try:
        Stepwise(lowered, there, Walker(), dry=True).run(arrays)
    except DeviceLimit:  # of the device that the graph is tried on
        return None
    except ValueError as error:
        here = str(error).replace(f" on {there.name}:", f" on {context.name}:")
        error.args = (here,)
        return error if hasattr(error, "__notes__") else None
    return None


@contextmanager
def dry() -> Iterator[Context]:
    """Yield the null device, whose launches compute nothing in the block."""
    null = find_context("null")
    before, null.runs_dry = null.runs_dry, True
    try:
        yield null
    finally:
        null.runs_dry = before


def names_of(
    lowered: Lowered, plan: p.Plan, number: int, first: int
) -> dict[int, Variable]:
    """Return the variables of a part's values, for its steps that the message needs."""
    whole = {n: variable for variable, n in lowered.numbers.items()}
    names: dict[int, Variable] = {}
    pairs = zip(plan.steps, lowered.plan.steps[first:], strict=False)
    for step, whole_step in islice(pairs, number + 1):
        for here, there in zip(
            (*step.ins, *step.outs), (*whole_step.ins, *whole_step.outs), strict=True
        ):
            if there in whole:
                names[here] = whole[there]
    return names
