"""DLPack both ways: NumPy on the host, and each library that is installed on a card."""

import ctypes
import gc
import sys

import gpuarray
import numpy as np
import pytest
from gpuarray._core.opening import _SCHEDULES, _open_with
from gpuarray._interop import dlpack
from gpuarray._native import capsule, check, ffi, lib, open_capsule
from layouts import LAYOUTS, values

DTYPES = ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
DTYPES += ["f2", "f4", "f8", "c8", "c16"]


def host_values(shape=(3, 4), dtype="f4"):
    return (np.arange(np.prod(shape)).reshape(shape) % 7).astype(dtype)


class Producer:
    """A library of before DLPack 1.0, or one that says what it is asked."""

    def __init__(self, capsule, device=(1, 0)):
        self.capsule, self.device, self.asked = capsule, device, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        if "max_version" in asked:
            raise TypeError("max_version")
        return self.capsule


# ---- host memory ----


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_takes_our_memory(null, dtype):
    a = gpuarray.asarray(host_values(dtype=dtype), context=null)
    taken = np.from_dlpack(a)
    assert taken.dtype == a.dtype
    np.testing.assert_array_equal(taken, host_values(dtype=dtype))
    taken[1, 2] = 1
    np.testing.assert_array_equal(a, taken)


def test_numpys_array_keeps_the_memory(null):
    taken = np.from_dlpack(gpuarray.asarray(host_values(), context=null))
    gc.collect()
    np.testing.assert_array_equal(taken, host_values())


@pytest.mark.parametrize("dtype", DTYPES)
def test_we_take_numpys_memory(null, dtype):
    host = host_values(dtype=dtype)
    a = gpuarray.from_dlpack(host, device=null)
    assert (a.dtype, a.shape, a.context) == (host.dtype, host.shape, null)
    host[2, 1] = 1
    np.testing.assert_array_equal(a, host)
    del host
    gc.collect()
    assert a[2, 1].item() == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_comes_and_goes(null, layout):
    host = LAYOUTS[layout](values("f4"))
    a = gpuarray.from_dlpack(host, device=null)
    assert a.shape == host.shape
    np.testing.assert_array_equal(np.from_dlpack(a), host)
    assert np.from_dlpack(a).flags.writeable == host.flags.writeable


def test_a_view_of_ours_is_a_view_of_numpys(null):
    host = host_values((4, 6))
    a = gpuarray.asarray(host, context=null)
    np.testing.assert_array_equal(np.from_dlpack(a[::-2, 1::2]), host[::-2, 1::2])
    wide = np.from_dlpack(a[:1].broadcast_to((5, 6)))
    assert not wide.flags.writeable
    np.testing.assert_array_equal(wide, np.broadcast_to(host[:1], (5, 6)))


def test_a_copy_shares_nothing(null):
    a = gpuarray.asarray(host_values(), context=null)
    np.from_dlpack(a, copy=True)[0, 0] = 99
    host = host_values()
    b = gpuarray.from_dlpack(host, device=null, copy=True)
    host[0, 0] = 99
    assert a[0, 0].item() == b[0, 0].item() == 0


def test_a_capsule_that_nobody_takes(null):
    gc.collect()  # what other tests have left
    a = gpuarray.zeros((1000,), "f4", null)
    before = null.memory_info().n_live
    for version in (None, (1, 0)):
        capsule = a.__dlpack__(max_version=version)
        assert ("versioned" in repr(capsule)) == (version is not None)
        del capsule
    view = a.__dlpack__(max_version=(1, 0))
    del a
    gc.collect()
    assert null.memory_info().n_live == before
    del view
    assert null.memory_info().n_live == before - 1


def test_producers_of_before_1_0(null):
    a = gpuarray.asarray(host_values(), context=null)
    producer = Producer(a.__dlpack__())
    b = gpuarray.from_dlpack(producer, device=null)
    assert producer.asked == [{"max_version": (1, 3)}, {}]
    b[0, 0] = 5
    assert a[0, 0].item() == 5


# ---- what is refused ----


def test_a_capsule_is_taken_once(null):
    a = gpuarray.asarray(host_values(), context=null)
    producer = Producer(a.__dlpack__())
    gpuarray.from_dlpack(producer, device=null)
    with pytest.raises(BufferError, match="used_dltensor"):
        gpuarray.from_dlpack(producer, device=null)
    with pytest.raises(TypeError, match="expected a capsule"):
        gpuarray.from_dlpack(Producer(7), device=null)


def test_asarray_takes_what_has_nothing_but_dlpack(context):
    a = gpuarray.asarray(host_values(), context="null")
    b = gpuarray.asarray(Producer(a.__dlpack__()), context=context)
    assert b.context is context
    np.testing.assert_array_equal(b, host_values())


def test_what_speaks_no_dlpack(null):
    with pytest.raises(TypeError, match="list has no __dlpack_device__"):
        gpuarray.from_dlpack([1, 2], device=null)


def test_devices_that_are_none_of_ours():
    with pytest.raises(BufferError, match=r"\(8, 0\), expected CUDA"):
        gpuarray.from_dlpack(Producer(None, (8, 0)))


def test_dtypes_that_no_array_has(null):
    a = gpuarray.zeros((3,), "f8", null)
    before = null.memory_info().n_live
    tensor, kind = open_capsule(a.__dlpack__(max_version=(1, 0)))
    tensor.dl_tensor.dtype.bits = 80
    del a
    with pytest.raises(BufferError, match="80 bits in 1 lanes, which no array has"):
        gpuarray.from_dlpack(Producer(capsule(tensor, kind.encode())), device=null)
    assert null.memory_info().n_live == before - 1  # the tensor was given back


def test_read_only_memory_for_old_consumers(null):
    a = gpuarray.zeros((1, 4), "f4", null).broadcast_to((3, 4))
    with pytest.raises(BufferError, match="read-only"):
        a.__dlpack__()


def test_streams_of_the_host(null):
    a = gpuarray.zeros((4,), "f4", null)
    a.__dlpack__(stream=-1)
    with pytest.raises(ValueError, match="no stream 3"):
        a.__dlpack__(stream=3)


def test_copies_that_are_forbidden(context):
    a = gpuarray.asarray(host_values(), context=context)
    if not context.is_cpu:
        with pytest.raises(BufferError, match="copy=False forbids"):
            a.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="is not copied to"):
        a.__dlpack__(dl_device=(10, 3))
    with pytest.raises(ValueError, match="copy=False forbids"):
        gpuarray.from_dlpack(host_values(), device=context, copy=False)


ASKED = {
    "plainly": np.from_dlpack,
    "by device": lambda a: np.from_dlpack(a, device="cpu"),
    "without a copy": lambda a: np.from_dlpack(a, device="cpu", copy=False),
    "of before 1.0": lambda a: np.from_dlpack(Producer(a.__dlpack__())),
}


@pytest.mark.parametrize("how", ASKED)
def test_a_processors_memory_is_the_hosts(processor, how):
    """NumPy's array on it sees what is computed, and the device what NumPy writes."""
    context = processor
    a = gpuarray.asarray(host_values(), context=context)[1:, ::2]
    before = np.asarray(a)
    b = a + 1
    view = ASKED[how](b)
    np.testing.assert_array_equal(view, before + 1)
    b *= 2
    context.sync()
    np.testing.assert_array_equal(view, 2 * (before + 1))
    part = np.from_dlpack(a, device="cpu", copy=False)
    assert part.strides == a.strides
    part[...] = 7
    assert (np.asarray(a) == 7).all()
    del a
    gpuarray.zeros(part.size, context=context)
    context.sync()
    assert (part == 7).all()


def test_no_elements_and_one_of_a_processor(processor):
    empty = gpuarray.zeros((3, 0), context=processor)
    assert np.from_dlpack(empty, device="cpu", copy=False).shape == (3, 0)
    number = gpuarray.asarray(2.5, context=processor)
    np.from_dlpack(number)[...] += 1
    assert number.item() == 3.5


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["bool", "u2", "f2", "f4", "c16"])
def test_every_layout_of_a_processor(processor, layout, dtype):
    host = LAYOUTS[layout](values("i4").astype(dtype))
    a = gpuarray.from_dlpack(host, device=processor)
    np.testing.assert_array_equal(a, host)
    for copy in (False, None, True):
        taken = np.from_dlpack(a, copy=copy)
        assert taken.dtype == host.dtype
        np.testing.assert_array_equal(taken, host)


def test_work_is_done_when_the_host_has_the_memory(processor):
    a = gpuarray.zeros((1 << 20,), "f4", processor)
    for turn in range(1, 20):
        a += 1
        assert (np.from_dlpack(a) == turn).all()


def test_negative_strides_are_given_only_when_asked_for(context):
    """PyTorch ends the process of whoever gives it such strides."""
    host = host_values((4, 6))
    a = gpuarray.asarray(host, context=context)[::-1, ::2]
    own = dlpack.device_of(context)
    for copy, falls in ((None, False), (True, False), (False, True)):
        capsule = a.__dlpack__(max_version=(1, 0), dl_device=own, copy=copy)
        tensor, _ = open_capsule(capsule)
        assert (tensor.dl_tensor.strides[0] < 0) == falls
        assert tensor.flags == (0 if falls else 2)  # DLPACK_FLAG_BITMASK_IS_COPIED
        b = dlpack.adopt(gpuarray.Array, tensor, "dltensor_versioned", context)
        np.testing.assert_array_equal(b, host[::-1, ::2])


def test_the_null_device_copies_by_the_host(null):
    host = host_values((4, 6))
    a = gpuarray.from_dlpack(host, device=null)[::-1, ::2]
    taken = np.from_dlpack(a, copy=True)
    b = gpuarray.from_dlpack(host[:, ::-3], device=null, copy=True)
    host[...] = 9
    np.testing.assert_array_equal(taken, host_values((4, 6))[::-1, ::2])
    np.testing.assert_array_equal(b, host_values((4, 6))[:, ::-3])


# ---- devices ----


def test_the_device_in_dlpacks_words(context):
    kind, number = dlpack.device_of(context)
    assert dlpack.context_of((kind, number)) is context
    assert kind == {"cuda": 2, "opencl": 4}[context.kind]
    said = gpuarray.zeros((2,), "f4", context).__dlpack_device__()
    assert said == ((1, 0) if context.is_cpu else (kind, number))


def test_a_processors_memory_in_the_devices_words(context):
    """As a ``cl_mem``, for a consumer that asks for the device itself."""
    a = gpuarray.asarray(host_values(), context=context)
    own = dlpack.device_of(context)
    tensor, _ = open_capsule(a.__dlpack__(max_version=(1, 0), dl_device=own))
    device = tensor.dl_tensor.device
    assert (int(device.device_type), int(device.device_id)) == own
    b = dlpack.adopt(gpuarray.Array, tensor, "dltensor_versioned", context)
    b += 1
    np.testing.assert_array_equal(a, host_values() + 1)


def test_our_own_arrays_share_memory_on_a_device(context):
    host = host_values((4, 6))
    a = gpuarray.asarray(host, context=context)
    view = gpuarray.from_dlpack(a[::2, ::-1])
    assert view.context is context
    view += 1
    host[::2] += 1
    np.testing.assert_array_equal(a, host)


@pytest.mark.parametrize("dtype", ["bool", "i8", "f2", "f4"])
def test_a_copy_to_the_host_and_back(context, dtype):
    a = gpuarray.asarray(host_values(dtype=dtype), context=context)
    host = np.from_dlpack(a, device="cpu")
    np.testing.assert_array_equal(host, host_values(dtype=dtype))
    b = gpuarray.from_dlpack(host, device=context)
    assert b.context is context
    np.testing.assert_array_equal(b, host)


def test_memory_lives_as_long_as_the_last_user(context):
    a = gpuarray.asarray(host_values(), context=context)
    b = gpuarray.from_dlpack(a)
    before = context.memory_info().n_live
    del a
    gc.collect()
    np.testing.assert_array_equal(b, host_values())
    del b
    gc.collect()
    context.sync()
    assert context.memory_info().n_live < before


def test_an_order_with_a_queue(context):
    """The context's own queue stands for another library's."""
    stream = ffi.new("intptr_t *")
    check(lib.gpucontext_dlpack_stream(context.pointer, stream))
    own = dlpack.device_of(context)
    a = gpuarray.asarray(host_values((1000, 100)), context=context)
    for turn in range(1, 5):
        a += 1
        given = a.__dlpack__(stream=stream[0], max_version=(1, 0), dl_device=own)
        tensor, _ = open_capsule(given)
        struct = ffi.new("GpuArray *")
        check(
            lib.GpuArray_from_dlpack(struct, context.pointer, tensor, stream[0]),
            "from_dlpack",
        )
        b = gpuarray.Array.wrap(struct, context, a.dtype, a.typecode)
        np.testing.assert_array_equal(b, host_values((1000, 100)) + turn)


# ---- consumers that fail ----

_python = ctypes.pythonapi
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_python.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)


def pointer_of(capsule, versioned, rename):
    """What a consumer does first: the tensor in a capsule, and its deleter."""
    name = b"dltensor_versioned" if versioned else b"dltensor"
    kind = "DLManagedTensorVersioned *" if versioned else "DLManagedTensor *"
    tensor = ffi.cast(kind, _python.PyCapsule_GetPointer(capsule, name))
    if rename:
        used = {b"dltensor": b"used_dltensor"}.get(name, b"used_dltensor_versioned")
        _python.PyCapsule_SetName(capsule, kept_names.setdefault(used, used))
    return tensor


kept_names = {}  # Python keeps pointers to them
versions = pytest.mark.parametrize("versioned", [True, False])


@pytest.fixture
def own(context):
    """A context in which nobody else's buffers come and go."""
    return _open_with(context.name, _SCHEDULES["default"], False, None, sys.maxsize, 0)


@pytest.fixture
def live(own):
    """How many buffers there are more than before the test."""

    def count():
        gc.collect()
        own.sync()  # what is still computed with is live
        return own.memory_info().n_live

    before = count()
    return lambda: count() - before


def exported(context, versioned):
    a = gpuarray.asarray(host_values(), context=context)
    return a.__dlpack__(max_version=(1, 0) if versioned else None)


@versions
@pytest.mark.parametrize("times", [0, 1, 2, 5])
def test_a_consumer_that_gives_back_and_leaves_the_name(own, versioned, times, live):
    """As PyTorch does with a device that it does not know: it took over, and failed."""
    given = exported(own, versioned)
    assert live() == 1
    tensor = pointer_of(given, versioned, rename=False)
    for _ in range(times):
        tensor.deleter(tensor)
    assert live() == (0 if times else 1)
    del given
    assert live() == 0


@versions
@pytest.mark.parametrize("first", ["capsule", "tensor"])
def test_a_consumer_that_takes(own, versioned, first, live):
    given = exported(own, versioned)
    tensor = pointer_of(given, versioned, rename=True)
    if first == "capsule":
        del given
        assert live() == 1
        tensor.deleter(tensor)
    else:
        tensor.deleter(tensor)
        tensor.deleter(tensor)
        assert live() == 0
        del given
    assert live() == 0


@versions
def test_a_consumer_that_takes_twice(own, versioned, live):
    given = exported(own, versioned)
    tensor = pointer_of(given, versioned, rename=True)
    with pytest.raises(ValueError, match="PyCapsule_GetPointer"):
        pointer_of(given, versioned, rename=True)
    tensor.deleter(tensor)
    del given
    assert live() == 0


@versions
def test_a_capsule_with_another_name_is_let_go(own, versioned, live):
    """Nobody knows who has its tensor: it is as good as taken."""
    given = exported(own, versioned)
    tensor = pointer_of(given, versioned, rename=False)
    _python.PyCapsule_SetName(given, kept_names.setdefault(b"else", b"else"))
    del given
    assert live() == 1
    tensor.deleter(tensor)
    assert live() == 0


def test_numpy_refuses_a_device(own, live):
    class Native:
        def __init__(self, array):
            self.array = array

        def __dlpack_device__(self):
            return dlpack.device_of(own)

        def __dlpack__(self, **asked):
            return self.array.__dlpack__(**asked, dl_device=dlpack.device_of(own))

    native = Native(gpuarray.asarray(host_values(), context=own))
    for _ in range(10):
        with pytest.raises((RuntimeError, BufferError)):
            np.from_dlpack(native)
    assert live() == 1
    np.testing.assert_array_equal(native.array, host_values())
