"""A compiled function as data: values and the steps that compute them.

A plan prints, compares, hashes and pickles; it has no device object. ``str(plan)`` is
its listing, which golden tests compare.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gpuarray.compiler.plan_steps import (
    DEVICE_INTS as DEVICE_INTS,
    INDEX as INDEX,
    INT_OPS as INT_OPS,
    ArrayValue as ArrayValue,
    Broadcast as Broadcast,
    Call as Call,
    Choose as Choose,
    Copy as Copy,
    DeviceInt as DeviceInt,
    Dim as Dim,
    HostInt as HostInt,
    Index as Index,
    IntOp as IntOp,
    IntValue as IntValue,
    LaunchStep as LaunchStep,
    Library as Library,
    LoopStep as LoopStep,
    Read as Read,
    ReduceComponent as ReduceComponent,
    ReduceStep as ReduceStep,
    ReportsStep as ReportsStep,
    ReshapeStep as ReshapeStep,
    Routine as Routine,
    Step as Step,
    TransferStep as TransferStep,
    Value as Value,
    View as View,
)
from gpuarray.dtypes import as_dtype


@dataclass(frozen=True, repr=False)
class Plan:
    """Inputs, steps and outputs of a function; values are numbers.

    The first values are the inputs. ``constants`` gives the data of constant arrays by
    value. A plan that ``confirms`` waits before it returns its results, and fails if
    its steps reported an error. ``names`` are the inputs' names in listings; plans that
    differ in them alone are equal.
    """

    name: str
    values: tuple[Value, ...]
    n_inputs: int
    constants: tuple[tuple[int, np.ndarray[Any, Any]], ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    confirms: bool = False
    names: tuple[str | None, ...] = ()

    def array(self, number: int) -> ArrayValue:
        """Return the description of a value that is an array."""
        value = self.values[number]
        assert isinstance(value, ArrayValue)
        return value

    def places(self) -> list[str | None]:
        """Return the name of each array's context, None for the plan's own."""
        places = [getattr(value, "place", None) for value in self.values]
        for step in self.steps:
            for number in step.outs:
                places[number] = step.place
        return places

    def context_names(self) -> list[str]:
        """Return the names of the contexts of its inputs, steps and loops, sorted."""
        names = {value.place for value in self.values if isinstance(value, ArrayValue)}
        for step in self.steps:
            names.add(step.place)
            if isinstance(step, LoopStep):
                names.update(step.body.plan.context_names())
        return sorted(name for name in names if name is not None)

    def key(self) -> tuple[object, ...]:
        """Return all that distinguishes plans, hashable."""
        constants = tuple(
            (value, str(data.dtype), data.shape, data.tobytes())
            for value, data in self.constants
        )
        return (
            self.name,
            self.values,
            self.n_inputs,
            constants,
            self.steps,
            self.outputs,
            self.confirms,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def launches(self) -> int:
        """The number of steps that work on the device, without copies for layouts."""
        work = LaunchStep | ReduceStep | Library | Copy | Call | LoopStep
        kinds = work | TransferStep
        return sum(isinstance(s, kinds) for s in self.steps)

    def __str__(self) -> str:
        texts = shown_values(self)
        inputs = ", ".join(f"%{i}: {texts[i]}" for i in range(self.n_inputs))
        lines = [f"{self.name}({inputs})"]
        lines += [
            f"  constant  %{value}: {texts[value]} = {_short(data)}"
            for value, data in self.constants
        ]
        names = _names(self)
        lines = [_named(line, names) for line in lines]
        for step in self.steps:
            head, *more = _step_lines(step, texts)
            lines.append(_named(head, names))
            is_own = not isinstance(step, LoopStep)  # a body numbers its own values
            lines += [_named(line, names) if is_own else line for line in more]
        if self.confirms:
            lines.append("  confirm   # waits: nothing is stored after a wrong index")
        results = ", ".join(f"%{i}" for i in self.outputs)
        return "\n".join([*lines, _named(f"  return    {results}", names)])

    __repr__ = __str__


@dataclass(frozen=True)
class BodyPlan:
    """A plan of the library's steps alone, in place of a step that is a function.

    ``bodies`` has those of the functions among its own steps, by their indices.
    """

    plan: Plan
    bodies: Mapping[int, BodyPlan] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.plan, tuple(sorted(self.bodies))))


def _names(plan: Plan) -> dict[int, str]:
    """Return the inputs' names, if they are unique."""
    return {
        number: name
        for number, name in enumerate(plan.names)
        if name and name.isidentifier() and plan.names.count(name) == 1
    }


def _named(line: str, names: Mapping[int, str]) -> str:
    """Return a line of the listing with the inputs by their names."""
    return re.sub(r"%(\d+)", lambda m: names.get(int(m[1]), m[0]), line)


def shown_values(plan: Plan) -> list[str]:
    """Return each value for listings: dtype, known lengths, bytes."""
    lengths = known_lengths(plan)
    return [
        _shown(value, lengths[number]) if isinstance(value, ArrayValue) else str(value)
        for number, value in enumerate(plan.values)
    ]


def _shown(value: ArrayValue, lengths: Sequence[int | None]) -> str:
    axes = ", ".join("n" if length is None else str(length) for length in lengths)
    where = f" on {value.place}" if value.place is not None else ""
    known = [length for length in lengths if length is not None]
    size = ""
    if len(known) == len(lengths) and any(length != 1 for length in known):
        size = f" {math.prod(known) * as_dtype(value.dtype).itemsize:,} B"
    return f"{value.dtype}[{axes}]{size}{where}"


def known_lengths(plan: Plan) -> list[list[int | None]]:
    """Return the lengths of each array that are the same at every call; others None."""
    lengths: list[list[int | None]] = [
        [1 if flag else None for flag in getattr(value, "broadcastable", ())]
        for value in plan.values
    ]
    for number, data in plan.constants:
        lengths[number] = list(data.shape)
    integers: dict[int, int] = {}
    for step in plan.steps:
        if isinstance(step, HostInt):
            integers[step.outs[0]] = step.value
        for out in step.outs:
            known = _told_lengths(step, lengths, integers)
            if known is not None and len(known) == len(lengths[out]):
                lengths[out] = [
                    a if a is not None else b
                    for a, b in zip(lengths[out], known, strict=True)
                ]
    return lengths


def _told_lengths(
    step: Step, known: list[list[int | None]], integers: dict[int, int]
) -> list[int | None] | None:
    """Return the known lengths of a step's results; None for nothing."""
    if isinstance(step, Broadcast | ReshapeStep):
        lengths = [integers.get(number) for number in step.ins[1:]]
        return [None if n is not None and n < 0 else n for n in lengths]
    if isinstance(step, View):
        return [1 if i < 0 else known[step.ins[0]][i] for i in step.pattern]
    if isinstance(step, Copy):
        return known[step.ins[0]]
    if isinstance(step, LaunchStep):
        ndim = len(known[step.outs[0]])
        inputs = [known[number] for number in step.ins if len(known[number]) == ndim]
        return [
            next((n for n in axis if n is not None and n != 1), None)
            for axis in zip(*inputs, strict=True)
        ]
    return None


def _condition(condition: tuple[int, bool]) -> str:
    number, expected = condition
    return f"%{number}" if expected else f"not %{number}"


def _short(data: np.ndarray[Any, Any]) -> str:
    text = np.array2string(data, threshold=6, separator=", ").replace("\n", "")
    return text if len(text) < 60 else text[:57] + "..."


def _step_lines(step: Step, texts: Sequence[str]) -> list[str]:
    kind = type(step).__name__.removesuffix("Step").lower()
    outs = ", ".join(f"%{i}: {texts[i]}" for i in step.outs)
    ins = ", ".join(f"%{i}" for i in step.ins)
    detail = step.detail()
    note = f"  [{detail}]" if detail else ""
    if step.when:
        note += f"  when {', '.join(map(_condition, step.when))}"
    if step.place is not None:
        note += f"  on {step.place}"
    head = f"  {kind:<9} {outs} <- {step.label}({ins}){note}"
    return [head, *(f"{'':12}{line}" for line in step.lines())]
