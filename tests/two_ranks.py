"""A clique of ranks, each a process with a card: python tests/two_ranks.py [2].

Needs as many CUDA devices, and NCCL, and prints what each collective gave.
"""

import multiprocessing
import sys

import numpy as np


def check(name, got, expected, rank):
    """Compare, and say what was found."""
    np.testing.assert_array_equal(np.asarray(got), expected)
    print(f"rank {rank}: {name} is right", flush=True)


def run(rank, n_ranks, pipe, dtype="float32"):
    """One rank: every collective against what NumPy makes of all ranks' values."""
    import gpuarray
    from gpuarray.collectives import GpuComm, GpuCommCliqueId

    context = gpuarray.context(f"cuda{rank}")
    if rank == 0:
        clique = GpuCommCliqueId(context)
        for other in pipe:
            other.send_bytes(bytes(clique.comm_id))
    else:
        clique = GpuCommCliqueId(context, comm_id=pipe.recv_bytes())
    comm = GpuComm(clique, n_ranks, rank)
    every = [np.arange(24).reshape(4, 6).astype(dtype) + 10 * r for r in range(n_ranks)]
    mine = gpuarray.asarray(every[rank], context=context)
    for op, reduce in (("sum", np.sum), ("prod", np.prod), ("max", np.max)):
        check(f"all_reduce {op}", comm.all_reduce(mine, op), reduce(every, 0), rank)
    got = comm.reduce(mine, "min", root=1)
    assert (got is not None) == (rank == 1)
    if got is not None:
        check("reduce", got, np.min(every, 0), rank)
    part = np.sum(every, 0)[rank * 4 // n_ranks : (rank + 1) * 4 // n_ranks]
    check("reduce_scatter", comm.reduce_scatter(mine, "sum"), part, rank)
    check("all_gather", comm.all_gather(mine), np.stack(every), rank)
    strided = mine[::2, ::-1]
    comm.broadcast(strided, root=1)
    check("broadcast", mine[::2], every[1][::2], rank)
    large = gpuarray.full((1 << 26,), 1.0, "float32", context)
    check("a large sum", comm.all_reduce(large, "sum")[-3:], [n_ranks] * 3, rank)


def main(n_ranks=2):
    """Start the ranks, and give 0 if all of them ended well."""
    spawn = multiprocessing.get_context("spawn")
    pairs = [spawn.Pipe() for _ in range(n_ranks - 1)]
    ends = [[near for near, _ in pairs], *(far for _, far in pairs)]
    ranks = [
        spawn.Process(target=run, args=(rank, n_ranks, end))
        for rank, end in enumerate(ends)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return max(abs(rank.exitcode or 0) for rank in ranks)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
