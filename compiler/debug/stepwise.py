"""A plan run step by step, for a look at the results of each step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice
from typing import Any

from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import empty
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.debug.failing import failure_text, is_long, late_text
from gpuarray.compiler.encoder import call
from gpuarray.compiler.executor import (
    Absent,
    Explain,
    NativePlan,
    brought,
    contexts_of,
    holds,
    integer,
    note,
    read,
)
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.plan_stages import (
    PlanPart,
    is_called,
    pauses,
    single,
    taken_over,
)
from gpuarray.compiler.schedule import Lowered
from gpuarray.errors import OutOfMemory

Values = dict[int, Any]
Hook = Callable[[int, Values], None]
"""Takes the number of a step and the known values: arrays and integers."""


def nothing(step: int, values: Values) -> None:
    """Do nothing: a hook."""


def nothing_more(*arguments: Any) -> str:
    """Return no note on a failure of a single step: `Stepwise` adds it."""
    return ""


class Stepwise:
    """A plan on a context whose steps run one by one.

    ``before`` and ``after`` are called around each step; no value is dropped during a
    run, but a step may overwrite the array of an earlier one.
    """

    def __init__(
        self,
        lowered: Lowered,
        context: Context,
        before: Hook = nothing,
        after: Hook = nothing,
    ) -> None:
        self.lowered = lowered
        self.plan = lowered.plan
        self.context = context
        self.before = before
        self.after = after
        self._loaded: dict[int, tuple[PlanPart, NativePlan]] = {}
        self._constants = {
            number: asarray(data, context=context)
            for number, data in self.plan.constants
        }
        self._contexts = contexts_of(self.plan, context)
        self._absent = Absent(self.plan, self._contexts)

    def run(self, values: Sequence[Any]) -> list[Array]:
        """Run the plan on its inputs and return its results."""
        known: Values = {**dict(enumerate(values)), **self._constants}
        for number, step in enumerate(self.plan.steps):
            if not holds(step, known):
                known.update(self._absent.of(step))
                continue
            self.before(number, known)
            try:
                results = self._step(number, step, known)
            except Exception as error:
                node = self.lowered.nodes[number]
                names = {n: variable for variable, n in self.lowered.numbers.items()}
                note(error, failure_text(self.plan, number, node, names, known))
                raise
            known.update(zip(step.outs, results, strict=True))
            self.after(number, known)
        return [known[number] for number in self.plan.outputs]

    def _step(self, number: int, step: p.Step, known: Values) -> Sequence[Any]:
        inputs = [known[each] for each in step.ins]
        if isinstance(step, p.HostInt | p.Dim | p.IntOp):
            return [integer(step, inputs)]
        if isinstance(step, p.Read):
            return read(step, inputs[0])
        if isinstance(step, p.Choose):
            return [inputs[1] if inputs[0] else inputs[2]]
        if isinstance(step, p.Call) and is_called(step):
            place = self._contexts[step.place]
            return call(step, [brought(v, step, place) for v in inputs], place)
        if number not in self._loaded:
            part = single(self.plan, step)
            place = self._contexts[step.place]
            self._loaded[number] = part, NativePlan(part.plan, place, nothing_more)
        part, native = self._loaded[number]
        results = dict(
            zip(part.outs, native.run([known[n] for n in part.ins]), strict=True)
        )
        return [results[each] for each in step.outs]

    def info(self) -> dict[str, int]:
        """Return counts as those of a function that runs at once, as far as known."""
        return {"n_steps": len(self.plan.steps)}


class _Reached(Exception):
    """The step whose inputs are wanted comes next; ``known`` has the values."""

    def __init__(self, known: Values) -> None:
        super().__init__()
        self.known = known


def values_before(
    plan: p.Plan, number: int, context: Context, values: Sequence[Any]
) -> Values:
    """Return the values before a step of a plan without pauses, by running it again.

    What the plan would overwrite is copied first.
    """

    def stop(step: int, known: Values) -> None:
        if step == number:
            raise _Reached(known)

    copies = list(values)
    if any(map(overwrites, plan.steps)):
        copies = [v.copy() if isinstance(v, Array) else v for v in copies]
    try:
        Stepwise(Lowered(plan, (None,) * len(plan.steps), {}, {}), context, stop).run(
            copies
        )
    except _Reached as reached:
        return reached.known
    return {}


def overwrites(step: p.Step) -> bool:
    """True if the step writes to the memory of one of its inputs."""
    return bool(taken_over(step))


def explainer(
    lowered: Callable[[], Lowered] | None,
    whole: p.Plan,
    context: Context,
    written: Callable[[], Lowered] | None = None,
) -> Explain:
    """Return a function that explains failed steps of a function's plan, ``whole``.

    ``lowered`` returns the plan with the nodes that it was lowered from; without it
    errors name steps only. ``written`` returns the plan of the graph before rewriting:
    for inputs whose shapes do not fit it has the operation that fails, which may be one
    of many in a step.
    """

    def explain(
        error: Exception, plan: p.Plan, number: int, first: int, values: Sequence[Any]
    ) -> str:
        # A late error is of a step queued before, not of the last one.
        late = "" if context.launch_blocking else late_text(whole, error)
        if late or number < 0:
            return late or before_text(whole, error, context)
        if written is not None and plan is whole and isinstance(error, ValueError):
            minded = minded_by(written, values, context)
            if minded is not None:
                error.args = minded.args
                return "\n".join(minded.__notes__)
        known = {**dict(enumerate(values)), **dict(plan.constants)}
        if not isinstance(error, OutOfMemory):
            with suppress(Exception):  # it fails again
                known |= values_before(plan, number, context, values)
        node, names = None, {}
        if lowered is not None:
            lowering = lowered()
            node = lowering.nodes[first + number]
            names = names_of(lowering, plan, number, first)
        return failure_text(plan, number, node, names, known)

    return explain


def before_text(plan: p.Plan, error: Exception, context: Context) -> str:
    """Return the message of a failure before the first step of a plan."""
    if not isinstance(error, OutOfMemory):
        return ""
    return f"  in {plan.name}: its inputs are brought to {context.name}"


def minded_by(
    written: Callable[[], Lowered], values: Sequence[Any], context: Context
) -> ValueError | None:
    """Return the error of the first operation that fails for inputs of such shapes.

    They are run on a device that computes nothing, but where messages have values. None
    where shapes depend on computed values, or code of the program would run.
    """
    with suppress(Exception), nullcontext(context) if is_long() else dry() as there:
        lowered = written()  # a failure here adds nothing to the step's
        if any(pauses(step) or step.place is not None for step in lowered.plan.steps):
            return None
        arrays = [
            empty(v.shape, v.dtype, context=there)
            if isinstance(v, Array) and there is not context
            else v
            for v in values
        ]
        try:
            Stepwise(lowered, there).run(arrays)
        except ValueError as error:
            if _is_limit(str(error), there):
                return None
            here = str(error).replace(f" on {there.name}:", f" on {context.name}:")
            error.args = (here,)
            return error if hasattr(error, "__notes__") else None
    return None


def _is_limit(text: str, tried: Context) -> bool:
    """Return True for an error of a limit of the device that the graph is tried on."""
    name = re.escape(tried.name)
    limit = re.search(rf"\b(1 to|at most) \d+.* on {name}\b", text)
    return limit is not None


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
