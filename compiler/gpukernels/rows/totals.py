"""The kernel of a row program with totals over all rows: C text.

A block walks along many rows, and keeps its totals, one for each column, in local
memory; where that is too small, items keep those of some of their columns in registers.
After its rows it stores them, for a reduction over all blocks. So the folded elements
are never stored, nor read again.
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
from gpuarray.compiler.ops.fused.row_steps import CELL, Total
from gpuarray.compiler.ops.fused.rowwise import Program
from gpuarray.dtypes import dtype_to_ctype, work_ctype, work_dtype
from gpuarray.scalars import SCALARS

BEFORE = " - $own * lanes"
"""Added to a column: its index in local memory."""


class TotalsText(PersistentText):
    """Writes the kernel: each total is one more array, with a row for each block.

    The totals of an item's `$own` first elements are in its registers. Elements bypass
    the caches nearest to the items, which are for the columns.
    """

    more = ()
    slots, slot = "1", "0"
    room = "\n#if $own < $kept\n  GA_DECL_SHARED_PARAM(ga_uint4, room)\n#endif\n"

    def __init__(self, program: Program, form: Form) -> None:
        super().__init__(program, form)
        self.word = "_PACK" if form.pack > 1 else ""

    def begin(self) -> list[str]:
        """Add the parameters; return the values that are the same for all rows."""
        lines = super().begin()
        for number, total in enumerate(self.program.totals):
            dtype = str(accumulator(total))
            lines.append(self.pointer(f"t{number}", dtype, False, False))
        return lines

    def read_text(self, value: int, text: str) -> str:
        """Return the text that reads the lvalue `text` of an input."""
        return f"GA_READ{self.word}_ONCE({text})" if self.passes(value) else text

    def write_text(self, value: int, place: str, text: str) -> str:
        """Return the statement that stores an output's element or vector."""
        if self.passes(value):
            return f"GA_WRITE{self.word}_ONCE({place}, {text});"
        return super().write_text(value, place, text)

    def passes(self, value: int) -> bool:
        """True if elements bypass the nearest cache; halves cannot."""
        dtype = np.dtype(self.program.dtypes[value])
        is_word = self.form.pack > 1 or work_dtype(dtype) == dtype
        return self.kinds[value] == CELL and is_word

    def runs(self, folds: Sequence[int], nothing: Mapping[int, str]) -> list[str]:
        """Return a walk's part for elements; it hides kept values from the compiler.

        It would keep values that it computed of them, too, for the next walk.
        """
        walk_values = kept_values(self.program)[self.levels[folds[0]] - 1] | self.early
        letters = {v: FORGETFUL.get(self.ctype(v)) for v in sorted(walk_values)}
        body = [f'  GA_FORGET("{c}", k{v}[j]);' for v, c in letters.items() if c]
        head = "for (ga_int j = 0; j < $kept; j++) {"
        lines = super().runs(folds, nothing)
        return [*lines, "#pragma unroll", head, *body, "}"] if body else lines

    def tree(self, folds: Sequence[int]) -> list[str]:
        """Return the tree that folds the accumulators of a row's items."""
        return row_tree(folds, self.last == 1)

    def tiles(self) -> list[str]:
        """Return the loop over a block's rows: all blocks walk side by side."""
        return [
            "ga_ssize tile = (ga_ssize)GID_0;",
            "for (; tile * slots < rows; tile += (ga_ssize)GDIM_0) {",
        ]

    def opening(self) -> list[str]:
        """Return the totals' initial values."""
        totals = [(t, accumulator(t)) for t in self.program.totals]
        nothing = [identity_text(SCALARS[t.monoid], dtype) for t, dtype in totals]
        body = [self.total(n, f"@ = {text};") for n, text in enumerate(nothing)]
        own = [
            f"{work_ctype(dtype)} h{number}[$own > 0 ? $own : 1];"
            for number, (_, dtype) in enumerate(totals)
        ]
        return [*own, *self.shared_totals(), *self.each(body)]

    def shared_totals(self) -> list[str]:
        """Return the arrays in local memory, the widest first."""
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
        """Return the stores of a block's totals."""
        at = "(ga_size)GID_0 * length + p"
        count = len(self.program.totals)
        return self.each([self.total(n, f"t{n}_[{at}] = @;") for n in range(count)])

    def total(self, number: int, text: str, shared: str = "") -> str:
        """Return a statement about a total at ``p``, ``@`` in its text.

        The compiler knows for each element ``j`` of an item whether it is in a
        register.
        """
        in_registers = text.replace("@", f"h{number}[j]")
        shared = text.replace("@", shared or f"s{number}[p{BEFORE}]")
        return f"if (j < $own) {in_registers} else {shared}"

    def summed(self) -> list[str]:
        """Return the statements that fold the element at ``p`` over all rows."""
        lines = []
        for number, total in enumerate(self.program.totals):
            text, dtype = self.operand(total.operand)
            text = convert(text, np.dtype(dtype), accumulator(total))
            shared = f"z{number}.e[i]" if self.has_packs(total) else ""
            text = f"@ = $name_total{number}(@, {text});"
            lines.append(self.total(number, text, shared))
        return lines

    def has_packs(self, total: Total) -> bool:
        """True if totals in local memory are read and stored as vectors."""
        return self.form.pack > 1 and accumulator(total).itemsize in PACKETS

    def stored_packs(self) -> tuple[list[str], list[str]]:
        """Return the statements before and after the elements of outputs' vectors."""
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
        """Return the device functions of folds and totals."""
        texts = []
        for number, total in enumerate(self.program.totals):
            text, support = fold_function(
                f"$name_total{number}", total.monoid, accumulator(total)
            )
            texts.append(text)
            if support:
                self.supports[support] = None
        return [*super().helpers(), *texts]
