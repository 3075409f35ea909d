"""The benchmark rows of JAX; the training step is jitted."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import (
    LOGISTIC,
    Sizes,
    gigabytes,
    logistic_data,
    microseconds,
    numpy_step,
)


class Latest:
    """Remembers the latest result, which is what JAX can wait for."""

    def __init__(self) -> None:
        self.value: Any = None

    def timed(self, function: Callable[..., Any], *args: Any) -> Callable[[], None]:
        """A call of ``function`` that keeps its result."""

        def call() -> None:
            self.value = function(*args)

        return call

    def wait(self) -> None:
        """Wait for the latest result."""
        jax.block_until_ready(self.value)


def rows(sizes: Sizes, context: str) -> dict[str, float]:
    """All rows, on JAX's default device."""
    jax.config.update("jax_default_matmul_precision", "highest")
    latest = Latest()
    n, side, calls = sizes.vector, sizes.square, sizes.calls
    a, b = (jnp.ones(n, "float32") for _ in range(2))
    m = jnp.ones((side, side), "float32")
    ten = jnp.arange(10, dtype="float32")
    x = jnp.asarray(np.random.rand(230400).astype("float32"))
    add, exp = jax.jit(lambda a, b: a + b), jax.jit(jnp.exp)
    result = {
        "copy": gigabytes(latest.timed(jnp.copy, a), latest.wait, 8 * n),
        "a + b": gigabytes(latest.timed(add, a, b), latest.wait, 12 * n),
        "a + a, 10 floats": microseconds(
            latest.timed(add, ten, ten), latest.wait, calls
        ),
        "exp to host": microseconds(
            lambda: np.asarray(exp(x)), latest.wait, calls // 4
        ),
        "exp on device": microseconds(latest.timed(exp, x), latest.wait, calls),
    }
    for axis in (None, 0, 1):
        total = jax.jit(lambda m, axis=axis: m.sum(axis=axis))
        result[f"sum axis {axis}"] = gigabytes(
            latest.timed(total, m), latest.wait, 4 * side * side
        )
    for name, shape in LOGISTIC.items():
        result[name] = logistic(*shape, calls)
    return result


def logistic(rows: int, columns: int, calls: int) -> float:
    """Microseconds of a jitted training step."""
    jitted = jax.jit(lambda x, y, w, b: numpy_step(x, y, w, b, jnp))
    x, y, w = (jnp.asarray(v) for v in logistic_data(rows, columns))
    state = [w, jnp.zeros((), "float32")]

    def step() -> None:
        state[0], state[1], _, _ = jitted(x, y, *state)

    return microseconds(step, lambda: jax.block_until_ready(state[0]), calls)
