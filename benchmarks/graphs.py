"""Times compiling graphs of growing size, of one library in this process.

``python -m benchmarks.graphs ours "chain 1000" opencl0:0`` prints seconds as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Namespace = Any
"""``exp``, ``tanh``, ``sin`` and ``dot`` of a library's arrays or variables."""

STEPS, BATCH, FEATURES, UNITS = 200, 8, 16, 16


@dataclass(frozen=True)
class Graph:
    """A scalar or array ``cost`` of arrays of these shapes, all float32.

    ``wrt``: which of them the gradient is taken of, if any.
    """

    cost: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    wrt: tuple[int, ...] = ()

    def arguments(self) -> list[np.ndarray[Any, Any]]:
        """Small numbers for the arrays."""
        rng = np.random.RandomState(0)
        return [(0.1 * rng.randn(*shape)).astype("float32") for shape in self.shapes]


def chain(count: int) -> Graph:
    """``count`` elementwise operations, one after the other."""

    def cost(np: Namespace, x: Any, y: Any) -> Any:
        value = x
        for place in range(count):
            kind = place % 4
            if kind == 0:
                value = np.tanh(value)
            elif kind == 1:
                value = value * y
            elif kind == 2:
                value = value + x
            else:
                value = np.sin(value)
        return value

    return Graph(cost, ((1000,), (1000,)))


def tree(count: int) -> Graph:
    """A balanced tree of ``count`` nodes, half of them leaves that all differ."""

    def cost(np: Namespace, x: Any, y: Any) -> Any:
        level = [np.tanh(x * (1 + place / count)) for place in range(count // 3)]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            odd = level[-1:] if len(level) % 2 else []
            level = [
                a + b if place % 2 else a * b for place, (a, b) in enumerate(pairs)
            ] + odd
        return level[0] + y

    return Graph(cost, ((1000,), (1000,)))


def recurrent(count: int) -> Graph:
    """A recurrent network unrolled over ``count`` steps, to be differentiated."""

    def cost(np: Namespace, x: Any, w: Any, u: Any, b: Any) -> Any:
        state = np.tanh(np.dot(x[0], w) + b)
        for step in range(1, count):
            state = np.tanh(np.dot(x[step], w) + np.dot(state, u) + b)
        return (state * state).sum()

    shapes = (count, BATCH, FEATURES), (FEATURES, UNITS), (UNITS, UNITS), (UNITS,)
    return Graph(cost, shapes, wrt=(1, 2, 3))


def graphs() -> dict[str, Graph]:
    """Every graph by its name."""
    sizes = 100, 1000, 10000
    made = {f"chain {n}": chain(n) for n in sizes}
    made |= {f"tree {n}": tree(n) for n in sizes}
    made |= {f"recurrent {n}": recurrent(n) for n in (20, STEPS)}
    return made


Compiled = Callable[..., Any]


def main(library: str, name: str, context: str) -> dict[str, float]:
    """Seconds of building, compiling and a first call; importing is not counted.

    ``compile`` is 0 for libraries that compile at the first call. A small graph is
    compiled before, so that what a library does once is not counted either.
    """
    module = importlib.import_module(f"benchmarks.compilers.{library}")
    make: Callable[[Graph, str], tuple[Compiled, Sequence[float]]] = module.make
    warm, _ = make(Graph(lambda np, x: np.tanh(x) * 2, ((7,),)), context)
    warm(np.ones(7, "float32"))
    graph = graphs()[name]
    arguments = graph.arguments()
    sys.setrecursionlimit(100_000)
    call, (build, compile_) = make(graph, context)
    start = time.perf_counter()
    call(*arguments)
    first = time.perf_counter() - start
    return {
        "build": build,
        "compile": compile_,
        "first call": first,
        "all": build + compile_ + first,
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
