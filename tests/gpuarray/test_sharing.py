"""Memory shared with PyOpenCL, PyCUDA and whoever has ``__cuda_array_interface__``."""

import gc
import importlib

import gpuarray
import numpy as np
import pyopencl
import pyopencl.array
import pytest
from gpuarray._interop import cuda_array_interface

# Intel's compiler always says something, and PyOpenCL warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")

KERNEL = """
__kernel void add_hundred(__global float *x, ulong offset) {
  x = (__global float *)((__global char *)x + offset);
  x[get_global_id(0)] += 100;
}
"""


def host_values(shape=(4, 6), dtype="f4"):
    return (np.arange(np.prod(shape)).reshape(shape) % 7).astype(dtype)


# ---- attributes of the other vendor ----


@pytest.mark.parametrize(
    "name",
    ["gpudata", "ptr", "__cuda_array_interface__", "base_data", "data", "cl_mem"],
)
def test_what_an_array_of_the_host_has_not(null, name):
    a = gpuarray.zeros((3,), context=null)
    assert not hasattr(a, name)
    with pytest.raises(TypeError, match="the array is on null; only arrays of"):
        getattr(a, name)


def test_what_cannot_be_handed_over(null):
    a = gpuarray.zeros((3,), context=null)
    with pytest.raises(TypeError, match="as_pyopencl: the array is on null"):
        a.as_pyopencl()
    with pytest.raises(TypeError, match="as_pycuda: the array is on null"):
        a.as_pycuda()


# ---- PyOpenCL ----


def cl_devices():
    """All that PyOpenCL sees; its loader may know no platform at all."""
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.LogicError:
        return []
    return [device for platform in platforms for device in platform.get_devices()]


@pytest.fixture
def cl_device(context):
    """PyOpenCL's name for the device of the context."""
    if context.kind != "opencl":
        pytest.skip("PyOpenCL has no CUDA devices")
    for device in cl_devices():
        if device.name.strip() == context.device_name:
            return device
    pytest.skip(f"PyOpenCL does not see {context.device_name}")


@pytest.fixture
def queue(cl_device):
    context = pyopencl.Context([cl_device])
    yield pyopencl.CommandQueue(context)
    del context  # which Intel's queues do not keep


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f4", "i8", "c8"])
def test_arrays_of_pyopencl_are_taken_in(queue, dtype):
    theirs = pyopencl.array.to_device(queue, host_values(dtype=dtype))
    ours = gpuarray.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert ours.context is gpuarray.context(queue) is gpuarray.context(queue.context)
    ours += 1
    np.testing.assert_array_equal(theirs.get(), host_values(dtype=dtype) + 1)
    theirs.fill(5)
    assert (np.asarray(ours) == 5).all()


def test_views_of_pyopencl(queue):
    theirs = pyopencl.array.to_device(queue, host_values())
    ours = gpuarray.asarray(theirs[1:, ::2])
    assert (ours.strides, ours.offset) == ((24, 8), 24)
    np.testing.assert_array_equal(ours, host_values()[1:, ::2])
    empty = gpuarray.asarray(pyopencl.array.zeros(queue, (0, 3), "f4"))
    assert (empty.shape, empty.context) == ((0, 3), ours.context)


def test_work_of_both_is_in_order(queue):
    theirs = pyopencl.array.to_device(queue, host_values((1000, 30)))
    ours = gpuarray.asarray(theirs)
    for _ in range(30):
        ours += 1
        theirs += 1
    np.testing.assert_array_equal(ours, host_values((1000, 30)) + 60)


def test_their_memory_lives_as_long_as_ours(queue):
    ours = gpuarray.asarray(pyopencl.array.to_device(queue, host_values()))[1:]
    gc.collect()
    np.testing.assert_array_equal(ours + 1, host_values()[1:] + 1)


def test_kernels_of_pyopencl_on_our_arrays(queue):
    program = pyopencl.Program(queue.context, KERNEL).build(options="-w")
    kernel = pyopencl.Kernel(program, "add_hundred")
    ours = gpuarray.zeros((1000,), "f4", queue)[10:]
    for turn in range(1, 20):
        kernel(queue, ours.shape, None, ours.cl_mem, np.uint64(ours.offset))
        ours += 1
        assert ours.context.waits >= 0
        assert (np.asarray(ours) == 101 * turn).all()


def test_our_arrays_as_arrays_of_pyopencl(context):
    if context.kind != "opencl":
        pytest.skip("PyOpenCL has no CUDA devices")
    ours = gpuarray.asarray(host_values(), context=context)
    theirs = ours[1:, ::2].as_pyopencl()
    assert theirs.base_data.int_ptr == ours.base_data == ours.data
    assert (theirs.shape, theirs.strides, theirs.offset) == ((3, 3), (24, 8), 24)
    ours += 1
    theirs.queue.finish()
    host = np.empty(24, "f4")
    pyopencl.enqueue_copy(theirs.queue, host, theirs.base_data)
    np.testing.assert_array_equal(host.reshape(4, 6), host_values() + 1)
    with pytest.raises(ValueError, match="begins 24 bytes into its buffer"):
        _ = ours[1:].data


def test_what_comes_back_from_pyopencl_is_of_the_same_context(context):
    if context.kind != "opencl":
        pytest.skip("PyOpenCL has no CUDA devices")
    ours = gpuarray.asarray(host_values(), context=context)
    again = gpuarray.asarray(ours.as_pyopencl())
    assert again.context is context and again.data == ours.data
    theirs = ours.as_pyopencl()
    assert gpuarray.context(theirs.queue) is gpuarray.context(theirs.context) is context
    np.testing.assert_array_equal(ours + again, host_values() * 2)


def test_another_queue_of_theirs(queue):
    ours = gpuarray.zeros((1000, 100), "f4", queue)
    other = pyopencl.CommandQueue(queue.context)
    for turn in range(1, 10):
        ours += 1
        theirs = ours.as_pyopencl(other)
        assert theirs.queue == other != ours.as_pyopencl().queue
        theirs *= 1  # on the other queue
        theirs += 1
        ours = gpuarray.asarray(theirs)
        assert ours.context is gpuarray.context(queue)
        assert (np.asarray(ours) == 2 * turn).all()


def test_the_queue_of_their_array_is_waited_for(queue, monkeypatch):
    """Ours is told of it; of an array without one nobody knows where it is computed."""
    adopt, told = cuda_array_interface.dlpack.adopt, []

    def tell(*arguments):
        told.append(arguments[-1])
        return adopt(*arguments)

    monkeypatch.setattr(cuda_array_interface.dlpack, "adopt", tell)
    context = gpuarray.context(queue)
    other = pyopencl.CommandQueue(queue.context)
    theirs = pyopencl.array.to_device(other, host_values())
    for each in (theirs, theirs.with_queue(None)):
        ours = gpuarray.asarray(each)
        assert ours.context is context
        np.testing.assert_array_equal(ours, host_values())
    assert told == [other.int_ptr, 0]


def test_what_is_refused_of_pyopencl(queue):
    with pytest.raises(TypeError, match="PyOpenCL's Buffer"):
        gpuarray.context(pyopencl.Buffer(queue.context, 0, 16))
    apart = pyopencl.Context([queue.device])
    wild = pyopencl.CommandQueue(
        apart,
        properties=pyopencl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE,
    )
    with pytest.raises(ValueError, match="the queue is out of order"):
        gpuarray.context(wild)
    a = gpuarray.zeros((2,), "f4", queue).astype("bfloat16")
    with pytest.raises(BufferError, match="PyOpenCL has no bfloat16"):
        a.as_pyopencl()


def test_an_adopted_context_is_closed(queue):
    opened = gpuarray.context(queue)
    opened.close()
    assert gpuarray.context(queue) is not opened
    gpuarray.context(queue).close()


# ---- CUDA ----


@pytest.fixture
def cuda(context):
    if context.kind != "cuda":
        pytest.skip("only CUDA has addresses")
    return context


class Foreign:
    """An array of a library that has nothing but the interface."""

    def __init__(self, array, **changes):
        self.base = array
        described = dict(array.__cuda_array_interface__)
        self.__cuda_array_interface__ = described | changes


def test_the_interface_says_what_the_array_is(cuda):
    a = gpuarray.asarray(host_values(), context=cuda)
    said = a[1:, ::2].__cuda_array_interface__
    assert said["version"] == 3
    assert (said["shape"], said["strides"]) == ((3, 3), (24, 8))
    assert said["data"] == (a.gpudata + 24, False)
    assert (said["typestr"], said["stream"]) == ("<f4", cuda.stream)
    assert a.__cuda_array_interface__["strides"] is None
    assert a[:1].broadcast_to((3, 6)).__cuda_array_interface__["data"][1]
    assert a[:0].__cuda_array_interface__["data"][0] == 0
    assert not hasattr(a.astype("bfloat16"), "__cuda_array_interface__")


def test_whoever_has_the_interface_is_taken_in(cuda):
    a = gpuarray.asarray(host_values(), context=cuda)
    b = gpuarray.asarray(Foreign(a[::2, ::-1]))
    assert b.context is cuda
    b += 1
    expected = host_values()
    expected[::2] += 1
    np.testing.assert_array_equal(a, expected)
    fixed = gpuarray.asarray(Foreign(a, data=(a.ptr, True)))
    with pytest.raises(ValueError, match="read-only"):
        fixed += 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stream": 0}, "the CUDA array's stream is 0"),
        ({"mask": 1}, "with a mask"),
        ({"strides": (25, 4)}, "no multiples of the 4 bytes"),
    ],
)
def test_interfaces_that_are_refused(cuda, changes, message):
    a = gpuarray.asarray(host_values(), context=cuda)
    with pytest.raises(BufferError, match=message):
        gpuarray.asarray(Foreign(a, **changes))


def test_a_block_makes_the_context_current(cuda):
    assert gpuarray.context("null") is not cuda
    with cuda:
        assert gpuarray.zeros((2,)).context is cuda


class OldArray:
    """What PyCUDA's GPUArray was before it had the interface."""

    __module__ = "pycuda.gpuarray"

    def __init__(self, shape, dtype, base, gpudata):
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.base, self.gpudata = base, gpudata
        self.strides = np.empty(shape, dtype).strides


def test_arrays_of_pycuda(cuda):
    """As its documentation makes one of ours: by an address and what keeps it alive."""
    for a in (
        gpuarray.asarray(host_values(), context=cuda),
        gpuarray.asarray(host_values(), context=cuda)[2:],
    ):
        assert a.flags["IS_C_CONTIGUOUS"]
        theirs = OldArray(a.shape, a.dtype, base=a, gpudata=(a.gpudata + a.offset))
        again = gpuarray.asarray(theirs)
        again += 1
        np.testing.assert_array_equal(a, again)
        assert again.ptr == a.ptr


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed")


def test_cupy_by_the_interface(cuda):
    cupy = library("cupy")
    a = gpuarray.asarray(host_values(), context=cuda)
    theirs = cupy.asarray(a[1:, ::2])
    assert theirs.data.ptr == a[1:, ::2].ptr
    theirs += 1
    ours = cuda_array_interface.take(gpuarray.Array, Foreign(a))
    with cupy.cuda.Stream(non_blocking=True):
        made = cupy.zeros(1 << 22, "f4")
        for _ in range(30):
            made += 1
        ours = gpuarray.asarray(Foreign(made))
    ours += 1
    assert (np.asarray(ours) == 31).all()


def test_pycuda_itself(cuda):
    library("pycuda.driver").init()
    arrays = library("pycuda.gpuarray")
    with cuda:
        a = gpuarray.asarray(host_values(), context=cuda)[1:]
        theirs = arrays.GPUArray(
            a.shape, a.dtype, base=a, gpudata=(a.gpudata + a.offset)
        )
        np.testing.assert_array_equal(theirs.get(), host_values()[1:])
        attached = library("pycuda.driver").Context.attach()  # it keeps its own stack
        ours = gpuarray.asarray(arrays.to_gpu(host_values()))
        np.testing.assert_array_equal(ours + 1, host_values() + 1)
        attached.detach()
