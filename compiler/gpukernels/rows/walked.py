"""A row program's walks as steps: reductions along the rows, elementwise operations."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.bodies import Steps
from gpuarray.compiler.gpukernels.rows.looped import (
    Count,
    First,
    Inside,
    Lines,
    Map,
    Same,
    Walk,
    Walks,
    walks_of,
)
from gpuarray.compiler.gpukernels.rows.operands import Operands
from gpuarray.compiler.ops.fused.rowwise import CELL, COUNT, ROW

_WHERE = "rows"


class Written:
    """Adds launches as steps; it has state because each reads results of others.

    ``known`` maps the program's values to the body's; ``shape`` has the numbers of the
    lengths; ``memory`` has for each output the value whose memory it takes.
    """

    def __init__(
        self,
        steps: Steps,
        walks: Walks,
        given: Operands,
        targets: Sequence[int | None],
    ) -> None:
        self.body = steps
        self.walks = walks
        self.shape = given.shape
        numbered = enumerate(given.numbers)
        self.known = {v: each for v, each in numbered if each is not None}
        self.memory = list(targets)
        for value in walks.integers:  # masks that are true for all rows
            self.known.setdefault(value, steps.integer(1))

    def results(self) -> list[int]:
        """Add all launches; return the outputs."""
        for move in self.walks.moves:
            move.by(self)
        return [self.known[value] for value in self.walks.outputs]

    def map(self, move: Map) -> None:
        """Add an elementwise launch over operands that broadcast to its shape."""
        operands = [self.known[value] for value in move.used]
        names = [f"v{value}" for value in move.used]
        room = self.room(self.walks.program.kinds[move.made[0]], move.used)
        first = self.body.launch(
            [*operands, *room],
            [dtype for _, dtype in move.text.results],
            move.text.stored(),
            label=_WHERE,
            names=(*names, *("room" for _ in room)),
            preamble=move.text.support,
            inplace=tuple(self.overwritten(into, operands) for into in move.into),
        )
        for number, (out, into) in enumerate(zip(move.outs, move.into, strict=True)):
            self.known[out] = first + number
            if into >= 0:
                self.memory[into] = first + number

    def room(self, wanted: str, used: Sequence[int]) -> list[int]:
        """Return an unread array that sets a launch's shape, if no input does."""
        kinds = {
            self.walks.program.kinds[value]
            for value in used
            if self.body.is_array(self.known[value])
        }
        if CELL in kinds or (wanted != CELL and ROW in kinds):
            return []
        last = self.shape[-1] if wanted == CELL else self.body.integer(1)
        flags = (*(False for _ in self.shape[:-1]), wanted != CELL)
        lengths = [*self.shape[:-1], last]
        return [self.body.routines("empty", lengths, [p.ArrayValue("int8", flags)])]

    def overwritten(self, output: int, given: Sequence[int]) -> int:
        """Return the operand of a launch that has the memory of an output, or -1."""
        memory = self.memory[output] if output >= 0 else None
        return given.index(memory) if memory in given else -1

    def walk(self, move: Walk) -> None:
        """Add a reduction of the last axis, and views that have it again."""
        last = len(self.shape) - 1
        room = self.room(CELL, move.used)
        first = self.body.reduction(
            self.walks.folds(move),
            move.text.results,
            [*(f"v{value}" for value in move.used), *("room" for _ in room)],
            [*(self.known[value] for value in move.used), *room],
            (last,),
            lines=move.text.lines,
            support=move.text.support,
        )
        for number, fold in enumerate(move.folds):
            self.known[fold] = self.body.view(first + number, (*range(last), -1))

    def count(self, move: Count) -> None:
        """Add the indices of a row's elements, one array for all rows."""
        counts = self.counted(self.shape[-1], move.dtype)
        new_axes = (-1,) * (len(self.shape) - 1)
        self.known[move.out] = self.body.view(counts, (*new_axes, 0))

    def first(self, move: First) -> None:
        """Add the mask of the first rows."""
        operands = [self.counted(self.shape[0]), self.known[move.count]]
        text, names = "o0 = i < n;", ("i", "n")
        mask = self.body.launch(operands, ["bool"], text, label=_WHERE, names=names)
        self.known[move.out] = self.body.view(mask, (0, -1))

    def inside(self, move: Inside) -> None:
        """Add the bounds-checked indices in rows."""
        labels = self.known[move.labels]
        operands = [self.counted(self.shape[-1]), labels]
        row = p.ArrayValue("int64", self.body.array(labels).broadcastable)
        self.known[move.out] = self.body.routines("take", operands, [row], 0)

    def lines(self, move: Lines) -> None:
        """Add the rows of a table."""
        rows = self.body.reshape(self.known[move.places], [self.shape[0]])
        table = self.known[move.table]
        dtype = self.body.array(table).dtype
        self.known[move.out] = self.body.routine("take", [table, rows], dtype, 2, 0)

    def same(self, move: Same) -> None:
        """Alias another value."""
        self.known[move.out] = self.known[move.value]

    def counted(self, length: int, dtype: str = "int64") -> int:
        """Return the integers below a length."""
        return self.body.routine("arange", [length], dtype, 1)


def by_reductions(s: Steps, given: Operands) -> list[int]:
    """The outputs by a reduction for each walk; simpler where all rows are meant."""
    numbers, program = given.numbers, given.program
    targets = [None if at is None else numbers[at] for at in given.overwritten]
    fresh = tuple(
        at is None or value in program.folds
        for at, value in zip(targets, program.outputs, strict=True)
    )

    def write(is_whole: bool) -> list[int]:
        walks = walks_of(program, given.sources, fresh, is_whole)
        return Written(s, walks, given, targets).results()

    counts = given.of_kind(COUNT)
    if not counts:
        return write(is_whole=False)
    is_part = s.any([s.arithmetic("lt", count, given.shape[0]) for count in counts])
    with s.under(is_part, True):
        few = write(is_whole=False)
    with s.under(is_part, False):
        whole = write(is_whole=True)
    return [s.choose(is_part, *pair) for pair in zip(few, whole, strict=True)]
