"""Draws random expressions over the whole table, each with its values by NumPy."""

from __future__ import annotations

import random
import warnings
from contextlib import contextmanager

import gpuarray.compiler.tensor as T
import numpy as np
from evaluate import assert_type
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.graph.core import Constant, traced_as
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.scalars import SCALARS

SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, 1e30, -1e30, 1e-30, 37.0, -750.0]
# What depends on the last bit of its operands by design, or grows beyond all bounds.
# The product of where_nonzero must have the factor that it is masked by.
LEFT_OUT = {"nextafter", "mantissa", "exponent", "ldexp", "left_shift", "right_shift"}
LEFT_OUT |= {"where_nonzero"}
ROWS = sorted(set(SCALARS) - LEFT_OUT)
INPUTS = {
    "x": (3, 4), "y": (3, 4), "v": (4,), "r": (1, 4), "c": (3, 1), "s": (),
    "i": (3, 4), "k": (4,), "b": (3, 4),
}  # fmt: skip
FLOATS = ["float64", "float64", "float32", "float32", "float16"]
INTEGERS = ["int32", "int64", "int8", "uint8", "uint32", "int8", "uint8", "int16"]


@contextmanager
def quiet():
    """No warnings; and nodes do not look for the line that makes them."""
    with np.errstate(all="ignore"), warnings.catch_warnings(), traced_as(None):
        warnings.simplefilter("ignore")
        yield


class Values:
    """The values of variables by each op's reference; each is computed once."""

    def __init__(self, known):
        self.known = dict(known)

    def of(self, variable):
        """The value of a variable, and of all that it needs."""
        if isinstance(variable, Constant):
            return variable.data
        if variable not in self.known:
            for node in toposort([variable], blockers=self.known):
                self.run(node)
        return self.known[variable]

    def operands(self, node):
        """The inputs of a node; what it overwrites is a copy."""
        arrays = [self.of(each) for each in node.inputs]
        for indices in node.op.destroy_map.values():
            for index in indices:
                arrays[index] = np.array(arrays[index])
        return arrays

    def run(self, node):
        """Compute the outputs of a node, all inputs being known."""
        results = node.op.evaluate(node, self.operands(node))
        for output, result in zip(node.outputs, results, strict=True):
            assert_type(node, output.type, result)
            self.known.setdefault(output, result)


class Drawn:
    """An expression's inputs with their values, and its outputs."""

    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.values = Values({})
        with quiet():
            self.draw_inputs()
            self.draw()

    def draw(self):
        """Some expressions of the inputs, and some derivatives."""
        self.pool = list(self.inputs)
        for _ in range(self.random.randrange(4, 14)):
            self.grow()
        made = [each for each in self.pool if each.owner is not None]
        outputs = made[-1:] + self.random.sample(made, min(len(made), 4))
        if self.seed % 3 == 0:
            outputs += self.gradients(outputs)
        self.outputs = list(dict.fromkeys(outputs))

    def draw_inputs(self):
        kind = self.random.choice(FLOATS)
        for name, shape in INPUTS.items():
            dtype = self.random.choice([kind, kind, kind, *FLOATS])
            dtype = self.random.choice(INTEGERS) if name in "ik" else dtype
            dtype = "bool" if name == "b" else dtype
            pattern = tuple(length == 1 for length in shape)
            variable = T.tensor(dtype, pattern, name)
            self.values.known[variable] = self.array(dtype, shape)
        self.inputs = list(self.values.known)

    def array(self, dtype, shape):
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        if dtype in FLOATS:
            array = np.array(self.rng.normal(0, 1.5, shape), dtype)
            special = SPECIAL
        else:
            array = self.rng.integers(0 if dtype[0] == "u" else -5, 6, shape, dtype)
            special = ends(dtype)
        if self.random.random() < 0.3 and array.size:
            flat = array.reshape(-1)
            for _ in range(2):
                place = self.random.randrange(array.size)
                flat[place] = self.random.choice(special)
        return array

    def grow(self):
        """One more expression, if it is one and not too large."""
        for each in self.step():
            value = self.values.of(each)
            if value.size <= 400 and value.ndim <= 4:
                self.pool.append(each)

    def step(self):
        for _ in range(20):
            try:
                made = self.random.choice(STEPS)(self)
                several = made if isinstance(made, (list, tuple)) else [made]
                for each in several:
                    self.values.of(each)
                return several
            except (CompilerError, ValueError, TypeError, IndexError):
                continue  # not for these dtypes or shapes
        return [self.inputs[0] + 1]

    def shape(self, variable):
        return self.values.of(variable).shape

    def pick(self, ok=lambda each: True):
        found = [each for each in self.pool if ok(each)]
        return self.random.choice(found[-12:] if len(found) > 16 else found)

    def real(self, ndim=None):
        return self.pick(
            lambda e: (
                e.dtype in ("float64", "float32", "float16")
                and (ndim is None or e.ndim == ndim)
            )
        )

    def axis(self, x):
        return self.random.choice([None, *range(x.ndim)])

    def gradients(self, outputs):
        floats = [e for e in outputs if e.dtype in ("float32", "float64")]
        wrt = [e for e in self.inputs if e.dtype in ("float32", "float64")]
        if not floats or not wrt:
            return []
        cost = sum(each.sum() for each in floats)
        try:
            return T.grad(cost, wrt, disconnected_inputs="ignore")
        except (NotImplementedError, TypeError):
            return []  # of what has none


def ends(dtype):
    """Numbers near the ends of the range of a dtype."""
    if np.dtype(dtype).kind != "f":
        info = np.iinfo(dtype)
        return [info.max, info.max - 1, info.max // 2, info.min, info.min + 1]
    info = np.finfo(dtype)
    least = info.smallest_subnormal
    return [
        info.max,
        -info.max / 2,
        info.tiny,
        least,
        3 * least,
        info.eps,
        1 / info.eps,
    ]


def row(d):
    scalar = SCALARS[d.random.choice(ROWS)]
    first = d.pick()
    fits = [
        e
        for e in d.pool
        if e.ndim == 0
        or all(
            m == n or (m == 1 and f) or (n == 1 and g)
            for m, n, f, g in zip(
                d.shape(e)[::-1],
                d.shape(first)[::-1],
                e.broadcastable[::-1],
                first.broadcastable[::-1],
                strict=False,
            )
        )
    ]
    rest = [d.random.choice([*fits, 2, 0.5, 1, -1.0]) for _ in range(scalar.arity - 1)]
    operands = [first, *rest]
    if d.random.random() < 0.5:
        operands.reverse()
    return getattr(T, scalar.name)(*operands)


def arithmetic(d):
    x = d.real()
    y = d.pick(lambda e: e.ndim in (0, x.ndim) and e.dtype != "bool")
    if y.ndim and d.shape(y) != d.shape(x):
        y = d.random.choice([2, 0.5, -1, 1, 0, 3.0])
    k = d.random.randrange(7)
    return [x + y, x - y, x * y, x / y, y - x, y / x, -x][k]


def power(d):
    return d.real() ** d.random.choice([2, 3, -1, 0.5, -2, 4, 1, 0, 10, -0.5])


def stable(d):
    x = d.real()
    forms = [
        lambda: T.log(1 + T.exp(x)), lambda: T.log(1 + x), lambda: T.exp(x) - 1,
        lambda: 1 / (1 + T.exp(-x)), lambda: T.log(T.sigmoid(x)),
        lambda: T.log(1 - T.sigmoid(x)), lambda: x / x, lambda: x * (1 / x),
        lambda: T.exp(T.log(x)), lambda: T.log(T.exp(x)), lambda: T.sqrt(x**2),
        lambda: T.sqrt(x) ** 2, lambda: T.log(T.exp(x).sum()), lambda: x - x,
        lambda: T.exp(x) / (1 + T.exp(x)), lambda: T.log(1 - T.exp(x)),
        lambda: 1 - T.sigmoid(x), lambda: T.abs(x) * T.sign(x), lambda: 0 * x,
        lambda: T.log(x**2), lambda: 1 - T.erf(x), lambda: T.log(T.erfc(x)),
        lambda: T.exp(x) / T.exp(x).sum(), lambda: T.log(T.nnet.softmax(d.real(2))),
        lambda: T.switch(x > 0, x, 0), lambda: T.switch(T.isnan(x), 0, x),
        lambda: T.maximum(x, x), lambda: T.sigmoid(x) * T.sigmoid(-x),
        lambda: T.nnet.softmax(d.real(2)), lambda: T.nnet.logsoftmax(d.real(2)),
        lambda: x * 2 / 2, lambda: x * 1, lambda: x + 0, lambda: 0 - x,
        lambda: T.exp(x) * T.exp(-x), lambda: T.log(T.prod(x)), lambda: T.neg(T.neg(x)),
        lambda: T.nnet.elu(x), lambda: T.nnet.softplus(x), lambda: T.tanh(x) ** 2,
    ]  # fmt: skip
    return d.random.choice(forms)()


def reduction(d):
    x = d.pick()
    name = d.random.choice(["sum", "mean", "prod", "max", "min", "var", "std"])
    keep = d.random.random() < 0.3
    return getattr(T, name)(x, axis=d.axis(x), keepdims=keep)


def choice(d):
    x = d.pick()
    name = d.random.choice(["argmax", "argmin", "any", "all"])
    return getattr(T, name)(x, axis=d.axis(x))


def indexing(d):
    x = d.pick(lambda e: e.ndim > 0)
    picked = [slice(0, 2), slice(None, None, -1), slice(1, None), 0, -1, None]
    picked += [slice(None), slice(None, None, 2), [0, 1, 0], np.array([1, -1])]
    key = tuple(d.random.choice(picked) for _ in range(d.random.randint(1, x.ndim)))
    return x[key]


def by_values(d):
    x = d.pick(lambda e: e.ndim > 0)
    k = d.pick(lambda e: e.ndim == 1 and e.dtype.startswith("int"))
    mask = x > 0 if d.random.random() < 0.5 else T.isnan(T.cast(x, "float64"))
    return d.random.choice([lambda: x[T.mod(k, x.shape[0])], lambda: x[mask]])()


def change(d):
    x = d.pick(lambda e: e.ndim > 0 and e.dtype != "bool")
    part = x[d.random.choice([slice(0, 1), slice(None, None, 2), 0, [0, 1], [1, 1]])]
    new = d.random.choice([0, 1, part, d.pick(lambda e: e.ndim == 0)])
    return d.random.choice([T.set_subtensor, T.inc_subtensor])(
        part, T.cast(new, x.dtype)
    )


def shaping(d):
    x = d.pick()
    n = x.ndim
    forms = [
        lambda: x.T, lambda: x.flatten(), lambda: x.reshape((-1, 2)),
        lambda: x.dimshuffle("x", *range(n)), lambda: x.dimshuffle(*range(n), "x"),
        lambda: T.stack([x, x + x]), lambda: T.tile(x, (2,) * max(n, 1)),
        lambda: T.repeat(x, 2, d.axis(x)), lambda: T.roll(x, 1, d.axis(x)),
        lambda: T.join(0, x, x[::-1]), lambda: T.split(x, [1, x.shape[0] - 1], 2, 0),
        lambda: T.join(-1, x, x, x), lambda: x.dimshuffle(*reversed(range(n))),
        lambda: T.tril(x), lambda: T.triu(x, 1), lambda: T.diag(x), lambda: x.shape,
        lambda: T.shape_padleft(x), lambda: T.moveaxis(x, 0, -1), lambda: x.squeeze(),
        lambda: T.zeros_like(x), lambda: T.ones_like(x) * 3, lambda: T.fill(x, 2),
        lambda: T.alloc(x, 2, *(x.shape[a] for a in range(n))), lambda: T.trace(x),
        lambda: T.arange(x.shape[0]), lambda: T.eye(x.shape[0], x.shape[1]),
        lambda: T.broadcast_to(x, (2, *(x.shape[a] for a in range(n)))),
        lambda: T.pad(x, 1, "constant"), lambda: x.astype(d.random.choice(FLOATS)),
        lambda: T.cast(x > 0, d.random.choice(INTEGERS)),
    ]  # fmt: skip
    return d.random.choice(forms)()


def product(d):
    x = d.real(2)
    forms = [
        lambda: T.dot(x, x.T), lambda: T.dot(x.T, x), lambda: T.dot(x, d.real(1)),
        lambda: T.dot(d.real(1), d.real(1)), lambda: T.outer(d.real(1), d.real(1)),
        lambda: T.dot(x, d.real(2).T) * 0.5 + T.dot(x, d.real(2).T),
        lambda: T.dot(x.T, d.real(2)) - 2 * d.real(2),
        lambda: T.dot(d.real(1), d.real(2)) + d.real(1),
        lambda: T.tensordot(x, d.real(2), axes=[[0], [0]]),
        lambda: T.batched_dot(d.real(3), d.real(3).dimshuffle(0, 2, 1)),
    ]  # fmt: skip
    return d.random.choice(forms)()


def ordering(d):
    x = d.pick(lambda e: e.ndim > 0 and e.dtype != "bool")
    forms = [
        lambda: T.sort(x, d.axis(x)), lambda: T.cumsum(x, d.axis(x)),
        lambda: T.cumprod(x, d.axis(x)), lambda: T.diff(x, axis=0),
        lambda: T.argsort(x, d.axis(x)), lambda: T.ptp(x, d.axis(x)),
    ]  # fmt: skip
    return d.random.choice(forms)()


def chosen(d):
    """A choice between two values, one of them often no number on the other side."""
    x, y = d.real(), d.real(0)
    condition = d.random.choice(
        [x > 0, T.ge(x, y), T.isnan(x), ~T.isinf(x), T.eq(x, 0), T.lt(abs(x), 1)]
    )
    one = d.random.choice(
        [T.log(x), T.sqrt(x), 1 / x, x * T.log(x), T.exp(x) - 1, x**0.5, x, x / x, y]
    )
    other = d.random.choice([x, y, -x, 0, 1.0, np.nan, T.exp(x), T.log(x), 1 / x])
    forms = [
        lambda: T.switch(condition, one, other), lambda: T.where(condition, other, one),
        lambda: condition * one, lambda: T.switch(condition, one, 0) * x,
        lambda: one[condition.nonzero()], lambda: one[condition],
        lambda: T.maximum(one, other), lambda: T.minimum(one, other),
        lambda: T.clip(one, -1, y), lambda: T.clip(x, 2, -2), lambda: T.clip(x, y, 1),
        lambda: T.set_subtensor(one[condition], y), lambda: T.nnet.relu(one, 0.1),
        lambda: T.switch(condition, one, other).sum(d.axis(x)),
        lambda: T.switch(condition, T.switch(x < 1, one, y), other) + one,
    ]  # fmt: skip
    return d.random.choice(forms)()


def scaled(d):
    """Products, quotients and sums with constants near the ends of a dtype's range."""
    x, y = d.real(), d.real(0)
    a, b = (
        T.constant(np.array(n, x.dtype)) for n in d.random.choices(ends(x.dtype), k=2)
    )
    forms = [
        lambda: x * a * b, lambda: (x * a) / b, lambda: x / a / b, lambda: a / x * b,
        lambda: (x * a) * (y * b), lambda: (x + a) - b, lambda: x * a + y * a,
        lambda: (x * a).sum() * b, lambda: a * T.exp(x) * b, lambda: (a - x) - (a - y),
        lambda: T.maximum(x, a) * b, lambda: a * T.dot(x, x.T) * b, lambda: x - (x - a),
        lambda: T.sqrt(abs(x) * a) * b, lambda: T.log(abs(x) * a), lambda: (x * a) ** 2,
    ]  # fmt: skip
    return d.random.choice(forms)()


def wrapped(d):
    """Arithmetic of integers that leaves the range of their dtype."""
    x = d.pick(lambda e: e.dtype in INTEGERS)
    y = d.pick(lambda e: e.dtype in INTEGERS and e.ndim in (0, x.ndim))
    a, b = (
        T.constant(np.array(n, x.dtype)) for n in d.random.choices(ends(x.dtype), k=2)
    )
    forms = [
        lambda: x + a, lambda: x * a * b, lambda: a - x, lambda: (x + a) - b,
        lambda: x * a + x * b, lambda: T.int_div(x, a), lambda: x % a, lambda: -x * a,
        lambda: T.maximum(x + a, b), lambda: T.clip(x, -1000, 1000), lambda: x * x * a,
        lambda: T.cast(x + a, d.random.choice(INTEGERS)) * 2, lambda: x * y,
        lambda: T.eq(x + a, b), lambda: T.lt(x - a, y), lambda: (x + a).sum(d.axis(x)),
        lambda: abs(x - a), lambda: T.cast(x * a, "float32") * 2, lambda: x + a - x,
        lambda: T.int_div(x, y), lambda: x % y, lambda: T.sqr(x + a), lambda: x - y + a,
        lambda: x + y,
    ]  # fmt: skip
    return d.random.choice(forms)()


STEPS = [row] * 8 + [arithmetic] * 5 + [stable] * 6 + [reduction] * 3 + [power, choice]
STEPS += [indexing] * 2 + [by_values, change, product, ordering] + [shaping] * 3
STEPS += [chosen] * 4 + [scaled, wrapped] * 2
