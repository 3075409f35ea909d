"""Our compiler, on a context."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import gpuarray
import gpuarray.compiler as compiler
import gpuarray.compiler.tensor as T

from benchmarks.graphs import Graph


def make(graph: Graph, context: str) -> tuple[Callable[..., Any], Sequence[float]]:
    """A function of the graph, or of its cost and gradient."""
    name = gpuarray.context(context or None).name
    start = time.perf_counter()
    with compiler.config.use(floatX="float32", device=name):
        inputs = [T.tensor("float32", (False,) * len(shape)) for shape in graph.shapes]
        cost = graph.cost(T, *inputs)
        wrt = [inputs[place] for place in graph.wrt]
        outputs = [cost, *(compiler.grad(cost, wrt) if wrt else [])]
        built = time.perf_counter()
        function = compiler.function(inputs, outputs, on_unused_input="ignore")
    return function, (built - start, time.perf_counter() - built)
