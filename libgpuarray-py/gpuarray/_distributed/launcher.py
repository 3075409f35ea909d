"""The interface to what starts processes: a rank, and bytes exchanged among them."""

from __future__ import annotations

from typing import Any, Protocol


class Launcher(Protocol):
    """One rank of a job, as MPI, torchrun, Slurm, Dask or Ray has started it.

    It is asked for a few hundred bytes while a group is made, and closed then, but
    where ``mpi`` has a communicator of MPI's, whose messages move the elements.
    """

    name: str
    rank: int
    size: int
    local_rank: int
    mpi: Any

    def exchange(self, content: bytes) -> list[bytes]:
        """Return the bytes of each rank."""

    def barrier(self) -> None:
        """Wait for all ranks."""

    def close(self) -> None:
        """Free what it holds."""
