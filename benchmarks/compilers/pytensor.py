"""PyTensor, by its C compiler or by Numba as PYTENSOR_FLAGS say."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytensor
import pytensor.tensor as pt

from benchmarks.graphs import Graph


def make(graph: Graph, context: str) -> tuple[Callable[..., Any], Sequence[float]]:
    """A function of the graph, or of its cost and gradient."""
    start = time.perf_counter()
    inputs = [pt.tensor(dtype="float32", shape=(None,) * len(s)) for s in graph.shapes]
    cost = graph.cost(pt, *inputs)
    wrt = [inputs[place] for place in graph.wrt]
    outputs = [cost, *(pytensor.grad(cost, wrt) if wrt else [])]
    built = time.perf_counter()
    function = pytensor.function(
        inputs, outputs, on_unused_input="ignore", mode=context or None
    )
    return function, (built - start, time.perf_counter() - built)
