"""The C library, and its statuses as exceptions; no other file uses cffi."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gpuarray._gpuarray import ffi, lib
from gpuarray.errors import (
    OF_STATUS,
    BadExchange,
    BadType,
    BadValue,
    GpuArrayError,
    OutOfMemory,
)

__all__ = [
    "ARRAY",
    "HINTS",
    "address",
    "capsule",
    "check",
    "exchange_capsule",
    "extension",
    "ffi",
    "holder_class",
    "lib",
    "library_text",
    "memory_class",
    "open_capsule",
    "prepare",
    "runner_class",
    "sized",
    "straight_class",
    "text",
]

ARRAY = ffi.typeof("GpuArray *")
"""For ``ffi.new``: a zeroed array struct."""


lib.watch_exit()

HINTS: list[Callable[[Exception], str]] = []
"""Hints that higher layers add to the library's errors; an empty one adds nothing."""


def text(pointer: Any) -> str:
    """Return the Python string of a C string; empty for NULL."""
    return ffi.string(pointer).decode(errors="replace") if pointer else ""


def library_text() -> str:
    """Return the library's message of the last failure on this thread."""
    return text(lib.gpuarray_error_text())


def check(status: int, operation: str = "") -> None:
    """Raise the exception of a status that is not success.

    ``operation`` is put before the library's text, which names only what C knows,
    unless it begins with it.
    """
    if status == 0:
        return
    message = library_text() or text(lib.gpuarray_error_str(status))
    if operation and not message.startswith(f"{operation}: "):
        message = f"{operation}: {message}"
    error = OF_STATUS.get(status, GpuArrayError)(message)
    for hint in HINTS:
        if more := hint(error):
            error.add_note(more)
    raise error


def sized(name: str) -> Any:
    """Return a new struct of zeros whose ``size`` tells the library its version."""
    struct = ffi.new(f"{name} *")
    struct.size = ffi.sizeof(name)
    return struct


@cache
def extension(name: str, ctype: str) -> Any:
    """Return a function that only one vendor has, of gpuarray/extension.h."""
    return ffi.cast(ctype, lib.gpuarray_get_extension(name.encode()))


def encoded(string: str, what: str) -> bytes:
    """Return a C function's string; raise BadType unless it is one without NULs."""
    if not isinstance(string, str):
        raise BadType(f"{what}: got {type(string).__name__}, expected a text")
    if "\0" in string:
        raise BadValue(
            f"{what}: {string!r} has a NUL character, after which nothing would be read"
        )
    return string.encode()


def address(buffer: Any, *, writable: bool = False) -> Any:
    """A pointer to the memory of a C-contiguous NumPy array, kept alive by it."""
    return ffi.from_buffer(buffer, require_writable=writable)


# ---- capsules, which cffi lacks ----

_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_python.PyCapsule_GetName.restype = ctypes.c_char_p
_python.PyCapsule_GetName.argtypes = (ctypes.py_object,)
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_python.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)

_TENSORS = {
    b"dltensor": ("DLManagedTensor *", b"used_dltensor"),
    b"dltensor_versioned": ("DLManagedTensorVersioned *", b"used_dltensor_versioned"),
}
_free_tensor = int(ffi.cast("uintptr_t", ffi.addressof(lib, "dlpack_capsule_free")))


def capsule(tensor: Any, name: bytes) -> Any:
    """Return a capsule that owns a tensor of DLPack until a consumer takes it.

    While it is there the tensor's deleter may be called more than once. Python keeps a
    pointer to ``name``: it must be one of the literals of this module's callers, which
    live as long as the process.
    """
    static_name = next(tensor_name for tensor_name in _TENSORS if tensor_name == name)
    lending = lib.dlpack_lending(tensor, static_name == b"dltensor_versioned")
    if not lending:
        tensor.deleter(tensor)
        raise OutOfMemory("__dlpack__: the host has no memory for a capsule")
    return _python.PyCapsule_New(
        int(ffi.cast("uintptr_t", lending)), static_name, _free_tensor
    )


def open_capsule(source: Any) -> tuple[Any, Any]:
    """Take the tensor out of a capsule; return it and the capsule's former name."""
    if type(source).__name__ != "PyCapsule":
        raise BadType(f"from_dlpack: got {type(source).__name__}, expected a capsule")
    name = _python.PyCapsule_GetName(source)
    if name not in _TENSORS:
        raise BadExchange(
            f"from_dlpack: got a capsule named {name!r}, expected one of DLPack that "
            "nobody has taken yet"
        )
    ctype, used = _TENSORS[name]
    pointer = _python.PyCapsule_GetPointer(source, name)
    _python.PyCapsule_SetName(source, used)
    return ffi.cast(ctype, pointer), name.decode()


# ---- the binding's own classes ----


def _object(address: int) -> Any:
    """Return the Python object at an address."""
    return ctypes.cast(address, ctypes.py_object).value


@cache
def runner_class(arrays: type, containers: type) -> Any:
    """The class that runs plans (binding/runner.c), for its arguments' classes."""
    memory_class()  # which a runner instantiates
    classes = (arrays, ARRAY, containers, np.ndarray, np.generic)
    pointer = lib.runner_class(*(ffi.cast("void *", id(cls)) for cls in classes))
    return _object(int(ffi.cast("uintptr_t", pointer)))


@cache
def memory_class() -> Any:
    """Return the class of memory that arrays were transferred to (binding/memory.c)."""
    return _object(int(ffi.cast("uintptr_t", lib.memory_class())))


@cache
def holder_class() -> Any:
    """Return the base of objects that own an array's struct (binding/holder.c)."""
    pointer = lib.holder_class(ffi.cast("void *", id(ARRAY)))
    return _object(int(ffi.cast("uintptr_t", pointer)))


@cache
def straight_class(runners: type) -> Any:
    """Return the base of objects whose calls go straight to one of ``runners``."""
    pointer = lib.straight_class(ffi.cast("void *", id(runners)))
    return _object(int(ffi.cast("uintptr_t", pointer)))


_EXCHANGE = b"dlpack_exchange_api"
_kept: list[Any] = []  # the callbacks of the exchange table


def exchange_capsule(address_of: Any, from_tensor: Any) -> Any:
    """Return DLPack's exchange table for arrays, with these two callbacks."""
    _kept[:] = [address_of, from_tensor]
    functions = (ffi.cast("void *", id(function)) for function in _kept)
    table = int(ffi.cast("uintptr_t", lib.dlpack_exchange(*functions)))
    return _python.PyCapsule_New(table, _EXCHANGE, None)


@cache
def prepare() -> None:
    """Tell the library the folders of the package index's wheels.

    To be called before a device is looked for. It keeps a GPUARRAY_WHEEL_PATH that the
    user has set.
    """
    folders = [
        entry
        for entry in dict.fromkeys(sys.path)
        if entry.endswith(("site-packages", "dist-packages"))
    ]
    os.environ.setdefault("GPUARRAY_WHEEL_PATH", os.pathsep.join(folders))
