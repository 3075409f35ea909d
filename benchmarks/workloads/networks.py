"""Rows that train: regression, networks, layers with their gradients, updates."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.rows import Array, Measure, Names, Row, Sizes, Work, labels, normal

Values = list[Any]

ROWS, FEATURES, RATE, DECAY = 400, 784, 0.1, 0.01
PIXELS, HIDDEN, CLASSES = 784, 500, 10
LAYERS, WIDTH, DEEP_BATCH = 50, 512, 256


def rows(sizes: Sizes) -> list[Row]:
    """All of them."""
    return [
        *regressions(),
        *perceptrons(),
        *layers(sizes),
        *(adam(count) for count in sorted({250_000, 2_500_000, sizes.adam})),
        *peaks(),
    ]


# ---- logistic regression of the seeds ----


def logistic_step(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """A step of gradient descent, with predictions and the crossentropy of each row."""
    x, y = data

    def cost(params: Values) -> tuple[Any, Values]:
        w, b = params
        p = 1 / (1 + names.exp(-(x @ w) - b))
        xent = -y * names.log(p) - (1 - y) * names.log(1 - p)
        return xent.mean() + DECAY * (w * w).sum(), [p > 0.5, xent]

    def by_hand() -> tuple[Values, Values]:
        w, b = state
        p = 1 / (1 + names.exp(-(x @ w) - b))
        xent = -y * names.log(p) - (1 - y) * names.log(1 - p)
        z = (p - y) / len(y)
        return [p > 0.5, xent], [x.T @ z + 2 * DECAY * w, z.sum()]

    outputs, gradients = names.gradient(cost, state, by_hand)
    return descended(state, gradients, RATE), outputs


def descended(state: Values, gradients: Values, rate: float) -> Values:
    """The parameters after a step down."""
    return [p - rate * g for p, g in zip(state, gradients, strict=True)]


def logistic_data(rows: int, columns: int) -> list[Array]:
    """Inputs, and labels as float32."""
    return [normal((rows, columns), 0), labels(rows, 2, 1).astype("float32")]


def logistic_state(columns: int) -> list[Array]:
    """Weights, such that logarithms stay finite, and a bias."""
    return [normal((columns,), 2, 0.1), np.zeros((), "float32")]


def logistic(
    name: str, unit: str, rows: int, columns: int, measure: Measure = "call"
) -> Row:
    """A row about the step."""
    return Row(
        name,
        unit,
        logistic_step,
        lambda: logistic_data(rows, columns),
        lambda: logistic_state(columns),
        bytes=4 * (rows * columns + 2 * columns + 2 * rows) + rows,
        flops=4 * rows * columns,
        tolerance=1e-3,
        apart=0.01,
        measure=measure,
        another=lambda turn: logistic_data(rows + 16 * (turn + 1), columns),
    )


def regressions() -> list[Row]:
    """The step, its compilation, and a batch of another size."""
    return [
        logistic("logistic step 400x784", "us", ROWS, FEATURES),
        logistic("logistic step 1437x64", "us", 1437, 64),
        logistic("logistic step: compile", "ms", ROWS, FEATURES, "first"),
        logistic("logistic step: a new batch size", "ms", ROWS, FEATURES, "new size"),
    ]


# ---- networks ----


def network_step(rate: float) -> Work:
    """A step of a network of dense layers with tanh, and softmax above."""

    def step(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        x, y = data

        def cost(params: Values) -> tuple[Any, Values]:
            value = x
            for place in range(0, len(params) - 2, 2):
                value = names.tanh(value @ params[place] + params[place + 1])
            loss = names.crossentropy(value @ params[-2] + params[-1], y).mean()
            return loss, [loss]

        outputs, gradients = names.gradient(
            cost, state, lambda: backwards(names, state, x, y)
        )
        return descended(state, gradients, rate), outputs

    return step


def backwards(names: Names, params: Values, x: Any, y: Any) -> tuple[Values, Values]:
    """The loss and the gradients of ``network_step``, written by hand."""
    values = [x]
    for place in range(0, len(params) - 2, 2):
        values.append(names.tanh(values[-1] @ params[place] + params[place + 1]))
    logits = values[-1] @ params[-2] + params[-1]
    loss = names.crossentropy(logits, y).mean()
    delta = names.crossentropy_gradient(logits, y) / len(y)
    gradients: Values = []
    for place in range(len(params) - 2, -1, -2):
        value = values[place // 2]
        gradients = [value.T @ delta, names.sum(delta, 0), *gradients]
        if place:
            delta = (delta @ params[place].T) * (1 - value * value)
    return [loss], gradients


def dense(widths: list[int]) -> list[Array]:
    """Weights and biases of layers between these widths."""
    found = []
    for seed, (above, below) in enumerate(pairwise(widths)):
        found.append(normal((above, below), seed, above**-0.5))
        found.append(np.zeros(below, "float32"))
    return found


def network(
    name: str, unit: str, batch: int, widths: list[int], measure: Measure = "call"
) -> Row:
    """A row about a training step of a network."""
    sizes = list(pairwise(widths))
    weights = sum(above * below for above, below in sizes)
    back = weights - widths[0] * widths[1]  # nothing flows back into the inputs
    parameters = weights + sum(widths[1:])
    activations = batch * sum(widths[1:])
    return Row(
        name,
        unit,
        network_step(0.01),
        lambda: [normal((batch, widths[0]), 90), labels(batch, widths[-1], 91)],
        lambda: dense(widths),
        bytes=4 * (2 * parameters + batch * widths[0] + 2 * activations),
        flops=2 * batch * (2 * weights + back),
        tolerance=1e-3,
        measure=measure,
    )


def perceptrons() -> list[Row]:
    """The seeds' perceptron, small and large batches, and its compilation."""
    widths = [PIXELS, HIDDEN, CLASSES]
    return [
        network("MLP step, batch 60", "us", 60, widths),
        network("MLP step, batch 4096", "us", 4096, widths),
        network("MLP step: compile", "ms", 60, widths, "first"),
    ]


def peaks() -> list[Row]:
    """Memory at the worst moment of a step."""
    deep = [WIDTH] * LAYERS + [CLASSES]
    return [
        network(
            "MLP step, batch 4096: peak memory",
            "MB",
            4096,
            [PIXELS, HIDDEN, CLASSES],
            "peak",
        ),
        network("50 layers' step: peak memory", "MB", DEEP_BATCH, deep, "peak"),
    ]


# ---- layers with their gradients ----


def layer_norm(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """Layer norm of rows, and the gradients by its three inputs."""
    x, gain, bias, upstream = data

    def normed(x: Any) -> tuple[Any, Any]:
        centred = x - names.mean(x, 1)
        scale = 1 / names.sqrt(names.mean(centred * centred, 1) + 1e-5)
        return centred * scale, scale

    def cost(params: Values) -> tuple[Any, Values]:
        y = normed(params[0])[0] * params[1] + params[2]
        return (y * upstream).sum(), [y]

    def by_hand() -> tuple[Values, Values]:
        unit, scale = normed(x)
        flowing = upstream * gain
        inner = flowing - names.mean(flowing, 1) - unit * names.mean(flowing * unit, 1)
        return [unit * gain + bias], [
            inner * scale,
            names.sum(upstream * unit, 0),
            names.sum(upstream, 0),
        ]

    outputs, gradients = names.gradient(cost, [x, gain, bias], by_hand)
    return state, [*outputs, *gradients]


def crossentropy(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """Crossentropy of the softmax of rows, and the gradient of its mean."""
    x, y = data

    def cost(params: Values) -> tuple[Any, Values]:
        losses = names.crossentropy(params[0], y)
        return losses.mean(), [losses]

    def by_hand() -> tuple[Values, Values]:
        gradient = names.crossentropy_gradient(x, y) / len(y)
        return [names.crossentropy(x, y)], [gradient]

    outputs, gradients = names.gradient(cost, [x], by_hand)
    return state, [*outputs, *gradients]


def layers(sizes: Sizes) -> list[Row]:
    """Rows of a square matrix."""
    side = sizes.square
    area = side * side

    def operands() -> list[Array]:
        gain, bias = normal((side,), 1), normal((side,), 2)
        return [normal((side, side), 0), gain, bias, normal((side, side), 3)]

    return [
        Row(
            "layer norm and gradient",
            "GB/s",
            layer_norm,
            operands,
            bytes=16 * area,
            tolerance=1e-3,
        ),
        Row(
            "crossentropy and gradient",
            "GB/s",
            crossentropy,
            lambda: [normal((side, side), 0), labels(side, side, 1)],
            bytes=8 * area,
            tolerance=1e-4,
        ),
    ]


# ---- updates ----


def adam_step(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
    """Adam without the correction of its first steps; parameters and two moments."""
    count = len(data)
    parts = state[:count], state[count : 2 * count], state[2 * count :], data
    parameters, firsts, seconds = [], [], []
    for p, m, v, g in zip(*parts, strict=True):
        first = 0.9 * m + 0.1 * g
        second = 0.999 * v + 0.001 * (g * g)
        parameters.append(p - 0.001 * first / (names.sqrt(second) + 1e-8))
        firsts.append(first)
        seconds.append(second)
    return [*parameters, *firsts, *seconds], []


def adam(count: int) -> Row:
    """An update of ``count`` parameters in arrays of four sizes, twenty of them."""
    shapes: list[tuple[int, ...]] = [
        (max(1, count * share // 50),) for share in (1, 2, 3, 4) for _ in range(5)
    ]
    total = sum(shape[0] for shape in shapes)

    def arrays(seed: int) -> Callable[[], list[Array]]:
        return lambda: [normal(s, seed + place) for place, s in enumerate(shapes)]

    def state() -> list[Array]:
        zeros = [np.zeros(shape, "float32") for shape in shapes]
        return [*arrays(0)(), *zeros, *(array.copy() for array in zeros)]

    return Row(
        f"Adam update of {count:,} parameters",
        "GB/s",
        adam_step,
        arrays(50),
        state,
        bytes=28 * total,
        tolerance=1e-4,
    )
