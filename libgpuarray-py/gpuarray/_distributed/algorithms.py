"""Collectives on host memory, of exchanges between ranks.

Reductions fold in an order that follows from the ranks and lengths alone, and each
element is folded on one rank: all ranks get the same bits, at every run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._distributed.transport import Transport

Vector = npt.NDArray[Any]
Fold = Callable[..., Any]

_SMALL = 1 << 15  # bytes below which latency decides: a tree, not a ring


def _bytes(vector: Vector) -> memoryview:
    """The bytes of a vector that lies in one piece."""
    return vector.view(np.uint8).data


def broadcast(t: Transport, vector: Vector, root: int) -> None:
    """Copy the root's elements to all: a binomial tree."""
    place = (t.rank - root) % t.size
    reach = 1
    while reach < t.size:
        if place < reach and place + reach < t.size:
            _send(t, (place + reach + root) % t.size, vector)
        elif reach <= place < 2 * reach:
            _receive(t, (place - reach + root) % t.size, vector)
        reach *= 2


def reduce(t: Transport, vector: Vector, fold: Fold, root: int) -> None:
    """Fold all ranks' elements into the root's vector: a binomial tree.

    The vectors of other ranks are written, too.
    """
    place = (t.rank - root) % t.size
    other = np.empty_like(vector)
    reach = 1
    while reach < t.size:
        if place % (2 * reach) == reach:
            _send(t, (place - reach + root) % t.size, vector)
            return
        if place + reach < t.size:
            _receive(t, (place + reach + root) % t.size, other)
            fold(vector, other, out=vector)
        reach *= 2


def all_reduce(t: Transport, vector: Vector, fold: Fold) -> None:
    """Fold all ranks' elements into every rank's vector."""
    if vector.nbytes < _SMALL or t.size == 1:
        reduce(t, vector, fold, 0)
        broadcast(t, vector, 0)
        return
    parts = np.array_split(vector, t.size)
    _fold_in_ring(t, parts, fold)
    _gather_in_ring(t, parts)


def reduce_scatter(t: Transport, vector: Vector, fold: Fold) -> Vector:
    """Fold all ranks' elements; return this rank's part. ``vector`` is overwritten."""
    parts = np.split(vector, t.size)
    _fold_in_ring(t, parts, fold)
    return parts[t.rank]


def all_gather(t: Transport, vector: Vector, every: Vector) -> None:
    """Write all ranks' elements, in the order of ranks, to ``every``."""
    parts = np.split(every, t.size)
    parts[t.rank][...] = vector
    _gather_in_ring(t, parts)


def all_to_all(t: Transport, vector: Vector, every: Vector) -> None:
    """Send part i of ``vector`` to rank i; part i of ``every`` is from rank i."""
    parts, into = np.split(vector, t.size), np.split(every, t.size)
    into[t.rank][...] = parts[t.rank]
    others = [rank for rank in range(t.size) if rank != t.rank]
    t.exchange(
        [(rank, _bytes(parts[rank])) for rank in others],
        [(rank, _bytes(into[rank])) for rank in others],
    )


def gather(t: Transport, vector: Vector, every: Vector | None, root: int) -> None:
    """Write all ranks' elements, in the order of ranks, to the root's ``every``."""
    if every is None:
        _send(t, root, vector)
        return
    into = np.split(every, t.size)
    into[root][...] = vector
    others = [rank for rank in range(t.size) if rank != root]
    t.exchange([], [(rank, _bytes(into[rank])) for rank in others])


def scatter(t: Transport, vector: Vector | None, part: Vector, root: int) -> None:
    """Write part i of the root's ``vector`` to rank i's ``part``."""
    if vector is None:
        _receive(t, root, part)
        return
    parts = np.split(vector, t.size)
    part[...] = parts[root]
    others = [rank for rank in range(t.size) if rank != root]
    t.exchange([(rank, _bytes(parts[rank])) for rank in others], [])


def send(t: Transport, vector: Vector, rank: int) -> None:
    """Send a vector to a rank."""
    _send(t, rank, vector)


def receive(t: Transport, vector: Vector, rank: int) -> None:
    """Receive a vector from a rank."""
    _receive(t, rank, vector)


def _send(t: Transport, rank: int, vector: Vector) -> None:
    t.exchange([(rank, _bytes(vector))], [])


def _receive(t: Transport, rank: int, vector: Vector) -> None:
    t.exchange([], [(rank, _bytes(vector))])


def _fold_in_ring(t: Transport, parts: list[Vector], fold: Fold) -> None:
    """Fold part r of all ranks into rank r's; other parts are overwritten."""
    after, before = (t.rank + 1) % t.size, (t.rank - 1) % t.size
    other = np.empty_like(max(parts, key=len))
    for turn in range(1, t.size):
        leaving, coming = (
            parts[(t.rank - turn) % t.size],
            parts[(t.rank - turn - 1) % t.size],
        )
        part = other[: len(coming)]
        t.exchange([(after, _bytes(leaving))], [(before, _bytes(part))])
        fold(part, coming, out=coming)


def _gather_in_ring(t: Transport, parts: list[Vector]) -> None:
    """Copy part r of rank r to all."""
    after, before = (t.rank + 1) % t.size, (t.rank - 1) % t.size
    for turn in range(t.size - 1):
        leaving, coming = (
            parts[(t.rank - turn) % t.size],
            parts[(t.rank - turn - 1) % t.size],
        )
        t.exchange([(after, _bytes(leaving))], [(before, _bytes(coming))])
