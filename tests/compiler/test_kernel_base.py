"""Ops with kernels of their own: launches that are declared, Python, half precision."""

import pickle
import warnings
from contextlib import nullcontext

import gpuarray
import numpy as np
import pytest
from gpuarray.compiler import Apply, GpuArrayType, Op, config, function, tensor as T
from gpuarray.compiler.gpukernels import GpuKernelBase, Kernel, Launch
from gpuarray.compiler.gpukernels.basic_ops import (
    as_gpuarray_variable,
    gpu_contiguous,
    infer_context_name,
)
from gpuarray.compiler.gpukernels.custom.kernel_base import check_arguments
from gpuarray.compiler.gpukernels.fp16_help import (
    dtype_to_ctype,
    load_w,
    work_dtype,
    write_w,
)

POINTER, SIZE = gpuarray.GpuArray, gpuarray.SIZE
FLOAT = "KERNEL void k(GLOBAL_MEM ga_float *x, ga_size n) { x[0] = n; }"


# ---- Kernel ----


def test_a_kernel_says_its_names_and_kinds():
    kernel = Kernel(FLOAT, [POINTER, SIZE], "k")
    assert kernel.params == ("*", "size")
    assert (kernel.codevar, kernel.objvar) == ("kcode_k", "k_k")
    assert (kernel.fname, kernel.sname) == ("k_call", "k_scall")
    assert Kernel(FLOAT, ["*", "size"], "k", objvar="mine").objvar == "mine"
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(kernel) == hash(Kernel(FLOAT, ["*", SIZE], "k"))
    reads = Kernel(FLOAT, [gpuarray.INPUT, SIZE], "k")
    assert reads.params == ("input", "size")
    assert reads.types == [gpuarray.INPUT, SIZE]


def test_flags_of_dtypes_types_and_variables():
    names = ["have_double", "have_small", "have_complex", "have_half"]
    for given, expected in (
        (("float64",), [True, False, False, False]),
        ((np.int8, T.fvector("x")), [False, True, False, False]),
        ((T.ivector("x").type, "complex64"), [False, False, True, False]),
        ((GpuArrayType("float16", ()),), [False, True, False, True]),
    ):
        assert list(map(Kernel.get_flags(*given).get, names)) == expected


@pytest.mark.parametrize(
    ("text", "params"),
    [
        ("KERNEL void k(void) {}", []),
        ("KERNEL void k(const ga_long n, ga_ulong m) {}", [SIZE, "ssize"]),
        ("/* k(x) */ KERNEL void k(GLOBAL_MEM const my_type *GA_RESTRICT x){}", ["*"]),
        ("KERNEL void k(GLOBAL_MEM const ga_float *x) {}", [gpuarray.INPUT]),
        ("KERNEL void k(ga_int a GA_DECL_SHARED_PARAM(ga_float, b)) {}", ["int32"]),
        ("KERNEL void k(ga_int a, LOCAL_MEM_ARG ga_float *b) {}", ["int32"]),
        ("KERNEL void k(my_type a) {}", ["float32"]),
        ("#define NAME k\nKERNEL void NAME(ga_int a) {}", ["float32", "float32"]),
    ],
)
def test_parameters_that_agree_with_the_text(text, params):
    assert len(Kernel(text, params, "k").params) == len(params)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ([POINTER], "params has 1 entries, the text declares 2 parameters"),
        ([POINTER, "float32"], "parameter 1 is 'float32' in params, 'ga_size n'"),
        ([POINTER, "int32"], "parameter 1 is 'int32'"),
        ([SIZE, SIZE], "parameter 0 is 'size' in params, 'GLOBAL_MEM ga_float"),
        ([POINTER, POINTER], "parameter 1 is '\\*'"),
        ([POINTER, "no type"], "params holds 'no type'; expected gpuarray.GpuArray"),
    ],
)
def test_parameters_that_do_not_agree_with_the_text(params, said):
    with pytest.raises(TypeError, match=said):
        Kernel(FLOAT, params, "k")


def test_a_name_that_the_text_does_not_hold():
    with pytest.raises(ValueError, match="no function of this name"):
        Kernel(FLOAT, [POINTER, SIZE], "kernel")


# ---- declared launches ----

PLUS = """#include "cluda.h"
KERNEL void plus(const ga_size n, GLOBAL_MEM const %(x)s *x, ga_size x_off,
                 GLOBAL_MEM %(y)s *y, ga_size y_off) {
  x = (GLOBAL_MEM const %(x)s *)((GLOBAL_MEM const char *)x + x_off);
  y = (GLOBAL_MEM %(y)s *)((GLOBAL_MEM char *)y + y_off);
  for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0) {
    %(work)s z = %(load)s(x[i]);
    z += 1;
    y[i] = %(write)s(z);
  }
}"""


class PlusOne(GpuKernelBase):
    """The seed's kernel, ready for half precision."""

    __props__ = ()
    _f16_ok = True
    launches = ("plus", "n", {})

    def make_node(self, x):
        context = infer_context_name(x)
        x = gpu_contiguous(as_gpuarray_variable(x, context))
        return Apply(self, [x], [x.type()])

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0]]

    def words(self, dtype):
        work = dtype_to_ctype(work_dtype(dtype))
        return {"work": work, "load": load_w(dtype), "write": write_w(dtype)}

    def gpu_kernels(self, node, name):
        dtype = node.inputs[0].type.dtype
        stored = dtype_to_ctype(dtype)
        text = PLUS % {"x": stored, "y": stored, **self.words(dtype)}
        params = [SIZE, POINTER, gpuarray.OFFSET, POINTER, gpuarray.OFFSET]
        return [Kernel(text, params, "plus", Kernel.get_flags(dtype))]

    def gpu_launches(self, node, inputs, outputs):
        (x,), (y,) = inputs, outputs
        return [Launch("plus", (x.size, x, x.offset, y, y.offset), n=x.size)]


class UnreadyPlusOne(PlusOne):
    """The seed's kernel, not ready."""

    _f16_ok = False

    def words(self, dtype):
        return {"work": dtype_to_ctype(dtype), "load": "", "write": ""}


class UnreadyWithPython(UnreadyPlusOne):
    """One that Python computes where the kernel cannot."""

    def perform(self, node, inputs, output_storage):
        (x,) = inputs
        output_storage[0][0] = x + 1


@pytest.mark.every_case
@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32", "float64"])
def test_one_text_for_all_dtypes(on_context, dtype):
    x = T.tensor(dtype, (False, False))
    f = function([x], PlusOne()(x) * 2)
    value = np.arange(12).reshape(3, 4).astype(x.type.numpy_dtype)
    for given in (value, value[:, ::2], value.T, value[:0]):
        np.testing.assert_array_equal(f(given), (given + 1) * 2)
    assert f.plan.steps[1].label == "PlusOne"
    assert all(getattr(step, "recorded", True) for step in f.plan.steps)


def test_views_share_what_is_bound(on_context):
    x = T.fvector("x")
    f = function([x], PlusOne()(x), on_device=True)
    whole = gpuarray.arange(100, dtype="float32", context=on_context)
    for start in range(0, 40, 4):
        found = np.asarray(f(whole[start : start + 8]))
        np.testing.assert_array_equal(found, np.arange(start + 1, start + 9))
    assert f.info()["n_binds"] == 1


def test_an_unready_kernel_is_right_for_what_it_is_ready_for(on_context):
    x = T.fvector("x")
    np.testing.assert_array_equal(function([x], UnreadyPlusOne()(x))([1, 2]), [2, 3])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_an_unready_kernel_is_refused_in_half_precision(on_context, dtype):
    x = T.tensor(dtype, (False,))
    with pytest.raises(NotImplementedError, match=f"unsupported {dtype}") as caught:
        function([x], UnreadyPlusOne()(x))
    said = str(caught.value)
    assert "Disabling C code for UnreadyPlusOne" in said
    assert "_f16_ok = True" in said
    assert "made at" in said


def test_an_unready_kernel_falls_back_on_perform(on_context):
    x = T.tensor("float16", (False,))
    with pytest.warns(gpuarray.HostNotice, match="Disabling C code for UnreadyWith"):
        f = function([x], UnreadyWithPython()(x))
    np.testing.assert_array_equal(f(np.float16([1, 2])), [2, 3])


def test_a_function_with_launches_is_pickled_and_saved(on_context, tmp_path):
    x = T.fvector("x")
    f = function([x], PlusOne()(x))
    value = np.float32([1, 2, 3])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(value), value + 1)
    with warnings.catch_warnings(action="error"):
        f.save(tmp_path / "plus")
    with on_context:
        again = gpuarray.load_function(tmp_path / "plus")
        for length in (3, 1, 0, 700):
            value = np.arange(length, dtype="float32")
            np.testing.assert_array_equal(again(value), value + 1)


def test_equal_ops_are_merged(on_context):
    x = T.fvector("x")
    f = function([x], PlusOne()(x) * PlusOne()(x))
    assert [step.label for step in f.plan.steps].count("PlusOne") == 1


# ---- Python ----


class LaunchedByPython(PlusOne):
    """The kernel launched by ``perform``, which gets the params."""

    gpu_launches = GpuKernelBase.gpu_launches

    def perform(self, node, inputs, output_storage, params):
        (x,) = inputs
        assert params is x.context is node.inputs[0].type.context
        y = gpuarray.empty(x.shape, x.dtype, context=x.context)
        kernel = self.compiled_kernels(node)["plus"]
        kernel(x.size, x, x.offset, y, y.offset, n=x.size)
        output_storage[0][0] = y


class LaunchedByThunk(PlusOne):
    """The kernel launched by a thunk."""

    gpu_launches = GpuKernelBase.gpu_launches

    def make_thunk(self, node, storage_map, compute_map, no_recycling):
        kernel = self.compiled_kernels(node)["plus"]
        (x,), (y,) = node.inputs, node.outputs

        def thunk():
            value = storage_map[x][0]
            result = gpuarray.empty(value.shape, value.dtype, context=value.context)
            n = value.size
            kernel(n, value, value.offset, result, result.offset, n=n)
            storage_map[y][0] = result

        return thunk


@pytest.mark.parametrize("op", [LaunchedByPython, LaunchedByThunk])
def test_python_may_launch_the_kernels(on_context, op):
    x = T.fvector("x")
    f = function([x], op()(x * 2))
    np.testing.assert_array_equal(f([1, 2]), [3, 5])


class Product(Op):
    """The seed's op of two matrices: ``perform`` on device arrays."""

    __props__ = ()

    def make_node(self, a, b):
        context = infer_context_name(a, b)
        a, b = (as_gpuarray_variable(each, context) for each in (a, b))
        return Apply(self, [a, b], [a.type()])

    def perform(self, node, inputs, output_storage):
        a, b = inputs
        shape = [a.shape[0], b.shape[1]]
        c = gpuarray.zeros(shape, dtype=a.dtype, context=a.context)
        output_storage[0][0] = gpuarray.blas.gemm(1, a, b, 0, c, overwrite_c=True)


@pytest.mark.parametrize("mode", [None, "DebugMode"])
def test_perform_of_an_op_over_device_arrays_gets_these(on_context, mode):
    a, b = T.fmatrices("a", "b")
    f = function([a, b], Product()(a, b) + 1, mode=mode)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_allclose(f(x, x.T), x @ x.T + 1)


def test_test_values_of_device_ops(on_context):
    with config.use(compute_test_value="raise"):
        a = T.fmatrix("a")
        a.tag.test_value = np.ones((2, 2), "float32")
        out = Product()(a, a)
        np.testing.assert_array_equal(
            np.asarray(out.tag.test_value), 2 * np.ones((2, 2))
        )


# ---- mistakes ----


class Wrong(PlusOne):
    """Launches as a test wants them."""

    __props__ = ("name",)

    def __init__(self, name, launches=None, text=PLUS):
        self.name, self.given, self.text = name, launches, text

    def gpu_kernels(self, node, name):
        (kernel,) = super().gpu_kernels(node, name)
        return [Kernel(self.text % self.all_words(node), kernel.params, "plus")]

    def all_words(self, node):
        dtype = node.inputs[0].type.dtype
        ctype = dtype_to_ctype(dtype)
        return {"x": ctype, "y": ctype, **self.words(dtype)}

    def gpu_launches(self, node, inputs, outputs):
        (x,), (y,) = inputs, outputs
        return self.given(x, y)


def test_a_kernel_that_does_not_compile(on_context):
    x = T.fvector("x")
    op = Wrong("broken", text=PLUS.replace("z += 1", "z += no_such_name"))
    with pytest.raises(gpuarray.errors.KernelError) as caught:
        function([x], op(x))
    said = str(caught.value)
    assert f"Wrong ({__file__}:" in said
    assert "error" in said and "no_such_name" in said
    assert "  8  " in caught.value.details  # the numbered source


def arguments(x, y):
    return x.size, x, x.offset, y, y.offset


@pytest.mark.parametrize(
    ("name", "launches", "error", "said"),
    [
        ("few", lambda x, y: [Launch("plus", (1, x), n=1)], TypeError,
         "has 2 arguments, params has 5: size, \\*, offset"),
        ("kinds", lambda x, y: [Launch("plus", (x, x, 0, y, 0), n=1)], TypeError,
         "argument 0 of the launch of 'plus' is an array of float32, expected a num"),
        ("pointer", lambda x, y: [Launch("plus", (1, 2, 0, y, 0), n=1)], TypeError,
         "argument 1 of the launch of 'plus' is 2, expected an array"),
        ("named", lambda x, y: [Launch("minus", (), n=1)], ValueError,
         "names the kernel 'minus'; gpu_kernels gives 'plus'"),
        ("threads", lambda x, y: [Launch("plus", arguments(x, y), 1, 1 << 20)],
         ValueError, "1048576 threads in dimension 0"),
        ("blocks", lambda x, y: [Launch("plus", arguments(x, y), 1 << 40, 1)],
         ValueError, "1099511627776 blocks in dimension 0"),
        ("shared", lambda x, y: [Launch("plus", arguments(x, y), 1, 1, shared=1 << 30)],
         ValueError, "bytes of local memory"),
        ("geometry", lambda x, y: [Launch("plus", arguments(x, y))], ValueError,
         "give n, or both blocks and threads"),
        ("single", lambda x, y: Launch("plus", arguments(x, y), n=1), TypeError,
         "gpu_launches gives Launch, expected a list of Launch"),
        ("nothing", lambda x, y: None, TypeError,
         "gpu_launches gives NoneType, expected a list of Launch"),
        ("other", lambda x, y: [arguments(x, y)], TypeError,
         "gpu_launches gives a list with tuple, expected a list of Launch"),
        ("values", lambda x, y: [Launch("plus", arguments(x, y), n=int(x[0]))],
         NotImplementedError, "gpu_launches: .*; arrays have shapes but no elements"),
    ],
)  # fmt: skip
def test_a_wrong_launch(on_context, name, launches, error, said):
    x = T.fvector("x")
    f = function([x], Wrong(name, launches)(x))
    with pytest.raises(error, match=said) as caught:
        f([1.0])
    assert str(caught.value).startswith(f"Wrong ({__file__}:")


@pytest.mark.parametrize("n", [np.int64(3), np.prod([3])])
def test_a_geometry_may_be_of_numpys_integers(on_context, n):
    x = T.fvector("x")
    for launches in (
        lambda x, y: [Launch("plus", arguments(x, y), n=n)],
        lambda x, y: [Launch("plus", arguments(x, y), blocks=n, threads=n)],
        lambda x, y: [Launch("plus", arguments(x, y), blocks=(n,), threads=(n,))],
    ):
        f = function([x], Wrong(f"numpy {n}", launches)(x))
        found = f(np.ones(3, "float32"))
        np.testing.assert_array_equal(np.asarray(found), 2 * np.ones(3))


@pytest.mark.parametrize(
    ("dtype", "declared", "wrong"),
    [
        ("float64", "ga_float", True),
        ("float32", "ga_double", True),
        ("int64", "const ga_int", True),
        ("float32", "float", False),
        ("float32", "ga_int", False),  # its bits
        ("float64", "ga_ubyte", False),  # its bytes
        ("float32", "my_type", False),
        ("complex64", "ga_float", False),  # its parts
    ],
)
def test_a_pointer_to_elements_of_another_size(dtype, declared, wrong):
    code = f"KERNEL void k(GLOBAL_MEM {declared} *GA_RESTRICT x, ga_size n) {{}}"
    kernel = Kernel(code, [POINTER, SIZE], "k")
    x = gpuarray.zeros(2, dtype, context="null")
    said = f"op: argument 0 of the launch of 'k' is an array of {dtype}, its text decl"
    with pytest.raises(TypeError, match=said) if wrong else nullcontext():
        check_arguments(kernel, (x, 2), "op")


class Nameless(PlusOne):
    """An op that nothing launches."""

    gpu_launches = GpuKernelBase.gpu_launches


class Shapeless(PlusOne):
    """An op whose outputs have no known shape."""

    infer_shape = Op.infer_shape


class ValueShaped(PlusOne):
    """An op whose outputs' shape is a value on the device."""

    def infer_shape(self, node, input_shapes):
        return [(T.cast(node.inputs[0][0], "int64"),)]


class FlatShaped(PlusOne):
    """An op whose rule gives lengths without a tuple around them."""

    def infer_shape(self, node, input_shapes):
        return input_shapes[0]


class OneKernel(PlusOne):
    """An op that gives a kernel, not a list."""

    def gpu_kernels(self, node, name):
        return super().gpu_kernels(node, name)[0]


def test_an_op_that_lacks_something(on_context):
    x = T.fvector("x")
    with pytest.raises(NotImplementedError, match="nothing launches its kernels"):
        function([x], Nameless()(x))
    with pytest.raises(NotImplementedError, match="define infer_shape"):
        function([x], Shapeless()(x))([1.0])
    with pytest.raises(ValueError, match="add its index to host_inputs"):
        function([x], ValueShaped()(x))([1.0])
    with pytest.raises(TypeError, match="expected a list with a tuple of lengths for"):
        function([x], FlatShaped()(x))([1.0])
    with pytest.raises(TypeError, match="gpu_kernels gives Kernel, expected a list"):
        function([x], OneKernel()(x))
