"""Rows of loops: recurrences of elements, iterations until they converge, networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows import Array, Measure, Names, Row, Sizes, Work, normal

Values = list[Any]

MOST = 64
"""Turns of Newton's iteration at most."""
CLOSE = 1e-3


def rows(sizes: Sizes) -> list[Row]:
    """All of them."""
    return [*elements(sizes), *networks(sizes)]


# ---- elements ----


def power(turns: int) -> Work:
    """Repeated multiplication, as the documentation of Theano's scan begins."""

    def work(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        (a,) = data
        return state, [names.repeat(lambda s: s * a, a * 0 + 1, turns)]

    return work


def count(turns: int) -> Work:
    """Turns that do next to nothing."""

    def work(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        return state, [names.repeat(lambda s: s + 1, data[0], turns)]

    return work


def average(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """The exponential average of the rows, after each of them."""
    x, start = data

    def step(states: Values, row: Any) -> Values:
        return [0.9 * states[0] + 0.1 * row]

    return state, [names.scan(step, [start], x)[1]]


def polynomial(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """The value of a polynomial, a power of x after another."""
    coefficients, x = data

    def step(states: Values, coefficient: Any) -> Values:
        total, power = states
        return [total + coefficient * power, power * x]

    return state, [names.scan(step, [x * 0, x * 0 + 1], coefficients)[0][0]]


def roots(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """Square roots by Newton's iteration, until all have converged."""
    (v,) = data
    found = names.until(
        lambda p: (p + v / p) / 2,
        lambda p: abs(p * p - v) < CLOSE * v,
        v * 0 + 1,
        MOST,
    )
    return state, [found]


def elements(sizes: Sizes) -> list[Row]:
    """Loops whose elements have nothing to do with one another, but for an end."""
    long = 10 * sizes.turns * sizes.turns
    return [
        Row(
            f"pow(A, {10 * sizes.turns}) of 10",
            "us",
            power(10 * sizes.turns),
            lambda: [np.linspace(0.99, 1.01, 10, dtype="float32")],
            tolerance=1e-3,
        ),
        Row(
            f"{long:,} turns of a number",
            "us",
            count(long),
            lambda: [np.zeros((), "float32")],
            eager=sizes.turns < 100,
        ),
        Row(
            f"polynomial of {sizes.turns} coefficients",
            "us",
            polynomial,
            lambda: [normal((sizes.turns,), 0), np.array(0.9, "float32")],
            tolerance=1e-3,
        ),
        Row(
            f"exponential average of {sizes.turns**2:,} rows",
            "us",
            average,
            lambda: [
                normal((sizes.turns**2, 2 * sizes.width), 0),
                zeros(2 * sizes.width),
            ],
            bytes=16 * sizes.turns**2 * sizes.width,
            tolerance=1e-3,
        ),
        Row(
            "Newton's roots of 1000 until converged",
            "us",
            roots,
            lambda: [np.linspace(1, 100, 1000, dtype="float32")],
            tolerance=1e-3,
        ),
    ]


def zeros(*shape: int) -> Array:
    """float32 zeros."""
    return np.zeros(shape, "float32")


# ---- networks ----


def recurrent(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """The last state of a network of one layer."""
    x, h, w, u = data
    return state, [rnn(names, x, h, w, u)]


def recurrent_gradient(
    names: Names, state: Values, data: Values
) -> tuple[Values, Values]:
    """The gradients of the sum of that state by both weights."""
    return gradient_of(rnn, names, state, data)


def recurrent_gradient_with_less(
    names: Names, state: Values, data: Values
) -> tuple[Values, Values]:
    """The same, by libraries that can keep some of the states only."""
    return gradient_of(rnn_with_less, names, state, data)


def gradient_of(
    last_state: Any, names: Names, state: Values, data: Values
) -> tuple[Values, Values]:
    """The gradients of the sum of the network's last state."""
    x, h, *weights = data

    def cost(params: Values) -> tuple[Any, Values]:
        return last_state(names, x, h, *params).sum(), []

    def by_hand() -> tuple[Values, Values]:
        w, u = weights
        states = [h]
        for row in x:
            states.append(names.tanh(states[-1] @ w + row @ u))
        flowing = states[-1] * 0 + 1
        slopes = [w * 0, u * 0]
        for row, before, after in zip(
            x[::-1], states[-2::-1], states[:0:-1], strict=True
        ):
            inner = flowing * (1 - after * after)
            slopes[0] += before.T @ inner
            slopes[1] += row.T @ inner
            flowing = inner @ w.T
        return [], slopes

    return state, names.gradient(cost, weights, by_hand)[1]


def memory(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """The last state of an LSTM; the gates are input, forget, cell, output."""
    x, h, c, w, u = data
    return state, [lstm(names, x, h, c, w, u)]


def memory_gradient(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """The gradients of the sum of that state by both weights."""
    x, h, c, *weights = data

    def cost(params: Values) -> tuple[Any, Values]:
        return lstm(names, x, h, c, *params).sum(), []

    def by_hand() -> tuple[Values, Values]:
        w, u = weights
        turns, now, cell = [], h, c
        for row in x:
            i, f, g, o = gates(names, now @ w + row @ u)
            after = f * cell + i * g
            turns.append((row, now, cell, i, f, g, o, names.tanh(after)))
            now, cell = o * turns[-1][-1], after
        slopes = [w * 0, u * 0]
        flowing, carried = now * 0 + 1, cell * 0
        for row, before, old, i, f, g, o, t in turns[::-1]:
            carried = carried + flowing * o * (1 - t * t)
            parts = [
                carried * g * i * (1 - i),
                carried * old * f * (1 - f),
                carried * i * (1 - g * g),
                flowing * t * o * (1 - o),
            ]
            inner = names.concatenate(parts, 1)
            slopes[0] += before.T @ inner
            slopes[1] += row.T @ inner
            flowing, carried = inner @ w.T, carried * f
        return [], slopes

    return state, names.gradient(cost, weights, by_hand)[1]


def gated(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """The last state of a GRU; the gates are reset, update, new."""
    x, h, w, u = data
    return state, [gru(names, x, h, w, u)]


def gated_gradient(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """The gradients of the sum of that state by both weights."""
    x, h, *weights = data

    def cost(params: Values) -> tuple[Any, Values]:
        return gru(names, x, h, *params).sum(), []

    def by_hand() -> tuple[Values, Values]:
        w, u = weights
        turns, now = [], h
        for row in x:
            r, z, new, recalled = gates_of_gru(names, now @ w, row @ u)
            turns.append((row, now, r, z, new, recalled))
            now = (1 - z) * new + z * now
        slopes = [w * 0, u * 0]
        flowing = now * 0 + 1
        for row, before, r, z, new, recalled in turns[::-1]:
            inner = flowing * (1 - z) * (1 - new * new)
            parts = [
                inner * recalled * r * (1 - r),
                flowing * (before - new) * z * (1 - z),
            ]
            by_state = names.concatenate([*parts, inner * r], 1)
            slopes[0] += before.T @ by_state
            slopes[1] += row.T @ names.concatenate([*parts, inner], 1)
            flowing = flowing * z + by_state @ w.T
        return [], slopes

    return state, names.gradient(cost, weights, by_hand)[1]


def gates_of_gru(names: Names, by_state: Any, by_row: Any) -> Values:
    """The two gates of a GRU, the new state, and what the state gives to that."""
    width = by_state.shape[1] // 3
    sums = by_state[:, : 2 * width] + by_row[:, : 2 * width]
    r, z = (sigmoid(names, sums[:, k * width : (k + 1) * width]) for k in range(2))
    recalled = by_state[:, 2 * width :]
    return [r, z, names.tanh(by_row[:, 2 * width :] + r * recalled), recalled]


def gates(names: Names, sums: Any) -> Values:
    """The four gates of an LSTM."""
    width = sums.shape[1] // 4
    i, f, g, o = (sums[:, k * width : (k + 1) * width] for k in range(4))
    return [sigmoid(names, i), sigmoid(names, f), names.tanh(g), sigmoid(names, o)]


def sigmoid(names: Names, x: Any) -> Any:
    """Of elements."""
    return 1 / (1 + names.exp(-x))


def networks(sizes: Sizes) -> list[Row]:
    """Networks, their gradients, and how long those take to compile."""
    turns, batch, width = sizes.turns, sizes.batch, sizes.width
    size = f"T={turns} B={batch} H={width}"

    def operands(states: int, parts: int) -> list[Array]:
        weights = [normal((width, parts * width), seed, 0.04) for seed in (1, 2)]
        return [
            normal((turns, batch, width), 0),
            *(zeros(batch, width) for _ in range(states)),
            *weights,
        ]

    def row(
        name: str, work: Work, parts: int, passes: int, measure: Measure = "call"
    ) -> Row:
        units: dict[Measure, str] = {"call": "us", "first": "ms", "peak": "MB"}
        return Row(
            f"{name}, {size}",
            units[measure],
            work,
            lambda: operands(2 if parts == 4 else 1, parts),
            flops=passes * 4 * turns * batch * width * width * parts,
            tolerance=2e-3,
            measure=measure,
        )

    return [
        row("RNN", recurrent, 1, 1),
        row("RNN gradient", recurrent_gradient, 1, 3),
        row("RNN gradient: peak memory", recurrent_gradient, 1, 3, "peak"),
        row("RNN gradient, some states", recurrent_gradient_with_less, 1, 4),
        row(
            "RNN gradient, some states: peak memory",
            recurrent_gradient_with_less,
            1,
            4,
            "peak",
        ),
        row("GRU", gated, 3, 1),
        row("GRU gradient", gated_gradient, 3, 3),
        row("LSTM", memory, 4, 1),
        row("LSTM gradient", memory_gradient, 4, 3),
        row("LSTM gradient: compile", memory_gradient, 4, 3, "first"),
    ]


def rnn(names: Names, x: Any, h: Any, w: Any, u: Any) -> Any:
    """The last state of a network: the library's own, or by its loop."""
    if "rnn" in vars(names):
        return names.rnn(x, h, w, u)

    def step(states: Values, row: Any) -> Values:
        return [names.tanh(states[0] @ w + row @ u)]

    return names.scan(step, [h], x)[0][0]


def rnn_with_less(names: Names, x: Any, h: Any, w: Any, u: Any) -> Any:
    """The same, with states for the gradient computed again; or with all kept."""
    if "last_states" not in vars(names):
        return rnn(names, x, h, w, u)

    def step(states: Values, row: Any) -> Values:
        return [names.tanh(states[0] @ w + row @ u)]

    return names.last_states(step, [h], x)[0]


def gru(names: Names, x: Any, h: Any, w: Any, u: Any) -> Any:
    """The last state of a GRU: the library's own, or by its loop."""
    if "gru" in vars(names):
        return names.gru(x, h, w, u)

    def step(states: Values, row: Any) -> Values:
        (before,) = states
        _, z, new, _ = gates_of_gru(names, before @ w, row @ u)
        return [(1 - z) * new + z * before]

    return names.scan(step, [h], x)[0][0]


def lstm(names: Names, x: Any, h: Any, c: Any, w: Any, u: Any) -> Any:
    """The last state of an LSTM: the library's own, or by its loop."""
    if "lstm" in vars(names):
        return names.lstm(x, h, c, w, u)
    width = w.shape[0]

    def step(states: Values, row: Any) -> Values:
        sums = states[0] @ w + row @ u
        i, f, g, o = (sums[:, k * width : (k + 1) * width] for k in range(4))
        cell = sigmoid(names, f) * states[1] + sigmoid(names, i) * names.tanh(g)
        return [sigmoid(names, o) * names.tanh(cell), cell]

    return names.scan(step, [h, c], x)[0][0]
