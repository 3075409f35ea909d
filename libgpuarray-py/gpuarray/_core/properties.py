"""Properties of a device and its driver."""

from __future__ import annotations

from typing import Any

from gpuarray._native import check, ffi, lib, text
from gpuarray.errors import ContextClosed


class Kind(str):
    """A backend's name; equal to its bytes, too, which libgpuarray 0.7 gives.

    >>> gpuarray.context("null").kind == b"null"
    True
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        plain = other.decode(errors="replace") if isinstance(other, bytes) else other
        return str(self) == plain

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class ContextProperties:
    """A context of the library, by its pointer, and the properties of its device."""

    __slots__ = ("_pointer", "name")

    _pointer: Any
    name: str

    @property
    def pointer(self) -> Any:
        """The library's context; ContextClosed after ``close``."""
        if self._pointer is None:
            raise ContextClosed(
                f"context {self.name!r} is closed; gpuarray.context({self.name!r}) "
                "opens the device anew"
            )
        return self._pointer

    @property
    def closed(self) -> bool:
        """True if the context was closed."""
        return self._pointer is None

    def _property(self, number: int, ctype: str) -> Any:
        value = ffi.new(ctype)
        check(lib.gpucontext_property(self.pointer, number, value))
        return value

    @property
    def device_name(self) -> str:
        """The name that the vendor gives the device."""
        return text(self._property(lib.GA_CTX_PROP_DEVNAME, "char[256]"))

    devname = device_name  # libgpuarray's name

    @property
    def kind(self) -> str:
        """The backend: ``cuda``, ``opencl`` or ``null``; equal to these bytes, too."""
        return Kind(self.name.rstrip("0123456789:"))

    @property
    def total_memory(self) -> int:
        """Bytes of the device's memory."""
        return int(self._property(lib.GA_CTX_PROP_TOTAL_GMEM, "size_t *")[0])

    @property
    def free_memory(self) -> int:
        """Bytes of the device's memory that the driver calls free."""
        return int(self._property(lib.GA_CTX_PROP_FREE_GMEM, "size_t *")[0])

    @property
    def processors(self) -> int:
        """Multiprocessors or compute units."""
        return int(self._property(lib.GA_CTX_PROP_NUMPROCS, "unsigned int *")[0])

    @property
    def local_memory(self) -> int:
        """Bytes of memory that the threads of a block share."""
        return int(self._property(lib.GA_CTX_PROP_LMEMSIZE, "size_t *")[0])

    @property
    def max_threads(self) -> int:
        """The most threads of a block along its first axis."""
        return int(self._property(lib.GA_CTX_PROP_MAXLSIZE0, "size_t *")[0])

    # libgpuarray's names

    @property
    def ptr(self) -> int:
        """The address of the library's context."""
        return int(ffi.cast("uintptr_t", self.pointer))

    @property
    def unique_id(self) -> str:
        """The device's address on the bus; Unsupported if the driver has none."""
        return text(self._property(lib.GA_CTX_PROP_UNIQUE_ID, "char[16]"))

    @property
    def bin_id(self) -> bytes:
        """The key of compiled code: the architecture and the compiler."""
        value = self._property(lib.GA_CTX_PROP_BIN_ID, "char **")
        return text(value[0]).encode()

    @property
    def largest_memblock(self) -> int:
        """Bytes of the largest buffer."""
        return self._size(lib.GA_CTX_PROP_LARGEST_MEMBLOCK)

    @property
    def maxlsize0(self) -> int:
        """The most threads of a block along its first axis."""
        return self._size(lib.GA_CTX_PROP_MAXLSIZE0)

    @property
    def maxlsize1(self) -> int:
        """The most threads of a block along its second axis."""
        return self._size(lib.GA_CTX_PROP_MAXLSIZE1)

    @property
    def maxlsize2(self) -> int:
        """The most threads of a block along its third axis."""
        return self._size(lib.GA_CTX_PROP_MAXLSIZE2)

    @property
    def maxgsize0(self) -> int:
        """The most blocks along the first axis."""
        return self._size(lib.GA_CTX_PROP_MAXGSIZE0)

    @property
    def maxgsize1(self) -> int:
        """The most blocks along the second axis."""
        return self._size(lib.GA_CTX_PROP_MAXGSIZE1)

    @property
    def maxgsize2(self) -> int:
        """The most blocks along the third axis."""
        return self._size(lib.GA_CTX_PROP_MAXGSIZE2)

    def _size(self, number: int) -> int:
        return int(self._property(number, "size_t *")[0])

    lmemsize = local_memory
    numprocs = processors
    total_gmem = total_memory
    free_gmem = free_memory

    @property
    def has_double(self) -> bool:
        """True if the device computes in float64."""
        return bool(self._property(lib.GA_CTX_PROP_HAS_DOUBLE, "int *")[0])

    @property
    def is_cpu(self) -> bool:
        """True if the device is the host's processor."""
        return bool(self._property(lib.GA_CTX_PROP_IS_CPU, "int *")[0])
