"""Collectives from 1 KiB to 1 GiB: one by one, and several in a function or a graph.

Bus bandwidth is that of NCCL's tests: bytes per second over the slowest link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gpuarray
import numpy as np
import torch
import torch.distributed as dist
from gpuarray.compiler import config, distributed, function, shared

from benchmarks.several_cards.ranks import Call, Ranks

NAMES = "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"
IN_A_FUNCTION = 16
"""The number of collectives in one function, or one graph."""
LARGEST = {"one by one": 30, "in a function": 24}
"""The exponents of the largest sizes."""


def rows(ranks: Ranks) -> Iterator[dict[str, Any]]:
    """Time all of them."""
    for how, calls in (("one by one", eager), ("in a function", recorded)):
        for name in NAMES:
            for power in range(10, LARGEST[how] + 1, 2):
                size = 2**power // ranks.less**2
                if size < 1024:
                    continue
                ours, theirs, each = calls(name, size // 4, ranks)
                turns = 100 if power <= 20 else 20 if power <= 26 else 6
                turns = max(turns // each, 2)
                row: dict[str, Any] = {"collective": name, "bytes": size, "how": how}
                for library, call in (("ours", ours), ("torch", theirs)):
                    if call is not None:
                        took = ranks.seconds(call, turns) / each
                        row[f"{library}_us"] = took * 1e6
                        share = share_of_links(name, ranks.comm.size) * size
                        row[f"{library}_GB_s"] = share / took / 1e9
                ranks.say(said(row))
                yield row


def said(row: dict[str, Any]) -> str:
    """Return a row as a line."""
    times = (
        f"{library} {row[f'{library}_us']:9.1f} us {row[f'{library}_GB_s']:6.1f} GB/s"
        for library in ("ours", "torch")
        if f"{library}_us" in row
    )
    return (
        f"{row['collective']:15}{row['how']:14}{row['bytes']:>11}  {'  '.join(times)}"
    )


def share_of_links(name: str, ranks: int) -> float:
    """Return how often each byte of an array goes over a rank's link."""
    once = (ranks - 1) / ranks
    return {"all_reduce": 2 * once, "broadcast": 1.0}.get(name, once)


def eager(name: str, count: int, ranks: Ranks) -> tuple[Call, Call | None, int]:
    """Return a call of each library, of ``count`` float32 on each rank."""
    comm, part = ranks.comm, count // ranks.comm.size
    mine, some, other = (
        gpuarray.zeros(n, "float32", comm.context) for n in (count, part, count)
    )
    calls: dict[str, Call] = {
        "all_reduce": lambda: comm.all_reduce(mine, out=mine),
        "all_gather": lambda: comm.all_gather(some, out=mine),
        "reduce_scatter": lambda: comm.reduce_scatter(mine, out=some),
        "all_to_all": lambda: comm.all_to_all(mine, out=other),
        "broadcast": lambda: comm.broadcast(mine),
    }
    return calls[name], ranks.offered(of_torch(name, count, ranks)), 1


def of_torch(name: str, count: int, ranks: Ranks) -> Call:
    """Return PyTorch's call."""
    part = count // ranks.comm.size
    t, p, o = (torch.zeros(n, device=ranks.device) for n in (count, part, count))
    calls: dict[str, Call] = {
        "all_reduce": lambda: dist.all_reduce(t),
        "all_gather": lambda: dist.all_gather_into_tensor(t, p),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(p, t),
        "all_to_all": lambda: dist.all_to_all_single(o, t),
        "broadcast": lambda: dist.broadcast(t, 0),
    }
    return calls[name]


def recorded(name: str, count: int, ranks: Ranks) -> tuple[Call, Call | None, int]:
    """Return a function with several of ours, and a CUDA graph with as many calls."""
    comm = ranks.comm
    whole = count if name != "all_gather" else count // comm.size
    collective: Callable[..., Any] = getattr(distributed, name)
    with config.use(floatX="float32", device=comm.context.name):
        x = shared(np.zeros(whole, "float32"))
        results = [collective(x, comm) for _ in range(IN_A_FUNCTION)]
        run = function([], results, on_device=True)
    return run, graph(of_torch(name, count, ranks), ranks), IN_A_FUNCTION


def graph(call: Call, ranks: Ranks) -> Call | None:
    """Return a replay of several calls; None where there are no CUDA graphs."""
    if not ranks.has_cuda:
        return None
    call()
    ranks.wait()
    captured = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(captured, capture_error_mode="thread_local"):
            for _ in range(IN_A_FUNCTION):
                call()
    except RuntimeError as error:
        ranks.say(f"not captured: {str(error).splitlines()[0][:90]}")
        return None
    return captured.replay
