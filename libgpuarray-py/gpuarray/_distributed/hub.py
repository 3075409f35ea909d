"""The hub: a thread of rank 0 that compares the calls of ranks and watches them.

Each rank has one connection to it. What a rank is about to call it says there, with the
number of the call; the hub compares that with what other ranks said of the same number,
and answers ranks that wait for it. Ranks that differ, that end without a word or leave
while others wait for them, and calls that wait longer than the timeout fail the group:
every rank gets the same text.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from gpuarray._distributed import frames
from gpuarray._distributed.calls import CollectiveCall, differs, listed

_Key = tuple[str, str]


@dataclass
class _Pending:
    """What ranks have said so far of a call with one number."""

    ranks: tuple[int, ...]
    deadline: float
    calls: dict[int, CollectiveCall] = field(default_factory=dict)
    contents: dict[int, bytes] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)

    def missing(self) -> list[int]:
        return [rank for rank in self.ranks if rank not in self.calls]

    def agreed(self) -> CollectiveCall:
        """Return the call of a rank that knows dtype and shape, if there is one."""
        calls = self.calls.values()
        return next((c for c in calls if c.dtype is not None), next(iter(calls)))


class _Connection:
    """A rank's connection, or that of one who has not said yet who it is."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.decoder = frames.Decoder()
        self.unsent = bytearray()
        self.rank = -1


class Hub:
    """Listens at ``address`` for ``size`` ranks; ``close`` ends it."""

    def __init__(self, host: str, size: int, token: str, timeout: float) -> None:
        self._listener = frames.listen(host, 0, size)
        self.port: int = self._listener.getsockname()[1]
        self._size, self._token, self._timeout = size, token, timeout
        self._ranks: dict[int, _Connection] = {}
        self._left: dict[int, str] = {}
        self._died: set[int] = set()
        self._groups: dict[str, tuple[int, ...]] = {}
        self._pending: dict[_Key, _Pending] = {}
        self._last: dict[int, str] = {}
        self._failure = b""  # the frame that tells ranks so
        self._all_left = threading.Event()
        self._ends = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(
            target=self._run, name="gpuarray-distributed-hub", daemon=True
        )
        self._thread.start()

    def close(self, limit: float) -> None:
        """Wait, at most ``limit`` seconds, until all ranks have left; then end."""
        self._all_left.wait(limit)
        self._ends = True
        self._wake.send(b"x")
        self._thread.join(5)

    # ---- the thread ----

    def _run(self) -> None:
        while not self._ends:
            for key, events in self._selector.select(self._patience()):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is not self._woken:
                    self._serve(key.data, events)
            self._look_at_deadlines()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._wake.close()
        self._selector.close()

    def _patience(self) -> float | None:
        deadlines = [pending.deadline for pending in self._pending.values()]
        return frames.left(min(deadlines)) if deadlines else None

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            return
        frames.tune(accepted).setblocking(False)
        made = _Connection(accepted)
        self._selector.register(accepted, selectors.EVENT_READ, made)

    def _serve(self, connection: _Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._flush(connection)
        if events & selectors.EVENT_READ:
            try:
                received = connection.socket.recv(1 << 16)
                for message, content in connection.decoder.feed(received):
                    self._take(connection, message, content)
            except (BlockingIOError, InterruptedError):
                return
            except (OSError, frames.Closed, KeyError, TypeError):
                received = b""
            if not received:
                self._drop(connection)

    def _drop(self, connection: _Connection) -> None:
        """A connection has ended."""
        if connection.socket.fileno() < 0:
            return
        self._selector.unregister(connection.socket)
        connection.socket.close()
        rank = connection.rank
        if self._ranks.get(rank) is not connection:
            return
        del self._ranks[rank]
        if rank not in self._left:
            self._died.add(rank)
            self._left[rank] = "ended without a word (killed, or crashed?)"
            last = self._last.get(rank)
            did = f"; its last call was {last}" if last else ""
            self._fail(f"rank {rank} {self._left[rank]}{did}")
        if len(self._left) == self._size:
            self._all_left.set()

    # ---- what ranks say ----

    def _take(self, connection: _Connection, message: Any, content: bytes) -> None:
        kind = message["kind"]
        if kind == "hello":
            if not frames.same(message.get("token"), self._token):
                raise frames.Closed
            connection.rank = int(message["rank"])
            self._ranks[connection.rank] = connection
            if self._failure:
                self._send(connection.rank, self._failure)
            return
        rank = connection.rank
        if rank < 0:
            raise frames.Closed
        if kind == "call":
            self._called(rank, message, content)
        elif kind == "group":
            self._groups[message["group"]] = tuple(message["ranks"])
        elif kind == "fail":
            self._fail(message["text"], message["alive"])
        elif kind == "leave":
            self._leave(rank, message["text"])

    def _leave(self, rank: int, text: str) -> None:
        self._left[rank] = text
        for (_, number), pending in self._pending.items():
            if rank in pending.missing():
                self._absent(rank, number, pending)
                return

    def _absent(self, rank: int, number: str, pending: _Pending) -> None:
        asked = pending.agreed()
        waiting = listed(sorted(pending.calls))
        self._fail(
            f"rank {rank} {self._left[rank]}, but {waiting} called {asked} "
            f"(call {number}) and cannot end it without that rank",
            all_are_alive=rank not in self._died,
        )

    def _called(self, rank: int, message: Any, content: bytes) -> None:
        group, number = message["group"], str(message["number"])
        call = CollectiveCall.from_json(message["call"])
        if self._failure:
            return  # the rank has been told, or will be before it waits
        self._last[rank] = f"{call}, call {number}"
        key = group, number
        pending = self._pending.get(key)
        if pending is None:
            ranks = tuple(message.get("ranks") or self._groups[group])
            pending = _Pending(ranks, time.monotonic() + self._timeout)
            self._pending[key] = pending
        for other, said in pending.calls.items():
            if differs(said, call):
                self._fail(
                    f"call {number} differs among ranks: rank {other} called {said}; "
                    f"rank {rank} called {call}. All ranks must call the same "
                    "functions in the same order, with one dtype and shape",
                    all_are_alive=True,
                )
                return
        pending.calls[rank] = call
        pending.contents[rank] = content
        if message["waits"]:
            pending.waiting.append(rank)
        missing = pending.missing()
        if not missing:
            self._go(key, pending)
        elif gone := [r for r in missing if r in self._left]:
            self._absent(gone[0], number, pending)

    def _go(self, key: _Key, pending: _Pending) -> None:
        """Tell the ranks that wait that all have called."""
        del self._pending[key]
        contents = [pending.contents[rank] for rank in pending.ranks]
        answer = {
            "kind": "go",
            "group": key[0],
            "number": key[1],
            "call": pending.agreed().as_json(),
            "lengths": [len(content) for content in contents],
        }
        frame = frames.encode(answer, b"".join(contents))
        for rank in pending.waiting:
            self._send(rank, frame)

    def _look_at_deadlines(self) -> None:
        now = time.monotonic()
        for (_, number), pending in list(self._pending.items()):
            if now >= pending.deadline:
                missing = pending.missing()
                last = self._last.get(missing[0])
                did = f", whose last call was {last}" if last else ", which called none"
                self._fail(
                    f"{listed(sorted(pending.calls))} waited {self._timeout:g} s in "
                    f"{pending.agreed()} (call {number}) for {listed(missing)}"
                    f"{did if len(missing) == 1 else ''}"
                )
                return

    def _fail(self, text: str, all_are_alive: bool = False) -> None:
        """Tell every rank, once, why the group cannot go on."""
        self._pending.clear()
        if self._failure:
            return
        failure = {"kind": "fail", "text": text, "alive": all_are_alive}
        self._failure = frames.encode(failure)
        for rank in list(self._ranks):
            self._send(rank, self._failure)

    # ---- sending, without waiting for a rank that does not read ----

    def _send(self, rank: int, frame: bytes) -> None:
        connection = self._ranks.get(rank)
        if connection:
            connection.unsent += frame
            self._flush(connection)

    def _flush(self, connection: _Connection) -> None:
        try:
            sent = connection.socket.send(connection.unsent)
            del connection.unsent[:sent]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            return  # the next read says so
        events = selectors.EVENT_READ
        if connection.unsent:
            events |= selectors.EVENT_WRITE
        self._selector.modify(connection.socket, events, connection)
