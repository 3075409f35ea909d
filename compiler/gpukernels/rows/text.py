"""The kernel of a row program: C text.

A row is walked once for each level of its folds, and once more to store the elements;
only the first walk reads memory, as long as a row stays in the caches. `lanes` items
walk along a row side by side, and a block has `slots` rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from gpuarray._kernels.codegen import convert, identity_text, rounded
from gpuarray.compiler.gpukernels.folds import (
    accumulator,
    fold_function,
    lane_function,
    row_tree,
)
from gpuarray.compiler.gpukernels.rows.form import BLOCK, NUMBERS, Form
from gpuarray.compiler.gpukernels.rows.values import ValueText, reached
from gpuarray.compiler.ops.fused.row_steps import (
    CELL,
    COLUMN,
    LENGTH,
    NUMBER,
    ONE,
    ROW,
    TABLE,
    Fold,
)
from gpuarray.compiler.ops.fused.rowwise import Program
from gpuarray.dtypes import dtype_to_ctype, work_ctype
from gpuarray.scalars import SCALARS

RUN = 64
"""Elements of a partial accumulator, so that long sums stay exact."""


class RowText(ValueText):
    """Writes the kernel: ``cached`` are the element values that a walk has read."""

    block = str(BLOCK)
    kernel = "KERNEL"
    apart = "GA_APART "
    lanes = "(ga_int)LDIM_0"
    slots, slot = "(ga_ssize)LDIM_1", "(ga_ssize)LID_1"
    more: tuple[str, ...] = ("ga_ssize per_group",)
    room = ""

    def __init__(self, program: Program, form: Form) -> None:
        super().__init__(program, form)
        self.given = program.kinds[: self.count]
        self.reports = program.reports
        self.folds = list(program.folds)
        self.last = max((self.levels[fold] for fold in self.folds), default=0)
        self.parameters: list[str] = []
        self.cached: set[int] = set()

    def fold(self, value: int) -> Fold:
        """Return the fold of a value."""
        return self.program.folds[value]

    def accumulator(self, value: int) -> np.dtype[np.generic]:
        """Return the accumulator dtype of a fold."""
        return accumulator(self.fold(value))

    def pointer(self, name: str, dtype: str, is_input: bool, is_apart: bool) -> str:
        """Add an array parameter; return the statement that makes it a pointer.

        An array that ``is_apart`` aliases no other, so it may be read before earlier
        stores.
        """
        ctype = dtype_to_ctype(np.dtype(dtype))
        kind = f"GLOBAL_MEM {'const ' if is_input else ''}{ctype} *"
        apart = self.apart if is_apart else ""
        self.parameters += [f"{kind}{apart}{name}_all", f"ga_size {name}_off"]
        const = "const " if is_input else ""
        return (
            f"{kind}{name}_ = ({kind})((GLOBAL_MEM {const}char *){name}_all + "
            f"{name}_off);"
        )

    def begin(self) -> list[str]:
        """Add the parameters; return the values that are the same for all rows."""
        lines = []
        for number, value in enumerate(self.program.outputs):
            dtype = self.program.dtypes[value]
            lines.append(self.pointer(f"o{number}", dtype, False, not self.form.taken))
        for value, (dtype, own) in enumerate(self.program.inputs):
            source, kind = self.form.sources[value], self.given[value]
            if own in (LENGTH, NUMBER):
                continue
            if source == "int":
                self.parameters.append(f"ga_long i{value}")
                text = convert(f"i{value}", np.dtype("int64"), np.dtype(dtype))
                lines.append(f"const {work_ctype(np.dtype(dtype))} v{value} = {text};")
            elif source == "array":
                is_apart = value not in self.form.taken
                lines.append(self.pointer(f"x{value}", dtype, True, is_apart))
                if kind == ONE:
                    lines.append(self.loaded(value, f"*x{value}_"))
                self.parameters += [
                    f"ga_ssize {name}{value}" for name in NUMBERS.get(kind, "")
                ]
            else:
                self.texts[value] = (source, dtype)
        if self.reports:
            self.parameters += ["GLOBAL_MEM ga_uint *word", "ga_size word_off"]
            self.parameters.append("ga_uint site")
        self.parameters += ["ga_ssize rows", "ga_int length", *self.more]
        return lines

    def row(self) -> list[str]:
        """Return the pointers to the row's inputs, and its own values."""
        lines = []
        for value, (dtype, own) in enumerate(self.program.inputs):
            kind = self.given[value]
            is_array = self.form.sources[value] == "array" and own != NUMBER
            if not is_array or kind in (ONE, LENGTH, TABLE):
                continue
            ctype = dtype_to_ctype(np.dtype(dtype))
            at = f"x{value}_"
            if kind != COLUMN:
                at = f"(GLOBAL_MEM const char *){at} + row * r{value}"
            lines.append(
                f"GLOBAL_MEM const {ctype} *x{value} = (GLOBAL_MEM const {ctype} *)"
                f"({at});"
            )
            if kind == ROW:
                lines.append(self.loaded(value, f"*x{value}") + self.inverse(value))
        return [*lines, *self.row_steps(0)]

    def row_steps(self, level: int) -> list[str]:
        """Return the row's steps that are known after `level` walks."""
        return [
            self.step(value)
            for value, step in enumerate(self.program.steps, self.count)
            if self.kinds[value] == ROW
            and not step.is_fold
            and self.levels[value] == level
        ]

    def functions(self, value: int) -> str:
        """Return the device functions of a fold."""
        dtype = self.accumulator(value)
        name = f"$name_fold{value}"
        text, support = fold_function(name, self.fold(value).monoid, dtype)
        if support:
            self.supports[support] = None
        return f"{text}\n{lane_function(f'$name_of{value}', dtype)}"

    def helpers(self) -> list[str]:
        """Return the device functions of all folds."""
        return [self.functions(fold) for fold in self.folds]

    def walk(self, level: int) -> list[str]:
        """Return one walk along the row, items side by side: the folds of a level."""
        folds = [fold for fold in self.folds if self.levels[fold] == level]
        types = {fold: work_ctype(self.accumulator(fold)) for fold in folds}
        nothing = {
            fold: identity_text(SCALARS[self.fold(fold).monoid], self.accumulator(fold))
            for fold in folds
        }
        lines = [f"{types[fold]} a{fold} = {nothing[fold]};" for fold in folds]
        lines += self.runs(folds, nothing)
        lines += self.tree(folds)
        for fold in folds:
            dtype = np.dtype(self.fold(fold).dtype)
            text = convert(f"a{fold}", self.accumulator(fold), dtype)
            lines.append(self.assigned(fold, text))
        return [*lines, *self.row_steps(level)]

    def runs(self, folds: Sequence[int], nothing: Mapping[int, str]) -> list[str]:
        """Return the elements' part of a walk: `b` of each run is added to `a`."""
        types = {fold: work_ctype(self.accumulator(fold)) for fold in folds}
        if self.form.ahead:
            return self.read_ahead(folds, nothing)
        lines = ["for (ga_int p = lane; p < length;) {"]
        lines.append(f"  ga_int stop = length - p > {RUN} * lanes ? p + {RUN} * lanes")
        lines.append("                             : length;")
        lines += [f"  {types[fold]} b{fold} = {nothing[fold]};" for fold in folds]
        operands = [self.fold(fold).operand for fold in folds]
        lines += [self.unroll(operands), "  for (; p < stop; p += lanes) {"]
        lines += [f"    {line}" for line in self.added(folds)]
        lines.append("  }")
        lines += [f"  a{f} = $name_fold{f}(a{f}, b{f});" for f in folds]
        return [*lines, "}"]

    def read_ahead(self, folds: Sequence[int], nothing: Mapping[int, str]) -> list[str]:
        """Return the same with elements prefetched; a row's end is read again.

        So no read is conditional, and there is one wait for all of them.
        """
        ahead = self.form.ahead
        folded_lines = [
            f"b{f} = at < length ? {self.with_element(f)} : b{f};" for f in folds
        ]
        body = self.cells(self.fold(fold).operand for fold in folds)
        return [
            "#pragma unroll 1",
            f"for (ga_int next = lane; next < length; next += {ahead} * lanes) {{",
            *(
                f"  {work_ctype(self.accumulator(f))} b{f} = {nothing[f]};"
                for f in folds
            ),
            "#pragma unroll",
            f"  for (int j = 0; j < {ahead}; j++) {{",
            "    const ga_int at = next + j * lanes, p = at < length ? at : next;",
            *(f"    {line}" for line in (*body, *folded_lines)),
            "  }",
            *(f"  a{f} = $name_fold{f}(a{f}, b{f});" for f in folds),
            "}",
        ]

    def with_element(self, fold: int) -> str:
        """Return a run with one more element."""
        text, dtype = self.operand(self.fold(fold).operand)
        text = convert(text, np.dtype(dtype), self.accumulator(fold))
        return f"$name_fold{fold}(b{fold}, {text})"

    def added(self, folds: Sequence[int], known: Collection[int] = ()) -> list[str]:
        """Return the statements that add the element at ``p`` to runs."""
        lines = self.cells((self.fold(fold).operand for fold in folds), known)
        return [*lines, *(f"b{fold} = {self.with_element(fold)};" for fold in folds)]

    def stored(self, number: int, at: str) -> str:
        """Return the statement that stores an output."""
        value = self.program.outputs[number]
        text, dtype = self.operand(value)
        return f"o{number}_[{at}] = {rounded(text, np.dtype(dtype))};"

    def stored_cell(self, number: int) -> str:
        """Return the statement that stores an output's element at ``p``."""
        return self.stored(number, "row * length + p")

    def finish(self) -> list[str]:
        """Return the stores of the row's outputs."""
        outputs = self.program.outputs
        cells = [i for i, value in enumerate(outputs) if self.kinds[value] == CELL]
        lines = [
            f"if (lane == 0 && mine) {self.stored(number, 'row')}"
            for number in range(len(outputs))
            if number not in cells
        ]
        if self.program.wanted:
            body = self.cells(self.program.wanted, self.known_at_last())
            body += [self.stored_cell(number) for number in cells]
            body += self.summed()
            lines += ["if (mine) {", *self.stores(body), "}"]
        return lines

    def summed(self) -> list[str]:
        """Return the statements that fold the element at ``p`` over all rows."""
        return []

    def known_at_last(self) -> Collection[int]:
        """Return the values of elements that are not computed again to be stored."""
        return ()

    def stores(self, body: list[str]) -> list[str]:
        """Return the stores of elements.

        No read moves before a store that may alias it: then one element is in flight,
        however much the loop is unrolled.
        """
        head = "for (ga_int p = lane; p < length; p += lanes) {"
        unroll = self.unroll(self.program.wanted)
        if self.form.taken:
            unroll = "#pragma unroll 1"
        return [unroll, head, *(f"  {line}" for line in body), "}"]

    def unroll(self, wanted: Iterable[int]) -> str:
        """Return the unrolling of a walk: how many elements it has in flight.

        They are fewer where an earlier walk has brought them to the caches: each copy
        of the statements takes the compiler as long as the first.
        """
        computed, _ = reached(self.program, wanted, ())
        fresh = {value for value in computed if self.is_read(value)} - self.cached
        self.cached |= fresh
        return f"#pragma unroll {4 if fresh else 2}"

    def is_read(self, value: int) -> bool:
        """True if an element's value is read from an array."""
        if value < self.count:
            return value not in self.texts and not self.is_number(value)
        return self.program.steps[value - self.count].is_element

    def tree(self, folds: Sequence[int]) -> list[str]:
        """Return the tree that folds the accumulators of a row's items."""
        return row_tree(folds)

    def tiles(self) -> list[str]:
        """The head of the loop over the tiles of a block, of `slots` rows each."""
        return [
            "ga_ssize tile = (ga_ssize)GID_0 * per_group;",
            "const ga_ssize last = tile + per_group;",
            "for (; tile < last && tile * slots < rows; tile++) {",
        ]

    def opening(self) -> list[str]:
        """Return the statements of a block before its rows."""
        return []

    def closing(self) -> list[str]:
        """Return the statements of a block after its rows."""
        return []

    def text(self) -> str:
        """Return the kernel, `$name`, with placeholders for its form's numbers.

        Its arguments: each output and its offset; for each input the array, its offset,
        a table's length, and its strides in bytes, or the integer; the word, offset and
        site of index errors; rows, length, and the tiles of a group.
        """
        begin = self.begin()
        shared = [
            f"  LOCAL_MEM {work_ctype(self.accumulator(f))} shared{f}[{self.block}];"
            for f in self.folds
        ]
        body = self.row()
        for level in range(1, self.last + 1):
            body += self.walk(level)
        body += self.finish()
        functions = self.helpers()
        opening, closing = self.opening(), self.closing()
        places = [
            *shared,
            f"  const ga_int lane = (ga_int)LID_0, lanes = {self.lanes};",
            f"  const ga_ssize slots = {self.slots}, slot = {self.slot};",
            "  const ga_uint item = (ga_uint)(slot * lanes + lane);",
        ]
        lines = [
            *self.supports,
            *functions,
            f"{self.kernel} void $name({', '.join(self.parameters)}{self.room}) {{",
            "  KERNEL_BEGIN;",
            *places,
            *(f"  {line}" for line in [*begin, *opening]),
            *(f"  {line}" for line in self.tiles()),
            "    const ga_ssize asked = tile * slots + slot;",
            "    const int mine = asked < rows;",
            "    const ga_ssize row = mine ? asked : rows - 1;",
            *(f"    {line}" for line in body),
            "  }",
            *(f"  {line}" for line in closing),
            "}",
        ]
        return "\n".join(lines)
