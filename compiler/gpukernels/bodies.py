"""Bodies: step functions as steps of the library, which run without Python.

A step function needs Python where a plan is bound, or at each run where it waits. A
body is steps that the library binds by itself, for any lengths: it replaces the
function in files, and in plans where the function waits. Some bodies are written here,
step by step; an op that is made of other ops has theirs (`unfolds`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from gpuarray._kernels.codegen import (
    convert,
    self_contained,
)
from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.source import Operand, expression, reduction_fields
from gpuarray.compiler.graph.core import Op, Variable
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep as Row
from gpuarray.compiler.ops.fused.row_steps import Fold

Unfold = Callable[[Any, Sequence[Variable]], Sequence[Variable]]

UNFOLDS: dict[type[Op], Unfold] = {}
"""The parts of composed ops: functions of the op and its inputs to the outputs."""


def unfolds(*ops: type[Op]) -> Callable[[Unfold], Unfold]:
    """Register the function that expresses ops of these classes by other ops."""

    def register(function: Unfold) -> Unfold:
        UNFOLDS.update(dict.fromkeys(ops, function))
        return function

    return register


def unfold_of(op: Op) -> Unfold | None:
    """Return the entry of the op's class or the nearest class above it."""
    return next((UNFOLDS[cls] for cls in type(op).__mro__ if cls in UNFOLDS), None)


class Steps:
    """Collects the steps of a body; values are numbers, the inputs first.

    It has state because each step adds to those before it.
    """

    def __init__(self, inputs: Sequence[p.Value], outputs: Sequence[p.Value]) -> None:
        self.values = list(inputs)
        self.outputs = list(outputs)
        self.steps: list[p.Step] = []
        self._when: tuple[tuple[int, bool], ...] = ()
        self._integers: dict[tuple[Any, ...], int] = {}

    def plan(self, name: str, results: Sequence[int]) -> p.Plan:
        """Return the body's plan."""
        return p.Plan(
            name=name,
            values=tuple(self.values),
            n_inputs=len(self.values) - sum(len(s.outs) for s in self.steps),
            constants=(),
            steps=tuple(self.steps),
            outputs=tuple(results),
        )

    def array(self, number: int) -> p.ArrayValue:
        """Return the description of an array value."""
        value = self.values[number]
        assert isinstance(value, p.ArrayValue)
        return value

    def is_array(self, number: int) -> bool:
        """True if a value is an array."""
        return isinstance(self.values[number], p.ArrayValue)

    def add(self, make: Callable[..., p.Step], *values: p.Value, **fields: Any) -> int:
        """Add a step with these results; return the number of the first."""
        outs = tuple(range(len(self.values), len(self.values) + len(values)))
        step = make(origin="", outs=outs, **fields)
        self.values += values
        self.steps.append(replace(step, when=self._when))
        return outs[0]

    @contextmanager
    def under(self, condition: int, wanted: bool) -> Iterator[None]:
        """Add the steps of the block under a condition: the integer is as wanted."""
        before, self._when = self._when, (*self._when, (condition, wanted))
        try:
            yield
        finally:
            self._when = before

    @contextmanager
    def only(self, when: tuple[tuple[int, bool], ...]) -> Iterator[None]:
        """Add the steps of the block under these conditions alone."""
        before, self._when = self._when, when
        try:
            yield
        finally:
            self._when = before

    # ---- integers ----

    def once(self, key: tuple[Any, ...], make: Callable[..., p.Step], **at: Any) -> int:
        """Return a new integer, or the unconditional one that the key has already."""
        if key in self._integers:
            return self._integers[key]
        number = self.add(make, p.IntValue(), **at)
        if not self._when:
            self._integers[key] = number
        return number

    def integer(self, value: int) -> int:
        """Return a constant integer."""
        key = "integer", value
        with self.only(()):
            return self.once(key, p.HostInt, label="integer", ins=(), value=value)

    def device(self, name: str) -> int:
        """Return a property of the device."""
        key = "device", name
        with self.only(()):
            return self.once(key, p.DeviceInt, label="device", ins=(), property=name)

    def arithmetic(self, name: str, a: int, b: int) -> int:
        """Return the result of one of the executor's operations on two integers."""
        return self.once((name, a, b), p.IntOp, label=name, ins=(a, b))

    def length(self, x: int, axis: int) -> int:
        """Return the length of an axis."""
        return self.once(("dim", x, axis), p.Dim, label="dim", ins=(x,), axis=axis)

    def any(self, integers: Sequence[int]) -> int:
        """Return the bitwise or of several integers."""
        result, *more = integers
        for integer in more:
            result = self.arithmetic("bitwise_or", result, integer)
        return result

    def wider(self, a: int, b: int, one: int) -> int:
        """Return the broadcast length: ``b`` where ``a`` is 1, else ``a``."""
        is_one = self.arithmetic("eq", a, one)
        difference = self.arithmetic("sub", b, a)
        return self.arithmetic("add", a, self.arithmetic("mul", is_one, difference))

    def read(self, x: int) -> int:
        """Read the only element of an array: the plan waits, so no body may use it."""
        return self.add(p.Read, p.IntValue(), label="read", ins=(x,))

    # ---- arrays ----

    def routines(
        self,
        name: str,
        ins: Sequence[int],
        results: Sequence[p.Value],
        *params: int,
        texts: tuple[str, ...] = (),
    ) -> int:
        """Add a routine of several results; return the number of the first."""
        fields = {"ins": tuple(ins), "name": name, "params": params, "texts": texts}
        return self.add(p.Routine, *results, label=name, **fields)

    def routine(
        self, name: str, ins: Sequence[int], dtype: str, ndim: int, *params: int
    ) -> int:
        """Add a routine of one result."""
        value = p.ArrayValue(dtype, (False,) * ndim)
        return self.routines(name, ins, [value], *params)

    def require(self, x: int, conditions: Sequence[int], text: str) -> None:
        """Fail with a text unless all the integers are true."""
        if conditions:
            self.check("require", x, conditions, text)

    def check(self, name: str, x: int, conditions: Sequence[int], text: str) -> None:
        """Fail by the routine ``name`` unless all the integers are true."""
        fields = {"ins": (x, *conditions), "name": name, "texts": (text,)}
        label, colon, _ = text.partition(":")
        self.add(p.Routine, self.array(x), label=label if colon else name, **fields)

    def same_length(self, x: int, found: int, wanted: int, text: str) -> None:
        """Fail with a text, and the lengths added to it, where two lengths differ."""
        self.check("length", x, [found, wanted], text)

    def mask_fits(self, x: int, mask: int, axis: int) -> None:
        """Raise an index error where a mask has other lengths."""
        fields = {"ins": (x, mask), "name": "mask", "params": (axis,)}
        self.add(p.Routine, self.array(x), label="index", **fields)

    def at_most(self, x: int, rows: int, total: int) -> None:
        """Raise an index error where there are fewer than ``rows`` rows."""
        fields = {"ins": (x, rows, total), "name": "at_most"}
        self.add(p.Routine, self.array(x), label="first rows", **fields)

    def loop(
        self,
        turns: int,
        ins: Sequence[int],
        takes: str,
        body: p.BodyPlan,
        results: Sequence[p.Value],
        label: str,
    ) -> int:
        """Add a loop of a body; return the number of the first of its results."""
        fields = {"ins": (turns, *ins), "takes": takes, "body": body, "label": label}
        return self.add(p.LoopStep, *results, **fields)

    def multiply(self, matrix: int, vector: int) -> int:
        """Add a product of a matrix and a vector by the BLAS."""
        fields = {"ins": (matrix, vector), "label": "gemv", "inplace": False}
        result = p.ArrayValue(self.array(matrix).dtype, (False,))
        scales = {"alpha": 1.0, "beta": 0.0, "transpose_a": False, "transpose_b": False}
        return self.add(p.Library, result, **fields, **scales)

    def copy(self, x: int) -> int:
        """Add a copy in C order."""
        return self.add(p.Copy, self.array(x), label="copy", ins=(x,))

    def cast(self, x: int, dtype: str) -> int:
        """Add a cast; return the array itself if it has the dtype."""
        value = self.array(x)
        if value.dtype == dtype:
            return x
        return self.routines("cast", [x], [replace(value, dtype=dtype)])

    def view(self, x: int, pattern: Sequence[int]) -> int:
        """Add a view with the axes in another order; -1 is a new one."""
        value = self.array(x)
        flags = tuple(i < 0 or value.broadcastable[i] for i in pattern)
        result = p.ArrayValue(value.dtype, flags)
        fields = {"ins": (x,), "label": "view", "pattern": tuple(pattern)}
        return self.add(p.View, result, **fields)

    def reshape(self, x: int, lengths: Sequence[int]) -> int:
        """Add a reshape; the lengths are integers."""
        result = p.ArrayValue(self.array(x).dtype, (False,) * len(lengths))
        return self.add(p.ReshapeStep, result, label="reshape", ins=(x, *lengths))

    def broadcast(self, x: int, lengths: Sequence[int]) -> int:
        """Add a view broadcast to these lengths."""
        result = p.ArrayValue(self.array(x).dtype, (False,) * len(lengths))
        return self.add(p.Broadcast, result, label="broadcast", ins=(x, *lengths))

    def index(
        self, x: int, form: Sequence[tuple[str, ...] | None], integers: Sequence[int]
    ) -> int:
        """Add a view by integers and slices; ``form`` as in `plan.Index`."""
        value = self.array(x)
        rest = value.broadcastable[len(form) :]
        sliced = [axis for axis, parts in enumerate(form) if parts is not None]
        flags = (*(value.broadcastable[i] and form[i] == () for i in sliced), *rest)
        result = p.ArrayValue(value.dtype, flags)
        ins = (x, *integers)
        return self.add(p.Index, result, label="index", ins=ins, form=tuple(form))

    def choose(self, condition: int, a: int, b: int) -> int:
        """Add a choice: ``a`` where the integer is true, else ``b``."""
        ins = condition, a, b
        return self.add(p.Choose, self.array(a), label="choose", ins=ins)

    def row(self, name: str, x: int, y: int) -> int:
        """Add a scalar row of two arrays, in the dtype of the first."""
        value, other = self.array(x), self.array(y)
        operands = [("x", value.dtype), ("y", other.dtype)]
        text, support = expression(Row(name, (0, 1), value.dtype), operands)
        dtype = np.dtype(value.dtype)
        code, names = f"o0 = {convert(text, dtype, dtype)};", ("x", "y")
        return self.launch(
            [x, y], [value.dtype], code, label=name, names=names, preamble=support
        )

    def launch(
        self,
        ins: Sequence[int],
        dtypes: Sequence[str],
        expr: str,
        *,
        label: str,
        names: tuple[str, ...],
        indices: Collection[int] = (),
        preamble: str = "",
        inplace: tuple[int, ...] = (),
    ) -> int:
        """Add an elementwise step that writes o0, o1, ...; return the first's number.

        ``inplace`` has for each the index in ``ins`` of the array it overwrites, or -1.
        Of the inputs in ``indices`` it reads the numbers of the elements.
        """
        values = [self.values[number] for number in ins]
        flags = self.joint(
            [v.broadcastable for v in values if isinstance(v, p.ArrayValue)]
        )
        return self.add(
            p.LaunchStep,
            *(p.ArrayValue(dtype, flags) for dtype in dtypes),
            label=label,
            ins=tuple(ins),
            expr=expr,
            preamble=self_contained(preamble),
            names=names,
            in_dtypes=self.dtypes(ins, indices),
            out_names=tuple(f"o{number}" for number in range(len(dtypes))),
            inplace=inplace or (-1,) * len(dtypes),
        )

    def reduction(
        self,
        folds: Sequence[Fold],
        texts: Sequence[Operand],
        names: Sequence[str],
        numbers: Sequence[int],
        axes: tuple[int, ...],
        *,
        indices: Collection[int] = (),
        lines: Sequence[str] = (),
        support: str = "",
    ) -> int:
        """Add a step of folds of ``texts``; return the number of the first result.

        Of the inputs in ``indices`` it reads the numbers of the elements.
        """
        values = [self.values[number] for number in numbers]
        domain = self.joint(
            [v.broadcastable for v in values if isinstance(v, p.ArrayValue)]
        )
        flags = tuple(flag for axis, flag in enumerate(domain) if axis not in axes)
        return self.add(
            p.ReduceStep,
            *(p.ArrayValue(fold.dtype, flags) for fold in folds),
            label="reduction",
            ins=tuple(numbers),
            prologue="\n".join(lines),
            names=tuple(names),
            in_dtypes=self.dtypes(numbers, indices),
            axes=axes,
            **reduction_fields(
                [(fold.monoid, fold.acc_dtype) for fold in folds], texts, support
            ),
        )

    def dtypes(
        self, numbers: Sequence[int], indices: Collection[int] = ()
    ) -> tuple[str, ...]:
        """Return the dtypes of kernel arguments: integers have 64 bits."""
        dtypes = [
            self.array(number).dtype if self.is_array(number) else "int64"
            for number in numbers
        ]
        for i in indices:
            dtypes[i] = p.INDEX
        return tuple(dtypes)

    @staticmethod
    def joint(patterns: Sequence[Sequence[bool]]) -> tuple[bool, ...]:
        """Return the broadcastable pattern of arrays that broadcast together."""
        ndim = max(map(len, patterns))
        whole = [(*(True,) * (ndim - len(pattern)), *pattern) for pattern in patterns]
        return tuple(all(flags) for flags in zip(*whole, strict=True))


Writer = TypeVar("Writer", bound=Callable[..., Sequence[int] | int | None])
"""Adds the steps of a body and returns its results; None if the step has no body.

It gets the `Steps`, then the arguments of the step function as numbers of values,
tuples of numbers for groups of integers, and the function's options by name.
"""

WRITERS: dict[str, Callable[..., Any]] = {}
FOR_FILES: set[str] = set()
"""Step functions whose bodies are for files alone: vendors' libraries are faster."""
IN_PLANS: set[str] = set()
"""Step functions that every plan has as their bodies: the library may join these with
what reads them."""


def body_of(
    *names: str, for_files: bool = False, in_plans: bool = False
) -> Callable[[Writer], Writer]:
    """Register the writer of the body of step functions."""

    def register(writer: Writer) -> Writer:
        WRITERS.update(dict.fromkeys(names, writer))
        if for_files:
            FOR_FILES.update(names)
        if in_plans:
            IN_PLANS.update(names)
        return writer

    return register


Reason = Callable[[p.Call, Sequence[p.Value]], str]

REASONS: dict[str, Reason] = {}
"""Functions that say why a step has no body, though others of its function have.

They get the step and the plan's values.
"""


def reason_of(name: str) -> Callable[[Reason], Reason]:
    """Register the function that says why a step has no body."""

    def register(reason: Reason) -> Reason:
        REASONS[name] = reason
        return reason

    return register


def named_with_reason(step: p.Call, values: Sequence[p.Value]) -> str:
    """Return the step's label, and the reason for its having no body if known."""
    reason = REASONS[step.function](step, values) if step.function in REASONS else ""
    return f"{step.label}: {reason}" if reason else step.label


def written(step: p.Call, values: Sequence[p.Value]) -> p.Plan | None:
    """Return the body of a step of a plan of these values; None without a writer."""
    steps = Steps([values[n] for n in step.ins], [values[n] for n in step.outs])
    results = write(steps, step, range(len(step.ins)))
    return None if results is None else steps.plan(step.label, results)


def write(steps: Steps, step: p.Call, ins: Sequence[int]) -> tuple[int, ...] | None:
    """Add the body of a call of the values ``ins``; None if it has none."""
    writer = WRITERS.get(step.function)
    if writer is None:
        return None
    numbers = iter(ins)
    arguments = [
        next(numbers) if count < 0 else tuple(next(numbers) for _ in range(count))
        for count in step.groups
    ]
    results = writer(steps, *arguments, **dict(step.options))
    return (results,) if isinstance(results, int) else results and tuple(results)


@dataclass(frozen=True, slots=True)
class Inlined:
    """A plan with bodies in place of calls that Python would make at each run.

    ``origins`` has for each step the position of its original step, ``numbers`` the
    number of each former value.
    """

    plan: p.Plan
    origins: tuple[int, ...]
    numbers: Mapping[int, int]


def is_opened(step: p.Call) -> bool:
    """True for a call that pauses, or that every plan has as its body."""
    return not step.recorded or step.function in IN_PLANS


def inlined(plan: p.Plan, for_files: bool = False) -> Inlined | None:
    """Return the plan with bodies in place of calls that pause and have one.

    None for a file where such a call has no body.
    """
    steps = Steps(plan.values, [])
    number = {old: old for old in range(len(plan.values))}
    origins: list[int] = []
    for place, step in enumerate(plan.steps):
        ins = tuple(number[n] for n in step.ins)
        when = tuple((number[n], expected) for n, expected in step.when)
        first = len(steps.steps)
        results = None
        if isinstance(step, p.Call) and is_opened(step):
            if for_files or step.function not in FOR_FILES:
                with steps.only(when):
                    results = write(steps, step, ins)
            if for_files and results is None:
                return None
        if results is None:
            steps.steps.append(replace(step, ins=ins, when=when))
        else:
            number.update(zip(step.outs, results, strict=True))
            steps.steps[first:] = [
                replace(added, origin=step.origin, mark=step.mark, place=step.place)
                for added in steps.steps[first:]
            ]
        origins += [place] * (len(steps.steps) - first)
    outputs = tuple(number[n] for n in plan.outputs)
    values = tuple(steps.values)
    inlined_plan = replace(
        plan, values=values, steps=tuple(steps.steps), outputs=outputs
    )
    return Inlined(inlined_plan, tuple(origins), number)
