"""libgpuarray 0.7's methods of arrays, and arrays on buffers given by address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_order, as_shape
from gpuarray._core.base import BaseArray, require
from gpuarray._core.context import Context
from gpuarray._core.geometry import order_code
from gpuarray._core.opening import context as find_context
from gpuarray._native import ARRAY, address, check, extension, ffi, lib, library_text
from gpuarray.dtypes import as_dtype, dtype_to_typecode
from gpuarray.errors import BadIndex, BadValue, ReadOnly

A = TypeVar("A", bound=BaseArray)

_HANDLE_BYTES = 64
"""The size of CUDA's interprocess memory handle."""


# ---- transfers of host values ----


def _check_host(operation: str, array: BaseArray, host: Any) -> None:
    """Raise BadValue unless ``host`` is a NumPy array of equal dtype and size."""
    if not isinstance(host, np.ndarray):
        raise BadValue(
            f"{operation}: got {type(host).__name__}, expected a NumPy array"
        )
    if host.dtype != array.dtype or host.nbytes != array.nbytes:
        raise BadValue(
            f"{operation}: got {host.dtype}{list(host.shape)}, expected {array.size} "
            f"elements of {array.dtype}"
        )
    if not array.flags.forc:
        raise BadValue(
            f"{operation}: the array of shape {array.shape} is not contiguous; use "
            "a.copy(), or a[...] = values"
        )


def write(array: BaseArray, src: npt.NDArray[Any]) -> None:
    """Copy the elements of a NumPy array into the array, which is contiguous.

    Raises BadValue for another dtype or number of elements; the shape may differ.

    >>> a = gpuarray.zeros((2, 2))
    >>> a.write(np.arange(4.0))
    >>> print(a)
    [[0. 1.]
     [2. 3.]]
    """
    _check_host("write", array, src)
    if not array.flags.behaved:
        raise ReadOnly("write: the array must not be written, or is not aligned")
    order: Literal["C", "F"] = "C" if array.flags.c_contiguous else "F"
    lines = src.ravel(order)
    if lines.size:
        check(lib.GpuArray_write(array._struct, address(lines), lines.nbytes), "write")


def read(array: BaseArray, dst: npt.NDArray[Any]) -> None:
    """Copy the elements into a NumPy array; both are contiguous in the same order.

    Raises BadValue for another dtype or number of elements; the shape may differ.

    >>> host = np.empty(3)
    >>> gpuarray.ones(3).read(host)
    >>> host
    array([1., 1., 1.])
    """
    _check_host("read", array, dst)
    own_flags, host_flags = array.flags, dst.flags
    if not host_flags.behaved:
        raise BadValue("read: the NumPy array must not be written, or is not aligned")
    fits_c = own_flags.c_contiguous and host_flags.c_contiguous
    if not fits_c and not (own_flags.f_contiguous and host_flags.f_contiguous):
        raise BadValue(
            "read: the NumPy array is not contiguous in the order of the array; use "
            "dst[...] = a.get()"
        )
    if dst.size:
        flat = dst if host_flags.c_contiguous else dst.T
        pointer = address(flat, writable=True)
        check(lib.GpuArray_read(pointer, dst.nbytes, array._struct), "read")


# ---- others ----


def take1(array: A, idx: BaseArray) -> A:
    """Return ``array[idx]`` for indices in one axis; waits, and raises BadIndex at
    once.

    >>> print(gpuarray.arange(3).take1(gpuarray.asarray([2, -1, 0])))
    [2 2 0]
    """
    if require(idx, "take1").ndim != 1 or idx.dtype.kind not in "iu":
        raise BadValue(
            f"take1: got {idx.dtype}{list(idx.shape)}, expected integers in one axis"
        )
    if array.ndim == 0:
        raise BadIndex("take1: a 0-d array has no axis")
    shape = (idx.size, *array.shape[1:])
    result = array.allocate(shape, array.dtype, array.context, operation="take1")
    index = idx if idx.flags.c_contiguous else idx.copy()
    try:
        status = lib.GpuArray_take1(result._struct, array._struct, index._struct, 1)
        check(status, "take1")
    except BadIndex:
        raise
    except BadValue as error:
        raise BadIndex(str(error)) from None
    return result


def empty_like_me(
    array: A, dtype: npt.DTypeLike | None = None, order: str | None = "C"
) -> A:
    """Return a new uninitialized array of the array's shape and class.

    >>> gpuarray.zeros((2, 3))._empty_like_me("int8").shape
    (2, 3)
    """
    kind = array.dtype if dtype is None else as_dtype(dtype, "_empty_like_me")
    code = order_code(as_order(order), array)
    return array.allocate(array.shape, kind, array.context, code)


# ---- buffers by address ----


def get_ipc_handle(array: BaseArray) -> bytes:
    """Return the interprocess handle of the array's buffer; CUDA only.

    Raises BadValue elsewhere. The other process calls ``gpuarray.open_ipc_handle``.
    """
    _only_cuda(array.context, "get_ipc_handle")
    handle = ffi.new("char[]", _HANDLE_BYTES)
    get = extension("cuda_get_ipc_handle", "int (*)(gpudata *, void *)")
    check(get(array._struct.data, handle), "get_ipc_handle")
    return bytes(ffi.buffer(handle, _HANDLE_BYTES))


def open_ipc_handle(c: Context, hpy: bytes, size: int) -> int:
    """Return the address of another process's buffer, for ``from_gpudata``.

    CUDA only: raises BadValue elsewhere. ``size`` is the buffer's number of bytes.
    """
    place = find_context(c)
    _only_cuda(place, "open_ipc_handle")
    if len(hpy) != _HANDLE_BYTES:
        raise BadValue(
            f"open_ipc_handle: a handle of {len(hpy)} bytes, expected {_HANDLE_BYTES}"
        )
    opening = extension(
        "cuda_open_ipc_handle", "gpudata *(*)(gpucontext *, void *, size_t)"
    )
    buffer = opening(place.pointer, ffi.new("char[]", bytes(hpy)), size)
    if not buffer:
        raise BadValue(f"open_ipc_handle: {library_text()}")
    return BufferAddress.of(buffer)


class BufferAddress(int):
    """The address of a ``gpudata``, which it holds a reference to."""

    owner: Any

    @classmethod
    def of(cls, pointer: Any) -> BufferAddress:
        """Return the address of a buffer, and take over its reference."""
        address = cls(int(ffi.cast("uintptr_t", pointer)))
        address.owner = ffi.gc(pointer, lib.gpudata_release)
        return address


def _only_cuda(context: Context, operation: str) -> None:
    if context.kind != "cuda":
        raise BadValue(
            f"{operation}: only CUDA shares memory between processes; the context is "
            f"{context.name}. Send the elements: a.get()"
        )


def from_gpudata(
    cls: type[A],
    data: int,
    offset: int,
    dtype: npt.DTypeLike,
    shape: int | Sequence[int],
    context: Context | str | None = None,
    strides: Sequence[int] | None = None,
    writable: bool = True,
    base: Any = None,
) -> A:
    """Return the array on a ``gpudata *``, given as an integer."""
    place = find_context(context)
    kind = as_dtype(dtype, "from_gpudata")
    lengths = as_shape(shape, "from_gpudata")
    steps = ffi.NULL if strides is None else list(strides)
    if strides is not None and len(strides) != len(lengths):
        raise BadValue(f"from_gpudata: {len(strides)} strides for shape {lengths}")
    pointer = ffi.cast("gpudata *", data)
    owner = ffi.new("gpucontext **")
    check(lib.gpudata_property(pointer, lib.GA_BUFFER_PROP_CTX, owner), "from_gpudata")
    if owner[0] != place.pointer:
        raise BadValue(f"from_gpudata: the buffer is not of {place.name}")
    struct, code = ffi.new(ARRAY), dtype_to_typecode(kind)
    check(
        lib.GpuArray_fromdata(
            struct, pointer, offset, code, len(lengths), lengths, steps, int(writable)
        ),
        "from_gpudata",
    )
    array = cls.wrap(struct, place, kind, code)
    if base is not None:  # kept alive with the array
        array._kept = base
    return array
