"""The benchmark rows of JAX; the training step is jitted."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import arrays
from benchmarks.timing import (
    LOGISTIC,
    Sizes,
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
    calls = sizes.calls
    ten = jnp.arange(10, dtype="float32")
    x = jnp.asarray(np.random.rand(230400).astype("float32"))
    add, exp = jax.jit(lambda a, b: a + b), jax.jit(jnp.exp)
    result = {
        **arrays.rows(library(latest), sizes),
        "a + a, 10 floats": microseconds(
            latest.timed(add, ten, ten), latest.wait, calls
        ),
        "exp to host": microseconds(
            lambda: np.asarray(exp(x)), latest.wait, calls // 4
        ),
        "exp on device": microseconds(latest.timed(exp, x), latest.wait, calls),
    }
    for name, shape in LOGISTIC.items():
        result[name] = logistic(*shape, calls)
    return result


def library(latest: Latest) -> arrays.Library:
    """JAX's spelling of the array rows; every function is jitted."""
    key = jax.random.key(0)
    return arrays.Library(
        wait=latest.wait,
        ones=jnp.ones,
        random=lambda shape: jax.random.uniform(key, shape),
        indices=lambda n: jax.random.permutation(key, n),
        copy=jnp.copy,
        total=lambda a, axis: a.sum(axis=axis),
        argmax=lambda a, axis: a.argmax(axis=axis),
        cumsum=lambda a, axis: jnp.cumsum(a, axis=axis),
        take=lambda a, order: jnp.take(a, order, axis=0),
        sort=jnp.sort,
        fused=lambda a, b: a * a + b * b + 2 * a * b,
        prepare=lambda function, *args: latest.timed(jax.jit(function), *args),
        eager=latest.timed,
    )


def logistic(rows: int, columns: int, calls: int) -> float:
    """Microseconds of a jitted training step."""
    jitted = jax.jit(lambda x, y, w, b: numpy_step(x, y, w, b, jnp))
    x, y, w = (jnp.asarray(v) for v in logistic_data(rows, columns))
    state = [w, jnp.zeros((), "float32")]

    def step() -> None:
        state[0], state[1], _, _ = jitted(x, y, *state)

    return microseconds(step, lambda: jax.block_until_ready(state[0]), calls)
