"""Products beside PyTorch's, which are cuBLAS called directly: one line for each.

Run as ``python benchmarks/products.py <context> [torch]``: every type of matrix
product, batches, a matrix by a vector, a bias, and what a small call costs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import gpuarray
import numpy as np

NAMES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")


def seconds(call: Callable[[], Any], wait: Callable[[], Any], budget: float) -> float:
    """The best mean of three rounds of calls, each waited for once."""
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    once = time.perf_counter() - start
    repeats = max(1, min(200, int(budget / 3 / max(once, 1e-6))))
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        wait()
        best = min(best, (time.perf_counter() - start) / repeats)
    return best


class Ours:
    """Products of the library on one context."""

    def __init__(self, context: str) -> None:
        self.context = gpuarray.context(context)
        self.numbers = np.random.default_rng(0).standard_normal(10**6, np.float32)

    def random(self, shape: tuple[int, ...], name: str) -> Any:
        """Normal numbers of a dtype."""
        host = np.resize(self.numbers, shape)
        return gpuarray.asarray(host, context=self.context).astype(name)

    def wait(self) -> None:
        """Until all is done."""
        self.context.sync()

    def product(self, a: Any, b: Any) -> Callable[[], Any]:
        """A call of ``a @ b``."""
        return lambda: a @ b

    def bias(self, a: Any, b: Any, v: Any) -> Callable[[], Any]:
        """A call that adds a bias and cuts off below 0."""
        return lambda: gpuarray.gemm_bias(a, b, v, relu=True)


class Torch:
    """The same by PyTorch."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        torch.backends.cuda.matmul.allow_tf32 = False

    def random(self, shape: tuple[int, ...], name: str) -> Any:
        """Normal numbers of a dtype."""
        return self.torch.randn(shape, device="cuda").to(getattr(self.torch, name))

    def wait(self) -> None:
        """Until all is done."""
        self.torch.cuda.synchronize()

    def product(self, a: Any, b: Any) -> Callable[[], Any]:
        """A call of ``a @ b``."""
        return lambda: a @ b

    def bias(self, a: Any, b: Any, v: Any) -> Callable[[], Any]:
        """A call that adds a bias and cuts off below 0."""
        return lambda: self.torch.relu(self.torch.addmm(v, a, b))


def rows() -> list[tuple[str, str, tuple[int, ...], tuple[int, ...], float]]:
    """What is timed: a title, a dtype, two shapes, and operations of one call."""
    found = []
    for name in NAMES:
        n = 8192 if name in NAMES[:3] else 4096
        factor = 8 if name.startswith("complex") else 2
        found.append((f"gemm {n}", name, (n, n), (n, n), factor * n**3))
    for name in ("float32", "float16"):
        sizes = (64, 512, 1024, 2048)
        found += [(f"gemm {n}", name, (n, n), (n, n), 2 * n**3) for n in sizes]
        shape = (64, 512, 512)
        found.append(("64 of 512", name, shape, shape, 2 * 64 * 512**3))
        found.append(("mlp", name, (4096, 784), (784, 500), 2 * 4096 * 784 * 500))
    for name in ("float32", "float16", "float64"):
        square = (8192, 8192)
        found.append(("gemv 8192", name, square, (8192,), 2 * 8192**2))
    return found


def report(who: Any, title: str) -> None:
    """A line for each row."""
    for what, name, left, right, work in rows():
        try:
            a, b = who.random(left, name), who.random(right, name)
            took = seconds(who.product(a, b), who.wait, 0.1)
        except (gpuarray.GpuArrayError, RuntimeError, TypeError) as error:
            print(f"{title} {what} {name}: {error}")
            continue
        rate = f"{work / took / 1e12:.2f} TFLOP/s"
        if len(right) == 1:
            rate = f"{work / 2 * a.dtype.itemsize / took / 1e9:.0f} GB/s"
        print(f"{title} {what} {name}: {took * 1e6:.1f} us, {rate}", flush=True)
    for name in ("float32", "float16"):
        for m, k, n in ((60, 784, 500), (512, 512, 512), (4096, 784, 500), (4096,) * 3):
            a, b, v = (who.random(s, name) for s in ((m, k), (k, n), (n,)))
            both = seconds(who.product(a, b), who.wait, 0.05)
            took = seconds(who.bias(a, b, v), who.wait, 0.05)
            print(
                f"{title} bias+relu {m}x{k}x{n} {name}: {took * 1e6:.1f} us, "
                f"the product alone {both * 1e6:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    report(Ours(sys.argv[1]), sys.argv[1])
    if "torch" in sys.argv[2:]:
        report(Torch(), "torch")
