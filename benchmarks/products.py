"""Products beside PyTorch's, which are cuBLAS called directly; prints a table.

``python -m benchmarks.products cuda0 opencl0:0 torch --json products.json`` takes
every type of matrix product, batches, a matrix by a vector, and a bias.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpuarray
import numpy as np
from gpuarray._core.command_line import exit_with

from benchmarks.machine import machine
from benchmarks.report import figures, write

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


def products(who: Any) -> dict[str, float]:
    """TFLOP/s of matrix products; GB/s of a matrix by a vector.

    What a library cannot do is left out, with a note on the error.
    """
    found = {}
    for what, name, left, right, work in rows():
        try:
            a, b = who.random(left, name), who.random(right, name)
            took = seconds(who.product(a, b), who.wait, 0.1)
        except (gpuarray.GpuArrayError, RuntimeError, TypeError) as error:
            print(f"{what} {name}: {str(error).splitlines()[:1]}", file=sys.stderr)
            continue
        if len(right) == 1:
            size = a.dtype.itemsize
            found[f"{what} {name}, GB/s"] = work / 2 * size / took / 1e9
        else:
            found[f"{what} {name}, TFLOP/s"] = work / took / 1e12
    return found


def biases(who: Any) -> dict[str, float]:
    """Microseconds of a product, a bias and a cut at 0."""
    found = {}
    for name in ("float32", "float16"):
        for m, k, n in ((60, 784, 500), (512, 512, 512), (4096, 784, 500), (4096,) * 3):
            a, b, v = (who.random(s, name) for s in ((m, k), (k, n), (n,)))
            took = seconds(who.bias(a, b, v), who.wait, 0.05)
            found[f"bias, relu {m}x{k}x{n} {name}, us"] = took * 1e6
    return found


def main() -> None:
    """Every one of the contexts and libraries that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="contexts, and torch")
    parser.add_argument("--json", "--output", type=Path, help="the file to write")
    parser.add_argument("--commit", default="", help="where the tree has no git")
    options = parser.parse_args()
    rows: dict[str, Any] = {}
    for place, name in enumerate(options.names):
        print(f"{name} ...", file=sys.stderr)
        who = Torch() if name == "torch" else Ours(name)
        library = "torch" if name == "torch" else f"ours, {name}" if place else "ours"
        for title, figure in (products(who) | biases(who)).items():
            row, _, unit = title.rpartition(", ")
            found = rows.setdefault(row, {"unit": unit, "libraries": {}})
            found["libraries"][library] = figures([figure])
            print(f"{row:<44} {library:<16} {figure:.4g} {unit}")
    if options.json:
        ctx = gpuarray.context(options.names[0])
        write({**machine(ctx, options.commit), "rows": rows}, options.json)


if __name__ == "__main__":
    exit_with(main)
