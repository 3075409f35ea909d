"""Products of matrices and vectors in the launch of what reads, or adds, them."""

from types import SimpleNamespace

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, rewrites, shared
from gpuarray.compiler.gpukernels.multi_tensor import lowering as multi_tensor
from gpuarray.compiler.gpukernels.rows import body
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.fused.multi_tensor import MultiTensor
from gpuarray.compiler.ops.fused.rowwise import Rowwise
from gpuarray.compiler.ops.linalg.linalg import Dot, Gemv
from run_graph import run_graph

SHAPES = [(1, 1), (7, 5), (60, 33), (3, 700), (300, 16), (1100, 3), (5, 0), (0, 5)]
VIEWS = {
    "transposed": lambda a: a.T,
    "with steps": lambda a: a[::2, ::-1],
    "further on": lambda a: a[1:, 3:],
    "repeated": lambda a: gpuarray.broadcast_to(a[0], a.shape),
}


def rest_by_kernel(*operands):
    """The product by the BLAS, and a kernel of rows."""
    return body.by_blas(body.in_shape, *operands)


@pytest.fixture(
    params=["one launch", "one launch of a GPU", "by the BLAS", "by the BLAS and walks"]
)
def way(request, monkeypatch, new_plans):
    """All ways of computing products, whatever suits the device."""
    by_blas, by_walks = (word in request.param for word in ("BLAS", "walks"))
    if request.param.endswith("GPU"):
        request.getfixturevalue("as_gpu")
    monkeypatch.setattr(body, "prefers_walks", lambda s, *_: s.integer(by_walks))
    if by_blas:
        monkeypatch.setattr(body, "product_by_kernel", rest_by_kernel)
    found = multi_tensor.product_columns

    def columns(rows, count, threads, context):
        chosen = multi_tensor.columns_of if context.is_cpu else found
        return 0 if by_blas else chosen(rows, count, threads, context)

    monkeypatch.setattr(multi_tensor, "product_columns", columns)
    return request.param


def variables(dtype):
    return [TensorType(dtype, (False,) * n)() for n in (2, 1, 1)]


def gate(x, w, v):
    """What is read of a product, of numbers, and of values of the rows."""
    t = T.dot(x, w) + 0.5
    return [T.tanh(t) * v, t > v.shape[0]]


def gate_by_numpy(x, w, v):
    t = x.astype("f8") @ w + 0.5
    return [np.tanh(t) * v, t > v.shape[0]]


def slope(x, w, v):
    """Weights that are updated beside a bias."""
    return [w - 0.5 * T.dot(x.T, v), 2 * T.sum(v)]


def slope_by_numpy(x, w, v):
    return [w - 0.5 * (v.astype("f8") @ x), 2 * v.astype("f8").sum()]


PROGRAMS = {"gate": (gate, gate_by_numpy), "slope": (slope, slope_by_numpy)}


def compiled(name, dtype, context):
    given = variables(dtype)
    with config.use(device=str(context.name)):
        return function(given, PROGRAMS[name][0](*given))


def values_of(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    sizes = shape, shape[1], shape[0]
    return [rng.normal(size=size).astype(dtype) for size in sizes]


def check(f, name, given, rtol):
    wanted = PROGRAMS[name][1](*(np.asarray(each) for each in given))
    for got, right in zip(f(*given), wanted, strict=True):
        got = np.asarray(got)
        if right.dtype == bool:
            assert got.dtype == bool and np.sum(got != right) <= right.size / 50
        else:
            np.testing.assert_allclose(got, right, rtol=rtol, atol=30 * rtol)


def steps_of(f):
    return [getattr(s, "function", "") or s.label for s in f.plan.steps]


@pytest.mark.every_case
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_product_takes_no_launch_of_its_own(name, context, way):
    f = compiled(name, "float32", context)
    assert f.plan.launches() == 1
    for shape in SHAPES:
        check(f, name, values_of(shape, "float32"), 1e-5)


@pytest.mark.oclgrind
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_stay_in_bounds(name, context):
    f = compiled(name, "float32", context)
    for shape in ((3, 5), (37, 19), (70, 2), (5, 300)):
        check(f, name, values_of(shape, "float32"), 1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_of_doubles(name, first_context, way):
    f = compiled(name, "float64", first_context)
    for shape in SHAPES[:5]:
        check(f, name, values_of(shape, "float64"), 1e-13)


@pytest.mark.parametrize("dtype", ["float16", "int32", "complex64"])
def test_products_of_other_dtypes_stay_as_they_are(dtype, first_context):
    x, w, v = variables(dtype)
    with config.use(device=str(first_context.name)):
        f = function([x, w, v], [T.dot(x, w) * v, w + T.dot(x.T, v), T.sum(v)])
    assert not {"rowwise"} & {*steps_of(f)}
    rng = np.random.default_rng(0)
    x, w, v = (rng.integers(-4, 4, size=n).astype(dtype) for n in ((9, 7), 7, 9))
    wanted = (x @ w) * v, w + x.T @ v, v.sum()
    for got, right in zip(f(x, w, v), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(got), right, rtol=1e-2)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_of_any_layout(name, view, first_context, way):
    with gpuarray.context(first_context):
        f = compiled(name, "float32", first_context)
        x, w, v = map(gpuarray.asarray, values_of((24, 24), "float32"))
        x = VIEWS[view](x)
        w, v = w[::-1][: x.shape[1]], v[: x.shape[0]]
        check(f, name, [x, w, v], 1e-5)


def test_what_begins_anywhere_of_one_binding(first_context, way):
    with gpuarray.context(first_context):
        for name in PROGRAMS:
            f = compiled(name, "float32", first_context)
            x, w, v = map(gpuarray.asarray, values_of((12, 9), "float32"))
            for i in range(3):
                check(f, name, [x[i : i + 5], w, v[i : i + 5]], 1e-5)


def test_the_same_bits_from_call_to_call(first_context):
    given = values_of((400, 70), "float32")
    for name in PROGRAMS:
        f = compiled(name, "float32", first_context)
        first, *others = ([np.asarray(x).tobytes() for x in f(*given)] for _ in "abc")
        assert all(other == first for other in others)


def test_a_vector_of_places_and_of_rows_that_is_overwritten(first_context, way):
    x = T.fmatrix("x")
    given, start, _ = values_of((30, 30), "float32")
    with config.use(device=str(first_context.name)):
        w = shared(start.copy(), "w")
        f = function([x], T.dot(x, w) * w, updates=[(w, T.tanh(T.dot(x, w)) + w)])
    wanted = start.astype("f8")
    for _ in range(3):
        result, wanted = (given @ wanted) * wanted, np.tanh(given @ wanted) + wanted
        np.testing.assert_allclose(f(given), result, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(w.get_value(), wanted, rtol=1e-4, atol=1e-4)


def test_a_step_of_logistic_regression_is_two_launches(context, way):
    x, y = T.fmatrix("x"), T.fvector("y")
    given, start, labels = values_of((40, 12), "float32")
    labels = (labels > 0).astype("f4")
    with config.use(device=str(context.name), floatX="float32"):
        w, b = shared(start, "w"), shared(np.zeros((), "f4"), "b")
        p = T.nnet.sigmoid(T.dot(x, w) + b)
        xent = T.nnet.binary_crossentropy(p, y)
        slopes = grad(xent.mean() + 0.01 * T.sum(w * w), [w, b])
        updates = [(v, v - 0.1 * g) for v, g in zip((w, b), slopes, strict=True)]
        f = function([x, y], [p > 0.5, xent], updates=updates)
        assert f.plan.launches() == 2
    weights, bias = start.astype("f8"), 0.0
    for _ in range(3):
        chance = 1 / (1 + np.exp(-(given @ weights) - bias))
        cost = -labels * np.log(chance) - (1 - labels) * np.log(1 - chance)
        z = (chance - labels) / len(labels)
        weights, bias = 0.998 * weights - 0.1 * given.T @ z, bias - 0.1 * z.sum()
        guess, found = f(given, labels)
        assert np.array_equal(guess, chance > 0.5)
        np.testing.assert_allclose(found, cost, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(w.get_value(), weights, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(b.get_value(), bias, rtol=1e-4, atol=1e-5)


UPDATES = {
    "a plain product": lambda x, w, v: T.dot(v, x),
    "a transpose": lambda x, w, v: T.dot(x.T, v),
    "added": lambda x, w, v: w + T.dot(x.T, v),
    "scaled": lambda x, w, v: 3 * T.dot(v, x) - w / 4,
    "a function of it": lambda x, w, v: w * T.tanh(T.dot(v, x)),
}


@pytest.mark.parametrize("name", UPDATES)
def test_sums_of_rows_beside_another_result(name, first_context, way):
    x, w, v = variables("float32")
    update = UPDATES[name]
    with config.use(device=str(first_context.name)):
        results = [update(x, w, v), T.exp(v)]
        f = function([x, w, v], results, on_unused_input="ignore")
        assert f.plan.launches() == 1
    a, b, c = values_of((31, 18), "float32")
    wanted = {
        "a plain product": c @ a,
        "a transpose": c @ a,
        "added": b + c @ a,
        "scaled": 3 * (c @ a) - b / 4,
        "a function of it": b * np.tanh(c @ a),
    }[name]
    first, second = f(a, b, c)
    np.testing.assert_allclose(first, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(second, np.exp(c), rtol=1e-5)


def test_products_of_constants(first_context, way):
    a, b, c = values_of((9, 6), "float32")
    x, w, v = variables("float32")
    programs = [
        ([w], [T.tanh(T.dot(a, w)), T.exp(w) + T.dot(c, a)]),
        ([x, v], [T.tanh(T.dot(x, b)) * v, b + T.dot(x.T, v), 2 * v]),
        ([x], [T.dot(c, x) + 1, T.dot(x.T, c), T.sum(x, 0)]),
    ]
    wanted = [
        [np.tanh(a @ b), np.exp(b) + c @ a],
        [np.tanh(a @ b) * c, b + c @ a, 2 * c],
        [c @ a + 1, c @ a, a.sum(0)],
    ]
    for (given, results), rights in zip(programs, wanted, strict=True):
        with config.use(device=str(first_context.name)):
            f = function(given, results)
        values = {x: a, w: b, v: c}
        for got, right in zip(f(*(values[i] for i in given)), rights, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)


def test_shapes_that_differ_are_told(first_context, way):
    x, w, v = values_of((6, 4), "float32")
    for name in PROGRAMS:
        f = compiled(name, "float32", first_context)
        for wrong in ([x, w[:3], v], [x, w, v[:5]]):
            with pytest.raises(ValueError):
                f(*wrong)


def ops_of(results, given):
    fgraph = FunctionGraph(given, results)
    rewrites.optimize(fgraph)
    return [type(node.op) for node in fgraph.toposort()]


def test_products_that_save_no_launch_stay_as_they_are():
    x, w, v = variables("float32")
    stays = [
        [T.dot(x, w)],
        [T.mean(T.sqr(T.dot(x, w) - v))],
        [T.nnet.softmax(T.dot(x, w) * 2)],
        [T.tanh(T.dot(x.T, v))],
        [w - T.dot(x.T, v)],
    ]
    for results in stays:
        ops = ops_of(results, [x, w, v])
        assert {Dot, Gemv} & {*ops}
        assert MultiTensor not in ops


def test_products_by_reference():
    given = x, w, v = variables("float64")
    results = [*gate(x, w, v), *slope(x, w, v)]
    fgraph = FunctionGraph(given, results)
    rewrites.optimize(fgraph)
    arrays = values_of((5, 3), "float64")
    found = run_graph(fgraph, dict(zip(given, arrays, strict=True)))
    wanted = [*gate_by_numpy(*arrays), *slope_by_numpy(*arrays)]
    for got, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, right)
    for node in fgraph.toposort():
        if isinstance(node.op, Rowwise | MultiTensor):
            inputs = [each.type() for each in node.inputs]
            unfolded = FunctionGraph(inputs, node.op.unfold(inputs))
            assert [v.type.dtype for v in unfolded.outputs] == [
                v.type.dtype for v in node.outputs
            ]


def card(**given):
    return SimpleNamespace(is_cpu=False, processors=132, **given)


def test_how_many_columns_a_block_folds():
    columns = multi_tensor.product_columns
    assert columns(400, 784, 512, card()) == 8
    assert columns(1437, 64, 512, card()) == 2
    assert columns(4096, 1024, 512, card()) == 8
    assert columns(4096, 4096, 512, card()) == 8
    assert columns(16384, 256, 512, card()) == columns(16384, 1024, 512, card()) == 0
    assert columns(100000, 20, 512, card()) == 0
    assert columns(4096, 8192, 512, card()) == 0
    assert columns(0, 1, 512, card()) == 1
    for rows, count, wanted in (
        (1, 1, 1), (1, 2, 2), (1, 3, 4), (1, 0, 1), (8, 512 * 132, 512),
        (8, 512 * 132 - 1, 256), (9, 512 * 132, 256), (512, 8, 8), (513, 8, 4),
        (513, 528, 8), (513, 527, 4), (1, 527, 8), (1025, 64, 2), (1024, 64, 4),
        (4096, 4097, 0), (4096, 528, 8), (4097, 528, 0), (8192, 20, 2), (8193, 20, 0),
    ):  # fmt: skip
        assert (rows, count, columns(rows, count, 512, card())) == (rows, count, wanted)
    assert columns(60, 33, 512, SimpleNamespace(is_cpu=True)) == 0
