"""ResNet-18 on scikit-learn's digits, enlarged: 17 convolutions of 3 by 3, batch norm.

The network is He et al.'s (2015) for small images: nothing is pooled before the blocks.
Predictions take the running averages of batch norm, as training left them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy
from gpuarray.compiler.function import Function
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.tensor.nnet import bn
from options import parse, progress
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

STAGES, BLOCKS = 4, 2
"""A stage has twice the channels of the one before, and half the rows and columns."""
LARGER = 2
"""Rows, and columns, of an image for one of a digit's 8."""
RATE, MOMENTUM = 0.02, 0.9

Updates = list[tuple[Variable, Variable]]


@dataclass(frozen=True)
class Report:
    """What a training run came to."""

    device: str
    parameters: int
    accuracy: float
    images_per_second: float
    losses: list[float]


def digits() -> list[numpy.ndarray]:
    """Training and test images (0 to 1), of one channel, and the digits on them."""
    data = load_digits()
    images = (data.images[:, None] / 16).astype(theano.config.floatX)
    images = images.repeat(LARGER, axis=2).repeat(LARGER, axis=3)
    return train_test_split(images, data.target, test_size=0.2, random_state=0)


def shared(value: numpy.ndarray) -> Variable:
    """A variable that keeps its value on the device."""
    return theano.shared(value.astype(theano.config.floatX))


class Convolution:
    """A convolution that keeps rows and columns, or halves them; then batch norm."""

    def __init__(
        self,
        rng: numpy.random.RandomState,
        channels: int,
        filters: int,
        rows: int,
        stride: int = 1,
    ) -> None:
        scale = (2 / (channels * rows**2)) ** 0.5  # relu keeps variances (He et al.)
        drawn = rng.randn(filters, channels, rows, rows) * scale
        self.weights, self.stride = shared(drawn), stride
        self.gamma, self.variance = (shared(numpy.ones(filters)) for _ in range(2))
        self.beta, self.mean = (shared(numpy.zeros(filters)) for _ in range(2))
        self.params = [self.weights, self.gamma, self.beta]

    def __call__(self, x: Variable, updates: Updates | None) -> Variable:
        """Return the maps; with ``updates``, training's, with those of averages."""
        strides = (self.stride, self.stride)
        maps = T.nnet.conv2d(x, self.weights, border_mode="half", subsample=strides)
        scales, averages = (self.gamma, self.beta), (self.mean, self.variance)
        if updates is None:
            return bn.batch_normalization_test(maps, *scales, *averages, "spatial")
        out, _, _, *moved = bn.batch_normalization_train(
            maps,
            *scales,
            "spatial",
            running_mean=self.mean,
            running_var=self.variance,
        )
        updates += zip(averages, moved, strict=True)
        return out


class Block:
    """Two convolutions beside a shortcut, which is the input or its 1x1 convolution."""

    def __init__(
        self, rng: numpy.random.RandomState, channels: int, filters: int, stride: int
    ) -> None:
        self.first = Convolution(rng, channels, filters, 3, stride)
        self.second = Convolution(rng, filters, filters, 3)
        is_same = stride == 1 and channels == filters
        self.shortcut = (
            None if is_same else Convolution(rng, channels, filters, 1, stride)
        )

    @property
    def layers(self) -> Sequence[Convolution]:
        """Those of the block."""
        found = [self.first, self.second, self.shortcut]
        return [layer for layer in found if layer is not None]

    def __call__(self, x: Variable, updates: Updates | None) -> Variable:
        """Return the sum of both ways, above 0."""
        maps = T.nnet.relu(self.first(x, updates))
        maps = self.second(maps, updates)
        return T.nnet.relu(maps + (self.shortcut(x, updates) if self.shortcut else x))


class ResNet:
    """The network, and its parameters in the order of the layers."""

    def __init__(self, rng: numpy.random.RandomState, width: int) -> None:
        self.stem = Convolution(rng, 1, width, 3)
        self.blocks = []
        channels = width
        for stage in range(STAGES):
            for number in range(BLOCKS):
                filters = width * 2**stage
                stride = 2 if stage and number == 0 else 1
                self.blocks.append(Block(rng, channels, filters, stride))
                channels = filters
        self.weights = shared(rng.randn(channels, 10) * channels**-0.5)
        self.bias = shared(numpy.zeros(10))
        layers = [self.stem, *(one for block in self.blocks for one in block.layers)]
        of_layers = [param for layer in layers for param in layer.params]
        self.params = [*of_layers, self.weights, self.bias]

    def probabilities(
        self, images: Variable, updates: Updates | None = None
    ) -> Variable:
        """Return how likely each digit is; ``updates``, given to train, gets more."""
        maps = T.nnet.relu(self.stem(images, updates))
        for block in self.blocks:
            maps = block(maps, updates)
        means = maps.mean(axis=(2, 3))
        return T.nnet.softmax(T.dot(means, self.weights) + self.bias)


def build(net: ResNet) -> tuple[Function, Function]:
    """The compiled training step and the prediction."""
    images, names = T.tensor4("images"), T.lvector("names")
    updates: Updates = []
    p = net.probabilities(images, updates)
    loss = T.nnet.categorical_crossentropy(p, names).mean()
    for param, slope in zip(net.params, T.grad(loss, net.params), strict=True):
        speed = shared(numpy.zeros(param.get_value().shape))
        change = MOMENTUM * speed - RATE * slope
        updates += [(speed, change), (param, param + change)]

    # .transfer keeps the loss on the device: nothing waits until it is read.
    train = theano.function(
        [images, names], loss.transfer(None), updates=updates, name="train"
    )
    guess = T.argmax(net.probabilities(images), axis=1)
    return train, theano.function([images], guess, name="predict")


def run(epochs: int, batch: int, width: int) -> Report:
    """Train, and test on what was held out."""
    x_train, x_test, y_train, y_test = digits()
    rng = numpy.random.RandomState(0)
    net = ResNet(rng, width)
    started = time.perf_counter()
    train, predict = build(net)
    print(f"compiled in {time.perf_counter() - started:.3f} s")

    context = train.context
    starts = range(0, len(x_train) - batch + 1, batch)  # whole batches
    losses, found = [], []
    started = time.perf_counter()
    for step in progress(epochs * len(starts), f"training on {context.device_name}"):
        if step % len(starts) == 0:  # another order of the images
            order = rng.permutation(len(x_train))
            images, names = (
                gpuarray.asarray(v[order], context=context) for v in (x_train, y_train)
            )
        i = starts[step % len(starts)]
        found.append(train(images[i : i + batch], names[i : i + batch]))
        if len(found) == len(starts):
            losses.append(float(numpy.mean([float(loss) for loss in found])))
            found = []
    seconds = time.perf_counter() - started
    right = predict(x_test) == y_test
    return Report(
        context.device_name,
        sum(param.get_value().size for param in net.params),
        float(numpy.mean(right)),
        epochs * len(starts) * batch / seconds,
        losses,
    )


def main() -> None:
    """Run with the command line's options and report."""
    options = parse(__doc__, epochs=5, batch=32, width=64)
    with theano.config.use(device=options.context, floatX="float32"):
        report = run(options.epochs, options.batch, options.width)
    print(f"{report.parameters:,} parameters")
    print(f"loss {report.losses[0]:.4f} to {report.losses[-1]:.4f}")
    print(
        f"resnet: device={report.device} accuracy={report.accuracy:.4f} "
        f"images_per_second={report.images_per_second:.0f}"
    )


if __name__ == "__main__":
    main()
