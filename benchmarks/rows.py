"""What a row of the benchmarks is: a piece of work, its operands, and its limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]
Names = Any
"""A library's functions: ``exp``, ``sum``, ``softmax``, ``gradient`` and their like."""

Work = Callable[[Names, list[Any], list[Any]], tuple[list[Any], list[Any]]]
"""``work(names, state, data)`` gives the new state and the outputs."""

Measure = Literal["call", "host", "first", "new size", "peak"]
"""What is measured: seconds of a call with its share of the wait, or without it
(``host``); seconds from the program to its first result; of a call with a size not met
before; or bytes at the worst moment of a call."""

LESS_IS_BETTER = ("us", "ms", "s", "MB")


@dataclass(frozen=True)
class Sizes:
    """How large the problems are; the small ones are for processors."""

    vector: int  # elements of the streaming vectors
    square: int  # rows and columns of the matrices that are streamed
    product: int  # rows and columns of the matrices that are multiplied
    sort: int
    adam: int  # parameters of the largest update
    turns: int = 100  # of loops, with rows and columns of what a turn computes
    batch: int = 64
    width: int = 512
    images: int = 64  # in a batch
    less: int = 1  # their channels and sides are divided by it
    sparse: int = 1 << 20  # rows and columns of sparse matrices


SIZES = {
    "large": Sizes(2**28, 16384, 8192, 2**26, 100_000_000),
    "small": Sizes(
        10_000_000, 3000, 1024, 2_500_000, 10_000_000, images=4, sparse=1 << 16
    ),
    "tiny": Sizes(1000, 16, 16, 100, 100, 3, 2, 4, 1, 4, 256),  # for tests
}


def nothing() -> list[Array]:
    """No operands."""
    return []


@dataclass(frozen=True)
class Row:
    """A row of the tables. Every library does the same work on the same operands."""

    name: str
    unit: str
    work: Work
    data: Callable[[], list[Array]]
    state: Callable[[], list[Array]] = nothing
    bytes: int = 0
    """What must be read and written, whoever does it; 0: nothing worth naming."""
    bus: int = 0
    """What goes between host and device: no rate of the device bounds it."""
    flops: int = 0
    count: int = 0
    """Elements, where the unit is one of elements."""
    tolerance: float = 1e-5
    """Of a result, relative to its value and to the mean of all."""
    apart: float = 0.0
    """The share of elements that may differ: predictions on the border, ties."""
    measure: Measure = "call"
    to_host: bool = False
    text: str = ""
    """The same for numexpr, of ``a``, ``b``, ..."""
    eager: bool = True
    compiled: bool = True
    draws: bool = False
    """Whether each call draws random numbers: no two are alike."""
    another: Callable[[int], list[Array]] | None = None
    """The data in a size that no round before had."""

    def figure(self, seconds: float) -> float:
        """Seconds of a call (bytes, of a peak) in the row's unit."""
        scale = {"us": 1e6, "ms": 1e3, "s": 1.0, "MB": 1e-6}
        if self.unit in scale:
            return seconds * scale[self.unit]
        moved = self.bytes or self.bus
        work = {"GB/s": moved, "TFLOP/s": self.flops / 1000, "Gelem/s": self.count}
        return work[self.unit] / seconds / 1e9

    def limit(self, copied: Callable[[int], float], product: float) -> float | None:
        """The row's figure for a call at the machine's limit.

        ``copied(n)``: bytes a second of a copy of n bytes; ``product``: operations a
        second of a matrix product. None where the work bounds nothing.
        """
        if self.measure not in ("call", "host") or not (self.bytes or self.flops):
            return None
        moving = self.bytes / copied(self.bytes) if self.bytes else 0.0
        return self.figure(max(moving, self.flops / product))


def numbers(shape: tuple[int, ...], seed: int, dtype: str = "float32") -> Array:
    """Numbers in [0, 1) of a shape; beyond a million they come again."""
    count = int(np.prod(shape))
    block = np.random.default_rng(seed).random(min(count, 1_000_003), "float32")
    return np.resize(block, shape).astype(dtype, copy=False)


def normal(shape: tuple[int, ...], seed: int, scale: float = 1.0) -> Array:
    """float32 of the normal distribution."""
    count = int(np.prod(shape))
    rng = np.random.default_rng(seed)
    block = rng.standard_normal(min(count, 1_000_003), "float32")
    return np.resize(block, shape) * np.float32(scale)


def labels(count: int, classes: int, seed: int) -> Array:
    """int32 in [0, classes)."""
    return np.random.default_rng(seed).integers(0, classes, count, "int32")
