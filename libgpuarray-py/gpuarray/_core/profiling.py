"""Profiles: the device time of each launch, copy and product, as a table or a trace."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpuarray._core.context import Context
from gpuarray._core.file_write import write_file
from gpuarray._core.opening import context as find_context
from gpuarray._native import check, ffi, lib, text
from gpuarray.errors import BadValue

_KINDS = ("launch", "library", "copy", "fill", "read", "write")  # enum gpuspan_kind
_PIECE = 4096  # spans read at once


@dataclass(frozen=True, slots=True)
class Span:
    """One command: its name and its device times.

    ``start`` and ``end`` are seconds of device time since the profile began; ``bytes``
    were moved, 0 for a launch; ``label`` is that of the operation.
    """

    name: str
    label: str
    kind: str
    queue: int
    bytes: int
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """The duration."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Row:
    """The commands of one name together; ``share`` is of all device time."""

    name: str
    calls: int
    seconds: float
    mean: float
    share: float


class Profile:
    """The commands of a context; filled when the ``with profile()`` block ends.

    It prints as a table. ``spans`` has every command in the order of the calls, and
    ``lost`` counts those without device time: done by the host itself, or too many.

    >>> with gpuarray.profile("null") as found:
    ...     b = gpuarray.zeros(3, context="null").copy()
    >>> [span.name for span in found.spans], found.lost
    (['fill', 'copy'], 0)
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.spans: list[Span] = []
        self.lost = 0

    @property
    def seconds(self) -> float:
        """The device time of all commands."""
        return sum(span.seconds for span in self.spans)

    def table(self) -> list[Row]:
        """Return a row for each name, the longest first.

        >>> with gpuarray.profile("null") as found:
        ...     b = gpuarray.zeros(3, context="null").copy()
        >>> [(row.name, row.calls) for row in found.table()]
        [('fill', 1), ('copy', 1)]
        """
        grouped: dict[str, list[float]] = {}
        for span in self.spans:
            grouped.setdefault(span.name, []).append(span.seconds)
        whole = self.seconds or 1.0
        rows = [
            Row(
                name,
                len(times),
                sum(times),
                sum(times) / len(times),
                sum(times) / whole,
            )
            for name, times in grouped.items()
        ]
        return sorted(rows, key=lambda row: -row.seconds)

    def chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace that ``chrome://tracing`` and Perfetto show.

        >>> with gpuarray.profile("null") as found:
        ...     b = gpuarray.zeros(3, context="null").copy()
        >>> found.chrome_trace("trace.json")
        """
        write_file(path, json.dumps({"traceEvents": list(self._events())}))

    def _events(self) -> Iterator[dict[str, Any]]:
        name = f"{self.context.name}: {self.context.device_name}"
        yield {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": name}}
        for queue in sorted({span.queue for span in self.spans}):
            args = {"name": f"queue {queue}"}
            yield {
                "ph": "M",
                "name": "thread_name",
                "pid": 0,
                "tid": queue,
                "args": args,
            }
        for span in self.spans:
            yield {
                "ph": "X",
                "name": span.name,
                "cat": span.kind,
                "pid": 0,
                "tid": span.queue,
                "ts": span.start * 1e6,
                "dur": span.seconds * 1e6,
                "args": {"label": span.label, "bytes": span.bytes},
            }

    def __repr__(self) -> str:
        head = (
            f"profile of {self.context.name!r}: {len(self.spans)} commands, "
            f"{_time(self.seconds)} of device time"
        )
        if self.lost:
            head += f"; {self.lost} without"
        rows = [("name", "calls", "total", "mean", "share")]
        rows += [
            (
                _shorten(row.name),
                str(row.calls),
                _time(row.seconds),
                _time(row.mean),
                f"{row.share:.1%}",
            )
            for row in self.table()
        ]
        if len(rows) == 1:
            return head
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = (
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        )
        return "\n".join([head, *lines])


def _shorten(name: str) -> str:
    """Return a name for a column: a hash is cut to its first digits."""
    name = " ".join(re.sub(r"_([0-9a-f]{6})[0-9a-f]{26}$", r"_\1", name).split())
    return name if len(name) <= 48 else name[:45] + "..."


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


@contextmanager
def profile(
    context: Context | str | None = None, most: int = 1_000_000
) -> Iterator[Profile]:
    """Time the work queued on a context within the block, on every thread.

    At most ``most`` commands are kept, the others counted as lost. The end waits for
    the context. Times are the device's own, from events in its queues; on CUDA a short
    kernel that meets an idle device counts a few microseconds of its launch as well,
    and the first call of a vendor's library its loading: run once before.
    Functions of the compiler are replayed kernel by kernel meanwhile.

    >>> import gpuarray
    >>> a = gpuarray.zeros((3,), context="null")
    >>> with gpuarray.profile("null") as found:
    ...     b = a.copy()
    >>> [row.name for row in found.table()]
    ['copy']
    """
    if most < 1:
        raise BadValue(f"profile: most is {most}, expected at least 1")
    result = Profile(find_context(context))
    handle = ffi.new("gpuprofile **")
    check(lib.gpuprofile_start(handle, result.context.pointer, most), "profile")
    pointer = ffi.gc(handle[0], lib.gpuprofile_release)
    try:
        yield result
    finally:
        status = lib.gpuprofile_stop(pointer)
        result.spans, result.lost = _read(pointer)
    check(status, "profile")


def _read(pointer: Any) -> tuple[list[Span], int]:
    listed = ffi.new("gpuspan[]", _PIECE)
    count, total, lost = (ffi.new("size_t *") for _ in range(3))
    spans: list[Span] = []
    while True:
        status = lib.gpuprofile_spans(
            pointer, len(spans), _PIECE, listed, count, total, lost
        )
        check(status, "profile")
        spans += [
            Span(
                text(entry.name),
                text(entry.label),
                _KINDS[entry.kind],
                entry.queue,
                entry.bytes,
                entry.start,
                entry.end,
            )
            for entry in listed[0 : count[0]]
        ]
        if len(spans) >= total[0] or count[0] == 0:
            return [span for span in spans if span.end >= 0], int(lost[0])
