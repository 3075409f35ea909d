"""gpuarray: compiled functions, and the array package without the compiler."""

from __future__ import annotations

from typing import Any

import gpuarray
import gpuarray.compiler as compiler
import gpuarray.compiler.tensor as T
import numpy as np

from benchmarks.libraries.base import Call, NotOffered, Plain, Prepared, Spelled, eager
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
    names = Plain(gpuarray, lambda n: random.random(n, dtype="float32"), put)
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
