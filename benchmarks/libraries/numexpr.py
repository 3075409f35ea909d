"""numexpr, for the rows that are one expression."""

from __future__ import annotations

import os
from typing import Any

import numexpr
import numpy as np

from benchmarks.libraries.base import NotOffered, Prepared
from benchmarks.rows import Row


def prepare(row: Row, variant: str, place: str) -> Prepared:
    """On every core that the process may use."""
    if not row.text or row.measure != "call":
        raise NotOffered("no expression")
    numexpr.set_num_threads(len(os.sched_getaffinity(0)))
    operands = dict(zip("abc", row.data(), strict=False))
    kept: list[Any] = [None]

    def call() -> None:
        kept[0] = numexpr.evaluate(row.text, operands)

    return Prepared(
        call, lambda: None, lambda: [np.asarray(kept[0])], is_asynchronous=False
    )
