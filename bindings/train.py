"""A training step of logistic regression in a file, for programs in other languages.

    python train.py train.plan [device [dtype]]

``c/train.c``, ``ruby/train.rb`` and ``r/train.R`` read the file and train with it. The
data are made from whole numbers, so that every language makes the same.
"""

import sys
from typing import Any

import numpy as np
from gpuarray.compiler import Function, config, function, grad, shared, tensor as T

ROWS, COLUMNS = 64, 6


def data(dtype: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows of numbers from -1 to 1, labelled by which half of the row has more."""
    state, numbers = 1, []
    for _ in range(ROWS * COLUMNS):
        state = (75 * state + 74) % 65537
        numbers.append(state % 256)
    x = np.array(numbers).reshape(ROWS, COLUMNS)
    half = COLUMNS // 2
    y = x[:, :half].sum(axis=1) > x[:, half:].sum(axis=1)
    return ((x - 128) / 128).astype(dtype), y.astype(dtype)


def training_step(dtype: str = "float32") -> Function:
    """The cost of the rows; a call moves ``w`` and ``b`` down its gradient."""
    with config.use(floatX=dtype):
        x, y = T.matrix("x"), T.vector("y")
        w = shared(np.zeros(COLUMNS, dtype), name="w")
        b = shared(np.zeros((), dtype), name="b")
        p = T.nnet.sigmoid(T.dot(x, w) + b)
        cost = T.nnet.binary_crossentropy(p, y).mean() + 0.01 * (w**2).sum()
        gw, gb = grad(cost, [w, b])
        return function([x, y], {"cost": cost}, updates={w: w - gw, b: b - gb})


def save(step: Function, path: str, dtype: str) -> None:
    """Write the step as it is at the start, with what it records for these shapes."""
    step(*data(dtype))
    for name in ("w", "b"):
        step[name] = np.zeros_like(step[name])
    step.save(path)


if __name__ == "__main__":
    path, *options = sys.argv[1:]
    device, dtype = [*options, *["", "float32"][len(options) :]]
    with config.use(device=device):
        save(training_step(dtype), path, dtype)
