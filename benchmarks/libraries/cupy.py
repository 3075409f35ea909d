"""CuPy, eager, and as `cupy.fuse` where that takes the function."""

from __future__ import annotations

from typing import Any

import cupy as cp
import cupyx.scipy.sparse

from benchmarks.libraries.base import NotOffered, Plain, Prepared, eager
from benchmarks.rows import Row


def prepare(row: Row, variant: str, place: str) -> Prepared:
    """On the first CUDA device."""
    if place != "cuda":
        raise NotOffered("needs CUDA")
    wait = cp.cuda.Device().synchronize
    if variant == "fuse":
        return fused(row, wait)
    names = Plain(cp, cp.random.default_rng(0), csr=cupyx.scipy.sparse.csr_matrix)
    names.permutation = cp.random.permutation  # its generators have none
    prepared = eager(row, names, cp.asarray, wait, cp.asnumpy)
    prepared.peak = lambda: peak(prepared)
    return prepared


def fused(row: Row, wait: Any) -> Prepared:
    """The row's function of its data as one kernel."""
    if row.state() or not row.text:
        raise NotOffered("no expression")
    data = [cp.asarray(array) for array in row.data()]
    function = cp.fuse(lambda *args: row.work(cp, [], list(args))[1][0])
    kept: list[Any] = [None]

    def call() -> None:
        kept[0] = function(*data)
        if row.to_host:
            kept[0] = cp.asnumpy(kept[0])

    return Prepared(call, wait, lambda: [cp.asnumpy(kept[0])])


def peak(prepared: Prepared) -> float:
    """What the pool has asked the driver for after it gave everything back."""
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    for _ in range(3):
        prepared.call()
    prepared.wait()
    return float(pool.total_bytes())
