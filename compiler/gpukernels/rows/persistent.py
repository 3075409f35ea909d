"""The kernel of a row program whose rows are kept in registers: C text.

A row that is too long for the caches is read once: what a walk has read or computed of
an element, and a later walk needs, stays with the work item that it belongs to. Where
the rows of all arrays lie so, an item has packs of neighbours, each read at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from gpuarray._kernels.codegen import rounded
from gpuarray.compiler.gpukernels.rows.form import Form
from gpuarray.compiler.gpukernels.rows.text import RowText
from gpuarray.compiler.gpukernels.rows.values import reached
from gpuarray.compiler.ops.fused.rowwise import CELL, COLUMN, Program
from gpuarray.dtypes import dtype_to_ctype, work_ctype, work_dtype

TURN = 4
"""Elements that an item reads before it stores them, and those of a pack."""
PACKETS = {1: "ga_uint", 2: "ga_uint2", 4: "ga_uint4"}
"""The type of a pack's bytes, by the bytes of an element."""
FORGETFUL = {"ga_float": "f", "ga_double": "d"}
"""The letters of registers, by the types that `GA_FORGET` takes."""


def has_packets(program: Program) -> bool:
    """Whether packs of all that is read and stored of each element have a type."""
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
    inputs = {*range(count)}
    inputs |= {v for v, s in enumerate(program.steps, count) if s.is_element}
    listed = walks(program)
    known: frozenset[int] = frozenset()
    found = []
    for number, wanted in enumerate(listed[:-1]):
        made, _ = reached(program, wanted, known)
        there = known | {value for value in made if kinds[value] == CELL}
        given = {value for value in there if value in inputs or value in known}
        later = [value for rest in listed[number + 1 :] for value in rest]
        choices = [reached(program, later, at)[1] for at in (there, given)]
        known = frozenset(min(choices, key=lambda values: _words(program, values)))
        found.append(known)
    return tuple(found)


@lru_cache(maxsize=256)
def early_inputs(program: Program) -> frozenset[int]:
    """The inputs that the first walk reads for later ones: one wait is for all.

    They take no more registers than are taken at the worst moment anyway.
    """
    kept, count = kept_values(program), len(program.inputs)
    found: frozenset[int] = frozenset()
    for later in kept[1:]:
        wanted = found | {value for value in later if value < count}
        if all(_words(program, k | wanted) <= most_words(program) for k in kept):
            found = wanted
    return found


def walks(program: Program) -> list[list[int]]:
    """What each walk folds, and in the end what is stored of each element."""
    levels = program.levels
    folds = [(levels[value], fold.operand) for value, fold in program.folds.items()]
    last = max((level for level, _ in folds), default=0)
    found = [[v for at, v in folds if at == level] for level in range(1, last + 1)]
    return [*found, [*program.wanted]]


def _words(program: Program, values: Iterable[int]) -> int:
    """How many words of 4 bytes an element of some values takes."""
    dtypes = (work_dtype(np.dtype(program.dtypes[value])) for value in values)
    return sum(-(-dtype.itemsize // 4) for dtype in dtypes)


def most_words(program: Program) -> int:
    """The words that are kept of an element between two walks at most."""
    return max((_words(program, kept) for kept in kept_values(program)), default=0)


class PersistentText(RowText):
    """Writes the kernel, in which the library puts numbers for some words.

    They are `$kept`, elements of an item, of which `$sure` are in every row, `$lanes`,
    items of a row, and `$blocks`, blocks that share a processor (c/reduce/rows.h).
    """

    block = "$lanes"
    kernel = "KERNEL_SIZED($lanes, $blocks)"
    lanes = "$lanes"
    restrict = ""  # or else the compiler keeps what is to be read again

    def __init__(self, program: Program, form: Form) -> None:
        super().__init__(program, form)
        self.early = early_inputs(program)

    def runs(self, folds: Sequence[int], nothing: Mapping[int, str]) -> list[str]:
        """The elements' part of a walk."""
        level = self.levels[folds[0]]
        kept = kept_values(self.program)
        before = kept[level - 2] | self.early if level > 1 else frozenset()
        fresh = sorted((kept[level - 1] | self.early) - before)
        read = [value for value in fresh if value < self.count]
        lines = [f"{self.ctype(v)} k{v}[$kept];" for v in fresh]
        if read:
            lines += self.each([self.kept_input(value) for value in read], read)
        lines += [f"{self.atype(f)} b{f} = {nothing[f]};" for f in folds]
        made = [value for value in fresh if value >= self.count]
        known = before.union(read)
        body = self.added(folds, known)
        body += [f"k{v}[j] = v{v};" for v in made]
        operands = [self.fold(fold).operand for fold in folds]
        lines += self.each(body, self.read_for(operands, known))
        return [*lines, *(f"a{f} = $name_fold{f}(a{f}, b{f});" for f in folds)]

    def read_for(self, wanted: Iterable[int], known: Collection[int]) -> list[int]:
        """The inputs whose elements are read for values of the element at ``p``."""
        made, _ = reached(self.program, wanted, known)
        return sorted(v for v in made if v < self.count and v not in self.texts)

    def stores(self, body: list[str]) -> list[str]:
        """What is stored of each element: a few are read before they are stored.

        The compiler does not read before what is stored sooner, which may be the same.
        """
        read = self.read_for(self.program.wanted, self.known_at_last())
        if self.form.pack > 1:
            return self.each(body, read, is_last=True)
        if not read:
            return self.each(body)
        given = {
            self.loaded(v, self.element(v)): f"const {self.ctype(v)} v{v} = t{v}[i];"
            for v in read
        }
        lines = [f"{self.ctype(v)} t{v}[{TURN}];" for v in read]
        texts = {v: self.working(v, self.element(v)) for v in read}
        lines += self.turn([f"t{v}[i] = {texts[v]};" for v in read])
        lines += self.turn([given.get(line, line) for line in body])
        return [
            "#pragma unroll",
            f"for (ga_int first = 0; first < $kept; first += {TURN}) {{",
            *(f"  {line}" for line in lines),
            "}",
        ]

    def turn(self, body: list[str]) -> list[str]:
        """A loop over a few of an item's elements: `TURN` from ``first`` on."""
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
        """The statements for the wanted values of the element at ``p``."""
        asked = list(wanted)
        _, read = reached(self.program, asked, known)
        return [
            *(f"const {self.ctype(v)} v{v} = k{v}[j];" for v in sorted(read)),
            *super().cells(asked, known),
        ]

    def known_at_last(self) -> Collection[int]:
        """What is kept when the walks are done."""
        return kept_values(self.program)[-1]

    def each(
        self, body: list[str], read: Sequence[int] = (), is_last: bool = False
    ) -> list[str]:
        """A loop over an item's elements, ``j``, which lie at ``p``.

        Of packs the inputs ``read`` come before their elements, and what is stored, if
        it ``is_last``, goes after them.
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
        given = {
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
            *(f"      {given.get(line, line)}" for line in body),
            "    }",
            *(f"    {line}" for line in after),
            "  }",
            "}",
        ]

    # ---- packs ----

    def pack_of(self, name: str, dtype: str) -> str:
        """The declaration of a pack: the elements ``e``, and all their bytes ``v``."""
        ctype = dtype_to_ctype(np.dtype(dtype))
        packet = PACKETS[np.dtype(dtype).itemsize]
        return f"union {{ {packet} v; {ctype} e[{self.form.pack}]; }} {name};"

    def packet(self, value: int, place: str, constant: str = "") -> str:
        """The text of a pack's bytes where an array has them."""
        packet = PACKETS[np.dtype(self.program.dtypes[value]).itemsize]
        return f"*(GLOBAL_MEM {constant}{packet} *)({place})"

    def read_pack(self, value: int) -> str:
        """The statements that read an input's pack."""
        text = self.read_text(value, self.packet(value, f"x{value} + at", "const "))
        pack = self.pack_of(f"w{value}", self.program.dtypes[value])
        return f"{pack} w{value}.v = {text};"

    def read_text(self, value: int, text: str) -> str:
        """The text that reads what `text` names of an input."""
        return text

    def write_text(self, value: int, place: str, text: str) -> str:
        """The statement that stores an output's element or pack."""
        return f"{place} = {text};"

    def stored_packs(self) -> tuple[list[str], list[str]]:
        """What stands before the elements of outputs' packs, and after them."""
        before, after = [], []
        for number, value in enumerate(self.program.outputs):
            if self.kinds[value] == CELL:
                before.append(self.pack_of(f"u{number}", self.program.dtypes[value]))
                place = self.packet(value, f"o{number}_ + row * length + at")
                after.append(self.write_text(value, place, f"u{number}.v"))
        return before, after

    def stored_cell(self, number: int) -> str:
        """The statement that stores an element at ``p``, or puts it in its pack."""
        value = self.program.outputs[number]
        text, dtype = self.operand(value)
        text = rounded(text, np.dtype(dtype))
        if self.form.pack > 1:
            return f"u{number}.e[i] = {text};"
        return self.write_text(value, f"o{number}_[row * length + p]", text)

    def kept_input(self, value: int) -> str:
        """The statement that reads an input's element."""
        if self.form.pack > 1:
            text = f"w{value}.e[i]"
        else:
            text = self.read_text(value, self.element(value))
        return f"k{value}[j] = {self.working(value, text)};"

    def ctype(self, value: int) -> str:
        """The type that a value is computed in."""
        return work_ctype(np.dtype(self.program.dtypes[value]))

    def atype(self, fold: int) -> str:
        """The type that a fold is computed in."""
        return work_ctype(self.accumulator(fold))
