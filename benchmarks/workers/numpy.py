"""The benchmark rows of NumPy, on the host."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import (
    LOGISTIC,
    Sizes,
    gigabytes,
    logistic_data,
    microseconds,
    numpy_step,
)


def nothing() -> None:
    """NumPy has done its work when it returns."""


def rows(sizes: Sizes, context: str) -> dict[str, float]:
    """All rows; the vectors are at most 10 M floats."""
    n, side = min(sizes.vector, 10_000_000), min(sizes.square, 3000)
    a, b = np.ones(n, "float32"), np.ones(n, "float32")
    m = np.ones((side, side), "float32")
    ten = np.arange(10, dtype="float32")
    x = np.random.RandomState(22).rand(230400).astype("float32")
    result = {
        "copy": gigabytes(a.copy, nothing, 8 * n),
        "a + b": gigabytes(lambda: a + b, nothing, 12 * n),
        "a + a, 10 floats": microseconds(lambda: ten + ten, nothing, sizes.calls),
        "exp to host": microseconds(lambda: np.exp(x), nothing, sizes.calls // 4),
    }
    for axis in (None, 0, 1):
        result[f"sum axis {axis}"] = gigabytes(
            lambda axis=axis: m.sum(axis=axis), nothing, 4 * side * side
        )
    for name, shape in LOGISTIC.items():
        result[name] = logistic(*shape, sizes)
    return result


def logistic(rows: int, columns: int, sizes: Sizes) -> float:
    """Microseconds of a training step."""
    x, y, w = logistic_data(rows, columns)
    state = [w, np.float32(0)]

    def step() -> None:
        state[0], state[1], _, _ = numpy_step(x, y, *state, np)

    return microseconds(step, nothing, sizes.calls)
