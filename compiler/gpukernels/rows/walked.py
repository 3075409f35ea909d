"""A row program in several launches: a reduction for each walk, elementwise steps.

This serves processors, whose reductions and elementwise kernels know best how to make
vectors, and GPUs where there are too few rows to keep them busy. What is computed of
each element is computed again in each walk, save what costs more than to store it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from gpuarray._kernels.codegen import convert, identity_text
from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.bodies import Steps
from gpuarray.compiler.gpukernels.rows.operands import Operands
from gpuarray.compiler.gpukernels.source import (
    Operand,
    calls_function,
    decisive,
    expression,
)
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.elemwise.steps import ProgramStep
from gpuarray.compiler.ops.fused.row_steps import (
    CELL,
    COUNT,
    LENGTH,
    NUMBER,
    ONE,
    ROW,
    AnyStep,
    At,
    Fold,
    Head,
    Line,
    Place,
    Taken,
    Within,
)
from gpuarray.compiler.ops.fused.rowwise import Program
from gpuarray.dtypes import work_ctype, work_dtype
from gpuarray.scalars import SCALARS

_WHERE = "rows"


def by_reductions(s: Steps, operands: Operands) -> list[int]:
    """Add a reduction for each walk, fewer steps where all rows are meant."""
    counts = operands.of_kind(COUNT)
    if not counts:
        return Walks(s, operands, is_whole=False).outputs()
    is_part = s.any([s.arithmetic("lt", count, operands.shape[0]) for count in counts])
    with s.under(is_part, True):
        few = Walks(s, operands, is_whole=False).outputs()
    with s.under(is_part, False):
        whole = Walks(s, operands, is_whole=True).outputs()
    return [s.choose(is_part, *pair) for pair in zip(few, whole, strict=True)]


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
            element = add(CompositeStep("where", operands, step.dtype))
            fold = Fold("maximum", element, step.dtype, step.dtype, of_none=True)
            value.append(add(fold))
        else:
            value.append(add(step.reading([value[v] for v in step.operands])))
    program_of_folds = Program(
        (*program.inputs, *((dtype, ONE) for dtype in dtypes)),
        tuple(steps),
        tuple(value[output] for output in program.outputs),
    )
    row = SCALARS["maximum"]
    return program_of_folds, [
        identity_text(row, work_dtype(np.dtype(dtype))) for dtype in dtypes
    ]


class Text(NamedTuple):
    """The text of a launch: statements, then its results.

    ``used`` are the values that it reads, ``names`` what it calls them. It counts its
    own values from 0, so that equal launches of a program are one kernel.
    """

    lines: tuple[str, ...]
    results: tuple[Operand, ...]
    support: str
    used: tuple[int, ...]
    names: list[str]

    def stored(self) -> str:
        """Return the statements, with stores of the results to ``o0``, ``o1``, ..."""
        stores = (f"o{i} = {text};" for i, (text, _) in enumerate(self.results))
        return "\n".join([*self.lines, *stores])


class Walks:
    """Adds launches as steps; it has state because each reads results of others.

    ``program`` reads places by folds. ``known`` has the numbers of the body's values by
    the program's, ``integers`` those that the host knows. ``memory`` has for each
    output the number of the value in whose memory it goes; ``fresh`` outputs have
    memory that nothing else lies in, and to the ``spare`` ones of them nothing was
    written yet. All rows are among the first if ``is_whole``.
    """

    def __init__(self, s: Steps, operands: Operands, is_whole: bool) -> None:
        self.body = s
        self.shape = operands.shape
        self.is_whole = is_whole
        self.program, texts = folded(operands.program)
        self.sources = (*operands.sources, *texts)
        self.count = len(self.program.inputs)
        self.steps = list(enumerate(self.program.steps, self.count))
        inputs = [dtype for dtype, _ in self.program.inputs]
        self.decisive = decisive(self.program.steps, inputs)
        self.known = {
            value: number
            for value, number in enumerate(operands.numbers)
            if number is not None and self.program.inputs[value][1] != LENGTH
        }
        self.integers = {v for v in self.known if self.sources[v] == "int"}
        self.memory = [
            None if at is None else operands.numbers[at] for at in operands.overwritten
        ]
        self.fresh = [
            at is None or value in operands.program.folds
            for at, value in zip(self.memory, operands.program.outputs, strict=True)
        ]
        self.spare = [
            index
            for index, value in enumerate(self.program.outputs)
            if self.fresh[index] and self.program.kinds[value] == CELL
        ]

    def outputs(self) -> list[int]:
        """Add all launches; return the outputs."""
        program = self.program
        for value, step in self.steps:
            begin(step, value, self)
        self.store_places(0)
        for level in range(1, max(program.levels) + 1):
            folds = [v for v in program.folds if program.levels[v] == level]
            self.store_costly(folds)
            self.walk(folds)
            self.store_rows(level)
            self.store_places(level)
        computed: dict[int, int] = {}
        left = [
            index
            for index, value in enumerate(program.outputs)
            if not (self.fresh[index] and value in program.folds)
        ]
        for wants_cells in (True, False):  # rows last: elements read them
            batch = [
                i
                for i in left
                if (program.kinds[program.outputs[i]] == CELL) == wants_cells
            ]
            if batch:
                numbers = self.map([program.outputs[i] for i in batch], batch)
                computed |= zip(batch, numbers, strict=True)
        return [
            computed[index] if index in computed else self.known[value]
            for index, value in enumerate(program.outputs)
        ]

    # ---- launches ----

    def map(self, roots: Sequence[int], into: Sequence[int]) -> range:
        """Add an elementwise launch over operands that broadcast; return its results.

        ``into`` has for each the output in whose memory it lies, -1 for its own.
        """
        text = self.text(roots)
        operands = [self.known[value] for value in text.used]
        room = self.room(self.program.kinds[roots[0]], text.used)
        first = self.body.launch(
            [*operands, *room],
            [dtype for _, dtype in text.results],
            text.stored(),
            label=_WHERE,
            names=(*text.names, *("room" for _ in room)),
            indices=self.indices(text.used),
            preamble=text.support,
            inplace=tuple(self.overwritten(output, operands) for output in into),
        )
        for number, output in enumerate(into, first):
            if output >= 0:
                self.memory[output] = number
        return range(first, first + len(roots))

    def room(self, wanted: str, used: Sequence[int]) -> list[int]:
        """Return an unread array that sets a launch's shape, if no input does."""
        kinds = {
            self.program.kinds[value]
            for value in used
            if self.body.is_array(self.known[value])
        }
        if CELL in kinds or (wanted != CELL and ROW in kinds):
            return []
        last = self.shape[-1] if wanted == CELL else self.body.integer(1)
        flags = (*(False for _ in self.shape[:-1]), wanted != CELL)
        lengths = [*self.shape[:-1], last]
        return [self.body.routines("empty", lengths, [p.ArrayValue("int8", flags)])]

    def overwritten(self, output: int, operands: Sequence[int]) -> int:
        """Return the operand of a launch that has the memory of an output, or -1."""
        memory = self.memory[output] if output >= 0 else None
        return operands.index(memory) if memory in operands else -1

    def walk(self, folds: Sequence[int]) -> None:
        """Add a reduction of the last axis, and views that have it again."""
        text = self.text(self.operands(folds))
        last = len(self.shape) - 1
        room = self.room(CELL, text.used)
        first = self.body.reduction(
            [self.program.folds[value] for value in folds],
            text.results,
            [*text.names, *("room" for _ in room)],
            [*(self.known[value] for value in text.used), *room],
            (last,),
            indices=self.indices(text.used),
            lines=text.lines,
            support=text.support,
        )
        for number, fold in enumerate(folds, first):
            self.known[fold] = self.body.view(number, (*range(last), -1))

    def indices(self, used: Sequence[int]) -> list[int]:
        """Return which of the operands are numbers of elements."""
        kinds = [kind for _, kind in self.program.inputs]
        return [
            i
            for i, value in enumerate(used)
            if value < self.count and kinds[value] == NUMBER
        ]

    def counted(self, length: int, dtype: str = "int64") -> int:
        """Return the integers below a length."""
        return self.body.routine("arange", [length], dtype, 1)

    # ---- what is stored ----

    def store(self, roots: Sequence[int], into: Sequence[int]) -> None:
        """Add a launch that stores values."""
        self.known |= zip(roots, self.map(roots, into), strict=True)

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
        """Add the index values that are known after `level` walks."""
        for value, step in self.steps:
            if self.program.levels[value] == level:
                find_places(step, value, self)

    def labels(self, operand: int) -> int:
        """Return the array that indices are read from."""
        if operand in self.known and operand not in self.integers:
            return self.known[operand]
        return self.map([operand], [-1])[0]

    def store_rows(self, level: int) -> None:
        """Store the row values that elements or folds need."""
        program = self.program
        needed = {
            operand
            for value, step in self.steps
            for operand in step.operands
            if step.is_fold or program.kinds[value] == CELL
        }
        roots = [
            value
            for value, step in self.steps
            if value in needed
            and isinstance(step, CompositeStep)
            and program.kinds[value] != CELL
            and program.levels[value] == level
        ]
        if roots:
            self.store(roots, [-1] * len(roots))

    def is_costly(self, value: int) -> bool:
        """True if a function is called for each element."""
        return any(
            isinstance(step := self.program.steps[number - self.count], CompositeStep)
            and calls_function(step.op)
            for number in self.needed([value])
            if number >= self.count
            and number not in self.known
            and self.program.kinds[number] == CELL
        )

    def needed(self, roots: Iterable[int]) -> list[int]:
        """Return the values to compute for the roots, and those read from memory."""
        needed, stack = set[int](), list(roots)
        while stack:
            value = stack.pop()
            if value not in needed:
                needed.add(value)
                if value >= self.count and value not in self.known:
                    stack.extend(self.program.steps[value - self.count].operands)
        return sorted(needed)

    def text(self, roots: Sequence[int]) -> Text:
        """The text that computes the roots from known values."""
        needed = self.needed(roots)
        operands: dict[int, Operand] = {}
        lines: list[str] = []
        supports: dict[str, None] = {}
        names = {value: f"v{number}" for number, value in enumerate(needed)}
        for value, name in names.items():
            dtype = self.program.dtypes[value]
            operands[value] = (name, dtype)
            if value in self.integers:
                text = convert(name, np.dtype("int64"), np.dtype(dtype))
                operands[value] = (text, dtype)
            elif value not in self.known and value < self.count:
                operands[value] = (self.sources[value], dtype)
            elif value not in self.known:
                step = self.program.steps[value - self.count]
                assert isinstance(step, CompositeStep)
                given = [operands[i] for i in step.operands]
                text, support = expression(step, given, value in self.decisive)
                supports[support] = None
                lines.append(f"const {work_ctype(np.dtype(dtype))} {name} = {text};")
        results = tuple(operands[root] for root in roots)
        support = "\n".join(filter(None, supports))
        used = tuple(value for value in needed if value in self.known)
        read = [names[value] for value in used]
        return Text(tuple(lines), results, support, used, read)


@singledispatch
def begin(step: ProgramStep, value: int, k: Walks) -> None:
    """Add the launches of a step before all walks: none, for most kinds."""


@begin.register
def _(step: Place, value: int, k: Walks) -> None:
    """Add the indices of a row's elements, one array for all rows."""
    new_axes = (-1,) * (len(k.shape) - 1)
    k.known[value] = k.body.view(k.counted(k.shape[-1], step.dtype), (*new_axes, 0))


@begin.register
def _(step: Head, value: int, k: Walks) -> None:
    """Add the mask of the first rows."""
    if k.is_whole:
        k.known[value] = k.body.integer(1)
        k.integers.add(value)
        return
    operands = [k.counted(k.shape[0]), k.known[step.count]]
    text, names = "o0 = i < n;", ("i", "n")
    mask = k.body.launch(operands, ["bool"], text, label=_WHERE, names=names)
    k.known[value] = k.body.view(mask, (0, -1))


@singledispatch
def find_places(step: ProgramStep, value: int, k: Walks) -> None:
    """Add the launches of an index step: none, for other kinds."""


@find_places.register
def _(step: Within, value: int, k: Walks) -> None:
    """Add the bounds-checked indices in rows."""
    labels = k.labels(step.operand)
    row = p.ArrayValue("int64", k.body.array(labels).broadcastable)
    k.known[value] = k.body.routines("take", [k.counted(k.shape[-1]), labels], [row], 0)


@find_places.register
def _(step: Line, value: int, k: Walks) -> None:
    k.known[value] = k.labels(step.operand)


@find_places.register
def _(step: Taken, value: int, k: Walks) -> None:
    """Add the rows of a table."""
    table, rows = k.known[step.table], k.body.reshape(k.known[step.place], [k.shape[0]])
    dtype = k.body.array(table).dtype
    k.known[value] = k.body.routine("take", [table, rows], dtype, 2, 0)
