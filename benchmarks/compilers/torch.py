"""PyTorch's Inductor; it compiles at the first call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from benchmarks.graphs import Graph

NAMESPACE = SimpleNamespace(tanh=torch.tanh, sin=torch.sin, dot=torch.matmul)


def make(graph: Graph, context: str) -> tuple[Callable[..., Any], Sequence[float]]:
    """The graph compiled, or its cost and gradient."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    compiled = torch.compile(lambda *arrays: graph.cost(NAMESPACE, *arrays))

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    def call(*arrays: Any) -> Any:
        tensors = [torch.tensor(array, device=device) for array in arrays]
        for place in graph.wrt:
            tensors[place].requires_grad_()
        cost = compiled(*tensors)
        if graph.wrt:
            cost.backward()
            wait()
            return [cost, *(tensors[place].grad for place in graph.wrt)]
        wait()
        return cost

    return call, (0.0, 0.0)
