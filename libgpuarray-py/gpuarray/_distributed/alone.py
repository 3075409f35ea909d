"""The collectives of a single rank: copies on its device."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray._distributed.streams import Record, Stream
from gpuarray.array import Array


class AloneEngine:
    """Gives each array what it was given."""

    name = "no other rank"
    compares_first = True
    records = True

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        """See Engine."""
        _copy(x, out)

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:
        """See Engine."""
        _copy(x, out)

    def broadcast(self, x: Array, root: int) -> None:
        """See Engine."""

    def all_gather(self, x: Array, out: Array) -> None:
        """See Engine."""
        _copy(x, out)

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:
        """See Engine."""
        _copy(x, out)

    def all_to_all(self, x: Array, out: Array) -> None:
        """See Engine."""
        _copy(x, out)

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        """See Engine."""
        _copy(x, out)

    def scatter(self, x: Array | None, out: Array, root: int) -> None:
        """See Engine."""
        _copy(x, out)

    def send(self, x: Array, rank: int) -> None:
        """See Engine; the communicator refuses a message to oneself."""

    def receive(self, out: Array, rank: int) -> None:
        """See Engine; the communicator refuses a message to oneself."""

    def part(self, group: str, ranks: Sequence[int], rank: int) -> AloneEngine:
        """See Engine."""
        return self

    def mark(self, stream: Stream, record: Record) -> None:
        """See Engine; it waits."""

    def drain(self) -> None:
        """See Engine; it waits."""

    def close(self) -> None:
        """See Engine."""


def _copy(x: Array | None, out: Array | None) -> None:
    if x is not None and out is not None and x is not out:
        out.reshape(-1)[...] = x.reshape(-1)
