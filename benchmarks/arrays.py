"""The rows of operations on arrays, the same for every library.

A library says how it does what has no common spelling; the rest is written once, with
operators that all of them have.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.timing import Sizes, gigabytes, microseconds, seconds

Call = Callable[[], Any]


@dataclass(frozen=True)
class Library:
    """What a library is asked for. Every function makes a new array on the device."""

    wait: Call
    ones: Callable[[tuple[int, ...], str], Any]
    """An array of ones of a shape and dtype."""
    random: Callable[[tuple[int, ...]], Any]
    """float32 in [0, 1) of a shape."""
    indices: Callable[[int], Any]
    """The integers below n in a fixed random order."""
    copy: Callable[[Any], Any]
    """A C-contiguous copy."""
    total: Callable[[Any, int | None], Any]
    argmax: Callable[[Any, int | None], Any]
    cumsum: Callable[[Any, int], Any]
    take: Callable[[Any, Any], Any]
    """Rows of a matrix."""
    sort: Callable[[Any], Any]
    fused: Callable[[Any, Any], Any] | None = None
    """a * a + b * b + 2 * a * b as one compiled function."""
    uniform: Callable[[int], Any] | None = None
    """n new random float32."""
    products: tuple[str, ...] = ("float32", "float16")
    """The dtypes of matrix products; NumPy has no fast one for float16."""
    reverse: Callable[[Any], Any] = lambda a: a[:, ::-1]
    """The rows of a matrix from their ends."""
    prepare: Callable[..., Call] = lambda function, *args: lambda: function(*args)
    """A call of a function; a library that compiles functions does it here."""
    eager: Callable[..., Call] = lambda function, *args: lambda: function(*args)
    """A call of a function that is not compiled, only its operations."""


def add(a: Any, b: Any) -> Any:
    """What every library spells alike."""
    return a + b


def rows(lib: Library, sizes: Sizes) -> dict[str, float]:
    """GB/s of the bytes that must move; TFLOP/s of products; Gelem/s of the sort; us.

    What a library cannot do is left out, with a note on the error.
    """
    families: tuple[Callable[[], dict[str, float]], ...] = (
        lambda: elementwise(lib, sizes.vector),
        lambda: layouts(lib, sizes.square),
        lambda: reductions(lib, sizes.square),
        lambda: orders(lib, sizes),
        lambda: products(lib, sizes),
        lambda: short(lib, sizes.calls),
    )
    result: dict[str, float] = {}
    for family in families:
        try:
            result |= family()
        except Exception as error:
            print(f"{str(error).strip().splitlines()[-1:]}", file=sys.stderr)
    return result


def short(lib: Library, calls: int) -> dict[str, float]:
    """Microseconds of calls on ten floats, or a hundred, which cost the calling."""
    ten, square = lib.ones((10,), "float32"), lib.ones((10, 10), "float32")

    def ten_adds(a: Any) -> Any:
        b = a
        for _ in range(10):
            b = b + a
        return b

    timed = {
        "10 floats: ten adds": (lib.eager(ten_adds, ten), calls // 4),
        "10 floats: x[3:7]": (lib.eager(lambda x: x[3:7], ten), calls),
        "10 floats: x.T": (lib.eager(lambda x: x.T, square), calls),
        "10 floats: float(x[0])": (lambda: float(ten[0]), calls // 4),
    }
    return {
        name: microseconds(call, lib.wait, count)
        for name, (call, count) in timed.items()
    }


def elementwise(lib: Library, n: int) -> dict[str, float]:
    """Contiguous operands."""
    a, b = lib.ones((n,), "float32"), lib.ones((n,), "float32")
    result = {
        "copy": gigabytes(lib.prepare(lib.copy, a), lib.wait, 8 * n),
        "a + b": gigabytes(lib.prepare(add, a, b), lib.wait, 12 * n),
    }
    if lib.fused is not None:
        name = "a*a + b*b + 2*a*b, compiled"
        call = lib.prepare(lib.fused, a, b)
        result[name] = gigabytes(call, lib.wait, 12 * n)
    del a, b
    h, k = lib.ones((n,), "float16"), lib.ones((n,), "float16")
    result["a + b, float16"] = gigabytes(lib.prepare(add, h, k), lib.wait, 6 * n)
    return result


def layouts(lib: Library, side: int) -> dict[str, float]:
    """Square operands that differ in order or are repeated."""
    a, b = lib.ones((side, side), "float32"), lib.ones((side, side), "float32")
    row, column = lib.ones((side,), "float32"), lib.ones((side, 1), "float32")
    order, area = lib.indices(side), side * side
    calls = {
        "a + row": (lib.prepare(add, a, row), 8),
        "a + column": (lib.prepare(add, a, column), 8),
        "a + b.T": (lib.prepare(lambda a, b: a + b.T, a, b), 12),
        "copy of a.T": (lib.prepare(lambda a: lib.copy(a.T), a), 8),
        "a + b[:, ::-1]": (lib.prepare(lambda a, b: a + lib.reverse(b), a, b), 12),
        "a[:, ::2] + b[:, ::2]": (
            lib.prepare(lambda a, b: a[:, ::2] + b[:, ::2], a, b),
            6,
        ),
        "take of rows": (lib.prepare(lib.take, a, order), 8),
    }
    return {
        name: gigabytes(call, lib.wait, size * area)
        for name, (call, size) in calls.items()
    }


def reductions(lib: Library, side: int) -> dict[str, float]:
    """Sums over each axis, and argmax."""
    m, area = lib.ones((side, side), "float32"), side * side
    cube = m.reshape(side, -1, 4 if side % 4 == 0 else 1)
    half = lib.ones((side, side), "float16")
    calls = {
        f"sum axis {axis}": (lib.prepare(lambda m, axis=axis: lib.total(m, axis), m), 4)
        for axis in (None, 0, 1)
    }
    calls |= {
        "sum middle axis": (lib.prepare(lambda c: lib.total(c, 1), cube), 4),
        "sum axis 1, float16": (lib.prepare(lambda h: lib.total(h, 1), half), 2),
        "argmax axis 1": (lib.prepare(lambda m: lib.argmax(m, 1), m), 4),
    }
    return {
        name: gigabytes(call, lib.wait, size * area)
        for name, (call, size) in calls.items()
    }


def orders(lib: Library, sizes: Sizes) -> dict[str, float]:
    """Scans, a sort, random numbers."""
    n, side = sizes.vector, sizes.square
    a, m = lib.ones((n,), "float32"), lib.ones((side, side), "float32")
    scans = {
        "cumsum": (lib.prepare(lambda a: lib.cumsum(a, 0), a), n),
        "cumsum axis 0": (lib.prepare(lambda m: lib.cumsum(m, 0), m), side**2),
        "cumsum axis 1": (lib.prepare(lambda m: lib.cumsum(m, 1), m), side**2),
    }
    result = {
        name: gigabytes(call, lib.wait, 8 * size)
        for name, (call, size) in scans.items()
    }
    keys = lib.random((n // 4,))
    taken = seconds(lib.prepare(lib.sort, keys), lib.wait, 3)
    result["sort, Gelem/s"] = n // 4 / taken / 1e9
    if lib.uniform is not None:
        uniform = lib.uniform
        result["uniform"] = gigabytes(lambda: uniform(n), lib.wait, 4 * n)
    return result


def products(lib: Library, sizes: Sizes) -> dict[str, float]:
    """Square matrix products, TFLOP/s."""
    n = sizes.product
    result = {}
    for dtype in lib.products:
        a, b = lib.ones((n, n), dtype), lib.ones((n, n), dtype)
        taken = seconds(lib.prepare(lambda a, b: a @ b, a, b), lib.wait, 5)
        result[f"gemm {dtype}, TFLOP/s"] = 2 * n**3 / taken / 1e12
    return result
