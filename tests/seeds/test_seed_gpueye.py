"""The complete example of "Extending Theano with a GPU Op": GpuEye, in both ways."""
# ruff: noqa: UP031, RET504

from types import SimpleNamespace

import gpuarray
import gpuarray.compiler.tensor as tt
import numpy
import pytest
from gpuarray.compiler import Apply, config, function
from gpuarray.compiler.cops import (
    CGpuKernelBase,
    GpuKernelBaseCOp,
    ParamsType,
    Scalar,
    _NoPythonOp,
)
from gpuarray.compiler.gpukernels.fp16_help import write_w
from gpuarray.compiler.gpukernels.kernelbase import Kernel
from gpuarray.compiler.gpukernels.type import (
    GpuArrayType,
    get_context,
    gpu_context_type,
)
from gpuarray.compiler.gradient import grad_undefined
from gpuarray.dtypes import dtype_to_typecode
from judge import assert_same

pygpu = SimpleNamespace(gpuarray=gpuarray)

pytestmark = [pytest.mark.usefixtures("on_context"), pytest.mark.every_case]


class GpuEye(GpuKernelBaseCOp, _NoPythonOp):
    """
    Eye for GPU.

    """

    __props__ = ("dtype", "context_name")
    _f16_ok = True

    def __init__(self, dtype=None, context_name=None):
        if dtype is None:
            dtype = config.floatX
        self.dtype = dtype
        self.context_name = context_name

    def get_params(self, node):
        return get_context(self.context_name)

    def make_node(self, n, m, k):
        n = tt.as_tensor_variable(n)
        m = tt.as_tensor_variable(m)
        k = tt.as_tensor_variable(k)
        assert n.ndim == 0
        assert m.ndim == 0
        assert k.ndim == 0
        otype = GpuArrayType(
            dtype=self.dtype,
            broadcastable=(False, False),
            context_name=self.context_name,
        )

        return Apply(self, [n, m, k], [otype()])

    def infer_shape(self, fgraph, node, in_shapes):
        out_shape = [node.inputs[0], node.inputs[1]]
        return [out_shape]

    def grad(self, inp, grads):
        return [grad_undefined(self, i, inp[i]) for i in range(3)]

    def gpu_kernels(self, node, name):
        code = """#include "cluda.h"

KERNEL void eye(GLOBAL_MEM %(ctype)s *a, ga_size a_off,
                ga_size n, ga_size m, ga_ssize k) {
    a = (GLOBAL_MEM %(ctype)s *)(((GLOBAL_MEM char *)a) + a_off);
    ga_ssize coff = max(k, (ga_ssize) 0);
    ga_ssize roff = -min(k, (ga_ssize) 0);
    ga_size nb = (ga_size) min(n - roff, m - coff);
    for (ga_size i = LID_0; i < nb; i += LDIM_0) {
        a[(i + roff)*m + i + coff] = %(write_a)s(1);
    }
}""" % dict(
            ctype=pygpu.gpuarray.dtype_to_ctype(self.dtype),
            name=name,
            write_a=write_w(self.dtype),
        )
        return [
            Kernel(
                code=code,
                name="eye",
                params=[
                    gpuarray.GpuArray,
                    gpuarray.SIZE,
                    gpuarray.SIZE,
                    gpuarray.SIZE,
                    gpuarray.SSIZE,
                ],
                flags=Kernel.get_flags(self.dtype),
                objvar="k_eye_" + name,
            )
        ]

    def c_code(self, node, name, inp, out, sub):
        if len(inp) == 2:
            n, m = inp
            k = 0
        elif len(inp) == 3:
            n, m, k = inp

        (z,) = out
        fail = sub["fail"]
        ctx = sub["params"]
        typecode = pygpu.gpuarray.dtype_to_typecode(self.dtype)
        kname = self.gpu_kernels(node, name)[0].objvar
        s = """
        size_t dims[2] = {0, 0};
        size_t ls, gs;
        ssize_t k;
        size_t col_off;
        size_t row_off;
        int err;

        dims[0] = ((dtype_%(n)s*)PyArray_DATA(%(n)s))[0];
        dims[1] = ((dtype_%(m)s*)PyArray_DATA(%(m)s))[0];
        k = ((dtype_%(k)s*)PyArray_DATA(%(k)s))[0];

        Py_CLEAR(%(z)s);

        %(z)s = pygpu_zeros(2, dims,
                            %(typecode)s,
                            GA_C_ORDER,
                            %(ctx)s, Py_None);
        if (%(z)s == NULL) {
            %(fail)s
        }

        ls = 1;
        gs = 256;
        col_off = (size_t) (k > 0?k:0);
        row_off = (size_t) (k < 0?-k:0);
        if (row_off < dims[0] && col_off < dims[1]) {
            err = eye_call(1, &gs, &ls, 0, %(z)s->ga.data, %(z)s->ga.offset,
                           dims[0], dims[1], k);
            if (err != GA_NO_ERROR) {
                PyErr_Format(PyExc_RuntimeError,
                             "gpuarray error: kEye: %%s. n%%lu, m=%%lu.",
                             GpuKernel_error(&%(kname)s, err),
                             (unsigned long)dims[0], (unsigned long)dims[1]);
                %(fail)s;
            }
        }

        """ % locals()

        return s

    def c_code_cache_version(self):
        return (10,)


class TstGpuEye(CGpuKernelBase, _NoPythonOp):
    """The same with its kernel and its C code in a file."""

    __props__ = ("dtype", "context_name")
    _f16_ok = True
    params_type = ParamsType(typecode=Scalar("int32"), context=gpu_context_type)

    def __init__(self, dtype=None, context_name=None):
        self.dtype = config.floatX if dtype is None else dtype
        self.context_name = context_name
        super().__init__(["tstgpueye.c"], "APPLY_SPECIFIC(tstgpueye)")

    def get_params(self, node):
        return self.params_type.get_params(
            typecode=dtype_to_typecode(self.dtype),
            context=get_context(self.context_name),
        )

    make_node = GpuEye.make_node
    infer_shape = GpuEye.infer_shape
    grad = GpuEye.grad


SIZES = [(0, 3), (1, 1), (3, 3), (4, 7), (7, 2), (300, 270)]


@pytest.mark.parametrize("op", [GpuEye, TstGpuEye])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_eye_is_that_of_numpy_for_all_sizes_and_diagonals(op, dtype):
    n, m, k = tt.lscalars("n", "m", "k")
    f = function([n, m, k], op(dtype=dtype)(n, m, k))
    for rows, columns in SIZES:
        for diagonal in (*range(-4, 5), -299, 299):
            expected = numpy.eye(rows, columns, diagonal, dtype)
            assert_same(f(rows, columns, diagonal), expected)


def test_the_ready_kernel_writes_float16():
    n = tt.iscalar("n")
    f = function([n], GpuEye(dtype="float16")(n, n + 1, 1))
    assert_same(f(5), numpy.eye(5, 6, 1, "float16"))


@pytest.mark.parametrize("op", [GpuEye, TstGpuEye])
def test_eye_stands_among_other_operations(op):
    n, x = tt.lscalar("n"), tt.matrix("x")
    made = op(dtype="float64")(n, x.shape[1], 0)
    f = function([n, x], [tt.dot(x, made.T) + 1, made.shape])
    given = numpy.arange(12.0).reshape(3, 4)
    product, shape = f(4, given)
    assert_same(product, given + 1)
    assert list(shape) == [4, 4]


def test_eye_has_no_gradient():
    n = tt.lscalar("n")
    with pytest.raises((TypeError, NotImplementedError)):
        tt.grad(GpuEye(dtype="float64")(n, n, 0).sum(), n)
