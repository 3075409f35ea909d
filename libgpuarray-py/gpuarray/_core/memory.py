"""Memory and kernel caches of a context."""

from __future__ import annotations

import operator
import sys
from typing import Any, NamedTuple, SupportsIndex

from gpuarray._core.properties import ContextProperties
from gpuarray._native import check, ffi, lib
from gpuarray.errors import BadType, BadValue


class MemoryInfo(NamedTuple):
    """The memory of a context, in bytes; ``n_live`` counts buffers.

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

    ``live`` are results in NumPy arrays, ``cached`` is kept for the next ones, and
    ``limit`` bounds both together (0: none is kept).

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
    """The statistics of a context's kernel cache.

    Numbers of kernels found in memory (``memory_hits``) or on disk (``disk_hits``),
    ``compiled``, ``damaged`` on disk and recompiled, and ``unwritable`` to disk.

    >>> gpuarray.context("null").cache_info()
    CacheInfo(memory_hits=..., disk_hits=..., compiled=..., damaged=0, unwritable=0)
    """

    memory_hits: int
    disk_hits: int
    compiled: int
    damaged: int
    unwritable: int


class ContextMemory(ContextProperties):
    """A context's memory statistics and limits."""

    __slots__ = ()

    def memory_info(self) -> MemoryInfo:
        """Return the context's memory statistics.

        As a ``MemoryInfo``; asks nothing of the device.

        >>> gpuarray.get_default_context().memory_info().limit
        0
        """
        info = ffi.new("gpucontext_memory *")
        check(lib.gpucontext_memory_info(self.pointer, info))
        return MemoryInfo(info.live, info.cached, info.peak, info.limit, info.n_live)

    def cache_info(self) -> CacheInfo:
        """Return the statistics of the kernel cache.

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
        """Return cached memory to the device.

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
        """Return the statistics of the context's memory for results on the host.

        A function's result on a processor may be the device's own memory, which is not
        counted here. ``trim`` returns cached memory to the system.

        >>> gpuarray.context("null").host_memory_info()
        HostMemoryInfo(live=..., cached=..., limit=...)
        """
        sizes = ffi.new("size_t[3]")
        check(lib.gpucontext_host_memory(self.pointer, sizes, sizes + 1, sizes + 2))
        return HostMemoryInfo(*sizes)

    @property
    def host_limit(self) -> int:
        """The limit in bytes of the context's memory for results on the host; 0: none.

        Beyond it they are ordinary NumPy arrays. By default it is the environment
        variable GPUARRAY_HOST_SIZE, or an eighth of the machine's memory.

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
    """Return a limit in bytes."""
    if not isinstance(size, SupportsIndex):
        raise BadType(f"{what}: got {size!r}, expected a whole number of bytes")
    number = operator.index(size)
    if not 0 <= number <= sys.maxsize:
        raise BadValue(
            f"{what}: {number} bytes; expected 0 (none) or more, at most {sys.maxsize}"
        )
    return number
