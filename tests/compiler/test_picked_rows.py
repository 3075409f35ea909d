"""One element of each row by an index of arrays: a place in a program of rows."""

from itertools import pairwise

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, rewrites, shared
from gpuarray.compiler.gpukernels.rows import body
from gpuarray.compiler.graph.core import Constant
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.fused.rowwise import Rowwise
from gpuarray.compiler.ops.nnet.nnet import FirstRows
from run_graph import run_graph


@pytest.fixture(params=["one launch", "walks"])
def way(request, monkeypatch, new_plans):
    """Both ways of computing a program, whatever suits the device."""
    answer = request.param == "walks"
    monkeypatch.setattr(body, "prefers_walks", lambda s, *_: s.integer(answer))


def likelihood(scores, y):
    shares = T.nnet.softmax(scores)
    return -T.mean(T.log(shares)[T.arange(y.shape[0]), y])


def crossentropy(scores, y):
    return T.nnet.categorical_crossentropy(T.nnet.softmax(scores), y).mean()


def new(*shape):
    values = np.random.default_rng(0).normal(size=shape)
    return shared((values / 10).astype("float32"))


def training_step(cost, layers):
    """The plan of a step of gradient descent of a network of so many layers."""
    x, y = T.fmatrix("x"), T.ivector("y")
    sizes = [20, 15, 10] if layers == 2 else [20, 10]
    h, weights = x, []
    for i, (n, m) in enumerate(pairwise(sizes)):
        weights += [new(n, m), new(m)]
        h = T.dot(T.tanh(h) if i else h, weights[-2]) + weights[-1]
    total = cost(h, y)
    slopes = grad(total, weights)
    rate = np.float32(0.1)
    updates = [(w, w - rate * g) for w, g in zip(weights, slopes, strict=True)]
    with config.use(device="null"):
        return function([x, y], total, updates=updates).plan


@pytest.mark.parametrize(("layers", "launches"), [(1, 5), (2, 11)])
def test_a_step_by_an_index_is_launched_as_one_by_crossentropy(layers, launches):
    plans = [training_step(cost, layers) for cost in (likelihood, crossentropy)]
    assert [plan.launches() for plan in plans] == [launches, launches]
    for plan in plans:
        rows = [step for step in plan.steps if step.label.startswith("rows: ")]
        assert len(rows) == 1 and "pick" in rows[0].label
        assert not any("subtensor" in step.label for step in plan.steps)


def test_a_minibatch_of_a_shared_data_set_is_picked_from_too():
    data, labels, i = new(100, 20), shared(np.zeros(100, "f4")), T.lscalar("i")
    x, y, w = T.fmatrix("x"), T.ivector("y"), new(20, 10)
    part = slice(i * 5, (i + 1) * 5)
    with config.use(device="null"):
        f = function(
            [i],
            likelihood(T.dot(x, w), y),
            givens={x: data[part], y: T.cast(labels[part], "int32")},
        )
    assert not any("advanced" in step.label for step in f.plan.steps)


def test_values_of_first_rows_are_read_and_not_computed_again():
    x, u = T.dmatrix("x"), T.dvector("u")
    value = T.sqr(u) + 1
    first = FirstRows()(value, value.shape[0], x.shape[0])
    y = x * value.dimshuffle(0, "x") + first.dimshuffle(0, "x")
    share = y / y.sum(axis=1, keepdims=True)
    values = {x: np.arange(1.0, 13).reshape(4, 3), u: np.arange(4.0)}
    for outputs in ([share], [share, value]):
        fgraph = FunctionGraph([x, u], outputs)
        wanted = run_graph(fgraph, values)
        rewrites.optimize(fgraph)
        (rows,) = (n for n in fgraph.toposort() if isinstance(n.op, Rowwise))
        assert "square" not in str(rows.op)
        for left, right in zip(run_graph(fgraph, values), wanted, strict=True):
            np.testing.assert_allclose(left, right)


def softmax(x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_values_and_slopes_are_those_of_numpy(dtype, first_context, way):
    x, b, y = T.fmatrix("x"), T.fvector("b"), T.TensorType(dtype, (False,))("y")
    cost = likelihood(x + b, y)
    with config.use(device=str(first_context.name)):
        f = function([x, b, y], [cost, grad(cost, x), grad(cost, b)])
    rng = np.random.default_rng(1)
    for rows, count in ((8, 8), (8, 5), (1, 1), (6, 1), (70, 70), (5, 0)):
        values, shift = (rng.normal(size=s).astype("f4") for s in ((rows, 10), 10))
        low = 0 if dtype[0] == "u" else -10
        labels = rng.integers(low, 10, size=count).astype(dtype)
        shares = softmax((values + shift).astype("f8"))
        picked = np.arange(count), labels.astype("int64")
        with np.errstate(all="ignore"):
            wanted = -np.log(shares[picked]).sum() / count
            slope = np.zeros((rows, 10))
            slope[:count] = shares[:count]
            slope[picked] -= 1
            slope /= max(count, 1)
        got = [np.asarray(each) for each in f(values, shift, labels)]
        np.testing.assert_allclose(got[0], wanted, rtol=1e-5)
        np.testing.assert_allclose(got[1], slope, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(got[2], slope.sum(0), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("wrong", [10, -11])
def test_an_index_in_no_row_is_told_though_only_the_slope_is_asked(
    wrong, first_context, way
):
    x, y = T.fmatrix("x"), T.ivector("y")
    cost = likelihood(x, y)
    values, labels = np.zeros((50, 10), "f4"), np.zeros(50, "i4")
    labels[7] = wrong
    with gpuarray.context(first_context), config.use(device=str(first_context.name)):
        for results in (cost, grad(cost, x)):
            f = function([x, y], results)
            with pytest.raises(IndexError, match=rf"index {wrong} .*length 10.*pick"):
                np.asarray(f(values, labels))
            np.asarray(f(values, np.zeros(50, "i4")))


def test_more_labels_than_rows_are_told(first_context, way):
    x, y = T.fmatrix("x"), T.ivector("y")
    with config.use(device=str(first_context.name)):
        for mode in ({}, {"fuse": False}):
            with config.use(**mode):
                f = function([x, y], likelihood(x, y))
            with pytest.raises(IndexError, match="index 4 is out of bounds"):
                f(np.zeros((3, 10), "f4"), np.zeros(5, "i4"))


def test_what_is_picked_keeps_its_bits(first_context, way):
    x, y = T.fmatrix("x"), T.ivector("y")
    total = x.sum(1, keepdims=True) * 0 + x.max(1, keepdims=True) * 0
    picked = T.where(T.isnan(total), x, x)[T.arange(y.shape[0]), y]
    with config.use(device=str(first_context.name)):
        f = function([x, y], [picked, total + x])
    values = np.array([[-0.0, 1, np.nan], [np.inf, -np.inf, 2]], "f4")
    for labels in ([0, 0], [1, 1], [2, 2], [0, -1]):
        got = np.asarray(f(values, np.array(labels, "i4"))[0])
        wanted = values[[0, 1], labels]
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


def test_whole_numbers_are_picked(first_context, way):
    x, y = T.lmatrix("x"), T.lvector("y")
    picked = (x - x.max(1, keepdims=True))[T.arange(y.shape[0]), y]
    with config.use(device=str(first_context.name)):
        f = function([x, y], [picked, x - x.min(1, keepdims=True)])
        assert f.plan.launches() == 1
    values = np.random.default_rng(0).integers(-(2**60), 2**60, size=(4, 5))
    labels = np.array([0, 4, -1, 2])
    got = f(values, labels)[0]
    wanted = (values - values.max(1, keepdims=True))[range(4), labels]
    np.testing.assert_array_equal(got, wanted)


def test_a_change_by_an_index_of_rows_stays_a_change():
    x, y, v = T.fmatrix("x"), T.ivector("y"), T.fvector("v")
    places = T.arange(y.shape[0]), y
    with config.use(device="null"):
        f = function([x, y, v], T.inc_subtensor(x[places], v))
    assert any("inc_subtensor" in step.label for step in f.plan.steps)


@pytest.mark.parametrize("count", [6, 4])
def test_a_program_that_picks_is_what_it_unfolds_to(count):
    x, y = T.dmatrix("x"), T.lvector("y")
    cost = likelihood(x, y)
    fgraph = FunctionGraph([x, y], [cost, grad(cost, x)])
    rewrites.optimize(fgraph)
    (node,) = (each for each in fgraph.toposort() if isinstance(each.op, Rowwise))
    inputs = [each.type(f"i{i}") for i, each in enumerate(node.inputs)]
    rng = np.random.default_rng(0)
    given = {"cell": rng.normal(size=(6, 5)), "few": rng.integers(-5, 5, (count, 1))}
    given |= {"length": np.array(5), "count": np.array(count)}
    values = [
        given.get(
            kind, each.data if isinstance(each, Constant) else np.array([[count]])
        )
        for each, (_, kind) in zip(node.inputs, node.op.program.inputs, strict=True)
    ]
    values = [v.astype(i.type.dtype) for v, i in zip(values, inputs, strict=True)]
    unfolded = FunctionGraph(inputs, node.op.unfold(inputs))
    wanted = run_graph(unfolded, dict(zip(unfolded.inputs, values, strict=True)))
    for got, right in zip(node.op.evaluate(node, values), wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-13)
    labels = next(i for i, v in enumerate(values) if v.shape == (count, 1))
    values[labels] = values[labels] + 9
    with pytest.raises(IndexError, match="rows of 5"):
        node.op.evaluate(node, values)
