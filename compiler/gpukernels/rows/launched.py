"""A row program's kernel as a step: a routine of the library, which has its texts.

There is a text for each form, with placeholders for numbers; the library chooses the
form, the numbers and the grid (c/reduce/rows.h).
"""

from __future__ import annotations

from dataclasses import replace

from gpuarray._kernels.codegen import digest, self_contained
from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.bodies import Steps
from gpuarray.compiler.gpukernels.folds import accumulator
from gpuarray.compiler.gpukernels.rows.form import Form
from gpuarray.compiler.gpukernels.rows.operands import Operands
from gpuarray.compiler.gpukernels.rows.persistent import (
    TURN,
    PersistentText,
    has_packets,
    most_words,
)
from gpuarray.compiler.gpukernels.rows.product import AHEAD, product_of
from gpuarray.compiler.gpukernels.rows.text import RowText
from gpuarray.compiler.gpukernels.rows.totals import TotalsText
from gpuarray.compiler.ops.fused.row_steps import (
    CELL,
    COLUMN,
    LENGTH,
    NUMBER,
    ONE,
    ROW,
    TABLE,
)
from gpuarray.compiler.ops.fused.rowwise import Program

LETTERS = {CELL: "C", ROW: "R", COLUMN: "V", TABLE: "T", ONE: "S"}
"""The routine's codes of the kinds of arrays."""


def launch(s: Steps, operands: Operands, name: str = "rows") -> list[int]:
    """Add the kernel's routine; return its outputs, as matrices.

    The totals that follow have a row for each block; all are empty where it is faster
    to store the folded elements.
    """
    program, rows = operands.program, operands.rows(s)
    kinds = program.kinds[: len(program.inputs)]
    listed = list(zip(operands.numbers, kinds, operands.sources, strict=True))
    unread = [kind in (LENGTH, NUMBER) for _, kind in program.inputs]
    used = [
        (number, kind, source)
        for (number, kind, source), is_unread in zip(listed, unread, strict=True)
        if number is not None and not is_unread
    ]
    arrays = [
        as_matrix(s, number, kind, rows, operands.length)
        for number, kind, source in used
        if source == "array"
    ]
    integers = [number for number, _, source in used if source == "int"]
    arguments = ("i" if source == "int" else LETTERS[kind] for _, kind, source in used)
    outputs = [(value, program.kinds[value]) for value in program.outputs]
    texts = [
        "".join(arguments),
        "".join(LETTERS[kind] for _, kind in outputs) + "P" * len(program.totals),
        operation(program) if program.reports else "",
    ]
    for text, kernel in templates(operands):
        texts += [kernel, text]
    results = [
        p.ArrayValue(program.dtypes[value], (False, kind != CELL))
        for value, kind in outputs
    ]
    results += [
        p.ArrayValue(str(accumulator(total)), (False, False))
        for total in program.totals
    ]
    places = [
        i
        for i, source in enumerate(operands.sources)
        if source == "array" and not unread[i]
    ]
    overwritten = [
        -1 if at is None else places.index(at) for at in operands.overwritten
    ]
    more = [fold_bytes(program)] if program.totals else []
    params = most_words(program), *more, *overwritten
    first = s.routines(name, [*arrays, *integers], results, *params, texts=(*texts,))
    return [first + i for i in range(len(results))]


def in_shape(s: Steps, operands: Operands) -> list[int]:
    """Return the outputs of the kernel of a program without totals, in their shapes."""
    return shaped(s, operands, launch(s, operands))


def shaped(s: Steps, operands: Operands, matrices: list[int]) -> list[int]:
    """Return the outputs in the elements' shape, or with one element for a row."""
    kinds = [operands.program.kinds[value] for value in operands.program.outputs]
    outer, one = operands.shape[:-1], s.integer(1)
    return [
        s.reshape(matrix, [*outer, operands.length if kind == CELL else one])
        for matrix, kind in zip(matrices, kinds, strict=True)
    ]


def fold_bytes(program: Program) -> int:
    """Return the bytes of local memory that a block's folds take for each item."""
    return sum(accumulator(fold).itemsize for fold in program.folds.values())


def templates(operands: Operands) -> list[tuple[str, str]]:
    """The texts of the kernel and their names, in the order of c/reduce/rows.h."""
    program = operands.program
    overwritten = frozenset(at for at in operands.overwritten if at is not None)
    ahead = 0 if product_of(program) is None else AHEAD
    plain = Form(operands.sources, overwritten, ahead=ahead)
    forms: list[Form | None] = [plain, replace(plain, is_unit=True)]
    if program.totals:  # only persistent rows fold them
        forms = [None, None]
    if most_words(program):
        persistent = replace(plain, is_kept=True)
        forms += [persistent, replace(persistent, is_unit=True)]
        packs = replace(persistent, is_unit=True, pack=TURN)
        has_packs = has_packets(program) and TABLE not in program.kinds
        forms += [packs if has_packs else None]
    else:
        forms += [None] * 3
    return [("", "") if form is None else template(program, form) for form in forms]


def template(program: Program, form: Form) -> tuple[str, str]:
    """Return a kernel's text, with placeholders for numbers, and its name."""
    writer = RowText
    if form.is_kept:
        writer = TotalsText if program.totals else PersistentText
    text = self_contained(writer(program, form).text())
    return text, f"rowwise_{digest(text.encode())}"


def as_matrix(s: Steps, number: int, kind: str, rows: int, length: int) -> int:
    """Return an input with its rows along one axis."""
    if kind == TABLE:
        return number
    one = s.integer(1)
    lengths = {CELL: [rows, length], ROW: [rows], COLUMN: [length]}.get(kind, [one])
    return s.reshape(number, lengths)


def operation(program: Program) -> str:
    """Return the name of the operation that an index error reports."""
    labels = [step.label for step in program.steps if step.is_index]
    return " or ".join(dict.fromkeys(labels))
