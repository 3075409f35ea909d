"""Logistic regression on scikit-learn's digits: one digit against the rest.

The expressions are those of the Theano tutorial. The data are put on the device once;
training keeps every result there, and only the loss curve comes back.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy
from gpuarray.compiler.function import Function
from options import parse, progress
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@dataclass(frozen=True)
class Report:
    """What a training run came to."""

    device: str
    accuracy: float
    steps_per_second: float
    losses: list[float]


def digits(digit: int) -> list[numpy.ndarray]:
    """Training and test images (0 to 1) and labels (1: it is the digit), float32."""
    data = load_digits()
    images = (data.data / 16).astype(theano.config.floatX)
    labels = (data.target == digit).astype(theano.config.floatX)
    return train_test_split(images, labels, test_size=0.2, random_state=0)


def build(
    features: int, rng: numpy.random.RandomState, rate: float = 0.1
) -> tuple[Function, Function]:
    """The compiled training step and the prediction."""
    x = T.matrix("x")
    y = T.vector("y")
    w = theano.shared(rng.randn(features).astype(theano.config.floatX), name="w")
    b = theano.shared(numpy.asarray(0.0, theano.config.floatX), name="b")

    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))  # probability that target = 1
    prediction = p_1 > 0.5  # the prediction thresholded
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)  # cross-entropy loss function
    cost = xent.mean() + 0.01 * (w**2).sum()  # the cost to minimize
    gw, gb = T.grad(cost, [w, b])

    # .transfer keeps a result on the device: nothing waits until it is read.
    train = theano.function(
        inputs=[x, y],
        outputs=[prediction.transfer(None), xent.transfer(None)],
        updates={w: w - rate * gw, b: b - rate * gb},
        name="train",
    )
    predict = theano.function(inputs=[x], outputs=prediction, name="predict")
    return train, predict


def run(steps: int, digit: int) -> Report:
    """Train, and test on what was held out."""
    x_train, x_test, y_train, y_test = digits(digit)
    started = time.perf_counter()
    train, predict = build(x_train.shape[1], numpy.random.RandomState(0))
    print(f"compiled in {time.perf_counter() - started:.3f} s")

    context = train.context
    data = [gpuarray.asarray(v, context=context) for v in (x_train, y_train)]
    train(*data)  # the first call settles shapes
    context.sync()
    losses = []
    started = time.perf_counter()
    for i in progress(steps, f"training on {context.device_name}"):
        _, xent = train(*data)
        if i % max(steps // 20, 1) == 0 or i == steps - 1:
            losses.append(float(numpy.asarray(xent).mean()))
    context.sync()
    seconds = time.perf_counter() - started
    right = numpy.asarray(predict(x_test)) == (y_test > 0.5)
    return Report(context.device_name, float(right.mean()), steps / seconds, losses)


def curve(losses: list[float]) -> str:
    """The loss over time as a line of bars, on a logarithmic scale."""
    blocks = "▁▂▃▄▅▆▇█"
    logs = numpy.log(losses)
    heights = (logs - logs.min()) / max(numpy.ptp(logs), 1e-9)
    return "".join(blocks[round(h * (len(blocks) - 1))] for h in heights)


def main() -> None:
    """Run with the command line's options and report."""
    options = parse(__doc__, steps=4000, digit=0)
    with theano.config.use(device=options.context, floatX="float32"):
        report = run(options.steps, options.digit)
    first, last = report.losses[0], report.losses[-1]
    print(f"loss {first:.4f} {curve(report.losses)} {last:.4f}")
    print(
        f"demo: device={report.device} accuracy={report.accuracy:.4f} "
        f"steps_per_second={report.steps_per_second:.0f}"
    )


if __name__ == "__main__":
    main()
