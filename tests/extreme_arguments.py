"""Programs at extreme arguments, between views that change nothing.

    python tests/extreme_arguments.py [--context opencl0:0] [--dtype float32] [NAME ...]

Each program is compiled with its gradient and its derivative along a direction, between
all views, and compared with the program in long doubles: NumPy as it is written. There
no exponential of what a float can say overflows below 11,000. Without a context the
rewritten graph is run by its references, which takes no kernels.
"""

import argparse
import warnings

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
from gpuarray.compiler import function, rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from run_graph import run_graph

LONG = np.longdouble


def softmax(m, x, axis=-1):
    if is_symbolic(m):
        return T.nnet.softmax(x, axis=axis)
    largest = x.max(axis=axis, keepdims=True, initial=-np.inf)
    powers = np.exp(x - largest)
    return powers / powers.sum(axis=axis, keepdims=True)


def logsoftmax(m, x, axis=-1):
    if is_symbolic(m):
        return T.nnet.logsoftmax(x, axis=axis)
    return np.log(softmax(m, x, axis))


def sigmoid(m, x):
    return T.nnet.sigmoid(x) if is_symbolic(m) else 1 / (1 + np.exp(-x))


def softplus(m, x):
    return T.nnet.softplus(x) if is_symbolic(m) else np.log1p(np.exp(x))


def lse(m, x, y):
    return m.log(m.exp(x) + m.exp(y))


PROGRAMS = {
    "exp": lambda m, x: m.exp(x),
    "log": lambda m, x: m.log(x),
    "log exp": lambda m, x: m.log(m.exp(x)),
    "log1p": lambda m, x: m.log1p(x),
    "log1p exp": lambda m, x: m.log1p(m.exp(x)),
    "log one plus": lambda m, x: m.log(1 + x),
    "log one plus exp": lambda m, x: m.log(1 + m.exp(x)),
    "exp minus one": lambda m, x: m.exp(x) - 1,
    "one minus exp": lambda m, x: 1 - m.exp(x),
    "expm1": lambda m, x: m.expm1(x),
    "log of expm1": lambda m, x: m.log(m.expm1(x)),
    "sigmoid": sigmoid,
    "sigmoid written": lambda m, x: 1 / (1 + m.exp(-x)),
    "sigmoid of exp": lambda m, x: m.exp(x) / (1 + m.exp(x)),
    "log sigmoid": lambda m, x: m.log(sigmoid(m, x)),
    "log sigmoid written": lambda m, x: m.log(1 / (1 + m.exp(-x))),
    "log of the other": lambda m, x: m.log(1 - sigmoid(m, x)),
    "cost": lambda m, x: -0.3 * m.log(sigmoid(m, x)) - 0.7 * m.log(1 - sigmoid(m, x)),
    "softplus": softplus,
    "tanh": lambda m, x: m.tanh(x),
    "tanh written": lambda m, x: (m.exp(x) - m.exp(-x)) / (m.exp(x) + m.exp(-x)),
    "softsign": lambda m, x: x / (1 + abs(x)),
    "log cosh": lambda m, x: m.log(m.cosh(x)),
    "root of square": lambda m, x: m.sqrt(x * x),
    "root of more": lambda m, x: m.sqrt(x * x + 1),
    "square": lambda m, x: x**2,
    "reciprocal": lambda m, x: 1 / x,
    "abs": lambda m, x: abs(x),
    "maximum": lambda m, x: m.maximum(x, 0.5),
    "minimum": lambda m, x: m.minimum(x, -0.5),
    "logaddexp": lambda m, x: lse(m, x, 0.5 * x),
    "arctan": lambda m, x: m.arctan(x),
    "arcsinh": lambda m, x: m.arcsinh(x),
    "times exp": lambda m, x: x * m.exp(-x),
    "gaussian": lambda m, x: m.exp(-x * x),
    "log gaussian": lambda m, x: m.log(m.exp(-x * x)),
    "swish": lambda m, x: x * sigmoid(m, x),
    "softmax": softmax,
    "softmax 0": lambda m, x: softmax(m, x, 0),
    "logsoftmax": logsoftmax,
    "log softmax": lambda m, x: m.log(softmax(m, x)),
    "entropy": lambda m, x: -(softmax(m, x) * logsoftmax(m, x)).sum(axis=-1),
    "share": lambda m, x: m.exp(x) / m.exp(x).sum(axis=-1, keepdims=True),
    "share of shifted": lambda m, x: softmax_by_hand(m, x),
    "log share": lambda m, x: m.log(m.exp(x) / m.exp(x).sum(axis=-1, keepdims=True)),
    "logsumexp": lambda m, x: m.log(m.exp(x).sum(axis=-1)),
    "logsumexp all": lambda m, x: m.log(m.exp(x).sum()),
    "logmeanexp": lambda m, x: m.log(m.exp(x).mean(axis=-1)),
    "three": lambda m, x: m.log(m.exp(x) + m.exp(-x) + m.exp(0.5 * x)),
    "mixture": lambda m, x: m.log(0.25 * m.exp(x) + 0.75 * m.exp(-x)),
    "norm": lambda m, x: m.sqrt((x * x).sum(axis=-1)),
    "mean": lambda m, x: x.mean(axis=-1),
    "variance": lambda m, x: x.var(axis=-1),
    "deviation": lambda m, x: x.std(axis=-1),
    "max": lambda m, x: x.max(axis=-1),
    "product": lambda m, x: x.prod(axis=-1),
    "sum": lambda m, x: x.sum(axis=-1),
    "normalised": lambda m, x: (
        (x - x.mean(axis=-1, keepdims=True)) / m.sqrt(x.var(axis=-1, keepdims=True) + 1)
    ),
    "switch": lambda m, x: m.where(x > 0, m.log(m.where(x > 0, x, 1)), x),
    "chosen log": lambda m, x: m.where(x > 0, m.log(x), 0.0),
    "chosen root": lambda m, x: m.where(x > 0, m.sqrt(x), 0.0),
    "clip": lambda m, x: m.clip(x, -1, 1),
}


def softmax_by_hand(m, x):
    powers = m.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


VIEWS = {
    "": lambda m, x: x,
    "turned": lambda m, x: x.T.T,
    "reshaped": lambda m, x: x.reshape((-1,)).reshape(x.shape),
    "sliced": lambda m, x: x[:, ::-1][:, ::-1],
    "new axis": lambda m, x: x[:, None][:, 0],
    "repeated": lambda m, x: (x[None] + m.zeros((2, 1, 1), x.dtype))[1],
    "times one": lambda m, x: x * 1,
    "cast": lambda m, x: x.astype("float64").astype(x.dtype),
    "switched": lambda m, x: m.where(m.isnan(x), x, x * 1),
    "joined": lambda m, x: m.concatenate([x, x])[: x.shape[0]],
}
OUTER = {
    "": lambda m, y: y,
    "turned": lambda m, y: y.T,
    "row": lambda m, y: y[:1],
    "flat": lambda m, y: y.reshape((-1,)),
    "doubled": lambda m, y: m.concatenate([y, y]),
    "cast": lambda m, y: y.astype("float64"),
}
LINES = [
    [0.0, -0.0, 1.0, -1.0],
    [1e-30, -1e-30, 1e-5, -1e-5],
    [700.0, 0.0, -700.0, 710.0],
    [710.0, 711.0, -710.0, -745.0],
    [89.0, 88.0, -104.0, 0.0],
    [1e4, -1e4, 0.0, 1.0],
    [1e4, 9999.0, 9998.0, 1e4],
    [-1e4, -9999.0, -1e4, -9998.0],
    [1e30, -1e30, 1.0, 0.0],
    [np.inf, 0.0, -np.inf, 1.0],
    [-np.inf, 0.0, -1.0, 2.0],
    [np.nan, 0.0, 1.0, -2.0],
    [-np.inf] * 4,
    [0.5] * 4,
]
SHAPES = [(2, 0), (0, 3), (1, 1), (3, 1)]


class Long(np.ndarray):
    """Long doubles, or floats of NumPy's, that a cast of the program leaves alone."""

    def astype(self, dtype):
        return self


class Host:
    """NumPy with the words of the programs."""

    def __getattr__(self, name):
        return getattr(np, name)

    def zeros(self, shape, dtype):
        return np.zeros(shape, "float16").view(Long)


class Symbols:
    """`T` with NumPy's names."""

    where, concatenate = staticmethod(T.switch), staticmethod(T.concatenate)

    def __getattr__(self, name):
        return getattr(T, name)


HOST, WORDS = Host(), Symbols()


def is_symbolic(m):
    return isinstance(m, Symbols)


def build(m, name, inner, outer, x):
    """The program between its views, in the words of NumPy or of `T`."""
    return OUTER[outer](m, PROGRAMS[name](m, VIEWS[inner](m, x)))


def on_host(name, inner, outer, x):
    with np.errstate(all="ignore"):
        return np.asarray(build(HOST, name, inner, outer, np.asarray(x).view(Long)))


def slope_on_host(name, inner, outer, x, along):
    """The derivative along a direction, by differences; nan where it has a corner."""
    x, along = x.astype(LONG), along.astype(LONG)
    with np.errstate(all="ignore"):
        h = LONG(1e-7)
        below, at, above = (
            on_host(name, inner, outer, x + step * along) for step in (-h, 0 * h, h)
        )
        left, right = (at - below) / h, (above - at) / h
        is_smooth = abs(left - right) <= 1e-3 * (abs(left) + abs(right)) + 1e-4
        return np.where(is_smooth, (above - below) / (2 * h), np.nan)


def arrays(dtype):
    for line in LINES:
        yield np.array([line, line[::-1], [0.5, 0.25, -0.25, 0.0]], dtype)
    for shape in SHAPES:
        yield np.full(shape, 0.3, dtype)


def weighted(m, y):
    """Results times numbers that sum to nothing by no chance."""
    return y * m.cos(m.arange(y.shape[-1]) + 1.5)


class Compiled:
    """A program's value and derivatives, on a context or by its rewritten graph."""

    def __init__(self, name, inner, outer, dtype, context):
        self.x, self.d = (T.matrix(each, dtype=dtype) for each in "xd")
        self.inputs = [self.x, self.d]
        y = build(WORDS, name, inner, outer, self.x)
        slope = (T.grad(weighted(T, y).sum(), self.x) * self.d).sum()
        outputs = [y, slope, T.Rop(y, self.x, self.d)]
        self.context = context
        if context is None:
            self.graph = FunctionGraph(self.inputs, outputs)
            rewrites.optimize(self.graph)
        else:
            with gpuarray.context(context):
                self.run = function(self.inputs, outputs, on_unused_input="ignore")

    def __call__(self, *values):
        with np.errstate(all="ignore"):
            if self.context is None:
                given = dict(zip(self.graph.inputs, values, strict=True))
                return [np.asarray(y) for y in run_graph(self.graph, given)]
            return [np.asarray(y) for y in self.run(*values)]


def differs(found, *accepted, rtol):
    """Where a result is none of those that are accepted."""
    wrong = np.ones(found.shape, bool)
    for each in accepted:
        with np.errstate(all="ignore"):
            scale = np.max(np.abs(each[np.isfinite(each)]), initial=0)
            close = abs(found - each) <= rtol * abs(each) + 1e-9 + rtol * min(scale, 1)
        wrong &= ~(close | (found == each) | (np.isnan(found) & np.isnan(each)))
    return wrong


def faults(compiled, names, x, dtype):
    """What is told of a program at one array."""
    rtol = {"float16": 1e-2, "float32": 2e-5, "float64": 1e-9}[dtype]
    along = np.resize(np.array([1.0, -0.5, 2.0, 0.25], dtype), x.shape)
    value, slope, moved = compiled(x, along)
    truth, written = (on_host(*names, x.astype(to)) for to in (LONG, dtype))
    if value.shape != truth.shape:
        yield f"shape {value.shape}, expected {truth.shape}"
        return
    truth = truth.astype(value.dtype)
    wrong = differs(value, truth, written.astype(value.dtype), rtol=rtol)
    if wrong.any():
        yield f"value {value[wrong][:3]}, expected {truth[wrong][:3]}"
    if not np.isfinite(x).all() or abs(x).max(initial=0) > 1e6:
        return  # differences say nothing there
    wanted = slope_on_host(*names, x, along).astype(value.dtype)
    known = np.isfinite(wanted) & np.isfinite(truth)
    wrong = known & differs(moved, wanted, rtol=max(rtol, 2e-4))
    if wrong.any():
        yield f"Rop {moved[wrong][:3]}, expected {wanted[wrong][:3]}"
    total = np.asarray(weighted(np, wanted).sum())
    if known.all() and differs(slope, total, rtol=max(10 * rtol, 2e-3)).any():
        yield f"grad {slope}, expected {total}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--context")
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--plain", action="store_true", help="without views")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    views = [(inner, "") for inner in VIEWS] + [("", outer) for outer in OUTER if outer]
    count = 0
    for name in options.names:
        for inner, outer in views[:1] if options.plain else views:
            names = (name, inner, outer)
            if outer == "turned" and on_host(name, "", "", np.ones((2, 2))).ndim < 2:
                continue
            try:
                compiled = Compiled(*names, options.dtype, options.context)
            except Exception as error:
                print(names, "is not made:", repr(error)[:200])
                continue
            for x in arrays(options.dtype):
                try:
                    told = list(faults(compiled, names, x, options.dtype))
                except Exception as error:
                    told = [f"raises {error!r}"[:200]]
                count += 1
                for line in told:
                    print(names, x[:1].tolist() if x.size else x.shape, line)
    print(count, "programs")


if __name__ == "__main__":
    main()
