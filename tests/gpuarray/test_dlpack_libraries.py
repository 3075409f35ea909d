"""Other libraries on a card, and its streams, through DLPack."""

import importlib

import gpuarray
import numpy as np
import pytest
from test_dlpack import host_values


def test_streams_that_are_none_of_cuda(cuda):
    a = gpuarray.zeros((4,), "f4", cuda)
    for stream in (0, -2):
        with pytest.raises(ValueError, match=f"stream {stream} is not a CUDA stream"):
            a.__dlpack__(stream=stream)


def test_the_stream_for_other_libraries(null, cuda):
    assert cuda.__cuda_stream__() == (0, cuda.stream)
    with cuda.new_queue() as queue:
        assert cuda.__cuda_stream__() == (0, queue.handle)
    with pytest.raises(ValueError, match="null has no CUDA stream: its kind is 'null'"):
        null.__cuda_stream__()


# ---- other libraries on a card ----


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed")


@pytest.fixture
def cuda(context):
    if context.kind != "cuda":
        pytest.skip("other libraries have no OpenCL memory")
    return context


@pytest.fixture
def torch(cuda):
    found = library("torch")
    if not found.cuda.is_available():
        pytest.skip("PyTorch sees no card")
    return found


@pytest.fixture
def cupy(cuda):
    return library("cupy")


@pytest.fixture
def jax(cuda):
    found = library("jax")
    if found.default_backend() != "gpu":
        pytest.skip("JAX sees no card")
    return found


@pytest.mark.parametrize("dtype", ["bool", "i4", "i8", "f2", "f4", "f8", "c8"])
def test_pytorch_and_we_share_memory(cuda, torch, dtype):
    a = gpuarray.asarray(host_values((4, 6), dtype), context=cuda)
    theirs = torch.from_dlpack(a)
    np.testing.assert_array_equal(theirs.cpu().numpy(), host_values((4, 6), dtype))
    back = gpuarray.from_dlpack(theirs[1:, ::2])
    np.testing.assert_array_equal(back, host_values((4, 6), dtype)[1:, ::2])
    theirs.zero_()
    assert not np.asarray(a).any()
    assert not np.asarray(back).any()


def test_bfloat16_of_pytorch(cuda, torch):
    theirs = torch.arange(6, device="cuda", dtype=torch.bfloat16)
    a = gpuarray.from_dlpack(theirs)
    assert a.dtype == gpuarray.bfloat16
    assert torch.from_dlpack(a).data_ptr() == theirs.data_ptr()


def test_the_order_of_pytorchs_streams(cuda, torch):
    """Work on a stream of its own, both ways, many times, with work before each."""
    n = 1 << 22
    stream = torch.cuda.Stream()
    for turn in range(20):
        with torch.cuda.stream(stream):
            busy = torch.zeros(n, device="cuda")
            for _ in range(20):
                busy += 1
            ours = gpuarray.from_dlpack(busy)
        ours += turn  # sees 20 additions
        with torch.cuda.stream(stream):
            theirs = torch.from_dlpack(ours)
            assert float(theirs.max()) == float(theirs.min()) == 20 + turn


def test_cupy_and_we_share_memory(cuda, cupy):
    a = gpuarray.asarray(host_values((4, 6)), context=cuda)
    theirs = cupy.from_dlpack(a)
    theirs += 1
    np.testing.assert_array_equal(a, host_values((4, 6)) + 1)
    with cupy.cuda.Stream(non_blocking=True):
        made = cupy.arange(24, dtype="f4").reshape(4, 6)
        ours = gpuarray.from_dlpack(made[1:, ::2])
    np.testing.assert_array_equal(ours, cupy.asnumpy(made)[1:, ::2])


def test_jax_and_we_share_memory(cuda, jax):
    a = gpuarray.asarray(host_values((4, 6)), context=cuda)
    theirs = jax.dlpack.from_dlpack(a)
    np.testing.assert_array_equal(np.asarray(theirs), host_values((4, 6)))
    back = gpuarray.from_dlpack(theirs * 2)
    np.testing.assert_array_equal(back, host_values((4, 6)) * 2)


class WithoutNumpysDtype:
    """An array on the host whose dtype NumPy lacks, as a bfloat16 of PyTorch."""

    def __init__(self, array):
        self.array = array

    def __array__(self, *_, **__):
        raise TypeError("unsupported ScalarType")

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        return self.array.__dlpack__(dl_device=(1, 0))


def test_asarray_of_what_numpy_has_no_dtype_for(context):
    a = gpuarray.arange(6, dtype="bfloat16", context=context)
    theirs = WithoutNumpysDtype(a)
    found = gpuarray.asarray(theirs, context=context)
    assert found.dtype == a.dtype
    assert found.tolist() == a.tolist()
    wide = gpuarray.asarray(theirs, "float32", context=context)
    assert wide.dtype == "float32"
    assert wide.tolist() == a.tolist()
