"""The seeds' programs with PyCUDA, the same through PyOpenCL: exercises 6 and 8."""

import gpuarray
import gpuarray.compiler as theano
import numpy
import pyopencl as cl
import pytest
from exercise8 import check_strides, check_two_matrices, check_two_outputs
from gpuarray.compiler.sandbox import cuda

# Intel's compiler always says something, and PyOpenCL warns of it.
pytestmark = [
    pytest.mark.usefixtures("only_opencl", "on_context"),
    pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning"),
]


@pytest.fixture
def only_opencl(context):
    if context.kind != "opencl":
        pytest.skip("PyOpenCL has no CUDA devices")


def queue_of(context):
    """The queue on which this thread's work on a context goes."""
    return cl.CommandQueue.from_int_ptr(context.stream, retain=True)


THE_C_CODE = """
__kernel void my_fct(__global const float * i0, __global float * o0) {
    int i = get_global_id(0);
    o0[i] = i0[i]*2;
}"""


# ---- the example, and exercise 6 ----


def test_the_example_on_our_arrays(on_context):
    queue = queue_of(on_context)
    multiply_them = (
        cl.Program(
            queue.context,
            """
__kernel void multiply_them(__global float *dest, __global const float *a,
                            __global const float *b, int n)
{
    const int i = get_global_id(0) + n * get_global_id(1);
    dest[i] = a[i] * b[i];
}
""",
        )
        .build()
        .multiply_them
    )
    for shape in ((400,), (10, 20)):
        values = numpy.random.RandomState(0).rand(2, *shape).astype("float32")
        a, b = (gpuarray.asarray(each, context=on_context) for each in values)
        dest = gpuarray.zeros(shape, "float32", on_context)
        arrays = [each.cl_mem for each in (dest, a, b)]
        for _ in range(20):
            b += 1
            multiply_them(queue, shape, None, *arrays, numpy.intc(shape[0]))
            dest *= 2
        expected = 2 * values[0] * (values[1] + 20)
        assert numpy.allclose(numpy.asarray(dest), expected, rtol=1e-5)


# ---- the op ----


class PyOpenCLDoubleOp(theano.Op):
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
        queue = queue_of(node.inputs[0].type.context)
        mod = cl.Program(queue.context, THE_C_CODE).build()

        pyopencl_fct = mod.my_fct
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]

        def thunk():
            z = outputs[0]
            if z[0] is None or z[0].shape != inputs[0][0].shape:
                z[0] = cuda.CudaNdarray.zeros(inputs[0][0].shape)
            grid = (inputs[0][0].size,)
            pyopencl_fct(queue, grid, None, inputs[0][0].cl_mem, z[0].cl_mem)

        return thunk


def test_pyopencl_double_op():
    x = theano.tensor.fmatrix()
    f = theano.function([x], PyOpenCLDoubleOp()(x))
    xv = numpy.ones((4, 5), dtype="float32")

    assert numpy.allclose(f(xv), xv * 2)
    assert str(numpy.asarray(f(xv))) == str(xv * 2)


def test_pyopencl_double_op_is_in_order_with_what_is_around_it(on_context):
    x = theano.tensor.fmatrix()
    f = theano.function([x], PyOpenCLDoubleOp()(PyOpenCLDoubleOp()(x + 1) * 3) - x)
    given = [gpuarray.full((100, 70), i, "float32", on_context) for i in range(10)]
    f(given[0])
    waits = on_context.waits
    results = [f(each) for each in given]
    assert on_context.waits == waits + len(given)  # for the results on the host
    for turn, result in enumerate(results):
        assert (result == 12 * (turn + 1) - turn).all()


# ---- exercises 8 ----

STRIDED = """
__kernel void my_fct(%s, int n, int m) {
    int i = get_global_id(0), j = get_global_id(1);
    %s
}"""


def parameters(name, const=""):
    """A matrix: its buffer, and where its elements are."""
    return f"__global {const}float *{name}, int {name}_at, int {name}_s0, int {name}_s1"


def element(name):
    return f"{name}[{name}_at + i*{name}_s0 + j*{name}_s1]"


def described(array):
    """What ``parameters`` takes of an array, which may be any view."""
    steps = [each // array.itemsize for each in (array.offset, *array.strides)]
    return [array.cl_mem, *map(numpy.intc, steps)]


class PyOpenCLOp(PyOpenCLDoubleOp):
    """An op over matrices of one shape, which need not be contiguous."""

    names = ("i0", "i1", "o0")
    n_outputs = 1

    def make_node(self, *inputs):
        inputs = [cuda.basic_ops.as_cuda_ndarray_variable(inp) for inp in inputs]
        assert all(inp.dtype == "float32" and inp.ndim == 2 for inp in inputs)
        return theano.Apply(
            self, inputs, [inputs[0].type() for _ in range(self.n_outputs)]
        )

    def make_thunk(self, node, storage_map, _, _2):
        queue = queue_of(node.inputs[0].type.context)
        elements = {name: element(name) for name in self.names}
        text = STRIDED % (
            ", ".join(map(parameters, self.names)),
            self.body.format(**elements),
        )
        pyopencl_fct = cl.Program(queue.context, text).build().my_fct
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]

        def thunk():
            shape = inputs[0][0].shape
            assert all(inp[0].shape == shape for inp in inputs)
            for z in outputs:
                z[0] = cuda.CudaNdarray.zeros(shape)
            arrays = [cell[0] for cell in (*inputs, *outputs)]
            if arrays[0].size:
                arguments = [each for array in arrays for each in described(array)]
                pyopencl_fct(queue, shape, None, *arguments, *map(numpy.intc, shape))

        return thunk


class PyOpenCLTimesOp(PyOpenCLOp):
    body = "{o0} = {i0}*{i1};"


class PyOpenCLSumAndDifferenceOp(PyOpenCLOp):
    names = ("i0", "i1", "o0", "o1")
    n_outputs = 2
    body = "{o0} = {i0}+{i1}; {o1} = {i0}-{i1};"

    def grad(self, inputs, g):
        return [g[0] + g[1], g[0] - g[1]]


class PyOpenCLStridedDoubleOp(PyOpenCLOp):
    names = ("i0", "o0")
    body = "{o0} = {i0}*2;"


def test_exercise_8_two_matrices():
    check_two_matrices(PyOpenCLTimesOp())


def test_exercise_8_two_outputs():
    check_two_outputs(PyOpenCLSumAndDifferenceOp())


def test_exercise_8_strides(on_context):
    check_strides(PyOpenCLStridedDoubleOp(), on_context)
