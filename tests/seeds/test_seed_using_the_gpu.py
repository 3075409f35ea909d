"""The programs of the tutorial "Using the GPU", with their numbers."""

import gpuarray
import numpy
import pytest
from gpuarray.compiler import Apply, Op, config, function, sandbox, shared, tensor
from gpuarray.compiler.ops.variables.transfer import HostFromGpu
from judge import assert_same

pytestmark = pytest.mark.usefixtures("on_context")

FLOAT32 = [1.23178029, 1.61879337, 1.52278066, 2.20771813, 2.29967761, 1.62323284]
FLOAT64 = [1.23178032, 1.61879341, 1.52278065, 2.20771815, 2.29967753, 1.62323285]

vlen = 10 * 30 * 768  # 10 x #cores x # threads per core
iters = 20


def data():
    rng = numpy.random.RandomState(22)
    return shared(numpy.asarray(rng.rand(vlen), config.floatX))


def used_the_cpu(f):
    """The tutorial's test of where a function computes."""
    return any(
        isinstance(x.op, tensor.Elemwise) and ("Gpu" not in type(x.op).__name__)
        for x in f.maker.fgraph.toposort()
    )


@pytest.mark.parametrize(
    ("dtype", "digits"), [("float32", FLOAT32), ("float64", FLOAT64)]
)
def test_check1(dtype, digits):
    with config.use(floatX=dtype):
        x = data()
        f = function([], tensor.exp(x))
    assert str(f.maker.fgraph.toposort()) == (
        f"[GpuElemwise{{exp,no_inplace}}(<GpuArrayType<None>({dtype}, vector)>), "
        "HostFromGpu(gpuarray)(GpuElemwise{exp,no_inplace}.0)]"
    )
    for _ in range(iters):
        r = f()
    assert isinstance(r, numpy.ndarray) and r.dtype == dtype
    numpy.testing.assert_allclose(
        r[[0, 1, 2, -3, -2, -1]],
        digits,
        rtol=3e-7 if dtype == "float32" else 0,
        atol=6e-9 if dtype == "float64" else 0,
    )
    numpy.testing.assert_allclose(r, numpy.exp(x.get_value()), rtol=1e-6)
    assert not used_the_cpu(f)


@pytest.mark.parametrize(
    "gpu_from_host",
    [
        sandbox.cuda.basic_ops.gpu_from_host,
        sandbox.gpuarray.basic_ops.gpu_from_host,
        lambda x: x.transfer(None),
    ],
)
def test_check2_the_result_stays_on_the_device(gpu_from_host):
    x = data()
    f = function([], gpu_from_host(tensor.exp(x)))
    (node,) = f.maker.fgraph.toposort()
    assert str(node.op) == "GpuElemwise{exp,no_inplace}"
    assert not isinstance(node.op, HostFromGpu) and not used_the_cpu(f)
    for _ in range(iters):
        r = f()
    assert isinstance(r, gpuarray.Array)
    r.sync()
    numpy.testing.assert_allclose(
        numpy.asarray(r)[[0, 1, 2, -3, -2, -1]], FLOAT64, rtol=0, atol=6e-9
    )


def test_only_what_is_kept_on_the_device_needs_no_transfer():
    x, y = data(), tensor.vector("y")
    f = function([y], (x + y).sum())
    moves = [
        n for n in f.maker.fgraph.toposort() if str(n.op).startswith("GpuFromHost")
    ]
    assert [str(n.inputs[0]) for n in moves] == ["y"]


# ---- the example and the exercises of kernels in ops ----


class KernelOp(Op):
    """The tutorial's PyCUDADoubleOp, with a kernel that runs on every device.

    ``kernel`` are the arguments of an ElementwiseKernel.
    """

    __props__ = ("kernel",)

    def __init__(self, kernel):
        self.kernel = kernel

    def make_node(self, *inputs):
        variables = [tensor.as_tensor_variable(inp) for inp in inputs]
        assert all(inp.dtype == "float32" for inp in variables)
        n_outputs = self.kernel[1].count(",") + 1
        return Apply(self, variables, [variables[0].type() for _ in range(n_outputs)])

    def make_thunk(self, node, storage_map, _, _2):
        kernel = gpuarray.ElementwiseKernel(*self.kernel)
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]

        def thunk():
            shape, context = inputs[0][0].shape, inputs[0][0].context
            for z in outputs:
                if z[0] is None or z[0].shape != shape:
                    z[0] = gpuarray.zeros(shape, "float32", context)
            kernel(*(cell[0] for cell in (*inputs, *outputs)))

        return thunk


DOUBLE = KernelOp(("float32 i0", "float32 o0", "o0 = i0 * 2", "my_fct"))
TIMES = KernelOp(("float32 x, float32 y", "float32 z", "z = x * y"))
BOTH = KernelOp(
    ("float32 x, float32 y", "float32 a, float32 b", "a = x + y; b = x - y")
)


def test_an_op_with_a_kernel_of_its_own():
    x = tensor.fmatrix()
    f = function([x], DOUBLE(x))
    xv = numpy.ones((4, 5), dtype="float32")
    assert numpy.allclose(f(xv), xv * 2)


def test_exercises_with_two_inputs_two_outputs_and_strides(on_context):
    x, y = tensor.fmatrices("xy")
    f = function([x, y], [TIMES(x, y), *BOTH(x, y)])
    a, b = numpy.random.RandomState(0).rand(2, 20, 10).astype("float32")
    views = [gpuarray.asarray(each, context=on_context)[::-1, ::2] for each in (a, b)]
    a, b = a[::-1, ::2], b[::-1, ::2]
    for got, expected in zip(f(*views), (a * b, a + b, a - b), strict=True):
        assert_same(got, expected)


def test_the_kernel_example_on_a_matrix(on_context):
    multiply_them = gpuarray.ElementwiseKernel(
        "float *dest, float *a, float *b", "dest[i] = a[i] * b[i]"
    )
    for shape in ((400,), (20, 10)):
        a, b = numpy.random.RandomState(0).randn(2, *shape).astype(numpy.float32)
        dest = gpuarray.zeros(shape, "float32", on_context)
        multiply_them(
            dest,
            gpuarray.asarray(a, context=on_context),
            gpuarray.asarray(b, context=on_context),
        )
        assert numpy.allclose(numpy.asarray(dest), a * b)
