"""The seeds' programs with PyCUDA: its own example, PyCUDADoubleOp, exercises 6 and 8.

What stands in the place of ``theano.misc.pycuda_init`` is PyCUDA's module that makes
the device's primary context, which is ours too, the current one.
"""
# ruff: noqa: NPY002

import gpuarray
import gpuarray.compiler as theano
import numpy
import pytest
from exercise8 import check_strides, check_two_matrices, check_two_outputs
from gpuarray.compiler.sandbox import cuda

pytestmark = [
    pytest.mark.usefixtures("pycuda_init", "on_context"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

WHY = "PyCUDA is not installed"
drv = pytest.importorskip("pycuda.driver", reason=WHY, exc_type=ImportError)
SourceModule = pytest.importorskip("pycuda.compiler", reason=WHY).SourceModule


@pytest.fixture
def pycuda_init(context):
    if context.kind != "cuda":
        pytest.skip("PyCUDA has CUDA devices only")
    import pycuda.autoprimaryctx  # noqa: F401


# ---- the example of PyCUDA's documentation, and exercise 6 ----


def test_pycuda_s_example():
    mod = SourceModule("""
__global__ void multiply_them(float *dest, float *a, float *b)
{
    const int i = threadIdx.x;
    dest[i] = a[i] * b[i];
}
""")
    multiply_them = mod.get_function("multiply_them")

    a = numpy.random.randn(400).astype(numpy.float32)
    b = numpy.random.randn(400).astype(numpy.float32)

    dest = numpy.zeros_like(a)
    multiply_them(
        drv.Out(dest), drv.In(a), drv.In(b),
        block=(400, 1, 1), grid=(1, 1))  # fmt: skip
    assert numpy.allclose(dest, a * b)


def test_exercise_6_a_matrix():
    mod = SourceModule("""
__global__ void multiply_them(float *dest, float *a, float *b)
{
    const int i = threadIdx.x + threadIdx.y * blockDim.x;
    dest[i] = a[i] * b[i];
}
""")
    multiply_them = mod.get_function("multiply_them")
    a, b = numpy.random.randn(2, 20, 10).astype(numpy.float32)
    dest = numpy.zeros_like(a)
    multiply_them(drv.Out(dest), drv.In(a), drv.In(b), block=(10, 20, 1), grid=(1, 1))
    assert numpy.allclose(dest, a * b)


def test_the_example_on_our_arrays(on_context):
    mod = SourceModule("""
__global__ void multiply_them(float *dest, float *a, float *b)
{
    const int i = threadIdx.x;
    dest[i] = a[i] * b[i];
}
""")
    multiply_them = mod.get_function("multiply_them")
    values = numpy.random.randn(3, 400).astype(numpy.float32)
    dest, a, b = gpuarray.asarray(values, context=on_context)
    for _ in range(20):
        b += 1
        multiply_them(dest, a, b, block=(400, 1, 1), grid=(1, 1))
        dest *= 2
    assert numpy.allclose(dest, 2 * values[1] * (values[2] + 20), rtol=1e-5)


# ---- the op ----

THE_C_CODE = """
__global__ void my_fct(float * i0, float * o0, int size) {
    int i = blockIdx.x*blockDim.x + threadIdx.x;
    if(i<size){
        o0[i] = i0[i]*2;
    }
}"""


class PyCUDADoubleOp(theano.Op):
    def __eq__(self, other):
        return type(self) == type(other)  # noqa: E721

    def __hash__(self):
        return hash(type(self))

    def __str__(self):
        return self.__class__.__name__

    def make_node(self, inp):
        inp = cuda.basic_ops.gpu_contiguous(
            cuda.basic_ops.as_cuda_ndarray_variable(inp)
        )
        assert inp.dtype == "float32"
        return theano.Apply(self, [inp], [inp.type()])

    def make_thunk(self, node, storage_map, _, _2):
        mod = SourceModule(THE_C_CODE)

        pycuda_fct = mod.get_function("my_fct")
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]

        def thunk():
            z = outputs[0]
            if z[0] is None or z[0].shape != inputs[0][0].shape:
                z[0] = cuda.CudaNdarray.zeros(inputs[0][0].shape)
            grid = (int(numpy.ceil(inputs[0][0].size / 512.0)), 1)
            pycuda_fct(
                inputs[0][0],
                z[0],
                numpy.intc(inputs[0][0].size),
                block=(512, 1, 1),
                grid=grid,
            )

        return thunk


def test_pycuda_double_op():
    x = theano.tensor.fmatrix()
    f = theano.function([x], PyCUDADoubleOp()(x))
    xv = numpy.ones((4, 5), dtype="float32")

    assert numpy.allclose(f(xv), xv * 2)
    assert str(numpy.asarray(f(xv))) == str(xv * 2)


def test_pycuda_double_op_is_in_order_with_what_is_around_it():
    x = theano.tensor.fmatrix()
    f = theano.function([x], PyCUDADoubleOp()(PyCUDADoubleOp()(x[1:] + 1) * 3) - x[1:])
    for turn in range(10):
        xv = numpy.full((1000, 700), turn, dtype="float32")
        assert (f(xv) == 12 * (xv[1:] + 1) - xv[1:]).all()


# ---- exercises 8 ----


class PyCUDAOp(PyCUDADoubleOp):
    """An op over matrices of one shape, with a kernel of the text ``code``."""

    n_outputs = 1

    def make_node(self, *inputs):
        inputs = [
            cuda.basic_ops.gpu_contiguous(cuda.basic_ops.as_cuda_ndarray_variable(inp))
            for inp in inputs
        ]
        assert all(inp.dtype == "float32" for inp in inputs)
        return theano.Apply(
            self, inputs, [inputs[0].type() for _ in range(self.n_outputs)]
        )

    def make_thunk(self, node, storage_map, _, _2):
        pycuda_fct = SourceModule(self.code).get_function("my_fct")
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]

        def thunk():
            shape, size = inputs[0][0].shape, inputs[0][0].size
            assert all(inp[0].shape == shape for inp in inputs)
            for z in outputs:
                z[0] = cuda.CudaNdarray.zeros(shape)
            arrays = [cell[0] for cell in (*inputs, *outputs)]
            grid = (int(numpy.ceil(size / 512.0)), 1)
            pycuda_fct(*arrays, numpy.intc(size), block=(512, 1, 1), grid=grid)

        return thunk


class PyCUDATimesOp(PyCUDAOp):
    code = """
__global__ void my_fct(float * i0, float * i1, float * o0, int size) {
    int i = blockIdx.x*blockDim.x + threadIdx.x;
    if(i<size){
        o0[i] = i0[i]*i1[i];
    }
}"""


class PyCUDASumAndDifferenceOp(PyCUDAOp):
    n_outputs = 2
    code = """
__global__ void my_fct(float * i0, float * i1, float * o0, float * o1, int size) {
    int i = blockIdx.x*blockDim.x + threadIdx.x;
    if(i<size){
        o0[i] = i0[i]+i1[i];
        o1[i] = i0[i]-i1[i];
    }
}"""

    def grad(self, inputs, g):
        return [g[0] + g[1], g[0] - g[1]]


class PyCUDAStridedDoubleOp(PyCUDADoubleOp):
    """Exercise 8: strides, so that the input need not be C contiguous."""

    code = """
__global__ void my_fct(float * i0, int s0, int s1, float * o0, int n, int m) {
    int i = blockIdx.y*blockDim.y + threadIdx.y;
    int j = blockIdx.x*blockDim.x + threadIdx.x;
    if(i<n && j<m){
        o0[i*m + j] = i0[i*s0 + j*s1]*2;
    }
}"""

    def make_node(self, inp):
        inp = cuda.basic_ops.as_cuda_ndarray_variable(inp)
        assert inp.dtype == "float32" and inp.ndim == 2
        return theano.Apply(self, [inp], [inp.type()])

    def make_thunk(self, node, storage_map, _, _2):
        pycuda_fct = SourceModule(self.code).get_function("my_fct")
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]

        def thunk():
            x, z = inputs[0][0], outputs[0]
            z[0] = cuda.CudaNdarray.zeros(x.shape)
            n, m = x.shape
            strides = [numpy.intc(each // x.itemsize) for each in x.strides]
            grid = (-(-m // 32), -(-n // 8))
            if x.size:
                pycuda_fct(
                    x, *strides, z[0], numpy.intc(n), numpy.intc(m),
                    block=(32, 8, 1), grid=grid)  # fmt: skip

        return thunk


def test_exercise_8_two_matrices():
    check_two_matrices(PyCUDATimesOp())


def test_exercise_8_two_outputs():
    check_two_outputs(PyCUDASumAndDifferenceOp())


def test_exercise_8_strides(on_context):
    check_strides(PyCUDAStridedDoubleOp(), on_context)


# ---- "Wrapping existing libraries" ----


def test_an_array_is_converted_to_pycuda_s(on_context):
    pycuda_gpuarray = pytest.importorskip("pycuda.gpuarray", reason=WHY)
    values = numpy.random.RandomState(0).rand(20, 10).astype("float32")
    pygpu_array = gpuarray.asarray(values, context=on_context)[2:]
    assert pygpu_array.flags["IS_C_CONTIGUOUS"]
    pycuda_array = pycuda_gpuarray.GPUArray(
        pygpu_array.shape,
        pygpu_array.dtype,
        base=pygpu_array,
        gpudata=(pygpu_array.gpudata + pygpu_array.offset),
    )
    assert (pycuda_array.get() == values[2:]).all()
    fct = SourceModule(THE_C_CODE).get_function("my_fct")
    size = numpy.intc(pycuda_array.size)
    fct(pycuda_array, pycuda_array, size, block=(512, 1, 1), grid=(1, 1))
    assert (numpy.asarray(pygpu_array + 1) == 2 * values[2:] + 1).all()


def test_a_pycuda_context_is_created(on_context):
    gpuarray_cuda_context = on_context
    with gpuarray_cuda_context:
        pycuda_context = drv.Context.attach()
    try:
        assert drv.Context.get_device().name() == on_context.device_name
    finally:
        pycuda_context.detach()
