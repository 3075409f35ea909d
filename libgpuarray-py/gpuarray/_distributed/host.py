"""Collectives by way of host memory, for devices whose vendor has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.context import Context
from gpuarray._distributed import algorithms
from gpuarray._distributed.streams import Record, Stream
from gpuarray._distributed.transport import Transport
from gpuarray._native import address, check, lib
from gpuarray.array import Array
from gpuarray.dtypes import work_dtype

Vector = npt.NDArray[Any]

_FOLDS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "mean": np.add,
}

MakeTransport = Callable[[str, Sequence[int], int], Transport]
"""Makes the transport of a group of ranks of the world, of which one is this."""


class HostEngine:
    """Reads arrays, moves and folds them on the host, and writes the results.

    float16 and bfloat16 are folded as float32 and rounded once.
    """

    compares_first = True
    records = False

    def __init__(
        self, transport: Transport, context: Context, make: MakeTransport
    ) -> None:
        self.name = transport.name
        self._t, self._context, self._make = transport, context, make

    def all_reduce(self, x: Array, out: Array, op: str) -> None:
        """See Engine."""
        vector = _to_fold(x)
        algorithms.all_reduce(self._t, vector, _FOLDS[op])
        self._store(vector, out, op)

    def reduce(self, x: Array, out: Array | None, op: str, root: int) -> None:
        """See Engine."""
        vector = _to_fold(x)
        algorithms.reduce(self._t, vector, _FOLDS[op], root)
        if out is not None:
            self._store(vector, out, op)

    def broadcast(self, x: Array, root: int) -> None:
        """See Engine."""
        vector = _read(x) if self._t.rank == root else np.empty(x.size, x.dtype)
        algorithms.broadcast(self._t, vector, root)
        if self._t.rank != root:
            _write(vector, x)

    def all_gather(self, x: Array, out: Array) -> None:
        """See Engine."""
        every = np.empty(out.size, out.dtype)
        algorithms.all_gather(self._t, _read(x), every)
        _write(every, out)

    def reduce_scatter(self, x: Array, out: Array, op: str) -> None:
        """See Engine."""
        part = algorithms.reduce_scatter(self._t, _to_fold(x), _FOLDS[op])
        self._store(part, out, op)

    def all_to_all(self, x: Array, out: Array) -> None:
        """See Engine."""
        every = np.empty(out.size, out.dtype)
        algorithms.all_to_all(self._t, _read(x), every)
        _write(every, out)

    def gather(self, x: Array, out: Array | None, root: int) -> None:
        """See Engine."""
        every = None if out is None else np.empty(out.size, out.dtype)
        algorithms.gather(self._t, _read(x), every, root)
        if out is not None and every is not None:
            _write(every, out)

    def scatter(self, x: Array | None, out: Array, root: int) -> None:
        """See Engine."""
        vector = None if x is None else _read(x)
        part = np.empty(out.size, out.dtype)
        algorithms.scatter(self._t, vector, part, root)
        _write(part, out)

    def send(self, x: Array, rank: int) -> None:
        """See Engine."""
        algorithms.send(self._t, _read(x), rank)

    def receive(self, out: Array, rank: int) -> None:
        """See Engine."""
        vector = np.empty(out.size, out.dtype)
        algorithms.receive(self._t, vector, rank)
        _write(vector, out)

    def part(self, group: str, ranks: Sequence[int], rank: int) -> HostEngine:
        """See Engine."""
        transport = self._make(group, ranks, rank)
        return HostEngine(transport, self._context, self._make)

    def mark(self, stream: Stream, record: Record) -> None:
        """See Engine; it waits."""

    def drain(self) -> None:
        """See Engine; it waits."""

    def close(self) -> None:
        """See Engine."""
        self._t.close()

    def _store(self, vector: Vector, out: Array, op: str) -> None:
        """Write what was folded, rounded to the dtype of ``out``."""
        if op == "mean":
            vector = vector / np.asarray(self._t.size, vector.dtype)
        _write(vector.astype(out.dtype, copy=False), out)


def _read(x: Array) -> Vector:
    """Return the elements as a vector of the host's; waits for them."""
    return np.ascontiguousarray(x.get()).reshape(-1)


def _to_fold(x: Array) -> Vector:
    """Return a vector to be overwritten, in the dtype that folds are computed in."""
    return _read(x).astype(work_dtype(x.dtype), copy=True)


def _write(vector: Vector, out: Array) -> None:
    if out.size:
        vector = np.ascontiguousarray(vector)
        check(lib.GpuArray_write(out.struct, address(vector), out.nbytes), "collective")
