"""PyTensor, by its C compiler or by Numba, on the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.scan.utils import until as ends_if
from pytensor.tensor.special import log_softmax, softmax

from benchmarks.libraries.base import EPSILON, Call, NotOffered, Prepared, Spelled
from benchmarks.rows import Array, Row

Values = list[Any]


def gradient(cost: Any, state: Values, by_hand: Any) -> tuple[Values, Values]:
    """Outputs and gradients."""
    value, outputs = cost(state)
    return outputs, pytensor.grad(value, state)


def scan(step: Any, states: Values, rows: Any) -> tuple[Values, Any]:
    """The states after all rows, and the first state after each."""
    traces = pytensor.scan(
        lambda row, *states: step(list(states), row),
        rows,
        states,
        return_list=True,
        return_updates=False,
    )
    return [trace[-1] for trace in traces], traces[0]


def repeat(step: Any, state: Any, turns: int) -> Any:
    """The state after so many turns."""
    return pytensor.scan(step, outputs_info=state, n_steps=turns, return_updates=False)[
        -1
    ]


def until(step: Any, is_done: Any, state: Any, most: int) -> Any:
    """The state after the turn that began where all was done, or the last one."""
    return pytensor.scan(
        lambda s: (step(s), ends_if(pt.all(is_done(s)))),
        outputs_info=state,
        n_steps=most,
        return_updates=False,
    )[-1]


def no_convolution(*arguments: Any, **options: Any) -> Any:
    """What it had of Theano's networks is gone."""
    raise NotOffered("has neither convolution nor pooling")


def batch_norm(x: Any, gain: Any, bias: Any) -> Any:
    """Each channel by its mean and variance over the batch and the places."""
    axes = 0, 2, 3
    scale = 1 / pt.sqrt(pt.var(x, axes, keepdims=True) + EPSILON)
    unit = (x - pt.mean(x, axes, keepdims=True)) * scale
    return unit * gain.dimshuffle("x", 0, "x", "x") + bias.dimshuffle("x", 0, "x", "x")


DRAWS = (
    *("uniform", "normal", "mrg", "gamma"),
    *("poisson", "binomial", "permutation", "dropout"),
)


def no_draws(*args: Any) -> Any:
    """Draws on one core by NumPy's generators."""
    raise NotOffered("its draws are NumPy's")


NAMES = Spelled(
    exp=pt.exp,
    log=pt.log,
    tanh=pt.tanh,
    sqrt=pt.sqrt,
    sum=lambda a, axis: pt.sum(a, axis=axis),
    mean=lambda a, axis: pt.mean(a, axis=axis, keepdims=True),
    argmax=lambda a, axis: pt.argmax(a, axis=axis),
    cumsum=lambda a, axis: pt.cumsum(a, axis=axis),
    sort=pt.sort,
    take=lambda a, order: a[order],
    copy=lambda a: a.copy(),
    reverse=lambda a: a[:, ::-1],
    softmax=lambda a: softmax(a, axis=1),
    crossentropy=lambda a, y: -log_softmax(a, axis=1)[pt.arange(y.shape[0]), y],
    gradient=gradient,
    scan=scan,
    repeat=repeat,
    until=until,
    relu=lambda a: pt.maximum(a, 0),
    conv2d=no_convolution,
    conv2d_by_images=no_convolution,
    conv2d_by_filters=no_convolution,
    max_pool=no_convolution,
    batch_norm=batch_norm,
    **dict.fromkeys(DRAWS, no_draws),
)


def prepare(row: Row, variant: str, place: str) -> Prepared:
    """``variant``: the linker, ``CVM`` or ``NUMBA``. Data is given without a copy."""
    if not row.compiled:
        raise NotOffered("only of eager libraries")
    if row.measure == "peak":
        raise NotOffered("does not count its memory")
    data = row.data()
    state = [pytensor.shared(array, borrow=True) for array in row.state()]
    with pytensor.config.change_flags(floatX="float32"):
        inputs = [pt.tensor(dtype=x.dtype.name, shape=(None,) * x.ndim) for x in data]
        new, outputs = row.work(NAMES, list(state), list(inputs))
        updates = list(zip(state, new, strict=True))
        function = pytensor.function(inputs, outputs, updates=updates, mode=variant)
    kept: list[Any] = [[]]

    def call() -> None:
        kept[0] = function(*data)

    def resize(arrays: list[Array]) -> Call:
        data[:] = arrays
        return call

    return Prepared(
        call,
        lambda: None,
        lambda: [
            *(np.asarray(output) for output in kept[0]),
            *(np.asarray(variable.get_value()) for variable in state),
        ],
        resize,
        is_asynchronous=False,
    )
