"""The kernel of a row program with persistent rows, kept in registers: C text.

A row that is too long for the caches is read once: an element that a walk has read or
computed, and a later walk needs, stays with its work item. Where the rows of all arrays
are contiguous, an item has vectors of neighbours, each read at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from gpuarray._kernels.codegen import rounded
from gpuarray.compiler.gpukernels.rows.form import Form
from gpuarray.compiler.gpukernels.rows.text import RowText
from gpuarray.compiler.gpukernels.rows.values import reached
from gpuarray.compiler.ops.fused.row_steps import CELL, COLUMN, NUMBER
from gpuarray.compiler.ops.fused.rowwise import Program
from gpuarray.dtypes import dtype_to_ctype, work_ctype, work_dtype

TURN = 4
"""Elements that an item reads before it stores them, and those of a vector."""
PACKETS = {1: "ga_uint", 2: "ga_uint2", 4: "ga_uint4"}
"""The type of a vector's bytes, by the bytes of an element."""
FORGETFUL = {"ga_float": "f", "ga_double": "d"}
"""The letters of registers, by the types that `GA_FORGET` takes."""


def has_packets(program: Program) -> bool:
    """True if the vectors of all elements that are read and stored have a type."""
    stored = [value for value in program.outputs if program.kinds[value] == CELL]
    read = [
        value
        for value, (_, kind) in enumerate(program.inputs)
        if kind in (CELL, COLUMN)
    ]
    dtypes = (np.dtype(program.dtypes[value]) for value in (*read, *stored))
    return all(dtype.itemsize in PACKETS for dtype in dtypes)


@lru_cache(maxsize=256)
def kept_values(program: Program) -> tuple[frozenset[int], ...]:
    """The values of elements that are kept after each walk but the last one.

    They are those that later walks begin from, or the inputs behind them if that is
    less.

    >>> from gpuarray.compiler.ops.fused.rowwise import CompositeStep, Fold
    >>> steps = (
    ...     Fold("maximum", 0, "float32", "float32"),
    ...     CompositeStep("sub", (0, 1), "float32"),
    ...     CompositeStep("exp", (2,), "float32"),
    ...     Fold("add", 3, "float32", "float32"),
    ...     CompositeStep("true_div", (3, 4), "float32"),
    ... )
    >>> softmax = Program((("float32", CELL),), steps, (5,))
    >>> [sorted(kept) for kept in kept_values(softmax)]
    [[0], [3]]
    """
    kinds, count = program.kinds, len(program.inputs)
    numbers = {v for v, (_, kind) in enumerate(program.inputs) if kind == NUMBER}
    inputs = {*range(count)} - numbers
    inputs |= {v for v, s in enumerate(program.steps, count) if s.is_element}
    listed = walks(program)
    known: frozenset[int] = frozenset()
    lengths = []
    for number, operands in enumerate(listed[:-1]):
        computed, _ = reached(program, operands, known)
        computed -= numbers  # cheaper than a register
        available = known | {value for value in computed if kinds[value] == CELL}
        loaded = {value for value in available if value in inputs or value in known}
        later = [value for rest in listed[number + 1 :] for value in rest]
        choices = [reached(program, later, source)[1] for source in (available, loaded)]
        known = frozenset(min(choices, key=lambda values: _words(program, values)))
        lengths.append(known)
    return tuple(lengths)


@lru_cache(maxsize=256)
def early_inputs(program: Program) -> frozenset[int]:
    """Return inputs that the first walk prefetches for later ones: one wait for all.

    They do not raise the highest register use.
    """
    walk_values, count = kept_values(program), len(program.inputs)
    early: frozenset[int] = frozenset()
    for later in walk_values[1:]:
        candidates = early | {value for value in later if value < count}
        if all(
            _words(program, k | candidates) <= most_words(program) for k in walk_values
        ):
            early = candidates
    return early


def walks(program: Program) -> list[list[int]]:
    """Return the operands that each walk folds, and at the end those stored."""
    levels = program.levels
    folds = [(levels[value], fold.operand) for value, fold in program.folds.items()]
    last = max((level for level, _ in folds), default=0)
    operands = [[v for at, v in folds if at == level] for level in range(1, last + 1)]
    return [*operands, [*program.wanted]]


def _words(program: Program, values: Iterable[int]) -> int:
    """Return the words of 4 bytes that some values of an element take."""
    dtypes = (work_dtype(np.dtype(program.dtypes[value])) for value in values)
    return sum(-(-dtype.itemsize // 4) for dtype in dtypes)


def most_words(program: Program) -> int:
    """Return the most words of an element kept between two walks."""
    return max(
        (_words(program, walk_values) for walk_values in kept_values(program)),
        default=0,
    )


class PersistentText(RowText):
    """Writes the kernel, whose placeholders the library replaces by numbers.

    They are `$kept`, elements of an item, of which `$sure` are in every row, `$lanes`,
    items of a row, and `$blocks`, blocks that share a processor (c/reduce/rows.h).
    """

    block = "$lanes"
    kernel = "KERNEL_SIZED($lanes, $blocks)"
    lanes = "$lanes"
    apart = ""  # with it the compiler keeps elements that are to be read again

    def __init__(self, program: Program, form: Form) -> None:
        super().__init__(program, form)
        self.early = early_inputs(program)

    def runs(self, folds: Sequence[int], nothing: Mapping[int, str]) -> list[str]:
        """Return the elements' part of a walk."""
        level = self.levels[folds[0]]
        walk_values = kept_values(self.program)
        before = walk_values[level - 2] | self.early if level > 1 else frozenset()
        fresh = sorted((walk_values[level - 1] | self.early) - before)
        read = [value for value in fresh if value < self.count]
        lines = [f"{self.ctype(v)} k{v}[$kept];" for v in fresh]
        if read:
            lines += self.each([self.kept_input(value) for value in read], read)
        lines += [f"{self.atype(f)} b{f} = {nothing[f]};" for f in folds]
        computed = [value for value in fresh if value >= self.count]
        known = before.union(read)
        body = self.added(folds, known)
        body += [f"k{v}[j] = v{v};" for v in computed]
        operands = [self.fold(fold).operand for fold in folds]
        lines += self.each(body, self.read_for(operands, known))
        return [*lines, *(f"a{f} = $name_fold{f}(a{f}, b{f});" for f in folds)]

    def read_for(self, wanted: Iterable[int], known: Collection[int]) -> list[int]:
        """Return the inputs read for values of the element at ``p``."""
        computed, _ = reached(self.program, wanted, known)
        return sorted(v for v in computed if v < self.count and self.is_read(v))

    def stores(self, body: list[str]) -> list[str]:
        """Return the stores of elements: a few are read before they are stored.

        The compiler moves no read before a store that may alias it.
        """
        read = self.read_for(self.program.wanted, self.known_at_last())
        if self.form.pack > 1:
            return self.each(body, read, is_last=True)
        if not read:
            return self.each(body)
        assignments = {
            self.loaded(v, self.element(v)): f"const {self.ctype(v)} v{v} = t{v}[i];"
            for v in read
        }
        lines = [f"{self.ctype(v)} t{v}[{TURN}];" for v in read]
        texts = {v: self.working(v, self.element(v)) for v in read}
        lines += self.turn([f"t{v}[i] = {texts[v]};" for v in read])
        lines += self.turn([assignments.get(line, line) for line in body])
        return [
            "#pragma unroll",
            f"for (ga_int first = 0; first < $kept; first += {TURN}) {{",
            *(f"  {line}" for line in lines),
            "}",
        ]

    def turn(self, body: list[str]) -> list[str]:
        """Return a loop over a few of an item's elements: `TURN` from ``first`` on."""
        return [
            "#pragma unroll",
            f"for (ga_int i = 0; i < {TURN}; i++) {{",
            "  const ga_int j = first + i, p = lane + j * lanes;",
            "  if (j < $sure || (j < $kept && p < length)) {",
            *(f"    {line}" for line in body),
            "  }",
            "}",
        ]

    def cells(self, wanted: Iterable[int], known: Collection[int] = ()) -> list[str]:
        """Return the statements for the wanted values of the element at ``p``."""
        values = list(wanted)
        _, read = reached(self.program, values, known)
        return [
            *(f"const {self.ctype(v)} v{v} = k{v}[j];" for v in sorted(read)),
            *super().cells(values, known),
        ]

    def known_at_last(self) -> Collection[int]:
        """Return the values kept after the walks."""
        return kept_values(self.program)[-1]

    def each(
        self, body: list[str], read: Sequence[int] = (), is_last: bool = False
    ) -> list[str]:
        """Return a loop over an item's elements, ``j``, which lie at ``p``.

        Vectors of the inputs ``read`` are read before their elements, and outputs, if
        it ``is_last``, are stored after them.
        """
        pack = self.form.pack
        if pack == 1:
            return [
                "#pragma unroll",
                "for (ga_int j = 0; j < $kept; j++) {",
                "  const ga_int p = lane + j * lanes;",
                "  if (j < $sure || p < length) {",
                *(f"    {line}" for line in body),
                "  }",
                "}",
            ]
        unpacked = {
            self.loaded(v, self.element(v)): self.loaded(v, f"w{v}.e[i]") for v in read
        }
        before, after = self.stored_packs() if is_last else ([], [])
        return [
            "#pragma unroll",
            f"for (ga_int first = 0; first < $kept; first += {pack}) {{",
            f"  const ga_int at = first * lanes + lane * {pack};",
            f"  if (first + {pack} <= $sure || at < length) {{",
            *(f"    {self.read_pack(v)}" for v in read),
            *(f"    {line}" for line in before),
            "#pragma unroll",
            f"    for (ga_int i = 0; i < {pack}; i++) {{",
            "      const ga_int j = first + i, p = at + i;",
            *(f"      {unpacked.get(line, line)}" for line in body),
            "    }",
            *(f"    {line}" for line in after),
            "  }",
            "}",
        ]

    # ---- vectors ----

    def pack_of(self, name: str, dtype: str) -> str:
        """Return a vector's declaration: elements ``e``, all bytes ``v``."""
        ctype = dtype_to_ctype(np.dtype(dtype))
        packet = PACKETS[np.dtype(dtype).itemsize]
        return f"union {{ {packet} v; {ctype} e[{self.form.pack}]; }} {name};"

    def packet(self, value: int, place: str, constant: str = "") -> str:
        """Return the text of a vector's bytes in an array."""
        packet = PACKETS[np.dtype(self.program.dtypes[value]).itemsize]
        return f"*(GLOBAL_MEM {constant}{packet} *)({place})"

    def read_pack(self, value: int) -> str:
        """Return the statements that read an input's vector."""
        text = self.read_text(value, self.packet(value, f"x{value} + at", "const "))
        pack = self.pack_of(f"w{value}", self.program.dtypes[value])
        return f"{pack} w{value}.v = {text};"

    def read_text(self, value: int, text: str) -> str:
        """Return the text that reads the lvalue `text` of an input."""
        return text

    def write_text(self, value: int, place: str, text: str) -> str:
        """Return the statement that stores an output's element or vector."""
        return f"{place} = {text};"

    def stored_packs(self) -> tuple[list[str], list[str]]:
        """Return the statements before and after the elements of outputs' vectors."""
        before, after = [], []
        for number, value in enumerate(self.program.outputs):
            if self.kinds[value] == CELL:
                before.append(self.pack_of(f"u{number}", self.program.dtypes[value]))
                place = self.packet(value, f"o{number}_ + row * length + at")
                after.append(self.write_text(value, place, f"u{number}.v"))
        return before, after

    def stored_cell(self, number: int) -> str:
        """Return the store of an element at ``p``, maybe in its vector."""
        value = self.program.outputs[number]
        text, dtype = self.operand(value)
        text = rounded(text, np.dtype(dtype))
        if self.form.pack > 1:
            return f"u{number}.e[i] = {text};"
        return self.write_text(value, f"o{number}_[row * length + p]", text)

    def kept_input(self, value: int) -> str:
        """Return the statement that reads an input's element."""
        if self.form.pack > 1:
            text = f"w{value}.e[i]"
        else:
            text = self.read_text(value, self.element(value))
        return f"k{value}[j] = {self.working(value, text)};"

    def ctype(self, value: int) -> str:
        """Return the type that a value is computed in."""
        return work_ctype(np.dtype(self.program.dtypes[value]))

    def atype(self, fold: int) -> str:
        """Return the type of a fold's accumulator."""
        return work_ctype(self.accumulator(fold))
