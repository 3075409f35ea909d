"""A trial of every collective among the ranks at hand, judged by NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpuarray._distributed.communicator import Communicator
from gpuarray._distributed.nccl import libraries
from gpuarray.array import Array

Host = npt.NDArray[Any]
Work = Callable[[Communicator, Array], Array | None]
Expected = Callable[[list[Host], int], Host | None]

_SMALL, _LARGE = 4, 1 << 20  # numbers of float32 of each rank


class Trial(NamedTuple):
    """The result of a trial: right on all ranks; seconds of small and large calls."""

    name: str
    is_right: bool
    small: float
    large: float


def _ring(comm: Communicator, x: Array) -> Array:
    """Send to the next rank, receive from the one before; even ranks send first."""
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if comm.rank % 2 == 0:
        comm.send(x, after)
    got = comm.recv(before)
    if comm.rank % 2:
        comm.send(x, after)
    return got


def _part(whole: Host, ranks: int, rank: int) -> Host:
    part: Host = np.split(whole, ranks)[rank]
    return part


_TRIALS: dict[str, tuple[Work, Expected]] = {
    "all_reduce": (lambda c, x: c.all_reduce(x), lambda every, rank: sum(every)),  # type: ignore[dict-item,return-value]
    "reduce": (
        lambda c, x: c.reduce(x, "max"),
        lambda every, rank: None if rank else np.max(every, 0),
    ),
    "broadcast": (lambda c, x: c.broadcast(x.copy()), lambda every, rank: every[0]),
    "all_gather": (
        lambda c, x: c.all_gather(x),
        lambda every, rank: np.concatenate(every),
    ),
    "reduce_scatter": (
        lambda c, x: c.reduce_scatter(x),
        lambda every, rank: _part(np.sum(every, 0), len(every), rank),
    ),
    "all_to_all": (
        lambda c, x: c.all_to_all(x),
        lambda every, rank: np.concatenate(
            [_part(one, len(every), rank) for one in every]
        ),
    ),
    "gather": (
        lambda c, x: c.gather(x),
        lambda every, rank: None if rank else np.concatenate(every),
    ),
    "scatter": (
        lambda c, x: c.scatter(None if c.rank else x),
        lambda every, rank: _part(every[0], len(every), rank),
    ),
    "send and recv": (_ring, lambda every, rank: every[rank - 1]),
    "split": (
        lambda c, x: _of_half(c, x),
        lambda every, rank: np.sum(every[rank % 2 :: 2], 0),
    ),
}


def _of_half(comm: Communicator, x: Array) -> Array:
    half = comm.split(comm.rank % 2)
    assert half is not None
    total = half.all_reduce(x)
    half.close()
    return total


def _values(comm: Communicator, count: int) -> list[Host]:
    length = -(-count // comm.size) * comm.size
    first = np.arange(length, dtype=np.float32) % 997
    return [first + rank for rank in range(comm.size)]


def _seconds(comm: Communicator, work: Work, x: Array) -> tuple[float, Array | None]:
    work(comm, x)
    comm.barrier()
    start = time.perf_counter()
    result = work(comm, x)
    comm.context.sync()
    return time.perf_counter() - start, result


def trials(comm: Communicator) -> Iterator[Trial]:
    """Try each collective; the same answer on every rank."""
    for name, (work, expected) in _TRIALS.items():
        if comm.size == 1 and name == "send and recv":
            continue
        took, is_right = [], True
        for count in (_SMALL, _LARGE):
            every = _values(comm, count)
            x = Array.from_host(every[comm.rank], comm.context)
            seconds, result = _seconds(comm, work, x)
            took.append(seconds)
            wanted = expected(every, comm.rank)
            is_right &= (result is None) == (wanted is None)
            if result is not None and wanted is not None:
                is_right &= np.array_equal(result.get(), wanted)
        flag = Array.from_host(np.array([is_right], np.int32), comm.context)
        are_all = bool(comm.all_reduce(flag, "min").get()[0])
        yield Trial(name, are_all, *took)


def report(comm: Communicator) -> Iterator[tuple[str, bool]]:
    """Return the lines of the trial's table, and whether all is right so far."""
    yield f"{comm}", True
    for path in libraries():
        yield f"  {path}", True
    yield "", True
    yield f"{'':15}{'':8}{'a few':>12}{'a million':>12}", True
    for trial in trials(comm):
        verdict = "right" if trial.is_right else "WRONG"
        small, large = (f"{s * 1e6:.0f} us" for s in (trial.small, trial.large))
        yield f"{trial.name:15}{verdict:8}{small:>12}{large:>12}", trial.is_right
