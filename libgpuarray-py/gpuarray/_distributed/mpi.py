"""Bytes between ranks by MPI, over host memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from gpuarray._distributed.member import Member
from gpuarray._distributed.transport import Broken, Part

_PIECE = 1 << 30  # bytes of one message, whose count is an int
_TAG = 77
_SPINS, _SHORT, _LONG = 2000, 2e-5, 1e-3


class Messages:
    """Messages of MPI's among some ranks of its world."""

    name = "MPI over host memory"

    def __init__(
        self, member: Member, world: Any, ranks: Sequence[int], rank: int, tag: int
    ) -> None:
        self.rank, self.size = rank, len(ranks)
        self._member = member
        group = world.Get_group()
        some = group.Incl(list(ranks))
        self._comm = world.Create_group(some, tag)
        some.Free()
        group.Free()

    def exchange(self, sends: Sequence[Part], receives: Sequence[Part]) -> None:
        """Send and receive at once; see Transport."""
        requests = [
            call([piece, self._byte], peer, _TAG)
            for call, parts in ((self._comm.Irecv, receives), (self._comm.Isend, sends))
            for peer, part in parts
            for piece in _pieces(part)
        ]
        limit = time.monotonic() + self._member.timeout
        spins = 0
        while requests:
            open_ones = [request for request in requests if not request.Test()]
            if len(open_ones) < len(requests):
                limit = time.monotonic() + self._member.timeout
                spins = 0
            requests = open_ones
            if not requests:
                return
            if self._member.failure is not None:
                _abandoned.append((requests, sends, receives))
                raise Broken("the group has failed")
            if time.monotonic() > limit:
                _abandoned.append((requests, sends, receives))
                raise Broken(f"no message of MPI came for {self._member.timeout:g} s")
            spins += 1
            if spins > _SPINS:
                time.sleep(_LONG if spins > 2 * _SPINS else _SHORT)

    @property
    def _byte(self) -> Any:
        from mpi4py import MPI

        return MPI.BYTE

    def close(self) -> None:
        """Free the communicator of MPI's, unless the group has failed."""
        if self._member.failure is None:
            self._comm.Free()


_abandoned: list[Any] = []
"""Messages of groups that have failed, which MPI may still write to."""


def _pieces(part: memoryview) -> list[memoryview]:
    return [part[start : start + _PIECE] for start in range(0, len(part), _PIECE)]
