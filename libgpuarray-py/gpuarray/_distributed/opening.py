"""The making of a group: the launcher is found, the hub is started, ranks join it."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import socket
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuarray._core.context import Context
from gpuarray._core.devices import device_names
from gpuarray._core.opening import context as open_context
from gpuarray._distributed import clusters, launchers
from gpuarray._distributed.alone import AloneEngine
from gpuarray._distributed.calls import WORLD, CollectiveCall
from gpuarray._distributed.communicator import Communicator
from gpuarray._distributed.engine import Engine
from gpuarray._distributed.frames import own_addresses
from gpuarray._distributed.groups import Group
from gpuarray._distributed.host import HostEngine
from gpuarray._distributed.hub import Hub
from gpuarray._distributed.launcher import Launcher
from gpuarray._distributed.member import LoneMember, Member
from gpuarray._distributed.mpi import Messages
from gpuarray._distributed.nccl import NcclEngine
from gpuarray._distributed.transport import Sockets, Transport
from gpuarray._interop import pickling
from gpuarray.config import settings
from gpuarray.errors import BadArgument, BadValue, DistributedError

Make = Callable[[Mapping[str, str], str, float], Launcher]
Has = Callable[[Mapping[str, str]], bool]

LAUNCHERS: dict[str, tuple[Has, Make]] = {
    "dask": (clusters.has_dask, clusters.by_dask),
    "ray": (clusters.has_ray, clusters.by_ray),
    "torchrun": (launchers.has_torchrun, launchers.by_torchrun),
    "mpi": (launchers.has_mpi, launchers.by_mpi),
    "slurm": (launchers.has_slurm, launchers.by_slurm),
}
"""Launchers: the test for a process that each has started, and its rank."""

_numbers = itertools.count(1)


def init(
    context: Context | str | None = None,
    *,
    by: str | None = None,
    timeout: float = 300.0,
) -> Communicator:
    """Join the processes that a launcher has started; return their communicator.

    ``by`` names the launcher: "mpi" (mpi4py), "torchrun" (its variables RANK,
    WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, whoever sets them), "slurm",
    "dask" and "ray" (``run_on_dask``, ``run_on_ray``), or "none" for one process. By
    default it is the first that has left its marks, in the order Dask, Ray, torchrun,
    MPI, Slurm; the communicator's repr says which. All ranks wait here for each other.

    The context is ``context``, else GPUARRAY_DEVICE, else on Dask that which
    ``one_device_per_worker`` gave, else the CUDA device of the number that the process
    has on its machine, else the first OpenCL device. ``timeout`` is in seconds: a call
    that waits longer for another rank raises DistributedError on every rank.

    >>> comm = gpuarray.distributed.init("null", by="none")
    >>> comm
    <communicator 'world': rank 0 of 1, found by no launcher, no other rank, on 'null'>
    >>> comm.close()
    """
    if not timeout > 0:
        raise BadValue(f"init: got timeout {timeout}, expected seconds, more than 0")
    launcher = _find(by, timeout)
    try:
        chosen = open_context(context or _device(launcher))
        return _join(launcher, chosen, timeout)
    except OSError as error:
        raise DistributedError(
            f"init: rank {launcher.rank} cannot connect to the other ranks: {error}; "
            "do their machines let each other in by TCP?"
        ) from error
    finally:
        launcher.close()


def _find(by: str | None, timeout: float) -> Launcher:
    found = (name for name, (has, _) in LAUNCHERS.items() if has(os.environ))
    name = by or next(found, "none")
    if name == "none":
        return launchers.OneProcess()
    if name not in LAUNCHERS:
        raise BadArgument(
            f"init: got by={by!r}, expected one of {', '.join(LAUNCHERS)}, none"
        )
    return LAUNCHERS[name][1](os.environ, str(next(_numbers)), timeout)


def _device(launcher: Launcher) -> str | None:
    """Return the name of a process's device; None: the default."""
    has_one = launcher.name == "Dask" and pickling.unpickles_at_default()
    if settings().device or has_one:
        return None
    cuda = device_names("cuda")[0]
    if cuda:
        return f"cuda{launcher.local_rank % len(cuda)}"
    return next(iter(device_names("opencl")[0]), None)


# ---- joining ----


def _join(launcher: Launcher, context: Context, timeout: float) -> Communicator:
    ranks = list(range(launcher.size))
    member, hub, token, addresses = (
        (LoneMember(timeout), None, "", [["127.0.0.1"]])
        if launcher.size == 1
        else _enter(launcher, timeout)
    )
    is_near = all(one == ["127.0.0.1"] for one in addresses)
    group = Group(member, hub, context, launcher.local_rank, launcher.name)
    numbers = itertools.count()

    def transport(name: str, some: Sequence[int], rank: int) -> Transport:
        if launcher.mpi is not None:
            tag = zlib.crc32(name.encode()) % 30000
            return Messages(member, launcher.mpi, some, rank, tag)
        made = Sockets(member, rank, len(some))
        if len(some) > 1:
            number = f"sockets {next(numbers)}" if name == WORLD else "sockets"
            with Sockets.listening(is_near, len(some)) as listener:
                port = str(listener.getsockname()[1]).encode()
                answer = member.ask(name, number, CollectiveCall("join"), port, some)
                places = [
                    (addresses[world], int(said))
                    for world, said in zip(some, answer.contents, strict=True)
                ]
                made.join(listener, places, token)
        return made

    try:
        engine = _engine(group, launcher, transport)
        made = Communicator(group, engine, WORLD, ranks, launcher.rank)
        group.add(engine)
    except BaseException:
        group.close("could not join", 1.0)
        raise
    return made


def _engine(group: Group, launcher: Launcher, transport: Any) -> Engine:
    ranks = list(range(launcher.size))
    if launcher.size == 1:
        return AloneEngine()
    if group.context.kind == "cuda":
        return NcclEngine(group.member, group.context, WORLD, ranks, launcher.rank)
    return HostEngine(transport(WORLD, ranks, launcher.rank), group.context, transport)


def _enter(
    launcher: Launcher, timeout: float
) -> tuple[Member, Hub | None, str, list[list[str]]]:
    """Start the hub on rank 0 and join it; return the addresses of all ranks, too."""
    machine = _machine()
    machines = [one.decode() for one in launcher.exchange(machine.encode())]
    is_near = len(set(machines)) == 1
    addresses = [] if is_near else own_addresses() or [socket.gethostname()]
    mine: dict[str, Any] = {"addresses": addresses}
    hub = None
    if launcher.rank == 0:
        token = secrets.token_hex(16)
        hub = Hub("127.0.0.1" if is_near else "", launcher.size, token, timeout)
        mine |= {"port": hub.port, "token": token}
    try:
        said = json.dumps(mine).encode()
        every = [json.loads(one) for one in launcher.exchange(said)]
        places = [
            ["127.0.0.1"] if there == machine else one["addresses"]
            for there, one in zip(machines, every, strict=True)
        ]
        port, token = every[0]["port"], every[0]["token"]
        member = _member(launcher, places[0], port, token, timeout)
    except BaseException:
        if hub is not None:
            hub.close(0.0)
        raise
    return member, hub, token, places


def _member(
    launcher: Launcher, addresses: list[str], port: int, token: str, timeout: float
) -> Member:
    """Join the hub; a rank that cannot is named by all."""
    problem, member = "", None
    try:
        member = Member(launcher.rank, addresses, port, token, timeout)
    except OSError as error:
        problem = str(error)
    problems = launcher.exchange(problem.encode())
    for rank, one in enumerate(problems):
        if one:
            if member is not None:
                member.close("could not join")
            raise DistributedError(
                f"init: rank {rank} cannot connect to rank 0: {one.decode()}; do their "
                "machines let each other in by TCP?"
            )
    assert member is not None
    return member


def _machine() -> str:
    """Return the identity of this machine or container."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123
            boot = file.read().strip()
    except OSError:
        boot = sys.platform
    return f"{socket.gethostname()} {boot}"
