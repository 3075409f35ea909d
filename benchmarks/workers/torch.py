"""The benchmark rows of PyTorch; the training step eager and as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.timing import (
    LOGISTIC,
    Sizes,
    gigabytes,
    logistic_data,
    microseconds,
    numpy_step,
)


def rows(sizes: Sizes, context: str) -> dict[str, float]:
    """All rows, on the first CUDA device or else the processor."""
    torch.backends.cuda.matmul.allow_tf32 = False
    cuda = torch.cuda.is_available() and not context.startswith("opencl")
    device = torch.device("cuda" if cuda else "cpu")
    wait = torch.cuda.synchronize if cuda else (lambda: None)
    n, side = sizes.vector, sizes.square
    a, b = (torch.ones(n, device=device) for _ in range(2))
    m = torch.ones((side, side), device=device)
    ten = torch.arange(10, dtype=torch.float32, device=device)
    x = torch.rand(230400, device=device)
    calls = sizes.calls
    result = {
        "copy": gigabytes(a.clone, wait, 8 * n),
        "a + b": gigabytes(lambda: a + b, wait, 12 * n),
        "sum axis None": gigabytes(m.sum, wait, 4 * side * side),
        "sum axis 0": gigabytes(lambda: m.sum(0), wait, 4 * side * side),
        "sum axis 1": gigabytes(lambda: m.sum(1), wait, 4 * side * side),
        "a + a, 10 floats": microseconds(lambda: ten + ten, wait, calls),
        "exp to host": microseconds(
            lambda: torch.exp(x).cpu().numpy(), wait, calls // 4
        ),
        "exp on device": microseconds(lambda: torch.exp(x), wait, calls),
    }
    for name, shape in LOGISTIC.items():
        data = [torch.tensor(v, device=device) for v in logistic_data(*shape)]
        result[name] = logistic(data, device, wait, calls)
    if cuda:
        data = [torch.tensor(v, device=device) for v in logistic_data(400, 784)]
        result["logistic step 400x784 (compiled, CUDA graph)"] = captured(
            data, wait, calls
        )
    return result


def logistic(
    data: list[Any], device: torch.device, wait: Callable[[], Any], calls: int
) -> float:
    """Microseconds of an eager training step."""
    x, y, w = data
    state = [w, torch.zeros((), device=device)]

    def step() -> None:
        state[0], state[1], _, _ = numpy_step(x, y, *state, torch)

    return microseconds(step, wait, calls)


def captured(data: list[Any], wait: Callable[[], Any], calls: int) -> float:
    """Microseconds of a training step by Inductor, replayed as a CUDA graph."""
    x, y, w = data
    b = torch.zeros((), device=x.device)
    compiled = torch.compile(lambda x, y, w, b: numpy_step(x, y, w, b, torch))
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            compiled(x, y, w, b)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        new_w, new_b, _, _ = compiled(x, y, w, b)
        w.copy_(new_w)
        b.copy_(new_b)
    return microseconds(graph.replay, wait, calls)
