"""Contexts: open devices, the default one, and what they say of themselves."""

from __future__ import annotations

import operator
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, SupportsIndex

from gpuarray._core.folders import warn_if_refused
from gpuarray._core.queues import Event, Queue
from gpuarray._native import (
    check,
    encoded,
    extension,
    ffi,
    lib,
    library_text,
    prepare,
    text,
)
from gpuarray.config import settings
from gpuarray.errors import (
    BadArgument,
    BadType,
    BadValue,
    ContextClosed,
    DeviceNotFound,
    GpuArrayError,
    LibraryMissing,
    NotConstructible,
    NotPicklable,
)


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


class Context:
    """An open device. ``gpuarray.context(name)`` gives it; asked twice, the same one.

    It has state because a device has: its memory, its queue, its compiled kernels.
    ``name`` opens it again in another process.

    >>> context = gpuarray.context("null")
    >>> context
    <context 'null': null (host memory, runs no kernel)>
    >>> context.name, context.kind, context.closed
    ('null', 'null', False)
    """

    __slots__ = ("__dict__", "__weakref__", "_kernels", "_pointer", "name")

    def __init__(self, pointer: Any = None) -> None:
        if not isinstance(pointer, ffi.CData):
            raise NotConstructible(
                f"Context: got {pointer!r}; contexts are opened by gpuarray.context, "
                "as gpuarray.context('opencl0:0')"
            )
        self._pointer = pointer
        self.name: str = text(lib.gpucontext_name(pointer))
        # Kernels of operations by what they were made for; emptied when closed.
        self._kernels: dict[Any, Any] = {}
        self._opening: threading.Thread | None = None
        # Rows stored as other rows of their array; of the last one, where it was.
        self._row_stores = 0
        self._last_row_store: tuple[Any, ...] = (0,)
        if self.kind == "null":
            self.runs_dry = False

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
        """Give the context up. Its arrays can still be read, but not computed with.

        What is called with it or its arrays then raises ContextClosed.

        >>> context = gpuarray.context("null")
        >>> context.close()
        >>> context, gpuarray.context("null").closed
        (<closed context 'null'>, False)
        """
        with _lock:
            pointer, self._pointer = self._pointer, None
            _drop(_opened, self)
            _drop(_adopted, self)
            self._kernels.clear()
            if _process_default.get("context") is self:
                del _process_default["context"]
        if self._opening is not None:
            self._opening.join()
        if pointer is not None:
            lib.gpucontext_deref(pointer)

    def open_blas(self) -> None:
        """Begin to open the vendor's library of matrix products, and do not wait.

        The first product opens it otherwise, which takes a while on some devices; it
        waits where this has begun. Asked again, it does nothing.

        >>> gpuarray.get_default_context().open_blas()
        """
        pointer = self.pointer
        with _lock:
            if self._opening is None:
                opening = threading.Thread(target=lib.gpublas_setup, args=(pointer,))
                self._opening = opening
                opening.start()

    def sync(self) -> None:
        """Wait until all work queued so far is done; raise what failed meanwhile.

        >>> a = gpuarray.zeros(3) + 1
        >>> a.context.sync()
        """
        check(lib.gpucontext_sync(self.pointer), f"sync of {self.name}")

    @property
    def launch_blocking(self) -> bool:
        """Whether each launch waits and fails itself where the work fails.

        For finding what fails; False unless it is set, or the environment variable
        GPUARRAY_LAUNCH_BLOCKING or CUDA_LAUNCH_BLOCKING is 1.

        >>> context = gpuarray.get_default_context()
        >>> context.launch_blocking = True
        >>> context.launch_blocking
        True
        >>> context.launch_blocking = False
        """
        return bool(lib.gpucontext_blocking(self.pointer))

    @launch_blocking.setter
    def launch_blocking(self, on: bool) -> None:
        check(lib.gpucontext_set_blocking(self.pointer, bool(on)))

    @property
    def waits(self) -> int:
        """How often the host has waited for the device so far.

        Reading values to the host, ``sync`` and what waits for an event count, and
        writing values where it has to wait; queuing work does not. For checking that a
        program waits only where it means to.
        """
        return int(self._property(lib.GA_CTX_PROP_WAITS, "size_t *")[0])

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
        """Threads of a block along its first axis at most."""
        return int(self._property(lib.GA_CTX_PROP_MAXLSIZE0, "size_t *")[0])

    # libgpuarray's names

    @property
    def ptr(self) -> int:
        """The address of the library's context."""
        return int(ffi.cast("uintptr_t", self.pointer))

    @property
    def unique_id(self) -> str:
        """The device's place on the bus; Unsupported where it does not tell."""
        return text(self._property(lib.GA_CTX_PROP_UNIQUE_ID, "char[16]"))

    @property
    def bin_id(self) -> bytes:
        """What compiled code depends on: the architecture and the compiler."""
        value = self._property(lib.GA_CTX_PROP_BIN_ID, "char **")
        return text(value[0]).encode()

    @property
    def largest_memblock(self) -> int:
        """Bytes of the largest buffer."""
        return self._size(lib.GA_CTX_PROP_LARGEST_MEMBLOCK)

    @property
    def maxlsize0(self) -> int:
        """Threads of a block along its first axis at most."""
        return self._size(lib.GA_CTX_PROP_MAXLSIZE0)

    @property
    def maxlsize1(self) -> int:
        """Threads of a block along its second axis at most."""
        return self._size(lib.GA_CTX_PROP_MAXLSIZE1)

    @property
    def maxlsize2(self) -> int:
        """Threads of a block along its third axis at most."""
        return self._size(lib.GA_CTX_PROP_MAXLSIZE2)

    @property
    def maxgsize0(self) -> int:
        """Blocks along the first axis at most."""
        return self._size(lib.GA_CTX_PROP_MAXGSIZE0)

    @property
    def maxgsize1(self) -> int:
        """Blocks along the second axis at most."""
        return self._size(lib.GA_CTX_PROP_MAXGSIZE1)

    @property
    def maxgsize2(self) -> int:
        """Blocks along the third axis at most."""
        return self._size(lib.GA_CTX_PROP_MAXGSIZE2)

    def _size(self, number: int) -> int:
        return int(self._property(number, "size_t *")[0])

    lmemsize = local_memory
    numprocs = processors
    total_gmem = total_memory
    free_gmem = free_memory

    @property
    def has_double(self) -> bool:
        """Whether the device computes in float64."""
        return bool(self._property(lib.GA_CTX_PROP_HAS_DOUBLE, "int *")[0])

    @property
    def is_cpu(self) -> bool:
        """Whether the device is the host's processor."""
        return bool(self._property(lib.GA_CTX_PROP_IS_CPU, "int *")[0])

    @property
    def runs_dry(self) -> bool:
        """Whether the null device takes launches, which compute nothing.

        At first it does not: what computes raises Unsupported. True serves to see which
        kernels a program makes without any device, not to read results: small arrays
        that a launch writes are zeros then, so that masks pick nothing, larger ones
        undefined.
        """
        return self._runs_dry

    @runs_dry.setter
    def runs_dry(self, chosen: bool) -> None:
        if self.kind != "null":
            raise BadValue(f"runs_dry: {self.name} runs its kernels")
        refuse = extension("null_refuse", "void (*)(gpucontext *, int)")
        refuse(self.pointer, not chosen)
        self._runs_dry = bool(chosen)

    # ---- queues ----

    def new_queue(self) -> Queue:
        """Another queue; what is called within ``with queue:`` goes there.

        >>> context = gpuarray.get_default_context()
        >>> with context.new_queue() as queue:
        ...     a = gpuarray.zeros(3) + 1
        >>> print(a)
        [1. 1. 1.]
        """
        return Queue.make(self)

    @property
    def queue(self) -> Queue:
        """The queue on which this thread's work goes now."""
        return Queue.current(self)

    def record(self) -> Event:
        """An event behind all that this thread has queued so far.

        >>> event = gpuarray.get_default_context().record()
        >>> event.sync()
        >>> event.done
        True
        """
        return self.queue.record()

    @property
    def stream(self) -> int:
        """The vendor's handle of this thread's queue: a CUstream or a cl_command_queue.

        What another library queues there runs in order with the context's work.
        """
        return self.queue.handle

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version, 0, of CUDA's stream protocol and `stream`, for other libraries.

        ``cupy.cuda.Stream.from_external(context)`` asks for it so. ``BadValue`` where
        there is no CUDA.
        """
        if self.kind != "cuda":
            raise BadValue(f"{self.name} has no CUDA stream: its kind is {self.kind!r}")
        return 0, self.stream

    # ---- the context of a block ----

    def __enter__(self) -> Context:
        """Make this the current context of this thread or task.

        On CUDA its CUcontext becomes the thread's current one, for other libraries;
        what was current before comes back at the end.
        """
        pointer = self.pointer
        if self.kind == "cuda":
            extension("cuda_enter", "void (*)(gpucontext *)")(pointer)
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        _current.set(_current.get()[:-1])
        if self.kind == "cuda" and self._pointer is not None:
            extension("cuda_exit", "void (*)(gpucontext *)")(self._pointer)

    @contextmanager
    def as_default(self) -> Iterator[Context]:
        """Make this the default of this thread or task within a ``with`` block.

        Unlike ``with context:`` it leaves other libraries alone.

        >>> with gpuarray.context("null").as_default():
        ...     print(gpuarray.zeros(2).context.name)
        null
        """
        before = _current.get()
        _current.set((*before, self))
        try:
            yield self
        finally:
            _current.set(before)

    def __repr__(self) -> str:
        if self.closed:
            return f"<closed context {self.name!r}>"
        return f"<context {self.name!r}: {self.device_name}>"

    def __reduce__(self) -> Any:
        raise NotPicklable("a context cannot be pickled; pickle its name")


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


GpuContext = Context  # libgpuarray's name

_lock = threading.Lock()
_opened: dict[str, Context] = {}
_process_default: dict[str, Context] = {}
_adopted: dict[int, Context] = {}  # by the vendor's context
_current: ContextVar[tuple[Context, ...]] = ContextVar("gpuarray_context", default=())


def context(name: str | Context | Device | Any = None) -> Context:
    """The open context of a device, which is opened if it is not.

    ``name`` is ``"cuda0"``, ``"cuda"`` (the first), ``"opencl0:1"`` (platform and
    device), ``"opencl"`` or ``"null"`` (host memory; runs no kernel); None: the default
    context. A context stands for itself. A ``pyopencl.CommandQueue`` gives a context
    that works on that queue, in order with PyOpenCL's own work there; one that is in
    the cl_context of an open context gives that. A ``pyopencl.Context`` gives a
    context that shares its memory and has a queue of its own.

    >>> gpuarray.context("null")
    <context 'null': null (host memory, runs no kernel)>
    >>> gpuarray.context("null") is gpuarray.context("null")
    True
    >>> gpuarray.context("nowhere")
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadArgument: "nowhere" is not a device name; expected ...
    """
    if isinstance(name, Context):
        return name
    if name is None:
        return get_default_context()
    if isinstance(name, Device):
        name = name.context
    if isinstance(name, str):
        return _open(name)
    if type(name).__module__.partition(".")[0] == "pyopencl":
        return _adopt(name)
    raise BadType(
        f"context: got {type(name).__name__}, expected a name such as 'cuda0', or a "
        "context or queue of PyOpenCL"
    )


def _open(name: str) -> Context:
    with _lock:
        found = _opened.get(name)
        if found is not None:
            return found
        prepare()
        warn_if_refused()
        result = ffi.new("gpucontext **")
        status = lib.gpucontext_open(result, encoded(name, "context"))
        if status:
            _fail_to_open(status)
        canonical = text(lib.gpucontext_name(result[0]))
        found = _opened.get(canonical)
        if found is None:
            found = _opened[canonical] = Context(result[0])
        else:
            lib.gpucontext_deref(result[0])
        _opened[name] = found
        return found


def _fail_to_open(status: int) -> None:
    """Raise what the library says; on a machine with devices with their names."""
    try:
        check(status)
    except (BadArgument, DeviceNotFound, LibraryMissing) as error:
        found = [name for kind in _KINDS for name in device_names(kind)[0]]
        if not found:
            raise
        said = str(error).partition(". On a machine without")[0]
        raise type(error)(
            f"{said}; the devices of this machine are {', '.join(found)}; "
            "python -m gpuarray.doctor says why others are not"
        ) from None


def _drop(known: dict[Any, Context], closed: Context) -> None:
    for key in [key for key, opened in known.items() if opened is closed]:
        del known[key]


def _adopt(given: Any) -> Context:
    """The context in a cl_context that PyOpenCL made, itself or by its queue.

    The first queue of a cl_context becomes that of our context. A cl_context that is
    ours gives our context.
    """
    kind = type(given).__name__
    if kind not in ("Context", "CommandQueue"):
        raise BadType(
            f"context: got PyOpenCL's {kind}, expected its Context or CommandQueue"
        )
    native = given if kind == "Context" else given.context
    key = native.int_ptr
    with _lock:
        found = _adopted.get(key) or _owner(key)
        if found is not None:
            return found
        made = _made_on("cl_make_ctx", key)
        if native is not given:
            _use_queue(made, given.int_ptr)
        _adopted[key] = made
        return made


def _made_on(function: str, key: int) -> Context:
    """A context on the vendor's own, whose address is ``key``."""
    prepare()
    warn_if_refused()
    adopt = extension(function, "gpucontext *(*)(void *, gpucontext_props *)")
    pointer = adopt(ffi.cast("void *", key), ffi.NULL)
    if not pointer:
        raise BadValue(f"context: {library_text()}")
    return Context(pointer)


def _wrap(function: str, address: int) -> Context:
    with _lock:
        found = _adopted.get(address)
        if found is None:
            found = _adopted[address] = _made_on(function, address)
        return found


def cl_wrap_ctx(ptr: int) -> Context:
    """The context in a ``cl_context``, whose address is given; it is retained.

    ``gpuarray.context`` does this for a context or a queue of PyOpenCL.
    """
    return _wrap("cl_make_ctx", ptr)


def cuda_wrap_ctx(ptr: int, own: bool = False) -> Context:
    """The context in a ``CUcontext``, whose address is given and which outlives it.

    BadValue where ``own`` asks to destroy it in the end: that stays the caller's.
    """
    if own:
        raise BadValue(
            "cuda_wrap_ctx: own is true, but a CUcontext stays its maker's, who "
            "destroys it after the context was closed; expected own=False"
        )
    return _wrap("cuda_make_ctx", ptr)


def _owner(key: int) -> Context | None:
    """The context that was opened by its name and has this cl_context, if any."""
    from pyopencl import CommandQueue

    for opened in _opened.values():
        if opened.kind == "opencl":
            queue = CommandQueue.from_int_ptr(opened.stream, retain=True)
            if queue.context.int_ptr == key:
                return opened
    return None


def _use_queue(made: Context, queue: int) -> None:
    """Make a queue of PyOpenCL the context's; else give the context up."""
    use = extension("cl_use_stream", "int (*)(gpucontext *, void *)")
    try:
        check(use(made.pointer, ffi.cast("void *", queue)), "context")
    except GpuArrayError:
        lib.gpucontext_deref(made.pointer)
        raise


def init(
    dev: str,
    sched: str = "default",
    single_stream: bool = False,
    kernel_cache_path: str | None = None,
    max_cache_size: int = sys.maxsize,
    initial_cache_size: int = 0,
) -> Context:
    """The context of a device: libgpuarray's name for ``context``, with its options.

    ``sched`` is ``"default"``, ``"single"`` or ``"multi"``, a hint. ``single_stream``
    forbids other queues. ``kernel_cache_path`` is the folder of compiled kernels.
    The pool of memory begins with ``initial_cache_size`` bytes and never holds more
    than ``max_cache_size``; with 0 it keeps nothing. BadValue where options are given
    for a device that is open already.

    >>> gpuarray.init("null")
    <context 'null': null (host memory, runs no kernel)>
    """
    if sched not in _SCHEDULES:
        raise BadType(f"init: sched is {sched!r}, expected one of {list(_SCHEDULES)}")
    chosen = (single_stream, kernel_cache_path, max_cache_size, initial_cache_size)
    if chosen == (False, None, sys.maxsize, 0):
        return context(dev)
    if not isinstance(dev, str) or not re.fullmatch(_NUMBERED, dev):
        raise BadValue(f"init: got {dev!r}, expected a name such as cuda0 or opencl0:0")
    with _lock:
        if dev in _opened:
            raise BadValue(f"init: {dev} is open already; close it to open it anew")
        made = _opened[dev] = _open_with(dev, _SCHEDULES[sched], *chosen)
        return made


_SCHEDULES = {
    "default": lib.GA_CTX_SCHED_AUTO,
    "single": lib.GA_CTX_SCHED_SINGLE,
    "multi": lib.GA_CTX_SCHED_MULTI,
}
_NUMBERED = r"cuda\d+|opencl\d+:\d+|null"


def _open_with(
    dev: str, schedule: int, single: bool, folder: str | None, most: int, first: int
) -> Context:
    """A context with these options."""
    prepare()
    warn_if_refused(folder)
    made, opened = ffi.new("gpucontext_props **"), ffi.new("gpucontext **")
    check(lib.gpucontext_props_new(made), "init")
    props = made[0]
    numbers = [int(number) for number in re.findall(r"\d+", dev)]
    try:
        if dev.startswith("cuda"):
            check(lib.gpucontext_props_cuda_dev(props, *numbers), "init")
        elif dev.startswith("opencl"):
            check(lib.gpucontext_props_opencl_dev(props, *numbers), "init")
        check(lib.gpucontext_props_sched(props, schedule), "init")
        if single:
            check(lib.gpucontext_props_set_single_stream(props), "init")
        if folder is not None:
            place = encoded(folder, "init")
            check(lib.gpucontext_props_kernel_cache(props, place), "init")
        limit = 2**64 - 1 if most == sys.maxsize else most  # SIZE_MAX: none
        check(lib.gpucontext_props_alloc_cache(props, first, limit), "init")
    except GpuArrayError:
        lib.gpucontext_props_del(props)
        raise
    kind = dev.rstrip("0123456789:")
    check(lib.gpucontext_init(opened, encoded(kind, "init"), props), "init")
    return Context(opened[0])


def count_platforms(kind: str) -> int:
    """How many platforms a backend, ``"cuda"`` or ``"opencl"``, has.

    >>> gpuarray.count_platforms("null")
    1
    """
    prepare()
    count, name = ffi.new("unsigned int *"), encoded(kind, "count_platforms")
    check(lib.gpu_get_platform_count(name, count), "count_platforms")
    return int(count[0])


def count_devices(kind: str, platform: int) -> int:
    """How many devices a platform of a backend has.

    Why there is none, if so, is said by ``python -m gpuarray.doctor``.

    >>> gpuarray.count_devices("null", 0)
    1
    """
    prepare()
    count = ffi.new("unsigned int *")
    name = encoded(kind, "count_devices")
    status = lib.gpu_get_device_count(name, platform, count)
    check(status, "count_devices")
    return int(count[0])


def get_default_context() -> Context:
    """The context used where none is named.

    That of the innermost ``with context:`` or ``with context.as_default():``, else what
    ``set_default_context`` set, else GPUARRAY_DEVICE, else the best device.

    >>> with gpuarray.context("null"):
    ...     gpuarray.get_default_context()
    <context 'null': null (host memory, runs no kernel)>
    """
    chosen = current_context() or _process_default.get("context")
    return chosen if chosen is not None else _open(settings().device)


def current_context() -> Context | None:
    """The context of the innermost ``with context:`` of this thread or task, if any."""
    inner = _current.get()
    return inner[-1] if inner else None


def set_default_context(chosen: Context | str | None) -> None:
    """Set the default context of the process; None: back to the best device.

    >>> before = gpuarray.get_default_context()
    >>> gpuarray.set_default_context("null")
    >>> gpuarray.zeros(2).context.name
    'null'
    >>> gpuarray.set_default_context(before)
    """
    if chosen is None:
        _process_default.pop("context", None)
    else:
        _process_default["context"] = context(chosen)


# ---- what there is ----

_KINDS = "cuda", "opencl"


class Device(NamedTuple):
    """A device of this machine, or why it cannot be used.

    ``context`` is the name for ``gpuarray.context``, ``name`` the vendor's; ``kind`` is
    ``cuda`` or ``opencl``; ``memory`` counts bytes; ``is_cpu``: it is the host's
    processor; ``problem`` is empty if it opens.

    >>> found = gpuarray.devices()
    >>> all(device.problem or device.memory > 0 for device in found)
    True
    """

    context: str
    name: str
    kind: str
    memory: int
    is_cpu: bool
    problem: str = ""


def devices() -> list[Device]:
    """The devices that were found on this machine; never fails.

    Each is opened for it, as ``gpuarray.context`` does. Why something was not found:
    ``python -m gpuarray.doctor``.

    >>> len(gpuarray.devices()) == len(gpuarray.devices())
    True
    """
    return [_describe(name) for kind in _KINDS for name in device_names(kind)[0]]


def _describe(name: str) -> Device:
    kind = name.rstrip("0123456789:")
    try:
        found = context(name)
        return Device(name, found.device_name, kind, found.total_memory, found.is_cpu)
    except GpuArrayError as error:
        return Device(name, "", kind, 0, False, str(error))


def device_names(kind: str) -> tuple[list[str], str]:
    """The names of a backend's contexts, and why there is none if so."""
    prepare()
    count = ffi.new("unsigned int *")
    found: list[str] = []
    try:
        check(lib.gpu_get_platform_count(kind.encode(), count))
        for number in range(count[0]):
            check(lib.gpu_get_device_count(kind.encode(), number, count))
            found += [
                f"opencl{number}:{i}" if kind == "opencl" else f"{kind}{i}"
                for i in range(count[0])
            ]
    except GpuArrayError as error:
        return found, str(error)
    return found, "" if found else "no device"
