"""Random operations under memory pressure, with NumPy as the judge and memory watched.

``python tests/stress.py --operations 1000000 --context cuda0 --context opencl1:0``

Arrays of random dtypes, sizes and layouts live on every context at once. What they hold
would take ten times the memory that the contexts are allowed, so allocations fail all
the time: a failure must leave everything as it was. Every result is compared with
NumPy's. At the end nothing may be alive, and the process may not have grown while the
same operations were done again.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gpuarray
import numpy as np
from judge import in_order

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64")
RTOL = {"float16": 4e-3, "float32": 1e-5, "float64": 1e-12}
ALIVE = 400  # arrays at most
GROWTH = 12 << 20  # bytes that a process may grow by: NumPy, cffi and the allocator


@dataclass
class Pair:
    """An array of the device and what NumPy says it holds."""

    host: np.ndarray[Any, Any]
    device: Any

    def __post_init__(self) -> None:
        self.host = np.asarray(self.host)  # NumPy gives scalars for 0-d results


@dataclass
class Report:
    """What was counted."""

    done: int = 0
    out_of_memory: int = 0
    wrong: list[str] = field(default_factory=list)


class Stress:
    """The arrays alive and the operations on them."""

    def __init__(self, contexts: list[Any], seed: int, elements: int) -> None:
        self.contexts = contexts
        self.random = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.elements = elements
        self.alive: list[Pair] = []
        self.report = Report()
        self.operations: list[Callable[[], Pair | None]] = [
            *[self.make] * 4,
            *[self.drop] * 3,
            *[self.unary] * 3,
            *[self.binary] * 5,
            *[self.view] * 4,
            *[self.reduce] * 3,
            *[self.assign] * 2,
            *[self.pick_elements] * 2,
            *[self.order] * 2,
            self.random_numbers,
            self.cast,
            self.copy,
            self.move,
            self.product,
        ]

    # ---- picking ----

    def pick(self) -> Pair:
        """One of the arrays alive."""
        if not self.alive:
            self.keep(self.make())
        return self.random.choice(self.alive) if self.alive else self.make()

    def shape(self) -> tuple[int, ...]:
        """A random shape: mostly small, now and then empty, 0-d or large."""
        nd = self.random.choice((0, 1, 1, 2, 2, 2, 3, 4))
        most = self.elements if self.random.random() < 0.05 else 200
        side = max(1, int(most ** (1 / max(nd, 1))))
        return tuple(self.random.randrange(0, side + 1) or 1 for _ in range(nd))

    def make(self) -> Pair:
        """A new array of random values."""
        dtype = np.dtype(self.random.choice(DTYPES))
        raw = self.values.integers(0 if dtype.kind in "bu" else -9, 10, self.shape())
        host = raw.astype(dtype)
        if host.ndim > 1 and self.random.random() < 0.3:
            host = host.T
        context = self.random.choice(self.contexts)
        return Pair(host, gpuarray.asarray(host, context=context))

    def partner(self, a: Pair) -> Pair:
        """A new array of the same context that broadcasts with ``a``."""
        shape = tuple(1 if self.random.random() < 0.2 else n for n in a.host.shape)
        shape = shape[self.random.randrange(len(shape) + 1) :]
        dtype = self.random.choice((a.host.dtype, np.dtype("float32")))
        host = self.values.integers(1, 5, shape).astype(dtype)
        return Pair(host, gpuarray.asarray(host, context=a.device.context))

    # ---- operations; the result, if there is one, is compared and kept ----

    def drop(self) -> None:
        """Forget a few arrays."""
        for _ in range(min(len(self.alive), self.random.randrange(3))):
            self.alive.pop(self.random.randrange(len(self.alive)))

    def unary(self) -> Pair:
        """A function of one array."""
        a = self.pick()
        if a.host.dtype == np.bool_:
            return Pair(np.logical_not(a.host), gpuarray.logical_not(a.device))
        name, numpy_name = self.random.choice(
            (("abs", "abs"), ("neg", "negative"), ("square", "square"), ("exp", "exp"))
        )
        if name == "exp" and a.host.dtype.kind != "f":
            name = numpy_name = "square"
        function = getattr(gpuarray, name)
        return Pair(getattr(np, numpy_name)(a.host), function(a.device))

    def binary(self) -> Pair:
        """An operator on two arrays that broadcast."""
        a = self.pick()
        b = self.partner(a)
        kind = self.random.randrange(4)
        if kind == 0:
            return Pair(a.host + b.host, a.device + b.device)
        if kind == 1:
            return Pair(a.host * b.host, a.device * b.device)
        if kind == 2:
            return Pair(a.host > b.host, a.device > b.device)
        return Pair(np.maximum(a.host, b.host), gpuarray.maximum(a.device, b.device))

    def index(self, shape: tuple[int, ...]) -> tuple[Any, ...]:
        """A random basic index."""
        items: list[Any] = []
        for n in shape:
            low, high = sorted(self.random.randrange(n + 1) for _ in range(2))
            step = self.random.choice((1, 1, 2, 3, -1, -2))
            forward = slice(low, high, step)
            backward = slice(high - 1 if high else None, low - 1 if low else None, step)
            items.append(forward if step > 0 else backward)
        return tuple(items)

    def view(self) -> Pair:
        """A slice, a transposition or a reshape."""
        a = self.pick()
        kind = self.random.randrange(3)
        if kind == 0:
            index = self.index(a.host.shape)
            return Pair(a.host[index], a.device[index])
        if kind == 1:
            axes = self.random.sample(range(a.host.ndim), a.host.ndim)
            return Pair(a.host.transpose(axes), a.device.transpose(axes))
        return Pair(a.host.reshape(-1), a.device.reshape(-1))

    def reduce(self) -> Pair | None:
        """A reduction over one axis or all."""
        a = self.pick()
        axis = self.random.choice((None, *range(a.host.ndim)))
        name = self.random.choice(("sum", "max", "min", "all", "any"))
        if name in ("max", "min") and a.host.size == 0:
            return None
        host = getattr(a.host, name)(axis=axis)
        return Pair(np.asarray(host), getattr(a.device, name)(axis=axis))

    def assign(self) -> Pair:
        """Elements of a new copy, overwritten through a view; both may overlap."""
        a = self.pick()
        host, device = a.host.copy(), a.device.copy()
        index = self.index(host.shape)
        if host.ndim:
            host[index] = host[index][..., ::-1].copy()
            device[index] = device[index][..., ::-1]
        return Pair(host, device)

    def pick_elements(self) -> Pair | None:
        """Elements by an array of indices or by a mask, got or set."""
        a = self.pick()
        if a.host.ndim == 0 or a.host.shape[0] == 0:
            return None
        kind = self.random.randrange(3)
        if kind == 0:
            n = a.host.shape[0]
            at = self.values.integers(-n, n, self.random.randrange(1, 30))
            return Pair(a.host[at], a.device[gpuarray.asarray(at, context=self.on(a))])
        mask = self.values.integers(0, 2, a.host.shape).astype(bool)
        on = gpuarray.asarray(mask, context=self.on(a))
        if kind == 1:
            return Pair(a.host[mask], a.device[on])
        host, device = a.host.copy(), a.device.copy()
        host[mask] = 1
        device[on] = 1
        return Pair(host, device)

    def order(self) -> Pair | None:
        """A sort, an argsort or a cumulative sum along one axis."""
        a = self.pick()
        if a.host.ndim == 0:
            return None
        axis = self.random.randrange(a.host.ndim)
        kind = self.random.randrange(3)
        if kind == 0:
            return Pair(in_order(a.host, axis), gpuarray.sort(a.device, axis=axis))
        if kind == 1:
            host = np.argsort(a.host, axis=axis, kind="stable")
            return Pair(host, gpuarray.argsort(a.device, axis=axis))
        if a.host.dtype == np.float16:
            return None  # NumPy rounds after every addition
        return Pair(a.host.cumsum(axis=axis), a.device.cumsum(axis=axis))

    def random_numbers(self) -> Pair:
        """The same integers on this device as on the host's rules for a seed."""
        seed = self.random.randrange(1000)
        shape = self.shape()
        first, second = (
            gpuarray.random.default_rng(seed, context=context).integers(
                -5, 6, shape, dtype="int32"
            )
            for context in (self.contexts[0], self.random.choice(self.contexts))
        )
        return Pair(np.asarray(first), second)

    def on(self, a: Pair) -> Any:
        """The context that an array lives on."""
        return a.device.context

    def cast(self) -> Pair:
        """Another dtype."""
        a = self.pick()
        dtype = self.random.choice(("bool", "int32", "float32", "float64"))
        if a.host.dtype.kind == "f" and not (np.abs(a.host) < 2**30).all():
            dtype = "float64"  # what has no value as an integer is undefined
        return Pair(a.host.astype(dtype), a.device.astype(dtype))

    def copy(self) -> Pair:
        """A copy in either order."""
        a = self.pick()
        order = self.random.choice("CF")
        return Pair(a.host.copy(order), a.device.copy(order))

    def move(self) -> Pair:
        """A copy on another context."""
        a = self.pick()
        context = self.random.choice(self.contexts)
        return Pair(a.host.copy(), gpuarray.array(a.device, context=context))

    def product(self) -> Pair:
        """A matrix product of new small matrices."""
        m, n, k = (self.random.randrange(1, 20) for _ in range(3))
        context = self.random.choice(self.contexts)
        dtype = self.random.choice(("float32", "float64"))
        a = self.values.integers(-3, 4, (m, k)).astype(dtype)
        b = self.values.integers(-3, 4, (n, k)).astype(dtype).T
        on = [gpuarray.asarray(x, context=context) for x in (a, b)]
        return Pair(a @ b, gpuarray.matmul(*on))

    # ---- running ----

    def keep(self, pair: Pair) -> None:
        """Compare with NumPy; results that stay finite and small live on."""
        host, got = pair.host, np.asarray(pair.device)
        same = got.dtype == host.dtype and got.shape == host.shape
        if same:
            rtol = RTOL.get(host.dtype.name, 0.0)
            finite = host[np.isfinite(host)] if host.dtype.kind == "f" else host
            scale = np.abs(finite.astype("float64")).max(initial=0.0)
            with np.errstate(all="ignore"):
                same = np.allclose(
                    got, host, rtol=rtol, atol=rtol * scale, equal_nan=True
                )
        if not same:
            self.report.wrong.append(f"operation {self.report.done}: {host} is {got}")
        # What is compared next begins with the same numbers on both sides.
        pair.host = got.copy() if got.shape == host.shape else host
        if len(self.alive) < ALIVE and self.random.random() < 0.8:
            self.alive.append(pair)

    def step(self) -> None:
        """One operation; running out of memory is part of it."""
        try:
            with np.errstate(all="ignore"):
                pair = self.random.choice(self.operations)()
            if pair is not None:
                self.keep(pair)
        except gpuarray.OutOfMemory:
            self.report.out_of_memory += 1
            del self.alive[: len(self.alive) // 2]
        self.report.done += 1


def resident() -> int:
    """Bytes of memory that the process holds, without what its allocator keeps free.

    glibc gives the end of its heap back only where nothing is alive behind it: what it
    keeps differs from run to run, for the same operations.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def progress(total: int, report: Report) -> Iterator[int]:
    """Numbers up to ``total``, with a line on the terminal."""
    started = time.monotonic()
    shows = sys.stderr.isatty()
    for i in range(total):
        if shows and i % 1000 == 0:
            rate = i / max(time.monotonic() - started, 1e-9)
            bar = f"{i:>9} of {total}, {rate:.0f}/s, {report.out_of_memory} refused"
            print(f"\r{bar}", end="", file=sys.stderr)
        yield i
    if shows:
        print(file=sys.stderr)


def run(names: list[str], operations: int, seed: int, limit: int) -> list[str]:
    """Run the operations; what went wrong, a line each.

    All thirds are the same operations, and begin with empty pools, so that the same are
    refused; the first keeps something of its own besides, such as what errors are told
    with. The last compiles no kernel: it may not make the process grow.
    """
    contexts = [gpuarray.context(name) for name in names]
    for context in contexts:
        context.limit = limit
    # One array in twenty is large; they alone would take ten times the limits.
    large = 10 * limit * len(contexts) // (ALIVE // 20)
    problems: list[str] = []
    refused = settled = 0
    for _ in range(3):
        for context in contexts:
            context.trim()
        settled = resident()
        stress = Stress(contexts, seed, elements=large // 4)
        for _ in progress(operations // 3, stress.report):
            stress.step()
            if len(stress.report.wrong) >= 5:
                break
        problems += stress.report.wrong
        refused += stress.report.out_of_memory
        stress.alive.clear()
        gc.collect()
    grown = resident() - settled
    if grown > GROWTH:
        problems.append(f"the process grew by {grown >> 20} MiB")
    if refused == 0:
        problems.append("no allocation was refused: the limit presses on nothing")
    problems += [text for context in contexts for text in kept(context, limit)]
    print(
        f"{operations} operations on {', '.join(names)}: {refused} out of memory, "
        f"{len(problems)} problems, process +{grown >> 10} KiB"
    )
    return problems


def kept(context: Any, limit: int) -> Iterator[str]:
    """What a context holds although nothing is alive."""
    context.sync()
    memory = context.memory_info()
    if memory.live or memory.n_live:
        yield f"{context.name}: {memory.live} bytes are still alive"
    if memory.cached > limit:
        yield f"{context.name}: {memory.cached} bytes over the limit"
    context.limit = 0


def main() -> int:
    """The command line; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--context", action="append", default=[])
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=1 << 18, help="bytes a context")
    options = parser.parse_args()
    names = options.context or ["opencl"]
    problems = run(names, options.operations, options.seed, options.limit)
    print("\n".join(problems[:5]), file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
