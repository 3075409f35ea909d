"""The memory that a context holds, and its cache of kernels."""

from __future__ import annotations

import operator
import sys
from typing import Any, NamedTuple, SupportsIndex

from gpuarray._core.properties import ContextProperties
from gpuarray._native import check, ffi, lib
from gpuarray.errors import BadType, BadValue


class MemoryInfo(NamedTuple):
    """What a context holds, in bytes; ``n_live`` counts buffers.

    ``live`` are in use, at most ``peak`` were; ``cached`` are kept for reuse, and
    ``limit`` bounds both together (0: no limit).

    >>> context = gpuarray.context("null")
    >>> before = context.memory_info().live
    >>> a = gpuarray.zeros(1000, "float32", context)
    >>> context.memory_info().live - before >= a.nbytes
    True
    """

    live: int
    cached: int
    peak: int
    limit: int
    n_live: int


class HostMemoryInfo(NamedTuple):
    """The memory that a context has for results on the host, in bytes.

    ``live`` are NumPy arrays that results were brought to, ``cached`` are kept for the
    next ones, and ``limit`` bounds both together (0: none is kept).

    >>> context = gpuarray.context("null")
    >>> a = gpuarray.zeros(10_000, "float64", context)
    >>> before = context.host_memory_info().live
    >>> values = a.get()
    >>> context.host_memory_info().live - before >= values.nbytes
    True
    """

    live: int
    cached: int
    limit: int


class CacheInfo(NamedTuple):
    """What a context's kernel cache did: how many kernels came from where.

    Kernels found in memory (``memory_hits``) or on disk (``disk_hits``), ``compiled``,
    ``damaged`` on disk and made anew, and ``unwritable``: not kept on disk.

    >>> gpuarray.context("null").cache_info()
    CacheInfo(memory_hits=..., disk_hits=..., compiled=..., damaged=0, unwritable=0)
    """

    memory_hits: int
    disk_hits: int
    compiled: int
    damaged: int
    unwritable: int


class ContextMemory(ContextProperties):
    """A context that says what it holds, and is told how much that may be."""

    __slots__ = ()

    def memory_info(self) -> MemoryInfo:
        """How much memory the context holds.

        As a ``MemoryInfo``; asks nothing of the device.

        >>> gpuarray.get_default_context().memory_info().limit
        0
        """
        info = ffi.new("gpucontext_memory *")
        check(lib.gpucontext_memory_info(self.pointer, info))
        return MemoryInfo(info.live, info.cached, info.peak, info.limit, info.n_live)

    def cache_info(self) -> CacheInfo:
        """Where the kernels used so far came from.

        >>> gpuarray.context("null").cache_info().damaged
        0
        """
        info = ffi.new("gpucontext_cache *")
        check(lib.gpucontext_cache_info(self.pointer, info))
        return CacheInfo(
            info.memory_hits,
            info.disk_hits,
            info.compiled,
            info.damaged,
            info.unwritable,
        )

    def trim(self) -> None:
        """Give the memory that is kept for reuse back to the device.

        >>> context = gpuarray.context("null")
        >>> context.trim()
        >>> context.memory_info().cached
        0
        """
        check(lib.gpucontext_trim(self.pointer))

    @property
    def limit(self) -> int:
        """The most bytes that the context may hold; 0: no limit."""
        return self.memory_info().limit

    @limit.setter
    def limit(self, size: int) -> None:
        check(lib.gpucontext_set_limit(self.pointer, _bytes(size, "limit")))

    def host_memory_info(self) -> HostMemoryInfo:
        """How much memory the context has for results on the host.

        What a function returns on a processor may be the device's own memory, which is
        not counted here. ``trim`` gives what is kept back to the system.

        >>> gpuarray.context("null").host_memory_info()
        HostMemoryInfo(live=..., cached=..., limit=...)
        """
        sizes = ffi.new("size_t[3]")
        check(lib.gpucontext_host_memory(self.pointer, sizes, sizes + 1, sizes + 2))
        return HostMemoryInfo(*sizes)

    @property
    def host_limit(self) -> int:
        """The most bytes that results on the host have of the context; 0: none.

        Beyond it they are ordinary NumPy arrays. At first the environment variable
        GPUARRAY_HOST_SIZE, or an eighth of the machine's memory.

        >>> context = gpuarray.context("null")
        >>> before, context.host_limit = context.host_limit, 2**20
        >>> context.host_limit
        1048576
        >>> context.host_limit = before
        """
        return self.host_memory_info().limit

    @host_limit.setter
    def host_limit(self, size: int) -> None:
        size = _bytes(size, "host_limit")
        check(lib.gpucontext_set_host_limit(self.pointer, size))


def _bytes(size: Any, what: str) -> int:
    """A limit in bytes."""
    if not isinstance(size, SupportsIndex):
        raise BadType(f"{what}: got {size!r}, expected a whole number of bytes")
    number = operator.index(size)
    if not 0 <= number <= sys.maxsize:
        raise BadValue(
            f"{what}: {number} bytes; expected 0 (none) or more, at most {sys.maxsize}"
        )
    return number
