"""Rows that stream arrays: elementwise, reductions, layouts, products."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.rows import Array, Names, Row, Sizes, Work, nothing, numbers

VALUES = 10 * 30 * 768  # of the seeds' check1 and check2


def of(function: Callable[..., Any]) -> Work:
    """The work that computes ``function(names, *data)`` and keeps no state."""

    def work(
        names: Names, state: list[Any], data: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        return state, [function(names, *data)]

    return work


def vectors(count: int, dtype: str = "float32", how_many: int = 2) -> Any:
    """A function that makes vectors."""
    return lambda: [numbers((count,), seed, dtype) for seed in range(how_many)]


def matrices(side: int, how_many: int = 2) -> Any:
    """A function that makes square matrices."""
    return lambda: [numbers((side, side), seed) for seed in range(how_many)]


def rows(sizes: Sizes) -> list[Row]:
    """All of them."""
    return [
        *copies(sizes.vector),
        *transfers(sizes.vector),
        *elementwise(sizes.vector),
        *layouts(sizes.square),
        *reductions(sizes.square),
        *orders(sizes),
        *products(sizes.product),
    ]


def copies(n: int) -> list[Row]:
    """What the machine can do: the limits of other rows are made of these."""
    copy = of(lambda names, a: names.copy(a))
    small = 2**18
    return [
        Row("copy", "GB/s", copy, vectors(n, how_many=1), bytes=8 * n),
        Row("copy, 1 MiB", "GB/s", copy, vectors(small, how_many=1), bytes=8 * small),
    ]


def transfers(n: int) -> list[Row]:
    """Between a NumPy array and the device: ordinary memory, over the bus."""

    @cache
    def host() -> Array:
        return numbers((n,), 0)

    upload = of(lambda names: names.asarray(host()))
    download = of(lambda names, x: x)
    return [
        Row("upload", "GB/s", upload, nothing, bus=4 * n, compiled=False),
        Row(
            "download",
            "GB/s",
            download,
            vectors(n, how_many=1),
            bus=4 * n,
            compiled=False,
            to_host=True,
        ),
    ]


def elementwise(n: int) -> list[Row]:
    """Contiguous operands."""
    exp = of(lambda names, x: names.exp(x))
    values = vectors(VALUES, how_many=1)
    square = of(lambda names, a, b: a * a + b * b + 2 * a * b)
    power = of(lambda names, a: a + a**10)
    add = of(lambda names, a, b: a + b)
    text = "a**2 + b**2 + 2*a*b"
    return [
        Row("exp on device", "us", exp, values, bytes=8 * VALUES, text="exp(a)"),
        Row(
            "exp to host",
            "us",
            exp,
            values,
            bytes=8 * VALUES,
            text="exp(a)",
            to_host=True,
        ),
        Row("a + b", "GB/s", add, vectors(n), bytes=12 * n, text="a + b"),
        Row("a + b, float16", "GB/s", add, vectors(n, "float16"), bytes=6 * n),
        Row("a*a + b*b + 2*a*b", "GB/s", square, vectors(n), bytes=12 * n, text=text),
        Row(
            "a + a**10",
            "GB/s",
            power,
            vectors(n, how_many=1),
            bytes=8 * n,
            text="a + a**10",
        ),
    ]


def layouts(side: int) -> list[Row]:
    """Square operands that differ in order or are repeated."""
    area = side * side

    def streamed(
        name: str, size: int, function: Callable[..., Any], data: Any, **more: Any
    ) -> Row:
        return Row(name, "GB/s", of(function), data, bytes=size * area, **more)

    def with_row() -> list[Array]:
        return [numbers((side, side), 0), numbers((side,), 1)]

    def with_column() -> list[Array]:
        return [numbers((side, side), 0), numbers((side, 1), 1)]

    def with_order() -> list[Array]:
        order = np.random.default_rng(0).permutation(side).astype("int32")
        return [numbers((side, side), 0), order]

    def add(names: Names, a: Any, b: Any) -> Any:
        return a + b

    two, one = matrices(side), matrices(side, 1)
    return [
        streamed("a + row", 8, add, with_row),
        # A column that is broadcast is a matter of types in symbolic libraries.
        streamed("a + column", 8, add, with_column, compiled=False),
        streamed("a + b.T", 12, lambda names, a, b: a + b.T, two),
        streamed("copy of a.T", 8, lambda names, a: names.copy(a.T), one),
        streamed("a + b[:, ::-1]", 12, lambda names, a, b: a + names.reverse(b), two),
        streamed(
            "a[:, ::2] + b[:, ::2]", 6, lambda names, a, b: a[:, ::2] + b[:, ::2], two
        ),
        streamed("take of rows", 8, lambda names, a, i: names.take(a, i), with_order),
    ]


def reductions(side: int) -> list[Row]:
    """Sums over each axis, argmax, softmax."""
    area, one = side * side, matrices(side, 1)
    found = [
        Row(
            f"sum axis {axis}",
            "GB/s",
            of(lambda names, m, axis=axis: names.sum(m, axis)),
            one,
            bytes=4 * area,
            tolerance=1e-4,
            text="" if axis is not None else "sum(a)",
        )
        for axis in (None, 0, 1)
    ]
    cube = (side, side // 4, 4)
    return [
        *found,
        Row(
            "sum middle axis",
            "GB/s",
            of(lambda names, c: names.sum(c, 1)),
            lambda: [numbers(cube, 0)],
            bytes=4 * area,
            tolerance=1e-4,
        ),
        Row(
            "sum axis 1, float16",
            "GB/s",
            of(lambda names, m: names.sum(m, 1)),
            lambda: [numbers((side, side), 0, "float16")],
            bytes=2 * area,
            tolerance=2e-3,
        ),
        Row(
            "argmax axis 1",
            "GB/s",
            of(lambda names, m: names.argmax(m, 1)),
            one,
            bytes=4 * area,
            apart=0.005,
        ),
        Row(
            "softmax of rows",
            "GB/s",
            of(lambda names, m: names.softmax(m)),
            one,
            bytes=8 * area,
        ),
    ]


def orders(sizes: Sizes) -> list[Row]:
    """A scan over each axis, a sort."""
    n, side = sizes.vector, sizes.square
    distinct = sizes.sort
    return [
        Row(
            "cumsum",
            "GB/s",
            of(lambda names, a: names.cumsum(a, 0)),
            vectors(n, how_many=1),
            bytes=8 * n,
            tolerance=2e-2,  # NumPy adds one by one
        ),
        *(
            Row(
                f"cumsum axis {axis}",
                "GB/s",
                of(lambda names, m, axis=axis: names.cumsum(m, axis)),
                matrices(side, 1),
                bytes=8 * side * side,
                tolerance=1e-3,
            )
            for axis in (0, 1)
        ),
        Row(
            "sort",
            "Gelem/s",
            of(lambda names, a: names.sort(a)),
            lambda: [np.random.default_rng(0).random(distinct, "float32")],
            count=distinct,
        ),
    ]


def products(n: int) -> list[Row]:
    """Square matrix products, and a matrix by a vector."""
    product = of(lambda names, a, b: a @ b)
    tolerance = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-10}

    def operands(side: int, dtype: str) -> Any:
        return lambda: [(numbers((side, side), s) - 0.5).astype(dtype) for s in (0, 1)]

    found = []
    for dtype in ("float32", "float16", "float64"):
        side = n // 2 if dtype == "float64" else n
        found.append(
            Row(
                f"gemm {dtype}",
                "TFLOP/s",
                product,
                operands(side, dtype),
                flops=2 * side**3,
                tolerance=tolerance[dtype],
            )
        )
    return [
        *found,
        Row(
            "gemv float32",
            "GB/s",
            product,
            lambda: [numbers((n, n), 0), numbers((n,), 1)],
            bytes=4 * n * n,
            tolerance=1e-4,
        ),
    ]
