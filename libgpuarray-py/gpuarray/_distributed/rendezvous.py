"""The rendezvous: ranks that know one address exchange bytes by TCP.

It is how ranks without MPI meet. Rank 0 listens at the first free port of a short list,
and the others try them until rank 0 of the same job answers there.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence

from gpuarray._distributed import frames
from gpuarray._distributed.calls import listed
from gpuarray.errors import DistributedError

_PAUSE = 0.05
_PATIENCE = 2.0
"""Seconds that one side waits for the other's word while they meet."""


class Rendezvous:
    """One rank of a job at ``host``; making it waits for all of them."""

    def __init__(
        self,
        host: str,
        ports: Sequence[int],
        job: str,
        rank: int,
        size: int,
        timeout: float,
    ) -> None:
        self.rank, self.size = rank, size
        self._timeout, self._job = timeout, job
        self._where = f"{host}, port {ports[0]} to {ports[-1]}"
        self._others: dict[int, socket.socket] = {}
        deadline = time.monotonic() + timeout
        if rank == 0:
            self._meet(host, ports, deadline)
        else:
            self._others[0] = self._find(host, ports, deadline)

    def exchange(self, content: bytes) -> list[bytes]:
        """Return the bytes that each rank gave."""
        deadline = time.monotonic() + self._timeout
        if self.rank:
            connection = self._others[0]
            connection.sendall(frames.encode({}, content))
            lengths, every = self._receive(0, deadline)
            return _pieces(every, lengths["lengths"])
        contents = [content, *(self._receive(r, deadline)[1] for r in self._in_order())]
        answer = frames.encode(
            {"lengths": [len(one) for one in contents]}, b"".join(contents)
        )
        for rank in self._in_order():
            self._others[rank].sendall(answer)
        return contents

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.exchange(b"")

    def close(self) -> None:
        """Close the connections."""
        for connection in self._others.values():
            connection.close()
        self._others.clear()

    def _in_order(self) -> range:
        return range(1, self.size)

    def _receive(self, rank: int, deadline: float) -> tuple[frames.Message, bytes]:
        try:
            return frames.receive(self._others[rank], deadline)
        except (OSError, frames.Closed) as error:
            self.close()
            raise DistributedError(
                f"init: rank {self.rank} lost rank {rank} while they met at "
                f"{self._where}: {type(error).__name__}"
            ) from None

    # ---- rank 0 ----

    def _meet(self, host: str, ports: Sequence[int], deadline: float) -> None:
        listener = _first_free(host, ports, self.size)
        with listener:
            while missing := [r for r in self._in_order() if r not in self._others]:
                listener.settimeout(frames.left(deadline))
                try:
                    connection, _ = listener.accept()
                    self._admit(frames.tune(connection))
                except (OSError, frames.Closed):
                    if time.monotonic() < deadline:
                        continue
                    self.close()
                    raise DistributedError(
                        f"init: rank 0 waited {self._timeout:g} s at {self._where} for "
                        f"{listed(missing)} of {self.size} ranks; were they started?"
                    ) from None

    def _admit(self, connection: socket.socket) -> None:
        """Take in a rank that says who it is, and that it has heard the answer."""
        try:
            hello, _ = frames.receive(connection, time.monotonic() + _PATIENCE)
            if self._answer(connection, hello):
                frames.receive(connection, time.monotonic() + _PATIENCE)
                self._others[int(hello["rank"])] = connection
                return
        except BaseException:
            connection.close()
            raise
        connection.close()

    def _answer(self, connection: socket.socket, hello: frames.Message) -> bool:
        """Tell one who has come whether it is a rank of this job; return that."""
        rank, is_ours = hello.get("rank"), frames.same(hello.get("job"), self._job)
        fits = rank in self._in_order() and hello.get("size") == self.size
        if is_ours and fits and rank not in self._others:
            connection.sendall(frames.encode({"admitted": self._job}))
            return True
        twice = rank in self._others or rank == 0
        why = "another job"
        if is_ours:
            why = (
                f"rank {rank} of {hello.get('size')} ranks where rank 0 has {self.size}"
            )
            why = f"a second rank {rank}" if fits and twice else why
        connection.sendall(frames.encode({"why": why, "final": is_ours}))
        return False

    # ---- the others ----

    def _find(self, host: str, ports: Sequence[int], deadline: float) -> socket.socket:
        hello = frames.encode({"job": self._job, "rank": self.rank, "size": self.size})
        while time.monotonic() < deadline:
            for port in ports:
                try:
                    found = self._try(host, port, hello, deadline)
                except (OSError, frames.Closed):
                    continue
                if found:
                    return found
            time.sleep(_PAUSE)
        raise DistributedError(
            f"init: rank {self.rank} waited {self._timeout:g} s for rank 0 at "
            f"{self._where}; was it started, and is its port open?"
        )

    def _try(
        self, host: str, port: int, hello: bytes, deadline: float
    ) -> socket.socket | None:
        limit = min(frames.left(deadline), _PATIENCE)
        connection = frames.tune(socket.create_connection((host, port), limit))
        try:
            connection.sendall(hello)
            answer, _ = frames.receive(connection, time.monotonic() + limit)
            if "admitted" in answer:
                connection.sendall(frames.encode({}))
        except BaseException:
            connection.close()
            raise
        # A port of the range for outgoing connections may have connected to itself.
        if frames.same(answer.get("admitted"), self._job):
            return connection
        connection.close()
        if answer.get("final"):
            raise DistributedError(
                f"init: rank 0 at {host}:{port} refused rank {self.rank} of "
                f"{self.size}: it is {answer.get('why')}"
            )
        return None


def _first_free(host: str, ports: Sequence[int], size: int) -> socket.socket:
    """Listen on this machine only, if ``host`` names no other."""
    try:
        address = socket.gethostbyname(host)
    except OSError as error:
        raise DistributedError(
            f"init: the host {host!r} is not known: {error}"
        ) from None
    interface = "127.0.0.1" if address.startswith("127.") else ""
    for port in ports:
        try:
            return frames.listen(interface, port, size)
        except OSError:
            continue
    raise DistributedError(
        f"init: rank 0 found no free port of {ports[0]} to {ports[-1]} on {host}"
    )


def _pieces(every: bytes, lengths: Sequence[int]) -> list[bytes]:
    found, start = [], 0
    for length in lengths:
        found.append(every[start : start + length])
        start += length
    return found
