"""Theano's ``tensor.raw_random``: draws as functions of a random state.

Each returns the next state and the draw. The state is that of a generator of
`gpuarray.random`, three uint64, or `RandomStateType`, that of NumPy's RandomState,
which draws its own numbers on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.graph.types import dtype_name
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.index.picking import permute_row_elements
from gpuarray.compiler.ops.random import compound, host, vectors
from gpuarray.compiler.ops.random.draws import draw, draw_integers, lengths_of
from gpuarray.compiler.ops.random.host import RandomFunction as RandomFunction
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.dtypes import upcast

Drawn = tuple[Variable, Variable]

RandomStateType = host.StateType(host.STATE, (False,), "RandomStateType")
"""The type of the state of a numpy.random.RandomState; called, it makes a variable.

Its values are 628 integers; functions take a RandomState for them, too.
"""
random_state_type = RandomStateType


def as_random_state(value: Any) -> np.random.RandomState:
    """Return the generator of NumPy's in a state that a function returned.

    >>> from gpuarray.compiler import function
    >>> before = random_state_type()
    >>> after, drawn = normal(before, (2,), dtype="float64")
    >>> state, _ = function([before], [after, drawn])(np.random.RandomState(5))
    >>> expected = np.random.RandomState(5)
    >>> (as_random_state(state).normal(size=3) == expected.normal(size=5)[2:]).all()
    np.True_
    """
    return host.unpacked(np.asarray(value))


def _real_dtype(dtype: Any, *parameters: Any) -> str:
    """Return the dtype of a draw of reals: Theano's, floatX at least."""
    if dtype is not None:
        return dtype_name(dtype)
    kinds = [as_tensor_variable(value).type.dtype for value in parameters]
    return str(upcast(config.floatX, *kinds))


def _on_host(
    fn: str,
    state: Variable,
    size: Any,
    ndim: int | None,
    dtype: Any,
    *parameters: Any,
    more: int = 0,
    arrays: int | None = None,
) -> Drawn:
    """Return a draw of NumPy's; its result has ``more`` axes than the size."""
    values = [as_tensor_variable(value) for value in parameters]
    shaping = values if arrays is None else values[:arrays]
    lengths = list(lengths_of(fn, size, ndim, shaping))
    op = RandomFunction(fn, dtype, len(lengths) + more)
    after, drawn = op(state, lengths, *values)
    return after, drawn


def uniform(
    random_state: Any,
    size: Any = None,
    low: Any = 0.0,
    high: Any = 1.0,
    ndim: int | None = None,
    dtype: Any = None,
) -> Drawn:
    """Return the next state and uniform numbers in [low, high)."""
    kind = _real_dtype(dtype, low, high)
    if host.is_host_state(random_state):
        return _on_host("uniform", random_state, size, ndim, kind, low, high)
    return draw("uniform", random_state, (low, high), size, ndim, kind)


def normal(
    random_state: Any,
    size: Any = None,
    avg: Any = 0.0,
    std: Any = 1.0,
    ndim: int | None = None,
    dtype: Any = None,
) -> Drawn:
    """Return the next state and normal numbers, of deviation ``std`` about ``avg``."""
    kind = _real_dtype(dtype, avg, std)
    if host.is_host_state(random_state):
        return _on_host("normal", random_state, size, ndim, kind, avg, std)
    return draw("normal", random_state, (avg, std), size, ndim, kind)


def binomial(
    random_state: Any,
    size: Any = None,
    n: Any = 1,
    p: Any = 0.5,
    ndim: int | None = None,
    dtype: Any = "int64",
    prob: Any = None,
) -> Drawn:
    """Return the next state and numbers of successes in ``n`` trials.

    ``prob`` is Theano's former name of ``p``.
    """
    share = p if prob is None else prob
    if host.is_host_state(random_state):
        return _on_host("binomial", random_state, size, ndim, dtype, n, share)
    trials = as_tensor_variable(n)
    if (
        isinstance(trials, Constant)
        and trials.data.size == 1
        and trials.data.item() == 1
    ):
        after, drawn = draw(
            "bernoulli", random_state, (share,), size, ndim, "bool", "binomial"
        )
        return after, math.cast(drawn, dtype)
    return draw("binomial", random_state, (n, share), size, ndim, dtype)


def poisson(
    random_state: Any,
    size: Any = None,
    lam: Any = 1.0,
    ndim: int | None = None,
    dtype: Any = "int64",
) -> Drawn:
    """Return the next state and numbers of Poisson's distribution of mean ``lam``."""
    if host.is_host_state(random_state):
        return _on_host("poisson", random_state, size, ndim, dtype, lam)
    return draw("poisson", random_state, (lam,), size, ndim, dtype)


def random_integers(
    random_state: Any,
    size: Any = None,
    low: Any = 0,
    high: Any = 1,
    ndim: int | None = None,
    dtype: Any = "int64",
) -> Drawn:
    """Return the next state and integers from ``low`` to ``high``, both included."""
    if host.is_host_state(random_state):
        return _on_host("random_integers", random_state, size, ndim, dtype, low, high)
    end = math.add(as_tensor_variable(high), 1)
    name = "random_integers"
    if isinstance(high, (int, np.integer)):
        end = as_tensor_variable(int(high) + 1)
    return draw_integers(random_state, low, end, size, ndim, dtype, name)


def choice(
    random_state: Any,
    size: Any = (),
    a: Any = 2,
    replace: Any = True,
    p: Any = None,
    ndim: int | None = None,
    dtype: Any = "int64",
) -> Drawn:
    """Return the next state and choices of the integers below ``a``, or of a vector."""
    lengths = () if size is None else size
    if not host.is_host_state(random_state):
        return compound.choice(random_state, a, lengths, bool(replace), p, ndim, dtype)
    given = [] if p is None else [p]
    pool = as_tensor_variable(a)
    kind = pool.type.dtype if pool.type.ndim else dtype
    return _on_host(
        "choice", random_state, lengths, ndim, kind, pool, bool(replace), *given,
        arrays=0,
    )  # fmt: skip


def permutation(
    random_state: Any,
    size: Any = None,
    n: Any = 1,
    ndim: int | None = None,
    dtype: Any = "int64",
) -> Drawn:
    """Return the next state and permutations of the integers below ``n``."""
    lengths = () if size is None else size
    if host.is_host_state(random_state):
        return _on_host("permutation", random_state, lengths, ndim, dtype, n, more=1)
    return compound.permutation(random_state, n, lengths, ndim, dtype)


def multinomial(
    random_state: Any,
    size: Any = None,
    n: Any = 1,
    pvals: Any = (0.5, 0.5),
    ndim: int | None = None,
    dtype: Any = "int64",
) -> Drawn:
    """Return the next state and how often each outcome comes in ``n`` draws.

    The last axis of ``pvals`` are the outcomes.
    """
    if not host.is_host_state(random_state):
        return compound.multinomial(random_state, n, pvals, size, ndim, dtype)
    p = as_tensor_variable(pvals)
    if p.type.ndim == 0:
        raise GraphValueError(f"multinomial: pvals is {p.type}, expected a vector")
    if size is None:
        rows = [index(p, (..., 0)), as_tensor_variable(n)]
        size = list(lengths_of("multinomial", None, ndim, rows))
        ndim = None
    return _on_host(
        "multinomial", random_state, size, ndim, dtype, n, p, more=1, arrays=0
    )


def dirichlet(
    random_state: Any,
    size: Any = None,
    alpha: Any = (1.0, 1.0),
    ndim: int | None = None,
    dtype: Any = None,
) -> Drawn:
    """Return the next state and vectors of shares that add to one.

    The last axis of ``alpha`` are the shares.
    """
    kind = _real_dtype(dtype, alpha)
    if not host.is_host_state(random_state):
        return vectors.dirichlet(random_state, alpha, size, ndim, kind)
    lengths = () if size is None else size
    return _on_host(
        "dirichlet", random_state, lengths, ndim, kind, alpha, more=1, arrays=0
    )


def multivariate_normal(
    random_state: Any,
    size: Any = None,
    mean: Any = (0.0, 0.0),
    cov: Any = ((1.0, 0.0), (0.0, 1.0)),
    ndim: int | None = None,
    dtype: Any = None,
) -> Drawn:
    """Return the next state and normal vectors of a mean and a covariance matrix."""
    kind = _real_dtype(dtype, mean, cov)
    if not host.is_host_state(random_state):
        return vectors.multivariate_normal(random_state, mean, cov, size, ndim, kind)
    lengths, name = () if size is None else size, "multivariate_normal"
    return _on_host(
        name, random_state, lengths, ndim, kind, mean, cov, more=1, arrays=0
    )


def shuffle_row_elements(random_state: Any, x: Any) -> Drawn:
    """Return the next state and ``x`` with each row in a random order of its own."""
    if not host.is_host_state(random_state):
        return compound.shuffle_row_elements(random_state, x)
    array = as_tensor_variable(x)
    lengths = [shape_i(array, axis) for axis in range(array.type.ndim)]
    after, order = permutation(random_state, lengths[:-1], lengths[-1])
    return after, permute_row_elements(array, order)


suggest_names(__name__)
