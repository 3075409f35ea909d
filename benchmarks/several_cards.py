"""Several cards: collectives and data parallel training, beside PyTorch in one run.

Started once for each card, as torchrun starts programs:
``torchrun --nproc-per-node 2 -m benchmarks.several_cards --add FILE.json``, or with its
variables RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Rank 0 prints and
writes. Bus bandwidth is that of NCCL's tests: bytes per second over the slowest link.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import torch
import torch.distributed as dist
from gpuarray import distributed as processes
from gpuarray.compiler import config, distributed, function, grad, shared
from gpuarray.distributed import Communicator

WIDTHS = (1024, 4096, 4096, 1000)
"""The layers of the network, from its inputs to its classes."""
BATCH = 4096
"""Rows for each card."""
RATE = 0.01
COLLECTIVES = "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"

Calls = tuple[Callable[[], Any], Callable[[], Any]]


# ---- collectives ----


def calls_of(name: str, count: int, comm: Communicator) -> Calls:
    """Return a call of each library, of ``count`` float32 on each rank."""
    part = count // comm.size
    mine, some, other = (
        gpuarray.zeros(n, "float32", comm.context) for n in (count, part, count)
    )
    t, p, o = (torch.zeros(n, device="cuda") for n in (count, part, count))
    pairs: dict[str, Calls] = {
        "all_reduce": (
            lambda: comm.all_reduce(mine, out=mine),
            lambda: dist.all_reduce(t),
        ),
        "all_gather": (
            lambda: comm.all_gather(some, out=mine),
            lambda: dist.all_gather_into_tensor(t, p),
        ),
        "reduce_scatter": (
            lambda: comm.reduce_scatter(mine, out=some),
            lambda: dist.reduce_scatter_tensor(p, t),
        ),
        "all_to_all": (
            lambda: comm.all_to_all(mine, out=other),
            lambda: dist.all_to_all_single(o, t),
        ),
        "broadcast": (lambda: comm.broadcast(mine), lambda: dist.broadcast(t, 0)),
    }
    return pairs[name]


def share_of_links(name: str, ranks: int) -> float:
    """Return how often each byte of an array goes over a rank's link."""
    once = (ranks - 1) / ranks
    return {"all_reduce": 2 * once, "broadcast": 1.0}.get(name, once)


def seconds(call: Callable[[], Any], turns: int, comm: Communicator) -> float:
    """Return the time of a call of the slowest rank, after three calls."""
    for _ in range(3):
        call()
    wait(comm)
    dist.barrier()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(turns):
        call()
    wait(comm)
    took = torch.tensor([(time.perf_counter() - start) / turns], device="cuda")
    dist.all_reduce(took, dist.ReduceOp.MAX)
    return float(took.item())


def wait(comm: Communicator) -> None:
    """Wait for the work of both libraries."""
    torch.cuda.synchronize()
    comm.context.sync()


def collectives(comm: Communicator) -> list[dict[str, Any]]:
    """Time the collectives from 1 KiB to 1 GiB."""
    rows = []
    for name in (
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "all_to_all",
        "broadcast",
    ):
        for power in range(10, 31, 2):
            size = 2**power
            turns = 100 if power <= 20 else 20 if power <= 26 else 6
            pair = calls_of(name, size // 4, comm)
            best = [min(seconds(call, turns, comm) for _ in range(2)) for call in pair]
            share = share_of_links(name, comm.size) * size
            row: dict[str, Any] = {"collective": name, "bytes": size}
            for library, took in zip(("ours", "torch"), best, strict=True):
                row |= {
                    f"{library}_us": took * 1e6,
                    f"{library}_GB_s": share / took / 1e9,
                }
            rows.append(row)
            if comm.rank == 0:
                print(
                    f"{name:15}{size:>11}  ours {row['ours_us']:9.1f} us "
                    f"{row['ours_GB_s']:6.1f} GB/s  torch {row['torch_us']:9.1f} us "
                    f"{row['torch_GB_s']:6.1f} GB/s",
                    flush=True,
                )
    return rows


# ---- training ----


def drawn(comm: Communicator) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return this rank's part of the batch."""
    rng = np.random.default_rng(comm.rank)
    images = rng.normal(size=(BATCH, WIDTHS[0])).astype("float32")
    return images, rng.integers(0, WIDTHS[-1], BATCH)


def our_step(comm: Communicator) -> tuple[Callable[[], Any], Callable[[], float]]:
    """Return a step of ours, and the cost before it; both on the device."""
    images, labels = drawn(comm)
    x, y = T.fmatrix("x"), T.lvector("y")
    rng = np.random.default_rng(0)
    params: list[Any] = []
    out: Any = x
    for m, n in pairwise(WIDTHS):
        w = shared(rng.normal(0, m**-0.5, (m, n)).astype("float32"))
        b = shared(np.zeros(n, "float32"))
        params += [w, b]
        out = T.dot(out if out is x else T.nnet.relu(out), w) + b
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(out), y).mean()
    slopes = grad(cost, params)
    updates = [
        (p, p - np.float32(RATE) * g) for p, g in zip(params, slopes, strict=True)
    ]
    step = function(
        [x, y],
        distributed.all_reduce(cost, comm, "mean", replicated=True),
        updates=distributed.data_parallel(updates, comm),
        on_device=True,
    )
    here = [gpuarray.asarray(a, context=comm.context) for a in (images, labels)]
    return lambda: step(*here), lambda: float(np.asarray(step(*here)))


def their_step(comm: Communicator) -> tuple[Callable[[], Any], Callable[[], float]]:
    """Return the same by PyTorch's DistributedDataParallel."""
    images, labels = (torch.from_numpy(a).cuda() for a in drawn(comm))
    rng = np.random.default_rng(0)
    layers: list[Any] = []
    for m, n in pairwise(WIDTHS):
        layer = torch.nn.Linear(m, n)
        weight = rng.normal(0, m**-0.5, (m, n)).astype("float32")
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weight.T.copy()))
            layer.bias.zero_()
        layers += [layer, torch.nn.ReLU()]
    model: Any = torch.nn.Sequential(*layers[:-1]).cuda()
    if comm.size > 1:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    loss = torch.nn.CrossEntropyLoss()

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        cost = loss(model(images), labels)
        cost.backward()
        optimizer.step()
        return cost.detach()

    def mean() -> float:
        cost = step()
        dist.all_reduce(cost)
        return float(cost.item()) / comm.size

    return step, mean


def training(comm: Communicator) -> dict[str, Any]:
    """Time a step of each library; raise AssertionError if their costs differ."""
    with config.use(floatX="float32", device=comm.context.name):
        pairs = [our_step(comm), their_step(comm)]
        costs = [[cost() for _ in range(5)] for _, cost in pairs]
        np.testing.assert_allclose(costs[0], costs[1], rtol=1e-4)
        best = [
            min(seconds(step, 20, comm) for _ in range(3)) * 1e3 for step, _ in pairs
        ]
    row = {
        "network": WIDTHS,
        "batch_a_card": BATCH,
        "cards": comm.size,
        "ours_ms": best[0],
        "torch_ms": best[1],
        "costs": costs[0],
    }
    if comm.rank == 0:
        print(f"training: ours {best[0]:.2f} ms, torch {best[1]:.2f} ms", flush=True)
    return row


def main() -> None:
    """Run on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", type=Path, help="a file of results to add these to")
    parser.add_argument("--only", choices=("collectives", "training"))
    parser.add_argument("--commit", default="")
    options = parser.parse_args()
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    with processes.init(by="torchrun", timeout=100) as comm:
        results: dict[str, Any] = {
            "device": torch.cuda.get_device_name(),
            "cards": comm.size,
            "torch": torch.__version__,
            "nccl": ".".join(map(str, torch.cuda.nccl.version())),
            "commit": options.commit,
        }
        if options.only != "training" and comm.size > 1:
            results["collectives"] = collectives(comm)
        if options.only != "collectives":
            results["training"] = training(comm)
        if options.add is not None and rank == 0:
            known = json.loads(options.add.read_text()) if options.add.exists() else []
            options.add.write_text(json.dumps([*known, results], indent=1) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
