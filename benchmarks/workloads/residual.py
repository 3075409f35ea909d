"""The row of ResNet-18: a step of training, with its gradients by hand beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.rows import Array, Names, Row, Sizes, labels, normal
from benchmarks.workloads.networks import dense, descended

Values = list[Any]
Slopes = dict[int, Any]
"""Gradients by the places of parameters in the state."""
Back = Callable[[Any, Slopes], Any]
"""The gradient by what went in, of that by what came out; adds those of parameters."""

STAGES, BLOCKS, CLASSES, RATE = 4, 2, 1000, 0.01


@dataclass(frozen=True)
class Convolution:
    """Filters over padded images, then batch norm; weights, gain and bias follow."""

    place: int
    channels: int
    filters: int
    taps: int
    stride: int

    @property
    def options(self) -> dict[str, int]:
        """Of the convolution."""
        return {"stride": self.stride, "padding": self.taps // 2}

    def state(self) -> list[Array]:
        """Weights that keep variances below relu (He et al.), ones and zeros."""
        shape = self.filters, self.channels, self.taps, self.taps
        scale = (2 / np.prod(shape[1:])) ** 0.5
        zeros = np.zeros(self.filters, "float32")
        return [normal(shape, self.place, scale), zeros + 1, zeros]

    def __call__(self, names: Names, params: Values, x: Any) -> tuple[Any, Back]:
        """The maps, and the way back."""
        w, gain, bias = params[self.place : self.place + 3]
        maps = names.conv2d(x, w, **self.options)

        def back(upstream: Any, slopes: Slopes) -> Any:
            found = names.batch_norm_gradient(maps, gain, bias, upstream)
            by_filters = names.conv2d_by_filters(x, found[0], w.shape, **self.options)
            slopes.update(enumerate([by_filters, *found[1:]], self.place))
            return names.conv2d_by_images(found[0], w, x.shape, **self.options)

        return names.batch_norm(maps, gain, bias), back


@dataclass(frozen=True)
class Block:
    """Two convolutions beside a shortcut, which is what goes in where it is None."""

    first: Convolution
    second: Convolution
    shortcut: Convolution | None

    @property
    def convolutions(self) -> list[Convolution]:
        """In the order of the state."""
        return [self.first, self.second, *([self.shortcut] if self.shortcut else [])]

    def __call__(self, names: Names, params: Values, x: Any) -> tuple[Any, Back]:
        """The sum of both ways, above 0, and the way back."""
        first, back_first = self.first(names, params, x)
        second, back_second = self.second(names, params, names.relu(first))
        way, back_way = self.shortcut(names, params, x) if self.shortcut else (x, None)
        total = second + way

        def back(upstream: Any, slopes: Slopes) -> Any:
            upstream = upstream * (total > 0)
            inner = back_second(upstream, slopes) * (first > 0)
            straight = back_way(upstream, slopes) if back_way else upstream
            return back_first(inner, slopes) + straight

        return names.relu(total), back


class ResNet18:
    """The network of He et al. (2015), but that its maxima have no padding."""

    def __init__(self, side: int, width: int) -> None:
        self.side = side
        self.stem = Convolution(0, 3, width, 7, 2)
        self.blocks: list[Block] = []
        place, channels = 3, width
        for stage in range(STAGES):
            for number in range(BLOCKS):
                filters, stride = width * 2**stage, 2 if stage and not number else 1
                kinds = [(channels, 3, stride), (filters, 3, 1)]
                kinds += [(channels, 1, stride)] if stride == 2 else []
                made = [
                    Convolution(place + 3 * i, n, filters, taps, step)
                    for i, (n, taps, step) in enumerate(kinds)
                ]
                self.blocks.append(Block(made[0], made[1], (*made[2:], None)[0]))
                place, channels = place + 3 * len(made), filters
        self.place, self.channels = place, channels

    def state(self) -> list[Array]:
        """All parameters; last those of the dense layer."""
        layers = [
            self.stem,
            *(one for block in self.blocks for one in block.convolutions),
        ]
        of_layers = [value for layer in layers for value in layer.state()]
        return [*of_layers, *dense([self.channels, CLASSES])]

    def logits(self, names: Names, params: Values, x: Any) -> tuple[Any, Back]:
        """Of the classes, and the way back to the first maps."""
        maps, back_stem = self.stem(names, params, x)
        top = names.relu(maps)
        value = pooled = names.max_pool(top, 3, 2)
        backs = []
        for block in self.blocks:
            value, back_block = block(names, params, value)
            backs.append(back_block)
        places = value.shape[2] * value.shape[3]
        means = names.sum(value.reshape((*value.shape[:2], -1)), 2) / places

        def back(upstream: Any, slopes: Slopes) -> Any:
            slopes[self.place] = means.T @ upstream
            slopes[self.place + 1] = names.sum(upstream, 0)
            found = (upstream @ params[self.place].T / places)[..., None, None]
            found = found + 0 * value
            for back_block in reversed(backs):
                found = back_block(found, slopes)
            found = names.max_pool_gradient(top, pooled, found, 3, 2)
            return back_stem(found * (maps > 0), slopes)

        return means @ params[self.place] + params[self.place + 1], back

    def loss(self, names: Names, params: Values, x: Any, y: Any) -> Any:
        """The mean over a batch."""
        return names.crossentropy(self.logits(names, params, x)[0], y).mean()

    def step(self, names: Names, state: Values, data: Values) -> tuple[Values, Values]:
        """A step of gradient descent."""
        x, y = data

        def cost(params: Values) -> tuple[Any, Values]:
            loss = self.loss(names, params, x, y)
            return loss, [loss]

        def by_hand() -> tuple[Values, Values]:
            logits, back = self.logits(names, state, x)
            slopes: Slopes = {}
            back(names.crossentropy_gradient(logits, y) / len(y), slopes)
            loss = names.crossentropy(logits, y).mean()
            return [loss], [slopes[place] for place in sorted(slopes)]

        outputs, gradients = names.gradient(cost, state, by_hand)
        return descended(state, gradients, RATE), outputs


def rows(sizes: Sizes) -> list[Row]:
    """The step."""
    batch, side = (sizes.images + 1) // 2, 224 // sizes.less
    net = ResNet18(side, 64 // sizes.less)
    return [
        Row(
            f"ResNet-18 step, batch {batch}",
            "ms",
            net.step,
            lambda: [normal((batch, 3, side, side), 95), labels(batch, CLASSES, 96)],
            net.state,
            tolerance=0.1,  # roundings of few images, layer upon layer
            apart=0.1,  # of relu's borders
        )
    ]
