"""Ops with C code: what the code sees, and how plans call it."""
# ruff: noqa: UP031 (C code has braces)

import doctest
import importlib
from typing import ClassVar

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from c_ops import (
    FILL,
    Shaped,
    Text,
    VectorTimesScalar,
    WithPerform,
    X,
    failing,
    run,
)
from gpuarray.compiler import Apply, config, function
from gpuarray.compiler.cops import (
    COp,
    ExternalCOp,
    GpuKernelBaseCOp,
)
from gpuarray.compiler.errors import BadThunkOutput
from gpuarray.compiler.gpukernels.basic_ops import (
    as_gpuarray_variable,
    infer_context_name,
)
from gpuarray.compiler.gpukernels.calls import STEP_FUNCTIONS
from gpuarray.compiler.gpukernels.custom.kernel_base import Kernel
from gpuarray.doctor import devices

pytestmark = pytest.mark.usefixtures("on_null")


def test_a_vector_times_a_scalar_as_in_the_tutorial():
    x, y = T.dvector("x"), T.dscalar("y")
    f = function([x, y], VectorTimesScalar()(x, y))
    np.testing.assert_array_equal(f([1, 2, 3], 4), [4, 8, 12])
    assert f(np.ones(0), 1).shape == (0,)


@pytest.mark.usefixtures("on_context")
def test_a_c_op_stands_among_other_steps_and_takes_integers():
    x, k = T.dvector("x"), T.lscalar("k")
    f = function([x, k], VectorTimesScalar()(x[::-1] * 2, k).sum() + k)
    assert f([1, 2, 3], -3) == -39


@pytest.mark.usefixtures("on_context")
def test_the_shape_is_known_without_running():
    x, y = T.dvector("x"), T.dscalar("y")
    assert function([x, y], VectorTimesScalar()(x, y).shape[0])([1, 2], 3) == 2


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "uint64", "float64", "complex64"]
)
def test_every_dtype_has_its_type_in_c(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    copied = run(Text("%(z)s = (PyArrayObject *)PyArray_Copy(%(x)s);"), x)
    np.testing.assert_array_equal(copied, x)
    assert copied.dtype == x.dtype


def test_support_code_of_all_kinds_and_options_reach_the_compiler():
    op = Text(
        FILL + "twice_node(ONE) + square(2) + seen + sqrt(HALF * 32);",
        headers=("<math.h>", "gpuarray_op.h"),
        support="static float square(float x) { return x * x; }",
        support_apply="static float twice_%(name)s(float x) { return 2 * x; }",
        struct="static float seen; float get_seen(void) { return seen; }",
        init="seen = 100;",
        init_struct="seen += 1; if (seen != 101) %(fail)s",
        args=("-DONE=1", "-DHALF=0.5", "-Dsqrt=nothing"),
        no_args=("-Dsqrt=nothing",),
        libraries=("m",),
    )
    np.testing.assert_array_equal(run(op, X), np.full(4, 2 + 4 + 101 + 4, "float32"))


def test_what_a_struct_declares_lives_from_run_to_run():
    x = T.fvector("x")
    f = function([x], Text(FILL + "runs; runs++;", struct="static int runs;")(x))
    assert [f(X[:1])[0] for _ in range(3)] == [0, 1, 2]


def test_contexts_have_variables_of_their_own():
    if not devices("opencl")[0]:
        pytest.skip("there is one context only")
    x = T.fvector("x")
    op = Text(FILL + "many; many++;", struct="static int many;")
    here = function([x], op(x))
    assert [here(X[:1])[0] for _ in range(2)] == [0, 1]
    with config.use(device=devices("opencl")[0][0]):
        there = function([x], op(x))
    assert there(X[:1])[0] == 0
    assert here(X[:1])[0] == 2


def test_two_outputs_may_be_made_of_one_another():
    class SumAndDifference(COp):
        __props__ = ()

        def make_node(self, x, y):
            x, y = as_gpuarray_variable(x, None), as_gpuarray_variable(y, None)
            return Apply(self, [x, y], [x.type(), x.type()])

        def c_code(self, node, name, inp, out, sub):
            (x, y), (a, b) = inp, out
            return f"""
            {b} = pygpu_copy({y}, GA_C_ORDER);
            {a} = pygpu_copy({x}, GA_C_ORDER);
            if ({a} == NULL || {b} == NULL) {sub["fail"]}
            """

        def infer_shape(self, node, shapes):
            return shapes

    x, y = T.fvector("x"), T.fvector("y")
    a, b = function([x, y], SumAndDifference()(x, y))(X, X + 1)
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(b, X + 1)


class Twice(GpuKernelBaseCOp):
    """x + x in a kernel of its own, launched over n work items."""

    __props__ = ()

    def make_node(self, x):
        x = as_gpuarray_variable(x, infer_context_name(x))
        return Apply(self, [x], [x.type()])

    def gpu_kernels(self, node, name):
        code = """
        KERNEL void twice(GLOBAL_MEM ga_float *y, ga_size y_off,
                          GLOBAL_MEM const ga_float *x, ga_size x_off, ga_size n,
                          ga_float by) {
          y = (GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)y + y_off);
          x = (GLOBAL_MEM const ga_float *)((GLOBAL_MEM const char *)x + x_off);
          for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0)
            y[i] = by * x[i];
        }"""
        pointer, size = gpuarray.GpuArray, gpuarray.SIZE
        return [Kernel(code, [pointer, size, pointer, size, size, "float32"], "twice")]

    def c_code(self, node, name, inp, out, sub):
        (x,), (y,) = inp, out
        return """
        PyGpuArrayObject *dense = pygpu_copy(%(x)s, GA_C_ORDER);
        if (dense == NULL) %(fail)s
        %(y)s = pygpu_empty_like(dense, GA_C_ORDER, -1);
        if (%(y)s == NULL) { Py_DECREF(dense); %(fail)s }
        size_t n = PyGpuArray_SIZE(%(y)s);
        int err = twice_scall(1, &n, 0, %(y)s->ga.data, %(y)s->ga.offset,
                              dense->ga.data, dense->ga.offset, n, 2);
        if (err == GA_NO_ERROR && twice_scall(2, &n, 0, NULL, 0, NULL, 0, n, 2) !=
                                      GA_UNSUPPORTED_ERROR)
          err = GA_MISC_ERROR;
        Py_CLEAR(dense);
        if (err != GA_NO_ERROR) {
          PyErr_Format(PyExc_RuntimeError, "twice: %%s",
                       GpuKernel_error(&k_twice, err));
          %(fail)s
        }
        """ % {"x": x, "y": y, "fail": sub["fail"]}

    def infer_shape(self, node, shapes):
        return shapes


@pytest.mark.usefixtures("on_context")
def test_c_code_launches_kernels_over_work_items():
    x = T.fvector("x")
    f = function([x], Twice()(x[::2]) + 1)
    for n in (2, 10, 1000):
        x = np.arange(n, dtype="float32")
        np.testing.assert_array_equal(f(x), 2 * x[::2] + 1)


# ---- at run time ----


@pytest.fixture
def calls(monkeypatch):
    """How often Python came to the step."""
    counted = []
    step = STEP_FUNCTIONS["c_code"]

    def count(*values, **options):
        counted.append(options["recorded"])
        return step(*values, **options)

    monkeypatch.setitem(STEP_FUNCTIONS, "c_code", count)
    return counted


def test_with_a_shape_rule_runs_never_return_to_python(calls):
    x = T.fvector("x")
    f = function(
        [x],
        Shaped(
            FILL + "((float *)PyArray_DATA(%(x)s))[i] + runs++;",
            struct="static int runs;",
        )(x),
    )
    for first in range(0, 12, 4):
        np.testing.assert_array_equal(f(X), X + np.arange(first, first + 4))
    assert calls == [True]
    f(X[:3])
    assert calls == [True, True]  # once for each shape


def test_without_one_the_plan_pauses(calls):
    x = T.fvector("x")
    f = function([x], Text(FILL + "21;")(x))
    f(X), f(X)
    assert calls == [False, False]


def test_a_failure_of_a_recorded_step_is_raised_and_the_next_run_is_well():
    code = """
    if (*(float *)PyArray_DATA(%(x)s) < 0) {
      PyErr_Format(PyExc_IndexError, "below %%d", 0);
      %(fail)s
    }"""
    x = T.fvector("x")
    f = function([x], Shaped(code + FILL + "22;")(x))
    for _ in range(2):
        np.testing.assert_array_equal(f(X), np.full(4, 22))
        with pytest.raises(IndexError, match=r"Shaped \(.*: below 0") as error:
            f(-1 - X)
        assert "made at" in "".join(error.value.__notes__)


def test_a_saved_function_takes_its_c_code_along(tmp_path):
    x, y = T.dvector("x"), T.dscalar("y")
    f = function([x, y], VectorTimesScalar()(x, y))
    np.testing.assert_array_equal(f([1, 2], 3), [3, 6])
    with pytest.warns(UserWarning, match="only Python can say .*VectorTimesScalar"):
        f.save(tmp_path / "f")
    loaded = gpuarray.compiler.load(tmp_path / "f", trusted=True)
    np.testing.assert_array_equal(loaded([1, 2], 3), [3, 6])
    np.testing.assert_array_equal(loaded([1, 2, 3], 4), [4, 8, 12])


@pytest.mark.usefixtures("on_context")
@pytest.mark.parametrize("op", [VectorTimesScalar, None])
def test_debug_mode_compares_c_code_with_itself_or_with_perform(op):
    x, y = T.dvector("x"), T.dscalar("y")
    if op is None:
        node = WithPerform(FILL + "25;")(x)
        with pytest.raises(BadThunkOutput):
            function([x], node, mode="DebugMode")([1, 2])
    else:
        f = function([x, y], op()(x, y) * 2, mode="DebugMode")
        np.testing.assert_array_equal(f([1, 2], 3), [6, 12])


def test_a_shape_rule_that_is_wrong_is_told_of():
    class Wrong(Text):
        def infer_shape(self, node, shapes):
            return [(shapes[0][0] + 1,)]

    error, text = failing(Wrong(FILL + "23;"), X)
    assert isinstance(error, ValueError)
    assert "output 0 has length 4 on axis 0, infer_shape gave 5" in text


@pytest.mark.parametrize(
    "rule",
    [
        lambda node, shapes: [(None,)],
        lambda node, shapes: [(node.inputs[0].shape[0],)],
        lambda fgraph, node, shapes: [(T.cast(node.inputs[0].sum(), "int64"),)],
    ],
)
def test_a_shape_that_is_not_known_before_makes_the_plan_pause(rule, calls):
    class Method(Text):
        if rule.__code__.co_argcount == 2:

            def infer_shape(self, node, shapes):
                return rule(node, shapes)

        else:

            def infer_shape(self, fgraph, node, shapes):
                return rule(fgraph, node, shapes)

    np.testing.assert_array_equal(run(Method(FILL + "24;"), X), np.full(4, 24))
    assert calls == [False]


def test_what_the_code_overwrites_is_a_copy():
    class Over(COp):
        __props__ = ()
        destroy_map: ClassVar = {0: [0]}

        def make_node(self, x):
            x = as_gpuarray_variable(x, None)
            return Apply(self, [x], [x.type()])

        def c_code(self, node, name, inp, out, sub):
            return f"""
            if (GpuArray_memset(&{inp[0]}->ga, 0) != GA_NO_ERROR) {sub["fail"]}
            Py_INCREF({inp[0]});
            {out[0]} = {inp[0]};"""

        def infer_shape(self, node, shapes):
            return shapes

    x = gpuarray.asarray(X, context="null")
    v = gpuarray.compiler.GpuArrayType("float32", (False,))("v")
    assert np.asarray(function([v], Over()(v))(x)).tolist() == [0, 0, 0, 0]
    np.testing.assert_array_equal(x, X)


@pytest.mark.usefixtures("on_context")
@pytest.mark.parametrize("name", ["external", "op", "params", "source"])
def test_the_examples_run(name):
    module = importlib.import_module(f"gpuarray.compiler.cops.{name}")
    scope = {
        **vars(module),
        "gpuarray": gpuarray,
        "compiler": gpuarray.compiler,
        "T": T,
        "Kernel": Kernel,
        "as_gpuarray_variable": as_gpuarray_variable,
    }
    ran = doctest.testmod(module, extraglobs=scope, optionflags=doctest.ELLIPSIS)
    assert ran.attempted and not ran.failed


def test_a_class_of_a_session_has_its_files_in_the_working_directory(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fill.c").write_text("#section code\n;\n")
    op = type("Typed", (ExternalCOp,), {"__module__": "builtins"})("fill.c")
    assert op.func_files == (str(tmp_path / "fill.c"),)


def test_ops_of_a_file_that_was_edited_between_are_others(context, tmp_path):
    file = tmp_path / "edited.c"
    text = """#section support_code_apply
int APPLY_SPECIFIC(edited)(PyArrayObject *x, PyArrayObject **y) {
  *y = (PyArrayObject *)PyArray_NewCopy(x, NPY_CORDER);
  if (*y == NULL) return 1;
  for (npy_intp i = 0; i < PyArray_SIZE(*y); i++)
    ((npy_float32 *)PyArray_DATA(*y))[i] *= %d;
  return 0;
}
"""

    class Edited(ExternalCOp):
        __props__ = ()

        def __init__(self):
            super().__init__(str(file), "APPLY_SPECIFIC(edited)")

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    file.write_text(text % 2)
    first, again = Edited(), Edited()
    file.write_text(text % 3)
    second = Edited()
    assert first == again and hash(first) == hash(again) and first != second
    x = T.fvector("x")
    with config.use(device=context.name):
        f = function([x], [first(x), second(x), again(x)])
    doubled, tripled, same = f([1, 2])
    assert doubled.tolist() == same.tolist() == [2, 4] and tripled.tolist() == [3, 6]
