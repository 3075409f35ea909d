"""A row program in several launches: a reduction for each walk, elementwise steps.

This serves processors, whose reductions and elementwise kernels vectorize best, and
GPUs with too few rows to keep them busy. Values of elements are recomputed in each
walk, save those that cost more than a store.

The launches follow from the program, and are planned once: `walks_of`. They are steps
of a plan, and written into files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, singledispatch
from typing import Any, ClassVar

import numpy as np
from gpuarray._kernels.codegen import (
    convert,
    identity_text,
)
from gpuarray.compiler.gpukernels.source import Operand, expression
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.elemwise.steps import ProgramStep
from gpuarray.compiler.ops.fused.rowwise import (
    CELL,
    LENGTH,
    ONE,
    AnyStep,
    At,
    Fold,
    Head,
    Line,
    Place,
    Program,
    Taken,
    Within,
)
from gpuarray.dtypes import work_ctype, work_dtype
from gpuarray.scalars import SCALARS

_CALL = re.compile(r"\w\(")


# ---- launches ----


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a launch: statements, then its results."""

    lines: tuple[str, ...]
    results: tuple[Operand, ...]
    support: str

    def stored(self) -> str:
        """Return the statements, with stores of the results to ``o0``, ``o1``, ..."""
        stores = (f"o{i} = {text};" for i, (text, _) in enumerate(self.results))
        return "\n".join([*self.lines, *stores])


class Move:
    """A launch or a view; a launcher has a method ``verb`` for its kind."""

    __slots__ = ()
    verb: ClassVar[str]

    def by(self, launcher: Any) -> None:
        """Call the launcher's method for moves of this kind."""
        getattr(launcher, self.verb)(self)


@dataclass(frozen=True, slots=True)
class Map(Move):
    """An elementwise launch: the values ``made`` of those that are ``used``.

    They become the values ``outs``. ``into`` has for each the output whose memory it
    takes, -1 for memory of its own.
    """

    made: tuple[int, ...]
    outs: tuple[int, ...]
    into: tuple[int, ...]
    used: tuple[int, ...]
    text: Text

    verb = "map"


@dataclass(frozen=True, slots=True)
class Walk(Move):
    """A reduction of the last axis: ``folds``, values, of those that are ``used``."""

    folds: tuple[int, ...]
    used: tuple[int, ...]
    text: Text

    verb = "walk"


@dataclass(frozen=True, slots=True)
class Count(Move):
    """The indices of a row's elements, 0, 1, 2, ..., as a value."""

    out: int
    dtype: str

    verb = "count"


@dataclass(frozen=True, slots=True)
class First(Move):
    """A mask of the first ``count`` rows."""

    out: int
    count: int

    verb = "first"


@dataclass(frozen=True, slots=True)
class Inside(Move):
    """The bounds-checked indices ``labels``, counted from the left."""

    out: int
    labels: int

    verb = "inside"


@dataclass(frozen=True, slots=True)
class Lines(Move):
    """The rows of ``table`` at the indices ``places``."""

    out: int
    table: int
    places: int

    verb = "lines"


@dataclass(frozen=True, slots=True)
class Same(Move):
    """An alias of another value."""

    out: int
    value: int

    verb = "same"


@dataclass(frozen=True, slots=True)
class Walks:
    """The launches of a program, in order, and the values of its outputs.

    ``program`` expresses indexed reads as folds; ``integers`` are the values that the
    host knows.
    """

    program: Program
    moves: tuple[Move, ...]
    outputs: tuple[int, ...]
    integers: frozenset[int]

    def folds(self, move: Walk) -> list[Fold]:
        """Return the folds of a walk."""
        return [self.program.folds[value] for value in move.folds]


@lru_cache(maxsize=256)
def walks_of(
    program: Program,
    sources: tuple[str, ...],
    fresh: tuple[bool, ...],
    is_whole: bool = False,
) -> Walks:
    """Return the launches of a program.

    ``fresh`` outputs have memory of their own, where other values may lie before. With
    ``is_whole`` all rows are among the first.
    """
    return _Planner(program, sources, fresh, is_whole).walks()


def folded(program: Program) -> tuple[Program, list[str]]:
    """Return the program with each indexed read of a row as a fold of one element.

    The texts of the constants that it has as more inputs follow.
    """
    dtypes = {step.dtype: None for step in program.steps if isinstance(step, At)}
    count, more = len(program.inputs), len(dtypes)
    least = {dtype: count + number for number, dtype in enumerate(dtypes)}
    steps: dict[AnyStep, int] = {}
    value = list(range(count))

    def add(step: AnyStep) -> int:
        return steps.setdefault(step, count + more + len(steps))

    for step in program.steps:
        if isinstance(step, At):
            here = add(
                CompositeStep("eq", (add(Place(0, "int64")), value[step.place]), "bool")
            )
            operands = here, value[step.operand], least[step.dtype]
            chosen = add(CompositeStep("where", operands, step.dtype))
            fold = Fold("maximum", chosen, step.dtype, step.dtype, of_none=True)
            value.append(add(fold))
        else:
            value.append(add(step.reading([value[v] for v in step.operands])))
    program_ = Program(
        (*program.inputs, *((dtype, ONE) for dtype in dtypes)),
        tuple(steps),
        tuple(value[output] for output in program.outputs),
    )
    row = SCALARS["maximum"]
    return program_, [identity_text(row, work_dtype(np.dtype(each))) for each in dtypes]


class _Planner:
    """Lists the launches; it has state because each walk reads results of those before.

    ``known`` are the values computed so far; ``spare`` the outputs not written yet.
    """

    def __init__(
        self,
        program: Program,
        sources: tuple[str, ...],
        fresh: tuple[bool, ...],
        is_whole: bool,
    ) -> None:
        count = len(program.inputs)
        self.program, texts = folded(program)
        self.sources = (*sources, *texts)
        self.count = len(self.program.inputs)
        self.steps = list(enumerate(self.program.steps, self.count))
        self.fresh = fresh
        self.moves: list[Move] = []
        self.last = len(self.program.dtypes)  # the next value number
        kinds = [kind for _, kind in self.program.inputs]
        self.known = {
            value
            for value in range(count)
            if sources[value] in ("array", "int") and kinds[value] != LENGTH
        }
        self.integers = {v for v in self.known if sources[v] == "int"}
        self.is_whole = is_whole
        for value, step in self.steps:
            begin(step, value, self)
        self.spare = [
            index
            for index, value in enumerate(self.program.outputs)
            if fresh[index] and self.program.kinds[value] == CELL
        ]

    def add(self, move: Move, made: Iterable[int]) -> None:
        """List a launch, which computes the values ``made``."""
        self.moves.append(move)
        self.known.update(made)

    def walks(self) -> Walks:
        """List all launches."""
        program = self.program
        outputs = list(program.outputs)
        self.store_places(0)
        for level in range(1, max(program.levels) + 1):
            folds = [v for v in program.folds if program.levels[v] == level]
            self.store_costly(folds)
            text, used = self.text(self.operands(folds))
            self.add(Walk(tuple(folds), used, text), folds)
            self.store_rows(level)
            self.store_places(level)
        left = [
            index
            for index, value in enumerate(outputs)
            if not (self.fresh[index] and self.is_fold(value))
        ]
        for wants_cells in (True, False):  # rows last: elements read them
            chosen = [
                i
                for i in left
                if (program.kinds[program.outputs[i]] == CELL) == wants_cells
            ]
            if chosen:
                roots = [program.outputs[i] for i in chosen]
                for index in chosen:
                    outputs[index] = self.number()
                self.map(roots, [outputs[i] for i in chosen], chosen)
        moves, integers = tuple(self.moves), frozenset(self.integers)
        return Walks(program, moves, tuple(outputs), integers)

    def number(self) -> int:
        """Return the number of a value beside the program's."""
        self.last += 1
        return self.last - 1

    def map(
        self, roots: Sequence[int], outs: Sequence[int], into: Sequence[int]
    ) -> None:
        """List an elementwise launch."""
        text, used = self.text(roots)
        self.moves.append(Map(tuple(roots), tuple(outs), tuple(into), used, text))

    def store(self, roots: Sequence[int], into: Sequence[int]) -> None:
        """List a launch that stores values."""
        self.map(roots, roots, into)
        self.known.update(roots)

    def is_fold(self, value: int) -> bool:
        """True if the value is a reduction's result."""
        return value in self.program.folds

    def operands(self, folds: Sequence[int]) -> list[int]:
        """Return the operands of folds."""
        return [self.program.folds[fold].operand for fold in folds]

    def store_costly(self, folds: Sequence[int]) -> None:
        """Store operands of folds that call functions such as exp."""
        roots = [
            value
            for value in dict.fromkeys(self.operands(folds))
            if self.program.kinds[value] == CELL and self.is_costly(value)
        ]
        if roots:
            self.store(roots, [self.place(self.program.dtypes[v]) for v in roots])

    def place(self, dtype: str) -> int:
        """The output whose memory can hold elements until it is written, or -1."""
        for index, output in enumerate(self.spare):
            if self.program.dtypes[self.program.outputs[output]] == dtype:
                return self.spare.pop(index)
        return -1

    def store_places(self, level: int) -> None:
        """List the index values that are known after `level` walks."""
        for value, step in self.steps:
            if self.program.levels[value] == level:
                find_places(step, value, self)

    def labels(self, operand: int) -> int:
        """Return the value of the array that indices are read from."""
        if operand in self.known and operand not in self.integers:
            return operand
        stored = self.number()
        self.map([operand], [stored], [-1])
        return stored

    def store_rows(self, level: int) -> None:
        """Store the row values that elements or folds need."""
        program = self.program
        wanted = {
            operand
            for value, step in self.steps
            for operand in step.operands
            if step.is_fold or program.kinds[value] == CELL
        }
        roots = [
            value
            for value, step in self.steps
            if value in wanted
            and isinstance(step, CompositeStep)
            and program.kinds[value] != CELL
            and program.levels[value] == level
        ]
        if roots:
            self.store(roots, [-1] * len(roots))

    def is_costly(self, value: int) -> bool:
        """True if a function is called for each element."""
        return any(
            isinstance(step := self.program.steps[each - self.count], CompositeStep)
            and step.op in SCALARS
            and _CALL.search(SCALARS[step.op].expression)
            for each in self.needed([value])
            if each >= self.count
            and each not in self.known
            and self.program.kinds[each] == CELL
        )

    def needed(self, roots: Iterable[int]) -> list[int]:
        """Return the values to compute for the roots, and those read from memory."""
        wanted, stack = set[int](), list(roots)
        while stack:
            value = stack.pop()
            if value not in wanted:
                wanted.add(value)
                if value >= self.count and value not in self.known:
                    stack.extend(self.program.steps[value - self.count].operands)
        return sorted(wanted)

    def text(self, roots: Sequence[int]) -> tuple[Text, tuple[int, ...]]:
        """The text that computes the roots, and the known values that it reads."""
        wanted = self.needed(roots)
        operands: dict[int, Operand] = {}
        lines: list[str] = []
        supports: dict[str, None] = {}
        for value in wanted:
            dtype = self.program.dtypes[value]
            operands[value] = (f"v{value}", dtype)
            if value in self.integers:
                text = convert(f"v{value}", np.dtype("int64"), np.dtype(dtype))
                operands[value] = (text, dtype)
            elif value not in self.known and value < self.count:
                operands[value] = (self.sources[value], dtype)
            elif value not in self.known:
                step = self.program.steps[value - self.count]
                assert isinstance(step, CompositeStep)
                code, support = expression(step, [operands[i] for i in step.operands])
                supports[support] = None
                lines.append(f"const {work_ctype(np.dtype(dtype))} v{value} = {code};")
        results = tuple(operands[root] for root in roots)
        support = "\n".join(filter(None, supports))
        used = tuple(value for value in wanted if value in self.known)
        return Text(tuple(lines), results, support), used


@singledispatch
def begin(step: ProgramStep, value: int, planner: _Planner) -> None:
    """List the launches of a step before all walks: none, for most kinds."""


@begin.register
def _(step: Place, value: int, planner: _Planner) -> None:
    planner.add(Count(value, step.dtype), [value])


@begin.register
def _(step: Head, value: int, planner: _Planner) -> None:
    if planner.is_whole:
        planner.known.add(value)
        planner.integers.add(value)
    else:
        planner.add(First(value, step.count), [value])


@singledispatch
def find_places(step: ProgramStep, value: int, planner: _Planner) -> None:
    """List the launches of an index step: none, for other kinds."""


@find_places.register
def _(step: Within, value: int, planner: _Planner) -> None:
    planner.add(Inside(value, planner.labels(step.operand)), [value])


@find_places.register
def _(step: Line, value: int, planner: _Planner) -> None:
    planner.add(Same(value, planner.labels(step.operand)), [value])


@find_places.register
def _(step: Taken, value: int, planner: _Planner) -> None:
    planner.add(Lines(value, step.table, step.place), [value])
