"""Programs of rows: few launches, and the values of the graph they are made of."""

import pickle

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, rewrites, shared
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.rows import body
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.elemwise.elemwise import CompositeStep
from gpuarray.compiler.ops.fused.row_steps import CELL, COLUMN, Fold
from gpuarray.compiler.ops.fused.rowwise import Program, Rowwise
from gpuarray.compiler.rewrites.fusion import rowwise as rows_of_graphs
from run_graph import run_graph

SHAPES = [(5, 7), (300, 3), (2, 2500), (3, 1)]


def layer_norm(x, scale, shift):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = T.sqr(centred).mean(axis=-1, keepdims=True)
    return centred / T.sqrt(variance + 1e-3) * scale + shift


def slope_of_norm(x, scale, shift):
    y = layer_norm(x, scale, shift)
    return grad(None, x, known_grads={y: T.tanh(x)})


PROGRAMS = {
    "softmax": lambda x, u, v: T.nnet.softmax(x * u),
    "logsoftmax": lambda x, u, v: T.nnet.logsoftmax(x + u),
    "layer norm": layer_norm,
    "its slope": slope_of_norm,
    "statistics": lambda x, u, v: [x.sum(1), x.mean(1), x.var(1), x.max(1)],
    "over its norm": lambda x, u, v: x / T.sqrt(T.sqr(x).mean(1, keepdims=True)),
    "vector": lambda x, u, v: T.nnet.softmax(u + v),
    "clipped": lambda x, u, v: T.switch(x > x.mean(1, keepdims=True) * u, v, -x),
}


def variables(dtype):
    return [
        TensorType(dtype, (False,) * n)(name)
        for n, name in ((2, "x"), (1, "u"), (1, "v"))
    ]


def values_of(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    given = (
        rng.uniform(0.5, 2, shape),
        rng.uniform(0.5, 2, shape[1]),
        rng.normal(size=shape[1]),
    )
    return [each.astype(dtype) for each in given]


def compiled(name, dtype, context, **options):
    given = variables(dtype)
    with config.use(device=str(context.name), **options):
        return function(given, PROGRAMS[name](*given), on_unused_input="ignore")


def listed(results):
    return [
        np.asarray(each)
        for each in (results if isinstance(results, list) else [results])
    ]


@pytest.fixture(params=["one launch", "walks"])
def way(request, monkeypatch, new_plans):
    """Both ways of computing a program, whatever suits the device."""
    answer = request.param == "walks"
    monkeypatch.setattr(body, "prefers_walks", lambda s, *_: s.integer(answer))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_rows_is_one_launch_with_the_values_of_its_graph(
    name, context, way
):
    one = compiled(name, "float32", context)
    assert one.plan.launches() == 1
    given = variables("float64")
    graph = FunctionGraph(given, listed_variables(PROGRAMS[name](*given)))
    for shape in SHAPES:
        values = values_of(shape, "float32")
        wide = dict(
            zip(graph.inputs, [v.astype("float64") for v in values], strict=True)
        )
        for got, wanted in zip(
            listed(one(*values)), run_graph(graph, wide), strict=True
        ):
            assert got.shape == wanted.shape
            rtol = 1e-3 if name == "its slope" else 2e-5
            np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol / 5)


def listed_variables(results):
    return results if isinstance(results, list) else [results]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_rows_of_other_dtypes(dtype, first_context, way):
    one = compiled("layer norm", dtype, first_context)
    assert one.plan.launches() == 1
    values = values_of((6, 50), dtype_of(dtype))
    tolerance = {"float16": 4e-3, "bfloat16": 4e-2, "float64": 1e-12}[dtype]
    x, u, v = (each.astype("float64") for each in values)
    centred = x - x.mean(1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-3) * u + v
    got = np.asarray(one(*values)).astype("float64")
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=4 * tolerance)


def dtype_of(name):
    return gpuarray.dtypes.as_dtype(name)


def test_rows_lie_anyhow_in_memory(first_context, way):
    with gpuarray.context(first_context), config.use(device=str(first_context.name)):
        x, u = (
            TensorType("float32", (False,) * 3)("x"),
            TensorType("float32", (False,))("u"),
        )
        f = function([x, u], T.nnet.softmax(x * u))
        assert f.plan.launches() == 1
        values = np.random.default_rng(0).normal(size=(6, 8, 10)).astype("float32")
        scale = np.linspace(1, 2, 5).astype("float32")
        given = gpuarray.asarray(values)
        for look in (
            lambda x: x[::2, :, ::2],
            lambda x: x[:, ::-1, 5:],
            lambda x: x[:, :5].transpose(0, 2, 1),
            lambda x: x.transpose(1, 0, 2)[:, :, :5],
        ):
            view = look(values)
            shifted = np.exp(view * scale - (view * scale).max(-1, keepdims=True))
            wanted = shifted / shifted.sum(-1, keepdims=True)
            np.testing.assert_allclose(
                np.asarray(f(look(given), scale)), wanted, rtol=1e-5
            )


def test_few_long_rows(context, way):
    one = compiled("its slope", "float32", context)
    values = values_of((2, 300_000), "float32")
    x, u, _ = (each.astype("float64") for each in values)
    centred = x - x.mean(1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-3)
    flow = np.tanh(x) * u
    wanted = scale * (
        flow
        - flow.mean(1, keepdims=True)
        - centred * scale**2 * (flow * centred).mean(1, keepdims=True)
    )
    np.testing.assert_allclose(np.asarray(one(*values)), wanted, rtol=1e-4, atol=1e-5)


def test_a_classifiers_cost_and_slope_read_the_scores_once(first_context, way):
    x, y = T.fmatrix("x"), T.ivector("y")
    with gpuarray.context(first_context), config.use(device=str(first_context.name)):
        costs = T.nnet.categorical_crossentropy(T.nnet.softmax(x), y)
        f = function([x, y], [costs, grad(costs.sum(), x)])
        labels = [step.label for step in f.plan.steps if step.label.startswith("rows")]
        assert len(labels) == 1 and f.plan.launches() <= 3
        values = np.random.default_rng(1).normal(size=(20, 9)).astype("float32")
        places = np.arange(20, dtype="int32") % 9
        cost, slope = map(np.asarray, f(values, places))
        share = np.exp(values) / np.exp(values).sum(1, keepdims=True)
        np.testing.assert_allclose(cost, -np.log(share[range(20), places]), rtol=1e-5)
        share[range(20), places] -= 1
        np.testing.assert_allclose(slope, share, rtol=1e-4, atol=1e-6)


def test_logistic_regression_writes_its_new_values_in_place(first_context, way):
    rng = np.random.default_rng(0)
    given = rng.normal(size=(50, 4)).astype("float32")
    labels = (rng.random(50) < 0.5).astype("float32")
    with gpuarray.context(first_context), config.use(device=str(first_context.name)):
        x, y = T.fmatrix("x"), T.fvector("y")
        w, b = shared(np.zeros(4, "float32")), shared(np.float32(0))
        p = 1 / (1 + T.exp(-T.dot(x, w) - b))
        cost = (-y * T.log(p) - (1 - y) * T.log(1 - p)).mean()
        slopes = grad(cost, [w, b])
        f = function(
            [x, y],
            cost,
            updates=[(v, v - 0.5 * g) for v, g in zip((w, b), slopes, strict=True)],
        )
        own_w, own_b = np.zeros(4), 0.0
        for _ in range(5):
            f(given, labels)
            share = 1 / (1 + np.exp(-given @ own_w - own_b))
            own_w = own_w - 0.5 * given.T @ (share - labels) / 50
            own_b = own_b - 0.5 * (share - labels).mean()
        np.testing.assert_allclose(w.get_value(), own_w, rtol=1e-4)
        np.testing.assert_allclose(b.get_value(), own_b, rtol=1e-4)


def test_the_greatest_of_no_elements_is_an_error_and_their_sum_is_not(first_context):
    with config.use(device=str(first_context.name)):
        x = T.fmatrix("x")
        f = function([x], [x - x.max(1, keepdims=True), x.sum(1)])
        with pytest.raises(ValueError, match="no elements"):
            f(np.zeros((3, 0), "float32"))
        total = function([x], [x.sum(1), T.sqr(x).sum(1), x - x.sum(1, keepdims=True)])
        assert total.plan.launches() == 1
        assert np.asarray(total(np.zeros((3, 0), "float32"))[0]).tolist() == [0, 0, 0]
        assert np.asarray(total(np.zeros((0, 3), "float32"))[1]).shape == (0,)


def test_shapes_that_differ_are_told(first_context):
    one = compiled("softmax", "float32", first_context)
    for each, text in (
        (one, "do not broadcast"),
        (pickle.loads(pickle.dumps(one)), "mis-match"),
    ):
        with pytest.raises(ValueError, match=text):
            each(*(np.zeros(shape, "float32") for shape in ((3, 4), 5, 4)))


def made_so_far(context):
    """How many kernels were compiled, or loaded from the cache on disk."""
    info = context.cache_info()
    return info.compiled + info.disk_hits


def test_a_call_compiles_nothing(context, way):
    x, u = T.ftensor3("x"), T.fvector("u")
    with config.use(device=str(context.name)):
        before = made_so_far(context)
        total = (x * np.float32(1.2345) + u).sum(axis=2, keepdims=True)
        f = function([x, u], x / total)
    assert f.plan.launches() == 1
    made = made_so_far(context)
    assert made > before
    for shape in ((2, 3, 4), (1, 1, 1), (1, 5, 300), (40, 3, 2)):
        f(np.ones(shape, "float32"), np.ones(shape[2:], "float32"))
        if context.kind == "cuda" and shape == (2, 3, 4):
            made = made_so_far(context)  # the first call has the rest compiled
    assert made_so_far(context) == made


def test_rows_that_begin_elsewhere_share_a_binding(context, way):
    x, i = T.fmatrix("x"), T.lscalar("i")
    with config.use(device=str(context.name)):
        f = function([x, i], T.nnet.softmax(x[i : i + 4]))
    assert f.plan.launches() == 1
    values = np.random.default_rng(0).normal(size=(20, 8)).astype("float32")
    for first in (0, 3, 16, 3, 7):
        exp = np.exp(values[first : first + 4])
        wanted = exp / exp.sum(1, keepdims=True)
        np.testing.assert_allclose(f(values, first), wanted, rtol=1e-5)
        assert f.info()["n_binds"] == 1
    view = gpuarray.asarray(values, context=context)[1:]
    np.testing.assert_allclose(f(view, 6), wanted, rtol=1e-5)
    assert f.info()["n_binds"] == 1


def test_a_group_of_no_worth_leaves_its_nodes_to_others(first_context):
    x, w = T.dmatrix("x"), T.dvector("w")
    with config.use(device=first_context.name):
        f = function([x, w], (x.sum(axis=1) ** 2 * w).sum())
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(f(a, [2.0, 3.0]), (a.sum(1) ** 2 * [2, 3]).sum())


@pytest.mark.parametrize("shape", [(3, 4), (4, 4)])
def test_places_along_columns_are_no_places_in_rows(first_context, shape):
    x = T.fmatrix("x")
    with config.use(device=first_context.name):
        f = function([x], [T.tril(x), x.min(axis=1), x.max(axis=1)])
    given = 1 + np.arange(np.prod(shape), dtype="float32").reshape(shape)
    low, least, most = f(given)
    np.testing.assert_array_equal(low, np.tril(given))
    np.testing.assert_array_equal(least, given.min(axis=1))
    np.testing.assert_array_equal(most, given.max(axis=1))


def test_rows_do_not_overwrite_a_length(first_context, way):
    k = T.lvector("k")
    places = T.mod(k, k.shape[0])
    with config.use(device=first_context.name):
        f = function([k], [places, places.sum()])
    assert [each.tolist() for each in f([5, 6, 7])] == [[2, 0, 1], 3]


def test_a_reduction_alone_stays_one():
    x = T.fmatrix("x")
    with config.use(device="null"):
        for results in (T.sqr(x).sum(1), [x.sum(0), x.max(0)], x * x.sum(0)):
            assert "rows:" not in str(function([x], results).plan)


def test_complex_numbers_are_in_no_program_of_rows():
    z = T.zmatrix("z")
    size = T.abs(z)
    values = {z: np.array([[3 + 4j, 1.0], [-2j, 0.5]])}
    outputs = [size / size.sum(axis=1, keepdims=True), size.max(axis=1)]
    wanted = run_graph(FunctionGraph([z], outputs), values)
    fgraph = FunctionGraph([z], outputs)
    rewrites.optimize(fgraph)
    (rows,) = (n for n in fgraph.toposort() if isinstance(n.op, Rowwise))
    assert all(each.dtype == "float64" for each in rows.inputs)
    for left, right in zip(run_graph(fgraph, values), wanted, strict=True):
        np.testing.assert_allclose(left, right)


def test_what_stands_between_keeps_rows_apart():
    x, w = T.fmatrices("x", "w")
    with config.use(device="null"):
        share = T.nnet.softmax(x)
        text = str(function([x, w], share * T.dot(share, w).sum(1, keepdims=True)).plan)
    assert text.count("rows:") == 1


def test_a_program_checks_its_steps_and_gives_their_gradient():
    with pytest.raises(GraphValueError, match="before it"):
        Program((("float32", CELL),), (CompositeStep("neg", (1,), "float32"),), (1,))
    steps = (
        CompositeStep("mul", (0, 1), "float64"),
        Fold("add", 2, "float64", "float64"),
        CompositeStep("true_div", (2, 3), "float64"),
    )
    op = Rowwise(Program((("float64", CELL), ("float64", COLUMN)), steps, (4, 3)))
    x, u = T.dmatrix("x"), TensorType("float64", (True, False))("u")
    share, total = op(x, u)
    assert total.type.broadcastable == (False, True)
    cost = (share * u).sum() + total.sum()
    plain = x * u
    other = (plain / plain.sum(1, keepdims=True) * u).sum() + plain.sum()
    graph = FunctionGraph([x, u], [*grad(cost, [x, u]), *grad(other, [x, u])])
    values = np.random.default_rng(0).uniform(1, 2, (3, 4)), [[1.0, 2, 3, 4]]
    found = run_graph(graph, dict(zip(graph.inputs, values, strict=True)))
    for got, wanted in zip(found[:2], found[2:], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10)


def test_shapes_alone_lead_to_each_kernel_that_walks_prepare(first_context):
    if not first_context.is_cpu:
        pytest.skip("GPUs run one kernel for most rows, of which one form is prepared")

    def made():
        info = first_context.cache_info()
        return info.compiled + info.disk_hits

    x = T.fmatrix("x")
    before = made()
    with config.use(device=str(first_context.name)):
        f = function([x], T.nnet.softmax(x * np.float32(1.3579)))
    prepared, seen = made(), set()
    for shape in ((3, 5), (1, 1), (40, 1), (1, 300000)):
        given = gpuarray.asarray(np.ones(shape, "f4"), context=first_context)
        with gpuarray.profile(first_context) as found:
            f(given)
        seen.update(row.name for row in found.table())
    kernels = {name for name in seen if name.startswith(("elem", "rows", "columns"))}
    assert made() == prepared  # the reason why they all are
    assert len(kernels) >= prepared - before  # other tests may have made some of them


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 1e-38, 3e38, 1e-20, 1.0, 7.0]


@pytest.mark.parametrize("length", [33, 700, 16384])
def test_quotients_by_a_value_of_the_row_are_numpys(first_context, way, length):
    """They go by its reciprocal on CUDA, with the same digits."""
    rng = np.random.default_rng(length)
    x = rng.uniform(-4, 4, (40, length)).astype("f4") * 10.0 ** rng.integers(
        -30, 30, (40, 1)
    ).astype("f4")
    x[:20, :22] = [*SPECIAL, *SPECIAL]
    by = rng.uniform(1, 4, (40, 1)).astype("f4")
    by[:20, 0] = [*SPECIAL, 1e12, 1e-12, 1e20, 1e-13, -3.0, 3e-39, 1e30, 1e-30, 2.0]
    rows, column = T.fmatrix("x"), T.fcol("by")
    scale = T.exp(column - column) * column  # computed in the kernel
    quotient = rows / scale
    with config.use(device=str(first_context.name)):
        f = function([rows, column], [quotient, quotient.max(1)])
    with np.errstate(all="ignore"):
        scale = np.exp(by - by) * by
        expected = x / scale
    found, _ = f(x, by)
    is_exact = first_context.name.startswith("cuda") or first_context.is_cpu
    plain = np.abs(expected) > 1e-30
    kept = ~np.isnan(expected)
    rtol = 0 if is_exact else 4e-7
    np.testing.assert_allclose(found[plain], expected[plain], rtol=rtol)
    np.testing.assert_allclose(found, expected, rtol=4e-7, atol=1e-37)
    np.testing.assert_array_equal(np.signbit(found[kept]), np.signbit(expected[kept]))


def test_elements_join_rows_that_have_as_many_folds_as_they_may(monkeypatch):
    monkeypatch.setattr(rows_of_graphs, "_MOST_FOLDS", 1)
    x = T.fmatrix("x")
    one = x / x.sum(1, keepdims=True)
    with config.use(device="null"):
        assert function([x], one).plan.launches() == 1
        assert function([x], one + x.max(1, keepdims=True)).plan.launches() == 2
