"""The form of a row kernel: the variant of a program's text."""

from __future__ import annotations

from dataclasses import dataclass

from gpuarray.compiler.ops.fused.row_steps import CELL, COLUMN, ROW, TABLE

BLOCK = 256
"""Work items of a block, a power of 2."""

NUMBERS = {TABLE: "mrc", CELL: "rc", ROW: "r", COLUMN: "c"}
"""More arguments of an input, by kind: number of rows, row stride, column stride."""


@dataclass(frozen=True, slots=True)
class Form:
    """The choices that, with the program, determine a kernel's text.

    ``sources`` has for each input ``"array"``, ``"int"``, or the text of a constant.
    With ``is_unit`` rows are contiguous; with ``is_kept`` they are persistent: items
    keep their elements, in vectors of ``pack``. Outputs may alias the inputs ``taken``
    only. ``ahead``: elements that each item prefetches before reducing; single-pass
    rows only.
    """

    sources: tuple[str, ...]
    taken: frozenset[int]
    is_unit: bool = False
    is_kept: bool = False
    ahead: int = 0
    pack: int = 1
