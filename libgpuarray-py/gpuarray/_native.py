"""The C library, and statuses turned into exceptions; no other file touches cffi."""

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
    "straight_class",
    "text",
]

ARRAY = ffi.typeof("GpuArray *")
"""For ``ffi.new``: a zeroed array struct."""


lib.watch_exit()

HINTS: list[Callable[[Exception], str]] = []
"""What higher floors know of an error that the library tells of; empty: nothing."""


def text(pointer: Any) -> str:
    """The Python string of a C string; empty for NULL."""
    return ffi.string(pointer).decode(errors="replace") if pointer else ""


def library_text() -> str:
    """What the library says of the last failure on this thread."""
    return text(lib.gpuarray_error_text())


def check(status: int, operation: str = "") -> None:
    """Raise the exception of a status that is not success.

    ``operation`` is put before the library's text, which names only what C knows,
    unless it begins with it.
    """
    if status == 0:
        return
    said = library_text() or text(lib.gpuarray_error_str(status))
    if operation and not said.startswith(f"{operation}: "):
        said = f"{operation}: {said}"
    error = OF_STATUS.get(status, GpuArrayError)(said)
    for hint in HINTS:
        if more := hint(error):
            error.add_note(more)
    raise error


@cache
def extension(name: str, ctype: str) -> Any:
    """A function that only one vendor has, of gpuarray/extension.h."""
    return ffi.cast(ctype, lib.gpuarray_get_extension(name.encode()))


def encoded(given: str, what: str) -> bytes:
    """A text for a function of C, where a NUL would end it; BadType for no text."""
    if not isinstance(given, str):
        raise BadType(f"{what}: got {type(given).__name__}, expected a text")
    if "\0" in given:
        raise BadValue(
            f"{what}: {given!r} has a NUL character, after which nothing would be read"
        )
    return given.encode()


def address(buffer: Any, *, writable: bool = False) -> Any:
    """A pointer to the memory of a C-contiguous NumPy array, which it keeps alive."""
    return ffi.from_buffer(buffer, require_writable=writable)


# ---- capsules, which cffi does not know ----

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
    """A capsule that owns a tensor of DLPack until a consumer takes it.

    While it is there the tensor's deleter may be called more than once. Python keeps a
    pointer to ``name``: it must be one of the literals of this module's callers, which
    live as long as the process.
    """
    kept = next(known for known in _TENSORS if known == name)
    lending = lib.dlpack_lending(tensor, kept == b"dltensor_versioned")
    if not lending:
        tensor.deleter(tensor)
        raise OutOfMemory("__dlpack__: the host has no memory for a capsule")
    return _python.PyCapsule_New(
        int(ffi.cast("uintptr_t", lending)), kept, _free_tensor
    )


def open_capsule(given: Any) -> tuple[Any, Any]:
    """Take the tensor out of a capsule: the tensor, and what the capsule's name was."""
    if type(given).__name__ != "PyCapsule":
        raise BadType(f"from_dlpack: got {type(given).__name__}, expected a capsule")
    name = _python.PyCapsule_GetName(given)
    if name not in _TENSORS:
        raise BadExchange(
            f"from_dlpack: got a capsule named {name!r}, expected one of DLPack that "
            "nobody has taken yet"
        )
    ctype, used = _TENSORS[name]
    pointer = _python.PyCapsule_GetPointer(given, name)
    _python.PyCapsule_SetName(given, used)
    return ffi.cast(ctype, pointer), name.decode()


# ---- objects that the binding makes itself ----


def _object(address: int) -> Any:
    """The Python object at an address."""
    return ctypes.cast(address, ctypes.py_object).value


@cache
def runner_class(arrays: type, containers: type) -> Any:
    """The class of what runs plans (binding/runner.c), for classes of its arguments."""
    memory_class()  # of which a runner makes some
    given = (arrays, ARRAY, containers, np.ndarray, np.generic)
    made = lib.runner_class(*(ffi.cast("void *", id(each)) for each in given))
    return _object(int(ffi.cast("uintptr_t", made)))


@cache
def memory_class() -> Any:
    """The class of memory that arrays were brought to (binding/memory.c)."""
    return _object(int(ffi.cast("uintptr_t", lib.memory_class())))


@cache
def holder_class() -> Any:
    """The base of objects that own an array's struct (binding/holder.c)."""
    made = lib.holder_class(ffi.cast("void *", id(ARRAY)))
    return _object(int(ffi.cast("uintptr_t", made)))


@cache
def straight_class(runners: type) -> Any:
    """The base of objects whose calls go straight to one of ``runners``."""
    made = lib.straight_class(ffi.cast("void *", id(runners)))
    return _object(int(ffi.cast("uintptr_t", made)))


_EXCHANGE = b"dlpack_exchange_api"
_kept: list[Any] = []  # what the exchange table calls


def exchange_capsule(address_of: Any, from_tensor: Any) -> Any:
    """DLPack's exchange table for arrays that these two functions find and make."""
    _kept[:] = [address_of, from_tensor]
    functions = (ffi.cast("void *", id(function)) for function in _kept)
    table = int(ffi.cast("uintptr_t", lib.dlpack_exchange(*functions)))
    return _python.PyCapsule_New(table, _EXCHANGE, None)


@cache
def prepare() -> None:
    """Tell the library where wheels of the package index lie.

    To be called before a device is looked for. A value of GPUARRAY_WHEEL_PATH that the
    user has set stays.
    """
    folders = [
        entry
        for entry in dict.fromkeys(sys.path)
        if entry.endswith(("site-packages", "dist-packages"))
    ]
    os.environ.setdefault("GPUARRAY_WHEEL_PATH", os.pathsep.join(folders))
