"""Runs plans in C, and the steps between their parts in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from gpuarray import dtypes
from gpuarray._core.context import Context
from gpuarray._creation.conversion import asarray
from gpuarray._files.native_functions import plan_info
from gpuarray._native import check, ffi, lib, runner_class, straight_class
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.callbacks import FunctionRecorder, call
from gpuarray.compiler.config import config
from gpuarray.compiler.contexts import get_context
from gpuarray.compiler.encoder import Encoder, add_body, load_plan
from gpuarray.compiler.errors import AssertError
from gpuarray.compiler.explain import Explain, line_of, note
from gpuarray.compiler.gpukernels.calls import FAILURES
from gpuarray.compiler.iterations import Iterations, RunBody
from gpuarray.compiler.ops.custom.own import own_within
from gpuarray.compiler.plan_stages import (
    PlanPart,
    Stage,
    endangered,
    is_whole,
    single,
    stages,
)
from gpuarray.compiler.shared import Container
from gpuarray.errors import (
    BadValue,
    FailedAssertion,
    GpuArrayError,
    KernelError,
    OutOfMemory,
)
from gpuarray.scalars import SCALARS

RUNNER = runner_class(Array, Container)

if TYPE_CHECKING:

    class Straight:
        """A callable that runs ``_straight``, a runner, without a frame of Python."""

        _straight: Any

        def __call__(self, *args: Any, **named: Any) -> Any:
            """Call the runner on ``args``, or else the method ``_call``."""
            raise NotImplementedError

else:
    Straight = straight_class(RUNNER)

Takes = tuple[int, int] | int

ANY = (-(2**63), 2**63 - 1)
"""All integers that the executor computes with."""


class NativePlan:
    """A plan loaded on its contexts, which one call into C runs.

    It is stateful because of the executor's bindings. ``context`` is the plan's own,
    ``first`` the number of steps of the function's plan before this plan's.
    """

    def __init__(
        self,
        plan: p.Plan,
        context: Context,
        explain: Explain = line_of,
        first: int = 0,
    ) -> None:
        self.plan = plan
        self.context = context
        self.contexts = contexts_of(plan, context)
        self.explain = explain
        self.first = first
        self._places = [self.contexts[place] for place in plan.places()]
        handle = ffi.new("GpuPlan **")
        check(lib.GpuPlan_new(handle, context.pointer, plan.name.encode()))
        self._native = ffi.gc(handle[0], lib.GpuPlan_free)
        self._bodies = {
            place
            for place, step in enumerate(plan.steps)
            if isinstance(step, p.Call) and step.body is not None
        }
        self._adding = Lock()
        self._recorders = self._load()
        self._prepare()
        names = [plan.array(number).dtype for number in plan.outputs]
        self._kinds = [
            (np.dtype(name), dtypes.dtype_to_typecode(name), self._places[number])
            for name, number in zip(names, plan.outputs, strict=True)
        ]
        check(lib.GpuPlan_keep(self._native, config.bindings))
        check(lib.GpuPlan_hold(self._native, not config.allow_gc))
        check(lib.GpuPlan_protect(self._native, 1))
        self._run = self.runner(len(self._kinds))

    def _load(self) -> list[FunctionRecorder]:
        e = Encoder(self._native, self.plan, self.contexts)
        load_plan(e)
        self._numbers = e.numbers
        return e.recorders

    def add_bodies(self, bodies: Mapping[int, p.BodyPlan]) -> None:
        """Add bodies of functions without one, by the indices of their steps."""
        with self._adding:  # threads may save the function concurrently
            for place in bodies.keys() - self._bodies:
                step = self.plan.steps[place]
                own = {**self.contexts, None: self.contexts[step.place]}
                number = self._numbers[step.outs[0]]
                self._recorders += add_body(bodies[place], number, self._native, own)
                self._bodies.add(place)

    def _prepare(self) -> None:
        """Compile the kernels, or start to if all text is the compiler's own.

        An error names its operations of the program's own.
        """
        own = [
            (operation, step.origin or "unknown")
            for step in self.plan.steps
            for operation in own_within(step.label, getattr(step, "prologue", ""))
        ]
        if not own:
            check(lib.GpuPlan_prepare_ahead(self._native))
            return
        try:
            check(lib.GpuPlan_prepare(self._native))
        except KernelError as error:
            for operation, origin in own:
                error.add_note(f"  with {operation}, made at {origin}")
            raise

    def runner(
        self,
        kept: int,
        takes: Mapping[int, Takes] | None = None,
        containers: Sequence[Container] = (),
        updates: Sequence[tuple[Container, int]] = (),
        single: bool = False,
        hosts: Sequence[int] = (),
        examine: Callable[[Sequence[Any]], None] | None = None,
    ) -> Callable[..., Any]:
        """Return a callable that runs the plan on its inputs in one call into C.

        The values of ``containers`` follow as further inputs; each of ``updates`` is
        a container and the result that becomes its value. The first ``kept`` results
        are returned as a list, or the first alone if ``single``. It waits only for
        those whose indices are in ``hosts``, once: they are read to NumPy's arrays.

        Inputs are arrays, of NumPy too if they are of the input's dtype, and ints where
        the plan takes them. ``takes`` has the range of such an int, or which Python
        floats an input without axes is given: none, those that it holds exactly, or all
        (0, 1, 2). The runner gives NotImplemented, and has done nothing, for what is to
        be converted first, and where the value of a container is on another context.
        Where the plan fails ``examine`` gets the inputs first: it may raise what says
        more.
        """

        def fail(status: int, step: int, values: list[Any]) -> None:
            if examine is not None:
                examine(values[: len(values) - len(containers)])
            self._fail(status, step, values)

        n_given = self.plan.n_inputs - len(containers)
        values = self.plan.values[:n_given]
        known = takes or {}
        arguments = tuple(
            known.get(i, ANY)
            if isinstance(value, p.IntValue)
            else (
                dtypes.dtype_to_typecode(value.dtype),
                value.ndim,
                known.get(i, 0),
                _address(self._places[i]),
            )
            for i, value in enumerate(values)
        )
        runner: Callable[..., Any] = RUNNER(
            plan=int(ffi.cast("uintptr_t", self._native)),
            whole=self._native,
            contexts=tuple(dict.fromkeys(self.contexts.values())),
            fail=fail,
            arguments=arguments,
            containers=list(containers),
            homes=tuple(
                self._places[i]
                for i, value in enumerate(self.plan.values[: self.plan.n_inputs])
                if isinstance(value, p.ArrayValue)
            ),
            kinds=tuple(self._kinds),
            updates=tuple(updates),
            hosts=tuple(i in hosts for i in range(len(self._kinds))),
            empty=np.empty,
            kept=kept,
            single=single,
        )
        return runner

    def run(self, values: Sequence[Any]) -> list[Array]:
        """Run the plan on arrays of its context and return its results.

        It waits only where the plan reads. Host integers are integers.
        """
        results: list[Array] = self._run(*values)
        if results is NotImplemented and self.context.pointer:  # else ContextClosed
            kinds = ", ".join(type(value).__name__ for value in values)
            raise TypeError(f"{self.plan.name}: cannot run on {kinds}")
        return results

    def recorded(self) -> BaseException | None:
        """Return and forget the exception of a step in the latest run."""
        error = None
        for recorder in self._recorders:
            error, recorder.error = error or recorder.error, None
        return error

    def _fail(self, status: int, step: int, values: Sequence[Any]) -> None:
        """Raise the executor's error, with a note on the step."""
        try:
            failure = self.recorded() or self._own_failure(step)
            if failure is not None:
                raise failure
            check_plan(status)
        except Exception as error:
            # Host integers and constants are steps on both sides, so the numbers agree.
            if step >= 0 and not isinstance(error, OutOfMemory):
                values = [self._there(i, value) for i, value in enumerate(values)]
            text = self.explain(error, self.plan, step, self.first, values)
            if text and isinstance(error, GpuArrayError):
                error.__notes__ = []  # replaces the error's label
            note(error, text)
            raise

    def _own_failure(self, number: int) -> Exception | None:
        """Return the exception of a step with code of its own, if it ended the run."""
        if number < 0:
            return None
        step = self.plan.steps[number]
        return own_failure([step], self.contexts)

    def _there(self, number: int, value: Any) -> Any:
        """Return a value as an array of its context, if the runner transferred it."""
        if isinstance(self.plan.values[number], p.IntValue):
            return value
        place = self._places[number]
        return asarray(value, self.plan.array(number).dtype, context=place)

    @property
    def pointer(self) -> Any:
        """The ``GpuPlan *``, which lives as long as this."""
        return self._native

    def info(self) -> dict[str, int]:
        """Return counts of the latest run and of the bindings kept."""
        return plan_info(self._native)


def own_failure(
    steps: Iterable[p.Step], contexts: Mapping[str | None, Context]
) -> Exception | None:
    """Return the exception of steps with code of their own, in loops too."""
    for step in steps:
        found, context = None, contexts[step.place]
        if isinstance(step, p.LoopStep):
            found = own_failure(step.body.plan.steps, {**contexts, None: context})
        elif isinstance(step, p.Call) and step.function in FAILURES:
            found = FAILURES[step.function](context, **dict(step.options))
        if found is not None:
            return found
    return None


def _address(context: Context) -> int:
    return int(ffi.cast("uintptr_t", context.pointer))


def check_plan(status: int) -> None:
    """Raise the exception of a run's status; a failed assertion's is the compiler's."""
    try:
        check(status)
    except FailedAssertion as error:
        raise AssertError(str(error).removeprefix("assert: ")) from None


class Executable:
    """A plan loaded on its contexts: its parts, and the pausing steps between."""

    def __init__(
        self, plan: p.Plan, context: Context, explain: Explain = line_of
    ) -> None:
        self.plan = plan
        self.context = context
        self.explain = explain
        self.contexts = contexts_of(plan, context)
        # A plan without pauses is run directly.
        whole = is_whole(plan)
        self._stages = [] if whole else stages(plan)
        plans = (
            [(plan, 0)]
            if whole
            else [
                (stage.work.plan, first)
                for stage, first in self._with_places()
                if isinstance(stage.work, PlanPart) and stage.work.outs
            ]
        )
        self._natives = [NativePlan(part, context, explain, n) for part, n in plans]
        self.run: Callable[[Sequence[Any]], list[Array]] = (
            self._natives[0].run if whole else self._run_stages
        )
        """Runs the plan on its inputs; it waits where it must read."""
        self.whole = self._natives[0] if whole else None
        """The native plan, if it runs as a whole; None where it pauses in Python."""
        if not whole:
            self._constants = constants_of(plan, self.contexts)
            self.absent = Absent(plan, self.contexts)
            self._endangered = endangered(plan)
            self._loops = {
                id(stage.work): Iterations(
                    stage.work, self._run_body(stage.work, first)
                )
                for stage, first in self._with_places()
                if isinstance(stage.work, p.LoopStep)
            }

    def _run_body(self, step: p.LoopStep, number: int) -> RunBody:
        """Return what runs the body of a loop, a step of the plan."""
        return self.of_body(
            step.body.plan, self.contexts[step.place], self.explain.inside(number)
        ).run

    def of_body(self, plan: p.Plan, context: Context, explain: Explain) -> Executable:
        """Return the executable of the body of a loop."""
        return Executable(plan, context, explain)

    def _with_places(self) -> Iterator[tuple[Stage, int]]:
        """Return the stages, each with the number of the plan's steps before it."""
        first = 0
        for stage in self._stages:
            yield stage, first
            work = stage.work
            first += len(work.plan.steps) if isinstance(work, PlanPart) else 1

    def _run_stages(self, values: Sequence[Any]) -> list[Array]:
        known: dict[int, Any] = {**dict(enumerate(values)), **self._constants}
        for number in self._endangered:  # a failure must not change them
            known[number] = known[number].copy()
        natives = iter(self._natives)
        for stage in self._stages:
            if isinstance(stage.work, PlanPart):
                self._run_part(stage.work, natives, known)
            elif holds(stage.work, known):
                self._pause(stage.work, known)
            else:
                known.update(self.absent.of(stage.work))
            for number in stage.dead:
                known.pop(number, None)
        return [known[number] for number in self.plan.outputs]

    def _run_part(
        self, part: PlanPart, natives: Iterator[NativePlan], known: dict[int, Any]
    ) -> None:
        if part.outs:  # else it only computes integers
            results = next(natives).run([known[number] for number in part.ins])
            known.update(zip(part.outs, results, strict=True))
        for step in part.integers:
            (number,) = step.outs
            known[number] = (
                integer(step, [known[n] for n in step.ins]) if holds(step, known) else 0
            )

    def _pause(self, step: p.Call | p.LoopStep | p.Read, known: dict[int, Any]) -> None:
        values = [known[number] for number in step.ins]
        loop = self._loops.get(id(step))
        try:
            if isinstance(step, p.Read):
                results: Sequence[Any] = read(step, values[0])
            elif loop is not None:
                results = loop.run(values)
            else:
                assert isinstance(step, p.Call)
                results = call(step, values, self.contexts[step.place])
        except Exception as error:
            if loop is not None and loop.current is not None:
                raise  # with notes on the iteration
            first = next(n for stage, n in self._with_places() if stage.work is step)
            part = single(self.plan, step)
            inputs = [known[number] for number in part.ins]
            note(error, self.explain(error, part.plan, 0, first, inputs))
            raise
        known.update(zip(step.outs, results, strict=True))

    def info(self) -> dict[str, int]:
        """Return counts of the latest run and of the bindings kept, of all parts."""
        counts = [native.info() for native in self._natives]
        names = counts[0] if counts else {}
        return {name: sum(count[name] for count in counts) for name in names}


def contexts_of(plan: p.Plan, context: Context) -> dict[str | None, Context]:
    """Return the contexts of a plan by the names in its steps, loops and inputs."""
    return {None: context} | {name: get_context(name) for name in plan.context_names()}


def constants_of(
    plan: p.Plan, contexts: Mapping[str | None, Context]
) -> dict[int, Array]:
    """Return the constants of a plan by their numbers, each on its context."""
    return {
        number: asarray(data, context=contexts[plan.array(number).place])
        for number, data in plan.constants
    }


def holds(step: p.Step, known: Mapping[int, Any]) -> bool:
    """Return True if the step runs: if all its conditions hold."""
    return all(bool(known[number]) == expected for number, expected in step.when)


class Absent:
    """Placeholders of values that are not computed: one element each, or 0."""

    def __init__(self, plan: p.Plan, contexts: Mapping[str | None, Context]) -> None:
        self.plan = plan
        self.contexts = contexts
        self._made: dict[int, Array] = {}

    def of(self, step: p.Step) -> dict[int, Any]:
        """Return placeholders for the results of a step that does not run."""
        context = self.contexts[step.place]
        return {number: self._value(number, context) for number in step.outs}

    def _value(self, number: int, context: Context) -> Any:
        value = self.plan.values[number]
        if isinstance(value, p.IntValue):
            return 0
        if number not in self._made:
            data = np.zeros((1,) * value.ndim, dtypes.as_dtype(value.dtype))
            self._made[number] = asarray(data, context=context)
        return self._made[number]


def read(step: p.Read, array: Array) -> list[int]:
    """The elements of an array of integers. Raises ValueError for another number.

    Integers that exceed int64 are clipped to its maximum.
    """
    numbers = [min(int(number), ANY[1]) for number in np.asarray(array).ravel()]
    if len(numbers) != len(step.outs):
        raise ValueError(
            f"{step.label}: the shape holds {len(numbers)} lengths, expected "
            f"{len(step.outs)}"
        )
    return numbers


def integer(step: p.Step, values: Sequence[Any]) -> int:
    """Return the result of a step on host integers, as the C executor computes it."""
    if isinstance(step, p.HostInt):
        return step.value
    if isinstance(step, p.Dim):
        return int(values[0].shape[step.axis])
    a, b = values
    if step.label == "cast":
        dtype = dtypes.OF_TYPECODE[b]
        return int(np.array(a, dtype="int64").astype(dtype))
    row = SCALARS[step.label]
    if b == 0 and row.symbol in ("//", "%"):
        raise BadValue(f"integer: {a} {row.symbol} 0 in a shape")
    with np.errstate(over="ignore"):  # int64 wraps around
        return int(row.reference(np.int64(a), np.int64(b)))
