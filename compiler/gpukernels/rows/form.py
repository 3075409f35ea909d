"""The form of a row kernel: which of a program's texts it is."""

from __future__ import annotations

from dataclasses import dataclass

from gpuarray.compiler.ops.fused.rowwise import CELL, COLUMN, ROW, TABLE

BLOCK = 256
"""Work items of a block, a power of 2."""

NUMBERS = {TABLE: "mrc", CELL: "rc", ROW: "r", COLUMN: "c"}
"""More arguments of an input, by kind: number of rows, row stride, column stride."""


@dataclass(frozen=True, slots=True)
class Form:
    """The choices that, with the program, determine a kernel's text.

    ``sources`` has for each input ``"array"``, ``"int"``, or the text of a constant.
    With ``is_unit`` neighbours in a row are neighbours in memory; if it ``is_kept``
    items keep a row's elements, in packs of ``pack`` neighbours. Outputs may lie where
    the inputs ``taken`` do, and nowhere else. Of one walk alone an item reads ``ahead``
    elements before it folds them.
    """

    sources: tuple[str, ...]
    taken: frozenset[int]
    is_unit: bool = False
    is_kept: bool = False
    ahead: int = 0
    pack: int = 1
