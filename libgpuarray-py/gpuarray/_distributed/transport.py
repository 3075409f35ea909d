"""Bytes between ranks by TCP: a connection for each pair."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence
from typing import Protocol

from gpuarray._distributed import frames
from gpuarray._distributed.member import Member, connect

Part = tuple[int, memoryview]
"""A rank, and the bytes that go to it or come from it."""


_Parts = dict[int, memoryview]


class Broken(Exception):
    """Bytes could not be moved; the text says with whom."""


class Transport(Protocol):
    """A transport, which moves bytes between the ranks of a communicator."""

    name: str
    rank: int
    size: int

    def exchange(self, sends: Sequence[Part], receives: Sequence[Part]) -> None:
        """Send and receive at once; return when all is done.

        Raises Broken where nothing moves for the timeout or the group fails. To one
        rank goes one part at most, as comes from one.
        """

    def close(self) -> None:
        """Free what it holds."""


class Sockets:
    """TCP connections to every other rank of a communicator."""

    name = "TCP over host memory"

    def __init__(self, member: Member, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._member = member
        self._to: dict[int, socket.socket] = {}

    @classmethod
    def listening(cls, on_this_machine: bool, size: int) -> socket.socket:
        """Return the socket by which others reach this rank."""
        return frames.listen("127.0.0.1" if on_this_machine else "", 0, size)

    def join(
        self,
        listener: socket.socket,
        places: Sequence[tuple[Sequence[str], int]],
        token: str,
    ) -> None:
        """Connect to lower ranks at their addresses and ports, wait for higher ones."""
        deadline = time.monotonic() + self._member.timeout
        hello = frames.encode({"token": token, "rank": self.rank})
        with listener:
            for rank in range(self.rank):
                self._to[rank] = connect(*places[rank], deadline)
                self._to[rank].sendall(hello)
            while len(self._to) < self.size - 1:
                listener.settimeout(frames.left(deadline))
                connection, _ = listener.accept()
                said, _ = frames.receive(connection, deadline)
                if frames.same(said.get("token"), token):
                    self._to[int(said["rank"])] = frames.tune(connection)
        for connection in self._to.values():
            connection.setblocking(False)

    def exchange(self, sends: Sequence[Part], receives: Sequence[Part]) -> None:
        """Send and receive at once; see Transport."""
        out = {rank: self._send(rank, part) for rank, part in sends if len(part)}
        into = {rank: part for rank, part in receives if len(part)}
        if not into and not any(map(len, out.values())):
            return
        poll = select.poll()
        poll.register(self._member.woken, select.POLLIN)
        of_number = {self._to[rank].fileno(): rank for rank in {*out, *into}}
        for number, rank in of_number.items():
            poll.register(number, _events(rank, out, into))
        while any(map(len, out.values())) or any(map(len, into.values())):
            ready = poll.poll(self._member.timeout * 1e3)
            if not ready:
                self._stop(out, into)
            for number, events in ready:
                if number not in of_number:
                    raise Broken("the group has failed")
                rank = of_number[number]
                self._serve(rank, events, out, into)
                poll.modify(number, _events(rank, out, into))

    def _serve(self, rank: int, events: int, out: _Parts, into: _Parts) -> None:
        """Move what can be moved to a rank, and from it."""
        if events & (select.POLLIN | select.POLLHUP) and len(into.get(rank, b"")):
            into[rank] = self._receive(rank, into[rank])
        elif events & (select.POLLHUP | select.POLLERR):
            raise Broken(f"the connection to rank {rank} is closed")
        if events & select.POLLOUT and len(out.get(rank, b"")):
            out[rank] = self._send(rank, out[rank])

    def close(self) -> None:
        """Close the connections."""
        for connection in self._to.values():
            connection.close()

    def _send(self, rank: int, part: memoryview) -> memoryview:
        try:
            return part[self._to[rank].send(part) :]
        except (BlockingIOError, InterruptedError):
            return part
        except OSError as error:
            raise Broken(f"sending to rank {rank}: {error}") from None

    def _receive(self, rank: int, part: memoryview) -> memoryview:
        try:
            length = self._to[rank].recv_into(part)
        except (BlockingIOError, InterruptedError):
            return part
        except OSError as error:
            raise Broken(f"receiving from rank {rank}: {error}") from None
        if not length:
            raise Broken(f"the connection to rank {rank} is closed")
        return part[length:]

    def _stop(self, out: _Parts, into: _Parts) -> None:
        rank = next(r for parts in (into, out) for r in parts if len(parts[r]))
        raise Broken(
            f"rank {rank} has neither sent nor taken a byte for "
            f"{self._member.timeout:g} s"
        )


def _events(rank: int, out: _Parts, into: _Parts) -> int:
    events = select.POLLIN if len(into.get(rank, b"")) else 0
    return events | (select.POLLOUT if len(out.get(rank, b"")) else 0)
