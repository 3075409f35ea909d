"""Ops by the short way: kernels and elementwise expressions of a program's own."""

import doctest
import importlib
import inspect
import pickle
import subprocess
import sys
import warnings

import gpuarray
import numpy as np
import own_ops
import pytest
from gpuarray.compiler import (
    elementwise_op,
    function,
    kernel_op,
    load,
    tensor as T,
)
from gpuarray.compiler.errors import BadThunkOutput
from gpuarray.compiler.gradient import grad, jacobian, verify_grad
from own_ops import scan_rows, sine_and_cosine, windows

ROWS = np.random.RandomState(0).randn(3, 700)
TOLERANCES = {"float16": 2e-2, "bfloat16": 2e-1, "float32": 1e-4, "float64": 1e-12}


def matrix(dtype="float64"):
    return T.tensor(dtype, (False, False))


@pytest.fixture
def own_swish(restored_rows):
    @elementwise_op("x / (1 + exp(-x * 1.0))", lambda x: x / (1 + np.exp(-x)))
    def own_swish(m, g, y, x):
        """``x`` times its sigmoid."""
        s = m.sigmoid(x)
        return g * (s + y * (1 - s))

    return own_swish


@pytest.fixture
def own_scaled_max(restored_rows):
    @elementwise_op("a * fmax(x, y) + 0.5", lambda a, x, y: a * np.maximum(x, y) + 0.5)
    def own_scaled_max(m, g, z, a, x, y):
        """``a`` times the larger of two numbers, and a half."""
        return g * m.maximum(x, y), g * a * m.gt(x, y), g * a * m.le(x, y)

    return own_scaled_max


# ---- kernels ----


@pytest.mark.every_case
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_a_row_kernel_with_local_memory(on_context, dtype):
    x = matrix(dtype)
    f = function([x], scan_rows(x))
    value = ROWS.astype(x.type.numpy_dtype)
    expected = np.cumsum(value.astype("float64"), axis=1)
    result = f(value)
    assert result.dtype == value.dtype
    error = np.abs(result.astype("float64") - expected).max()
    assert error <= TOLERANCES[dtype] * np.abs(expected).max()


def test_any_layout_and_shape_in_one_launch(on_context):
    x = matrix()
    f = function([x], scan_rows(x))
    for value in (ROWS[:, ::-3], ROWS.T, ROWS[:, :0], ROWS[:0], ROWS[1:, 5:]):
        np.testing.assert_allclose(f(value), np.cumsum(value, axis=1), atol=1e-12)
    f(ROWS)
    assert f.info()["n_launches"] == 1


def test_what_follows_a_kernel_is_of_the_same_plan(on_context):
    x = matrix()
    f = function([x], scan_rows(T.exp(x)) * 2)
    assert [step.label for step in f.plan.steps][::2] == ["exp", "scan_rows"]
    assert all(getattr(step, "recorded", True) for step in f.plan.steps)
    np.testing.assert_allclose(f(ROWS), np.cumsum(np.exp(ROWS), axis=1) * 2)


def test_two_outputs(on_context):
    x = T.dtensor3("x")
    s, c = sine_and_cosine(x)
    f = function([x], [s, c, s.shape[0] + c.shape[2]])
    value = ROWS.reshape(3, 70, 10)
    results = f(value)
    np.testing.assert_allclose(results[0], np.sin(value))
    np.testing.assert_allclose(results[1], np.cos(value))
    assert results[2] == 13


def test_an_integer_of_the_host_settles_a_shape(on_context):
    x, w, k = T.dvector("x"), T.dvector("w"), T.lscalar("k")
    f = function([x, w, k], windows(x, w, k))
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    for count in (1, 3, 4):
        expected = own_ops.windows_with_numpy(ROWS[0], weights[:count], count)
        np.testing.assert_array_equal(f(ROWS[0], weights[:count], count), expected)
    shape = function([x, w, k], windows(x, w, k).shape)
    assert [*shape(ROWS[0], weights, 4)] == [697, 4]


@pytest.mark.parametrize("mode", ["DebugMode", "FAST_COMPILE", "NanGuardMode"])
def test_modes_know_the_ops(on_context, own_swish, mode):
    x = matrix()
    f = function([x], [scan_rows(own_swish(x)), *sine_and_cosine(x)], mode=mode)
    value = ROWS[:, :9]
    expected = np.cumsum(value / (1 + np.exp(-value)), axis=1)
    np.testing.assert_allclose(f(value)[0], expected)


def test_the_reference_is_compared_by_debug_mode(on_context):
    @kernel_op("T x[n] -> T y[n]", "STORE(y, GID_0, LOAD(x, GID_0) + 1);",
               blocks="n", threads=1, reference=lambda x: x)  # fmt: skip
    def plus_one(m, g, y, x):
        return g

    x = T.dvector("x")
    f = function([x], plus_one(x), mode="DebugMode")
    with pytest.raises(BadThunkOutput, match="reference"):
        f([1.0, 2.0])


def test_gradients_agree_with_finite_differences(on_context, own_swish, own_scaled_max):
    """All of them in one function: each one compiles a dozen kernels."""
    value = np.random.RandomState(1).rand(3, 5)

    def everything(a, x):
        s, c = sine_and_cosine(own_scaled_max(a, x, 0.4))
        return scan_rows(own_swish(s * c))

    verify_grad(everything, [value, value[::-1] + 0.3])


def test_gradients_have_gradients(on_context):
    x = matrix()
    twice = grad(grad((scan_rows(x) ** 3).sum(), x)[0, 0], x)
    value = ROWS[:1, :4]
    # The first of d/dx sum(s^3), s the running sums, is 3 sum(s^2).
    sums = np.cumsum(value)
    expected = 6 * np.cumsum(sums[::-1])[::-1][None]
    np.testing.assert_allclose(function([x], twice)(value), expected)


def test_a_jacobian_runs_the_kernel_for_each_row(on_context):
    x = T.dvector("x")
    y = scan_rows(x[None, :] * x)[0]
    f = function([x], jacobian(y, x))
    value = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(f(value), np.tril(np.ones((3, 3))) * 2 * value)


def test_nothing_flows_where_the_gradient_says_none(on_context):
    x, w = T.dvectors("x", "w")
    cost = windows(x, w, 3).sum() + x.sum()
    g = grad(cost, x)
    np.testing.assert_array_equal(function([x, w], g, on_unused_input="ignore")(
        [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]), np.ones(3))  # fmt: skip


def test_a_saved_plan_runs_without_the_op(on_context, own_swish, tmp_path):
    x = matrix()
    f = function([x], scan_rows(x) + own_swish(x), name="f")
    with warnings.catch_warnings(action="error"):
        f.save(tmp_path / "f.plan", graph=False)
    expected = f(ROWS)
    program = (
        "import sys, numpy, gpuarray;"
        "gpuarray.set_default_context(gpuarray.context(sys.argv[1]));"
        "f = gpuarray.load_function(sys.argv[2]);"
        "x = numpy.load(sys.argv[3]);"
        "numpy.save(sys.argv[3], numpy.asarray(f(x)));"
        "assert 'gpuarray.compiler' not in sys.modules"
    )
    np.save(tmp_path / "x.npy", ROWS)
    paths = [tmp_path / "f.plan", tmp_path / "x.npy"]
    subprocess.run([sys.executable, "-c", program, on_context.name, *paths], check=True)
    np.testing.assert_array_equal(np.load(paths[1]), expected)


def test_a_loaded_graph_finds_the_op_by_its_name(on_context, tmp_path):
    x = matrix()
    f = function([x], scan_rows(x))
    f.save(tmp_path / "f.plan")
    again = load(tmp_path / "f.plan", trusted=True)
    np.testing.assert_array_equal(again(ROWS), f(ROWS))
    assert pickle.loads(pickle.dumps(scan_rows)) is scan_rows
    copied = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(copied(ROWS[:2]), f(ROWS[:2]))


def test_an_op_costs_ten_lines_at_most():
    for op in (scan_rows, sine_and_cosine, windows):
        assert len(inspect.getsource(op.gradient).splitlines()) <= 10, op.name


# ---- elementwise expressions ----


@pytest.mark.every_case
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8"])
def test_an_expression_is_a_row_like_any_other(on_context, own_swish, dtype):
    x = matrix(dtype)
    f = function([x], own_swish(x))
    value = np.arange(-6, 6).reshape(3, 4).astype(dtype)
    exact = value / (1 + np.exp(-value.astype("float64")))
    result = f(value)
    assert result.dtype == ("float32" if dtype == "int8" else dtype)
    np.testing.assert_allclose(
        result, exact, rtol=2e-3 if dtype != "float64" else 1e-14
    )


def test_an_expression_fuses_with_what_is_around_it(
    on_context, own_swish, own_scaled_max
):
    x, y = T.fmatrices("x", "y")
    f = function([x, y], own_scaled_max(y, own_swish(2 * x), 3.0) - 1)
    (step,) = f.plan.steps
    assert step.label == "mul+own_swish+own_scaled_max+sub"
    assert "double" not in step.expr
    a, b = ROWS.astype("float32"), np.abs(ROWS[:, ::-1]).astype("float32")
    expected = b * np.maximum(2 * a / (1 + np.exp(-2 * a)), 3) - 0.5
    np.testing.assert_allclose(f(a, b), expected, rtol=1e-5, atol=1e-6)


def test_gradients_of_expressions_fuse(on_context, own_swish):
    x = T.fmatrix("x")
    f = function([x], grad(own_swish(x).sum(), x))
    assert f.plan.launches() == 1


# ---- what docstrings show ----

MODULES = (
    "contexts",
    "gpukernels.basic_ops",
    "gpukernels.fp16_help",
    "gpukernels.custom.kernel",
    "gpukernels.custom.kernel_base",
    "gpukernels.custom.kernel_op",
    "gpukernels.custom.signature",
    "gpukernels.type",
    "graph.types",
    "ops.custom.own",
    "ops.elemwise.draws",
    "ops.random.host",
    "ops.variables.transfer",
    "random",
    "sandbox",
    "sandbox.rng_mrg",
    "tensor.shared_randomstreams",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(on_context, restored_rows, name):
    module = importlib.import_module(f"gpuarray.compiler.{name}")
    scope = {"gpuarray": gpuarray, "np": np}
    result = doctest.testmod(module, extraglobs=scope)
    assert result.failed == 0 and result.attempted > 0
