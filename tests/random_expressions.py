"""Random expressions over the whole table: optimized, unoptimized and with NumPy.

As a program it draws many, several to a function:
python tests/random_expressions.py --context cuda0 --cases 100000 --seed 1
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "compiler"))

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
from evaluate import evaluate
from gpuarray.compiler import Mode, config, function, rewrites
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.graph.core import Constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import toposort
from gpuarray.compiler.ops.elemwise import Elemwise
from gpuarray.compiler.rewrites.engine import RULES
from gpuarray.scalars import SCALARS

SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, 1e30, -1e30, 1e-30, 37.0, -750.0]
# What depends on the last bit of its operands by design, or grows beyond all bounds.
LEFT_OUT = {"nextafter", "mantissa", "exponent", "ldexp", "left_shift", "right_shift"}
ROWS = sorted(set(SCALARS) - LEFT_OUT)
RTOL = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}
RTOL |= {"complex64": 1e-4, "complex128": 1e-9}
SMOOTH = {"add", "sub", "mul", "neg", "abs", "square", "maximum", "minimum", "where"}
INPUTS = {
    "x": (3, 4), "y": (3, 4), "v": (4,), "r": (1, 4), "c": (3, 1), "s": (),
    "i": (3, 4), "k": (4,), "b": (3, 4),
}  # fmt: skip
FLOATS = ["float64", "float64", "float32", "float32", "float16"]
INTEGERS = ["int32", "int64", "int8", "uint8", "uint32"]


class Drawn:
    """An expression's inputs with their values, and its outputs."""

    def __init__(self, seed: int, has_gradient: bool = True) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.values = {}
        kind = self.random.choice(FLOATS)
        for name, shape in INPUTS.items():
            dtype = self.random.choice([kind, kind, kind, *FLOATS])
            dtype = self.random.choice(INTEGERS) if name in "ik" else dtype
            dtype = "bool" if name == "b" else dtype
            pattern = tuple(length == 1 for length in shape)
            self.values[T.tensor(dtype, pattern, name)] = self.array(dtype, shape)
        self.inputs = list(self.values)
        self.pool = list(self.inputs)
        for _ in range(self.random.randrange(4, 14)):
            self.grow()
        made = [each for each in self.pool if each.owner is not None]
        self.outputs = made[-1:] + self.random.sample(made, min(len(made), 4))
        if has_gradient and seed % 3 == 0:
            self.outputs += self.gradients()
        self.outputs = list(dict.fromkeys(self.outputs))

    def array(self, dtype, shape):
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        if dtype not in RTOL:
            return self.rng.integers(0 if dtype[0] == "u" else -5, 6, shape, dtype)
        array = np.array(self.rng.normal(0, 1.5, shape), dtype)
        if self.random.random() < 0.3 and array.size:
            flat = array.reshape(-1)
            for _ in range(2):
                with np.errstate(over="ignore"):
                    flat[self.random.randrange(array.size)] = self.random.choice(
                        SPECIAL
                    )
        return array

    def grow(self):
        """One more expression, if it is one and not too large."""
        made = self.step()
        for each in made if isinstance(made, (list, tuple)) else [made]:
            known = dict(self.values)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = evaluate(each, known)
            if value.size <= 400 and value.ndim <= 4:
                self.values[each] = value
                self.pool.append(each)

    def step(self):
        for _ in range(20):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    made = self.random.choice(STEPS)(self)
                    if made is not None:
                        one = made if isinstance(made, (list, tuple)) else [made]
                        with np.errstate(all="ignore"):
                            evaluate(list(one), dict(self.values))
                        return made
            except (CompilerError, ValueError, TypeError, IndexError):
                continue  # not for these dtypes or shapes
        return self.inputs[0] + 1

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

    def gradients(self):
        floats = [e for e in self.outputs if e.dtype in ("float32", "float64")]
        wrt = [e for e in self.inputs if e.dtype in ("float32", "float64")]
        if not floats or not wrt:
            return []
        try:
            with np.errstate(all="ignore"):
                found = T.grad(
                    sum(each.sum() for each in floats),
                    wrt,
                    disconnected_inputs="ignore",
                )
        except (NotImplementedError, TypeError):
            return []  # of what has none
        for each in found:
            with np.errstate(all="ignore"):
                self.values[each] = evaluate(each, dict(self.values))
        return found


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
                d.values[e].shape[::-1],
                d.values[first].shape[::-1],
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
    if y.ndim and d.values[y].shape != d.values[x].shape:
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


STEPS = [row] * 8 + [arithmetic] * 5 + [stable] * 6 + [reduction] * 3 + [power, choice]
STEPS += [indexing] * 2 + [by_values, change, product, ordering] + [shaping] * 3


# ---- the judge ----


class Uncertain:
    """How far NumPy's own values may be off, because of the roundings before them.

    The graph is computed again with every rounded result moved by a few last digits,
    up and down: what that changes, another order of computing may change, too.
    """

    def __init__(self, drawn, outputs):
        base = [
            each.data if isinstance(each, Constant) else drawn.values[each]
            for each in outputs
        ]
        self.spread = [np.zeros(each.shape) for each in base]
        for sign in range(4):
            for place, value in enumerate(nudged(drawn, outputs, sign)):
                with np.errstate(all="ignore"):
                    if np.shape(value) != np.shape(base[place]):
                        self.spread[place] = np.full(base[place].shape, np.inf)
                        continue
                    off = np.abs(wide(value) - wide(base[place]))
                off = np.where(same(value, base[place]), 0, off)
                off = np.where(np.isnan(off), np.inf, off)
                self.spread[place] = np.maximum(self.spread[place], off)


def wide(array):
    array = np.asarray(array)
    return array.astype(complex if array.dtype.kind == "c" else float)


def same(a, b):
    with np.errstate(all="ignore"):
        return (a == b) | ((a != a) & (b != b))


def nudged(drawn, outputs, sign):
    known = {each: drawn.values[each] for each in drawn.inputs}
    for number, node in enumerate(toposort(outputs, blockers=drawn.inputs)):
        arrays = [
            each.data if isinstance(each, Constant) else known[each]
            for each in node.inputs
        ]
        if is_rounded(node) and not isinstance(node.op, Elemwise):  # it adds in order
            arrays = [moved(node, np.asarray(each), number, sign) for each in arrays]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = node.op.evaluate(node, [np.array(each) for each in arrays])
        except (ValueError, IndexError):
            return [np.full((97,), np.nan)] * len(outputs)
        for output, result in zip(node.outputs, results, strict=True):
            known[output] = moved(node, np.asarray(result), number, sign)
    return [
        each.data if isinstance(each, Constant) else known[each] for each in outputs
    ]


MOVES = {"float16": 2, "float32": 16, "float64": 64}


def moved(node, value, number, sign):
    """The value some last digits off, where it was rounded."""
    if value.dtype.name not in MOVES or not is_rounded(node):
        return value
    up = ((np.arange(value.size) + number) % 2 == 0) ^ bool(sign & 1)
    up = up if sign & 2 else np.full(value.size, bool(sign & 1))
    with np.errstate(all="ignore"):
        step = np.spacing(np.abs(value)) * MOVES[value.dtype.name]
        other = value + np.where(up.reshape(value.shape), step, -step).astype(
            value.dtype
        )
        exact = ~np.isfinite(value)
        if is_arithmetic(node):
            exact |= (np.abs(value) < 1000) & (value == np.rint(value))
        return np.where(exact, value, other).astype(value.dtype)


def is_rounded(node):
    name = type(node.op).__name__
    return name in {
        "Elemwise", "Reduce", "Dot", "Gemm", "Gemv", "Ger", "BatchedDot", "Softmax",
        "LogSoftmax", "CumOp", "IncSubtensor", "AdvancedIncSubtensor1",
        "AdvancedIncSubtensor", "Sum", "Prod",
    }  # fmt: skip


def is_arithmetic(node):
    if not isinstance(node.op, Elemwise):
        return True
    return getattr(node.op.scalar, "name", "cast") in {*SMOOTH, "cast", "true_div"}


def unlike(got, expected, spread, is_stabilized):
    """How a result differs; empty if it does not, or if it is better."""
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        return f"shape {got.shape}, NumPy: {expected.shape}"
    if got.dtype != expected.dtype:
        return f"dtype {got.dtype}, NumPy: {expected.dtype}"
    rtol = RTOL.get(got.dtype.name, 0)
    if not got.size:
        return ""
    with np.errstate(all="ignore"):
        a, b = wide(got), wide(expected)
        near = np.abs(a - b) <= rtol * np.abs(b) + 10 * spread + rtol * 1e-3
        alike = near | same(a, b) | ~np.isfinite(spread)
        if got.dtype.name == "float16":
            alike |= (np.abs(b) > 6e4) & (np.abs(a) > 6e4)  # where it overflows
        if is_stabilized:
            alike |= ~np.isfinite(b)
    if alike.all():
        return ""
    place = tuple(int(n) for n in np.argwhere(~alike)[0])
    return f"{got[place]!r}, NumPy: {expected[place]!r} at {place} of {got.shape}"


STABILIZING = {rule.name for rule in RULES["stabilize"]}


def rewritten(drawn):
    """The first rewrite that changes a value, judged with NumPy; empty if none does."""
    fgraph = FunctionGraph(drawn.inputs, drawn.outputs)
    judged = Judged(drawn, fgraph)
    fgraph.listeners.append(judged.check)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rewrites.optimize(fgraph)
    return judged.found


class Judged:
    """Compares both sides of each rewrite of a graph."""

    def __init__(self, drawn, fgraph):
        self.drawn = drawn
        self.known = {
            new: drawn.values[old]
            for new, old in zip(fgraph.inputs, drawn.inputs, strict=True)
        }
        self.inputs = list(fgraph.inputs)
        self.is_stabilized = False
        self.found = ""

    def values(self, variable):
        if variable not in self.known and not isinstance(variable, Constant):
            blockers = {v: value for v, value in self.known.items()}
            self.known[variable] = evaluate(variable, blockers)
        return variable.data if isinstance(variable, Constant) else self.known[variable]

    def check(self, change):
        self.is_stabilized |= change.reason in STABILIZING
        if self.found:
            return
        before, after = self.values(change.before), self.values(change.after)
        if same(np.asarray(before), np.asarray(after)).all():
            return
        both = Copy(self.inputs, self.known)
        spread = Uncertain(both, [change.before]).spread[0]
        spread = np.maximum(spread, Uncertain(both, [change.after]).spread[0])
        both.values[change.before] = before
        if text := unlike(after, before, spread, self.is_stabilized):
            owner = change.before.owner
            self.found = f"{change.reason} of {owner}: {text}"


class Copy:
    """What `Uncertain` needs of a graph that is not drawn."""

    def __init__(self, inputs, values):
        self.inputs, self.values = inputs, values


# ---- on a device ----


class Batch:
    """Several expressions, compiled into one function."""

    def __init__(self, seeds):
        self.drawn = [Drawn(seed) for seed in seeds]
        self.inputs = [v for each in self.drawn for v in each.inputs]
        self.arguments = [each.values[v] for each in self.drawn for v in each.inputs]
        self.places = [(each, output) for each in self.drawn for output in each.outputs]
        self.uncertain = {}

    def spread(self, drawn):
        if drawn.seed not in self.uncertain:
            self.uncertain[drawn.seed] = Uncertain(drawn, drawn.outputs).spread
        return self.uncertain[drawn.seed]

    def differences(self, context, mode, is_stabilized):
        """What differs from NumPy: the case and how."""
        outputs = [output for _, output in self.places]
        with config.use(device=context.name):
            f = function(self.inputs, outputs, mode=mode, on_unused_input="ignore")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = f(*self.arguments)
        for (drawn, output), got in zip(self.places, results, strict=True):
            spread = self.spread(drawn)[drawn.outputs.index(output)]
            if text := unlike(got, drawn.values[output], spread, is_stabilized):
                yield drawn.seed, f"{output.owner}: {text}"


UNOPTIMIZED = Mode(optimizer=None)
OPTIMIZED = Mode()


def found(seeds, context, modes=("unoptimized", "optimized")):
    """The differences of a batch: seed, where, and how."""
    batch = Batch(seeds)
    for drawn in batch.drawn:
        if text := rewritten(drawn):
            yield drawn.seed, "rewritten", text
    for name in modes:
        mode = OPTIMIZED if name == "optimized" else UNOPTIMIZED
        try:
            for seed, text in batch.differences(context, mode, name == "optimized"):
                yield seed, name, text
        except Exception as error:
            if len(seeds) == 1:
                yield seeds[0], name, f"{type(error).__name__}: {error}"
                continue
            for seed in seeds:  # which of them raises
                yield from found([seed], context, [name])


def main():
    """Draw expressions; print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", required=True)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--batch", type=int, default=16, help="cases in a function")
    parser.add_argument("--short", action="store_true", help="no differences' texts")
    options = parser.parse_args()
    context = gpuarray.context(options.context)
    wrong: Counter[str] = Counter()
    done, end = 0, time.monotonic() + options.seconds
    while done < options.cases and time.monotonic() < end:
        count = min(options.batch, options.cases - done)
        first = options.seed + done
        for seed, where, text in found(list(range(first, first + count)), context):
            wrong[where] += 1
            if not options.short:
                print(f"seed {seed}, {where}: {text}"[:600], flush=True)
        done += count
    print(
        f"{options.context}, seed {options.seed}: {done} expressions: "
        f"{dict(wrong) or 'alike'}"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
