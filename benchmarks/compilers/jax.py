"""JAX, on its default device; it compiles at the first call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.graphs import Graph


def make(graph: Graph, context: str) -> tuple[Callable[..., Any], Sequence[float]]:
    """The graph jitted, or its cost and gradient."""

    def cost(*arrays: Any) -> Any:
        return graph.cost(jnp, *arrays)

    wanted = jax.value_and_grad(cost, graph.wrt) if graph.wrt else cost
    jitted = jax.jit(wanted)
    return lambda *arrays: jax.block_until_ready(jitted(*arrays)), (0.0, 0.0)
