"""The C library, and statuses turned into exceptions; no other file touches cffi."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any

from gpuarray._gpuarray import ffi, lib
from gpuarray.errors import OF_STATUS, GpuArrayError

__all__ = [
    "ARRAY",
    "address",
    "check",
    "ffi",
    "lib",
    "library_text",
    "prepare",
    "text",
]

ARRAY = ffi.typeof("GpuArray *")
"""For ``ffi.new``: a zeroed array struct."""


def text(pointer: Any) -> str:
    """The Python string of a C string; empty for NULL."""
    return ffi.string(pointer).decode(errors="replace") if pointer else ""


def library_text() -> str:
    """What the library says of the last failure on this thread."""
    return text(lib.gpuarray_error_text())


def check(status: int, operation: str = "") -> None:
    """Raise the exception of a status that is not success.

    ``operation`` is put before the library's text, which names only what C knows.
    """
    if status == 0:
        return
    said = library_text() or text(lib.gpuarray_error_str(status))
    raise OF_STATUS.get(status, GpuArrayError)(
        f"{operation}: {said}" if operation else said
    )


def address(buffer: Any, *, writable: bool = False) -> Any:
    """A pointer to the memory of a C-contiguous NumPy array, which it keeps alive."""
    return ffi.from_buffer(buffer, require_writable=writable)


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
