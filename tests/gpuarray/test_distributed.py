"""Ranks in several processes: programs that launchers start, and what one rank can see.

The cases are in the programs tests/ranks.py and tests/rank_faults.py, of which each
launch runs all: to start a process costs more than what it does then.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import gpuarray
import numpy as np
import pytest
from gpuarray import distributed
from gpuarray._distributed import frames, launchers, nccl, opening
from gpuarray._distributed.hub import Hub
from gpuarray._distributed.member import Member
from gpuarray._distributed.rendezvous import Rendezvous
from gpuarray._interop import pickling
from launched import (
    TESTS,
    device_of_all,
    environment,
    free_port,
    mpiexec,
    run,
    torchrun,
)


def slurm(ranks):
    """The variables that srun sets, for each task."""
    host = socket.gethostname()
    shared = {
        "SLURM_NTASKS": str(ranks),
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NODELIST": host,
    }
    return [
        {**shared, "SLURM_PROCID": str(r), "SLURM_LOCALID": str(r)}
        for r in range(ranks)
    ]


def test_ranks_by_the_variables_of_torchrun(context):
    engine = "NCCL" if context.kind == "cuda" else "TCP over host memory"
    statuses, texts = run("ranks.py", torchrun(2), "--context", context.name)
    assert statuses == [0, 0], "\n".join(texts)
    for rank, text in enumerate(texts):
        assert f"rank {rank} of 2, found by torchrun's variables, {engine}" in text
        assert text.count("is right") == 5


def test_ranks_by_the_variables_of_slurm(first_context):
    arguments = "--context", first_context.name, "--case", "every_shape"
    statuses, texts = run("ranks.py", slurm(3), *arguments)
    assert statuses == [0, 0, 0], "\n".join(texts)
    assert "found by Slurm" in texts[0]


def test_ranks_whose_calls_queue(first_context):
    """What stands above NCCL, which reduces few dtypes and does not wait."""
    name = first_context.name
    statuses, texts = run("ranks.py", torchrun(2), "--context", name, "--queued")
    assert statuses == [0, 0], "\n".join(texts)
    assert "torchrun's variables, NCCL" in texts[0]
    arguments = "rank_faults.py", torchrun(2), "--context", name, "--queued"
    statuses, texts = run(*arguments)
    assert statuses == [0, -signal.SIGKILL], "\n".join(texts)
    assert [text.count(" s\n") for text in texts] == [14, 13]


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_by_mpi(context, ranks):
    device, engine = device_of_all(context, ranks)
    done = subprocess.run(
        [*mpiexec(ranks), TESTS / "ranks.py", *device],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(f"found by MPI, {engine}") == ranks
    assert done.stdout.count("is right") == 5 * ranks


def test_faults_of_ranks(first_context):
    """Every rank raises, and all but the killed one go on."""
    name = first_context.name
    statuses, texts = run("rank_faults.py", torchrun(3), "--context", name)
    assert statuses == [0, 0, -signal.SIGKILL], "\n".join(texts)
    assert [text.count(" s\n") for text in texts] == [15, 15, 14]


def test_the_doctor_tries_the_collectives(first_context):
    """Its table is rank 0's; the other rank prints nothing."""
    command = [sys.executable, "-m", "gpuarray.doctor", "--distributed"]
    device, _ = device_of_all(first_context, 2)
    ranks = [
        subprocess.Popen(
            [*command, *device],
            env=environment(more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for more in torchrun(2)
    ]
    texts = [rank.communicate(timeout=100)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(texts)
    assert texts[0].count(" right ") == 10
    assert texts[1] == ""


def test_a_program_that_fails(first_context):
    """The others learn with what error a rank's program has ended."""
    arguments = "--context", first_context.name, "--fault", "one_program_fails"
    statuses, texts = run("rank_faults.py", torchrun(2), *arguments)
    assert statuses == [0, 1], "\n".join(texts)
    assert "ValueError: out of data" in texts[1]


@pytest.mark.parametrize("more", [(), ("--queued",)])
def test_the_first_rank_is_killed(first_context, more):
    arguments = "--context", first_context.name, "--fault", "first_is_killed", *more
    statuses, texts = run("rank_faults.py", torchrun(2), *arguments)
    assert statuses == [-signal.SIGKILL, 0], "\n".join(texts)


def test_faults_of_ranks_by_mpi(first_context):
    device, _ = device_of_all(first_context, 3)
    done = subprocess.run(
        [
            *mpiexec(3),
            *(TESTS / "rank_faults.py", *device),
            *("--fault", "another_operation", "--fault", "one_leaves"),
            *("--fault", "another_message", "--fault", "one_raises"),
        ],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" s\n") == 12


# ---- launchers ----


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({}, "none"),
        (torchrun(2)[0], "torchrun"),
        ({**torchrun(2)[0], **slurm(2)[0]}, "torchrun"),
        (slurm(2)[0], "slurm"),
        (slurm(1)[0], "none"),
        ({**slurm(2)[0], "PMIX_RANK": "0"}, "mpi"),
        ({"OMPI_COMM_WORLD_SIZE": "2"}, "mpi"),
    ],
)
def test_which_launcher_is_found(variables, name):
    found = [n for n, (has, _) in opening.LAUNCHERS.items() if has(variables)]
    assert (found or ["none"])[0] == name


@pytest.mark.parametrize(
    ("listed", "first"),
    [
        ("node7", "node7"),
        ("a1,a2", "a1"),
        ("n[3-5,9],m1", "n3"),
        ("gpu[007,012]", "gpu007"),
        ("r[1-2]n[3-4]", "r1n3"),
    ],
)
def test_the_first_node_of_slurms_lists(listed, first):
    assert launchers.first_node(listed) == first


def test_a_launcher_that_is_none(monkeypatch):
    with pytest.raises(TypeError, match="expected one of dask, ray, torchrun, mpi"):
        distributed.init("null", by="luck")
    for name in torchrun(1)[0]:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(gpuarray.DistributedError, match="RANK is not set"):
        distributed.init("null", by="torchrun")
    monkeypatch.setenv("RANK", "first")
    with pytest.raises(TypeError, match="RANK='first' is no number"):
        distributed.init("null", by="torchrun")
    for name, value in {**torchrun(2)[0], "RANK": "2", "LOCAL_RANK": "one"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(TypeError, match="LOCAL_RANK='one' is no number"):
        distributed.init("null", by="torchrun")
    monkeypatch.setenv("LOCAL_RANK", "0")
    with pytest.raises(TypeError, match="rank 2 of 2, expected 0 to 1"):
        distributed.init("null", by="torchrun")
    with pytest.raises(ValueError, match="timeout 0"):
        distributed.init("null", timeout=0)


def test_ranks_that_do_not_come():
    port = free_port()
    for rank, text in (
        (0, "for rank 1 of 2 ranks"),
        (1, "rank 1 waited 0.2 s for rank 0"),
    ):
        with pytest.raises(gpuarray.DistributedError, match=text):
            Rendezvous("localhost", [port], "job", rank, 2, 0.2)
    with pytest.raises(gpuarray.DistributedError, match="is not known"):
        Rendezvous("no.such.host.invalid", [port], "job", 0, 2, 0.2)


def met(rank, size, results, job, port, limit):
    """A rank of a rendezvous, in a thread."""
    try:
        meeting = Rendezvous("localhost", range(port, port + 3), job, rank, size, limit)
        results[rank] = meeting.exchange(b"x" * rank)
        meeting.close()
    except gpuarray.DistributedError as error:
        results[rank] = str(error)


def in_threads(function, several):
    """Call a function at once with each of several arguments."""
    threads = [threading.Thread(target=function, args=one) for one in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_stranger_at_the_port():
    """One who speaks otherwise, and another job's rank 0, are passed over."""
    port, results = free_port(), {}
    with frames.listen("127.0.0.1", port, 1) as other:

        def strange():
            connection, _ = other.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        threading.Thread(target=strange, daemon=True).start()
        several = [(rank, 2, results, "job", port, 20) for rank in range(2)]
        in_threads(met, several)
    assert results == {0: [b"", b"x"], 1: [b"", b"x"]}


def test_a_rank_that_meets_itself():
    """A port for outgoing connections, which may be connected to itself."""
    port = free_port()
    with frames.listen("127.0.0.1", port, 1) as mirror:

        def reflect():
            while True:
                try:
                    connection, _ = mirror.accept()
                    with connection:
                        connection.sendall(connection.recv(1000))
                except OSError:
                    return

        threading.Thread(target=reflect, daemon=True).start()
        with pytest.raises(
            gpuarray.DistributedError, match=r"waited 0\.5 s for rank 0"
        ):
            Rendezvous("localhost", [port], "job", 1, 2, 0.5)
        mirror.shutdown(socket.SHUT_RDWR)


def test_a_rank_that_gave_up_while_it_was_admitted():
    """It comes again, and is let in."""
    port, results = free_port(), {}
    first = threading.Thread(target=met, args=(0, 2, results, "job", port, 20))
    first.start()
    hello = frames.encode({"job": "job", "rank": 1, "size": 2})
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(hello)
            break
        except OSError:
            time.sleep(0.01)
    met(1, 2, results, "job", port, 20)
    first.join()
    assert results == {0: [b"", b"x"], 1: [b"", b"x"]}


def test_ranks_that_disagree_on_their_number():
    port, results = free_port(), {}
    several = [(0, 2, results, "job", port, 1), (2, 3, results, "job", port, 1)]
    in_threads(met, several)
    assert "it is rank 2 of 3 ranks where rank 0 has 2" in results[2]
    assert "for rank 1 of 2 ranks" in results[0]


def test_who_has_no_token_is_not_heard():
    hub = Hub("127.0.0.1", 2, "secret", 5.0)
    stranger = Member(1, ["127.0.0.1"], hub.port, "guess", 5.0)
    stranger.wait_for_failure(5.0)
    assert "ended without a word" in stranger.failure
    stranger.close("")
    with socket.create_connection(("127.0.0.1", hub.port)) as noise:
        noise.sendall(b"\x00" * 64)
        noise.settimeout(5)
        assert noise.recv(1) == b""
    hub.close(0.0)


def test_a_rank_that_joins_a_failed_group():
    hub = Hub("127.0.0.1", 2, "secret", 5.0)
    first = Member(0, ["127.0.0.1"], hub.port, "secret", 5.0)
    first.fail("it was lost")
    second = Member(1, ["127.0.0.1"], hub.port, "secret", 5.0)
    second.wait_for_failure(5.0)
    assert second.failure == "it was lost"
    with pytest.raises(gpuarray.DistributedError, match="rank 1: it was lost"):
        second.check()
    for member in (first, second):
        member.close("has left")
    hub.close(5.0)


def test_which_nccls_are_in_the_process(monkeypatch):
    maps = (
        "7f00-7f01 r-xp 0 00:00 0    /a/nvidia/nccl/lib/libnccl.so.2\n"
        "7f02-7f03 r-xp 0 00:00 0    /b/libnccl.so.2.28.9\n"
        "7f04-7f05 r-xp 0 00:00 0    /b/libnccl.so.2.28.9\n"
        "7f06-7f07 r-xp 0 00:00 0    /b/libnccl-net.so\n"
    )
    monkeypatch.setattr(Path, "read_text", lambda self, **_: maps)
    found = ["/a/nvidia/nccl/lib/libnccl.so.2", "/b/libnccl.so.2.28.9"]
    assert nccl.libraries() == found


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_an_nccl_that_is_in_the_process_is_used(tmp_path):
    source, library = tmp_path / "nccl.c", tmp_path / "libnccl.so.2"
    source.write_text("int ncclGetUniqueId(void *id) { return id == 0; }")
    named = f"-Wl,-soname,{library.name}"
    subprocess.run(["cc", "-shared", "-fPIC", named, source, "-o", library], check=True)
    program = (
        f"import ctypes; ctypes.CDLL({str(library)!r})\n"
        "from gpuarray._native import lib, prepare, text; prepare()\n"
        "print(text(lib.gpuarray_search_report(b'cuda')))"
    )
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"{library}: in the process already, so no other is opened" in said
    environ = environment({"GPUARRAY_NCCL": "/no/such/libnccl.so"})
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environ
    )
    assert "in the process already" not in done.stdout


def test_frames_in_pieces():
    frame = frames.encode({"a": 1}, b"content") * 2
    decoder, found = frames.Decoder(), []
    for i in range(len(frame)):
        found += decoder.feed(frame[i : i + 1])
    assert found == [({"a": 1}, b"content")] * 2
    with pytest.raises(frames.Closed):
        list(decoder.feed(b"x" * 16))


# ---- one rank ----


@pytest.fixture
def alone(first_context):
    with distributed.init(first_context, by="none") as comm:
        yield comm


def test_a_rank_that_is_alone(alone):
    x = gpuarray.arange(6.0, context=alone.context).reshape(2, 3)
    for got in (
        *(alone.all_reduce(x, op) for op in ("sum", "prod", "min", "max", "mean")),
        *(alone.reduce(x), alone.reduce_scatter(x, axis=1), alone.all_gather(x, 1)),
        *(alone.all_to_all(x), alone.gather(x, axis=-1), alone.scatter(x, axis=1)),
        *(alone.broadcast(x), alone.split(3).all_reduce(x)),
    ):
        np.testing.assert_array_equal(got, x.get())
    assert alone.split(-1) is None
    assert alone.calls == 14
    alone.barrier()


def test_what_a_rank_refuses(alone, null):
    x = gpuarray.zeros((2, 3), "f4", alone.context)
    for call, error, text in (
        (lambda: alone.all_reduce(x.get()), TypeError, "all_reduce: got ndarray"),
        (lambda: alone.all_reduce(x, "xor"), TypeError, "expected one of sum, prod"),
        (lambda: alone.all_reduce(x.astype("i4"), "mean"), TypeError, "mean of int32"),
        (lambda: alone.reduce(x, root=1), ValueError, "got rank 1, expected 0 to 0"),
        (lambda: alone.send(x, 0), ValueError, "rank 0 is this rank"),
        (lambda: alone.recv(2), ValueError, "got rank 2"),
        (
            lambda: alone.all_gather(x, 2),
            ValueError,
            "axis 2 is out of bounds for 2 axes",
        ),
        (lambda: alone.scatter(), TypeError, "rank 0 gave no array"),
        (lambda: alone.scatter(x, axis=-1), ValueError, "axis -1, expected 0 or more"),
        (lambda: alone.all_reduce(x, out=x.T), ValueError, r"out is float32 \(3, 2\)"),
        (
            lambda: alone.all_to_all(gpuarray.zeros((), "f4", alone.context)),
            ValueError,
            "not divisible among 1 ranks",
        ),
        (
            lambda: alone.all_gather(x, out=gpuarray.broadcast_to(x[0], (2, 3))),
            gpuarray.ReadOnly,
            "all_gather: the array to write is read-only",
        ),
        (
            lambda: alone.all_reduce(gpuarray.zeros(3, context=null)),
            ValueError,
            "the array is on null, the communicator on",
        ),
    ):
        with pytest.raises(error, match=text):
            call()
    with pytest.raises(TypeError, match="cannot be pickled"):
        import pickle

        pickle.dumps(alone)


def test_an_error_says_where(first_context):
    comm = distributed.init(first_context, by="none")
    comm.close()
    comm.close()
    with pytest.raises(gpuarray.DistributedError, match="is closed") as caught:
        comm.all_reduce(gpuarray.zeros(3, context=first_context))
    assert caught.value.operation == "all_reduce"
    assert Path(caught.value.line.rpartition(":")[0]) == Path(__file__)
    assert isinstance(caught.value, RuntimeError)
    with (
        contextlib.suppress(ZeroDivisionError),
        distributed.init("null", by="none") as c,
    ):
        raise ZeroDivisionError
    with pytest.raises(gpuarray.DistributedError, match="ended with ZeroDivisionError"):
        c.barrier()


def test_a_device_for_each_process(monkeypatch):
    monkeypatch.setattr(opening, "settings", lambda: SimpleNamespace(device=""))
    monkeypatch.setattr(opening, "device_names", lambda kind: (["cuda0", "cuda1"], ""))
    ranks = [SimpleNamespace(name="MPI", local_rank=rank) for rank in range(3)]
    assert [opening._device(rank) for rank in ranks] == ["cuda0", "cuda1", "cuda0"]
    of_kind = {"cuda": [], "opencl": ["opencl0:0", "opencl1:0"]}
    monkeypatch.setattr(opening, "device_names", lambda kind: (of_kind[kind], ""))
    assert opening._device(ranks[1]) == "opencl0:0"
    dask = SimpleNamespace(name="Dask", local_rank=1)
    monkeypatch.setattr(opening, "device_names", lambda kind: (["cuda0", "cuda1"], ""))
    assert opening._device(dask) == "cuda1"
    monkeypatch.setattr(pickling, "unpickles_at_default", lambda: True)
    assert opening._device(dask) is None and opening._device(ranks[1]) == "cuda1"
