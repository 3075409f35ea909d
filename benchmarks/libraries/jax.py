"""JAX; every row is one jitted function that may overwrite its state."""

from __future__ import annotations

import math
import os
from itertools import count
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.libraries.base import EPSILON, Call, NotOffered, Prepared, Spelled
from benchmarks.rows import Array, Row

Values = list[Any]


def gradient(cost: Any, state: Values, by_hand: Any) -> tuple[Values, Values]:
    """Outputs and gradients."""
    (_, outputs), gradients = jax.value_and_grad(cost, has_aux=True)(state)
    return outputs, gradients


def crossentropy(a: Any, y: Any) -> Any:
    """The loss of each row of logits."""
    return -jnp.take_along_axis(jax.nn.log_softmax(a), y[:, None], 1)[:, 0]


def scan(step: Any, states: Values, rows: Any) -> tuple[Values, Any]:
    """The states after all rows, and the first state after each."""

    def turn(carried: Any, row: Any) -> tuple[Any, Any]:
        new = tuple(step(list(carried), row))
        return new, new[0]

    finals, trace = jax.lax.scan(turn, tuple(states), rows)
    return list(finals), trace


def last_states(step: Any, states: Values, rows: Any) -> Values:
    """The states after all rows; a gradient keeps the root of their number."""
    total = len(rows)
    length = next(n for n in range(math.isqrt(total), 0, -1) if total % n == 0)
    blocks = rows.reshape(total // length, length, *rows.shape[1:])

    @jax.checkpoint
    def block(carried: Any, rows: Any) -> tuple[Any, None]:
        return tuple(scan(step, list(carried), rows)[0]), None

    return list(jax.lax.scan(block, tuple(states), blocks)[0])


def repeat(step: Any, state: Any, turns: int) -> Any:
    """The state after so many turns."""
    return jax.lax.fori_loop(0, turns, lambda _, s: step(s), state)


def until(step: Any, is_done: Any, state: Any, most: int) -> Any:
    """The state after the turn that began where all was done, or the last one."""

    def turn(carried: Any) -> Any:
        s, turns, _ = carried
        return step(s), turns + 1, is_done(s).all()

    def goes_on(carried: Any) -> Any:
        return (carried[1] < most) & ~carried[2]

    return jax.lax.while_loop(goes_on, turn, (state, 0, jnp.asarray(False)))[0]


def conv2d(x: Any, w: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
    """Filters moved over images, not flipped."""
    return jax.lax.conv_general_dilated(
        x, w, (stride,) * 2, [(padding,) * 2] * 2, feature_group_count=groups
    )


def conv2d_by_images(upstream: Any, w: Any, shape: Any, **options: int) -> Any:
    """The gradient of a convolution by images of a shape."""
    x = jnp.zeros(shape, upstream.dtype)
    return jax.vjp(lambda x: conv2d(x, w, **options), x)[1](upstream)[0]


def conv2d_by_filters(x: Any, upstream: Any, shape: Any, **options: int) -> Any:
    """The gradient of a convolution by filters of a shape."""
    w = jnp.zeros(shape, upstream.dtype)
    return jax.vjp(lambda w: conv2d(x, w, **options), w)[1](upstream)[0]


def max_pool(x: Any, window: int, stride: int) -> Any:
    """The largest of each window that lies inside."""
    windows = (1, 1, window, window), (1, 1, stride, stride), "VALID"
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, *windows)


def batch_norm(x: Any, gain: Any, bias: Any) -> Any:
    """Each channel by its mean and variance over the batch and the places."""
    axes = 0, 2, 3
    scale = jax.lax.rsqrt(x.var(axes, keepdims=True) + EPSILON)
    unit = (x - x.mean(axes, keepdims=True)) * scale
    return unit * gain.reshape(1, -1, 1, 1) + bias.reshape(1, -1, 1, 1)


class Keys:
    """A key for each draw of a call, made of the number that comes with the call."""

    def start(self, seed: Any) -> None:
        """Begin a call."""
        self.key = jax.random.key(seed)

    def next(self) -> Any:
        """The next draw's."""
        self.key, found = jax.random.split(self.key)
        return found


KEYS = Keys()


def no_mrg(n: int) -> Any:
    """Has no such generator."""
    raise NotOffered("JAX has no MRG31k3p")


def dropout(a: Any, keep: float) -> Any:
    """Some elements, at random, over their share; zeros for the rest."""
    kept = jax.random.bernoulli(KEYS.next(), keep, a.shape)
    return jnp.where(kept, a / keep, 0)


NAMES = Spelled(
    exp=jnp.exp,
    log=jnp.log,
    tanh=jnp.tanh,
    sqrt=jnp.sqrt,
    sum=lambda a, axis: a.sum(axis=axis),
    mean=lambda a, axis: a.mean(axis=axis, keepdims=True),
    argmax=lambda a, axis: a.argmax(axis=axis),
    cumsum=lambda a, axis: jnp.cumsum(a, axis=axis),
    sort=jnp.sort,
    take=lambda a, order: jnp.take(a, order, axis=0),
    copy=jnp.copy,
    reverse=lambda a: a[:, ::-1],
    softmax=lambda a: jax.nn.softmax(a, axis=1),
    crossentropy=crossentropy,
    gradient=gradient,
    scan=scan,
    last_states=last_states,
    repeat=repeat,
    until=until,
    relu=jax.nn.relu,
    conv2d=conv2d,
    conv2d_by_images=conv2d_by_images,
    conv2d_by_filters=conv2d_by_filters,
    max_pool=max_pool,
    batch_norm=batch_norm,
    uniform=lambda n: jax.random.uniform(KEYS.next(), (n,)),
    normal=lambda n: jax.random.normal(KEYS.next(), (n,)),
    mrg=no_mrg,
    gamma=lambda k, n: jax.random.gamma(KEYS.next(), k, (n,)),
    poisson=lambda mean, n: jax.random.poisson(KEYS.next(), mean, (n,)),
    binomial=lambda most, p, n: jax.random.binomial(KEYS.next(), most, p, (n,)),
    permutation=lambda n: jax.random.permutation(KEYS.next(), n),
    dropout=dropout,
)


def prepare(row: Row, variant: str, place: str) -> Prepared:
    """On JAX's default device, which the environment settles."""
    if not row.compiled:
        raise NotOffered("only of eager libraries")
    jax.config.update("jax_default_matmul_precision", "highest")
    if any(array.dtype == np.float64 for array in row.data()):
        jax.config.update("jax_enable_x64", True)
    state = [jnp.asarray(array) for array in row.state()]
    data = [jnp.asarray(array) for array in row.data()]

    def work(state: Values, data: Values, *seeds: Any) -> tuple[Values, Values]:
        for seed in seeds:
            KEYS.start(seed)
        return row.work(NAMES, state, data)

    jitted = jax.jit(work, donate_argnums=0)
    kept: list[Values] = [state, []]
    seeds = map(np.uint32, count())

    def call() -> None:
        seed = [next(seeds)] if row.draws else []
        kept[0], outputs = jitted(kept[0], data, *seed)
        kept[1] = [np.asarray(output) for output in outputs] if row.to_host else outputs

    def resize(arrays: list[Array]) -> Call:
        data[:] = [jnp.asarray(array) for array in arrays]
        return call

    def peak() -> float:
        """As the compiler has planned it: operands, results and temporaries."""
        found = jitted.lower(kept[0], data).compile().memory_analysis()
        return float(
            found.argument_size_in_bytes
            + found.output_size_in_bytes
            + found.temp_size_in_bytes
            - found.alias_size_in_bytes
        )

    return Prepared(
        call,
        lambda: jax.block_until_ready(kept),
        lambda: [np.asarray(array) for array in (*kept[1], *kept[0])],
        resize,
        peak,
    )
