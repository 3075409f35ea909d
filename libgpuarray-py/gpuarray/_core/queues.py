"""Queues of a context, and events in them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from gpuarray._native import check, extension, ffi, lib
from gpuarray.errors import BadType, BadValue

if TYPE_CHECKING:
    from gpuarray._core.context import Context

_STREAM = {"cuda": "cuda_get_stream", "opencl": "cl_get_stream"}


class Event:
    """A point in a queue, reached when all earlier work there is done.

    ``context.record()`` and ``queue.record()`` make one; ``queue`` is where it is.

    >>> queue = gpuarray.get_default_context().queue
    >>> event = queue.record()
    >>> event.queue == queue
    True
    """

    __slots__ = ("__weakref__", "_pointer", "queue")

    def __init__(self, pointer: Any, queue: Queue) -> None:
        self._pointer = ffi.gc(pointer, lib.gpuevent_release)
        self.queue = queue

    @property
    def pointer(self) -> Any:
        """The library's event, which this one owns."""
        return self._pointer

    @property
    def done(self) -> bool:
        """True if the event was reached; does not wait."""
        answer = ffi.new("int *")
        check(lib.gpuevent_query(self._pointer, answer), "event")
        return bool(answer[0])

    def sync(self) -> None:
        """Wait until the event is reached; raise asynchronous errors.

        >>> event = gpuarray.get_default_context().record()
        >>> event.sync()
        """
        check(lib.gpuevent_wait(self._pointer), "event")

    def seconds_since(self, start: Event) -> float:
        """Return seconds of device time since an earlier event; waits for both.

        >>> import gpuarray
        >>> context = gpuarray.context("null")
        >>> start = context.record()
        >>> context.record().seconds_since(start) >= 0
        True
        """
        if not isinstance(start, Event):
            raise BadType(
                f"seconds_since: got {type(start).__name__}, expected an Event"
            )
        seconds = ffi.new("double *")
        check(lib.gpuevent_seconds(seconds, start._pointer, self._pointer), "event")
        return float(seconds[0])

    def __repr__(self) -> str:
        return f"<event of {self.queue!r}>"

    def __reduce__(self) -> Any:
        raise BadType("an event cannot be pickled")


class Queue:
    """A queue (on CUDA: a stream) of a context, whose work runs in order.

    ``context.new_queue()`` makes one; work called within ``with queue:`` on this thread
    goes there. Work on two queues may run at once; the library orders work on one array
    across queues itself. ``context`` is the queue's.

    >>> context = gpuarray.get_default_context()
    >>> other = context.new_queue()
    >>> a = gpuarray.zeros(3)
    >>> with other:
    ...     a += 1
    >>> print(a)
    [1. 1. 1.]
    """

    __slots__ = ("__weakref__", "_before", "_pointer", "context")

    def __init__(self, pointer: Any, context: Context) -> None:
        self._pointer = ffi.gc(pointer, lib.gpuqueue_release)
        self._before: dict[int, list[Queue]] = {}  # to restore after `with`, by thread
        self.context = context

    @classmethod
    def make(cls, context: Context) -> Queue:
        """Return a new queue.

        >>> context = gpuarray.get_default_context()
        >>> gpuarray.Queue.make(context) == context.queue
        False
        """
        handle = ffi.new("gpuqueue **")
        check(lib.gpuqueue_new(handle, context.pointer), "new_queue")
        return cls(handle[0], context)

    @classmethod
    def current(cls, context: Context) -> Queue:
        """Return the queue of this thread's work on the context.

        >>> context = gpuarray.get_default_context()
        >>> gpuarray.Queue.current(context) == context.queue
        True
        """
        pointer = lib.gpucontext_queue(context.pointer)
        lib.gpuqueue_retain(pointer)
        return cls(pointer, context)

    def sync(self) -> None:
        """Wait until all work on the queue is done; raise asynchronous errors.

        >>> gpuarray.get_default_context().queue.sync()
        """
        check(lib.gpuqueue_sync(self._pointer), "sync of a queue")

    def record(self) -> Event:
        """Return an event after all work queued so far.

        >>> event = gpuarray.get_default_context().queue.record()
        >>> event.sync()
        """
        handle = ffi.new("gpuevent **")
        check(lib.gpuevent_record(handle, self._pointer), "record")
        return Event(handle[0], self)

    def wait(self, event: Event) -> None:
        """Make later work in the queue wait, on the device, for an event.

        >>> context = gpuarray.get_default_context()
        >>> first, second = context.new_queue(), context.new_queue()
        >>> second.wait(first.record())
        """
        if not isinstance(event, Event):
            raise BadType(f"wait: got {type(event).__name__}, expected an Event")
        check(lib.gpuqueue_wait_event(self._pointer, event.pointer), "wait")

    @property
    def handle(self) -> int:
        """The vendor's handle: a CUstream or a cl_command_queue, for other libraries.

        Work of other libraries on it is in order with ours.
        """
        name = _STREAM.get(self.context.kind)
        if name is None:
            raise BadValue(f"handle: a queue of {self.context.name} has none")
        with self:
            get = extension(name, "void *(*)(gpucontext *)")
            return int(ffi.cast("uintptr_t", get(self.context.pointer)))

    def __enter__(self) -> Queue:
        context = self.context
        before = Queue.current(context)
        check(lib.gpucontext_use_queue(context.pointer, self._pointer), "with queue")
        self._before.setdefault(threading.get_ident(), []).append(before)
        return self

    def __exit__(self, *exception: object) -> None:
        before = self._before[threading.get_ident()].pop()
        pointer = self.context.pointer
        check(lib.gpucontext_use_queue(pointer, before._pointer), "with queue")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Queue) and self._pointer == other._pointer

    def __hash__(self) -> int:
        return hash(self._pointer)

    def __repr__(self) -> str:
        return f"<queue of {self.context.name!r}>"

    def __reduce__(self) -> Any:
        raise BadType("a queue cannot be pickled")
