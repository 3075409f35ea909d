"""The collectives among several processes, judged by NumPy: a program for each rank.

A launcher starts it (``mpiexec -n 2 python tests/ranks.py``, or the variables of
torchrun or Slurm); it ends with 0 if every rank found every result right. ``--case``
names some of the cases only, ``--context`` the device.
"""

import argparse
import sys
import time

import gpuarray
import numpy as np
from gpuarray import distributed
from nccl_stand_in import queue_calls

FOLDS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
BFLOAT16 = gpuarray.dtypes.bfloat16()
DTYPES = (
    *("bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"),
    *("c8", "c16", BFLOAT16),
)


def values(shape, dtype, rank):
    """What a rank has: small numbers, other ones on each rank."""
    size = int(np.prod(shape))
    numbers = np.arange(size) * (rank + 2) % 5 + 1
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * ((numbers + rank) % 3)
    if np.dtype(dtype).kind == "b":
        numbers = numbers > 2 + rank % 2
    return numbers.reshape(shape).astype(dtype)


def folded(every, op):
    """NumPy's fold, in float32 where the numbers are shorter."""
    dtype = every[0].dtype
    wide = np.float32 if dtype in (np.float16, BFLOAT16) else dtype
    if op == "mean":
        total = np.add.reduce([x.astype(wide) for x in every])
        return (total / np.asarray(len(every), wide)).astype(dtype)
    return FOLDS[op].reduce([x.astype(wide) for x in every], dtype=wide).astype(dtype)


def equal(got, wanted):
    """Same elements, shape and dtype."""
    assert isinstance(got, gpuarray.Array), type(got)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype), (
        got.shape,
        got.dtype,
        wanted.shape,
        wanted.dtype,
    )
    got, wide = gpuarray.asnumpy(got), wanted.dtype
    if wide == BFLOAT16:
        got, wanted = got.astype("f4"), wanted.astype("f4")
    tolerance = {"f": 1e-6, "c": 1e-6}.get(wanted.dtype.kind, 0)
    np.testing.assert_allclose(got, wanted, rtol=tolerance)


class Case:
    """A communicator, and what its ranks have."""

    def __init__(self, comm, shape=(4, 3), dtype="f4"):
        self.comm = comm
        self.every = [values(shape, dtype, rank) for rank in range(comm.size)]
        self.mine = self.every[comm.rank]
        self.x = gpuarray.asarray(self.mine, context=comm.context)

    def part(self, whole, axis=0):
        return np.split(whole, self.comm.size, axis)[self.comm.rank]

    def reductions(self, op):
        comm, wanted = self.comm, folded(self.every, op)
        equal(comm.all_reduce(self.x, op), wanted)
        root = comm.size - 1
        got = comm.reduce(self.x, op, root)
        assert (got is None) == (comm.rank != root)
        if got is not None:
            equal(got, wanted)
        equal(comm.reduce_scatter(self.x, op), self.part(wanted))

    def movements(self, axis=0):
        comm, every = self.comm, self.every
        whole = np.concatenate(every, axis)
        equal(comm.all_gather(self.x, axis), whole)
        pieces = [np.split(x, comm.size, axis)[comm.rank] for x in every]
        equal(comm.all_to_all(self.x, axis), np.concatenate(pieces, axis))
        for root in range(comm.size):
            copy = self.x.copy()
            assert comm.broadcast(copy, root) is copy
            equal(copy, every[root])
            got = comm.gather(self.x, root, axis)
            assert (got is None) == (comm.rank != root)
            if got is not None:
                equal(got, whole)
            part = comm.scatter(self.x if comm.rank == root else None, root, axis)
            equal(part, self.part(every[root], axis))

    def messages(self):
        comm, rank, after = self.comm, self.comm.rank, (self.comm.rank + 1) % comm_size
        before = (rank - 1) % comm_size
        if rank % 2 == 0:
            comm.send(self.x, after)
        got = comm.recv(before)
        if rank % 2:
            comm.send(self.x, after)
        equal(got, self.every[before])
        out = gpuarray.zeros(self.mine.shape[::-1], self.mine.dtype, comm.context).T
        if rank == 0:
            assert comm.recv(1, out) is out
            equal(out, self.every[1])
        elif rank == 1:
            comm.send(self.x, 0)


comm_size = 0


def every_dtype(comm):
    """Each dtype: what it is folded by, and moved."""
    for dtype in DTYPES:
        case = Case(comm, (comm.size * 2, 3), dtype)
        is_float = np.dtype(dtype).kind in "fcV"
        for op in (*FOLDS, *(["mean"] if is_float else [])):
            case.reductions(op)
        case.movements()
    try:
        comm.all_reduce(gpuarray.ones(3, "i4", comm.context), "mean")
    except gpuarray.BadType:
        return
    raise AssertionError("the mean of integers")


def every_shape(comm):
    """Lengths 0 and 1, scalars, other axes, and arrays that go around the ring."""
    n = comm.size
    for shape in ((n, 0), (0,), (n,), (2 * n, 3, n), (n * 5000 + n,), (n * 700, 31)):
        case = Case(comm, shape, "f8")
        case.reductions("sum")
        case.movements()
    for axis in (1, 2):
        Case(comm, (2, 3 * n, n), "i4").movements(axis)
        case = Case(comm, (2, 3 * n, n), "i4")
        wanted = case.part(folded(case.every, "sum"), axis)
        equal(comm.reduce_scatter(case.x, axis=axis), wanted)
    scalar = Case(comm, (), "f4")
    equal(comm.all_reduce(scalar.x), folded(scalar.every, "sum"))
    equal(comm.all_gather(scalar.x), np.stack(scalar.every))
    equal(comm.broadcast(scalar.x), scalar.every[0])


def every_layout(comm):
    """Ranks whose arrays lie otherwise, and results written to views."""
    case = Case(comm, (comm.size * 2, 6))
    total = folded(case.every, "sum")
    fortran = case.x.copy("F") if comm.rank % 2 else case.x
    equal(comm.all_reduce(fortran), total)
    equal(comm.all_reduce(case.x[::-1, ::2]), total[::-1, ::2])
    board = gpuarray.zeros((comm.size * 4, 12), "f4", comm.context)
    out = board[::2, ::2]
    assert comm.all_reduce(case.x, out=out) is out
    wanted = np.zeros(board.shape, "f4")
    wanted[::2, ::2] = total
    equal(board, wanted)
    assert comm.all_reduce(case.x, out=case.x) is case.x
    equal(case.x, total)
    view = board[1::2, 1::2]
    comm.broadcast(view, comm.size - 1)
    equal(board, wanted)
    gathered = gpuarray.zeros((6, comm.size * 2 * comm.size), "f4", comm.context).T
    assert comm.all_gather(case.x, out=gathered) is gathered
    equal(gathered, np.concatenate([total] * comm.size))


def messages(comm):
    """Messages between two ranks."""
    global comm_size
    comm_size = comm.size
    Case(comm, (3, 2), "i2").messages()
    Case(comm, (0,), "f4").messages()
    Case(comm, (200000,), "f4").messages()


def parts(comm):
    """Communicators of some ranks, and of all again."""
    half = comm.split(comm.rank % 2, -comm.rank)
    of_half = range(comm.rank % 2, comm.size, 2)
    assert (half.size, half.rank) == (len(of_half), len(of_half) - 1 - comm.rank // 2)
    every = [values((3,), "f4", rank) for rank in range(comm.size)]
    x = gpuarray.asarray(every[comm.rank], context=comm.context)
    equal(half.all_reduce(x), folded([every[rank] for rank in of_half], "sum"))
    equal(half.all_gather(x), np.concatenate([every[r] for r in of_half[::-1]]))
    again = comm.duplicate()
    equal(again.all_reduce(x), folded(every, "sum"))
    assert again.calls == 1
    first = comm.split(0 if comm.rank == 0 else -1)
    assert (first is None) == (comm.rank != 0)
    half.close()
    comm.barrier()
    equal(again.all_reduce(x, "max"), folded(every, "max"))


CASES = {
    f.__name__: f for f in (every_shape, every_dtype, every_layout, messages, parts)
}


def main():
    """Run the cases on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context")
    parser.add_argument("--by")
    parser.add_argument("--case", action="append")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--queued", action="store_true", help="by NCCL's stand-in")
    options = parser.parse_args()
    if options.queued:
        queue_calls()
    with distributed.init(
        options.context, by=options.by, timeout=options.timeout
    ) as comm:
        print(comm, flush=True)
        for name in options.case or CASES:
            start = time.perf_counter()
            CASES[name](comm)
            seconds = time.perf_counter() - start
            print(f"rank {comm.rank}: {name} is right, {seconds:.2f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
