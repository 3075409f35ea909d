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
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuarray._distributed import frames
from gpuarray._distributed.calls import CollectiveCall, differs, listed, of_group
from gpuarray._distributed.streams import DIGEST, unpacked

_Key = tuple[str, str]


@dataclass
class _Pending:
    """Reports of ranks so far on the call of one number."""

    ranks: tuple[int, ...]
    deadline: float
    calls: dict[int, CollectiveCall] = field(default_factory=dict)
    contents: dict[int, bytes] = field(default_factory=dict)

    def missing(self) -> list[int]:
        return [rank for rank in self.ranks if rank not in self.calls]

    def agreed(self) -> CollectiveCall:
        """Return the call of a rank that knows dtype and shape, if there is one."""
        calls = self.calls.values()
        return next((c for c in calls if c.dtype is not None), next(iter(calls)))


class _Told:
    """Reports of ranks on a stream, from the first call that some have not reported."""

    def __init__(self, ranks: Sequence[int], suffix: str) -> None:
        self.ranks, self.suffix = tuple(ranks), suffix
        self.compared = 0
        self.digests = {rank: bytearray() for rank in ranks}
        self.numbers = {rank: array("I") for rank in ranks}
        self.since = 0.0  # when the first of those calls was told

    def count(self) -> int:
        """Return the number of calls that all ranks have reported."""
        return min(map(len, self.numbers.values()))

    def ahead(self) -> list[int]:
        return [rank for rank in self.ranks if self.numbers[rank]]

    def behind(self) -> list[int]:
        return [rank for rank in self.ranks if not self.numbers[rank]]

    def drop(self, count: int) -> None:
        """Forget calls that are compared."""
        self.compared += count
        for rank in self.ranks:
            del self.digests[rank][: DIGEST * count]
            del self.numbers[rank][:count]


@dataclass
class _Learner:
    """A rank that waits for another's call of a stream."""

    rank: int
    stream: str
    number: int
    call: CollectiveCall
    deadline: float


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
        self._streams: dict[str, _Told] = {}
        self._records: dict[tuple[int, int], CollectiveCall] = {}
        self._learners: list[_Learner] = []
        self._last: dict[int, tuple[CollectiveCall, str]] = {}
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
        self._wake.close()

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
        self._selector.close()

    def _patience(self) -> float | None:
        deadlines = [wait[0] for wait in self._waits()]
        return frames.left(min(deadlines)) if deadlines else None

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
            frames.tune(accepted).setblocking(False)
        except OSError:
            return  # it has gone again
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
            except (OSError, frames.Closed):
                received = b""
            except Exception as error:  # the thread must go on: all ranks wait for it
                self._fail(f"the hub, on rank 0, failed: {error!r}")
                return
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
            did = f"; its last call was {self._last_of(rank)}"
            did = did if rank in self._last else ""
            self._fail(f"rank {rank} {self._left[rank]}{did}")
        if len(self._left) == self._size:
            self._all_left.set()

    # ---- what ranks say ----

    def _take(self, connection: _Connection, message: Any, content: bytes) -> None:
        if message["kind"] == "hello":
            self._welcome(connection, message)
        elif connection.rank < 0:
            raise frames.Closed
        else:
            self._hear(connection.rank, message, content)

    def _welcome(self, connection: _Connection, message: Any) -> None:
        if not frames.same(message.get("token"), self._token):
            raise frames.Closed
        connection.rank = int(message["rank"])
        self._ranks[connection.rank] = connection
        if self._failure:
            self._send(connection.rank, self._failure)

    def _hear(self, rank: int, message: Any, content: bytes) -> None:
        match message["kind"]:
            case "call":
                self._called(rank, message, content)
            case "stream":
                self._tell(rank, message, content)
            case "learn":
                self._learn(rank, message)
            case "group":
                self._groups[message["group"]] = tuple(message["ranks"])
            case "fail":
                self._fail(message["text"], message["alive"])
            case "leave":
                self._leave(rank, message["text"])

    def _last_of(self, rank: int) -> str:
        call, number = self._last[rank]
        return f"{call}, call {number}"

    def _leave(self, rank: int, text: str) -> None:
        self._left[rank] = text
        for (group, number), pending in self._pending.items():
            if rank in pending.missing():
                shown = self._shown(group, number)
                self._absent(rank, shown, pending.agreed(), list(pending.calls))
                return
        for told in self._streams.values():
            if rank in told.ranks:
                self._find_absent(told)
        for learner in self._learners:
            self._find_absent_of(learner)

    def _absent(
        self, rank: int, number: str, call: CollectiveCall, waiting: list[int]
    ) -> None:
        self._fail(
            f"rank {rank} {self._left[rank]}, but {listed(sorted(waiting))} called "
            f"{call} (call {number}) and cannot end it without that rank",
            all_are_alive=rank not in self._died,
        )

    def _called(self, rank: int, message: Any, content: bytes) -> None:
        group, number = message["group"], str(message["number"])
        call = CollectiveCall.from_json(message["call"])
        if self._failure:
            return  # the rank has been told, or will be before it waits
        shown = self._shown(group, number)
        self._last[rank] = call, shown
        key = group, number
        pending = self._pending.get(key)
        if pending is None:
            ranks = tuple(message.get("ranks") or self._groups[group])
            pending = _Pending(ranks, time.monotonic() + self._timeout)
            self._pending[key] = pending
        for other, said in pending.calls.items():
            if differs(said, call):
                self._differ(shown, (other, said), (rank, call))
                return
        pending.calls[rank] = call
        pending.contents[rank] = content
        missing = pending.missing()
        if not missing:
            self._go(key, pending)
        elif gone := [r for r in missing if r in self._left]:
            self._absent(gone[0], shown, pending.agreed(), list(pending.calls))

    def _shown(self, group: str, number: str) -> str:
        """Return a call's number with its communicator."""
        return f"{number}{of_group(group)}" if group in self._groups else number

    def _go(self, key: _Key, pending: _Pending) -> None:
        """Tell the ranks that wait that all have called."""
        del self._pending[key]
        contents = [pending.contents[rank] for rank in pending.ranks]
        self._answer(*key, pending.agreed(), pending.ranks, contents)

    def _answer(
        self,
        group: str,
        number: int | str,
        call: CollectiveCall,
        ranks: Sequence[int],
        contents: Sequence[bytes] = (),
    ) -> None:
        message = {
            "kind": "go",
            "group": group,
            "number": str(number),
            "call": call.as_json(),
            "lengths": [len(content) for content in contents],
        }
        frame = frames.encode(message, b"".join(contents))
        for rank in ranks:
            self._send(rank, frame)

    def _differ(
        self,
        number: str,
        one: tuple[int, CollectiveCall],
        other: tuple[int, CollectiveCall],
    ) -> None:
        self._fail(
            f"call {number} differs among ranks: rank {one[0]} called {one[1]}; rank "
            f"{other[0]} called {other[1]}. All ranks must call the same functions in "
            "the same order, with one dtype and shape",
            all_are_alive=True,
        )

    # ---- calls that are told behind them ----

    def _stream(self, message: Any) -> _Told:
        name = message["stream"]
        if name not in self._streams:
            self._streams[name] = _Told(message["ranks"], message["suffix"])
        return self._streams[name]

    def _tell(self, rank: int, message: Any, content: bytes) -> None:
        for number, call in message["records"]:
            self._records[rank, number] = CollectiveCall.from_json(call)
        if self._failure:
            return
        told = self._stream(message)
        digests, numbers = unpacked(content)
        if not told.ahead():
            told.since = time.monotonic()
        told.digests[rank] += digests
        told.numbers[rank].extend(numbers)
        count = told.compared + len(told.numbers[rank])
        self._last[rank] = self._records[rank, numbers[-1]], f"{count}{told.suffix}"
        self._teach()
        self._compare(told)

    def _compare(self, told: _Told) -> None:
        count = told.count()
        first, *others = told.ranks
        begin = told.digests[first][: DIGEST * count]
        for other in others:
            if told.digests[other][: DIGEST * count] != begin:
                self._find_difference(told, first, other)
                return
        if count:
            told.drop(count)
            told.since = time.monotonic()
        self._find_absent(told)

    def _find_difference(self, told: _Told, one: int, other: int) -> None:
        a, b = told.digests[one], told.digests[other]
        place = next(
            i
            for i in range(told.count())
            if a[DIGEST * i : DIGEST * (i + 1)] != b[DIGEST * i : DIGEST * (i + 1)]
        )
        self._differ(
            f"{told.compared + place + 1}{told.suffix}",
            (one, self._call_of(told, one, place)),
            (other, self._call_of(told, other, place)),
        )

    def _call_of(self, told: _Told, rank: int, place: int) -> CollectiveCall:
        return self._records[rank, told.numbers[rank][place]]

    def _find_absent(self, told: _Told) -> None:
        ahead = told.ahead()
        gone = [rank for rank in told.behind() if rank in self._left]
        if ahead and gone:
            call = self._call_of(told, ahead[0], 0)
            self._absent(gone[0], f"{told.compared + 1}{told.suffix}", call, ahead)

    def _learn(self, rank: int, message: Any) -> None:
        if self._failure:
            return
        self._stream(message)
        learner = _Learner(
            rank,
            message["stream"],
            message["number"],
            CollectiveCall.from_json(message["call"]),
            time.monotonic() + self._timeout,
        )
        self._last[rank] = learner.call, str(learner.number)
        self._learners.append(learner)
        self._teach()
        self._find_absent_of(learner)

    def _teach(self) -> None:
        """Answer the ranks that wait for a call that another one has now reported."""
        for learner in list(self._learners):
            told = self._streams[learner.stream]
            place = learner.number - told.compared - 1
            for rank in told.ranks:
                if len(told.numbers[rank]) > place:
                    call = self._call_of(told, rank, place)
                    self._learners.remove(learner)
                    self._answer(learner.stream, learner.number, call, [learner.rank])
                    break

    def _find_absent_of(self, learner: _Learner) -> None:
        if learner not in self._learners:
            return
        told = self._streams[learner.stream]
        gone = [rank for rank in told.ranks if rank in self._left]
        if gone:
            number = f"{learner.number}{told.suffix}"
            self._absent(gone[0], number, learner.call, [learner.rank])

    # ---- time ----

    def _waits(
        self,
    ) -> Iterator[tuple[float, list[int], list[int], CollectiveCall, str]]:
        """Return deadline, who waits for whom, and in which call."""
        for (group, number), pending in self._pending.items():
            waiting = sorted(pending.calls)
            call = pending.agreed()
            shown = self._shown(group, number)
            yield pending.deadline, waiting, pending.missing(), call, shown
        for told in self._streams.values():
            if ahead := told.ahead():
                call = self._call_of(told, ahead[0], 0)
                number = f"{told.compared + 1}{told.suffix}"
                deadline = told.since + self._timeout
                yield deadline, ahead, told.behind(), call, number
        for learner in self._learners:
            told = self._streams[learner.stream]
            others = [rank for rank in told.ranks if rank != learner.rank]
            number = f"{learner.number}{told.suffix}"
            yield learner.deadline, [learner.rank], others, learner.call, number

    def _look_at_deadlines(self) -> None:
        now = time.monotonic()
        for deadline, waiting, missing, call, number in self._waits():
            if now >= deadline:
                did = ""
                if len(missing) == 1 and missing[0] in self._last:
                    did = f", whose last call was {self._last_of(missing[0])}"
                elif len(missing) == 1:
                    did = ", which called none"
                self._fail(
                    f"{listed(waiting)} waited {self._timeout:g} s in {call} (call "
                    f"{number}) for {listed(missing)}{did}"
                )
                return

    def _fail(self, text: str, all_are_alive: bool = False) -> None:
        """Tell every rank, once, why the group cannot go on."""
        self._pending.clear()
        self._streams.clear()
        self._learners.clear()
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
