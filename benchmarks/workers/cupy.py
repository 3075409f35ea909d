"""The benchmark rows of CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy as cp

from benchmarks.timing import (
    LOGISTIC,
    Sizes,
    gigabytes,
    logistic_data,
    microseconds,
    numpy_step,
)


def rows(sizes: Sizes, context: str) -> dict[str, float]:
    """All rows, on the first CUDA device."""
    wait = cp.cuda.Device().synchronize
    n, side, calls = sizes.vector, sizes.square, sizes.calls
    a, b = (cp.ones(n, "float32") for _ in range(2))
    m = cp.ones((side, side), "float32")
    ten = cp.arange(10, dtype="float32")
    x = cp.random.rand(230400, dtype="float32")
    result = {
        "copy": gigabytes(a.copy, wait, 8 * n),
        "a + b": gigabytes(lambda: a + b, wait, 12 * n),
        "a + a, 10 floats": microseconds(lambda: ten + ten, wait, calls),
        "exp to host": microseconds(lambda: cp.exp(x).get(), wait, calls // 4),
        "exp on device": microseconds(lambda: cp.exp(x), wait, calls),
    }
    for axis in (None, 0, 1):
        result[f"sum axis {axis}"] = gigabytes(
            lambda axis=axis: m.sum(axis=axis), wait, 4 * side * side
        )
    for name, shape in LOGISTIC.items():
        result[name] = logistic(*shape, wait, calls)
    return result


def logistic(rows: int, columns: int, wait: Callable[[], Any], calls: int) -> float:
    """Microseconds of a training step."""
    x, y, w = (cp.asarray(v) for v in logistic_data(rows, columns))
    state = [w, cp.zeros((), "float32")]

    def step() -> None:
        state[0], state[1], _, _ = numpy_step(x, y, *state, cp)

    return microseconds(step, wait, calls)
