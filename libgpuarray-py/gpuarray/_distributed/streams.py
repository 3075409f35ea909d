"""Streams: calls of an asynchronous engine, reported to the hub after they are queued.

A call adds one entry to a list; a thread sends the entries of some milliseconds at
once, eight bytes each and the number of a description that is sent once.
"""

from __future__ import annotations

import hashlib
import struct
import sys
import threading
from array import array
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from gpuarray._distributed.calls import CollectiveCall, recorded_line
from gpuarray._distributed.frames import Message

DIGEST = 8  # bytes
_PAUSE = 0.01

Send = Callable[[Message, bytes], None]
Described = tuple[str, str, "np.dtype[Any] | None", tuple[int, ...] | None]
"""A call: operation, detail, dtype and shape."""
Key = tuple[
    str, str, "np.dtype[Any] | None", tuple[int, ...] | None, CodeType | str, int
]
"""A call of one kind: the last two are code and line, or the line as it is shown."""


class Record:
    """A call of one kind, from one line: its digest, number and description."""

    __slots__ = ("call", "digest", "number")

    def __init__(self, number: int, call: CollectiveCall) -> None:
        told = call.operation, call.detail, call.dtype, call.shape
        said = repr(told).encode()
        self.digest = hashlib.blake2b(said, digest_size=DIGEST).digest()
        self.number, self.call = number, call


class Stream:
    """The calls of a communicator, or the messages from one rank to another."""

    __slots__ = ("_teller", "count", "entries", "is_new", "name", "ranks", "suffix")

    def __init__(
        self, teller: Teller, name: str, ranks: Sequence[int], suffix: str
    ) -> None:
        self._teller = teller
        self.name, self.ranks, self.suffix = name, list(ranks), suffix
        self.count = 0  # calls, ever
        self.entries: list[Record] = []
        self.is_new = True

    def add(self, *call: *Described) -> Record:
        """Add a call, with the line that made it; return its record."""
        record = self.record(*call)
        self.append(record)
        self._teller.soon()
        return record

    def append(self, record: Record) -> None:
        """Add a call, which the next frame reports."""
        self.entries.append(record)
        self.count += 1

    def record(self, *call: *Described) -> Record:
        """Return the record of a call, with the line that makes it."""
        if line := recorded_line():
            return self._teller.known((*call, line, 0))
        frame = sys._getframe(1)
        while f"{frame.f_globals.get('__name__', '')}.".startswith("gpuarray."):
            if frame.f_back is None:
                break
            frame = frame.f_back
        return self._teller.known((*call, frame.f_code, frame.f_lineno))


class Teller:
    """A thread that reports the entries of all streams of this rank to the hub."""

    def __init__(self, send: Send) -> None:
        self.sources: list[Callable[[], None]] = []  # what adds calls made meanwhile
        self._records: dict[Key, Record] = {}
        self._has_some = False
        self._send = send
        self._streams: list[Stream] = []
        self._untold: list[Record] = []
        self._lock = threading.Lock()
        self._some, self._ends = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def stream(self, name: str, ranks: Sequence[int], suffix: str = "") -> Stream:
        """Return a new stream of some ranks."""
        made = Stream(self, name, ranks, suffix)
        with self._lock:
            self._streams.append(made)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="gpuarray-distributed-teller", daemon=True
                )
                self._thread.start()
        return made

    def known(self, key: Key) -> Record:
        """Return the record of a call; a new one's description goes with the next
        frame.
        """
        found = self._records.get(key)
        return self._new(key) if found is None else found

    def _new(self, key: Key) -> Record:
        operation, detail, dtype, shape, code, number = key
        line = code if isinstance(code, str) else f"{code.co_filename}:{number}"
        name = None if dtype is None else dtype.name
        call = CollectiveCall(operation, detail, name, shape, line)
        with self._lock:
            made = Record(len(self._records), call)
            self._records[key] = made
            self._untold.append(made)
        return made

    def soon(self) -> None:
        """Wake the thread to report the entries."""
        if not self._has_some:
            self._has_some = True
            self._some.set()

    def tell(self) -> None:
        """Report the new entries to the hub."""
        with self._lock:
            self._has_some = False
            for add_calls in list(self.sources):
                add_calls()
            for stream in self._streams:
                if count := len(stream.entries):
                    entries = stream.entries[:count]
                    del stream.entries[:count]
                    self._tell(stream, entries)

    def close(self) -> None:
        """Report the rest, and end the thread."""
        self._ends.set()
        self._some.set()
        if self._thread is not None:
            self._thread.join(5)
            self.tell()

    def _tell(self, stream: Stream, entries: list[Record]) -> None:
        untold, self._untold = self._untold, []
        message: Message = {
            "kind": "stream",
            "stream": stream.name,
            "records": [[one.number, one.call.as_json()] for one in untold],
        }
        if stream.is_new:
            message |= {"ranks": stream.ranks, "suffix": stream.suffix}
            stream.is_new = False
        numbers = struct.pack(f"!{len(entries)}I", *(one.number for one in entries))
        self._send(message, b"".join(one.digest for one in entries) + numbers)

    def _run(self) -> None:
        while not self._ends.is_set():
            self._some.wait()
            self._ends.wait(_PAUSE)
            self._some.clear()
            self.tell()


def unpacked(content: bytes) -> tuple[bytes, array[int]]:
    """Return the digests and the records' numbers of a frame."""
    count = len(content) // (DIGEST + 4)
    numbers = array("I", struct.unpack(f"!{count}I", content[DIGEST * count :]))
    return content[: DIGEST * count], numbers
