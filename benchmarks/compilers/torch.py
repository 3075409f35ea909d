"""PyTorch's Inductor on the processor; it compiles at the first call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from benchmarks.graphs import Graph

NAMESPACE = SimpleNamespace(tanh=torch.tanh, sin=torch.sin, dot=torch.matmul)


def make(graph: Graph, context: str) -> tuple[Callable[..., Any], Sequence[float]]:
    """The graph compiled, or its cost and gradient."""
    compiled = torch.compile(lambda *arrays: graph.cost(NAMESPACE, *arrays))

    def call(*arrays: Any) -> Any:
        tensors = [torch.tensor(each) for each in arrays]
        for place in graph.wrt:
            tensors[place].requires_grad_()
        cost = compiled(*tensors)
        if graph.wrt:
            cost.backward()
            return [cost, *(tensors[place].grad for place in graph.wrt)]
        return cost

    return call, (0.0, 0.0)
