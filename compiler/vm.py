"""Runs plans: what lies between pauses in C, the pauses in Python."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from gpuarray import dtypes
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.encoder import Encoder, Recorder, call, encode
from gpuarray.compiler.parts import Part, Stage, single, stages
from gpuarray.context import Context
from gpuarray.creation import asarray
from gpuarray.scalars import SCALARS

Explain = Callable[[Exception, p.Plan, int, int, Sequence[Any]], str]
"""Says where a run failed.

It gets the error; the steps that ran, as a plan; which of them failed; how many steps
of the function's plan come before them; and the values that they ran on.
"""


def line_of(
    error: Exception, plan: p.Plan, number: int, first: int, values: Sequence[Any]
) -> str:
    """The user's line that made the step; empty if it is not known."""
    origin = plan.steps[number].origin
    return f"  made at {origin}" if origin else ""


class Frame:
    """What one run writes to: a struct for each result, and the step that failed.

    ``results`` are the structs with the dtypes and typecodes of their arrays.
    """

    __slots__ = ("failed", "outs", "results")

    def __init__(self, kinds: Sequence[tuple[np.dtype[Any], int]]) -> None:
        self.results = tuple((ffi.new(ARRAY), *kind) for kind in kinds)
        self.outs = ffi.new("GpuArray *[]", [struct for struct, _, _ in self.results])
        self.failed = ffi.new("int *")


class Native:
    """A plan without pauses, loaded on a context; running it is one call into C.

    It has state because the executor has: its bindings, and here the structs that the
    next run writes its results to. ``first`` is how many steps of the function's plan
    come before this plan's.
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
        self.explain = explain
        self.first = first
        handle = ffi.new("GpuPlan **")
        check(lib.GpuPlan_new(handle, context.pointer, plan.name.encode()))
        self._native = ffi.gc(handle[0], lib.GpuPlan_free)
        self._recorders = self._load()
        check(lib.GpuPlan_prepare(self._native))
        names = [plan.array(number).dtype for number in plan.outputs]
        self._kinds = [(np.dtype(n), dtypes.dtype_to_typecode(n)) for n in names]
        self._spare: list[Frame] = []
        inputs = plan.values[: plan.n_inputs]
        self._integers = [
            i for i, each in enumerate(inputs) if isinstance(each, p.IntValue)
        ]

    def _load(self) -> list[Recorder]:
        e = Encoder(self._native, self.plan, self.context)
        for number in range(self.plan.n_inputs):
            if e.is_int(number):
                check(lib.GpuPlan_int_input(e.native, e.out))
            else:
                value = self.plan.array(number)
                code = dtypes.dtype_to_typecode(value.dtype)
                mask = e.broadcastable(number)
                check(lib.GpuPlan_input(e.native, e.out, code, value.ndim, mask))
            e.result(number)
        for number, data in self.plan.constants:
            array = asarray(data, context=self.context)
            check(lib.GpuPlan_constant(e.native, e.out, array.struct))
            e.result(number)
        for step in self.plan.steps:
            encode(step, e)
        for number in self.plan.outputs:
            check(lib.GpuPlan_output(e.native, e.numbers[number]))
        return e.recorders

    def run(self, values: Sequence[Any]) -> list[Array]:
        """Run the plan on arrays of its context and give its results, without waiting.

        The arrays are kept alive by the caller; in the places of host integers stand
        integers. This runs at every call of a function, so it makes nothing that can
        be kept.
        """
        try:
            frame = self._spare.pop()
        except IndexError:
            frame = Frame(self._kinds)
        integers, arrays = ffi.NULL, values
        if self._integers:
            integers = ffi.new("long long[]", [values[i] for i in self._integers])
            arrays = [v for i, v in enumerate(values) if i not in self._integers]
        status = lib.GpuPlan_call(
            self._native,
            frame.outs,
            [array.struct for array in arrays],
            integers,
            frame.failed,
        )
        if status:
            self._fail(status, frame.failed[0], values)
        context, wrap = self.context, Array.wrap
        results = [
            wrap(struct, context, dtype, typecode)
            for struct, dtype, typecode in frame.results
        ]
        self._spare.append(frame)
        return results

    def _fail(self, status: int, step: int, values: Sequence[Any]) -> None:
        """Raise the executor's error, with what there is to say on the step."""
        try:
            for recorder in self._recorders:
                error, recorder.error = recorder.error, None
                if error is not None:
                    raise error
            check(status)
        except Exception as error:
            # Host integers and constants are steps for both, so the numbers agree.
            if step >= 0:
                note(error, self.explain(error, self.plan, step, self.first, values))
            raise

    def info(self) -> dict[str, int]:
        """Counts of the latest run and of the bindings kept."""
        native = ffi.new("gpuplan_info *")
        check(lib.GpuPlan_info(self._native, native))
        names = (
            "n_steps", "n_bindings", "n_binds", "n_launches", "n_allocs", "workspace",
        )  # fmt: skip
        return {name: getattr(native, name) for name in names}


def note(error: Exception, text: str) -> None:
    """Note on an exception where it comes from."""
    if text:
        error.add_note(text)


class Executable:
    """A plan on a context, ready to run: its parts loaded, what pauses between them."""

    def __init__(
        self, plan: p.Plan, context: Context, explain: Explain = line_of
    ) -> None:
        self.plan = plan
        self.context = context
        self.explain = explain
        self._stages = stages(plan)
        # A plan without pauses is one part, and nothing needs to be done around it.
        is_whole = all(isinstance(stage.work, Part) for stage in self._stages)
        plans = (
            [(plan, 0)]
            if is_whole
            else [
                (stage.work.plan, first)
                for stage, first in self._with_places()
                if isinstance(stage.work, Part) and stage.work.outs
            ]
        )
        self._natives = [Native(each, context, explain, n) for each, n in plans]
        self.run: Callable[[Sequence[Any]], list[Array]] = (
            self._natives[0].run if is_whole else self._run_stages
        )
        """Runs the plan on its inputs, as `Native.run`; it waits where it must read."""
        self._constants = {
            number: asarray(data, context=context) for number, data in plan.constants
        }

    def _with_places(self) -> Iterator[tuple[Stage, int]]:
        """The stages, each with how many steps of the plan come before it."""
        first = 0
        for stage in self._stages:
            yield stage, first
            work = stage.work
            first += len(work.plan.steps) if isinstance(work, Part) else 1

    def _run_stages(self, values: Sequence[Any]) -> list[Array]:
        known: dict[int, Any] = {**dict(enumerate(values)), **self._constants}
        natives = iter(self._natives)
        for stage in self._stages:
            if isinstance(stage.work, Part):
                self._run_part(stage.work, natives, known)
            else:
                self._pause(stage.work, known)
            for number in stage.dead:
                known.pop(number, None)
        return [known[number] for number in self.plan.outputs]

    def _run_part(
        self, part: Part, natives: Iterator[Native], known: dict[int, Any]
    ) -> None:
        if part.outs:  # else it computes integers only
            results = next(natives).run([known[number] for number in part.ins])
            known.update(zip(part.outs, results, strict=True))
        for step in part.integers:
            (number,) = step.outs
            known[number] = integer(step, [known[n] for n in step.ins])

    def _pause(self, step: p.Call | p.Read, known: dict[int, Any]) -> None:
        values = [known[number] for number in step.ins]
        try:
            if isinstance(step, p.Read):
                results: Sequence[Any] = read(step, values[0])
            else:
                results = call(step, values, self.context)
        except Exception as error:
            first = next(n for stage, n in self._with_places() if stage.work is step)
            part = single(self.plan, step)
            given = [known[number] for number in part.ins]
            note(error, self.explain(error, part.plan, 0, first, given))
            raise
        known.update(zip(step.outs, results, strict=True))

    def info(self) -> dict[str, int]:
        """Counts of the latest run and of the bindings kept, of all parts."""
        counts = [native.info() for native in self._natives]
        names = counts[0] if counts else {}
        return {name: sum(each[name] for each in counts) for name in names}


def read(step: p.Read, array: Array) -> list[int]:
    """The elements of an array of integers. Raises ValueError for another number."""
    found = [int(each) for each in np.asarray(array).ravel()]
    if len(found) != len(step.outs):
        raise ValueError(
            f"{step.label}: the shape holds {len(found)} lengths, expected "
            f"{len(step.outs)}"
        )
    return found


_OF_PYTHON: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "maximum": max,
    "minimum": min,
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
}


def integer(step: p.Step, values: Sequence[Any]) -> int:
    """What a step on host integers gives, as the executor computes it."""
    if isinstance(step, p.HostInt):
        return step.value
    if isinstance(step, p.Dim):
        return int(values[0].shape[step.axis])
    a, b = values
    if step.label in _OF_PYTHON:
        return int(_OF_PYTHON[step.label](a, b))
    if step.label == "cast":
        dtype = dtypes.OF_TYPECODE[b]
        return int(np.array(a, dtype="int64").astype(dtype))
    return int(SCALARS[step.label].reference(a, b))
