"""gpuarray: compiled functions, and the array package without the compiler."""

from __future__ import annotations

from functools import cache
from typing import Any

import gpuarray
import gpuarray.compiler as compiler
import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray import nn
from gpuarray.compiler.sandbox.rng_mrg import MRG_RandomStreams

from benchmarks.libraries.base import (
    EPSILON,
    Call,
    NotOffered,
    Plain,
    Prepared,
    Spelled,
    eager,
)
from benchmarks.rows import Array, Row

Values = list[Any]


def gradient(cost: Any, state: Values, by_hand: Any) -> tuple[Values, Values]:
    """Outputs and gradients."""
    value, outputs = cost(state)
    return outputs, compiler.grad(value, state)


def scan(
    step: Any, states: Values, rows: Any, checkpoint: str = "all"
) -> tuple[Values, Any]:
    """The states after all rows, and the first state after each."""
    traces, _ = compiler.scan(
        lambda row, *states: step(list(states), row),
        rows,
        states,
        return_list=True,
        checkpoint=checkpoint,
    )
    return [trace[-1] for trace in traces], traces[0]


def last_states(step: Any, states: Values, rows: Any) -> Values:
    """The states after all rows; a gradient keeps the root of their number."""
    return scan(step, states, rows, "sqrt")[0]


def repeat(step: Any, state: Any, turns: int) -> Any:
    """The state after so many turns."""
    return compiler.scan(step, outputs_info=state, n_steps=turns)[0][-1]


def until(step: Any, is_done: Any, state: Any, most: int) -> Any:
    """The state after the turn that began where all was done, or the last one."""
    trace, _ = compiler.scan(
        lambda s: (step(s), compiler.scan_module.until(T.all(is_done(s)))),
        outputs_info=state,
        n_steps=most,
    )
    return trace[-1]


def options_of(stride: int, padding: int, groups: int) -> dict[str, Any]:
    """As Theano has them."""
    return {
        "subsample": (stride, stride),
        "border_mode": (padding, padding),
        "num_groups": groups,
        "filter_flip": False,
    }


def conv2d(x: Any, w: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
    """Filters moved over images, not flipped."""
    return T.nnet.conv2d(x, w, **options_of(stride, padding, groups))


def conv2d_by_images(upstream: Any, w: Any, shape: Any, **options: int) -> Any:
    """The gradient of a convolution by images of a shape."""
    return T.nnet.conv2d_grad_wrt_inputs(upstream, w, shape, **options_of(**options))


def conv2d_by_filters(x: Any, upstream: Any, shape: Any, **options: int) -> Any:
    """The gradient of a convolution by filters of a shape."""
    return T.nnet.conv2d_grad_wrt_weights(x, upstream, shape, **options_of(**options))


def max_pool(x: Any, window: int, stride: int) -> Any:
    """The largest of each window that lies inside."""
    windows = (window, window), True, (stride, stride)
    return T.signal.pool.pool_2d(x, *windows)


def batch_norm(x: Any, gain: Any, bias: Any) -> Any:
    """Each channel by its mean and variance over the batch and the places."""
    gain, bias = (v.dimshuffle("x", 0, "x", "x") for v in (gain, bias))
    return T.nnet.bn.batch_normalization_train(x, gain, bias, "spatial", EPSILON)[0]


BY_COMPILER = (
    "conv2d_by_images",
    "conv2d_by_filters",
    "max_pool_gradient",
    "batch_norm_gradient",
)


class Layers(Plain):
    """The layers of networks that arrays have."""

    def conv2d(
        self, x: Any, w: Any, stride: int = 1, padding: int = 0, groups: int = 1
    ) -> Any:
        """Filters moved over images, not flipped."""
        return nn.conv(x, w, stride=stride, padding=padding, groups=groups)

    def max_pool(self, x: Any, window: int, stride: int) -> Any:
        """The largest of each window that lies inside."""
        return nn.max_pool(x, (window, window), stride)

    def batch_norm(self, x: Any, gain: Any, bias: Any) -> Any:
        """Each channel by its mean and variance over the batch and the places."""
        return nn.batch_norm(x, gain, bias, epsilon=EPSILON)[0]

    def sampled(self, a: Any, x: Any, y: Any) -> Any:
        """The values of x @ y where a matrix has its own."""
        return gpuarray.sparse.sddmm(a, x, y).data

    def __getattr__(self, name: str) -> Any:
        if name in BY_COMPILER:
            raise NotOffered("gradients of layers are the compiler's")
        return super().__getattr__(name)


@cache
def streams() -> Any:
    """What draws, made when the device is known."""
    return compiler.random.RandomStreams(0)


@cache
def mrg_streams() -> Any:
    """Theano's."""
    return MRG_RandomStreams(1)


def dropout(a: Any, keep: float) -> Any:
    """Some elements, at random, over their share; zeros for the rest."""
    kept = streams().bernoulli(keep, size=a.shape, dtype="float32")
    return a * kept * np.float32(1 / keep)


NAMES = Spelled(
    exp=T.exp,
    log=T.log,
    tanh=T.tanh,
    sqrt=T.sqrt,
    sum=lambda a, axis: T.sum(a, axis=axis),
    mean=lambda a, axis: T.mean(a, axis=axis, keepdims=True),
    argmax=lambda a, axis: T.argmax(a, axis=axis),
    cumsum=lambda a, axis: T.cumsum(a, axis=axis),
    sort=T.sort,
    take=lambda a, order: T.take(a, order, axis=0),
    copy=lambda a: a.copy(),
    reverse=lambda a: a[:, ::-1],
    softmax=T.nnet.softmax,
    crossentropy=lambda a, y: T.nnet.categorical_crossentropy(T.nnet.softmax(a), y),
    gradient=gradient,
    scan=scan,
    last_states=last_states,
    repeat=repeat,
    until=until,
    relu=T.nnet.relu,
    conv2d=conv2d,
    conv2d_by_images=conv2d_by_images,
    conv2d_by_filters=conv2d_by_filters,
    max_pool=max_pool,
    batch_norm=batch_norm,
    uniform=lambda n: streams().random(n),
    normal=lambda n: streams().normal(size=n),
    mrg=lambda n: mrg_streams().uniform((n,)),
    gamma=lambda k, n: streams().gamma(k, size=n),
    poisson=lambda mean, n: streams().poisson(mean, size=n),
    binomial=lambda count, p, n: streams().binomial(count, p, size=n),
    permutation=lambda n: streams().permutation(n),
    dropout=dropout,
)


def prepare(row: Row, variant: str, place: str) -> Prepared:
    """``variant``: empty, or ``arrays`` for no compiler; ``place``: a context."""
    ctx = gpuarray.context(place or None)
    if variant == "arrays":
        return with_arrays(row, ctx)
    if not row.compiled:
        raise NotOffered("only of eager libraries")
    with compiler.config.use(floatX="float32", device=ctx.name):
        return compiled(row, ctx)


def with_arrays(row: Row, ctx: Any) -> Prepared:
    """Operations one by one."""
    if row.measure == "peak":
        raise NotOffered("only of training steps that are compiled")

    def put(array: Array) -> Any:
        return gpuarray.asarray(array, context=ctx)

    random = gpuarray.random.Generator(0, context=ctx)
    names = Layers(gpuarray, random, put, gpuarray.sparse.csr_array)
    return eager(row, names, put, ctx.sync, np.asarray)


def compiled(row: Row, ctx: Any) -> Prepared:
    """One function whose data comes as arrays on the device; results stay there."""
    arrays = row.data()
    inputs = [T.tensor(x.dtype.name, (False,) * x.ndim) for x in arrays]
    state = [compiler.shared(array) for array in row.state()]
    new, outputs = row.work(NAMES, list(state), list(inputs))
    if not row.to_host:
        outputs = [output.transfer(None) for output in outputs]
    function = compiler.function(
        inputs, outputs, updates=list(zip(state, new, strict=True))
    )
    data = [gpuarray.asarray(array, context=ctx) for array in arrays]
    kept: list[Any] = [[]]

    def call() -> None:
        kept[0] = function(*data)

    def resize(arrays: list[Array]) -> Call:
        data[:] = [gpuarray.asarray(array, context=ctx) for array in arrays]
        return call

    def peak() -> float:
        """What the context holds at once of what lives now; the pool counts it."""
        for _ in range(3):
            call()
        ctx.sync()
        return float(ctx.memory_info().peak)

    return Prepared(
        call,
        ctx.sync,
        lambda: [
            *(np.asarray(output) for output in kept[0]),
            *(np.asarray(variable.get_value()) for variable in state),
        ],
        resize,
        peak,
    )
