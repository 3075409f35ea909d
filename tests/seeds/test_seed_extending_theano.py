"""The ops of "Extending Theano with a GPU Op" that need no C: contexts, kernels."""

import gpuarray
import gpueye
import numpy as np
import pytest
from gpuarray.compiler import Apply, GpuArrayType, Op, function, tensor as tt
from gpuarray.compiler.errors import NullTypeGradError
from gpuarray.compiler.gpukernels.basic_ops import (
    GpuKernelBase,
    Kernel,
    Launch,
    as_gpuarray_variable,
    infer_context_name,
)
from gpuarray.compiler.gpukernels.fp16_help import (
    dtype_to_ctype,
    load_w,
    work_dtype,
    write_w,
)
from gpuarray.compiler.gpukernels.type import get_context, gpu_context_type
from gpuarray.compiler.gradient import grad

pytestmark = pytest.mark.usefixtures("on_context")


# ---- dealing with the context ----


class Three(Op):
    """An op of three inputs, all on the GPU."""

    __props__ = ()
    params_type = gpu_context_type

    def get_params(self, node):
        return node.inputs[0].type.context

    def make_node(self, a, b, c):
        ctx = infer_context_name(a, b, c)
        a = as_gpuarray_variable(a, ctx)
        b = as_gpuarray_variable(b, ctx)
        c = as_gpuarray_variable(c, ctx)
        return Apply(self, [a, b, c], [a.type()])

    def perform(self, node, inputs, output_storage, params):
        a, b, c = inputs
        assert params is a.context is b.context is c.context
        (out,) = output_storage
        out[0] = a * b + c


class Gemm(Op):
    """A product that allocates its result on the context of an input."""

    __props__ = ()

    def make_node(self, a, b):
        ctx = infer_context_name(a, b)
        a = as_gpuarray_variable(a, ctx)
        b = as_gpuarray_variable(b, ctx)
        return Apply(self, [a, b], [a.type()])

    def perform(self, node, inputs, output_storage):
        A, B = inputs
        (C,) = output_storage
        C[0] = gpuarray.empty(
            [A.shape[0], B.shape[1]], dtype=A.dtype, context=A.context
        )
        C[0] = gpuarray.blas.gemm(1, A, B, 0, C[0], overwrite_c=True)


def test_infer_context_name_in_make_node(context):
    a, b, c = tt.fmatrices("a", "b", "c")
    out = Three()(a, b.transfer(context.name), c)
    assert out.type == GpuArrayType("float32", (False, False), context.name)
    assert out.type.context is context is get_context(out.type.context_name)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(function([a, b, c], out)(x, x, x), x * x + x)


def test_the_context_of_an_input_at_run_time():
    a, b = tt.fmatrices("a", "b")
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(function([a, b], Gemm()(a, b))(x, x.T), x @ x.T)


class WithThunk(Three):
    """The context before the run, in make_thunk."""

    def make_thunk(self, node, storage_map, compute_map, no_recycling):
        ctx = node.inputs[0].type.context

        def thunk():
            a, b, c = (storage_map[each][0] for each in node.inputs)
            assert a.context is ctx
            storage_map[node.outputs[0]][0] = a + b + c

        return thunk


def test_the_context_before_the_run():
    a, b, c = tt.fvectors("a", "b", "c")
    f = function([a, b, c], WithThunk()(a, b, c))
    np.testing.assert_array_equal(f([1], [2], [3]), [6])


# ---- defining new kernels ----


class Diagonal(GpuKernelBase):
    """The text's first kernel: ones on the diagonal of a matrix of zeros."""

    __props__ = ()
    zeroed = (0,)

    def make_node(self, like):
        like = as_gpuarray_variable(like, infer_context_name(like))
        return Apply(self, [like], [like.type()])

    def infer_shape(self, node, shapes):
        return shapes

    def gpu_kernels(self, node, name):
        code = """
KERNEL void k(GLOBAL_MEM ga_double *a, ga_size n, ga_size m) {
    ga_size nb = n < m ? n : m;
    for (ga_size i = LID_0; i < nb; i += LDIM_0) {
        a[i*m + i] = 1;
    }
}"""
        return [
            Kernel(
                code=code,
                name="k",
                params=[gpuarray.GpuArray, gpuarray.SIZE, gpuarray.SIZE],
                flags=Kernel.get_flags("float64"),
            )
        ]

    def gpu_launches(self, node, inputs, outputs):
        (a,) = outputs
        return [Launch("k", (a, *a.shape), blocks=1, threads=256)]


def test_a_kernel_is_defined():
    x = tt.dmatrix("x")
    f = function([x], Diagonal()(x))
    for shape in ((3, 5), (5, 3), (1, 1), (300, 400)):
        np.testing.assert_array_equal(f(np.ones(shape)), np.eye(*shape))


# ---- dealing with float16 ----

KERNEL = """
KERNEL void k(const ga_size n, GLOBAL_MEM %(type_x)s *x, ga_size x_off,
              GLOBAL_MEM %(type_y)s *y, ga_size y_off) {
    x = (GLOBAL_MEM %(type_x)s *)((GLOBAL_MEM char *)x + x_off);
    y = (GLOBAL_MEM %(type_y)s *)((GLOBAL_MEM char *)y + y_off);
    for (ga_size i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0) {
        BODY
    }
}"""
UNREADY = "%(type_x)s z = x[i]; z += 1; y[i] = z;"
READY = "%(work_x)s z = %(load_x)s(x[i]); z += 1; y[i] = %(write_y)s(z);"


class PlusOne(GpuKernelBase):
    """The "+1" kernel that is not ready to deal with float16 input."""

    __props__ = ()
    body = UNREADY

    def make_node(self, x):
        x = as_gpuarray_variable(x, infer_context_name(x))
        return Apply(self, [x], [x.type()])

    def infer_shape(self, node, shapes):
        return shapes

    def gpu_kernels(self, node, name):
        x, y = node.inputs[0].type, node.outputs[0].type
        words = {
            "type_x": dtype_to_ctype(x.dtype),
            "type_y": dtype_to_ctype(y.dtype),
            "work_x": dtype_to_ctype(work_dtype(x.dtype)),
            "load_x": load_w(x.dtype),
            "write_y": write_w(y.dtype),
        }
        array = [gpuarray.GpuArray, gpuarray.SIZE]
        code = KERNEL.replace("BODY", self.body) % words
        flags = Kernel.get_flags(x.dtype, y.dtype)
        return [
            Kernel(code=code, name="k", params=[gpuarray.SIZE, *array * 2], flags=flags)
        ]

    def gpu_launches(self, node, inputs, outputs):
        (x,), (y,) = inputs, outputs
        yield Launch("k", (x.size, x, x.offset, y, y.offset), n=x.size)


class ReadyPlusOne(PlusOne):
    """The same kernel, but now ready to handle float16."""

    _f16_ok = True
    body = READY


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int16"])
def test_the_kernel_that_is_ready_for_float16(dtype):
    x = tt.tensor(dtype, (False,))
    value = np.arange(7).astype(x.type.numpy_dtype)
    result = function([x], ReadyPlusOne()(x))(value)
    np.testing.assert_array_equal(np.asarray(result), value + 1)


def test_the_kernel_that_is_not_ready_is_refused_for_float16():
    x = tt.tensor("float16", (False,))
    with pytest.raises(NotImplementedError, match="due to unsupported float16"):
        function([x], PlusOne()(x))
    y = tt.fvector("y")
    np.testing.assert_array_equal(function([y], PlusOne()(y))([1, 2]), [2, 3])


# ---- a complete example ----


class GpuEye(GpuKernelBase):
    """Eye for GPU, its launch declared in the place of C code."""

    __props__ = ("dtype", "context_name")
    _f16_ok = True
    zeroed = (0,)
    __init__ = gpueye.GpuEye.__init__
    get_params = gpueye.GpuEye.get_params
    make_node = gpueye.GpuEye.make_node
    infer_shape = gpueye.GpuEye.infer_shape
    grad = gpueye.GpuEye.grad
    gpu_kernels = gpueye.GpuEye.gpu_kernels

    def gpu_launches(self, node, inputs, outputs):
        n, m, k = inputs
        (z,) = outputs
        if max(-k, 0) < n and max(k, 0) < m:
            yield Launch("eye", (z, z.offset, n, m, k), blocks=1, threads=256)


def test_gpu_eye_is_numpy_s_for_all_n_m_and_k(context):
    """Of 1539 shapes each binds the plan anew, which takes a few milliseconds."""
    n, m, k = tt.lscalars("n", "m", "k")
    f = function([n, m, k], GpuEye("float32", context.name)(n, m, k))
    for rows in range(9):
        for columns in range(9):
            for offset in range(-9, 10):
                result = np.asarray(f(rows, columns, offset))
                expected = np.eye(rows, columns, offset)
                assert (result == expected).all(), (rows, columns, offset)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64"],
)
def test_gpu_eye_of_every_dtype(context, dtype):
    n, m = tt.iscalars("n", "m")
    out = GpuEye(dtype, context.name)(n, m, -1)
    f = function([n, m], out)
    for shape in ((4, 5), (5, 4), (40, 600)):
        result = np.asarray(f(*shape))
        assert result.dtype == out.type.numpy_dtype
        np.testing.assert_array_equal(result, np.eye(*shape, -1).astype(result.dtype))


def test_gpu_eye_is_a_step_of_the_plan_and_has_no_gradient(context):
    n, x = tt.iscalar("n"), tt.dscalar("x")
    eye = GpuEye("float64", context.name)(n, n, 0)
    f = function([n, x], (eye * x).sum(axis=0))
    assert f(3, 2.5).tolist() == [2.5, 2.5, 2.5]
    assert "GpuEye" in [step.label for step in f.plan.steps]
    assert all(getattr(step, "recorded", True) for step in f.plan.steps)
    shape = function([n], eye.shape[0])
    assert shape(7) == 7
    y = tt.dscalar("y")
    with pytest.raises(NullTypeGradError):
        grad(GpuEye("float64", context.name)(y, 3, 0).sum(), y)
