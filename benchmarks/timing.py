"""How the benchmarks time: the best of several rounds, each closed by one wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

ROUNDS = 5
LONGEST = 0.15  # seconds of a round, as far as the number of calls decides it

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sizes:
    """How large the problems are; the small ones are for processors."""

    vector: int  # elements of the streaming vectors
    square: int  # rows and columns of the matrix that is summed
    product: int  # rows and columns of the matrices that are multiplied
    calls: int  # calls of a short operation in one round


SIZES = {
    "large": Sizes(vector=2**28, square=16384, product=8192, calls=2000),
    "small": Sizes(vector=10_000_000, square=3000, product=1024, calls=300),
}


def seconds(
    call: Callable[[], Any], wait: Callable[[], Any], calls: int, rounds: int = ROUNDS
) -> float:
    """Seconds a call: the best round of ``calls`` and one wait, after a warm-up.

    Fewer calls where they would make a round too long.
    """
    for _ in range(2):
        call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    once = time.perf_counter() - start
    calls = max(1, min(calls, int(LONGEST / max(once, 1e-9))))
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def microseconds(call: Callable[[], Any], wait: Callable[[], Any], calls: int) -> float:
    """Microseconds a call."""
    return seconds(call, wait, calls) * 1e6


def gigabytes(call: Callable[[], Any], wait: Callable[[], Any], moved: int) -> float:
    """GB/s of a call that reads and writes ``moved`` bytes."""
    return moved / seconds(call, wait, 10) / 1e9


def logistic_data(rows: int, columns: int) -> tuple[Array, Array, Array]:
    """Inputs, labels and initial weights of the logistic regression, float32."""
    rng = np.random.RandomState(0)
    x = rng.randn(rows, columns).astype("float32")
    y = rng.randint(0, 2, rows).astype("float32")
    return x, y, rng.randn(columns).astype("float32")


LOGISTIC = {"logistic step 400x784": (400, 784), "logistic step 1437x64": (1437, 64)}


def numpy_step(x: Any, y: Any, w: Any, b: Any, np: Any) -> tuple[Any, Any, Any, Any]:
    """One step of the regression in a NumPy-like library, the gradient by hand."""
    p = 1 / (1 + np.exp(-(x @ w) - b))
    xent = -y * np.log(p) - (1 - y) * np.log(1 - p)
    z = (p - y) / len(y)
    return w - 0.1 * (x.T @ z + 0.02 * w), b - 0.1 * z.sum(), p > 0.5, xent
