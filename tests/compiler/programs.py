"""Programs whose plans are compared: functions of the null device, which runs nothing.

``python programs.py simple`` prints a plan.
"""

import sys

import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler import config, function, grad, shared


def zeros(*shape):
    return np.zeros(shape, "float32")


def simple():
    a = T.vector("a")
    return function([a], a + a**10, name="simple")


def exp():
    x = shared(zeros(230400), name="x")
    return function([], T.exp(x), name="exp")


def logistic():
    x, y = T.matrix("x"), T.vector("y")
    w, b = shared(zeros(784), name="w"), shared(np.float32(0), name="b")
    p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
    cost = xent.mean() + 0.01 * (w**2).sum()
    gw, gb = grad(cost, [w, b])
    return function(
        [x, y],
        [p_1 > 0.5, xent],
        updates={w: w - 0.1 * gw, b: b - 0.1 * gb},
        name="logistic",
    )


def shapes():
    x, y = T.matrix("x"), T.vector("y")
    flat = x.reshape((x.shape[0] * x.shape[1],))
    pairs = x.reshape((-1, 2))
    return function(
        [x, y],
        [x.mean(axis=0), flat * x.shape[0], pairs.sum(axis=1), x.shape, x.T + y],
        name="shapes",
    )


def perceptron():
    x, y = T.matrix("x"), T.matrix("y")
    w, b = shared(zeros(784, 500), name="w"), shared(zeros(500), name="b")
    v, c = shared(zeros(500, 10), name="v"), shared(zeros(10), name="c")
    hidden = T.tanh(T.dot(x, w) + b)
    cost = ((T.dot(hidden, v) + c - y) ** 2).mean()
    parameters = [w, b, v, c]
    updates = [
        (each, each - 0.1 * gradient)
        for each, gradient in zip(parameters, grad(cost, parameters), strict=True)
    ]
    return function([x, y], cost, updates=updates, name="perceptron")


PROGRAMS = {each.__name__: each for each in (simple, exp, logistic, shapes, perceptron)}


def compiled(name):
    with config.use(floatX="float32", device="null"):
        return PROGRAMS[name]()


if __name__ == "__main__":
    print(compiled(sys.argv[1]).plan)
