"""Steps of a loop's body, of variables and of arrays alike; they are drawn by name.

All axes have as many elements, so whatever is made fits whatever else is there. A step
takes the functions of one of the two libraries, two operands of any dtype and of up to
two axes, and the loop's constants: a vector and a matrix.
"""

from __future__ import annotations

import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler import scan
from gpuarray.compiler.scan_module import until
from loops import by_turns


class Library:
    """The functions of a library, for a loop's dtype of floats and length of axes.

    Integers become of that dtype where a step needs a fraction.
    """

    def __init__(self, floats, size):
        self.floats = floats
        self.size = size


class Variables(Library):
    """The functions of variables."""

    def __getattr__(self, name):
        return getattr(T, name)

    def known(self, array):
        """A constant."""
        return T.constant(array)

    def repeated(self, x, ndim):
        """A value with more axes, of which none is known to have one element only."""
        return T.unbroadcast(T.broadcast_to(x, (self.size,) * ndim), *range(ndim))

    def set(self, x, key, value):
        """An array with other values in a part of it."""
        return T.set_subtensor(x[key], value)

    def increased(self, x, key, value):
        """An array with something added to a part of it."""
        return T.inc_subtensor(x[key], value)

    def loop(self, turn, sequences, infos, constants, n_steps, goes_back, checkpoint):
        """The traces of a loop; ``turn`` gives outputs and a condition or None."""

        def traced(*operands):
            outputs, condition = turn(*operands)
            return outputs if condition is None else (outputs, until(condition))

        options = {"go_backwards": goes_back, "checkpoint": checkpoint}
        loop = scan(traced, sequences, infos, constants, n_steps, **options)
        return loop[0]


class Arrays(Library):
    """The same functions of NumPy's arrays."""

    def __getattr__(self, name):
        return getattr(np, name)

    def cast(self, x, dtype):
        return np.asarray(x).astype(dtype)

    def known(self, array):
        return array

    def repeated(self, x, ndim):
        return np.broadcast_to(x, (self.size,) * ndim)

    def set(self, x, key, value):
        array = np.array(x)
        array[key] = value
        return array

    def increased(self, x, key, value):
        array = np.array(x)
        array[key] += value
        return array

    def loop(self, turn, sequences, infos, constants, n_steps, goes_back, _):
        def by_numpy(*operands):
            outputs, condition = turn(*operands)
            return outputs if condition is None else (outputs, condition)

        return by_turns(by_numpy, sequences, infos, constants, n_steps, goes_back)


# ---- operands of the dtypes and ranks that a step takes ----


def kind_of(x):
    return np.dtype(x.dtype).kind


def number(m, x):
    """An operand of arithmetic: truths are integers."""
    return m.cast(x, "int32") if kind_of(x) == "b" else x


def real(m, x):
    return m.real(x) if kind_of(x) == "c" else x


def small(x):
    """A number to be rounded with others: of an integer what is below 100."""
    return x % 100 if kind_of(x) == "i" else x


def floating(m, x):
    return x if kind_of(x) in "fc" else m.cast(small(x), m.floats)


def squashed(m, x):
    """A smooth function with values of no more than about 1."""
    x = floating(m, x)
    return x / (1 + m.abs(x)) if kind_of(x) == "c" else m.sin(x)


def ranked(m, x, ndim):
    """A value with a number of axes: summed over some, or repeated."""
    while x.ndim > ndim:
        x = m.sum(x, 0)
    if x.ndim < ndim and not is_stacked(m, x):
        return m.repeated(x, ndim)
    while x.ndim < ndim:
        x = m.stack([x] * m.size)
    return x


def is_stacked(m, x):
    """Whether values are stacked: few, and no integers.

    An element of stacked integers is no part that can be set.
    """
    return m.size == 3 and kind_of(x) not in "iu"


def typed(m, x, dtype):
    """A value in a dtype; of numbers with a fraction whether they are positive."""
    kind = np.dtype(dtype).kind
    x = small(x) if kind in "fc" else x
    if kind == "b" or (kind in "iu" and kind_of(x) in "fc"):
        x = real(m, x) > 0
    return m.cast(x if kind == "c" else real(m, x), dtype)


def like(m, x, other):
    """A value in the dtype and with the axes of another."""
    return typed(m, ranked(m, x, other.ndim), other.dtype)


def place(m, x):
    """An index of an axis, which depends on a value."""
    count = x if kind_of(x) in "iu" else real(m, x) > 0
    return m.cast(m.sum(count), "int64") % m.size


# ---- the steps ----


def on_numbers(function):
    """A step of two numbers."""

    def step(m, x, y, c):
        x, y = number(m, x), number(m, y)
        is_mixed = kind_of(x) != kind_of(y)
        return function(m, *(map(small, (x, y)) if is_mixed else (x, y)))

    return step


def on_reals(function):
    """A step of two numbers that are not complex."""
    return lambda m, x, y, c: function(m, real(m, x), real(m, y))


def on_floats(function):
    """A step of two numbers with a fraction."""
    return lambda m, x, y, c: function(m, floating(m, x), floating(m, y))


def on_arrays(function):
    """A step of an operand with axes; it leaves others as they are."""
    return lambda m, x, y, c: function(m, x, y) if x.ndim else x


def dot(m, x, y, c):
    x = small(number(m, x))
    x = x if x.ndim else x + number(m, c.vector)
    return squashed(m, m.dot(x, number(m, c.matrix)))


def product(m, x, y):
    return squashed(m, m.dot(x, y) if x.ndim and y.ndim else x * y)


def outer(m, x, y):
    return m.outer(x, y) if x.ndim == y.ndim == 1 else x + y


def column(m, x, y):
    return x[:, None] - ranked(m, y, max(y.ndim, 1)) if x.ndim == 1 else x * y


def half(m, x):
    return x * m.cast(0.5, x.dtype)


def cumulated(m, x, y):
    return m.cumsum(m.cast(x, "int64") if kind_of(x) in "iub" else x, 0)


def modulo(m, x, y, c):
    return number(m, x) % 5 if kind_of(x) in "iub" else x


def bits(m, x, y, c):
    if kind_of(x) in "iu" and kind_of(y) in "iu":
        return x ^ y
    return (real(m, x) > 0) & (real(m, y) > 0)


def first(m, x, y, c):
    return number(m, x[0] if x.ndim else x) + number(m, y)


def joined(m, x, y, c):
    if x.ndim == y.ndim == 0 and is_stacked(m, x) and is_stacked(m, y):
        return m.stack([x, y, x])
    return m.concatenate([ranked(m, x, 1)[1:], ranked(m, y, 1)[:1]])


def where(m, x, y, c):
    return m.where(real(m, x) > real(m, y), x, number(m, y))


def masked(m, x, y, c):
    return (real(m, x) > real(m, y)) * number(m, y)


def increased(m, x, y):
    x = number(m, x)
    return m.increased(x, slice(1, None), like(m, y, x[0]))


def cut(m, x, y):
    return m.sum(number(m, x)[: place(m, y) + 1], 0)


STEPS = {
    "add": on_numbers(lambda m, x, y: x + y),
    "sub": on_numbers(lambda m, x, y: x - y),
    "mul": on_numbers(lambda m, x, y: x * y),
    "div": on_floats(lambda m, x, y: x / (2 + m.abs(y))),
    "sin": on_floats(lambda m, x, y: squashed(m, x)),
    "tanh": on_reals(lambda m, x, y: m.tanh(floating(m, x))),
    "exp": on_reals(lambda m, x, y: m.exp(-(floating(m, x) ** 2))),
    "maximum": on_reals(lambda m, x, y: m.maximum(number(m, x), number(m, y))),
    "greater": on_reals(lambda m, x, y: x > y),
    "where": where,
    "masked": masked,
    "complement": on_numbers(lambda m, x, y: 1 - x),
    "scaled": on_floats(lambda m, x, y: half(m, x) - half(m, y)),
    "modulo": modulo,
    "bits": bits,
    "dot": dot,
    "product": on_numbers(product),
    "outer": on_numbers(outer),
    "column": on_numbers(column),
    "sum": on_numbers(lambda m, x, y: m.sum(x)),
    "rows": on_arrays(lambda m, x, y: m.sum(number(m, x), -1)),
    "mean": on_arrays(lambda m, x, y: m.mean(floating(m, x), 0)),
    "max": on_arrays(lambda m, x, y: m.max(real(m, x), -1)),
    "cumsum": on_arrays(cumulated),
    "reverse": on_arrays(lambda m, x, y: x[::-1]),
    "turned": on_arrays(lambda m, x, y: x.T),
    "first": first,
    "rolled": on_arrays(lambda m, x, y: m.concatenate([x[1:], x[:1]])),
    "joined": joined,
    "items": on_arrays(lambda m, x, y: x[np.arange(m.size) // 2]),
    "item": on_arrays(lambda m, x, y: x[place(m, y)]),
    "set": on_arrays(lambda m, x, y: m.set(x, -1, like(m, y, x[-1]))),
    "increased": on_arrays(increased),
}
HOST_STEPS = {"cut": on_arrays(cut)}
"""Steps for which a loop goes back to Python in each turn."""


def taken(pool, share):
    return pool[int(share * len(pool))]


def run_steps(m, steps, pool, constants):
    """Add to the pool what each of the drawn steps makes of two of its values."""
    for step, a, b in steps:
        pool.append(step(m, taken(pool, a), taken(pool, b), constants))


# ---- how a state goes on: of its value, a bounded term and a term of sequences ----

FORMS = {
    "new": lambda m, s, term, row: term,
    "sum": lambda m, s, term, row: s + term,
    "sum of rows": lambda m, s, term, row: row * row + s,
    "product": lambda m, s, term, row: s * term,
    "product of rows": lambda m, s, term, row: s * (row + 1),
    "affine": lambda m, s, term, row: row * s + term,
    "decay": lambda m, s, term, row: s * like(m, m.cast(0.5, m.floats), s) + term,
    "difference": lambda m, s, term, row: term - s,
}


def next_state(m, form, state, term, row):
    """The state after a turn, of the dtype and rank that it had."""
    if kind_of(state) == "b":
        return like(m, term, state) ^ state
    if kind_of(state) in "fc":
        term = squashed(m, term)
    return like(
        m, FORMS[form](m, state, like(m, term, state), like(m, row, state)), state
    )


class Inner:
    """A loop within a turn, over the rows of one value, with a state like another."""

    READS = ("last", "first", "total", "results", "product")

    def __init__(self, pick, steps, n_steps=(None, None, 1, 2)):
        self.steps = steps
        self.n_steps = pick.choice(n_steps)
        self.goes_back = pick.random() < 0.3
        self.stops = pick.random() < 0.2
        self.checkpoint = (
            "all" if self.stops else pick.choice(["all", "all", 2, "sqrt"])
        )
        self.form = pick.choice(list(FORMS))
        self.read = pick.choice(self.READS)

    def __call__(self, m, x, y, c):
        def turn(row, state, y):
            pool = [row, state, y]
            run_steps(m, self.steps, pool, c)
            state = next_state(m, self.form, state, pool[-1], row)
            stop = m.sum(real(m, state)) > 0.5 if self.stops else None
            return [state, pool[-1]], stop

        x, y = number(m, ranked(m, x, max(x.ndim, 1))), number(m, y)
        n_steps = self.n_steps and min(self.n_steps, m.size)
        states, results = m.loop(
            turn, [x], [y, None], [y], n_steps, self.goes_back, self.checkpoint
        )
        return {
            "last": lambda: states[-1],
            "first": lambda: results[0],
            "total": lambda: m.sum(states, 0),
            "results": lambda: m.sum(number(m, results), 0),
            "product": lambda: states[-1] * number(m, results)[-1],
        }[self.read]()
