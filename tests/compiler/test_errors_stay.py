"""What raises in the graph as it is written raises in every mode."""

import pickle

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Mode, config, function, grad, shared
from gpuarray.compiler.ops.slicing.requirements import Requires

MODES = {
    "FAST_RUN": "FAST_RUN",
    "FAST_COMPILE": "FAST_COMPILE",
    "DebugMode": "DebugMode",
    "exact": Mode().excluding("stabilize"),
    "unfused": Mode().excluding("fuse"),
}
AS_WRITTEN = Mode(optimizer=None)

X, Y, row = T.dmatrix("X"), T.dmatrix("Y"), T.drow("row")
x, y, a, n, k = (
    T.dvector("x"),
    T.dvector("y"),
    T.dscalar("a"),
    T.lscalar("n"),
    T.lvector("k"),
)
A, B = np.arange(12.0).reshape(3, 4), np.arange(8.0).reshape(2, 4)
u, v = np.arange(4.0), np.arange(3.0)

FAILING = {
    "set all": ([X, Y], T.set_subtensor(X[:], Y), [A, B]),
    "add to all": ([X, Y], T.inc_subtensor(X[:], Y) * 0, [A, B]),
    "set and read": ([X, Y], T.set_subtensor(X[1:], Y)[1:], [A, A]),
    "add nothing": ([X], T.inc_subtensor(X[[0, 99]], T.zeros_like(X[:2])), [A]),
    "add nothing there": ([x, k], T.inc_subtensor(x[k], 0.0), [u, [1, 9]]),
    "set to itself": ([x, k], T.set_subtensor(x[k], x[k]), [u, [1, 9]]),
    "set an element": ([X], T.set_subtensor(X[5], X[5]), [A]),
    "repeated axis": ([a, n], T.alloc(a, n, 4)[7], [1.0, 3]),
    "repeated axis, last": ([a, n], T.alloc(a, n, 4)[-4], [1.0, 3]),
    "repeated axis, index": ([a, n], T.alloc(a, n, 4)[n], [1.0, 3]),
    "negative length": ([a, n], T.alloc(a, n, 4)[:, 0] * 0, [1.0, -3]),
    "repeated, summed": ([a, n], T.alloc(a, n, 4)[:, 0].sum(), [0.0, -3]),
    "filled": ([row, X], (row + T.zeros_like(X))[5], [u[None], A]),
    "reshapes": ([x], x.reshape((2, -1)).reshape((-1,)), [v]),
    "reshape for a length": ([x], x.reshape((2, 2)).shape[0], [v]),
    "derivative only": ([x, y], grad((x * y).sum(), x), [u, v]),
    "zeros of a sum": ([x, y], T.zeros_like(x + y), [u, v]),
    "length of a sum": ([x, y], (x + y).shape[0], [u, v]),
    "length of a product": ([X, Y], T.dot(X, Y).shape[1], [A, A]),
    "zeros of a product": ([X, x], T.zeros_like(T.dot(X, x)), [A, v]),
    "batched": ([X, Y], T.zeros_like(T.batched_dot(X, Y)), [A, B]),
    "length 1": ([x, y], T.ones_like(x) + y, [np.ones(1), v]),
    "length 1 of many": ([x], T.addbroadcast(x, 0)[0] * 0 + x.shape[0], [v]),
    "said broadcast": ([x], T.unbroadcast(T.addbroadcast(x, 0), 0), [v]),
    "said shape": ([x], T.zeros_like(T.specify_shape(x, (4,))), [v]),
    "joined": ([X, Y], T.join(0, X, Y).shape[0], [A, A.T]),
    "joined, read": ([X, Y], T.join(0, X, Y)[:, 1:].shape[0], [A, A.T]),
    "split": ([x], sum(T.split(x, [2, 2], 2)).shape[0], [v]),
    "joined again": ([x], T.join(0, *T.split(x, [2, 2], 2)), [v]),
    "part of a part": ([x], x[:2][3], [u]),
    "element of a part": ([X], X[1:][:, 1:][2, 0], [A]),
    "element for a length": ([X], X[7].shape[0], [A]),
    "greatest of none": ([x], T.zeros_like(x.max()), [u[:0]]),
    "place of none": ([x], T.zeros_like(x.argmax()), [u[:0]]),
    "place in a column of none": ([X], T.zeros_like(X.argmin(0)), [A[:0]]),
    "places of two": ([X], T.zeros_like(X[[0, 1], [0, 4]]), [A]),
    "as long a mask": ([X, k], T.zeros_like(X[T.eq(k, 1)]) * 0, [A, [0, 1]]),
    "switch": ([x, y], T.switch(T.ge(x, x), x, y), [u, v]),
    "power": ([x, y], (x * y) ** 0 * T.ones_like(x), [u, v]),
}


def outcome(inputs, output, values, mode, context):
    """The result, or the builtin class of the error."""
    with config.use(device=context.name):
        f = function(inputs, output, mode=mode, on_unused_input="ignore")
        try:
            return f(*values)
        except (IndexError, ValueError) as error:
            return IndexError if isinstance(error, IndexError) else ValueError


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("case", FAILING.values(), ids=FAILING)
def test_what_raises_as_written_raises_in_every_mode(case, mode, context):
    expected = outcome(*case, AS_WRITTEN, context)
    assert expected in (IndexError, ValueError)
    assert outcome(*case, mode, context) is expected


def requirements_of(f):
    return [
        str(node) for node in f.maker.fgraph.toposort() if isinstance(node.op, Requires)
    ]


def test_a_shared_variable_keeps_its_value_and_shape_where_a_call_raises(context):
    with config.use(device=context.name, floatX="float64"):
        s = shared(A, name="s")
        f = function([Y], [], updates={s: T.set_subtensor(s[:], Y)})
        with pytest.raises(ValueError, match="set_subtensor"):
            f(B)
        np.testing.assert_array_equal(s.get_value(), A)
        f(A + 1)
        np.testing.assert_array_equal(s.get_value(), A + 1)
        g = function([Y, n], (s * Y)[n] * 0, updates={s: T.zeros_like(s * Y)})
        with pytest.raises(IndexError, match="out of bounds"):
            g(A, 3)
        np.testing.assert_array_equal(s.get_value(), A + 1)
        loaded = pickle.loads(pickle.dumps(f))
        with pytest.raises(ValueError, match="set_subtensor"):
            loaded(B)


def test_what_is_required_costs_no_launch_and_is_looked_at_once(context):
    with config.use(device=context.name):
        f = function([x, y], grad((x * y).sum(), x))
        plain = function([y], y * 1)
    assert len(requirements_of(f)) == 1
    assert f.plan.launches() == plain.plan.launches()
    np.testing.assert_array_equal(f(u, 2 * u), 2 * u)
    with pytest.raises(ValueError, match="do not broadcast"):
        f(u, v)
    np.testing.assert_array_equal(f(v, v), v)


def perceptron():
    weights = [shared(np.zeros(shape), name=f"w{i}") for i, shape in enumerate(SHAPES)]
    biases = [
        shared(np.zeros(shape[1]), name=f"b{i}") for i, shape in enumerate(SHAPES)
    ]
    hidden = X
    for w, b in zip(weights, biases, strict=True):
        hidden = T.tanh(T.dot(hidden, w) + b)
    labels = T.log(T.nnet.softmax(hidden))[T.arange(k.shape[0]), k]
    cost = -labels.mean() + 0.01 * sum((w**2).sum() for w in weights)
    parameters = [*weights, *biases]
    slopes = grad(cost, parameters)
    return (
        [X, k],
        cost,
        {p: p - 0.1 * g for p, g in zip(parameters, slopes, strict=True)},
    )


SHAPES = [(4, 5), (5, 3)]

ORDINARY = {
    "perceptron": perceptron,
    "differences": lambda: ([X], T.sqrt(((X[1:] - X[:-1]) ** 2).sum(1)), {}),
    "neighbours": lambda: ([X], grad((X[:, 1:] * X[:, :-1]).sum(), X), {}),
    "distances": lambda: (
        [X, Y],
        grad(T.sqrt(((X[:, None, :] - Y[None]) ** 2).sum(2)).sum(), X),
        {},
    ),
    "parts": lambda: (
        [X, n],
        grad(sum((p**2).sum() for p in T.split(X, [n, X.shape[0] - n], 2)), X),
        {},
    ),
    "scaled": lambda: ([X], grad((((X - X.mean(0)) / X.std(0)) ** 3).sum(), X), {}),
    "reshaped": lambda: ([X], X.reshape((X.shape[1], X.shape[0])).reshape((-1,)), {}),
    "halves": lambda: ([x], x[: x.shape[0] // 2] + x[x.shape[0] // 2 :], {}),
    "slices of slices": lambda: ([x, y], x[1:][2:] + y[3:], {}),
    "filled": lambda: ([X, n], T.alloc(0.0, n, X.shape[1]) + X, {}),
}


@pytest.mark.parametrize("program", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_programs_need_no_further_look(program, context):
    inputs, output, updates = program()
    with config.use(device=context.name):
        f = function(inputs, output, updates=updates)
    assert requirements_of(f) == []


def test_drawn_views_and_changes_raise_as_written_or_have_the_same_value(context):
    random = np.random.default_rng(23)
    raised = 0
    for _ in range(60):
        output = drawn(random, 4)
        values = [A, np.arange(12.0).reshape(random.choice([(3, 4), (4, 3), (2, 6)]))]
        inputs = [X, Y]
        expected = outcome(inputs, output, values, AS_WRITTEN, context)
        raised += isinstance(expected, type)
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            found = outcome(inputs, output, values, mode, context)
            if isinstance(expected, type) or isinstance(found, type):
                # Of several errors another one may come first.
                assert isinstance(expected, type) == isinstance(found, type)
            else:
                np.testing.assert_allclose(found, expected, atol=1e-9)
    assert 10 < raised < 55


MAKERS = [
    lambda one, other, i, j: one + other,
    lambda one, other, i, j: T.zeros_like(one) + other,
    lambda one, other, i, j: T.set_subtensor(one[i:], other),
    lambda one, other, i, j: T.set_subtensor(one[i], other[j]),
    lambda one, other, i, j: T.inc_subtensor(one[:, i:], T.zeros_like(other)),
    lambda one, other, i, j: T.set_subtensor(one[:], other)[i:],
    lambda one, other, i, j: one[i : i + 3],
    lambda one, other, i, j: T.alloc(other[i, j], *one.shape),
    lambda one, other, i, j: T.alloc(other[i], one.shape[0], other.shape[1])[j:],
    lambda one, other, i, j: one.reshape((2, -1)),
    lambda one, other, i, j: one.reshape((-1, 3)).reshape((3, -1)),
    lambda one, other, i, j: T.dot(one, other.T),
    lambda one, other, i, j: T.join(0, one, other)[i:],
    lambda one, other, i, j: T.join(1, one[:, :2], other)[:, j:],
    lambda one, other, i, j: T.ones_like(one[i]) * other,
    lambda one, other, i, j: one.max(0, keepdims=True) * T.zeros_like(other),
]


def drawn(random, steps):
    """A matrix of views, sums, changes and fills of two matrices."""
    known = [X, Y]
    for _ in range(steps):
        one, other = (known[i] for i in random.integers(len(known), size=2))
        i, j = random.integers(-3, 4, size=2).tolist()
        known.append(MAKERS[random.integers(len(MAKERS))](one, other, i, j))
    return known[-1]
