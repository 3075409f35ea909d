"""The benchmark rows of PyTorch; the training step eager and as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks import arrays
from benchmarks.timing import (
    LOGISTIC,
    Sizes,
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
    ten = torch.arange(10, dtype=torch.float32, device=device)
    x = torch.rand(230400, device=device)
    calls = sizes.calls
    result = {
        **arrays.rows(library(device, wait), sizes),
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


def library(device: torch.device, wait: Callable[[], Any]) -> arrays.Library:
    """PyTorch's spelling of the array rows."""

    def ones(shape: tuple[int, ...], dtype: str) -> Any:
        return torch.ones(shape, dtype=getattr(torch, dtype), device=device)

    return arrays.Library(
        wait=wait,
        ones=ones,
        random=lambda shape: torch.rand(shape, device=device),
        indices=lambda n: torch.randperm(n, device=device),
        copy=lambda a: torch.clone(a, memory_format=torch.contiguous_format),
        total=lambda a, axis: a.sum() if axis is None else a.sum(axis),
        argmax=lambda a, axis: torch.argmax(a, dim=axis),
        cumsum=lambda a, axis: torch.cumsum(a, dim=axis),
        take=lambda a, order: torch.index_select(a, 0, order),
        sort=lambda a: torch.sort(a).values,
        reverse=lambda a: torch.flip(a, [1]),
        fused=torch.compile(squares) if device.type == "cuda" else None,
        uniform=lambda n: torch.rand(n, device=device),
    )


def squares(a: Any, b: Any) -> Any:
    """What Inductor makes one kernel of; on a processor it needs a C++ compiler."""
    return a * a + b * b + 2 * a * b


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
