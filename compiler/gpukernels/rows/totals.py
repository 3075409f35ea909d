"""The kernel of a row program that folds elements over all rows too: C text.

A block walks along many rows, and holds in local memory what it has folded so far of
each place in a row; where that is too small, items have those of some of their places
in registers. When its rows are done it stores that, for a reduction of what all
blocks have stored. So what is folded is never stored, nor read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._kernels.codegen import convert, identity_text
from gpuarray._native import check, ffi, lib
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.argmax import taken
from gpuarray.compiler.gpukernels.folds import accumulator, fold_function, row_tree
from gpuarray.compiler.gpukernels.rows.form import Form
from gpuarray.compiler.gpukernels.rows.persistent import (
    FORGETFUL,
    PACKETS,
    PersistentText,
    blocks_at_once,
    kept_values,
    sure_elements,
)
from gpuarray.compiler.gpukernels.rows.run import new_reduction
from gpuarray.compiler.ops.fused.rowwise import CELL, Fold, Program, Total
from gpuarray.dtypes import dtype_to_ctype, dtype_to_typecode, work_ctype, work_dtype
from gpuarray.scalars import SCALARS

FEWEST_ROWS = 4
"""Rows of a block below which what blocks store is too much."""
MOST_ROWS = 1024
"""Rows that a block folds one after the other: more would cost digits."""
_OWN = 1 << 10
"""Bytes of local memory that a device takes for each block."""


def place_bytes(program: Program) -> int:
    """The bytes of all totals of one place in a row."""
    return sum(accumulator(total).itemsize for total in program.totals)


def local_bytes(program: Program, form: Form, length: int) -> int:
    """The local memory that a block asks for at its launch."""
    places = length - form.own * form.lanes if form.own < form.kept else 0
    return places * place_bytes(program)


def own_elements(program: Program, form: Form, length: int, memory: int) -> int:
    """Of how many elements an item has the totals in registers.

    They are those without room in local memory, beside what the block's folds need.
    """
    folds = program.folds.values()
    folding = form.lanes * sum(accumulator(fold).itemsize for fold in folds)
    free = max(0, memory - _OWN - folding)
    left = max(0, length - free // place_bytes(program))
    own = -(-left // (form.lanes * form.pack)) * form.pack
    return own if own <= sure_elements(form) else form.kept


class TotalsText(PersistentText):
    """Writes the kernel: of each total it has one more array, of a row for each block.

    Elements are read and stored past the caches nearest to the items, which are for the
    columns.
    """

    more = ()
    slots, slot = "1", "0"

    def __init__(self, program: Program, form: Form) -> None:
        super().__init__(program, form)
        self.is_shared = form.own < form.kept
        self.room = " GA_DECL_SHARED_PARAM(ga_uint4, room)" if self.is_shared else ""
        self.word = "_PACK" if form.pack > 1 else ""
        self.before = f" - {form.own} * lanes" if form.own else ""

    def begin(self) -> list[str]:
        """The parameters, and the values that are the same for all rows."""
        lines = super().begin()
        for number, total in enumerate(self.program.totals):
            dtype = str(accumulator(total))
            lines.append(self.pointer(f"t{number}", dtype, False, False))
        return lines

    def read_text(self, value: int, text: str) -> str:
        """The text that reads what `text` names of an input."""
        return f"GA_READ{self.word}_ONCE({text})" if self.passes(value) else text

    def write_text(self, value: int, place: str, text: str) -> str:
        """The statement that stores an output's element or pack."""
        if self.passes(value):
            return f"GA_WRITE{self.word}_ONCE({place}, {text});"
        return super().write_text(value, place, text)

    def passes(self, value: int) -> bool:
        """Whether elements go past the nearest cache; no word does that for a half."""
        dtype = np.dtype(self.program.dtypes[value])
        is_word = self.form.pack > 1 or work_dtype(dtype) == dtype
        return self.kinds[value] == CELL and is_word

    def runs(self, folds: Sequence[int], nothing: Mapping[int, str]) -> list[str]:
        """The elements' part of a walk; then what is kept is nothing known.

        Or else the compiler keeps what it has computed of it, too, for the next walk.
        """
        kept = kept_values(self.program)[self.levels[folds[0]] - 1] | self.early
        letters = {v: FORGETFUL.get(self.ctype(v)) for v in sorted(kept)}
        body = [f'  GA_FORGET("{c}", k{v}[j]);' for v, c in letters.items() if c]
        head = "for (ga_int j = 0; j < $kept; j++) {"
        lines = super().runs(folds, nothing)
        return [*lines, "#pragma unroll", head, *body, "}"] if body else lines

    def tree(self, folds: Sequence[int]) -> list[str]:
        """What folds the accumulators of a row's items."""
        return row_tree(folds, self.last == 1)

    def tiles(self) -> list[str]:
        """The head of the loop over a block's rows: all blocks walk side by side."""
        return [
            "ga_ssize tile = (ga_ssize)GID_0;",
            "for (; tile * slots < rows; tile += (ga_ssize)GDIM_0) {",
        ]

    def opening(self) -> list[str]:
        """What a block does before its rows: totals of none."""
        totals = [(t, accumulator(t)) for t in self.program.totals]
        nothing = [identity_text(SCALARS[t.monoid], dtype) for t, dtype in totals]
        body = [self.total(n, f"@ = {text};") for n, text in enumerate(nothing)]
        own = [
            f"{work_ctype(dtype)} h{number}[{self.form.own}];"
            for number, (_, dtype) in enumerate(totals)
            if self.form.own
        ]
        return [*own, *self.shared_totals(), *self.each(body)]

    def shared_totals(self) -> list[str]:
        """The arrays in local memory, one after the other: the widest come first."""
        if not self.is_shared:
            return []
        lines, before = ["GA_DECL_SHARED_BODY(ga_uint4, room)"], 0
        dtypes = [accumulator(total) for total in self.program.totals]
        for number, dtype in sorted(enumerate(dtypes), key=lambda x: -x[1].itemsize):
            kind = f"LOCAL_MEM_ARG {dtype_to_ctype(dtype)} *"
            lines.append(
                f"{kind}s{number} = ({kind})((LOCAL_MEM_ARG ga_ubyte *)room + "
                f"(ga_size)(length{self.before}) * {before});"
            )
            before += dtype.itemsize
        return lines

    def closing(self) -> list[str]:
        """What a block does after its rows: it stores its totals."""
        at = "(ga_size)GID_0 * length + p"
        count = len(self.program.totals)
        return self.each([self.total(n, f"t{n}_[{at}] = @;") for n in range(count)])

    def total(self, number: int, text: str, shared: str = "") -> str:
        """A statement about a total at ``p``, ``@`` in its text: nobody else has it.

        Of an item's elements, ``j``, it tells the first from the others when compiled.
        """
        held = text.replace("@", f"h{number}[j]")
        shared = text.replace("@", shared or f"s{number}[p{self.before}]")
        if not self.form.own:
            return shared
        return (
            f"if (j < {self.form.own}) {held} else {shared}" if self.is_shared else held
        )

    def summed(self) -> list[str]:
        """The statements that fold the element at ``p`` over all rows."""
        lines = []
        for number, total in enumerate(self.program.totals):
            text, dtype = self.operand(total.operand)
            text = convert(text, np.dtype(dtype), accumulator(total))
            shared = f"z{number}.e[i]" if self.has_packs(total) else ""
            text = f"@ = $name_total{number}(@, {text});"
            lines.append(self.total(number, text, shared))
        return lines

    def has_packs(self, total: Total) -> bool:
        """Whether totals in local memory are read and stored with their neighbours."""
        is_packed = self.is_shared and self.form.pack > 1
        return is_packed and accumulator(total).itemsize in PACKETS

    def stored_packs(self) -> tuple[list[str], list[str]]:
        """What stands before the elements of outputs' packs, and after them."""
        before, after = super().stored_packs()
        guard = f"if (first >= {self.form.own}) " if self.form.own else ""
        for number, total in enumerate(self.program.totals):
            if self.has_packs(total):
                packet = PACKETS[accumulator(total).itemsize]
                place = f"*(LOCAL_MEM_ARG {packet} *)(s{number} + at{self.before})"
                before.append(self.pack_of(f"z{number}", str(accumulator(total))))
                before.append(f"{guard}z{number}.v = {place};")
                after.append(f"{guard}{place} = z{number}.v;")
        return before, after

    def helpers(self) -> list[str]:
        """The device functions of folds and totals."""
        texts = []
        for number, total in enumerate(self.program.totals):
            text, support = fold_function(
                f"$name_total{number}", total.monoid, accumulator(total)
            )
            texts.append(text)
            if support:
                self.supports[support] = None
        return [*super().helpers(), *texts]


def blocks_for(
    program: Program, form: Form, rows: int, length: int, context: Context
) -> int:
    """How many blocks fold totals: as many as run at once; 0 where rows are too few."""
    size = local_bytes(program, form, length) + _OWN
    resident = min(blocks_at_once(program, form), context.local_memory // size)
    blocks = max(max(1, resident) * context.processors, -(-rows // MOST_ROWS))
    return blocks if rows >= FEWEST_ROWS * blocks else 0


def fold_rows(
    totals: Sequence[Total], arrays: Sequence[Array], context: Context
) -> list[Array]:
    """The totals of arrays of what is folded, by the library's reductions."""
    found = []
    for bunch in bunches(totals, context):
        given, arrays = arrays[: len(bunch)], arrays[len(bunch) :]
        dtypes = tuple(str(each.dtype) for each in given)
        made = ffi.new("GpuArray[]", len(given))
        operands = ffi.new("void *[]", [each.struct for each in given])
        axes = (1 << (given[0].ndim - 1)) - 1
        kernel = total_kernel(bunch, dtypes, context)
        check(lib.GpuReduction_apply(kernel, made, operands, axes, 1))
        found += [taken(made + number, context) for number in range(len(given))]
    return found


def bunches(totals: Sequence[Total], context: Context) -> list[tuple[Total, ...]]:
    """Totals that are computed at once: on GPUs all, on processors one by one."""
    return [(total,) for total in totals] if context.is_cpu else [tuple(totals)]


def total_kernel(
    totals: tuple[Total, ...], dtypes: tuple[str, ...], context: Context
) -> Any:
    """The reduction of arrays of some dtypes, one for each total."""
    key = "row totals", totals, dtypes
    kernel = context._kernels.get(key)
    if kernel is None:
        kernel = context._kernels[key] = new_reduction(
            context,
            [Fold(t.monoid, 0, t.dtype, t.acc_dtype, of_none=True) for t in totals],
            [],
            [(f"v{number}", dtype) for number, dtype in enumerate(dtypes)],
            "",
            [
                (f"v{number}", dtype_to_typecode(dtype), lib.GE_READ)
                for number, dtype in enumerate(dtypes)
            ],
        )
    return kernel
