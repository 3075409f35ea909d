"""Draws made of others: of several outcomes, with and without replacement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Constant, Variable, constant
from gpuarray.compiler.graph.types import dtype_name
from gpuarray.compiler.ops.control.gradient_markers import without_gradient
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.index.picking import take
from gpuarray.compiler.ops.random.draws import (
    draw,
    draw_bits,
    draw_integers,
    lengths_of,
)
from gpuarray.compiler.ops.reduce.reduce import sum as sum_of
from gpuarray.compiler.ops.shape.shape import as_shape, dimshuffle, reshape, shape_i
from gpuarray.compiler.ops.sorting.extra_ops import searchsorted
from gpuarray.compiler.ops.sorting.scanning import cumsum
from gpuarray.compiler.ops.sorting.sorting import ArgSortRandom, argsort
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

_TOLERANCE = 1e-6
Drawn = tuple[Variable, Variable]


def permutation(
    state: Any, n: Any, size: Any = (), ndim: int | None = None, dtype: Any = "int64"
) -> Drawn:
    """Return the next state and permutations of the integers below ``n``.

    Their shape is ``size`` and one axis more. 64 random bits are sorted for each.
    """
    length = _scalar("permutation", "n", n)
    outer = lengths_of("permutation", size, ndim, [])
    after, bits = draw_bits(state, [*outer, length], "permutation")
    return after, math.cast(ArgSortRandom(-1)(bits), dtype)


def shuffle_row_elements(state: Any, x: Any) -> Drawn:
    """Return the next state and ``x`` with each row in a random order of its own."""
    array = as_tensor_variable(x)
    if array.type.ndim == 0:
        raise GraphTypeError(
            f"shuffle_row_elements: given {array.type}, expected at least one axis"
        )
    lengths = [shape_i(array, axis) for axis in range(array.type.ndim)]
    after, bits = draw_bits(state, lengths, "shuffle_row_elements")
    rows, row = reshape(array, (-1, lengths[-1])), lengths[-1]
    order = reshape(ArgSortRandom(-1)(bits), (-1, row))
    starts = dimshuffle(counted(shape_i(rows, 0)), 0, "x") * row
    shuffled = take(reshape(rows, (-1,)), reshape(order + starts, (-1,)))
    return after, reshape(shuffled, lengths)


def shuffle(state: Any, x: Any, axis: int = 0) -> Drawn:
    """Return the next state and ``x`` with its parts along an axis in random order."""
    array = as_tensor_variable(x)
    if not -array.type.ndim <= axis < array.type.ndim:
        raise GraphValueError(f"shuffle: axis {axis} of {array.type}")
    at = axis % array.type.ndim
    after, order = permutation(state, shape_i(array, at))
    return after, take(array, order, at)


def choice(
    state: Any,
    a: Any = 2,
    size: Any = (),
    replace: bool = True,
    p: Any = None,
    ndim: int | None = None,
    dtype: Any = "int64",
) -> Drawn:
    """Return the next state and choices of the integers below ``a``, or of a vector.

    ``p`` are their probabilities. Without ``replace`` none comes twice.
    """
    pool = as_tensor_variable(a)
    if pool.type.ndim > 1:
        raise GraphTypeError(
            f"choice: a is {pool.type}, expected an integer or a vector"
        )
    is_vector = pool.type.ndim == 1
    count = shape_i(pool, 0) if is_vector else _scalar("choice", "a", pool)
    weights = None if p is None else probabilities("choice", "p", p, 1)
    _check_count(pool, weights)
    lengths = lengths_of("choice", size, ndim, [])
    pick = _with_replacement if replace else _without_replacement
    after, places = pick(state, count, lengths, weights)
    chosen = take(pool, places) if is_vector else math.cast(places, dtype)
    return after, chosen if weights is None else marked("choice", chosen, weights)


def _check_count(pool: Variable, p: Variable | None) -> None:
    """Raise ValueError for constants of which there are not as many as outcomes."""
    if not (isinstance(p, Constant) and isinstance(pool, Constant)):
        return
    count = len(pool.data) if pool.type.ndim else int(pool.data)
    if len(p.data) != count:
        raise GraphValueError(
            f"choice: p has {len(p.data)} numbers, expected {count}, one for each "
            "outcome"
        )


def _with_replacement(
    state: Any, count: Variable, lengths: Sequence[Variable], p: Variable | None
) -> Drawn:
    if p is None:
        zero = constant(0, "int64")
        return draw_integers(state, zero, count, list(lengths), name="choice")
    after, units = draw("uniform", state, (0.0, 1.0), list(lengths), dtype=p.type.dtype)
    below = cumsum(p)
    places = searchsorted(below, math.cast(units * below[-1], p.type.dtype), "right")
    return after, math.minimum(places, count - 1)


def _without_replacement(
    state: Any, count: Variable, lengths: Sequence[Variable], p: Variable | None
) -> Drawn:
    number: Any = constant(1, "int64")
    for length in lengths:
        number = number * math.cast(length, "int64")
    if isinstance(count, Constant) and all(isinstance(n, Constant) for n in lengths):
        given = int(np.prod([int(n.data) for n in lengths if isinstance(n, Constant)]))
        if given > int(count.data):
            raise GraphValueError(
                f"choice: {given} of {int(count.data)} without replacement"
            )
    if p is None:
        after, order = permutation(state, count)
    else:
        # The shortest waiting times with these rates are draws in order.
        kind = p.type.dtype
        after, times = draw("exponential", state, (1.0,), [count], dtype=kind)
        order = argsort(times / p)
    return after, reshape(order[:number], as_shape("choice", list(lengths)))


def multinomial(
    state: Any,
    n: Any = 1,
    pvals: Any = (0.5, 0.5),
    size: Any = None,
    ndim: int | None = None,
    dtype: Any = "int64",
) -> Drawn:
    """Return the next state and how often each outcome comes in ``n`` draws.

    The last axis of ``pvals`` are the outcomes; ``size`` is the shape without it, by
    default that of the other axes. ``n`` is an integer.
    """
    draws = _scalar("multinomial", "n", n)
    p = as_tensor_variable(pvals)
    p = probabilities("multinomial", "pvals", p, p.type.ndim)
    rows = index(p, (..., 0))
    if size is None:
        lengths = [shape_i(p, axis) for axis in range(p.type.ndim - 1)]
    else:
        lengths = list(lengths_of("multinomial", size, ndim, [rows]))
    kind, outer = p.type.dtype, len(lengths)
    after, units = draw("uniform", state, (0.0, 1.0), [*lengths, draws], dtype=kind)
    below = cumsum(p, p.type.ndim - 1)
    # The outcome is the number of running sums that do not exceed the uniform number;
    # the last one's is taken as 1.
    inner = index(below, (..., slice(None, -1)))
    lead = ["x"] * (outer - (p.type.ndim - 1))
    axes = list(range(p.type.ndim - 1))
    sums = dimshuffle(inner, *lead, *axes, "x", p.type.ndim - 1)
    places = sum_of(math.le(sums, dimshuffle(units, *range(outer + 1), "x")), -1)
    outcomes = dimshuffle(counted(shape_i(p, p.type.ndim - 1)), *["x"] * (outer + 1), 0)
    hits = math.eq(dimshuffle(places, *range(outer + 1), "x"), outcomes)
    counts = math.cast(sum_of(math.cast(hits, "int64"), outer), dtype)
    return after, marked("multinomial", counts, p)


def probabilities(name: str, word: str, given: Any, ndim: int) -> Variable:
    """Return probabilities as float32 or float64.

    Raises ValueError for constants below 0, or that do not add to 1.
    """
    p = as_tensor_variable(given)
    if p.type.ndim != ndim or ndim == 0:
        raise GraphTypeError(
            f"{name}: {word} is {p.type}, expected "
            f"{'a vector' if ndim < 2 else 'rows'} of probabilities"
        )
    if p.type.dtype not in ("float32", "float64"):
        p = math.cast(p, "float32" if p.type.dtype == "float16" else "float64")
    if isinstance(p, Constant):
        sums = np.asarray(p.data, "float64").sum(-1)
        if (np.asarray(p.data) < 0).any():
            raise GraphValueError(
                f"{name}: {word} has {np.asarray(p.data).min():g}, expected "
                "probabilities from 0 on"
            )
        wrong = sums[np.abs(sums - 1) > _TOLERANCE * max(1, p.data.shape[-1])]
        if np.size(wrong):
            raise GraphValueError(
                f"{name}: {word} add to {np.ravel(wrong)[0]:g}, expected 1"
            )
    return p


def marked(name: str, drawn: Variable, p: Variable) -> Variable:
    """Return a draw whose gradient by its probabilities is an error."""
    return without_gradient(
        drawn,
        [p],
        f"a draw of {name} has no gradient by its probabilities: its result is an "
        "integer; stop the gradient with consider_constant",
    )


def _scalar(name: str, word: str, given: Any) -> Variable:
    """Return an integer of the host or a scalar, as int64."""
    value = as_tensor_variable(given)
    if value.type.ndim != 0 or dtype_name(value.type.dtype)[0] not in "iu":
        raise GraphTypeError(f"{name}: {word} is {value.type}, expected an integer")
    if not isinstance(value, Constant):
        return math.cast(value, "int64")
    if int(value.data) < 0:
        raise GraphValueError(
            f"{name}: {word} is {int(value.data)}, expected 0 or more"
        )
    return constant(int(value.data), "int64")
