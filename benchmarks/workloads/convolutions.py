"""Rows of convolutions, pooling and normalisation of images, and networks of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.rows import Array, Measure, Names, Row, Sizes, Work, labels, normal
from benchmarks.workloads.networks import dense, descended

Values = list[Any]

RATE = 0.01
CLASSES = 10


def rows(sizes: Sizes) -> list[Row]:
    """All of them."""
    return [
        *(row for layer in layers(sizes) for row in layer.rows()),
        *pooling(sizes),
        *normalisation(sizes),
        *networks(sizes),
    ]


# ---- layers ----


@dataclass(frozen=True)
class Layer:
    """A convolution of square images with square filters, by its lengths."""

    batch: int
    channels: int
    side: int  # rows and columns of images
    filters: int
    taps: int  # rows and columns of filters
    stride: int = 1
    padding: int = 0
    groups: int = 1

    @property
    def name(self) -> str:
        """Batch, channels, rows, columns; filters."""
        images = f"{self.batch}x{self.channels}x{self.side}x{self.side}"
        kind = f"{self.filters} of" if self.groups == 1 else "depthwise"
        by = f" by {self.stride}" if self.stride > 1 else ""
        return f"{images}, {kind} {self.taps}x{self.taps}{by}"

    @property
    def images(self) -> tuple[int, ...]:
        """The shape of what comes in."""
        return self.batch, self.channels, self.side, self.side

    @property
    def weights(self) -> tuple[int, ...]:
        """The shape of the filters."""
        return self.filters, self.channels // self.groups, self.taps, self.taps

    @property
    def maps(self) -> tuple[int, ...]:
        """The shape of what goes out."""
        side = (self.side + 2 * self.padding - self.taps) // self.stride + 1
        return self.batch, self.filters, side, side

    @property
    def options(self) -> dict[str, int]:
        """As the names of libraries take them."""
        return {"stride": self.stride, "padding": self.padding, "groups": self.groups}

    def rows(self) -> list[Row]:
        """The result, and the gradients by both of its operands."""
        shapes = {"images": self.images, "weights": self.weights, "maps": self.maps}
        count = {name: int(np.prod(shape)) for name, shape in shapes.items()}

        def work(name: str, *known: Any) -> Work:
            def called(
                names: Names, state: Values, data: Values
            ) -> tuple[Values, Values]:
                found = getattr(names, name)(*data, *known, **self.options)
                return state, [found]

            return called

        def row(what: str, work: Work, *operands: str) -> Row:
            return Row(
                f"convolution {self.name}{what}",
                "TFLOP/s",
                work,
                lambda: [normal(shapes[name], n) for n, name in enumerate(operands)],
                bytes=4 * sum(count.values()),
                flops=2 * count["maps"] * int(np.prod(self.weights[1:])),
                tolerance=1e-3,
            )

        return [
            row("", work("conv2d"), "images", "weights"),
            row(
                ": by images",
                work("conv2d_by_images", self.images),
                "maps",
                "weights",
            ),
            row(
                ": by filters",
                work("conv2d_by_filters", self.weights),
                "images",
                "maps",
            ),
        ]


def layers(sizes: Sizes) -> list[Layer]:
    """Those of ResNet, MobileNet and LeNet."""
    n, less = sizes.images, sizes.less
    return [
        Layer(n, 64 // less, 56 // less, 64 // less, 3, padding=1),
        Layer(n, 256 // less, 14, 256 // less, 3, padding=1),
        Layer(n, 3, 224 // less, 64 // less, 7, 2, 3),
        Layer(n, 512 // less, 7, 2048 // less, 1),
        Layer(
            n, 144 // less, 56 // less, 144 // less, 3, padding=1, groups=144 // less
        ),
        Layer(2 * n, 1, 28, 32 // less, 5),
    ]


# ---- pooling and normalisation ----


def pooling(sizes: Sizes) -> list[Row]:
    """Maxima of overlapping windows, and their gradient."""
    images = sizes.images, 64 // sizes.less, 112 // sizes.less, 112 // sizes.less
    side = (images[2] - 3) // 2 + 1
    maps = (*images[:2], side, side)
    read, written = int(np.prod(images)), int(np.prod(maps))

    def forward(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        return state, [names.max_pool(data[0], 3, 2)]

    def backward(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        x, upstream = data

        def cost(params: Values) -> tuple[Any, Values]:
            pooled = names.max_pool(params[0], 3, 2)
            return (pooled * upstream).sum(), [pooled]

        def by_hand() -> tuple[Values, Values]:
            pooled = names.max_pool(x, 3, 2)
            return [pooled], [names.max_pool_gradient(x, pooled, upstream, 3, 2)]

        outputs, gradients = names.gradient(cost, [x], by_hand)
        return state, [*outputs, *gradients]

    name = "max pool {}x{}x{}x{}, 3x3 by 2".format(*images)
    return [
        Row(
            name,
            "GB/s",
            forward,
            lambda: [normal(images, 0)],
            bytes=4 * (read + written),
        ),
        Row(
            f"{name}, and gradient",
            "GB/s",
            backward,
            # Numbers that differ: of equal ones libraries choose differently.
            lambda: [distinct(images), normal(maps, 1)],
            bytes=4 * (3 * read + 3 * written),
        ),
    ]


def distinct(shape: tuple[int, ...]) -> Array:
    """float32 whole numbers; in an image none comes twice."""
    order = np.random.default_rng(0).permutation(int(np.prod(shape[1:])))
    return np.broadcast_to(order.reshape(shape[1:]), shape).astype("float32")


def normalisation(sizes: Sizes) -> list[Row]:
    """Batch norm in training, alone and below relu with its gradient."""
    images = sizes.images, 64 // sizes.less, 112 // sizes.less, 112 // sizes.less
    count = int(np.prod(images))

    def forward(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        return state, [names.batch_norm(*data)]

    def backward(names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        *params, upstream = data

        def cost(params: Values) -> tuple[Any, Values]:
            y = names.relu(names.batch_norm(*params))
            return (y * upstream).sum(), [y]

        def by_hand() -> tuple[Values, Values]:
            y = names.relu(names.batch_norm(*params))
            back = names.batch_norm_gradient(*params, upstream * (y > 0))
            return [y], back

        outputs, gradients = names.gradient(cost, params, by_hand)
        return state, [*outputs, *gradients]

    def operands() -> list[Array]:
        gain, bias = normal(images[1:2], 1), normal(images[1:2], 2)
        return [normal(images, 0), gain, bias]

    name = "batch norm {}x{}x{}x{}".format(*images)
    return [
        Row(name, "GB/s", forward, operands, bytes=12 * count, tolerance=1e-4),
        Row(
            f"{name}, relu, and gradient",
            "us",
            backward,
            lambda: [*operands(), normal(images, 3)],
            bytes=28 * count,
            tolerance=1e-3,
            apart=1e-4,  # of relu's border
        ),
    ]


# ---- networks ----


@dataclass(frozen=True)
class Network:
    """Convolutions with pooling and tanh, then dense layers with tanh between."""

    name: str
    images: tuple[int, int, int]  # channels, rows, columns
    filters: Sequence[tuple[int, int]]  # their number, and rows and columns of one
    pools: Sequence[int]  # after each convolution; 1: none
    hidden: Sequence[int] = ()

    def state(self) -> list[Array]:
        """Weights and biases, in the order of the layers."""
        channels, side, _ = self.images
        found = []
        for seed, ((count, taps), pool) in enumerate(
            zip(self.filters, self.pools, strict=True)
        ):
            scale = (channels * taps * taps) ** -0.5
            found.append(normal((count, channels, taps, taps), seed, scale))
            found.append(np.zeros(count, "float32"))
            channels, side = count, (side - taps + 1) // pool
        return [*found, *dense([channels * side * side, *self.hidden, CLASSES])]

    def loss(self, names: Names, params: Values, x: Any, y: Any) -> Any:
        """The mean over a batch."""
        value = x
        for place, pool in enumerate(self.pools):
            w, b = params[2 * place : 2 * place + 2]
            value = names.tanh(pooled(names, value, w, pool) + by_channel(b))
        value = value.reshape((value.shape[0], -1))
        rest = params[2 * len(self.pools) :]
        for place in range(0, len(rest) - 2, 2):
            value = names.tanh(value @ rest[place] + rest[place + 1])
        return names.crossentropy(value @ rest[-2] + rest[-1], y).mean()

    def step(self, names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        """A step of gradient descent."""
        x, y = data

        def cost(params: Values) -> tuple[Any, Values]:
            loss = self.loss(names, params, x, y)
            return loss, [loss]

        outputs, gradients = names.gradient(
            cost, state, lambda: self.backwards(names, state, x, y)
        )
        return descended(state, gradients, RATE), outputs

    def backwards(
        self, names: Names, params: Values, x: Any, y: Any
    ) -> tuple[Values, Values]:
        """The loss and the gradients, written by hand."""
        values, maps = [x], []
        for place, pool in enumerate(self.pools):
            w, b = params[2 * place : 2 * place + 2]
            maps.append(names.conv2d(values[-1], w))
            top = names.max_pool(maps[-1], pool, pool)
            values.append(names.tanh(top + by_channel(b)))
        above = len(values) - 1
        values.append(values[-1].reshape((len(x), -1)))
        rest = params[2 * len(self.pools) :]
        for place in range(0, len(rest) - 2, 2):
            values.append(names.tanh(values[-1] @ rest[place] + rest[place + 1]))
        logits = values[-1] @ rest[-2] + rest[-1]
        loss = names.crossentropy(logits, y).mean()
        delta = names.crossentropy_gradient(logits, y) / len(y)
        gradients: Values = []
        for place in range(len(rest) - 2, -1, -2):
            value = values[above + 1 + place // 2]
            gradients = [value.T @ delta, names.sum(delta, 0), *gradients]
            delta = delta @ rest[place].T
            if place:
                delta = delta * (1 - value * value)
        delta = delta.reshape(values[above].shape)
        for place in range(above - 1, -1, -1):
            pool, value, below = self.pools[place], values[place + 1], values[place]
            w, _ = params[2 * place : 2 * place + 2]
            delta = delta * (1 - value * value)
            bias = delta.sum((0, 2, 3))
            top = names.max_pool(maps[place], pool, pool)
            delta = names.max_pool_gradient(maps[place], top, delta, pool, pool)
            by_filters = names.conv2d_by_filters(below, delta, w.shape)
            gradients = [by_filters, bias, *gradients]
            if place:
                delta = names.conv2d_by_images(delta, w, below.shape)
        return [loss], gradients

    def row(self, unit: str, batch: int, measure: Measure = "call") -> Row:
        """A row about the step."""
        images = (batch, *self.images)
        what = ": compile" if measure == "first" else ""
        return Row(
            f"{self.name} step, batch {batch}{what}",
            unit,
            self.step,
            lambda: [normal(images, 90), labels(batch, CLASSES, 91)],
            self.state,
            tolerance=1e-3,
            measure=measure,
        )


def pooled(names: Names, x: Any, w: Any, pool: int) -> Any:
    """The maxima of a convolution's windows."""
    maps = names.conv2d(x, w)
    return maps if pool == 1 else names.max_pool(maps, pool, pool)


def by_channel(b: Any) -> Any:
    """Numbers of channels, in the rank of images."""
    return b.reshape((1, -1, 1, 1))


def networks(sizes: Sizes) -> list[Row]:
    """The seeds' network on images of 256 by 256, and LeNet on digits."""
    side = 256 // sizes.less
    seeds = Network("seeds' conv net", (1, side, side), [(6, 7), (16, 7)], [5, 1])
    lenet = Network("LeNet", (1, 28, 28), [(20, 5), (50, 5)], [2, 2], [500])
    return [
        seeds.row("us", 1),
        seeds.row("us", 60),
        lenet.row("us", 32),
        lenet.row("us", 500),
        lenet.row("ms", 32, "first"),
    ]
