"""Engines, which move elements of arrays between ranks, for a communicator.

Arrays are of the communicator's context, contiguous in C order and of fitting shapes:
the communicator has seen to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gpuarray._distributed.streams import Record, Stream
from gpuarray.array import Array

OPERATIONS = "sum", "prod", "min", "max", "mean"
"""The operations of reductions."""


class Engine(Protocol):
    """The collectives of one rank of a communicator."""

    name: str
    compares_first: bool
    """True if calls of ranks are compared before anything moves, since it waits anyway;
    else the work is queued, and a difference is told of when it is found."""

    records: bool
    """True if a plan that is bound records its work; else each run of the plan has to
    call it."""

    def mark(self, stream: Stream, record: Record) -> None:
        """Have the next call added to a stream when it is queued, if it waits not."""

    def drain(self) -> None:
        """Add to their streams the calls that were queued."""

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        """Fold the elements of all ranks into every rank's ``out``."""

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:
        """Fold the elements of all ranks into the root's ``out``."""

    def broadcast(self, x: Array, root: int) -> None:
        """Copy the root's elements into every rank's ``x``."""

    def all_gather(self, x: Array, out: Array) -> None:
        """Write the elements of all ranks to every rank's ``out``."""

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:
        """Fold the elements of all ranks; write this rank's part to ``out``."""

    def all_to_all(self, x: Array, out: Array) -> None:
        """Exchange part i of ``x`` with rank i."""

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        """Write the elements of all ranks to the root's ``out``."""

    def scatter(self, x: Array | None, out: Array, root: int) -> None:
        """Write part i of the root's ``x`` to rank i's ``out``."""

    def send(self, x: Array, rank: int) -> None:
        """Send the elements of ``x`` to a rank."""

    def receive(self, out: Array, rank: int) -> None:
        """Receive the elements of ``out`` from a rank."""

    def part(self, group: str, ranks: Sequence[int], rank: int) -> Engine:
        """Return the engine of a communicator of some ranks, of which this is one."""

    def close(self) -> None:
        """Free what it holds."""
