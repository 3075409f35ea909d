"""Ops by the short way: kernels and elementwise expressions of a program's own."""

import doctest
import importlib
import inspect
import os
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import gpuarray
import numpy as np
import own_ops
import pytest
from gpuarray.compiler import (
    config,
    elementwise_op,
    function,
    kernel_op,
    load,
    tensor as T,
)
from gpuarray.compiler.errors import BadThunkOutput
from gpuarray.compiler.gpukernels.custom.signature import parsed
from gpuarray.compiler.gradient import grad, jacobian, verify_grad
from gpuarray.compiler.ops.custom import own
from gpuarray.scalars import SCALARS
from own_ops import scan_rows, sine_and_cosine, windows

OCLGRIND = Path("/usr/lib/oclgrind/liboclgrind-rt.so")
ROWS = np.random.RandomState(0).randn(3, 700)
TOLERANCES = {"float16": 2e-2, "bfloat16": 2e-1, "float32": 1e-4, "float64": 1e-12}


def matrix(dtype="float64"):
    return T.tensor(dtype, (False, False))


@pytest.fixture
def rows():
    """A table of rows that is as before when the test is over."""
    tables = SCALARS, own.OWN
    before = [dict(each) for each in tables]
    yield SCALARS
    for table, known in zip(tables, before, strict=True):
        for name in [*table]:
            if name not in known:
                del table[name]


@pytest.fixture
def own_swish(rows):
    @elementwise_op("x / (1 + exp(-x * 1.0))", lambda x: x / (1 + np.exp(-x)))
    def own_swish(m, g, y, x):
        """``x`` times its sigmoid."""
        s = m.sigmoid(x)
        return g * (s + y * (1 - s))

    return own_swish


@pytest.fixture
def own_scaled_max(rows):
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
def test_examples_of_docstrings_run(on_context, rows, name):
    module = importlib.import_module(f"gpuarray.compiler.{name}")
    scope = {"gpuarray": gpuarray, "np": np}
    result = doctest.testmod(module, extraglobs=scope)
    assert result.failed == 0 and result.attempted > 0


# ---- mistakes ----


def made(signature, **options):
    given = {"blocks": 1, "reference": lambda *arrays: arrays[0], **options}

    @kernel_op(signature, "", **given)
    def nothing(m, g, y, *inputs):
        return None

    return nothing


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("T x[n]", "expected inputs -> outputs"),
        ("T x[n] -> ", "no operand"),
        ("T[n] -> T y[n]", "no operand"),
        ("float31 x[n] -> T y[n]", "float31"),
        ("T x[n] -> U y[n]", "no input has the dtype U"),
        ("T x[n], T x[m] -> T y[n]", "'x' stands for two things"),
        ("T x[x] -> T y[x]", "'x' stands for two things"),
        ("T x[n + 1] -> T y[n]", "no name of a length"),
        ("T x[n] -> T y[m]", "not made of n, whole numbers"),
        ("T x[n] -> T y[n.real]", "not made of n"),
        ("T x[n] -> T y[n +]", "no expression"),
        ("T x[n] -> T y", "outputs are arrays"),
        ("float32 x -> float32 y[2]", "write float32 x\\[\\]"),
        ("T x[n] -> T y[...]", "no input is of any shape"),
    ],
)
def test_a_signature_that_means_nothing(signature, said):
    with pytest.raises((ValueError, TypeError), match=said):
        made(signature)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"blocks": None}, "give either n"),
        ({"n": 3}, "give either n"),
        ({"blocks": "rows"}, "'rows' is not made of"),
        ({"zeroed": ["z"]}, "zeroed=\\('z',\\), the outputs are y"),
    ],
)
def test_a_geometry_that_means_nothing(options, said):
    with pytest.raises(ValueError, match=said):
        made("T x[n] -> T y[n]", **options)


def test_an_op_has_a_name():
    make = kernel_op("T x[n] -> T y[n]", "", blocks=1, reference=np.abs)
    with pytest.raises(ValueError, match="'<lambda>' is no name"):
        make(lambda m, g, y, x: g)


def test_operands_that_do_not_fit(on_context):
    op = made("T x[n], T y[n] -> T z[n]")
    x, y = T.dvectors("x", "y")
    with pytest.raises(TypeError, match="given 1 operands, expected 2: T x"):
        op(x)
    with pytest.raises(TypeError, match=r"for T y\[n\], expected 1 axes"):
        op(x, T.dmatrix("m"))
    assert op(x, T.fvector("f")).type.dtype == "float64"
    shifted = made("int32 x[n], int64 k -> int32 z[n]")
    assert shifted(T.lvector("i"), T.iscalar("k")).type.dtype == "int32"
    for given in ((T.ivector("i"), 2.5), (x, 2)):
        with pytest.raises(TypeError, match="cast it if that is meant; the signature"):
            shifted(*given)
    f = function([x, y], op(x, y))
    with pytest.raises(ValueError, match="n is 3 in x and 2 in y"):
        f(np.ones(3), np.ones(2))
    several = made("T x[...], T y[...] -> T z[...]", blocks="size")
    f = function([x, y], several(x, y))
    with pytest.raises(ValueError, match=r"have one shape, given are x \(3,\), y"):
        f(np.ones(3), np.ones(2))


def test_a_gradient_with_a_wrong_number_of_terms():
    @kernel_op("T x[n], T y[n] -> T z[n]", "", blocks=1, reference=lambda x, y: x)
    def op(m, g, z, x, y):
        return g, g, g

    x, y = T.dvectors("x", "y")
    with pytest.raises(TypeError, match="gives 3 terms, expected one for each of 2"):
        grad(op(x, y).sum(), x)


def test_a_kernel_that_does_not_compile_names_op_and_file(on_context):
    @kernel_op("T x[n] -> T y[n]", "STORE(y, 0, no_such(x));", blocks=1,
               reference=lambda x: x)  # fmt: skip
    def broken(m, g, y, x):
        return g

    x = T.fvector("x")
    with pytest.raises(RuntimeError, match="no_such") as caught:
        function([x], broken(x))
    assert f"broken ({__file__}:" in str(caught.value)


@pytest.mark.parametrize("wrap", [lambda y: y + 1, lambda y: y.sum()])
def test_an_expression_that_does_not_compile_names_op_and_file(on_context, rows, wrap):
    @elementwise_op("no_such(x)", np.exp)
    def unknown_word(m, g, y, x):
        return g

    x = T.fvector("x")
    with pytest.raises(RuntimeError, match="no_such") as caught:
        function([x], wrap(unknown_word(x)))
    (note,) = caught.value.__notes__
    assert note.startswith(f"  with unknown_word ({__file__}:")
    assert f"made at {__file__}:" in note


BEYOND = """
from gpuarray.compiler import function, kernel_op, tensor as T

@kernel_op("float32 x[n] -> float32 y[n]", "STORE(y, GID_0 + 9999, LOAD(x, 0));",
           blocks="n", threads=1, reference=lambda x: x)
def beyond(m, g, y, x):
    return g

x = T.fvector("x")
function([x], beyond(x))([1, 2])
"""


@pytest.mark.skipif(not OCLGRIND.exists(), reason="the simulator is not installed")
def test_a_write_out_of_bounds_is_found_by_the_simulator(tmp_path):
    """In a process of its own, as the documentation has it."""
    log = tmp_path / "log"
    environment = os.environ | {
        "GPUARRAY_OPENCL": str(OCLGRIND),
        "OCLGRIND_LOG": str(log),
        "GPUARRAY_DEVICE": "opencl0:0",
    }
    subprocess.run([sys.executable, "-c", BEYOND], env=environment, check=True)
    said = log.read_text()
    assert "Invalid write of size 4" in said
    assert "Kernel: beyond_" in said


def test_expressions_that_mean_nothing(rows):
    with pytest.raises(ValueError, match="does not use y"):
        elementwise_op("x", np.abs)(lambda m, g, z, x, y: None)
    with pytest.raises(TypeError, match=r"expected \(m, g, y, ...\)"):
        elementwise_op("x", np.abs)(lambda x: None)

    def tanh(m, g, y, x):
        return g

    with pytest.raises(ValueError, match="the name 'tanh' is taken by"):
        elementwise_op("x", np.abs)(tanh)
    assert rows["tanh"].expression == "tanh({0})"


def test_a_name_may_be_loaded_again(rows):
    for _ in range(2):

        @elementwise_op("x + 1", lambda x: x + 1)
        def own_successor(m, g, y, x):
            return g

    assert rows["own_successor"].expression == "{0} + 1"


def defined(support, gradient=lambda g, x: g, reference=np.positive):
    @elementwise_op("own_helper(x)", reference, support=support)
    def own_edited(m, g, y, x):
        return gradient(g, x)

    return own_edited


HELPER = "WITHIN_KERNEL {t} own_helper({t} x) { return %s; }"


def test_an_operation_defined_anew_is_another_one(rows, context):
    with config.use(device=context.name, floatX="float32"):
        u = T.fvector("u")
        first = defined(HELPER % "x + 1", lambda g, x: g, lambda x: x + 1)
        before = first(u)
        f = function([u], before)
        second = defined(HELPER % "x * 10", lambda g, x: g * 10, lambda x: x * 10)
        after = second(u)
        assert before.owner.op != after.owner.op
        assert first.__name__ == second.__name__ == "own_edited"
        values = np.array([1, 2, 3], "f4")
        np.testing.assert_array_equal(f(values), values + 1)
        for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode"):
            outputs = [before, after, before - after]
            one, ten, both = function([u], outputs, mode=mode)(values)
            np.testing.assert_array_equal(one, values + 1)
            np.testing.assert_array_equal(ten, values * 10)
            np.testing.assert_array_equal(both, values + 1 - values * 10)
        slopes = function([u], [grad(each.sum(), u) for each in (before, after)])
        np.testing.assert_array_equal(slopes(values), [[1] * 3, [10] * 3])
        loaded = pickle.loads(pickle.dumps([u, before, after]))
        one, ten = function(loaded[:1], loaded[1:])(values)
        np.testing.assert_array_equal(one, values + 1)
        np.testing.assert_array_equal(ten, values * 10)


def test_an_operation_of_another_gradient_or_reference_is_another_one(rows):
    u = T.dvector("u")
    text = HELPER % "x"
    first = defined(text)(u).owner.op
    assert defined(text)(u).owner.op == first  # as of a module loaded again
    assert defined(text, lambda g, x: g * 2)(u).owner.op != first
    assert defined(text, reference=lambda x: x + 0)(u).owner.op != first
    assert defined(text)(u).owner.op == first


def test_a_pickle_of_an_operation_that_is_no_more_says_so(rows, monkeypatch):
    text = HELPER % "x + 5"
    kept = pickle.dumps(defined(text)(T.dvector("u")))
    monkeypatch.setattr(own, "OWN", {})
    with pytest.raises(ValueError, match=r"needs the operation 'own_edited'.*none"):
        pickle.loads(kept)


def test_kernel_ops_of_another_gradient_are_others():
    def made(factor):
        @kernel_op(
            "T x[n] -> T y[n]", "STORE(y, i, LOAD(x, i));", reference=np.copy, n="n"
        )
        def own_copied(m, g, y, x):
            return g * factor

        return own_copied

    assert made(1) == made(1) and hash(made(1)) == hash(made(1))
    assert made(1) != made(2)


def test_a_signature_prints():
    text = "T x[n, m], int64 k -> T y[m, k], float32 s[n]"
    assert str(parsed(text)) == text


def test_the_limit_of_threads_that_is_told_is_the_devices(on_context):
    too_many = 1 << 16

    @kernel_op(
        "T x[n] -> T y[n]",
        "STORE(y, 0, LOAD(x, 0));",
        blocks=1,
        threads=too_many,
        reference=lambda x: x,
    )
    def wide(m, g, y, x):
        return g

    x = T.fvector("x")
    f = function([x], wide(x))
    with pytest.raises(gpuarray.DeviceLimit, match=f"{too_many} threads") as told:
        f(np.ones(3, "float32"))
    assert isinstance(told.value, gpuarray.errors.BadValue)
    assert "null" not in str(told.value)
    assert re.search(rf"expected 1 to \d+ on {on_context.name}", str(told.value))
