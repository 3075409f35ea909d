"""NumPy, which every other library's results are compared with."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np

from benchmarks.libraries.base import Plain, Prepared, eager
from benchmarks.rows import Row


class Half(np.ndarray[Any, Any]):
    """float16 whose products are float32's: NumPy's own have no fast way."""

    def __matmul__(self, other: Any) -> Any:
        a, b = self.view(np.ndarray), other.view(np.ndarray)
        return (a.astype("float32") @ b.astype("float32")).astype("float16")


def placed(array: Any) -> Any:
    """An array as it is, or one whose products are not for ever."""
    return array.view(Half) if array.dtype == np.float16 else array


RANDOM = np.random.default_rng(0)
NAMES = Plain(np, lambda n: RANDOM.random(n, "float32"))


def prepare(row: Row, variant: str, place: str) -> Prepared:
    """On the host."""
    prepared = eager(row, NAMES, placed, lambda: None, np.asarray, False)
    prepared.peak = lambda: peak(row)
    return prepared


def peak(row: Row) -> float:
    """Bytes of operands and temporaries; Python's own allocator counts NumPy's."""
    tracemalloc.start()
    prepared = eager(row, NAMES, placed, lambda: None, np.asarray, False)
    prepared.call()
    tracemalloc.reset_peak()
    prepared.call()
    return tracemalloc.get_traced_memory()[1]
