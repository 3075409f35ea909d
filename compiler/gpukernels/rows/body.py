"""A row program as steps of the library, for files: its kernel, or its walks.

The kernel's texts are in the file, one for each form, and the library chooses among
them as `launch` does. What `Walks` launches where a plan is bound is written down
here, too: a reduction for each walk, and elementwise steps, whose kernels have the same
texts. Which of the two runs follows from the device and the lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.nnet import first_rows_steps
from gpuarray.compiler.gpukernels.rows.form import Form
from gpuarray.compiler.gpukernels.rows.launch import (
    LONG,
    NARROW,
    operation,
    template,
    without_identity,
)
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
from gpuarray.compiler.gpukernels.rows.operands import taken_inputs
from gpuarray.compiler.gpukernels.rows.persistent import TURN, has_packets, most_words
from gpuarray.compiler.gpukernels.rows.product import product_of
from gpuarray.compiler.ops.fused.rowwise import (
    CELL,
    COLUMN,
    COUNT,
    FEW,
    LENGTH,
    ONE,
    ROW,
    TABLE,
    Fold,
    Program,
    Total,
)

_WHERE = "rows"
LETTERS = {CELL: "C", ROW: "R", COLUMN: "V", TABLE: "T", ONE: "S"}
"""How the library's routine is told what an array has a number for."""


class NoForm(Exception):
    """The program has a part that is not of these steps."""


class Written:
    """Launches that are written down; it has state because each reads what others made.

    ``known`` has the numbers of the body's values by the program's; ``shape`` those of
    the lengths; ``memory`` for each output that of the value in whose memory it goes.
    """

    def __init__(
        self,
        steps: Steps,
        walks: Walks,
        numbers: Sequence[int | None],
        shape: Sequence[int],
        targets: Sequence[int | None],
    ) -> None:
        self.body = steps
        self.walks = walks
        self.shape = shape
        self.known = {v: each for v, each in enumerate(numbers) if each is not None}
        self.memory = list(targets)
        for value in walks.integers:  # all rows are among the first
            self.known.setdefault(value, steps.integer(1))

    def results(self) -> list[int]:
        """Write all of them; the outputs. Raises `NoForm`."""
        for move in self.walks.moves:
            move.by(self)
        return [self.known[value] for value in self.walks.outputs]

    def map(self, move: Map) -> None:
        """A launch, of inputs whose joint shape is that of the values."""
        program = self.walks.program
        kinds = {program.kinds[value] for value in move.used}
        wants_cells = program.kinds[move.made[0]] == CELL
        if CELL not in kinds and (wants_cells or ROW not in kinds):
            raise NoForm  # the results have more elements than what is read
        given = [self.known[value] for value in move.used]
        first = self.body.launch(
            given,
            [dtype for _, dtype in move.text.results],
            move.text.stored(),
            label=_WHERE,
            names=tuple(f"v{value}" for value in move.used),
            preamble=move.text.support,
            inplace=tuple(self.overwritten(into, given) for into in move.into),
        )
        for number, (out, into) in enumerate(zip(move.outs, move.into, strict=True)):
            self.known[out] = first + number
            if into >= 0:
                self.memory[into] = first + number

    def overwritten(self, output: int, given: Sequence[int]) -> int:
        """Which of what a launch reads has the memory of an output; -1: none."""
        memory = self.memory[output] if output >= 0 else None
        return given.index(memory) if memory in given else -1

    def walk(self, move: Walk) -> None:
        """A reduction of the last axis, and views that have it again."""
        if not any(self.walks.program.kinds[value] == CELL for value in move.used):
            raise NoForm
        last = len(self.shape) - 1
        first = self.body.reduction(
            self.walks.folds(move),
            move.text.results,
            [f"v{value}" for value in move.used],
            [self.known[value] for value in move.used],
            (last,),
            lines=move.text.lines,
            support=move.text.support,
        )
        for number, fold in enumerate(move.folds):
            self.known[fold] = self.body.view(first + number, (*range(last), -1))

    def count(self, move: Count) -> None:
        """The places of a row's elements, one array for all rows."""
        counts = self.counted(self.shape[-1], move.dtype)
        new_axes = (-1,) * (len(self.shape) - 1)
        self.known[move.out] = self.body.view(counts, (*new_axes, 0))

    def first(self, move: First) -> None:
        """Which rows are among the first."""
        given = [self.counted(self.shape[0]), self.known[move.count]]
        text, names = "o0 = i < n;", ("i", "n")
        made = self.body.launch(given, ["bool"], text, label=_WHERE, names=names)
        self.known[move.out] = self.body.view(made, (0, -1))

    def inside(self, move: Inside) -> None:
        """The places in rows, each checked."""
        labels = self.known[move.labels]
        given = [self.counted(self.shape[-1]), labels]
        row = p.ArrayValue("int64", self.body.array(labels).broadcastable)
        self.known[move.out] = self.body.routines("take", given, [row], 0)

    def lines(self, move: Lines) -> None:
        """Rows of a table."""
        rows = self.body.reshape(self.known[move.places], [self.shape[0]])
        table = self.known[move.table]
        dtype = self.body.array(table).dtype
        self.known[move.out] = self.body.routine("take", [table, rows], dtype, 2, 0)

    def same(self, move: Same) -> None:
        """A value that is there."""
        self.known[move.out] = self.known[move.value]

    def counted(self, length: int, dtype: str = "int64") -> int:
        """The integers below a length."""
        return self.body.routine("arange", [length], dtype, 1)


@body_of("rowwise")
def rowwise_steps(
    s: Steps,
    *values: int,
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
) -> list[int] | None:
    """The walks of a program and its totals; None for what has no such form."""
    if product_of(program) is not None:
        return None
    given = iter(values)
    numbers = [next(given) if x in ("int", "array") else None for x in sources]
    shape = domain(s, program, numbers)
    if shape is None:
        return None
    require_shape(s, program, numbers, shape)
    listed = [
        all_rows(s, number, shape[0]) if kind == FEW and number is not None else number
        for number, (_, kind) in zip(numbers, program.inputs, strict=True)
    ]
    require_elements(s, program, numbers, shape)
    plain = program.storing() if program.totals else program
    more = len(plain.outputs) - len(program.outputs)
    over = (*over[: len(program.outputs)], *(-1,) * more)
    try:
        made = results_of(s, plain, sources, over, listed, shape)
    except NoForm:
        return None
    there = dict(enumerate(numbers)) | dict(zip(plain.outputs, made, strict=True))
    totals = [total_of(s, total, there[total.operand]) for total in program.totals]
    return [*made[: len(program.outputs)], *totals]


def results_of(
    s: Steps,
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
    numbers: Sequence[int | None],
    shape: Sequence[int],
) -> list[int]:
    """The outputs: by walks where these are better, else by one launch."""
    rows = product_of_lengths(s, shape[:-1])
    by_walks = needs_walks(s, program, numbers, rows, shape[-1])
    with s.under(by_walks, True):
        walked = by_reductions(s, program, sources, over, numbers, shape)
    with s.under(by_walks, False):
        launched = launch(s, program, sources, over, numbers, rows, shape)
    return [s.choose(by_walks, *pair) for pair in zip(walked, launched, strict=True)]


def by_reductions(
    s: Steps,
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
    numbers: Sequence[int | None],
    shape: Sequence[int],
) -> list[int]:
    """The outputs by a reduction for each walk; simpler where all rows are meant."""
    places = [i for i, source in enumerate(sources) if source in ("int", "array")]
    targets = [numbers[places[at]] if at >= 0 else None for at in over]
    fresh = tuple(
        at < 0 or value in program.folds
        for at, value in zip(over, program.outputs, strict=True)
    )

    def write(is_whole: bool) -> list[int]:
        walks = walks_of(program, sources, fresh, is_whole)
        return Written(s, walks, numbers, shape, targets).results()

    counts = [
        number
        for number, (_, kind) in zip(numbers, program.inputs, strict=True)
        if kind == COUNT and number is not None
    ]
    if not counts:
        return write(is_whole=False)
    is_part = s.arithmetic("lt", counts[0], shape[0])
    for count in counts[1:]:
        other = s.arithmetic("lt", count, shape[0])
        is_part = s.arithmetic("bitwise_or", is_part, other)
    with s.under(is_part, True):
        few = write(is_whole=False)
    with s.under(is_part, False):
        whole = write(is_whole=True)
    return [s.choose(is_part, *pair) for pair in zip(few, whole, strict=True)]


def product_of_lengths(s: Steps, lengths: Sequence[int]) -> int:
    """How many elements have these lengths."""
    found = lengths[0] if lengths else s.integer(1)
    for length in lengths[1:]:
        found = s.arithmetic("mul", found, length)
    return found


def needs_walks(
    s: Steps, program: Program, numbers: Sequence[Any], rows: int, length: int
) -> int:
    """Whether one launch is worse, or cannot be: 1 for walks, else 0."""
    reasons = [
        prefers_walks(s, rows, length),
        s.arithmetic("le", s.integer(NARROW), length),
        *(
            s.arithmetic("eq", s.length(number, 0), s.integer(0))
            for number, (_, kind) in zip(numbers, program.inputs, strict=True)
            if kind == TABLE
        ),
    ]
    found = reasons[0]
    for reason in reasons[1:]:
        found = s.arithmetic("bitwise_or", found, reason)
    return found


def prefers_walks(s: Steps, rows: int, length: int) -> int:
    """Whether other kernels are better at these rows than one for all of it.

    Those of processors make better vectors; and a few long rows keep no GPU busy.
    """
    twice = s.arithmetic("mul", s.integer(2), s.device("processors"))
    is_long = s.arithmetic("lt", s.integer(LONG), length)
    is_few = s.arithmetic("lt", rows, twice)
    is_better = s.arithmetic("bitwise_and", is_long, is_few)
    return s.arithmetic("bitwise_or", s.device("is_processor"), is_better)


def launch(
    s: Steps,
    program: Program,
    sources: tuple[str, ...],
    over: tuple[int, ...],
    numbers: Sequence[Any],
    rows: int,
    shape: Sequence[int],
) -> list[int]:
    """The outputs of the kernel, a routine's: matrices in the shape of the elements."""
    kinds = program.kinds[: len(program.inputs)]
    listed = list(zip(numbers, kinds, sources, strict=True))
    used = [x for x in listed if x[1] != LENGTH and x[2] in ("int", "array")]
    arguments = "".join(
        "i" if source == "int" else LETTERS[kind] for _, kind, source in used
    )
    arrays = [
        as_matrix(s, number, kind, rows, shape[-1])
        for number, kind, source in used
        if source == "array"
    ]
    integers = [number for number, _, source in used if source == "int"]
    outputs = [(value, program.kinds[value]) for value in program.outputs]
    texts = [
        arguments,
        "".join(LETTERS[kind] for _, kind in outputs),
        operation(program) if program.reports else "",
    ]
    for text, name in templates(program, sources, taken_inputs(sources, over)):
        texts += [name, text]
    results = [
        p.ArrayValue(program.dtypes[value], (False, kind != CELL))
        for value, kind in outputs
    ]
    arrays_of = [i for i, source in enumerate(sources) if source == "array"]
    places = [i for i, source in enumerate(sources) if source in ("int", "array")]
    taken = [arrays_of.index(places[at]) if at >= 0 else -1 for at in over]
    params = most_words(program), *taken
    made = s.routines("rows", [*arrays, *integers], results, *params, texts=(*texts,))
    one = s.integer(1)
    return [
        s.reshape(made + i, [*shape[:-1], shape[-1] if kind == CELL else one])
        for i, (_, kind) in enumerate(outputs)
    ]


def templates(
    program: Program, sources: tuple[str, ...], taken: frozenset[int]
) -> list[tuple[str, str]]:
    """The texts of the kernel and their names, in the order of c/reduce/rows.h."""
    plain = Form(sources, taken, False, False)
    forms: list[Form | None] = [plain, replace(plain, is_unit=True)]
    if most_words(program):
        kept = replace(plain, kept=1, lanes=1)
        forms += [kept, replace(kept, is_unit=True)]
        packs = replace(kept, is_unit=True, pack=TURN)
        has_packs = has_packets(program) and TABLE not in program.kinds
        forms += [packs if has_packs else None]
    else:
        forms += [None] * 3
    return [("", "") if form is None else template(program, form)[:2] for form in forms]


def as_matrix(s: Steps, number: int, kind: str, rows: int, length: int) -> int:
    """An input with its rows along one axis."""
    if kind == TABLE:
        return number
    one = s.integer(1)
    wanted = {CELL: [rows, length], ROW: [rows], COLUMN: [length]}.get(kind, [one])
    return s.reshape(number, wanted)


def domain(
    s: Steps, program: Program, numbers: Sequence[int | None]
) -> list[int] | None:
    """The lengths of what has all elements; None where inputs alone do not say them."""
    kinds = [kind for _, kind in program.inputs]
    arrays = {
        kind: number
        for kind, number in reversed(list(zip(kinds, numbers, strict=True)))
        if number is not None and s.is_array(number)
    }
    if CELL in arrays:
        whole = arrays[CELL]
        return [s.length(whole, axis) for axis in range(s.array(whole).ndim)]
    if TABLE in arrays and ROW in arrays:
        return [s.length(arrays[ROW], 0), s.length(arrays[TABLE], 1)]
    return None


def require_shape(
    s: Steps,
    program: Program,
    numbers: Sequence[int | None],
    shape: Sequence[int],
) -> None:
    """All inputs must have the lengths of the elements."""
    one = s.integer(1)
    first = next(n for n in numbers if n is not None and s.is_array(n))
    whole = [n for n, (_, k) in zip(numbers, program.inputs, strict=True) if k == CELL]
    wanted: dict[str, list[int | None]] = {
        CELL: list(shape),
        ROW: [*shape[:-1], one],
        COLUMN: [*(one for _ in shape[:-1]), shape[-1]],
        TABLE: [None, shape[-1]],
    }
    text = "Rowwise: Input dimension mis-match: "
    for index, (number, (_, kind)) in enumerate(
        zip(numbers, program.inputs, strict=True)
    ):
        if number is None:
            continue
        if kind == LENGTH:
            s.same_length(first, number, shape[-1], f"{text}places in rows up to")
        elif kind == COUNT:
            s.at_most(first, number, shape[0])
        elif s.is_array(number):
            for axis, length in enumerate(wanted.get(kind, ())):
                if length is not None and number not in whole[:1]:
                    about = f"{text}input {index} has along axis {axis} the length"
                    s.same_length(first, s.length(number, axis), length, about)


def require_elements(
    s: Steps,
    program: Program,
    numbers: Iterable[int | None],
    shape: Sequence[int],
) -> None:
    """Folds without an identity need elements."""
    first = next(n for n in numbers if n is not None and s.is_array(n))
    for monoid in without_identity(program):
        text = (
            f"{monoid}: no elements to reduce, and the operation has no identity; "
            "reduce axes that have elements"
        )
        s.require(first, [shape[-1]], text)


def all_rows(s: Steps, few: int, rows: int) -> int:
    """What is of the first rows, with zeros for the others."""
    vector = s.reshape(few, [s.integer(-1)])
    made = first_rows_steps(s, vector, s.length(vector, 0), rows)
    return s.view(made, (0, -1))


def total_of(s: Steps, total: Total, stored: int | None) -> int:
    """What is stored of elements, folded over all rows."""
    if stored is None:
        raise NoForm
    value = s.array(stored)
    fold = Fold(total.monoid, 0, total.dtype, total.acc_dtype, of_none=True)
    axes = tuple(range(value.ndim - 1))
    made = s.reduction([fold], [("v0", value.dtype)], ["v0"], [stored], axes)
    return s.view(made, (*(-1,) * len(axes), 0))
