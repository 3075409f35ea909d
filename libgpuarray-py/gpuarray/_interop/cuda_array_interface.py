"""Memory shared with libraries without DLPack: CUDA arrays, PyCUDA, PyOpenCL.

An imported array keeps its owner alive and shares its memory; nothing is copied. Work
is ordered on the device: ours after the owner's queued work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.devices import device_names
from gpuarray._core.opening import context as find_context
from gpuarray._interop import dlpack
from gpuarray._native import check, extension, ffi, lib
from gpuarray.dtypes import as_dtype, kind_of
from gpuarray.errors import BadExchange, BadType, BadValue, OutOfMemory, Unshared

A = TypeVar("A", bound=BaseArray)

_NO_ORDER = -1
_WAIT_WRITE = lib.GPUARRAY_CUDA_WAIT_WRITE
_CODES = {
    "b": lib.kDLBool,
    "i": lib.kDLInt,
    "u": lib.kDLUInt,
    "f": lib.kDLFloat,
    "c": lib.kDLComplex,
}


# ---- export: attributes of an array ----


def _only(array: BaseArray, kind: str, name: str) -> None:
    if array.context.kind != kind:
        raise Unshared(
            f"{name}: the array is on {array.context.name}; only arrays of "
            f"{'CUDA' if kind == 'cuda' else 'OpenCL'} have it"
        )


def _memory(array: BaseArray) -> int:
    """The vendor's handle of the buffer, the first word of the library's struct."""
    return int(ffi.cast("uintptr_t *", array.struct.data)[0])


def gpudata(array: BaseArray) -> int:
    """Return the device address of the array's buffer, ``offset`` before the elements.

    CUDA only, for PyCUDA: ``GPUArray(a.shape, a.dtype, base=a, gpudata=a.gpudata +
    a.offset)``.
    """
    _only(array, "cuda", "gpudata")
    return _memory(array)


def ptr(array: BaseArray) -> int:
    """The device address of the first element; CUDA only."""
    return gpudata(array) + array.offset


def base_data(array: BaseArray) -> int:
    """The ``cl_mem`` of the array's buffer as a number; OpenCL only.

    The first element is at ``offset`` bytes.
    """
    _only(array, "opencl", "base_data")
    return _memory(array)


def data(array: BaseArray) -> int:
    """Return ``base_data`` of an array without an offset."""
    memory = base_data(array)
    if array.offset:
        raise BadValue(
            f"data: the array begins {array.offset} bytes into its buffer; use "
            "base_data and offset"
        )
    return memory


def cl_mem(array: BaseArray) -> Any:
    """The buffer as a ``pyopencl.Buffer``, to be given to kernels of PyOpenCL.

    The first element is at ``offset`` bytes. It must be used on a queue of the same
    cl_context: ``a.as_pyopencl().queue`` is one in order with our work.
    """
    return _pyopencl().Buffer.from_int_ptr(base_data(array), retain=True)


def cuda_interface(array: BaseArray) -> dict[str, Any]:
    """``__cuda_array_interface__``, version 3; CUDA only.

    Its stream is this thread's queue: the consumer's work waits for ours.
    """
    _only(array, "cuda", "__cuda_array_interface__")
    if array.dtype.kind not in _CODES:
        raise Unshared(
            f"__cuda_array_interface__: it has no word for {array.dtype}; use DLPack"
        )
    wait = extension("cuda_wait", "int (*)(gpudata *, int)")
    check(wait(array.struct.data, _WAIT_WRITE), "__cuda_array_interface__")
    return {
        "shape": array.shape,
        "typestr": array.dtype.str,
        "data": (ptr(array) if array.size else 0, not array.flags.writeable),
        "strides": None if array.flags.c_contiguous else array.strides,
        "stream": array.context.stream,
        "version": 3,
    }


def _pyopencl() -> Any:
    """Import PyOpenCL at the first use."""
    import pyopencl

    return pyopencl


def as_pyopencl(array: BaseArray, queue: Any = None) -> Any:
    """The array as a ``pyopencl.array.Array`` on the same memory; OpenCL only.

    Without ``queue``, a ``pyopencl.CommandQueue`` of the same cl_context, it is on this
    thread's queue of the context, so that work on either is in order. Later work on
    another queue waits for ours, and ours waits for it when ``asarray`` takes the
    result. Raises Unshared for an array of another backend::

        theirs = a.as_pyopencl()
        program.twice(theirs.queue, theirs.shape, None, theirs.data)
    """
    _only(array, "opencl", "as_pyopencl")
    cl = _pyopencl()
    import pyopencl.array

    if array.dtype.kind not in _CODES:
        raise BadExchange(f"as_pyopencl: PyOpenCL has no {array.dtype}")
    context = array.context
    if queue is None:
        queue = cl.CommandQueue.from_int_ptr(context.stream, retain=True)
    else:
        _publish(array, queue.int_ptr)
    return pyopencl.array.Array(
        queue,
        array.shape,
        array.dtype,
        data=cl_mem(array),
        offset=array.offset,
        strides=array.strides,
    )


def _publish(array: BaseArray, stream: int) -> None:
    """Make a stream of another library wait for the work queued on the array."""
    tensor = ffi.new("DLManagedTensorVersioned **")
    check(lib.GpuArray_to_dlpack(tensor, array.struct, stream), "as_pyopencl")
    tensor[0].deleter(tensor[0])


def as_pycuda(array: BaseArray) -> Any:
    """The array as a ``pycuda.gpuarray.GPUArray`` on the same memory; CUDA only.

    To be called where the context is current. Raises Unshared for an array of another
    backend::

        with a.context:
            pycuda.cumath.exp(a.as_pycuda())
    """
    _only(array, "cuda", "as_pycuda")
    import pycuda.gpuarray

    if array.dtype.kind not in _CODES:
        raise BadExchange(f"as_pycuda: PyCUDA has no {array.dtype}")
    return pycuda.gpuarray.GPUArray(
        array.shape, array.dtype, base=array, gpudata=ptr(array), strides=array.strides
    )


# ---- import ----


def is_foreign(values: Any) -> bool:
    """True if ``take`` can share an object that is no array of ours."""
    return _taker(values) is not None


def take(cls: type[A], values: Any) -> A:
    """Return an array of ``cls`` on the memory of another library's device array."""
    taker = _taker(values)
    if taker is None:
        raise BadType(f"asarray: {type(values).__name__} is no array of a device")
    array: A = taker(cls, values)
    return array


Taker = Callable[[type[A], Any], A]


def _taker(values: Any) -> Taker[Any] | None:
    kind = type(values)
    if kind.__module__ == "pyopencl.array" and hasattr(values, "base_data"):
        return _take_pyopencl
    if hasattr(kind, "__dlpack_device__"):
        return dlpack.take if _is_on_device(values) else None
    if getattr(values, "__cuda_array_interface__", None) is not None:
        return _take_cuda
    if kind.__module__ == "pycuda.gpuarray" and hasattr(values, "gpudata"):
        return _take_pycuda
    return None


def _is_on_device(values: Any) -> bool:
    return int(values.__dlpack_device__()[0]) in (dlpack.CUDA, dlpack.OPENCL)


def _take_cuda(cls: type[A], values: Any) -> A:
    described = values.__cuda_array_interface__
    if described.get("mask") is not None:
        raise BadExchange("asarray: a CUDA array with a mask cannot be taken")
    address, read_only = described["data"]
    dtype = _elements(described["typestr"], described.get("descr"))
    stream = described.get("stream")
    if stream == 0:
        raise BadExchange(
            "asarray: the CUDA array's stream is 0, which may mean two streams; "
            "expected None, 1 (legacy), 2 (per thread) or a handle"
        )
    return _lend(
        cls,
        values,
        _cuda_context(int(address)),
        int(address),
        0,
        dtype,
        described["shape"],
        described.get("strides"),
        bool(read_only),
        _NO_ORDER if stream is None else int(stream),
    )


def _elements(typestr: str, descr: Any) -> np.dtype[Any]:
    dtype = np.dtype(typestr)
    if dtype.kind == "V" and descr not in (None, [("", typestr)]):
        raise BadExchange(f"asarray: a CUDA array of records {descr} cannot be taken")
    return as_dtype(dtype, "asarray")


def _cuda_context(address: int) -> Context:
    """Return the context of the device that an address belongs to."""
    names, problem = device_names("cuda")
    if not names:
        raise BadExchange(f"asarray: a CUDA array, but there is no device: {problem}")
    if len(names) == 1 or address == 0:
        return find_context(names[0])
    number = ffi.new("int *")
    find = extension("cuda_get_device", "int (*)(unsigned long long, int *)")
    check(find(address, number), "asarray")
    return find_context(f"cuda{number[0]}")


def _take_pycuda(cls: type[A], values: Any) -> A:
    """Wrap a GPUArray that lacks ``__cuda_array_interface__``: default stream."""
    address = int(values.gpudata)
    return _lend(
        cls,
        values,
        _cuda_context(address),
        address,
        0,
        as_dtype(values.dtype, "asarray"),
        values.shape,
        values.strides,
        False,
        1,
    )


def _take_pyopencl(cls: type[A], values: Any) -> A:
    buffer, queue = values.base_data, values.queue
    if values.size == 0:
        lengths, dtype = tuple(values.shape), as_dtype(values.dtype, "asarray")
        return cls.allocate(lengths, dtype, find_context(queue or values.context))
    if not hasattr(buffer, "int_ptr"):
        raise BadExchange(
            f"asarray: the PyOpenCL array lies in {type(buffer).__name__}, expected a "
            "Buffer"
        )
    if values.events:
        for event in values.events:
            event.wait()
    if queue is None:  # its work is in an unknown queue
        queue_pointer = 0
        context = find_context(values.context)
    else:
        queue_pointer = queue.int_ptr
        context = find_context(queue)
    return _lend(
        cls,
        values,
        context,
        buffer.int_ptr,
        values.offset,
        as_dtype(values.dtype, "asarray"),
        values.shape,
        values.strides,
        False,
        queue_pointer,
    )


def _lend(
    cls: type[A],
    owner: Any,
    context: Context,
    memory: int,
    offset: int,
    dtype: np.dtype[Any],
    shape: Iterable[int],
    strides: Iterable[int] | None,
    read_only: bool,
    stream: int,
) -> A:
    """Return the array on memory that ``owner`` holds."""
    lengths = tuple(int(length) for length in shape)
    steps = _steps(lengths, strides, dtype.itemsize)
    tensor = lib.dlpack_lent(ffi.cast("void *", id(owner)), len(lengths))
    if not tensor:
        raise OutOfMemory("asarray: the host has no memory for a tensor")
    inner = tensor.dl_tensor
    inner.data = ffi.cast("void *", memory)
    inner.byte_offset = offset
    kind, number = dlpack.device_of(context)
    inner.device.device_type, inner.device.device_id = kind, number
    code = lib.kDLBfloat if kind_of(dtype) != dtype.kind else _CODES[dtype.kind]
    inner.dtype.code, inner.dtype.bits, inner.dtype.lanes = code, 8 * dtype.itemsize, 1
    for i, (length, step) in enumerate(zip(lengths, steps, strict=True)):
        inner.shape[i], inner.strides[i] = length, step
    tensor.flags = 1 if read_only else 0  # DLPACK_FLAG_BITMASK_READ_ONLY
    return dlpack.adopt(cls, tensor, "dltensor_versioned", context, stream)


def _steps(
    shape: tuple[int, ...], strides: Iterable[int] | None, itemsize: int
) -> list[int]:
    """Return strides in elements."""
    if strides is None:
        steps, step = [], 1
        for length in reversed(shape):
            steps.append(step)
            step *= length
        return steps[::-1]
    listed = [int(stride) for stride in strides]
    if any(stride % itemsize for stride in listed):
        raise BadExchange(
            f"asarray: strides of {listed} bytes are no multiples of the {itemsize} "
            "bytes of an element"
        )
    return [stride // itemsize for stride in listed]
