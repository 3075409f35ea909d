"""A row program by one reduction for each walk along the rows, and elementwise steps.

This serves processors, whose reductions and elementwise kernels know best how to make
vectors, and GPUs where there are too few rows to keep them busy. What is computed of
each element is computed again in each walk, save what costs more than to store it.

Which launches these are follows from the program, and is found once: `walks_of`. They
are queued on arrays, told to a plan before it runs, and written into files.
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
    At,
    Fold,
    Head,
    Line,
    Made,
    Place,
    Program,
    Taken,
    Within,
)
from gpuarray.dtypes import work_ctype, work_dtype
from gpuarray.scalars import SCALARS

_CALL = re.compile(r"\w\(")


# ---- what is launched ----


@dataclass(frozen=True, slots=True)
class Text:
    """What a launch computes: statements, then the texts of its results."""

    lines: tuple[str, ...]
    results: tuple[Operand, ...]
    support: str

    def stored(self) -> str:
        """The statements, and those that store the results to ``o0``, ``o1``, ..."""
        stores = (f"o{i} = {text};" for i, (text, _) in enumerate(self.results))
        return "\n".join([*self.lines, *stores])


class Move:
    """A launch, or what takes the place of one; who does it has a method ``verb``."""

    __slots__ = ()
    verb: ClassVar[str]

    def by(self, launcher: Any) -> None:
        """Let the launcher do what it does for moves of this kind."""
        getattr(launcher, self.verb)(self)


@dataclass(frozen=True, slots=True)
class Map(Move):
    """An elementwise launch: the values ``made`` of those that are ``used``.

    They become the values ``outs``. ``into`` has for each the output in whose memory it
    lies, -1 for memory of its own.
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
    """The places of a row's elements, 0, 1, 2, ..., as a value."""

    out: int
    dtype: str

    verb = "count"


@dataclass(frozen=True, slots=True)
class First(Move):
    """Which rows are among the first ``count``."""

    out: int
    count: int

    verb = "first"


@dataclass(frozen=True, slots=True)
class Inside(Move):
    """The places that ``labels`` are, counted from the left."""

    out: int
    labels: int

    verb = "inside"


@dataclass(frozen=True, slots=True)
class Lines(Move):
    """The rows of ``table`` that ``places`` are."""

    out: int
    table: int
    places: int

    verb = "lines"


@dataclass(frozen=True, slots=True)
class Same(Move):
    """A value that is another one."""

    out: int
    value: int

    verb = "same"


@dataclass(frozen=True, slots=True)
class Walks:
    """The launches of a program, in order, and which values its outputs are.

    ``program`` reads places by folds; ``integers`` are the values that the host knows.
    """

    program: Program
    moves: tuple[Move, ...]
    outputs: tuple[int, ...]
    integers: frozenset[int]

    def folds(self, move: Walk) -> list[Fold]:
        """The folds of a walk."""
        return [self.program.folds[value] for value in move.folds]


@lru_cache(maxsize=256)
def walks_of(
    program: Program,
    sources: tuple[str, ...],
    fresh: tuple[bool, ...],
    is_whole: bool = False,
) -> Walks:
    """The launches of a program.

    ``fresh`` outputs have memory that nothing else lies in; other values may lie there
    before. All rows are among the first if ``is_whole``.
    """
    return _Planner(program, sources, fresh, is_whole).walks()


def folded(program: Program) -> tuple[Program, list[str]]:
    """The program with what is at a place of a row as a fold that meets nothing else.

    Also the texts of the constants that are more inputs of it.
    """
    dtypes = {step.dtype: None for step in program.steps if isinstance(step, At)}
    count, more = len(program.inputs), len(dtypes)
    least = {dtype: count + number for number, dtype in enumerate(dtypes)}
    steps: dict[Made, int] = {}
    value = list(range(count))

    def add(step: Made) -> int:
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
    made = Program(
        (*program.inputs, *((dtype, ONE) for dtype in dtypes)),
        tuple(steps),
        tuple(value[output] for output in program.outputs),
    )
    row = SCALARS["maximum"]
    return made, [identity_text(row, work_dtype(np.dtype(each))) for each in dtypes]


class _Planner:
    """Lists the launches; it has state because each walk needs what those before gave.

    ``known`` are the values that there are so far; ``spare`` the outputs that nothing
    was written to yet.
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
        self.last = len(self.program.dtypes)  # of the numbers that values have
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
        """List a launch; the values made are known from here on."""
        self.moves.append(move)
        self.known.update(made)

    def walks(self) -> Walks:
        """List all of them."""
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
        """The number of a value that the program has none for."""
        self.last += 1
        return self.last - 1

    def map(
        self, roots: Sequence[int], outs: Sequence[int], into: Sequence[int]
    ) -> None:
        """List an elementwise launch."""
        text, used = self.text(roots)
        self.moves.append(Map(tuple(roots), tuple(outs), tuple(into), used, text))

    def store(self, roots: Sequence[int], into: Sequence[int]) -> None:
        """Compute values that are known from here on."""
        self.map(roots, roots, into)
        self.known.update(roots)

    def is_fold(self, value: int) -> bool:
        """Whether the value is what a reduction gives."""
        return value in self.program.folds

    def operands(self, folds: Sequence[int]) -> list[int]:
        """The values that folds are of."""
        return [self.program.folds[fold].operand for fold in folds]

    def store_costly(self, folds: Sequence[int]) -> None:
        """Compute what folds read of each element by functions, such as exp, once."""
        roots = [
            value
            for value in dict.fromkeys(self.operands(folds))
            if self.program.kinds[value] == CELL and self.is_costly(value)
        ]
        if roots:
            self.store(roots, [self.place(self.program.dtypes[v]) for v in roots])

    def place(self, dtype: str) -> int:
        """Where elements are kept: where an output will be, if there is one."""
        for index, output in enumerate(self.spare):
            if self.program.dtypes[self.program.outputs[output]] == dtype:
                return self.spare.pop(index)
        return -1

    def store_places(self, level: int) -> None:
        """Places in rows that are known once `level` walks are done."""
        for value, step in self.steps:
            if self.program.levels[value] == level:
                find_places(step, value, self)

    def labels(self, operand: int) -> int:
        """The value of the array that places are read from."""
        if operand in self.known and operand not in self.integers:
            return operand
        made = self.number()
        self.map([operand], [made], [-1])
        return made

    def store_rows(self, level: int) -> None:
        """Compute what elements or folds need of the values of rows."""
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
        """Whether functions are called for each element."""
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
        """What the roots are computed of that is not known, and where that begins."""
        wanted, stack = set[int](), list(roots)
        while stack:
            value = stack.pop()
            if value not in wanted:
                wanted.add(value)
                if value >= self.count and value not in self.known:
                    stack.extend(self.program.steps[value - self.count].operands)
        return sorted(wanted)

    def text(self, roots: Sequence[int]) -> tuple[Text, tuple[int, ...]]:
        """What computes the roots, and what it reads of `known`."""
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
                made, support = expression(step, [operands[i] for i in step.operands])
                supports[support] = None
                lines.append(f"const {work_ctype(np.dtype(dtype))} v{value} = {made};")
        results = tuple(operands[root] for root in roots)
        support = "\n".join(filter(None, supports))
        used = tuple(value for value in wanted if value in self.known)
        return Text(tuple(lines), results, support), used


@singledispatch
def begin(step: ProgramStep, value: int, planner: _Planner) -> None:
    """List what is launched for a step before all walks: nothing, for most kinds."""


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
    """List what is launched for a step about places: nothing, for other kinds."""


@find_places.register
def _(step: Within, value: int, planner: _Planner) -> None:
    planner.add(Inside(value, planner.labels(step.operand)), [value])


@find_places.register
def _(step: Line, value: int, planner: _Planner) -> None:
    planner.add(Same(value, planner.labels(step.operand)), [value])


@find_places.register
def _(step: Taken, value: int, planner: _Planner) -> None:
    planner.add(Lines(value, step.table, step.place), [value])
