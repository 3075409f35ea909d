"""The multi-tensor kernel: several elementwise operations in one launch, as C text.

Each part has blocks of its own. A block of a part with a total first computes that of
its elements: on a GPU neighbouring items walk along the rows and then combine their
accumulators, in an order that shapes alone determine; a processor's item keeps a strip
of columns, or of the elements of narrow rows in a sequence.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._kernels.codegen import digest, rounded, self_contained
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.multi_tensor.inputs import Sources, chosen, numbers_of
from gpuarray.compiler.gpukernels.multi_tensor.totals import STRIP, TotalText
from gpuarray.compiler.gpukernels.source import Operand, decisive, expression
from gpuarray.compiler.ops.fused.multi_tensor import MappedTotal, Part
from gpuarray.dtypes import work_ctype

THREADS = 256
MOST_THREADS = 512
"""Items of a block that computes a product: each waits for a few rows only."""
PER_BLOCK = 1024
PER_BLOCK_CPU = 16384

Forms = tuple[tuple[Part, Sources], ...]


def element_sources(part: Part, sources: Sources) -> Sources:
    """Return the sources of a part's elements; a total is an array."""
    _, rest = part.split(sources)
    return tuple(rest) if part.total is None else ("array", *rest)


def threads_for(forms: Forms, context: Context) -> int:
    """Return the number of items of a block: a power of 2."""
    if context.is_cpu:
        return 1
    totals = (part.total for part, _ in forms)
    is_wide = any(total is not None and total.is_product for total in totals)
    most = min(MOST_THREADS if is_wide else THREADS, context.max_threads)
    return 1 << (most.bit_length() - 1)


@lru_cache(maxsize=256)
def named_text(forms: Forms, threads: int, is_cpu: bool) -> tuple[str, str, list[Any]]:
    """Return the kernel's text, its name, and the types of its arguments."""
    name = f"multi_tensor_{digest(repr((forms, threads)).encode())}"
    writer = MultiTensorText(forms, name, is_cpu, threads)
    # With the size in the text, the compiler need not be asked for it.
    kernel = "KERNEL" if is_cpu else f"KERNEL_SIZED({threads}, 1)"
    for number, (part, sources) in enumerate(forms):
        writer.add(number, part, sources)
    lines = [
        *writer.supports,
        *writer.folds.values(),
        f"{kernel} void {writer.name}({', '.join(writer.parameters)}) {{",
        "  KERNEL_BEGIN;",
        *(f"  {line}" for line in writer.block()),
        *(f"  {line}" for line in writer.body),
        "}",
    ]
    return self_contained("\n".join(lines)), writer.name, writer.types


class MultiTensorText(TotalText):
    """Writes the parts of a kernel, and their totals.

    The first of ``alike`` parts, or of parts with equal totals, has the text. ``rows``
    and ``per`` are the rows folded and the elements of a block by part, ``walks`` the
    folds of a GPU's items before ``trees`` combine them.
    """

    def __init__(self, forms: Forms, name: str, is_cpu: bool, threads: int) -> None:
        super().__init__(name, is_cpu, threads)
        self.alike: dict[Any, list[int]] = {}
        for number, (part, sources) in enumerate(forms):
            self.alike.setdefault((part, sources), []).append(number)
            if part.total is not None:
                total = part.total, tuple(part.split(sources)[0])
                self.alike.setdefault(total, []).append(number)
        self.rows: dict[int, str] = {}
        self.per: dict[int, str] = {}
        self.walks: list[str] = []
        self.body: list[str] = []

    def add(self, number: int, part: Part, sources: Sources) -> None:
        """Add the blocks of a part."""
        self.number, self.numbers = number, self.alike[part, sources]
        self.before, self.mapped, self.each = [], [], []
        for index, dtype in enumerate(part.scalar.output_dtypes):
            self.pointer(f"o{index}", dtype, Array)
        self.rows[number] = "-1"
        self.per[number] = str(PER_BLOCK_CPU if self.is_cpu else PER_BLOCK)
        fold: list[str] = []
        if part.total is not None:
            folded = tuple(part.split(sources)[0])
            if self.is_cpu:
                fold = self.total(part.total, folded)
            else:
                self.walk(part.total, folded)
            self.rows[number], self.per[number] = f"rows{number}", f"per{number}"
            self.number_of(self.rows[number])
            self.number_of(self.per[number])
        self.elements(part, element_sources(part, sources))
        self.number_of(f"n{number}")
        self.number_of(f"end{number}")
        if number == self.numbers[0]:
            self.body += [
                f"if ({self.mine()}) {{",
                *(f"  {line}" for line in self.before),
                *(f"  {line}" for line in self.runs(fold, part.total is not None)),
                "}",
            ]

    def walk(self, total: MappedTotal, sources: Sources) -> None:
        """Add the folds of a GPU block's items for the totals of a part."""
        outer, numbers = self.before, self.numbers
        self.before, self.numbers = [], self.alike[total, sources]
        fold = self.total(total, sources)
        if self.number == self.numbers[0]:
            self.walks += [
                f"if (rows >= 0 && ({self.mine()})) {{",
                *(f"  {line}" for line in self.before),
                *(f"  {line}" for line in fold),
                "}",
            ]
        self.before, self.numbers = outer, numbers

    def mine(self) -> str:
        """Return the condition that a block is of the parts of this text."""
        return " || ".join(f"number == {number}" for number in self.numbers)

    def block(self) -> list[str]:
        """Return the statements before the parts: the block's part and its elements.

        They include the totals on a GPU, where a block folds one kind, so that code
        common to all parts is compiled once.
        """
        ends = {number: f"end{number}" for number in self.rows}
        begins = {number: ends.get(number - 1, "0") for number in ends}
        *others, last = ends
        number = "".join(f"block < {ends[n]} ? {n} : " for n in others)
        sizes = chosen({number: f"n{number}" for number in ends})
        lines = [
            f"const ga_int block = (ga_int)GID_0, number = {number}{last};",
            f"const ga_int n = {sizes}, per = {chosen(self.per)};",
            f"const ga_int from = (block - {chosen(begins)}) * per;",
            "const ga_int to = n - from < per ? n : from + per;",
        ]
        if set(self.rows.values()) != {"-1"}:
            lines.append(f"const ga_int rows = {chosen(self.rows)};")
        if not self.trees:
            return lines
        return [
            *self.shared.values(),
            *lines,
            "const ga_uint item = (ga_uint)LID_0, lanes = (ga_uint)per;",
            f"const ga_uint step = {self.threads} / lanes;",
            f"const ga_uint down = item * step / {self.threads};",
            "const ga_int column = from + (ga_int)(item & (lanes - 1));",
            "ga_int kind = -1;",
            *self.walks,
            *(line for tree in self.trees.values() for line in tree),
        ]

    def runs(self, fold: list[str], has_total: bool) -> list[str]:
        """Return the loops over a block's elements, totals first.

        A GPU's block has no more elements with totals than items.
        """
        if has_total and not self.is_cpu:
            return [
                "const ga_int p = from + (ga_int)item;",
                "if (p < to) {",
                *(f"  {line}" for line in self.each),
                "}",
            ]
        elements = [
            "#pragma unroll 4",
            "for (ga_int p = first + (ga_int)LID_0; p < last; p += (ga_int)LDIM_0) {",
            *(f"  {line}" for line in self.each),
            "}",
        ]
        if not fold:
            return ["const ga_int first = from, last = to;", *elements]
        strip = f"n < {STRIP} ? n : {STRIP}"
        return [
            f"const ga_int span = rows < 0 ? to - from : {strip};",
            "for (ga_int first = from; first < to; first += span) {",
            "  const ga_int last = to - first < span ? to : first + span;",
            *(f"  {line}" for line in (*fold, *elements)),
            "}",
        ]

    def elements(self, part: Part, sources: Sources) -> None:
        """Add the statements of a part's elements."""
        scalar = part.scalar
        values: list[Operand] = []
        for index, (source, operand) in enumerate(numbers_of(scalar.inputs, sources)):
            dtype, is_one = operand[1], part.is_one[index]
            if part.total is not None and index == 0:
                self.folded(part.total)
            else:
                names = f"i{index}", f"x{index}", "0" if is_one else "p"
                self.load(names, source, dtype, self.before if is_one else self.each)
            values.append(operand)
        ones = list(part.is_one)
        rounded_early = decisive(scalar.steps, [dtype for _, dtype in values])
        for at, step in enumerate(scalar.steps):
            given = [values[i] for i in step.operands]
            text, support = expression(step, given, len(values) in rounded_early)
            self.supports.update({support: None} if support else {})
            ones.append(all(ones[i] for i in step.operands))
            line = f"const {work_ctype(np.dtype(step.dtype))} t{at} = {text};"
            (self.before if ones[-1] else self.each).append(line)
            values.append((f"t{at}", step.dtype))
        for index, value in enumerate(scalar.outputs):
            text, dtype = values[value]
            self.each.append(f"o{index}[p] = {rounded(text, np.dtype(dtype))};")
