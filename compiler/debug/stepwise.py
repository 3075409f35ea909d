"""A plan run step by step, for a look at the results of each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray._core.context import Context
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.callbacks import call
from gpuarray.compiler.contexts import sync_all
from gpuarray.compiler.debug.failing import failure_text
from gpuarray.compiler.executor import (
    Absent,
    NativePlan,
    constants_of,
    contexts_of,
    holds,
    integer,
    read,
)
from gpuarray.compiler.explain import LineOf, note
from gpuarray.compiler.iterations import Iterations
from gpuarray.compiler.plan_stages import PlanPart, single
from gpuarray.compiler.schedule import Lowered
from gpuarray.errors import GpuArrayError

Values = dict[int, Any]
"""The known values of a plan by their numbers: arrays and integers."""


class Watcher:
    """Looks at the values of a plan that runs step by step; a method may raise."""

    def begin(self, known: Values) -> None:
        """Look at the inputs."""

    def before(self, step: int, known: Values) -> None:
        """Look at the values before a step."""

    def after(self, step: int, known: Values) -> None:
        """Look at the values after a step."""

    def inside(self, body: Lowered, loop: Iterations) -> Watcher | None:
        """Return the watcher of a loop's body; None to run the loop as one step."""
        return None


class Walker(Watcher):
    """Goes into loops, so that an error is that of a step of an iteration."""

    def inside(self, body: Lowered, loop: Iterations) -> Watcher | None:
        """Return this."""
        return self


class _Silent(LineOf):
    """Adds no note on a failure of a single step: `Stepwise` does."""

    def __call__(self, *arguments: Any, **named: Any) -> str:
        """Return no note."""
        return ""


class Stepwise:
    """A plan on a context whose steps run one by one.

    ``watcher`` looks at the values around each step; no value is dropped during a run,
    but a step may overwrite the array of an earlier one. Where it looks into a loop the
    iterations run one by one, and then the loop as one step, whose results count. With
    ``dry`` shapes are all that matters: one iteration is enough. With ``waits`` it
    waits after each step, which may have an error of the device.
    """

    def __init__(
        self,
        lowered: Lowered,
        context: Context,
        watcher: Watcher | None = None,
        dry: bool = False,
        waits: bool = False,
    ) -> None:
        self.lowered = lowered
        self.plan = lowered.plan
        self.context = context
        self.watcher = watcher or Watcher()
        self.dry = dry
        self.waits = waits
        self._loaded: dict[int, tuple[PlanPart, NativePlan]] = {}
        self._contexts = contexts_of(self.plan, context)
        self._constants = constants_of(self.plan, self._contexts)
        self._absent = Absent(self.plan, self._contexts)
        self._loops = {
            number: loop
            for number, step in enumerate(self.plan.steps)
            if isinstance(step, p.LoopStep)
            and (loop := self._loop(number, step)) is not None
        }

    def _loop(self, number: int, step: p.LoopStep) -> Iterations | None:
        """Return a loop to run iteration by iteration; None for one that is a step."""
        known = self.lowered.bodies.get(number)
        if known is None and step.recorded:
            return None
        body = known or unnamed(step.body.plan)

        def run(values: Sequence[Any]) -> list[Array]:
            return inner.run(values)

        loop = Iterations(step, run, 1 if self.dry else None)
        watcher = self.watcher.inside(body, loop)
        if watcher is None and step.recorded:
            return None
        place = self._contexts[step.place]
        inner = Stepwise(body, place, watcher, self.dry, self.waits)
        return loop

    def run(self, values: Sequence[Any]) -> list[Array]:
        """Run the plan on its inputs and return its results."""
        known: Values = {**dict(enumerate(values)), **self._constants}
        self.watcher.begin(known)
        for number, step in enumerate(self.plan.steps):
            if not holds(step, known):
                known.update(self._absent.of(step))
                continue
            self.watcher.before(number, known)
            try:
                results = self._step(number, step, known)
            except Exception as error:
                loop = self._loops.get(number)
                if loop is None or loop.current is None:  # else it has notes
                    note(error, self._failure(number, known))
                raise
            known.update(zip(step.outs, results, strict=True))
            self.watcher.after(number, known)
        return [known[number] for number in self.plan.outputs]

    def _failure(self, number: int, known: Values) -> str:
        """Return the message of a failed step."""
        node = self.lowered.nodes[number]
        names = {n: variable for variable, n in self.lowered.numbers.items()}
        return failure_text(self.plan, number, node, names, known)

    def _step(self, number: int, step: p.Step, known: Values) -> Sequence[Any]:
        inputs = [known[value] for value in step.ins]
        if isinstance(step, p.HostInt | p.Dim | p.IntOp):
            return [integer(step, inputs)]
        if isinstance(step, p.Read):
            return read(step, inputs[0])
        if isinstance(step, p.Choose):
            return [inputs[1] if inputs[0] else inputs[2]]
        if isinstance(step, p.Call) and not step.recorded:
            return call(step, inputs, self._contexts[step.place])
        if isinstance(step, p.LoopStep) and number in self._loops:
            results = self._loops[number].run(inputs)
            if not step.recorded:
                return results
        return self._alone(number, step, known)

    def _alone(self, number: int, step: p.Step, known: Values) -> Sequence[Any]:
        """Run a step as a plan of its own."""
        if number not in self._loaded:
            part = single(self.plan, step)
            native = NativePlan(part.plan, self.context, _Silent())
            self._loaded[number] = part, native
        part, native = self._loaded[number]
        ran = native.run([known[n] for n in part.ins])
        if self.waits:
            try:
                sync_all(native.contexts.values())
            except GpuArrayError as error:
                error.__notes__ = []  # those of the step follow
                raise
        results = dict(zip(part.outs, ran, strict=True))
        return [results[value] for value in step.outs]

    def info(self) -> dict[str, int]:
        """Return counts as those of a function that runs at once, as far as known."""
        return {"n_steps": len(self.plan.steps)}


def unnamed(plan: p.Plan) -> Lowered:
    """Return a plan whose nodes are not known."""
    return Lowered(plan, (None,) * len(plan.steps), {}, {})
