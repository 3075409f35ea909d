"""A rank's connection to the hub, by which it says what it calls and learns the end."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpuarray._distributed import frames
from gpuarray._distributed.calls import CollectiveCall, error_of
from gpuarray._distributed.streams import Stream, Teller

_GRACE = 10.0  # seconds over the timeout after which a hub that is silent is given up


@dataclass(frozen=True, slots=True)
class Answer:
    """The hub's answer when all ranks have called: the call, and each one's bytes."""

    call: CollectiveCall
    contents: list[bytes]


class Member:
    """One rank of a group. A thread reads what the hub says."""

    def __init__(
        self,
        rank: int,
        addresses: Sequence[str],
        port: int,
        token: str,
        timeout: float,
    ) -> None:
        self._socket = connect(addresses, port, time.monotonic() + timeout)
        self.rank, self.timeout = rank, timeout
        self.failure: str | None = None
        self.all_are_alive = True
        self.is_well = True
        self.woken, self._wake = socket.socketpair()  # readable after a failure
        self._changed = threading.Condition()
        self._answers: dict[tuple[str, str], Answer] = {}
        self._on_failure: list[Callable[[], None]] = []
        self._sending = threading.Lock()
        self._teller = Teller(self._send)
        self._is_closed = False
        self._send({"kind": "hello", "rank": rank, "token": token})
        self._thread = threading.Thread(
            target=self._listen, name="gpuarray-distributed-member", daemon=True
        )
        self._thread.start()

    # ---- calls ----

    def stream(self, name: str, ranks: Sequence[int], suffix: str = "") -> Stream:
        """Return a new stream of calls that are reported after they are queued."""
        return self._teller.stream(name, ranks, suffix)

    def ask(
        self,
        group: str,
        number: int | str,
        call: CollectiveCall,
        content: bytes = b"",
        ranks: Sequence[int] | None = None,
    ) -> Answer:
        """Say what this rank calls; return when all ranks have said the same.

        Raises DistributedError if the group has failed, or fails meanwhile.
        """
        self.check(number, call)
        self._teller.tell()  # what was called before
        said: frames.Message = {"kind": "call", "group": group, "number": number}
        if ranks is not None:
            said["ranks"] = list(ranks)
        self._send({**said, "call": call.as_json()}, content)
        return self._answer(group, number, call)

    def learn(self, stream: Stream, number: int, call: CollectiveCall) -> Answer:
        """Return the call of this number of a stream that another rank has reported."""
        self.check(number, call)
        self._teller.tell()
        self._send(
            {
                "kind": "learn",
                "stream": stream.name,
                "ranks": stream.ranks,
                "suffix": stream.suffix,
                "number": number,
                "call": call.as_json(),
            }
        )
        return self._answer(stream.name, number, call)

    def _answer(self, group: str, number: int | str, call: CollectiveCall) -> Answer:
        key = group, str(number)
        limit = time.monotonic() + self.timeout + _GRACE
        with self._changed:
            while key not in self._answers and self.failure is None:
                if not self._changed.wait(limit - time.monotonic()):
                    break
            answer = self._answers.pop(key, None)
        if answer is None and self.failure is None:
            self.fail("rank 0, which compares the calls of ranks, does not answer")
        if answer is None:
            raise error_of(str(self.failure), self.rank, number, call)
        return answer

    def check(self, number: int | str = 0, call: CollectiveCall | None = None) -> None:
        """Raise DistributedError if the group has failed, or was left."""
        if self._is_closed and self.failure is None:
            raise error_of("the communicator is closed", self.rank, number, call)
        if self.failure is not None:
            raise error_of(self.failure, self.rank, number, call)

    def begin_group(self, group: str, ranks: Sequence[int]) -> None:
        """Tell the hub which ranks a new communicator has."""
        self._send({"kind": "group", "group": group, "ranks": list(ranks)})

    def add_source(self, add_calls: Callable[[], None]) -> None:
        """Register a source of calls, which is asked before streams are reported."""
        self._teller.sources.append(add_calls)

    def remove_source(self, add_calls: Callable[[], None]) -> None:
        """Have it called no more."""
        self._teller.sources.remove(add_calls)

    def tell_soon(self) -> None:
        """Report the calls of all streams to the hub."""
        self._teller.soon()

    # ---- failure ----

    def on_failure(self, action: Callable[[], None]) -> None:
        """Have something done, by the reading thread, when the group fails."""
        self._on_failure.append(action)

    def forget(self, action: Callable[[], None]) -> None:
        """Have it not done any more."""
        if action in self._on_failure:
            self._on_failure.remove(action)

    def fail(self, text: str, all_are_alive: bool = False) -> None:
        """End the group: every rank raises with this text at its call, or its next."""
        self._send({"kind": "fail", "text": text, "alive": all_are_alive})
        self._failed(text, all_are_alive)

    def wait_for_failure(self, seconds: float) -> None:
        """Wait a little for the hub's account of what a broken connection shows."""
        with self._changed:
            self._changed.wait_for(lambda: self.failure is not None, seconds)

    def _failed(self, text: str, all_are_alive: bool = False) -> None:
        with self._changed:
            if self.failure is not None:
                return
            self.all_are_alive = all_are_alive
            self.failure, self.is_well = text, False
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self._wake.send(b"x")
        for action in list(self._on_failure):
            action()

    # ---- the connection ----

    def close(self, text: str) -> None:
        """Leave the group."""
        if self._is_closed:
            return
        self._is_closed, self.is_well = True, False
        self._teller.close()
        self._send({"kind": "leave", "text": text})
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        for one in (self._socket, self.woken, self._wake):
            one.close()

    def _send(self, message: frames.Message, content: bytes = b"") -> None:
        frame = frames.encode(message, content)
        try:
            with self._sending:
                self._socket.sendall(frame)
        except OSError:
            pass  # the reading thread says so

    def _listen(self) -> None:
        decoder = frames.Decoder()
        try:
            while received := self._socket.recv(1 << 16):
                for message, content in decoder.feed(received):
                    self._take(message, content)
        except (OSError, frames.Closed):
            pass
        if not self._is_closed:
            self._failed(
                "rank 0, which compares the calls of ranks, ended without a word "
                "(killed, or crashed?)"
            )

    def _take(self, message: frames.Message, content: bytes) -> None:
        if message["kind"] == "fail":
            self._failed(message["text"], message["alive"])
            return
        contents, start = [], 0
        for length in message["lengths"]:
            contents.append(content[start : start + length])
            start += length
        answer = Answer(CollectiveCall.from_json(message["call"]), contents)
        with self._changed:
            self._answers[message["group"], message["number"]] = answer
            self._changed.notify_all()


def connect(addresses: Sequence[str], port: int, deadline: float) -> socket.socket:
    """Return a connection to the first of the addresses that takes one."""
    why: list[str] = []
    for address in addresses:
        limit = min(frames.left(deadline), 10.0) if len(addresses) > 1 else None
        try:
            made = socket.create_connection(
                (address, port), timeout=limit or frames.left(deadline)
            )
        except OSError as error:
            why.append(f"{address}:{port}: {error}")
            continue
        made.settimeout(None)
        return frames.tune(made)
    raise ConnectionError("; ".join(why))


class LoneMember(Member):
    """The member of a group of one rank: it has no calls to compare."""

    def __init__(self, timeout: float) -> None:
        self.rank, self.timeout = 0, timeout
        self.failure: str | None = None
        self.all_are_alive = True
        self.is_well = True
        self._is_closed = False
        self._teller = Teller(lambda message, content: None)

    def ask(
        self,
        group: str,
        number: int | str,
        call: CollectiveCall,
        content: bytes = b"",
        ranks: Sequence[int] | None = None,
    ) -> Answer:
        """See Member."""
        self.check(number, call)
        return Answer(call, [content])

    def stream(self, name: str, ranks: Sequence[int], suffix: str = "") -> Stream:
        """See Member; there is no hub to report to."""
        return Stream(self._teller, name, ranks, suffix)

    def begin_group(self, group: str, ranks: Sequence[int]) -> None:
        """See Member."""

    def on_failure(self, action: Callable[[], None]) -> None:
        """See Member."""

    def forget(self, action: Callable[[], None]) -> None:
        """See Member."""

    def wait_for_failure(self, seconds: float) -> None:
        """See Member."""

    def fail(self, text: str, all_are_alive: bool = False) -> None:
        """See Member."""
        self.failure, self.is_well = self.failure or text, False

    def close(self, text: str) -> None:
        """See Member."""
        self._is_closed, self.is_well = True, False
