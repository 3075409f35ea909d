"""What ranks raise when one of them errs, is late or dies: a program for each rank.

Each fault has a group of its own, for a failure ends one; the process goes on. The last
one kills the last rank. Two ranks or more, started as those of tests/ranks.py. With
``--queued`` calls only queue, as on CUDA, and the next wait may be what raises.
"""

import argparse
import contextlib
import os
import re
import signal
import sys
import threading
import time

import gpuarray
import numpy as np
from gpuarray import distributed
from nccl_stand_in import queue_calls

HERE = rf"{re.escape(__file__)}:\d+"


def raises(comm, pattern, call):
    """The error that a call raises, or the next wait, whose text the pattern finds."""
    start = time.monotonic()
    try:
        call()
        if comm.engine == "NCCL":
            comm.barrier()
    except gpuarray.DistributedError as error:
        assert re.search(pattern, str(error)), (pattern, str(error))
        assert time.monotonic() - start < 20
        return error
    raise AssertionError(f"nothing was raised: {pattern}")


def another_operation(comm, x):
    """One rank calls another function."""
    comm.barrier()
    bad = comm.rank == 1
    error = raises(
        comm,
        r"call 2 differs among ranks: rank \d called (all_reduce\(sum, float32 \(3,\)\)"
        rf"|broadcast\(root 0, float32 \(3,\)\)) at {HERE}; rank \d called",
        lambda: comm.broadcast(x) if bad else comm.all_reduce(x),
    )
    assert "broadcast(" in str(error) and "all_reduce(" in str(error)
    assert error.rank == comm.rank
    if comm.engine != "NCCL":
        assert error.number == 2
        assert error.operation == ("broadcast" if bad else "all_reduce")
    assert re.fullmatch(HERE, error.line)
    raises(comm, "differs among ranks", comm.barrier)


def another_dtype(comm, x):
    """One rank's numbers are of another dtype."""
    mine = x.astype("f8") if comm.rank == 0 else x
    text = r"float64 \(3,\).*float32 \(3,\)|float32 \(3,\).*float64 \(3,\)"
    raises(comm, text, lambda: comm.all_gather(mine))


def another_shape(comm, x):
    """One rank has fewer numbers."""
    mine = x[:2] if comm.rank == 0 else x
    text = r"\(2,\).*\(3,\)|\(3,\).*\(2,\)"
    raises(comm, text, lambda: comm.all_reduce(mine))


def another_root(comm, x):
    """Ranks do not agree who broadcasts."""
    root = 1 if comm.rank == 1 else 0
    raises(comm, r"root 1.*root 0|root 0.*root 1", lambda: comm.broadcast(x, root))


def another_message(comm, x):
    """A message is of another dtype than the receiver's array."""
    if comm.rank == 0:
        raises(
            comm, r"call 1 from 0 to 1 differs", lambda: comm.send(x.astype("i4"), 1)
        )
    elif comm.rank == 1:
        raises(comm, r"int32.*float32|float32.*int32", lambda: comm.recv(0, x))
    else:
        raises(comm, "differs", comm.barrier)


def one_leaves(comm, x):
    """One rank leaves while others wait for it."""
    if comm.rank == 1:
        comm.close()
        raises(comm, "is closed|rank 1 has left", lambda: comm.all_reduce(x))
    else:
        raises(
            comm,
            r"rank 1 has left, but ranks? .* called all_reduce\(sum, float32 \(3,\)\) "
            rf"at {HERE} \(call 1\)",
            lambda: comm.all_reduce(x),
        )


def one_raises(comm, x):
    """One rank's program fails within its with."""
    if comm.rank == 1:
        try:
            with comm:
                raise ZeroDivisionError("too small")
        except ZeroDivisionError:
            return
    raises(
        comm,
        "rank 1 ended with ZeroDivisionError: too small",
        lambda: comm.all_reduce(x),
    )


def one_has_no_memory(comm, x):
    """One rank's array is larger than its device; the others wait for a collective."""
    if comm.rank == 1:
        try:
            with comm:
                comm.all_reduce(gpuarray.empty(1 << 42, "float32", comm.context))
        except gpuarray.GpuArrayError as error:
            assert isinstance(error, (MemoryError, ValueError)), error
            return
    raises(
        comm,
        r"rank 1 ended with (OutOfMemory|DeviceLimit|TooLarge): ",
        lambda: comm.all_reduce(x),
    )


def one_fails_in_a_call(comm, x):
    """One rank's call fails while elements move, and it goes on: nobody waits."""
    comm.barrier()
    if comm.rank == 1:

        def fails(*arguments):
            raise MemoryError("no room")

        comm._engine.all_reduce = fails
        with contextlib.suppress(MemoryError):
            comm.all_reduce(x)
    raises(
        comm,
        r"rank 1 ended call 2, all_reduce\(sum, float32 \(3,\)\) at "
        rf"{HERE}, with MemoryError: no room",
        lambda: comm.all_reduce(x),
    )


def one_is_interrupted(comm, x):
    """Ctrl-C in a rank that waits, and goes on, as a notebook does.

    On NCCL nothing waits in a call.
    """
    comm.barrier()
    if comm.engine == "NCCL":
        return
    if comm.rank == 1:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with contextlib.suppress(KeyboardInterrupt):
            comm.all_reduce(x)
    elif comm.rank == 0:
        time.sleep(1)
    raises(
        comm,
        r"rank 1 ended call 2, all_reduce\(sum, float32 \(3,\)\) at "
        rf"{HERE}, with KeyboardInterrupt",
        lambda: comm.all_reduce(x),
    )


def one_is_late(comm, x):
    """One rank does not call within the timeout."""
    comm.barrier()
    if comm.rank == 0:
        time.sleep(comm.timeout + 1)
    error = raises(
        comm,
        rf"waited 2 s in all_reduce\(max, float32 \(3,\)\) at {HERE} \(call 2\) for "
        rf"rank 0, whose last call was barrier\(\) at {HERE}, call 1|"
        "work of NCCL's was queued for 2 s",
        lambda: comm.all_reduce(x, "max"),
    )
    assert error.number == 2


def another_communicator(comm, x):
    """One rank calls the communicator that the other one is a duplicate of.

    NCCL's calls do not wait, so there the barrier behind differs.
    """
    part = comm.duplicate()
    called = part
    if comm.rank == 1:
        time.sleep(0.5)
        called = comm
    raises(
        comm,
        r"waited 2 s in all_reduce.* \(call 1 of 'world/1'\) for rank 1, whose last "
        r"call was all_reduce.*, call 2$|call 2 differs among ranks.* barrier\(\)",
        lambda: called.all_reduce(x),
    )


def one_is_stopped(comm, x):
    """One rank has said what it calls, and then moves nothing."""
    comm.barrier()
    if comm.rank == 1:
        comm._engine.all_reduce = lambda *arguments: time.sleep(5)
        comm.all_reduce(x)
    text = (
        "neither sent nor taken a byte for 2 s|no message of MPI came for 2 s|"
        "work of NCCL's was queued for 2 s|waited 2 s in all_reduce"
    )
    raises(comm, text, lambda: comm.all_reduce(x))


def both_send(comm, x):
    """Two ranks that both send wait for each other, and are told of it.

    A short message waits in NCCL's buffers, and nobody for it.
    """
    if comm.engine == "NCCL":
        comm.send(x, 1 - comm.rank)
        np.testing.assert_array_equal(comm.recv(1 - comm.rank), x)
        return
    if comm.rank < 2:
        raises(
            comm,
            r"waited 2 s in message\(rank . to ., float32 \(3,\)\)",
            lambda: comm.send(x, 1 - comm.rank),
        )
    else:
        time.sleep(3)
        raises(comm, "waited 2 s", comm.barrier)


def one_is_killed(comm, x):
    """One rank is killed."""
    comm.barrier()
    if comm.rank == comm.size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    raises(
        comm,
        r"rank \d ended without a word .*; its last call was barrier\(\)",
        lambda: [comm.all_reduce(x) for _ in range(3)],
    )
    raises(comm, "ended without a word", comm.barrier)


def first_is_killed(comm, x):
    """Rank 0 is killed, and with it the hub."""
    comm.barrier()
    if comm.rank == 0:
        time.sleep(0.2)  # until the hub, a thread of this process, has told the others
        os.kill(os.getpid(), signal.SIGKILL)
    text = "rank 0, which compares the calls of ranks, ended without a word"
    raises(comm, text, lambda: [comm.all_reduce(x) for _ in range(3)])


def one_program_fails(comm, x):
    """One rank's program ends with an error that nobody catches."""
    comm.barrier()
    if comm.rank == 1:
        raise ValueError("out of data")
    raises(
        comm, "rank 1 ended with ValueError: out of data", lambda: comm.all_reduce(x)
    )


FAULTS = (
    another_operation,
    another_dtype,
    another_shape,
    another_root,
    another_message,
    one_leaves,
    one_raises,
    one_has_no_memory,
    one_fails_in_a_call,
    one_is_interrupted,
    one_is_late,
    another_communicator,
    one_is_stopped,
    both_send,
    one_program_fails,
    first_is_killed,
    one_is_killed,
)
ALONE = one_program_fails, first_is_killed
ALL = [fault.__name__ for fault in FAULTS if fault not in ALONE]
SHORT = one_is_late, another_communicator, one_is_stopped, both_send


def shorten(comm, timeout):
    """Have calls wait less long than ranks wait for each other at the start."""
    group = comm._group
    group.member.timeout = timeout
    if group._hub is not None:
        group._hub._timeout = timeout


def main():
    """Run the faults on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context")
    parser.add_argument("--fault", action="append")
    parser.add_argument("--queued", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if options.queued:
        queue_calls()
    for fault in FAULTS:
        if fault.__name__ not in (options.fault or ALL):
            continue
        if fault is both_send and options.queued:
            continue
        comm = distributed.init(options.context, timeout=30.0)
        if fault in SHORT:
            shorten(comm, 2.0)
        start = time.perf_counter()
        fault(comm, gpuarray.zeros(3, "float32", comm.context))
        comm.close()
        seconds = time.perf_counter() - start
        print(f"rank {comm.rank}: {fault.__name__}, {seconds:.2f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
