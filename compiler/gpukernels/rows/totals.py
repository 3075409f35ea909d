"""The kernel of a row program that folds elements over all rows too: C text.

A block walks along many rows, and holds in local memory what it has folded so far of
each place in a row; where that is too small, items have those of some of their places
in registers. When its rows are done it stores that, for a reduction of what all
blocks have stored. So what is folded is never stored, nor read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from gpuarray._kernels.codegen import convert, identity_text
from gpuarray.compiler.gpukernels.folds import accumulator, fold_function, row_tree
from gpuarray.compiler.gpukernels.rows.form import Form
from gpuarray.compiler.gpukernels.rows.persistent import (
    FORGETFUL,
    PACKETS,
    PersistentText,
    kept_values,
)
from gpuarray.compiler.ops.fused.rowwise import CELL, Program, Total
from gpuarray.dtypes import dtype_to_ctype, work_ctype, work_dtype
from gpuarray.scalars import SCALARS

BEFORE = " - $own * lanes"
"""Behind a place in a row: its place in local memory."""


class TotalsText(PersistentText):
    """Writes the kernel: of each total it has one more array, of a row for each block.

    Of an item's `$own` first elements the totals are in its registers.

    Elements are read and stored past the caches nearest to the items, which are for the
    columns.
    """

    more = ()
    slots, slot = "1", "0"
    room = "\n#if $own < $kept\n  GA_DECL_SHARED_PARAM(ga_uint4, room)\n#endif\n"

    def __init__(self, program: Program, form: Form) -> None:
        super().__init__(program, form)
        self.word = "_PACK" if form.pack > 1 else ""

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
            f"{work_ctype(dtype)} h{number}[$own > 0 ? $own : 1];"
            for number, (_, dtype) in enumerate(totals)
        ]
        return [*own, *self.shared_totals(), *self.each(body)]

    def shared_totals(self) -> list[str]:
        """The arrays in local memory, one after the other: the widest come first."""
        lines, before = ["GA_DECL_SHARED_BODY(ga_uint4, room)"], 0
        none = []
        dtypes = [accumulator(total) for total in self.program.totals]
        for number, dtype in sorted(enumerate(dtypes), key=lambda x: -x[1].itemsize):
            kind = f"LOCAL_MEM_ARG {dtype_to_ctype(dtype)} *"
            lines.append(
                f"{kind}s{number} = ({kind})((LOCAL_MEM_ARG ga_ubyte *)room + "
                f"(ga_size)(length{BEFORE}) * {before});"
            )
            none.append(f"{kind}s{number} = 0;")
            before += dtype.itemsize
        return ["#if $own < $kept", *lines, "#else", *none, "#endif"]

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
        shared = text.replace("@", shared or f"s{number}[p{BEFORE}]")
        return f"if (j < $own) {held} else {shared}"

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
        return self.form.pack > 1 and accumulator(total).itemsize in PACKETS

    def stored_packs(self) -> tuple[list[str], list[str]]:
        """What stands before the elements of outputs' packs, and after them."""
        before, after = super().stored_packs()
        guard = "if (first >= $own) "
        for number, total in enumerate(self.program.totals):
            if self.has_packs(total):
                packet = PACKETS[accumulator(total).itemsize]
                place = f"*(LOCAL_MEM_ARG {packet} *)(s{number} + at{BEFORE})"
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
