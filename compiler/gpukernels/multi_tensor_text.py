"""The kernel of operations that run together: C text.

Each part has blocks of its own. Where a part has a total, a block first computes that
of its elements: on a GPU items side by side walk along the rows and then fold what they
have, in an order that shapes alone settle; a processor's item keeps a strip of columns,
or of what narrow rows are one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._kernels.codegen import (
    convert,
    digest,
    identity_text,
    loaded,
    rounded,
    self_contained,
)
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.folds import accumulator, fold_function, lane_function
from gpuarray.compiler.gpukernels.source import Operand, expression, statements
from gpuarray.compiler.ops.fused.multi_tensor import Part, Total
from gpuarray.dtypes import INPUT, OFFSET, dtype_to_ctype, work_ctype
from gpuarray.scalars import SCALARS

THREADS = 256
MOST_THREADS = 512
"""Items of a block where a product is computed: each waits for a few rows only."""
WARP = 32
PER_BLOCK = 1024
PER_BLOCK_CPU = 16384
AHEAD = 4
"""Rows that an item of a GPU reads before it folds them."""
STRIP = 16
"""Elements that an item of a processor folds side by side."""

Sources = tuple[str, ...]
"""Of a part's inputs: ``"array"``, ``"int"``, or the text of a constant."""
Forms = tuple[tuple[Part, Sources], ...]


def numbers_of(
    dtypes: Sequence[str], sources: Sources, name: str = "i"
) -> Iterator[tuple[str, Operand]]:
    """The inputs' kinds, and how a kernel names them."""
    for index, (source, dtype) in enumerate(zip(sources, dtypes, strict=True)):
        text = f"{name}{index}"
        if source == "int":
            text = convert(text, np.dtype("int64"), np.dtype(dtype))
            yield source, (text, dtype)
        else:
            yield source, (text if source == "array" else source, dtype)


def element_sources(part: Part, sources: Sources) -> Sources:
    """The sources of what a part computes its elements of; a total is an array."""
    _, rest = part.split(sources)
    return tuple(rest) if part.total is None else ("array", *rest)


def threads_for(forms: Forms, context: Context) -> int:
    """The items of a block: a power of 2."""
    if context.is_cpu:
        return 1
    totals = (part.total for part, _ in forms)
    is_wide = any(total is not None and total.is_product for total in totals)
    most = min(MOST_THREADS if is_wide else THREADS, context.max_threads)
    return 1 << (most.bit_length() - 1)


@lru_cache(maxsize=256)
def named_text(forms: Forms, threads: int, is_cpu: bool) -> tuple[str, str, list[Any]]:
    """The kernel's text, its name, and the types of its arguments."""
    name = f"multi_tensor_{digest(repr((forms, threads)).encode())}"
    writer = MultiTensorText(forms, name, is_cpu, threads)
    # Of a size that the text says, nobody has to wait for the compiler to know it.
    kernel = "KERNEL" if is_cpu else f"KERNEL_SIZED({threads}, 1)"
    for number, (part, sources) in enumerate(forms):
        writer.add(number, part, sources)
    lines = [
        *writer.supports,
        *writer.folds.values(),
        f"{kernel} void {writer.name}({', '.join(writer.parameters)}) {{",
        *(f"  {line}" for line in writer.block()),
        *(f"  {line}" for line in writer.body),
        "}",
    ]
    return self_contained("\n".join(lines)), writer.name, writer.types


def chosen(texts: Mapping[int, str]) -> str:
    """The text that goes with the part that a block is of, by the parts' numbers.

    >>> chosen({0: "a", 2: "b"})
    '(number == 0 ? a : b)'
    >>> chosen({0: "a", 2: "a"})
    'a'
    """
    *others, (_, last) = texts.items()
    if set(texts.values()) == {last}:
        return last
    return f"({''.join(f'number == {n} ? {text} : ' for n, text in others)}{last})"


class MultiTensorText:
    """Writes the parts of a kernel; it has state because they share its parameters.

    Of the part being written, ``before`` is computed once, ``mapped`` for each element
    ``q`` that a total is of, and ``each`` for each element ``p``. Parts that are
    ``alike``, or whose totals are, have one text, which chooses among their parameters:
    ``numbers`` has whose text it is. ``folds`` are device functions, ``shared`` what
    the ``threads`` items of a block of a GPU have in common, ``walks`` what each of
    them folds, before ``trees`` fold what they have.
    """

    def __init__(self, forms: Forms, name: str, is_cpu: bool, threads: int) -> None:
        self.name = name
        self.is_cpu = is_cpu
        self.threads = threads
        self.alike: dict[Any, list[int]] = {}
        for number, (part, sources) in enumerate(forms):
            self.alike.setdefault((part, sources), []).append(number)
            if part.total is not None:
                total = part.total, tuple(part.split(sources)[0])
                self.alike.setdefault(total, []).append(number)
        self.parameters: list[str] = []
        self.types: list[Any] = []
        self.supports: dict[str, None] = {}
        self.folds: dict[tuple[str, str], str] = {}
        self.shared: dict[str, str] = {}
        self.rows: dict[int, str] = {}
        self.per: dict[int, str] = {}
        self.walks: list[str] = []
        self.trees: dict[str, list[str]] = {}
        self.body: list[str] = []
        self.number = 0
        self.numbers: list[int] = []
        self.before: list[str] = []
        self.mapped: list[str] = []
        self.each: list[str] = []

    def add(self, number: int, part: Part, sources: Sources) -> None:
        """The blocks of one more part."""
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

    def walk(self, total: Total, sources: Sources) -> None:
        """What the items of a block of a GPU do for the totals of a part."""
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
        """Whether a block is of the parts whose text is written."""
        return " || ".join(f"number == {number}" for number in self.numbers)

    def block(self) -> list[str]:
        """What comes before the parts: which elements a block has, and of which part.

        Totals on a GPU, too, where a block folds one kind. So what all parts do alike
        is there once, and is compiled once.
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
        """The loops over a block's elements; ``fold`` computes their totals before.

        Of those that have totals a block of a GPU has no more than items.
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

    def number_of(self, name: str) -> None:
        """A parameter that is a count of elements, rows or blocks."""
        self.parameters.append(f"ga_int {name}")
        self.types.append(np.int32)

    # ---- totals ----

    def total(self, total: Total, sources: Sources) -> list[str]:
        """What computes the totals of elements ``first`` to ``last``, where rows are.

        Without them the library has computed the totals: then they are an input.
        """
        for index, dtype in enumerate(total.map.inputs):
            is_one = total.is_one[index]
            lines = self.before if is_one else self.mapped
            names = f"m{index}", f"y{index}", self.place(total, index)
            self.load(names, sources[index], dtype, lines)
        named = [each for _, each in numbers_of(total.map.inputs, sources, "m")]
        (mapped,) = total.map.output_dtypes
        code = statements(total.map, named, mapped)
        self.supports.update({code.support: None} if code.support else {})
        ((text, dtype),) = code.results
        acc = accumulator(total)
        call = self.fold(total.monoid, acc)
        value = convert(text, np.dtype(dtype), acc)
        lines = [*self.mapped, *code.text.splitlines()]
        if self.is_cpu:
            nothing = identity_text(SCALARS[total.monoid], acc)
            ctype = work_ctype(acc)
            return self.fold_strip(ctype, nothing, lines, call, value)
        walk = self.read_ahead(lines, f"{call}(a, {value})")
        return self.fold_block(total, walk, call)

    def place(self, total: Total, index: int) -> str:
        """Where the element of an input lies that goes with the one at ``q``."""
        if total.is_one[index]:
            return "0"
        if not total.is_product or not total.is_row[index]:
            return "q"
        return "q / n" if self.is_cpu else "row"

    def fold(self, monoid: str, acc: np.dtype[Any]) -> str:
        """The device function that folds two accumulators."""
        key = monoid, str(acc)
        name = f"{self.name}_fold{len(self.folds)}"
        if key in self.folds:
            name = f"{self.name}_fold{list(self.folds).index(key)}"
        text, support = fold_function(name, monoid, acc)
        if acc.kind != "c":
            text += f"\n{lane_function(f'{name}_of', acc)}"
        self.folds[key] = text
        self.supports.update({support: None} if support else {})
        return name

    def read_ahead(self, lines: list[str], both: str) -> list[str]:
        """The loop of an item along its rows, by steps of some rows.

        Beyond the last one is read again. So nothing is asked before it is read, and
        there is one wait for all of them.
        """
        return [
            f"for (ga_int next = down; next < rows; next += {AHEAD} * step) {{",
            "#pragma unroll",
            f"  for (int j = 0; j < {AHEAD}; j++) {{",
            "    const ga_int at = next + j * step, row = at < rows ? at : next;",
            "    const ga_int q = row * n + column;",
            *(f"    {line}" for line in lines),
            f"    a = at < rows ? {both} : a;",
            "  }",
            "}",
        ]

    def fold_block(self, total: Total, loop: list[str], call: str) -> list[str]:
        """As many items as columns go side by side, the others take other rows."""
        acc = accumulator(total)
        kind = list(self.folds).index((total.monoid, str(acc)))
        ctype = work_ctype(acc)
        nothing = identity_text(SCALARS[total.monoid], acc)
        shared = f"shared_{ctype}"
        self.shared[ctype] = f"LOCAL_MEM {ctype} {shared}[{self.threads}];"
        tree = fold_shared(shared, call, self.threads, acc.kind != "c")
        own = f"a{kind}"
        self.shared[own] = f"{ctype} {own} = {nothing};"
        self.trees[call] = [
            f"if (kind == {kind}) {{",
            f"  {ctype} a = {own};",
            *(f"  {line}" for line in tree),
            "}",
        ]
        return [
            f"kind = {kind};",
            "if (column < n) {",
            f"  {ctype} a = {nothing};",
            *(f"  {line}" for line in loop),
            f"  {own} = a;",
            "}",
        ]

    def fold_strip(
        self, ctype: str, nothing: str, lines: list[str], call: str, value: str
    ) -> list[str]:
        """Neighbours in a row, or in several rows that are narrow, side by side."""

        def folded(held: str, width: str) -> list[str]:
            return [
                f"  for (ga_int j = 0; j < {width}; j++) {{",
                "    const ga_int q = at + j;",
                *(f"    {line}" for line in lines),
                f"    {held}[j] = {call}({held}[j], {value});",
                "  }",
            ]

        # Of whole strips the compiler keeps `b` in registers, which has no other index.
        return [
            f"{ctype} a[{STRIP}];",
            "if (rows >= 0) {",
            f"  const ga_int size = rows * n, narrow = n < {STRIP};",
            f"  const ga_int width = narrow ? {STRIP} / n * n : last - first;",
            "  const ga_int step = narrow ? width : n;",
            "  ga_int at = first;",
            f"  {ctype} b[{STRIP}];",
            "#pragma unroll",
            f"  for (ga_int j = 0; j < {STRIP}; j++) b[j] = {nothing};",
            f"  if (width == {STRIP})",
            f"  for (; size - at >= {STRIP}; at += step) {{",
            "#pragma unroll",
            *(f"  {line}" for line in folded("b", str(STRIP))),
            "  }",
            "#pragma unroll",
            f"  for (ga_int j = 0; j < {STRIP}; j++) a[j] = b[j];",
            "  for (; at < size; at += step) {",
            "    const ga_int left = size - at < width ? size - at : width;",
            *(f"  {line}" for line in folded("a", "left")),
            "  }",
            "  for (ga_int j = width - 1; j >= n; j--)",
            f"    a[j - n] = {call}(a[j - n], a[j]);",
            "}",
        ]

    def folded(self, total: Total) -> None:
        """The total of the element at ``p``."""
        dtype = np.dtype(total.dtype)
        acc = accumulator(total)
        made = "a[p - first]"
        if not self.is_cpu:
            made = f"shared_{work_ctype(acc)}[item]"
        made = convert(made, acc, dtype)
        self.pointer("x0", total.dtype)
        given = loaded("x0[p]", dtype)
        self.each.append(f"const {work_ctype(dtype)} i0 = rows < 0 ? {given} : {made};")

    # ---- elements ----

    def elements(self, part: Part, sources: Sources) -> None:
        """The statements of a part's elements."""
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
        for at, step in enumerate(scalar.steps):
            text, support = expression(step, [values[i] for i in step.operands])
            self.supports.update({support: None} if support else {})
            ones.append(all(ones[i] for i in step.operands))
            line = f"const {work_ctype(np.dtype(step.dtype))} t{at} = {text};"
            (self.before if ones[-1] else self.each).append(line)
            values.append((f"t{at}", step.dtype))
        for index, value in enumerate(scalar.outputs):
            text, dtype = values[value]
            self.each.append(f"o{index}[p] = {rounded(text, np.dtype(dtype))};")

    def pointer(self, name: str, dtype: str, kind: Any = INPUT) -> None:
        """A parameter that is an array, as a pointer to its elements."""
        ctype = dtype_to_ctype(np.dtype(dtype))
        own = f"{name}_{self.number}"
        self.parameters += [f"GLOBAL_MEM {ctype} *{own}", f"ga_size {own}_off"]
        self.types += [kind, OFFSET]
        begin, offset = self.given(name), self.given(name, "_off")
        self.before.append(
            f"GLOBAL_MEM {ctype} *{name} = (GLOBAL_MEM {ctype} *)"
            f"((GLOBAL_MEM char *){begin} + {offset});"
        )

    def given(self, name: str, more: str = "") -> str:
        """What a part is given by the name, of the parts whose text is written."""
        return chosen({number: f"{name}_{number}{more}" for number in self.numbers})

    def load(
        self, names: tuple[str, str, str], source: str, dtype: str, lines: list[str]
    ) -> None:
        """The value of an input, among ``lines`` where it is of an array.

        ``names`` are the value's, the array's, and that of the element's place.
        """
        name, array, place = names
        if source == "int":
            self.parameters.append(f"ga_long {name}_{self.number}")
            self.types.append(np.int64)
            self.before.append(f"const ga_long {name} = {self.given(name)};")
        elif source == "array":
            kind = np.dtype(dtype)
            self.pointer(array, dtype)
            text = loaded(f"{array}[{place}]", kind)
            lines.append(f"const {work_ctype(kind)} {name} = {text};")


def fold_shared(shared: str, call: str, threads: int, has_lanes: bool) -> list[str]:
    """What folds the ``a`` of a block's items, of those that are ``lanes`` apart.

    Where warps can, each first folds its own, as far as there are so few columns; what
    is left to one warp needs no others to wait for. An item reads what it has made.
    """
    whole = [f"{shared}[item] = a;", f"ga_uint s = {threads // 2};"]
    if has_lanes and threads >= WARP:
        lane, other = f"item % {WARP}", f"{call}_of(a, (item ^ s) % {WARP})"
        whole = [
            "#ifdef GA_HAS_SHUFFLES",
            "ga_uint s;",
            f"for (s = {WARP // 2}; s >= lanes; s /= 2) a = {call}(a, {other});",
            f"const ga_uint few = lanes < {WARP} ? lanes : {WARP};",
            f"if ({lane} < few) {shared}[item / {WARP} * few + {lane}] = a;",
            f"s = {threads // WARP} * few / 2;",
            "#else",
            *whole,
            "#endif",
        ]
    both = f"{call}({shared}[item], {shared}[item + s])"
    return [
        *whole,
        "local_barrier();",
        "#pragma unroll 1",
        "for (; s >= lanes; s /= 2) {",
        f"  if (item < s) {shared}[item] = {both};",
        "#ifdef GA_HAS_SHUFFLES",
        f"  if (s <= {WARP}) ga_warp_barrier(); else",
        "#endif",
        "  local_barrier();",
        "}",
    ]
