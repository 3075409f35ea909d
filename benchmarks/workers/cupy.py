"""The benchmark rows of CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy as cp

from benchmarks import arrays
from benchmarks.timing import (
    LOGISTIC,
    Sizes,
    logistic_data,
    microseconds,
    numpy_step,
)


def rows(sizes: Sizes, context: str) -> dict[str, float]:
    """All rows, on the first CUDA device."""
    wait = cp.cuda.Device().synchronize
    calls = sizes.calls
    ten = cp.arange(10, dtype="float32")
    x = cp.random.rand(230400, dtype="float32")
    result = {
        **arrays.rows(library(wait), sizes),
        "a + a, 10 floats": microseconds(lambda: ten + ten, wait, calls),
        "exp to host": microseconds(lambda: cp.exp(x).get(), wait, calls // 4),
        "exp on device": microseconds(lambda: cp.exp(x), wait, calls),
    }
    for name, shape in LOGISTIC.items():
        result[name] = logistic(*shape, wait, calls)
    return result


def library(wait: Callable[[], Any]) -> arrays.Library:
    """CuPy's spelling of the array rows."""
    return arrays.Library(
        wait=wait,
        ones=cp.ones,
        random=lambda shape: cp.random.rand(*shape, dtype="float32"),
        indices=cp.random.permutation,
        copy=lambda a: a.copy("C"),
        total=lambda a, axis: a.sum(axis=axis),
        argmax=lambda a, axis: a.argmax(axis=axis),
        cumsum=lambda a, axis: cp.cumsum(a, axis=axis),
        take=lambda a, order: cp.take(a, order, axis=0),
        sort=cp.sort,
        fused=cp.fuse(lambda a, b: a * a + b * b + 2 * a * b),
        uniform=lambda n: cp.random.random(n, dtype="float32"),
    )


def logistic(rows: int, columns: int, wait: Callable[[], Any], calls: int) -> float:
    """Microseconds of a training step."""
    x, y, w = (cp.asarray(v) for v in logistic_data(rows, columns))
    state = [w, cp.zeros((), "float32")]

    def step() -> None:
        state[0], state[1], _, _ = numpy_step(x, y, *state, cp)

    return microseconds(step, wait, calls)
