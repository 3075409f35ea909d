"""Contexts: open devices."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpuarray._core import registry
from gpuarray._core.memory import ContextMemory
from gpuarray._core.queues import Event, Queue
from gpuarray._native import check, extension, ffi, lib, text
from gpuarray.errors import BadValue, NotConstructible, NotPicklable


class Context(ContextMemory):
    """An open device. ``gpuarray.context(name)`` gives it; asked twice, the same one.

    It has state because a device has: its memory, its queue, its compiled kernels.
    ``name`` opens it again in another process.

    >>> context = gpuarray.context("null")
    >>> context
    <context 'null': null (host memory, runs no kernel)>
    >>> context.name, context.kind, context.closed
    ('null', 'null', False)
    """

    __slots__ = ("__dict__", "__weakref__", "_kernels")

    def __init__(self, pointer: Any = None) -> None:
        if not isinstance(pointer, ffi.CData):
            raise NotConstructible(
                f"Context: got {pointer!r}; contexts are opened by gpuarray.context, "
                "as gpuarray.context('opencl0:0')"
            )
        self._pointer = pointer
        self.name = text(lib.gpucontext_name(pointer))
        # Kernels of operations by their keys; emptied when closed.
        self._kernels: dict[Any, Any] = {}
        self._opening: threading.Thread | None = None
        # The number of rows stored in other rows, and the last one's position.
        self._row_stores = 0
        self._last_row_store: tuple[Any, ...] = (0,)
        if self.kind == "null":
            self.runs_dry = False

    def close(self) -> None:
        """Close the context. Its arrays can still be read, but not computed with.

        Calls with it or its arrays then raise ContextClosed.

        >>> context = gpuarray.context("null")
        >>> context.close()
        >>> context, gpuarray.context("null").closed
        (<closed context 'null'>, False)
        """
        with registry.lock:
            pointer, self._pointer = self._pointer, None
            registry.forget(self)
            self._kernels.clear()
        if self._opening is not None:
            self._opening.join()
        if pointer is not None:
            lib.gpucontext_deref(pointer)

    def open_blas(self) -> None:
        """Begin to load the vendor's BLAS, and do not wait.

        Otherwise the first product loads it, which takes a while on some devices. A
        second call does nothing.

        >>> gpuarray.get_default_context().open_blas()
        """
        pointer = self.pointer
        with registry.lock:
            if self._opening is None:
                opening = threading.Thread(target=lib.gpublas_setup, args=(pointer,))
                self._opening = opening
                opening.start()

    def sync(self) -> None:
        """Wait until all work queued so far is done; raise its asynchronous errors.

        >>> a = gpuarray.zeros(3) + 1
        >>> a.context.sync()
        """
        check(lib.gpucontext_sync(self.pointer), f"sync of {self.name}")

    @property
    def launch_blocking(self) -> bool:
        """True if each launch waits, and raises the error of its own work.

        For finding a failing launch; False unless it is set, or the environment
        variable GPUARRAY_LAUNCH_BLOCKING or CUDA_LAUNCH_BLOCKING is 1.

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
        """The number of times that the host has waited for the device so far.

        Reading values to the host, ``sync`` and waiting for an event count, and writing
        values if it has to wait; queuing work does not. For checking that a program
        waits only where it should.
        """
        return int(self._property(lib.GA_CTX_PROP_WAITS, "size_t *")[0])

    @property
    def runs_dry(self) -> bool:
        """True if the null device accepts launches, which compute nothing.

        By default it does not: computing raises Unsupported. True serves to list the
        kernels of a program without any device, not to read results: small arrays that
        a launch writes are zeros then, so that masks select nothing, larger ones
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
        """Return another queue; work called within ``with queue:`` goes there.

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
        """Return an event after all that this thread has queued so far.

        >>> event = gpuarray.get_default_context().record()
        >>> event.sync()
        >>> event.done
        True
        """
        return self.queue.record()

    @property
    def stream(self) -> int:
        """The vendor's handle of this thread's queue: a CUstream or a cl_command_queue.

        Work of other libraries on it runs in order with the context's work.
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

        On CUDA its CUcontext becomes the thread's current one, for other libraries; the
        one before comes back at the end.
        """
        pointer = self.pointer
        if self.kind == "cuda":
            extension("cuda_enter", "void (*)(gpucontext *)")(pointer)
        registry.current.set((*registry.current.get(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        registry.current.set(registry.current.get()[:-1])
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
        before = registry.current.get()
        registry.current.set((*before, self))
        try:
            yield self
        finally:
            registry.current.set(before)

    def __repr__(self) -> str:
        if self.closed:
            return f"<closed context {self.name!r}>"
        return f"<context {self.name!r}: {self.device_name}>"

    def __reduce__(self) -> Any:
        raise NotPicklable("a context cannot be pickled; pickle its name")


GpuContext = Context  # libgpuarray's name
