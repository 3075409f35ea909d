"""Launches of row kernels: what they are given, in which form, on what grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._kernels.codegen import digest, self_contained
from gpuarray._kernels.kernel import REPORT_TYPES, GpuKernel, index_report
from gpuarray._ufunc.reduction import needs_elements
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.rows.form import BLOCK, NUMBERS, Form
from gpuarray.compiler.gpukernels.rows.operands import Operands, taken_inputs
from gpuarray.compiler.gpukernels.rows.persistent import (
    TURN,
    PersistentText,
    has_packets,
    has_registers,
    kept_block,
    kept_blocks,
)
from gpuarray.compiler.gpukernels.rows.product import AHEAD, product_block, product_of
from gpuarray.compiler.gpukernels.rows.text import RowText
from gpuarray.compiler.gpukernels.rows.totals import (
    TotalsText,
    local_bytes,
    own_elements,
)
from gpuarray.compiler.ops.fused.rowwise import (
    CELL,
    COLUMN,
    LENGTH,
    ONE,
    ROW,
    TABLE,
    Program,
)
from gpuarray.dtypes import INPUT, OFFSET
from gpuarray.scalars import SCALARS

MANY_ITEMS = 2048
"""The work items that keep a processor of a GPU busy."""
NARROW = 2**31 - 2**20
"""Elements of a row from which on their places take 64 bits."""
LONG = 16384
"""Elements of a row beyond which few rows are not left to a block each."""


def operation(program: Program) -> str:
    """What is reported with an index that leads nowhere."""
    found = [step.label for step in program.steps if step.is_index]
    return " or ".join(dict.fromkeys(found))


def without_identity(program: Program) -> list[str]:
    """The monoids of folds that need elements."""
    needy = (fold for fold in program.folds.values() if not fold.of_none)
    return [x.monoid for x in needy if needs_elements(SCALARS[x.monoid])]


@dataclass(frozen=True, slots=True)
class Given:
    """The inputs of a launch: ``values`` has integers, and arrays as matrices."""

    values: list[Any]
    is_unit: bool
    rows: int
    length: int

    @classmethod
    def of(cls, operands: Operands) -> Given:
        """Inputs of rows along any axes."""
        rows, length = operands.rows, operands.length
        kinds = operands.program.kinds[: len(operands.values)]
        matrices = [
            as_matrix(value, kind, rows, length) if isinstance(value, Array) else value
            for value, kind in zip(operands.values, kinds, strict=True)
        ]
        is_unit = all(
            each.strides[-1] == each.dtype.itemsize or length == 1
            for each, kind in zip(matrices, kinds, strict=True)
            if kind in (CELL, COLUMN, TABLE)
        )
        return cls(matrices, is_unit, rows, length)

    def has_packs(self, program: Program) -> bool:
        """Whether all rows are whole packs of neighbours."""
        kinds = program.kinds[: len(program.inputs)]
        return (
            self.is_unit
            and self.length % TURN == 0
            and TABLE not in kinds
            and all(
                is_packed(value, self.length)
                for value, kind in zip(self.values, kinds, strict=True)
                if kind in (CELL, COLUMN)
            )
        )

    def arguments(self, program: Program, form: Form, context: Context) -> list[Any]:
        """What a kernel is given after its outputs."""
        found: list[Any] = []
        kinds = program.kinds[: len(program.inputs)]
        for kind, value, source in zip(kinds, self.values, form.sources, strict=True):
            if kind == LENGTH:
                continue
            if source == "int":
                found.append(value)
            elif source == "array":
                strides = value.strides if kind in (CELL, TABLE) else value.strides[-1:]
                counts = value.shape[:1] if kind == TABLE else ()
                strides = () if kind == ONE else (*counts, *strides)
                found += [value, value.offset, *strides]
        if program.reports:
            found += index_report(operation(program), context)
        return [*found, self.rows, self.length]


def launch(operands: Operands, outputs: Sequence[Array]) -> None:
    """Queue the kernel on inputs as matrices."""
    program, context = operands.program, operands.context
    rows, length = operands.rows, operands.length
    given = Given.of(operands)
    kept, pack = kept_packs(program, given, outputs, context)
    taken = taken_inputs(operands.sources, operands.over)
    ahead = 0 if product_of(program) is None else AHEAD
    is_wide = length >= NARROW
    form = Form(operands.sources, taken, given.is_unit, is_wide, *kept, ahead, pack)
    kernel = kernel_of(program, form, context)
    if form.kept and form.lanes > kernel.max_threads:  # it takes too many registers
        form = replace(form, kept=0, lanes=0, pack=1)
        kernel = kernel_of(program, form, context)
    find = product_block if form.ahead else block_of
    lanes, slots = (form.lanes, 1) if form.kept else find(length, rows, context)
    tiles = -(-rows // slots)
    per_group = -(-tiles // (1 << 16))
    kernel(
        *pointers(outputs),
        *given.arguments(program, form, context),
        per_group,
        blocks=(-(-tiles // per_group), 1),
        threads=(lanes, slots),
    )


def totals_form(operands: Operands, given: Given) -> Form:
    """The form of a kernel that folds totals too; it keeps nothing where none can."""
    program, context = operands.program, operands.context
    taken = taken_inputs(operands.sources, operands.over)
    none = Form(operands.sources, taken, given.is_unit, False)
    packs = (TURN, 1) if lie_in_packs(program, given, operands.targets) else (1,)
    length, memory = given.length, context.local_memory
    for kept, lanes in kept_blocks(program, length, context.max_threads):
        for pack in packs:
            whole = -(-kept // pack) * pack
            form = replace(none, kept=whole, lanes=lanes, pack=pack)
            own = own_elements(program, form, length, memory)
            if has_registers(program, whole, lanes, own):
                return replace(form, own=own)
    return none


def kept_packs(
    program: Program, given: Given, outputs: Sequence[Any], context: Context
) -> tuple[tuple[int, int], int]:
    """How many elements an item keeps, the items, and how many are one pack."""
    kept, lanes = kept_block(program, given.length, context.max_threads)
    whole = -(-kept // TURN) * TURN
    has_room = kept > 0 and has_registers(program, whole, lanes)
    if has_room and lie_in_packs(program, given, outputs):
        return (whole, lanes), TURN
    return (kept, lanes), 1


def lie_in_packs(program: Program, given: Given, outputs: Sequence[Any]) -> bool:
    """Whether all that is read and stored of rows is packs of neighbours."""
    return (
        has_packets(program)
        and given.has_packs(program)
        and all(is_packed(each, given.length) for each in outputs if each is not None)
    )


def is_packed(array: Array, length: int) -> bool:
    """Whether the rows of an array, if it has any, begin where packs do."""
    if array.shape[-1] != length:
        return True
    size = TURN * array.dtype.itemsize
    return all(start % size == 0 for start in (array.offset, *array.strides[:-1]))


def launch_totals(
    program: Program,
    form: Form,
    given: Given,
    results: Sequence[Array],
    context: Context,
) -> None:
    """Queue the kernel whose last results have a row for each block."""
    whole = len(program.outputs)
    kernel_of(program, form, context)(
        *pointers(results[:whole]),
        *given.arguments(program, form, context),
        *pointers(results[whole:]),
        blocks=(results[whole].shape[0], 1),
        threads=(form.lanes, 1),
        shared=local_bytes(program, form, given.length),
    )


def pointers(arrays: Sequence[Array]) -> list[Any]:
    """Arrays as arguments of a kernel."""
    return [x for array in arrays for x in (array, array.offset)]


def as_matrix(array: Array, kind: str, rows: int, length: int) -> Array:
    """An input with its rows along one axis; a copy where they are no one axis."""
    if kind == TABLE:
        return array
    if kind == CELL:
        return array.reshape(rows, length)
    if kind == ROW:
        return array.reshape(rows)
    return array.reshape(length if kind == COLUMN else 1)


def block_of(length: int, rows: int, context: Context) -> tuple[int, int]:
    """How many items walk along a row, and how many rows a block has.

    Of enough rows an item has some elements; of few it has one, as far as that goes.
    """
    block = min(BLOCK, 1 << (context.max_threads.bit_length() - 1))
    share = 8 if rows * length > MANY_ITEMS * context.processors else 1
    wanted = length if length <= 32 else max(32, length // share)
    lanes = min(block, 1 << (max(wanted, 1) - 1).bit_length())
    return lanes, block // lanes


def kernel_of(program: Program, form: Form, context: Context) -> GpuKernel:
    """The kernel, compiled when it is first asked for."""
    key = "rowwise", program, form
    kernel: GpuKernel | None = context._kernels.get(key)
    if kernel is None:
        types = types_of(program, form)
        kernel = GpuKernel(*named_text(program, form), types, context)
        context._kernels[key] = kernel
    return kernel


@lru_cache(maxsize=256)
def named_text(program: Program, form: Form) -> tuple[str, str]:
    """The kernel's text, and its name."""
    text, name, writer = template(program, form)
    if form.kept:
        name = f"{name}k{form.kept}x{form.lanes}"
    for word, number in {"$name": name, **writer.words()}.items():
        text = text.replace(word, str(number))
    return text, name


def template(program: Program, form: Form) -> tuple[str, str, RowText]:
    """A kernel's text with words in place of what forms have in numbers, and a name."""
    made = TotalsText if program.totals else PersistentText if form.kept else RowText
    writer = made(program, form)
    text = self_contained(writer.text())
    return text, f"rowwise_{digest(text.encode())}", writer


def types_of(program: Program, form: Form) -> list[Any]:
    """The kernel's arguments, as `RowText.text` lists them, and those of totals."""
    pointer = [Array, OFFSET]
    found: list[Any] = pointer * len(program.outputs)
    for source, kind in zip(form.sources, program.kinds, strict=False):
        if kind == LENGTH:
            continue
        if source == "int":
            found.append(np.int64)
        elif source == "array":
            found += [INPUT, OFFSET] + [np.int64] * len(NUMBERS.get(kind, ""))
    if program.reports:
        found += REPORT_TYPES
    place = np.int64 if form.is_wide else np.int32
    found += [np.int64, place]
    return found + (pointer * len(program.totals) or [np.int64])
