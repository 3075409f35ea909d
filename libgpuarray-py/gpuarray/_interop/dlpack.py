"""DLPack: arrays shared with other libraries of the process, without a copy."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from gpuarray._core.arguments import as_flag, as_integer, as_list
from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._native import capsule, check, exchange_capsule, ffi, lib, open_capsule
from gpuarray.dtypes import of_typecode
from gpuarray.errors import BadExchange, BadType, BadValue, NeedsCopy, Unsupported

A = TypeVar("A", bound=BaseArray)
Device = tuple[int, int]

CPU, CUDA, OPENCL = 1, 2, 4
"""DLPack's numbers of kinds of device."""
_HOST = (CPU, 0)
_NO_ORDER = -1
_LEGACY_STREAM = 1
_VERSION = (1, 3)
_IS_COPIED = 2


def device_of(context: Context) -> Device:
    """Return a context's device as DLPack's kind and number."""
    out = ffi.new("DLDevice *")
    check(lib.gpucontext_dlpack_device(context.pointer, out), "dlpack")
    return int(out.device_type), int(out.device_id)


def context_of(device: Device) -> Context:
    """Return the context of a device of DLPack's."""
    kind, number = device
    if kind == CUDA:
        return find_context(f"cuda{number}")
    if kind == OPENCL:
        return find_context(f"opencl{number >> 16}:{number & 0xFFFF}")
    if kind == CPU:
        return find_context("null")
    raise BadExchange(
        f"from_dlpack: got DLPack's device {device}, expected CUDA ({CUDA}, id), "
        f"OpenCL ({OPENCL}, id) or the host ({CPU}, 0); move the array there first"
    )


# ---- export ----


def export_device(array: BaseArray) -> Device:
    """Return the device of the array: its kind in DLPack's numbers, and its number.

    It is the host, (1, 0), if a processor's runtime shares the array's memory with the
    host, so that every library can take it.
    """
    out = ffi.new("DLDevice *")
    check(lib.GpuArray_dlpack_device(out, array.struct), "dlpack")
    return int(out.device_type), int(out.device_id)


def export(
    array: BaseArray,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: Device | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a capsule of the array's memory, for ``from_dlpack`` of another library.

    ``stream`` is the consumer's: its later work waits, on the device, for work queued
    on the array. On CUDA None is the legacy default stream and -1 asks for no order. An
    array of a processor's runtime is exported as host memory, after its work is done;
    ``dl_device`` with the context's own device exports it as a ``cl_mem``.
    ``dl_device=(1, 0)`` exports host memory: the array's own if the host shares it,
    else a copy, which ``copy=False`` forbids. Negative strides crash some consumers
    (PyTorch): unless ``copy=False`` asks for them, such an array is copied. Raises
    BadExchange, which is a BufferError, for an array that cannot be exported.
    """
    own, here = device_of(array.context), export_device(array)
    there = here if dl_device is None else _pair(dl_device, "dl_device")
    if copy is not None:
        copy = as_flag(copy, "copy", "__dlpack__")
    if there not in (own, here, _HOST):
        raise BadExchange(
            f"__dlpack__: the array is on {array.context.name}, {own} for DLPack, and "
            f"is not copied to {there}; use transfer, or {_HOST} for the host"
        )
    moved = there not in (own, here)
    if moved and copy is False:
        raise BadExchange(
            f"__dlpack__: the array is on {array.context.name}, so its elements must "
            "be copied to the host, and copy=False forbids it"
        )
    order = None if moved else _consumer_stream(there, stream)
    copied = copy or (copy is None and _falls(array))
    if moved:
        array = array.transfer("null")
    elif copied:
        array = _copy(array)
    versioned = max_version is not None and _pair(max_version, "max_version")[0] >= 1
    try:
        tensor, name = _lent(array, order, versioned)
    except (BadValue, Unsupported) as error:
        raise BadExchange(str(error)) from error
    if (copied or moved) and versioned:
        tensor.flags |= _IS_COPIED
    return capsule(tensor, name)


def _pair(values: Any, name: str) -> tuple[int, int]:
    """Return an argument that is a pair of integers. Raises BadType for others."""
    listed = as_list(values, name, "__dlpack__")
    if len(listed) != 2:
        raise BadType(
            f"__dlpack__: {name} is {values!r:.60}, expected a pair of integers"
        )
    first, second = (as_integer(value, name, "__dlpack__") for value in listed)
    return first, second


def _falls(array: BaseArray) -> bool:
    """True if a stride is negative."""
    pairs = zip(array.shape, array.strides, strict=True)
    return any(stride < 0 and length > 1 for length, stride in pairs)


def _copy(array: A) -> A:
    """Return a copy on the array's context; the host copies for the null device."""
    if array.context.kind != "null":
        return array.copy("K")
    struct, copied, host = array.struct, ffi.new("GpuArray *"), ffi.new("void **")
    check(lib.gpudata_property(struct.data, lib.GA_BUFFER_PROP_HOST, host), "copy")
    status = lib.GpuArray_copy_from_host(
        copied,
        array.context.pointer,
        ffi.cast("char *", host[0]) + struct.offset,
        struct.typecode,
        struct.nd,
        struct.dimensions,
        struct.strides,
    )
    check(status, "copy")
    return type(array).wrap(copied, array.context, array.dtype, struct.typecode)


def _consumer_stream(device: Device, stream: int | None) -> int | None:
    """Return the consumer's stream for the library; None on the host."""
    if device == _HOST:
        if stream not in (None, _NO_ORDER):
            raise BadValue(f"__dlpack__: memory of the host has no stream {stream}")
        return None
    if stream is None:
        return _LEGACY_STREAM if device[0] == CUDA else 0
    stream = as_integer(stream, "stream", "__dlpack__")
    if device[0] == CUDA and (stream == 0 or stream < _NO_ORDER):
        raise BadValue(
            f"__dlpack__: stream {stream} is not a CUDA stream; expected a stream's "
            "handle, 1 (the legacy default stream), 2 (the thread's default stream) or "
            "-1 (no order); 0 would mean either of the defaults"
        )
    return stream


def _lent(array: BaseArray, stream: int | None, versioned: bool) -> tuple[Any, bytes]:
    """Return a tensor of the array's memory, and the name of its capsule.

    ``stream`` None: a tensor of the host.
    """
    out: Any
    name: bytes
    if versioned:
        out, name = ffi.new("DLManagedTensorVersioned **"), b"dltensor_versioned"
        on_device, on_host = lib.GpuArray_to_dlpack, lib.GpuArray_to_dlpack_host
    else:
        out, name = ffi.new("DLManagedTensor **"), b"dltensor"
        on_device = lib.GpuArray_to_dlpack_unversioned
        on_host = lib.GpuArray_to_dlpack_host_unversioned
    struct = array.struct
    status = on_host(out, struct) if stream is None else on_device(out, struct, stream)
    check(status, "__dlpack__")
    return out[0], name


# ---- import ----


def take(
    cls: type[A],
    other: Any,
    context: Context | str | None = None,
    copy: bool | None = None,
) -> A:
    """Return an array of ``cls`` on the memory of ``other``, which has ``__dlpack__``.

    It is on the context of its device; on another one, or from the host, it is a copy.
    """
    device = _producer_device(other)
    if copy is not None:
        copy = as_flag(copy, "copy", "from_dlpack")
    target = None if context is None else find_context(context)
    if target is None and device[0] == CPU:
        target = find_context(None)
    source = other.context if isinstance(other, BaseArray) else context_of(device)
    if target is None or target is source or device_of(target) == device:
        array = _import(cls, other, target or source, device)
        return _copy(array) if copy else array
    if copy is False:
        raise NeedsCopy(
            f"from_dlpack: an array on DLPack's device {device} needs a copy to be on "
            f"{target.name}, and copy=False forbids it"
        )
    return _import(cls, other, source, device).transfer(target)


def _producer_device(other: Any) -> Device:
    """Return the device of an array; for ours its context's own, shared or not."""
    if isinstance(other, BaseArray):
        return device_of(other.context)
    try:
        kind, number = other.__dlpack_device__()
    except AttributeError:
        raise BadType(
            f"from_dlpack: {type(other).__name__} has no __dlpack_device__; expected "
            "an array of a library that speaks DLPack"
        ) from None
    return int(kind), int(number)


def _import(cls: type[A], other: Any, context: Context, device: Device) -> A:
    keywords: dict[str, Any] = {}
    if context.kind == "cuda":
        keywords["stream"] = context.stream
    if isinstance(other, BaseArray):
        keywords.update(dl_device=device, copy=False)
    return adopt(cls, *open_capsule(_request(other, keywords)), context)


def _request(other: Any, keywords: dict[str, Any]) -> Any:
    try:
        return other.__dlpack__(max_version=_VERSION, **keywords)
    except TypeError:  # before DLPack 1.0
        return other.__dlpack__(**keywords)


def adopt(
    cls: type[A],
    tensor: Any,
    kind: Literal["dltensor", "dltensor_versioned"],
    context: Context,
    stream: int = _NO_ORDER,
) -> A:
    """Return the array that takes over a capsule's tensor; on failure delete it.

    Work that ``stream`` has queued so far is done before the context's later work.
    """
    struct = ffi.new("GpuArray *")
    old = kind == "dltensor"
    take_over = (
        lib.GpuArray_from_dlpack_unversioned if old else lib.GpuArray_from_dlpack
    )
    try:
        pointer = context.pointer
        status = take_over(struct, pointer, tensor, stream)
    except BaseException:
        _let_go(tensor)
        raise
    if status:
        try:
            check(status, "from_dlpack")
        except (BadValue, Unsupported) as error:
            raise BadExchange(str(error)) from error
        finally:
            _let_go(tensor)
    try:
        dtype = of_typecode(struct.typecode)
    except BaseException:
        lib.GpuArray_clear(struct)  # calls the deleter
        raise
    return cls.wrap(struct, context, dtype, struct.typecode)


def _let_go(tensor: Any) -> None:
    """Call the deleter of a tensor."""
    if tensor.deleter:
        tensor.deleter(tensor)


# ---- the exchange table ----


def tensor_address(array: BaseArray) -> int:
    """Return the address of the array's struct, for DLPack's exchange table."""
    return int(ffi.cast("uintptr_t", array.struct))


def install(cls: type[BaseArray]) -> None:
    """Give the class DLPack's exchange table, by which C code exchanges its arrays."""

    def from_tensor(address: int) -> BaseArray:
        tensor = ffi.cast("DLManagedTensorVersioned *", address)
        readable = tensor.version.major == _VERSION[0]
        device = tensor.dl_tensor.device
        where = (int(device.device_type), int(device.device_id)) if readable else (1, 0)
        try:
            context = context_of(where)
        except BaseException:
            _let_go(tensor)
            raise
        return adopt(cls, tensor, "dltensor_versioned", context)

    cls.__dlpack_c_exchange_api__ = exchange_capsule(  # type: ignore[attr-defined]
        tensor_address, from_tensor
    )
