"""LeNet on scikit-learn's digits: two convolutions with pooling, then two products.

The images are put on the device once; training keeps every result there. At the end the
filters of the first convolution are drawn, as text. ``--save FILE`` keeps the trained
network, by which ``classify_digits.c`` reads digits without Python.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy
from gpuarray.compiler.function import Function
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.tensor.signal.pool import pool_2d
from options import parse, progress
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SHADES = " ░▒▓█"
ROWS, PER_LINE = 3, 10


@dataclass(frozen=True)
class Report:
    """What a training run came to."""

    device: str
    accuracy: float
    images_per_second: float
    losses: list[float]
    filters: numpy.ndarray


def digits() -> list[numpy.ndarray]:
    """Training and test images (0 to 1), of one channel, and the digits on them."""
    data = load_digits()
    images = (data.images[:, None] / 16).astype(theano.config.floatX)
    return train_test_split(images, data.target, test_size=0.2, random_state=0)


class LeNet:
    """The parameters of the network, and its layers."""

    def __init__(self, rng: numpy.random.RandomState) -> None:
        self.rng = rng
        self.params: list[Variable] = []

    def parameter(self, value: numpy.ndarray | float, *shape: int) -> Variable:
        """Return a shared variable that training changes."""
        filled = numpy.broadcast_to(value, shape).astype(theano.config.floatX)
        self.params.append(theano.shared(filled))
        return self.params[-1]

    def weights(self, *shape: int, inputs: int) -> Variable:
        """Return drawn weights of a layer with so many inputs for each result."""
        return self.parameter(self.rng.randn(*shape) * inputs**-0.5, *shape)

    def convolved(self, x: Variable, channels: int, filters: int) -> Variable:
        """Return half as many rows and columns, of so many filters 3 by 3."""
        w = self.weights(filters, channels, ROWS, ROWS, inputs=channels * ROWS**2)
        b = self.parameter(0, filters)
        maps = T.nnet.conv2d(x, w, border_mode="half")
        pooled = pool_2d(maps, (2, 2), ignore_border=True)
        return T.tanh(pooled + b.dimshuffle("x", 0, "x", "x"))

    def dense(self, x: Variable, inputs: int, outputs: int) -> Variable:
        """Return weighted sums."""
        w = self.weights(inputs, outputs, inputs=inputs)
        return T.dot(x, w) + self.parameter(0, outputs)

    def probabilities(self, images: Variable) -> Variable:
        """Return how likely each digit is, for images of 8 by 8."""
        maps = self.convolved(self.convolved(images, 1, 20), 20, 50)
        hidden = T.tanh(self.dense(maps.flatten(2), 50 * 2 * 2, 100))
        return T.nnet.softmax(self.dense(hidden, 100, 10))


def build(
    rng: numpy.random.RandomState, rate: float = 0.05
) -> tuple[Function, Function, Variable]:
    """The compiled training step, the prediction, and the first filters."""
    images = T.tensor4("images")
    names = T.lvector("names")
    net = LeNet(rng)
    p = net.probabilities(images)
    loss = T.nnet.categorical_crossentropy(p, names).mean()
    updates = []
    for param, slope in zip(net.params, T.grad(loss, net.params), strict=True):
        speed = theano.shared(numpy.zeros_like(param.get_value()))
        change = 0.9 * speed - rate * slope
        updates += [(speed, change), (param, param + change)]

    # .transfer keeps the loss on the device: nothing waits until it is read.
    train = theano.function(
        [images, names], loss.transfer(None), updates=updates, name="train"
    )
    predict = theano.function([images], T.argmax(p, axis=1), name="predict")
    return train, predict, net.params[0]


def run(epochs: int, batch: int, path: str = "") -> Report:
    """Train, test on what was held out, and save the prediction to a path if given."""
    x_train, x_test, y_train, y_test = digits()
    started = time.perf_counter()
    train, predict, filters = build(numpy.random.RandomState(0))
    print(f"compiled in {time.perf_counter() - started:.3f} s")

    context = train.context
    images, names = (gpuarray.asarray(v, context=context) for v in (x_train, y_train))
    starts = range(0, len(x_train) - batch + 1, batch)  # whole batches
    losses = []
    started = time.perf_counter()
    for _ in progress(epochs, f"training on {context.device_name}"):
        found = [train(images[i : i + batch], names[i : i + batch]) for i in starts]
        losses.append(float(numpy.mean([float(loss) for loss in found])))
    seconds = time.perf_counter() - started
    right = predict(x_test) == y_test
    if path:
        predict.save(path)
    return Report(
        context.device_name,
        float(numpy.mean(right)),
        epochs * len(starts) * batch / seconds,
        losses,
        numpy.asarray(filters.get_value())[:, 0],
    )


def picture(filters: numpy.ndarray) -> str:
    """Filters beside each other, a shade for each weight, the greatest one darkest."""
    shares = (filters - filters.min()) / max(numpy.ptp(filters), 1e-9)
    shades = numpy.array(list(SHADES))[(shares * (len(SHADES) - 1)).round().astype(int)]
    lines = []
    for first in range(0, len(filters), PER_LINE):
        for row in range(ROWS):
            parts = ("".join(f[row].repeat(2)) for f in shades[first:][:PER_LINE])
            lines.append("  ".join(parts))
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Run with the command line's options and report."""
    options = parse(__doc__, epochs=10, batch=50, save="")
    with theano.config.use(device=options.context, floatX="float32"):
        report = run(options.epochs, options.batch, options.save)
    print(picture(report.filters))
    print(f"loss {report.losses[0]:.4f} to {report.losses[-1]:.4f}")
    print(
        f"convnet: device={report.device} accuracy={report.accuracy:.4f} "
        f"images_per_second={report.images_per_second:.0f}"
    )


if __name__ == "__main__":
    main()
