"""Pooling in programs: drawn windows, derivatives of any order, what is refused."""

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.tensor.signal import pool
from gpuarray.compiler.tensor.signal.pool import (
    AveragePoolGrad,
    DownsampleFactorMaxGradGrad,
    MaxPoolGrad,
    MaxPoolRop,
    Pool,
    max_pool_2d_same_size,
    pool_2d,
    pool_3d,
)
from judge import assert_same
from pooled import MODES, drawn
from test_gradient import assert_gradients_agree

SQUARE = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)


def ops_of(f):
    return [step.label for step in f.plan.steps]


def distinct(random, shape):
    """Numbers that differ by far more than a finite difference."""
    return random.permutation(np.arange(np.prod(shape)) * 0.37).reshape(shape)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_drawn_windows_by_references(ndim):
    """Values, shapes as inferred, and gradients twice, all by NumPy."""
    random = np.random.default_rng(ndim)
    for _ in range(12):
        judge = drawn(random, ndim, is_symmetric=True, most=4)
        shape = (*random.integers(1, 3, random.integers(0, 3)),)
        x = distinct(random, (*shape, *random.integers(2, 6, ndim)))
        variable = T.tensor("float64", (False,) * x.ndim)
        op = Pool(not judge.ceil, judge.mode, ndim)
        y = op(variable, judge.window, judge.stride, judge.before)
        expected = judge.pooled(x)
        assert_same(evaluate(y, {variable: x}), expected)
        inferred = y.owner.op.infer_shape(y.owner, [tuple(variable.shape), *[()] * 9])
        assert tuple(evaluate(T.stack(inferred[0]), {variable: x})) == expected.shape
        if expected.size == 0:
            continue

        def build(v, op=op, judge=judge):
            return op(v * v, judge.window, judge.stride, judge.before)

        assert_gradients_agree(build, [x + 1], [variable])
        slopes = theano.grad((build(variable) ** 2).sum(), variable)
        assert_gradients_agree(lambda v, slopes=slopes: slopes, [x / 9 + 1], [variable])


@pytest.mark.parametrize("mode", MODES)
def test_forward_mode_is_the_transpose_of_reverse_mode(mode):
    random = np.random.default_rng(4)
    x, v = T.dtensor3("x"), T.dtensor3("v")
    values = {x: distinct(random, (2, 5, 6)), v: random.normal(size=(2, 5, 6))}
    y = pool_2d(x, (3, 2), False, (2, 1), (1, 1), mode)
    forward = theano.Rop(y, x, v)
    g = random.normal(size=evaluate(y, values).shape)
    backward = theano.Lop(y, x, T.constant(g))
    pushed, pulled = evaluate([forward, backward], values)
    np.testing.assert_allclose((pushed * g).sum(), (pulled * values[v]).sum())
    assert type(forward.owner.op) is (MaxPoolRop if mode == "max" else Pool)


def test_what_theano_gives(context):
    x = T.tensor4("x", dtype="float32")
    outputs = [pool_2d(x, (2, 2), True, pad=(1, 1), mode=mode) for mode in MODES]
    with theano.config.use(device=context.name):
        f = theano.function([x], outputs)
        maxima, sums, inc, exc = (np.asarray(y)[0, 0].tolist() for y in f(SQUARE))
    assert maxima == [[0, 2, 3], [8, 10, 11], [12, 14, 15]]
    assert sums == [[0, 3, 3], [12, 30, 18], [12, 27, 15]]
    assert inc == [[n / 4 for n in row] for row in sums]
    assert exc == [[0, 1.5, 3], [6, 7.5, 9], [12, 13.5, 15]]


def test_shapes_that_theano_gives():
    assert Pool.out_shape((3, 5, 5), (2, 2), True) == (3, 2, 2)
    assert Pool.out_shape((3, 5, 5), (2, 2)) == (3, 3, 3)
    assert Pool.out_shape((8, 9), (3, 3), False, (5, 2)) == (2, 4)
    assert Pool.out_shape((8, 9), (3, 3), True, (2, 2), (1, 2)) == (4, 6)
    assert Pool.out_shape((2, 2), (3, 3), True) == (0, 0)
    assert Pool.out_shape((2, 4, 6), (2, 2, 2), True, ndim=3) == (1, 2, 3)


def test_equal_maxima_all_get_the_gradient():
    x = T.dmatrix("x")
    slopes = theano.grad(pool_2d(x, (2, 2)).sum(), x)
    ones = np.ones((2, 4))
    assert_same(evaluate(slopes, {x: ones}), ones)
    along = theano.Rop(pool_2d(x, (2, 2)), x, T.constant(np.arange(8.0).reshape(2, 4)))
    assert_same(evaluate(along, {x: ones}), np.array([[0.0, 2.0]]))


def test_a_network_of_pools_on_the_device(context):
    """Steps run the library's routines, and files without Python too."""
    x = T.tensor4("x", dtype="float64")
    y = pool_2d(pool_2d(x, (3, 3), True, (1, 1), (1, 1)), (2, 2), mode="sum")
    slopes = theano.grad((y**2).sum(), x)
    curved = theano.grad((slopes**2).sum(), x)
    values = distinct(np.random.default_rng(2), (2, 3, 7, 6))
    with theano.config.use(device=context.name):
        f = theano.function([x], [y, slopes, curved])
    assert "reference" not in ops_of(f)
    for found, expected in zip(
        f(values), evaluate([y, slopes, curved], {x: values}), strict=True
    ):
        assert_same(found, expected)


def test_windows_known_when_the_program_runs(context):
    x, ws, stride = T.fmatrix("x"), T.ivector("ws"), T.lvector("stride")
    y = pool_2d(x, ws, True, stride, mode="average_exc_pad")
    with theano.config.use(device=context.name):
        f = theano.function([x, ws, stride], [y, theano.grad(y.sum(), x), y.shape])
    values = np.random.default_rng(1).normal(size=(7, 8)).astype("float32")
    for window, step in [((2, 3), (1, 2)), ((1, 1), (3, 1)), ((7, 8), (1, 1))]:
        numbers = np.array(window, "int32"), np.array(step, "int64")
        known = {x: values, ws: numbers[0], stride: numbers[1]}
        expected = evaluate([y, theano.grad(y.sum(), x), y.shape], known)
        for found, one in zip(f(values, *numbers), expected, strict=True):
            assert_same(found, one)
    with pytest.raises(ValueError, match=r"-1 (for|of) spatial axis 0"):
        f(values, np.array([-1, 2], "int32"), np.array([1, 1], "int64"))


def test_pools_in_files_run_from_the_library(context, tmp_path):
    x = T.fmatrix("x")
    y = pool_2d(x, (2, 2), False)
    slopes = theano.grad((y**2).sum(), x)
    along = theano.Rop(y, x, x)
    with theano.config.use(device=context.name):
        f = theano.function([x], [y, slopes, along])
    f.save(tmp_path / "pools", graph=False)
    loaded = gpuarray.load_function(tmp_path / "pools", context)
    values = np.random.default_rng(3).normal(size=(5, 6)).astype("float32")
    for found, expected in zip(loaded(values), f(values), strict=True):
        assert_same(found, np.asarray(expected))


def test_same_size():
    x = T.dtensor3("x")
    values = distinct(np.random.default_rng(0), (2, 4, 5))
    found = evaluate(max_pool_2d_same_size(x, (2, 2)), {x: values})
    kept = found != 0
    assert kept.sum() <= 8
    assert not found[..., 4].any()
    np.testing.assert_array_equal(found[kept], values[kept])
    corner = values[0, :2, :2]
    assert found[0, :2, :2].max() == corner.max()


def test_former_names_of_arguments():
    x = T.dtensor4("x")
    new = pool_2d(x, (2, 3), True, (1, 2), (1, 0))
    old = pool_2d(x, ds=(2, 3), ignore_border=True, st=(1, 2), padding=(1, 0))
    assert new.owner.op == old.owner.op
    numbers = [[each.data.item() for each in y.owner.inputs[1:]] for y in (new, old)]
    assert numbers == [[2, 3, 1, 2, 1, 0]] * 2


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda x: pool_2d(x), GraphTypeError, "given no ws"),
        (lambda x: pool_2d(x, 2), GraphTypeError, "ws is .* expected 2 integers"),
        (lambda x: pool_2d(x, (2,)), GraphValueError, "ws has 1 numbers, expected 2"),
        (lambda x: pool_2d(x, (2, 0)), GraphValueError, "ws is 0 for axis 1 of 2"),
        (lambda x: pool_2d(x, (2, 2), stride=(0, 1)), GraphValueError, "stride is 0"),
        (lambda x: pool_2d(x, (2, 2.5)), GraphTypeError, "ws is .* an integer"),
        (lambda x: pool_2d(x, (2, 2), pad=(2, 0)), GraphValueError, "less than the wi"),
        (lambda x: pool_2d(x, (2, 2), mode="avg"), GraphValueError, "mode is 'avg'"),
        (lambda x: pool_2d(x, (2, 2), ds=(2, 2)), GraphValueError, "both ws and ds"),
        (
            lambda x: pool_2d(x, (2, 2), pad=(1, 1), padding=(0, 0)),
            GraphValueError,
            "both pad and padding",
        ),
        (lambda x: pool_2d(x, kernel_size=2), GraphTypeError, "kernel_size, .* is ws"),
        (lambda x: pool_2d(x, (2, 2), strides=2), GraphTypeError, "strides, .* stride"),
        (lambda x: pool_3d(x, pool_size=2), GraphTypeError, "pool_3d: got pool_size"),
        (lambda x: pool_3d(x, (2, 2, 2)), GraphTypeError, "x is .* expected 3 axes"),
        (lambda x: Pool(ndim=4), GraphValueError, "ndim is 4, expected 1 to 3"),
        (lambda x: MaxPoolGrad(mode="sum"), GraphValueError, "expected 'max'"),
        (lambda x: AveragePoolGrad(mode="max"), GraphValueError, "is MaxPoolGrad"),
        (lambda x: Pool()(x), GraphTypeError, "given 1 inputs, expected x, ws"),
        (
            lambda x: MaxPoolGrad()(x, x.astype("float32"), x, (2, 2)),
            GraphTypeError,
            "maxout is .* expected the dtype",
        ),
        (
            lambda x: DownsampleFactorMaxGradGrad()(x, x, x[0], (2, 2)),
            GraphTypeError,
            "ggx is .* expected 2 axes",
        ),
        (
            lambda x: pool_2d(x.astype("int32"), (2, 2), mode="average_inc_pad"),
            GraphTypeError,
            "expected floats; cast it",
        ),
        (lambda x: pool_2d(x.astype("complex64"), (2, 2)), GraphTypeError, "real num"),
    ],
)
def test_errors(build, error, text):
    with pytest.raises(error, match=text):
        build(T.dmatrix("x"))


def test_the_gradient_of_another_shape_is_refused_when_it_runs(context):
    x, y = T.fmatrix("x"), T.fmatrix("y")
    with theano.config.use(device=context.name):
        f = theano.function([x, y], MaxPoolGrad(True)(x, y, y, (2, 2)))
    a, b = np.ones((4, 4), "float32"), np.ones((3, 2), "float32")
    with pytest.raises(ValueError, match=r"\(2, 2\)|3 .*2"):
        f(a, b)


def test_names_of_the_namespace():
    assert T.signal.pool is pool
    with pytest.raises(AttributeError, match="pool_2d"):
        _ = pool.pool_2


def test_activations_are_computed_of_maxima_where_no_gradient_reads_them(first_context):
    x, b = T.ftensor4("x"), T.fvector("b")
    active = T.tanh(x + b.dimshuffle("x", 0, "x", "x"))
    maxima = pool_2d(active, (2, 3), stride=(1, 2), pad=(1, 1), ignore_border=True)
    random = np.random.default_rng(0)
    values = random.normal(size=(2, 3, 5, 7)).astype("float32")
    values[0, 1, 2, 3] = np.nan
    bias = random.normal(size=3).astype("float32")
    with theano.config.use(device=str(first_context.name)):
        f = theano.function([x, b], maxima)
        others = [
            theano.function([x, b], [maxima, more])
            for more in (active, T.grad(maxima.sum(), b))
        ]
    steps = ops_of(f)
    assert steps.index("pool") < steps.index("add+tanh")
    for other in others:
        first = ops_of(other)[: ops_of(other).index("pool")]
        assert any("tanh" in step for step in first)
        wanted = np.asarray(other(values, bias)[0])
        assert_same(np.asarray(f(values, bias)), wanted, 1e-6)
