"""The benchmark rows of NumPy, on the host."""

from __future__ import annotations

import numpy as np

from benchmarks import arrays
from benchmarks.timing import (
    LOGISTIC,
    SIZES,
    Sizes,
    logistic_data,
    microseconds,
    numpy_step,
)


def nothing() -> None:
    """NumPy has done its work when it returns."""


RANDOM = np.random.default_rng(0)
LIBRARY = arrays.Library(
    wait=nothing,
    ones=np.ones,
    random=lambda shape: RANDOM.random(shape, "float32"),
    indices=RANDOM.permutation,
    copy=lambda a: a.copy("C"),
    total=lambda a, axis: a.sum(axis=axis),
    argmax=lambda a, axis: a.argmax(axis=axis),
    cumsum=lambda a, axis: a.cumsum(axis=axis),
    take=lambda a, order: np.take(a, order, axis=0),
    sort=np.sort,
    products=("float32",),
    uniform=lambda n: RANDOM.random(n, "float32"),
)


def rows(sizes: Sizes, context: str) -> dict[str, float]:
    """All rows; the sizes are at most the small ones."""
    sizes = SIZES["small"]
    ten = np.arange(10, dtype="float32")
    x = np.random.RandomState(22).rand(230400).astype("float32")
    result = {
        **arrays.rows(LIBRARY, sizes),
        "a + a, 10 floats": microseconds(lambda: ten + ten, nothing, sizes.calls),
        "exp to host": microseconds(lambda: np.exp(x), nothing, sizes.calls // 4),
    }
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
