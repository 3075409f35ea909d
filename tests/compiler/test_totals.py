"""Sums over the first axes in the launch that computes what they are for."""

import pickle
from types import SimpleNamespace

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, rewrites, shared
from gpuarray.compiler.gpukernels.multi_tensor import lowering as multi_tensor
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.fused.multi_tensor import MultiTensor
from run_graph import run_graph

SHAPES = [(1, 1), (7, 5), (60, 33), (3, 700), (300, 16), (2000, 1), (5, 0), (0, 5)]


@pytest.fixture(params=["one launch", "one launch of a GPU", "by the library"])
def way(request, monkeypatch):
    """All ways of computing totals, whatever their size."""
    if request.param == "by the library":
        monkeypatch.setattr(multi_tensor, "columns_of", lambda *given: 0)
    if request.param.endswith("GPU"):
        request.getfixturevalue("as_gpu")
    return request.param


def parts_of(f):
    """The parts of the one step that has several."""
    (step,) = (s for s in f.plan.steps if getattr(s, "function", "") == "multi_tensor")
    return dict(step.options)["parts"]


def biases(dtype="float32"):
    """A function of slopes that updates a bias, and tells their mean square."""
    x = TensorType(dtype, (False, False))("x")
    b = TensorType(dtype, (False,))("b")
    rate = np.asarray(0.5, dtype)
    return function([x, b], [b - rate * x.sum(0), T.mean(T.sqr(x))])


def check_biases(f, shape, dtype, rtol):
    rng = np.random.default_rng(sum(shape))
    x, b = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[1:])
    b = b.astype(dtype)
    with np.errstate(all="ignore"):
        wanted = b - x.astype("f8").sum(0) / 2, (x.astype("f8") ** 2).sum() / x.size
    for got, right in zip(f(x, b), wanted, strict=True):
        got = np.asarray(got).astype("f8")
        np.testing.assert_allclose(got, right, rtol=rtol, atol=rtol)


@pytest.mark.every_case
def test_a_bias_and_a_mean_take_one_launch(context, way):
    with config.use(device=str(context.name)):
        f = biases()
        assert f.plan.launches() == 1
        assert all(part.total is not None for part in parts_of(f))
        for shape in SHAPES:
            check_biases(f, shape, "float32", 2e-5)


@pytest.mark.oclgrind
def test_totals_stay_in_bounds(context):
    with config.use(device=str(context.name)):
        f = biases()
        for shape in ((3, 5), (37, 19), (70, 2), (5, 300)):
            check_biases(f, shape, "float32", 2e-5)


@pytest.mark.parametrize(("dtype", "rtol"), [("float16", 1e-2), ("float64", 1e-13)])
def test_totals_of_other_dtypes(dtype, rtol, first_context, way):
    with config.use(device=str(first_context.name)):
        f = biases(dtype)
        for shape in SHAPES[:5]:
            check_biases(f, shape, dtype, rtol)


def test_the_same_bits_from_call_to_call(first_context):
    x = T.fmatrix("x")
    with config.use(device=str(first_context.name)):
        f = function([x], [x.sum(0) * 2, T.sum(x) + 1])
    values = np.random.default_rng(0).normal(size=(400, 70)).astype("f4")
    first, *others = ([np.asarray(each).tobytes() for each in f(values)] for _ in "abc")
    assert all(other == first for other in others)


def test_other_folds_integers_and_several_axes(first_context, way):
    x, n = T.itensor3("x"), T.ftensor3("n")
    results = [
        x.sum((0, 1)),
        T.any(x > 5, axis=0),
        T.prod(n, axis=(0, 1)) + 1,
        T.sum(n * x.shape[0]) / 2,
    ]
    with config.use(device=str(first_context.name)):
        f = function([x, n], results)
        assert f.plan.launches() == 1
    rng = np.random.default_rng(0)
    for shape in ((2, 3, 4), (1, 40, 17), (3, 0, 2)):
        ints = rng.integers(-9, 9, size=shape).astype("i4")
        reals = rng.uniform(0.9, 1.1, size=shape).astype("f4")
        wanted = (
            ints.sum((0, 1)),
            (ints > 5).any(0),
            reals.astype("f8").prod((0, 1)) + 1,
            (reals.astype("f8") * shape[0]).sum() / 2,
        )
        for got, right in zip(f(ints, reals), wanted, strict=True):
            got = np.asarray(got)
            assert got.dtype.kind == right.dtype.kind
            np.testing.assert_allclose(got, right, rtol=1e-5)


def test_totals_of_any_layout(first_context):
    x, b = T.fmatrix("x"), T.fvector("b")
    with gpuarray.context(first_context), config.use(device=str(first_context.name)):
        f = function([x, b], [b + x.sum(0), T.exp(b)])
        values = np.random.default_rng(0).normal(size=(8, 12)).astype("f4")
        given, one = gpuarray.asarray(values), gpuarray.asarray(values[0].copy())
        for view in (lambda a: a.T, lambda a: a[::2, ::-1], lambda a: a[1:, 2:]):
            here, there = view(values), view(given)
            n = here.shape[1]
            first, second = f(there, one[:n])
            np.testing.assert_allclose(first, values[0, :n] + here.sum(0), rtol=1e-5)
            np.testing.assert_allclose(second, np.exp(values[0, :n]), rtol=1e-5)
        # Beginnings at any element, of one binding.
        for i in range(3):
            first, _ = f(given[i : i + 5], one)
            wanted = values[0] + values[i : i + 5].sum(0)
            np.testing.assert_allclose(first, wanted, rtol=1e-5, atol=1e-6)


def test_a_total_overwrites_the_parameter_and_not_what_it_is_of(context):
    with config.use(device=str(context.name)):
        x, b = shared(np.ones((6, 40), "f4")), shared(np.zeros(40, "f4"))
        updates = [(b, b - x.sum(0)), (x, x + np.float32(1))]
        f = function([], [], updates=updates)
        for _ in range(3):
            f()
        np.testing.assert_array_equal(b.get_value(), np.full(40, -6 * (1 + 2 + 3)))
        np.testing.assert_array_equal(x.get_value(), np.full((6, 40), 4))


def test_what_else_reads_a_total_leaves_it_apart():
    x, b, c, w = T.fmatrix("x"), T.fvector("b"), T.fvector("c"), T.fmatrix("w")
    total = x.sum(0)
    with config.use(device="null"):
        f = function([x, b, c, w], [b - total, T.dot(w, total), T.exp(c)])
        g = function([x, b, c], [b - x.sum(1), T.tanh(c)])
        h = function([x, b, c], [b - x.max(0), T.exp(c)])
    assert all(part.total is None for each in (f, g, h) for part in parts_of(each))


def test_a_total_of_several_layers_takes_part_in_one_launch_of_sixteen():
    xs = [T.fmatrix() for _ in range(40)]
    bs = [T.fvector() for _ in range(40)]
    with config.use(device="null"):
        results = [b - x.sum(0) for x, b in zip(xs, bs, strict=True)]
        assert function([*xs, *bs], results).plan.launches() <= 4


def test_shapes_that_differ_are_told(first_context):
    x, y, b, c = T.fmatrix("x"), T.fmatrix("y"), T.fvector("b"), T.fvector("c")
    with config.use(device=str(first_context.name)):
        f = function([x, y, b, c], [b + (x * y).sum(0), T.exp(c)])
        assert f.plan.launches() == 1
        for shapes in (((3, 4), (3, 4), (5,)), ((3, 4), (2, 4), (4,))):
            for each, text in (
                (f, "do not broadcast"),
                (pickle.loads(pickle.dumps(f)), "mis-match"),
            ):
                with pytest.raises(ValueError, match=text):
                    each(*(np.zeros(shape, "f4") for shape in (*shapes, (3,))))


def test_large_totals_compile_nothing_that_was_not_prepared(first_context, monkeypatch):
    def made():
        info = first_context.cache_info()
        return info.compiled + info.disk_hits

    x, b = T.fmatrix("x"), T.fvector("b")
    with config.use(device=str(first_context.name)):
        f = function([x, b], [b - np.float32(0.7123) * x.sum(0), T.exp(b) * 3])
    prepared = made()
    monkeypatch.setattr(multi_tensor, "MOST_FOLDED", 999)
    monkeypatch.setattr(multi_tensor, "MOST_FOLDED_CPU", 999)
    for shape in ((2, 3), (70, 500), (500, 70), (2000, 1)):
        values = np.random.default_rng(0).normal(size=shape).astype("f4")
        got, _ = f(values, np.zeros(shape[1], "f4"))
        wanted = -0.7123 * values.astype("f8").sum(0)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
        if first_context.kind == "cuda" and shape == (2, 3):
            prepared = made()  # the first call has the rest compiled
    assert made() == prepared


def card(**given):
    return SimpleNamespace(
        **{"is_cpu": False, "processors": 132, "max_threads": 1024} | given
    )


def test_what_is_left_to_the_library():
    def columns(rows, count, device):
        threads = 1 << (min(256, device.max_threads).bit_length() - 1)
        return multi_tensor.columns_of(rows, count, threads, device)

    assert columns(60, 500, card()) == 8
    assert columns(60, 10, card()) == 8
    assert columns(2048, 1, card()) == 1
    assert columns(4096, 10, card()) == columns(4096, 1, card()) == 1
    assert columns(4097, 10, card()) == columns(100000, 1, card()) == 0
    assert columns(60, 500, card(is_cpu=True)) % 16 == 0
    assert columns(4096, 500, card(is_cpu=True)) == 0
    # Each number of columns on either side of where the next one begins.
    for rows, count, wanted in (
        (1, 33792, 256), (1, 33791, 128), (9, 16895, 64), (1, 2112, 16),
        (1, 2111, 8), (256, 8, 8), (257, 8, 4),
        (2048, 128, 1), (2049, 127, 1), (512, 512, 4), (512, 513, 0), (0, 3, 4),
        (1, 1, 1), (1, 2, 2), (1, 5, 8), (1, 0, 1), (4096, 64, 1), (4096, 65, 0),
    ):  # fmt: skip
        assert (rows, count, columns(rows, count, card())) == (rows, count, wanted)
    few = card(processors=50)
    assert [columns(rows, 12800, few) for rows in (8, 9)] == [256, 128]
    for rows, count, wanted in (
        (60, 500, 272), (3, 5, 5460), (0, 5, 81920), (5, 0, 3276), (60, 1, 273),
        (4096, 16, 16), (4096, 17, 0), (1, 16, 16384), (1, 17, 16384), (0, 0, 16384),
    ):  # fmt: skip
        given = rows, count, columns(rows, count, card(is_cpu=True))
        assert given == (rows, count, wanted)
    for rows in (0, 1, 2, 9, 60, 257, 1000, 8192):
        for count in (1, 2, 7, 32, 100, 3000):
            lanes = columns(rows, count, card(max_threads=200))
            assert lanes & (lanes - 1) == 0 and lanes <= 128
            most = multi_tensor.STEPS if lanes > 1 else multi_tensor.MOST_STEPS
            assert rows * lanes <= most * 128


def test_totals_by_reference():
    x, y, b = T.dmatrix("x"), T.dmatrix("y"), T.dvector("b")
    results = [b - (x * x).sum(0), T.sum(x), y.sum(0)]
    fgraph = FunctionGraph([x, y, b], results)
    rewrites.optimize(fgraph)
    (node,) = (each for each in fgraph.toposort() if isinstance(each.op, MultiTensor))
    assert [part.total.monoid for part in node.op.parts] == ["add"] * 3
    inputs = [each.type() for each in node.inputs]
    rng = np.random.default_rng(0)
    given = {v: rng.normal(size=(4, 3)) for v in (x, y)} | {b: rng.normal(size=3)}
    values = [given[each] for each in node.inputs]
    unfolded = FunctionGraph(inputs, node.op.unfold(inputs))
    wanted = run_graph(unfolded, dict(zip(unfolded.inputs, values, strict=True)))
    squares = given[b] - (given[x] ** 2).sum(0), given[x].sum(), given[y].sum(0)
    for got, again, right in zip(
        node.op.evaluate(node, values), wanted, squares, strict=True
    ):
        np.testing.assert_allclose(got, right, rtol=1e-13)
        np.testing.assert_allclose(again, right, rtol=1e-13)
    made = node.op.make_node(*inputs)
    lengths = [tuple(each.shape) for each in values]
    assert node.op.infer_shape(made, lengths) == [(3,), (), (3,)]
    assert [out.type.ndim for out in made.outputs] == [1, 0, 1]


def test_results_may_be_of_another_dtype_than_their_total(context):
    x = TensorType("float32", (False, False))("x")
    b = TensorType("float32", (False,))("b")
    with config.use(device=str(context.name)):
        f = function([x, b], [T.mean(x) + np.float64(0.5), b - x.sum(0)])
        assert any(part.total is not None for part in parts_of(f))
        got = f(np.ones((7, 5), "f4"), np.ones(5, "f4"))
    assert np.asarray(got[0]).dtype == "float64"
    assert np.asarray(got[0]) == 1.5 and (np.asarray(got[1]) == -6).all()
