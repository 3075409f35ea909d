"""Contexts: open devices, the default one, and what they say of themselves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from gpuarray._native import check, ffi, lib, prepare, text
from gpuarray.config import settings
from gpuarray.errors import BadType, BadValue, ContextClosed


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """What a context holds, in bytes; ``n_live`` counts buffers."""

    live: int
    cached: int
    peak: int
    limit: int
    n_live: int


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a context's kernel cache did: how many kernels came from where."""

    memory_hits: int
    disk_hits: int
    compiled: int
    damaged: int
    unwritable: int


class Context:
    """An open device. ``gpuarray.context(name)`` gives it; asked twice, the same one.

    It has state because a device has: its memory, its queue, its compiled kernels.
    """

    __slots__ = ("__weakref__", "_pointer", "kernels", "name")

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer
        self.name: str = text(lib.gpucontext_name(pointer))
        # Kernels of operations by what they were made for; emptied when closed.
        self.kernels: dict[Any, Any] = {}

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
        """Whether the context was closed."""
        return self._pointer is None

    def close(self) -> None:
        """Give the context up. Its arrays can still be read, but not computed with."""
        with _lock:
            pointer, self._pointer = self._pointer, None
            for name in [name for name, opened in _opened.items() if opened is self]:
                del _opened[name]
            self.kernels.clear()
            if _process_default.get("context") is self:
                del _process_default["context"]
        if pointer is not None:
            lib.gpucontext_deref(pointer)

    def sync(self) -> None:
        """Wait until all work queued so far is done; raise what failed meanwhile."""
        check(lib.gpucontext_sync(self.pointer), f"sync of {self.name}")

    def memory_info(self) -> MemoryInfo:
        """How much memory the context holds."""
        info = ffi.new("gpucontext_memory *")
        check(lib.gpucontext_memory_info(self.pointer, info))
        return MemoryInfo(info.live, info.cached, info.peak, info.limit, info.n_live)

    def cache_info(self) -> CacheInfo:
        """Where the kernels used so far came from."""
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
        """Give the memory that is kept for reuse back to the device."""
        check(lib.gpucontext_trim(self.pointer))

    @property
    def limit(self) -> int:
        """The most bytes that the context may hold; 0: no limit."""
        return self.memory_info().limit

    @limit.setter
    def limit(self, size: int) -> None:
        if size < 0:
            raise BadValue(f"limit: {size} bytes; expected 0 (none) or more")
        check(lib.gpucontext_set_limit(self.pointer, size))

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
        """The backend: ``cuda``, ``opencl`` or ``null``."""
        return self.name.rstrip("0123456789:")

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
        """Threads of a block along its first axis at most."""
        return int(self._property(lib.GA_CTX_PROP_MAXLSIZE0, "size_t *")[0])

    @property
    def has_double(self) -> bool:
        """Whether the device computes in float64."""
        return bool(self._property(lib.GA_CTX_PROP_HAS_DOUBLE, "int *")[0])

    @property
    def is_cpu(self) -> bool:
        """Whether the device is the host's processor."""
        return bool(self._property(lib.GA_CTX_PROP_IS_CPU, "int *")[0])

    @contextmanager
    def as_default(self) -> Iterator[Context]:
        """Make this the default of this thread or task within a ``with`` block."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)

    def __repr__(self) -> str:
        if self.closed:
            return f"<closed context {self.name!r}>"
        return f"<context {self.name!r}: {self.device_name}>"

    def __reduce__(self) -> Any:
        raise BadType("a context cannot be pickled; pickle its name")


_lock = threading.Lock()
_opened: dict[str, Context] = {}
_process_default: dict[str, Context] = {}
_current: ContextVar[Context | None] = ContextVar("gpuarray_context", default=None)


def context(name: str | Context | None = None) -> Context:
    """The open context of a device, which is opened if it is not.

    ``name`` is ``"cuda0"``, ``"cuda"`` (the first), ``"opencl0:1"`` (platform and
    device), ``"opencl"`` or ``"null"`` (host memory; runs no kernel); None: the default
    context. A context stands for itself.
    """
    if isinstance(name, Context):
        return name
    if name is None:
        return get_default_context()
    if not isinstance(name, str):
        raise BadType(
            f"context: got {type(name).__name__}, expected a name such as 'cuda0'"
        )
    return _open(name)


def _open(name: str) -> Context:
    with _lock:
        found = _opened.get(name)
        if found is not None:
            return found
        prepare()
        result = ffi.new("gpucontext **")
        check(lib.gpucontext_open(result, name.encode()))
        canonical = text(lib.gpucontext_name(result[0]))
        found = _opened.get(canonical)
        if found is None:
            found = _opened[canonical] = Context(result[0])
        else:
            lib.gpucontext_deref(result[0])
        _opened[name] = found
        return found


def init(name: str) -> Context:
    """The context of a device: libgpuarray's name for ``context``."""
    return context(name)


def get_default_context() -> Context:
    """The context used where none is named.

    That of the innermost ``with context.as_default()``, else what
    ``set_default_context`` set, else GPUARRAY_DEVICE, else the best device.
    """
    chosen = _current.get() or _process_default.get("context")
    return chosen if chosen is not None else _open(settings().device)


def set_default_context(chosen: Context | str | None) -> None:
    """Set the default context of the process; None: back to the best device."""
    if chosen is None:
        _process_default.pop("context", None)
    else:
        _process_default["context"] = context(chosen)
