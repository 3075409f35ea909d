"""Rows taken by a vector of integers, read where they are by who computes with them."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, rewrites, shared
from gpuarray.compiler.gpukernels.rows import body
from gpuarray.compiler.gpukernels.rows.persistent import kept_values
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.fused.rowwise import Rowwise
from run_graph import run_graph


@pytest.fixture(params=["one launch", "walks"])
def way(request, monkeypatch, new_plans):
    """Both ways of computing a program, whatever suits the device."""
    answer = request.param == "walks"
    monkeypatch.setattr(body, "prefers_walks", lambda s, *_: s.integer(answer))


def launches(inputs, outputs):
    with config.use(device="null"):
        return function(inputs, outputs, on_unused_input="ignore").plan.launches()


def test_who_reads_rows_takes_them_itself():
    w, b, i = T.fmatrix("w"), T.fvector("b"), T.lvector("i")
    x = w[i]
    inputs = [w, b, i]
    assert launches(inputs, T.tanh(x) + b) == 1
    assert launches(inputs, T.nnet.softmax(x + b)) == 1
    assert launches(inputs, x * 2 - w[i + 1]) == 1
    assert launches(inputs, (x * b).sum(1)) == 1
    mean = x.mean(1, keepdims=True)
    variance = T.sqr(x - mean).mean(1, keepdims=True)
    assert launches(inputs, (x - mean) / T.sqrt(variance + 1) * b) == 1


def test_what_reads_them_better_or_too_stays_as_it_was():
    w, b, i = T.fmatrix("w"), T.fvector("b"), T.lvector("i")
    x = w[i]
    inputs = [w, b, i]
    assert launches(inputs, T.dot(x, w.T)) == 2
    assert launches(inputs, [T.tanh(x), x]) == 2
    assert launches(inputs, T.sum(T.sqr(x), axis=0)) == 2  # of what is not stored
    assert launches(inputs, x + b * 2) == 2  # the columns are computed with them
    soft = T.nnet.softmax(w)
    with config.use(device="null"):
        plan = function([w, i], soft[i] * w).plan  # of as many rows, and of others
    assert [s.label[:5] for s in plan.steps if s.label.startswith("rows")] == [
        "rows:",
        "rows:",
    ]


def test_a_table_that_is_computed_is_read_and_not_computed_again():
    w, v, i = T.dmatrix("w"), T.dmatrix("v"), T.lvector("i")
    table = T.sqr(w) + v
    share = T.nnet.softmax(table[i])
    for outputs in ([share * table], [share * table, table]):
        fgraph = FunctionGraph([w, v, i], outputs)
        rewrites.optimize(fgraph)
        (rows,) = (n for n in fgraph.toposort() if isinstance(n.op, Rowwise))
        rows_of_table = [str(each.owner) for each in rows.inputs if each.owner]
        assert sum("square" in each for each in rows_of_table) == 2
        values = {w: np.eye(3), v: np.ones((3, 3)), i: np.array([2, 0, 1])}
        wanted = run_graph(FunctionGraph([w, v, i], outputs), values)
        for left, right in zip(run_graph(fgraph, values), wanted, strict=True):
            np.testing.assert_allclose(left, right)


def test_a_minibatch_of_shuffled_rows():
    data, order = shared(np.ones((50, 8), "f4")), shared(np.arange(50))
    at, b = T.lscalar("at"), T.fvector("b")
    part = data[order[at * 5 : at * 5 + 5]]
    with config.use(device="null"):
        f = function([at, b], T.nnet.softmax(part - b))
    assert f.plan.launches() == 1


INDICES = ["int8", "uint8", "int32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", INDICES)
def test_values_are_those_of_numpy(dtype, first_context, way):
    w, b = T.fmatrix("w"), T.fvector("b")
    i = T.TensorType(dtype, (False,))("i")
    x = w[i] + b
    with config.use(device=str(first_context.name)):
        f = function([w, b, i], [T.nnet.softmax(x), T.maximum(w[i], 0) * b])
    assert f.plan.launches() == 1
    rng = np.random.default_rng(0)
    for lines, length, count in ((9, 5, 4), (1, 70, 3), (40, 300, 90), (3, 1, 0)):
        table, shift = (
            rng.normal(size=s).astype("f4") for s in ((lines, length), length)
        )
        low = 0 if dtype[0] == "u" else -lines
        index = rng.integers(low, lines, size=count).astype(dtype)
        there = table[index.astype("i8")]
        powers = np.exp((there + shift).astype("f8"))
        got = [np.asarray(each) for each in f(table, shift, index)]
        np.testing.assert_allclose(got[0], powers / powers.sum(1)[:, None], rtol=1e-5)
        np.testing.assert_array_equal(got[1], np.maximum(there, 0) * shift)


@pytest.mark.oclgrind
def test_taken_rows_stay_in_bounds(context, monkeypatch, new_plans):
    monkeypatch.setattr(body, "prefers_walks", lambda s, *_: s.integer(0))
    w, i = T.fmatrix("w"), T.ivector("i")
    with config.use(device=str(context.name)):
        f = function([w, i], [T.nnet.softmax(w[i]), T.tanh(w[i + 1] * 2)])
    table = np.random.default_rng(0).normal(size=(7, 37)).astype("f4")
    index = np.array([0, 5, -3, 2, -7], "i4")
    soft, bent = map(np.asarray, f(table, index))
    np.testing.assert_allclose(soft.sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(bent, np.tanh(2 * table[index + 1]), rtol=1e-5)


def test_long_rows_that_were_taken_are_kept(first_context, monkeypatch, new_plans):
    monkeypatch.setattr(body, "prefers_walks", lambda s, *_: s.integer(0))
    w, i = T.fmatrix("w"), T.ivector("i")
    with config.use(device=str(first_context.name)):
        f = function([w, i], T.nnet.softmax(w[i] * 2))
    (step,) = (s for s in f.plan.steps if s.label.startswith("rows"))
    kept = kept_values(dict(step.options)["program"])
    assert [len(each) for each in kept] == [1, 1]
    table = np.random.default_rng(0).normal(size=(4, 5000)).astype("f4")
    powers = np.exp(2 * table[[3, 0, 3]].astype("f8"))
    wanted = powers / powers.sum(1, keepdims=True)
    np.testing.assert_allclose(f(table, np.array([3, 0, -1], "i4")), wanted, rtol=1e-4)


def test_tables_of_any_layout_and_rows_by_what_rows_tell(first_context, way):
    w, x = T.fmatrix("w"), T.fmatrix("x")
    best = T.argmax(x, axis=1)
    with gpuarray.context(first_context), config.use(device=str(first_context.name)):
        f = function([w, x], T.nnet.softmax(w[best]) * x)
        values = np.random.default_rng(0).normal(size=(12, 12)).astype("f4")
        given = gpuarray.asarray(values)
        for view in (lambda a: a, lambda a: a.T, lambda a: a[::-1, ::-1]):
            powers = np.exp(view(values)[values.argmax(1)])
            wanted = powers / powers.sum(1, keepdims=True) * values
            got = np.asarray(f(view(given), given))
            np.testing.assert_allclose(got, wanted, rtol=1e-5)


@pytest.mark.parametrize("wrong", [9, -10])
def test_a_row_that_there_is_not_is_told(wrong, first_context, way):
    w, i = T.fmatrix("w"), T.ivector("i")
    index = np.zeros(50, "i4")
    index[7] = wrong
    with gpuarray.context(first_context), config.use(device=str(first_context.name)):
        for result in (T.nnet.softmax(w[i]), T.exp(w[i])):
            f = function([w, i], result)
            with pytest.raises(IndexError, match=rf"take: index {wrong} .*length 9"):
                np.asarray(f(np.zeros((9, 4), "f4"), index))
            np.asarray(f(np.zeros((9, 4), "f4"), np.zeros(50, "i4")))
            with pytest.raises(IndexError):
                np.asarray(f(np.zeros((0, 4), "f4"), np.zeros(2, "i4")))
            assert np.asarray(f(np.zeros((0, 4), "f4"), index[:0])).shape == (0, 4)


def test_shapes_that_differ_are_told(first_context, way):
    w, x, i = T.fmatrix("w"), T.fmatrix("x"), T.ivector("i")
    with config.use(device=str(first_context.name)):
        f = function([w, x, i], T.nnet.softmax(w[i] * x))
        for shape in ((3, 4), (2, 5)):
            with pytest.raises(ValueError, match=r"mis-match|do not broadcast"):
                f(np.zeros((9, 5), "f4"), np.zeros(shape, "f4"), np.zeros(3, "i4"))


def test_slopes_go_where_rows_were_taken(first_context, way):
    w, i = T.dmatrix("w"), T.lvector("i")
    cost = T.sum(T.sqr(T.nnet.softmax(w[i])))
    with config.use(device=str(first_context.name)):
        f = function([w, i], grad(cost, w))
        with config.use(fuse=False):
            g = function([w, i], grad(cost, w))
    table = np.random.default_rng(0).normal(size=(6, 4))
    index = np.array([1, 1, -1, 3])
    np.testing.assert_allclose(f(table, index), g(table, index), rtol=1e-12)


def test_a_program_that_takes_is_what_it_unfolds_to():
    w, b, i = T.dmatrix("w"), T.dvector("b"), T.lvector("i")
    for result in (T.nnet.softmax(w[i] * b), T.exp(w[i]) + b):
        fgraph = FunctionGraph([w, b, i], [result])
        rewrites.optimize(fgraph)
        (node,) = (each for each in fgraph.toposort() if isinstance(each.op, Rowwise))
        inputs = [each.type(f"i{n}") for n, each in enumerate(node.inputs)]
        rng = np.random.default_rng(0)
        values = [
            rng.normal(size=(6, 5))
            if kind == "table"
            else rng.normal(size=(1, 5))
            if kind == "column"
            else np.array([[1], [-6], [3]])
            for _, kind in node.op.program.inputs
        ]
        unfolded = FunctionGraph(inputs, node.op.unfold(inputs))
        wanted = run_graph(unfolded, dict(zip(unfolded.inputs, values, strict=True)))
        (got,) = node.op.evaluate(node, values)
        np.testing.assert_allclose(got, wanted[0], rtol=1e-13)
        shapes = [each.shape for each in values]
        assert node.op.infer_shape(node, shapes) == [(3, 5)] == [got.shape]
        assert node.outputs[0].type.broadcastable == (False, False)
        assert "line(" in str(node.op.program)
