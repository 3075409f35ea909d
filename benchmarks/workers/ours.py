"""The benchmark rows of gpuarray and its compiler."""

from __future__ import annotations

from typing import Any

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np

from benchmarks import arrays
from benchmarks.timing import LOGISTIC, Sizes, logistic_data, microseconds


def rows(sizes: Sizes, context: str) -> dict[str, float]:
    """All rows, measured on the context."""
    ctx = gpuarray.context(context or None)
    with theano.config.use(floatX="float32", device=ctx.name):
        return {
            **arrays.rows(library(ctx), sizes),
            **short(sizes, ctx),
            **{name: logistic(ctx, *shape, sizes) for name, shape in LOGISTIC.items()},
        }


def library(ctx: Any) -> arrays.Library:
    """Our spelling of the array rows."""
    random = gpuarray.random.Generator(0, context=ctx)
    a, b = T.vector("a"), T.vector("b")
    return arrays.Library(
        wait=ctx.sync,
        ones=lambda shape, dtype: gpuarray.ones(shape, dtype=dtype, context=ctx),
        random=lambda shape: random.random(shape, dtype="float32"),
        indices=lambda n: gpuarray.asarray(np.random.permutation(n), context=ctx),
        copy=lambda a: a.copy("C"),
        total=lambda a, axis: a.sum(axis=axis),
        argmax=lambda a, axis: a.argmax(axis=axis),
        cumsum=lambda a, axis: a.cumsum(axis=axis),
        take=lambda a, order: gpuarray.take(a, order, axis=0),
        sort=gpuarray.sort,
        fused=theano.function([a, b], (a * a + b * b + 2 * a * b).transfer(None)),
        uniform=lambda n: random.random(n, dtype="float32"),
    )


def short(sizes: Sizes, ctx: Any) -> dict[str, float]:
    """Rows that are bound by the cost of a call, in microseconds."""
    ten = gpuarray.asarray(np.arange(10, dtype="float32"), context=ctx)
    x = theano.shared(np.random.RandomState(22).rand(230400).astype("float32"))
    to_host = theano.function([], T.exp(x))
    on_device = theano.function([], T.exp(x).transfer(None))
    return {
        "a + a, 10 floats": microseconds(lambda: ten + ten, ctx.sync, sizes.calls),
        "exp to host": microseconds(to_host, ctx.sync, sizes.calls // 4),
        "exp on device": microseconds(on_device, ctx.sync, sizes.calls),
    }


def logistic_expressions(weights: np.ndarray[Any, Any]) -> tuple[Any, Any, Any]:
    """Inputs, outputs and updates of a training step, as in Theano's tutorial.

    The outputs stay on the device.
    """
    x, y = T.matrix("x"), T.vector("y")
    w = theano.shared(weights, name="w")
    b = theano.shared(np.float32(0), name="b")
    p = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = -y * T.log(p) - (1 - y) * T.log(1 - p)
    cost = xent.mean() + 0.01 * (w**2).sum()
    gw, gb = T.grad(cost, [w, b])
    outputs = [(p > 0.5).transfer(None), xent.transfer(None)]
    return [x, y], outputs, {w: w - 0.1 * gw, b: b - 0.1 * gb}


def logistic(ctx: Any, rows: int, columns: int, sizes: Sizes) -> float:
    """Microseconds of a training step of the logistic regression."""
    x, y, weights = logistic_data(rows, columns)
    inputs, outputs, updates = logistic_expressions(weights)
    train = theano.function(inputs, outputs, updates=updates)
    data = [gpuarray.asarray(v, context=ctx) for v in (x, y)]
    return microseconds(lambda: train(*data), ctx.sync, sizes.calls)
