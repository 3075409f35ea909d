"""The complete example of "Extending Theano with a GPU Op": GpuEye, in both ways."""

import gpuarray.compiler.tensor as tt
import numpy
import pytest
from gpuarray.compiler import config, function
from gpuarray.compiler.cops import CGpuKernelBase, ParamsType, Scalar, _NoPythonOp
from gpuarray.compiler.gpukernels.type import get_context, gpu_context_type
from gpuarray.dtypes import dtype_to_typecode
from gpueye import GpuEye
from judge import assert_same

pytestmark = [pytest.mark.usefixtures("on_context"), pytest.mark.every_case]


class TstGpuEye(CGpuKernelBase, _NoPythonOp):
    """The same with its kernel and its C code in a file."""

    __props__ = ("dtype", "context_name")
    _f16_ok = True
    params_type = ParamsType(typecode=Scalar("int32"), context=gpu_context_type)

    def __init__(self, dtype=None, context_name=None):
        self.dtype = config.floatX if dtype is None else dtype
        self.context_name = context_name
        CGpuKernelBase.__init__(self, ["tstgpueye.c"], "APPLY_SPECIFIC(tstgpueye)")

    def c_headers(self):
        return ["<gpuarray/types.h>", "<gpuarray/kernel.h>"]

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
