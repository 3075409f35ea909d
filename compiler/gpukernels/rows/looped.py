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
from functools import lru_cache

import numpy as np
from gpuarray.codegen import (
    convert,
    identity_text,
)
from gpuarray.compiler.gpukernels.source import Operand, expression
from gpuarray.compiler.ops.elemwise import CompositeStep
from gpuarray.compiler.ops.rowwise import (
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
    operands_of,
    reading,
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


@dataclass(frozen=True, slots=True)
class Map:
    """An elementwise launch: the values ``made`` of those that are ``used``.

    They become the values ``outs``. ``into`` has for each the output in whose memory it
    lies, -1 for memory of its own.
    """

    made: tuple[int, ...]
    outs: tuple[int, ...]
    into: tuple[int, ...]
    used: tuple[int, ...]
    text: Text


@dataclass(frozen=True, slots=True)
class Walk:
    """A reduction of the last axis: ``folds``, values, of those that are ``used``."""

    folds: tuple[int, ...]
    used: tuple[int, ...]
    text: Text


@dataclass(frozen=True, slots=True)
class Count:
    """The places of a row's elements, 0, 1, 2, ..., as a value."""

    out: int
    dtype: str


@dataclass(frozen=True, slots=True)
class First:
    """Which rows are among the first ``count``."""

    out: int
    count: int


@dataclass(frozen=True, slots=True)
class Inside:
    """The places that ``labels`` are, counted from the left."""

    out: int
    labels: int


@dataclass(frozen=True, slots=True)
class Lines:
    """The rows of ``table`` that ``places`` are."""

    out: int
    table: int
    places: int


@dataclass(frozen=True, slots=True)
class Same:
    """A value that is another one."""

    out: int
    value: int


Move = Map | Walk | Count | First | Inside | Lines | Same


@dataclass(frozen=True, slots=True)
class Walks:
    """The launches of a program, in order, and which values its outputs are.

    ``program`` reads places by folds; ``integers`` are the values that the host knows.
    """

    program: Program
    moves: tuple[Move, ...]
    outputs: tuple[int, ...]
    integers: frozenset[int]


def folds_of(walks: Walks, move: Walk) -> list[Fold]:
    """The folds of a walk."""
    count = len(walks.program.inputs)
    steps = [walks.program.steps[fold - count] for fold in move.folds]
    return [step for step in steps if isinstance(step, Fold)]


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
            value.append(add(reading(step, [value[v] for v in operands_of(step)])))
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
        for value, step in self.steps:
            if isinstance(step, Place):
                self.add(Count(value, step.dtype), [value])
            elif isinstance(step, Head) and is_whole:
                self.known.add(value)
                self.integers.add(value)
            elif isinstance(step, Head):
                self.add(First(value, step.count), [value])
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
            folds = [
                value
                for value, step in self.steps
                if isinstance(step, Fold) and program.levels[value] == level
            ]
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
        at = value - self.count
        return at >= 0 and isinstance(self.program.steps[at], Fold)

    def operands(self, folds: Sequence[int]) -> list[int]:
        """The values that folds are of."""
        steps = [self.program.steps[fold - self.count] for fold in folds]
        return [step.operand for step in steps if isinstance(step, Fold)]

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
            if self.program.levels[value] != level:
                continue
            if isinstance(step, Taken):
                self.add(Lines(value, step.table, step.place), [value])
            if not isinstance(step, Within | Line):
                continue
            labels = step.operand
            if labels not in self.known or labels in self.integers:
                labels = self.number()
                self.map([step.operand], [labels], [-1])
            is_line = isinstance(step, Line)
            move = Same(value, labels) if is_line else Inside(value, labels)
            self.add(move, [value])

    def store_rows(self, level: int) -> None:
        """Compute what elements or folds need of the values of rows."""
        program = self.program
        wanted = {
            operand
            for value, step in self.steps
            for operand in operands_of(step)
            if isinstance(step, Fold) or program.kinds[value] == CELL
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
                    stack.extend(operands_of(self.program.steps[value - self.count]))
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
