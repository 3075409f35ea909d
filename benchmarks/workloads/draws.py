"""Rows of random numbers: distributions, an order, and draws that a function uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.rows import Array, Names, Row, Sizes, Work, numbers

KEEP = 0.75
SHAPE = 2.5  # of the gamma distribution
MEAN = 30.0  # of Poisson's
TRIALS, CHANCE = 100, 0.3

Values = list[Any]


def rows(sizes: Sizes) -> list[Row]:
    """All of them: no two libraries draw alike, so what is compared is the mean."""
    n, fewer = max(sizes.vector, 2**20), sizes.sort
    return [
        drawn("uniform", "GB/s", lambda names: names.uniform(n), bytes=4 * n),
        drawn("normal", "GB/s", lambda names: names.normal(n), bytes=4 * n),
        drawn("MRG31k3p uniform", "GB/s", lambda names: names.mrg(n), bytes=4 * n),
        drawn("gamma", "Gelem/s", lambda names: names.gamma(SHAPE, fewer), count=fewer),
        drawn(
            "Poisson", "Gelem/s", lambda names: names.poisson(MEAN, fewer), count=fewer
        ),
        drawn(
            "binomial",
            "Gelem/s",
            lambda names: names.binomial(TRIALS, CHANCE, fewer),
            count=fewer,
        ),
        drawn(
            "permutation",
            "Gelem/s",
            lambda names: names.permutation(fewer),
            count=fewer,
        ),
        *dropout(n),
        drawn(
            "mean of exp(normal)",
            "Gelem/s",
            lambda names: names.sum(names.exp(names.normal(n)), None) / n,
            count=n,
        ),
    ]


def drawn(name: str, unit: str, draw: Callable[[Names], Any], **more: Any) -> Row:
    """A row of numbers that no operand bears on."""

    def work(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        return state, [draw(names)]

    return random(name, unit, work, list, **more)


def random(
    name: str, unit: str, work: Work, data: Callable[[], list[Array]], **more: Any
) -> Row:
    """A row whose elements are others in each call."""
    return Row(name, unit, work, data, apart=1.0, tolerance=0.05, draws=True, **more)


def dropout(n: int) -> list[Row]:
    """Of tanh, and with its gradient."""

    def forward(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        return state, [names.dropout(names.tanh(data[0]), KEEP)]

    def backward(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        x, upstream = data

        def cost(params: Values) -> tuple[Any, Values]:
            y = names.dropout(names.tanh(params[0]), KEEP)
            return (y * upstream).sum(), [y]

        def by_hand() -> tuple[Values, Values]:
            kept = names.dropout(upstream * 0 + 1, KEEP)
            y = names.tanh(x)
            return [y * kept], [upstream * kept * (1 - y * y)]

        outputs, gradients = names.gradient(cost, [x], by_hand)
        return state, [*outputs, *gradients]

    def operands() -> list[Array]:
        return [numbers((n,), 0), numbers((n,), 1)]

    return [
        random("dropout of tanh", "GB/s", forward, lambda: operands()[:1], bytes=8 * n),
        random(
            "dropout of tanh, and gradient", "GB/s", backward, operands, bytes=16 * n
        ),
    ]
