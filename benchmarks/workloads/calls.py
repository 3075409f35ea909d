"""Rows that cost the calling: little work, many steps, kernels to compile."""

from __future__ import annotations

from typing import Any

from benchmarks.rows import Names, Row, Sizes, Work, normal, numbers
from benchmarks.workloads.arrays import of, vectors

STEPS = (1, 10, 100, 1000)


def rows(sizes: Sizes) -> list[Row]:
    """All of them."""
    ten = vectors(10, how_many=1)
    square = of(lambda names, a, b: a * a + b * b + 2 * a * b)
    only_eager: dict[str, Any] = {"compiled": False}
    return [
        Row("a + a, 10 floats", "us", of(lambda names, a: a + a), ten, text="a + a"),
        Row("ten adds, 10 floats", "us", of(ten_adds), ten, **only_eager),
        Row("x[3:7]", "us", of(lambda names, x: x[3:7]), ten, **only_eager),
        Row(
            "x.T",
            "us",
            of(lambda names, x: x.T),
            lambda: [numbers((10, 10), 0)],
            **only_eager,
        ),
        Row("10 floats to host", "us", of(lambda names, x: x), ten, to_host=True),
        Row("float(x[0])", "us", of(first_value), ten, **only_eager),
        *(chain(count) for count in STEPS),
        Row("a new elementwise kernel", "ms", square, vectors(1000), measure="first"),
        five_products(60),
        five_products(4096),
    ]


def first_value(names: Names, x: Any) -> Any:
    """A value as a number of Python, which every library has to wait for."""
    return names.asarray(float(x[0]))


def ten_adds(names: Names, a: Any) -> Any:
    """The same array, added ten times."""
    b = a
    for _ in range(10):
        b = b + a
    return b


def steps(count: int) -> Work:
    """``count`` steps of which none can be joined with the one before.

    Every second one needs the maximum that the one before has found.
    """

    def work(
        names: Names, state: list[Any], data: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        (value,) = data
        top: Any = 1.0
        for place in range(count):
            if (count - place) % 2:
                value = names.tanh(value * 0.5 + top * 0.5)
            else:
                top = value.max()
        return state, [value]

    return work


def chain(count: int) -> Row:
    """Host time of a call; ten floats, so that the device has nothing to do."""
    plural = "steps" if count > 1 else "step"
    data = vectors(10, how_many=1)
    name = f"host time of a call of {count} {plural}"
    return Row(name, "us", steps(count), data, measure="host", tolerance=1e-4)


def five_products(batch: int) -> Row:
    """The matrix products of the MLP's step, without what is between them."""

    def work(
        names: Names, state: list[Any], data: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        x, w, h, u, d = data
        return state, [x @ w, h @ u, h.T @ d, d @ u.T, x.T @ h]

    shapes = (batch, 784), (784, 500), (batch, 500), (500, 10), (batch, 10)
    return Row(
        f"products of the MLP step, batch {batch}",
        "us",
        work,
        lambda: [normal(shape, seed, 0.1) for seed, shape in enumerate(shapes)],
        flops=2 * batch * (2 * 784 * 500 + 3 * 500 * 10),
        tolerance=1e-3,
    )
