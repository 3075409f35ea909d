"""DLPack's exchange table, and who gives the memory back."""

import ctypes
import sys

import gpuarray
import numpy as np
import pytest
from gpuarray import dtypes
from gpuarray._core.opening import _open_with
from gpuarray._interop import dlpack
from gpuarray._native import ffi
from layouts import LAYOUTS, values
from test_dlpack import host_values

# ---- the exchange table ----


def table():
    """The functions of the table, for calls by ctypes."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    capsule = gpuarray.Array.__dlpack_c_exchange_api__
    words = ctypes.cast(
        get(capsule, b"dlpack_exchange_api"), ctypes.POINTER(ctypes.c_void_p)
    )
    assert words[0] == 1 | 3 << 32  # the version
    assert words[1] is None  # no older table
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    return function(words[3]), function(words[4])


def test_the_table_gives_a_processors_memory_as_the_hosts(context):
    a = gpuarray.asarray(host_values(), context=context)[1:]
    from_object, _ = table()
    out = ffi.new("DLManagedTensorVersioned **")
    assert from_object(id(a), int(ffi.cast("uintptr_t", out))) == 0
    tensor = out[0].dl_tensor
    said = int(tensor.device.device_type), int(tensor.device.device_id)
    assert said == a.__dlpack_device__()
    if context.is_cpu:
        assert ffi.cast("float *", tensor.data)[0] == host_values()[1, 0]
    out[0].deleter(out[0])


def test_c_code_exchanges_arrays_by_the_table(null):
    a = gpuarray.asarray(host_values(), context=null)
    from_object, to_object = table()
    tensor, made = ctypes.c_void_p(), ctypes.py_object()
    assert from_object(id(a), ctypes.addressof(tensor)) == 0
    assert to_object(tensor, ctypes.addressof(made)) == 0
    b = made.value
    b[1, 1] = 42
    assert isinstance(b, gpuarray.Array)
    assert a[1, 1].item() == 42


# ---- who gives the memory back ----


DELETED = []


@ffi.callback("void(DLManagedTensorVersioned *)")
def delete(tensor):
    DELETED.append(int(ffi.cast("uintptr_t", tensor)))


class Foreign:
    """A tensor of the host or another device, which notes that it is given back."""

    def __init__(self, code=2, bits=32, device=(1, 0), major=1):
        self.data, self.shape = ffi.new("char[64]"), ffi.new("int64_t *", 3)
        self.tensor = ffi.new("DLManagedTensorVersioned *")
        self.tensor.version.major = major
        self.tensor.deleter = delete
        described = self.tensor.dl_tensor
        described.data, described.ndim, described.shape = self.data, 1, self.shape
        described.dtype.code, described.dtype.bits, described.dtype.lanes = (
            code,
            bits,
            1,
        )
        described.device.device_type, described.device.device_id = device
        DELETED.clear()

    @property
    def times_given_back(self):
        return DELETED.count(int(ffi.cast("uintptr_t", self.tensor)))


def adopted(foreign, context):
    return dlpack.adopt(gpuarray.Array, foreign.tensor, "dltensor_versioned", context)


def test_a_tensor_is_given_back_once_when_the_array_dies(null):
    foreign = Foreign()
    a = adopted(foreign, null)
    assert foreign.times_given_back == 0
    del a
    assert foreign.times_given_back == 1


def test_bfloat16_without_its_package_is_refused_and_given_back(null, monkeypatch):
    monkeypatch.setattr(dtypes, "_bfloat16", None)
    monkeypatch.delitem(dtypes.OF_TYPECODE, 17, raising=False)
    foreign = Foreign(code=4, bits=16)
    with pytest.raises(gpuarray.LibraryMissing, match="pip install ml_dtypes"):
        adopted(foreign, null)
    assert foreign.times_given_back == 1


@pytest.mark.parametrize("wrong", [{"bits": 4}, {"code": 77}, {"major": 9}])
def test_what_no_array_holds_is_refused_and_given_back(null, wrong):
    foreign = Foreign(**wrong)
    with pytest.raises(BufferError):
        adopted(foreign, null)
    assert foreign.times_given_back == 1


def test_a_closed_context_takes_nothing_and_gives_back(null):
    foreign = Foreign()
    closed = _open_with("null", 0, False, None, sys.maxsize, 0)
    closed.close()
    with pytest.raises(gpuarray.ContextClosed):
        adopted(foreign, closed)
    assert foreign.times_given_back == 1


def test_c_code_is_given_back_what_lies_on_no_device_of_ours(null):
    foreign = Foreign(device=(7, 0))
    _, to_object = table()
    made = ctypes.py_object()
    address = int(ffi.cast("uintptr_t", foreign.tensor))
    with pytest.raises(BufferError, match=r"got DLPack's device \(7, 0\)"):
        to_object(address, ctypes.addressof(made))
    assert foreign.times_given_back == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_the_host_goes_to_a_device(context, layout):
    host = LAYOUTS[layout](values("f4"))
    with context:
        found = gpuarray.from_dlpack(host)
    assert found.context is context
    np.testing.assert_array_equal(found.get(), host)
