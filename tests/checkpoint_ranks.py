"""Checkpoints of several ranks: a program for each rank, started as tests/ranks.py.

Ranks save and load what is in ``folder``; launches of other numbers of ranks load it.
"""

import argparse
import contextlib
import errno
import os
import re
import resource
import sys
import time
from pathlib import Path

import gpuarray
import numpy as np
from gpuarray import distributed
from gpuarray._checkpoints import files
from gpuarray.distributed import Shard, load_checkpoint, save_checkpoint
from nccl_stand_in import queue_calls
from rank_faults import shorten

LENGTHS = {1: [7], 2: [3, 4], 3: [2, 0, 5]}
WHOLE = {
    "rows": np.arange(7 * 300, dtype="f4").reshape(7, 300),
    "columns": np.arange(6 * 7 * 2, dtype="f8").reshape(6, 7, 2) / 3,
    "host": np.arange(7, dtype="i8") * 3,
}
AXES = {"rows": 0, "columns": 1, "host": 0}


def part_of(name, rank, lengths):
    """A rank's part of one of the arrays that are split."""
    places = np.cumsum(lengths)[:-1]
    return np.split(WHOLE[name], places, AXES[name])[rank].copy()


def state_of(comm, step):
    """What a rank saves: unevenly cut, of several dtypes and layouts."""

    def device(host):
        return gpuarray.asarray(host, context=comm.context)

    lengths = LENGTHS[comm.size]
    parts = {n: part_of(n, comm.rank, lengths) for n in WHOLE}
    bits = device(np.arange(5, dtype="u2") + step).view(gpuarray.bfloat16)
    return {
        "layer/1": {"w": device(np.arange(6.0).reshape(2, 3) + step).T, "half": bits},
        "step": step,
        "more": [True, (None, "text"), 0.1, 1 << 70],
        "number": np.complex64(2j),
        "empty": device(np.zeros((0, 3), "f4")),
        "padded": padded(comm),
        "split": {
            "rows": Shard(device(parts["rows"])),
            "columns": Shard(device(parts["columns"]), axis=-2),
            "host": Shard(parts["host"]),
        },
    }


def padded(comm):
    """A part of a vector of 7 numbers, which has zeros behind it on the last ranks."""
    length = -(-7 // comm.size)
    part = (np.arange(length * comm.size) + 1.0)[comm.rank * length :][:length]
    whole = gpuarray.asarray(np.where(part > 7, 0, part), context=comm.context)
    return Shard(whole, length=7)


def check(comm, found, step, lengths):
    """Compare what was loaded with what was saved."""
    state = found.state
    assert found.step == state["step"] == step
    w, half = state["layer/1"]["w"], state["layer/1"]["half"]
    assert w.context is comm.context and half.dtype == gpuarray.bfloat16
    np.testing.assert_array_equal(w.get(), np.arange(6.0).reshape(2, 3).T + step)
    np.testing.assert_array_equal(half.get().view("u2"), np.arange(5) + step)
    assert state["more"] == [True, (None, "text"), 0.1, 1 << 70]
    assert state["number"] == np.complex64(2j) and state["number"].dtype == "c8"
    assert state["empty"].shape == (0, 3)
    own = state["padded"]
    if own.length is None:
        wanted = np.array_split(np.arange(7) + 1.0, comm.size)[comm.rank]
    else:
        wanted = padded(comm).array.get()
    np.testing.assert_array_equal(own.array.get(), wanted)
    for name, shard in state["split"].items():
        assert shard.axis == AXES[name]
        host = shard.array if name == "host" else shard.array.get()
        wanted = part_of(name, comm.rank, lengths)
        assert host.dtype == wanted.dtype
        np.testing.assert_array_equal(host, wanted)


def even(ranks):
    """The lengths that parts have where nothing says otherwise."""
    return [len(part) for part in np.array_split(np.arange(7), ranks)]


def raises(pattern, call, *arguments, **keywords):
    """Check the error of a call, which all ranks raise."""
    try:
        call(*arguments, **keywords)
    except gpuarray.DistributedError as error:
        assert re.search(pattern, str(error)), (pattern, str(error))
        return
    raise AssertionError(f"nothing was raised: {pattern}")


# ---- cases ----


def saves(comm, folder):
    """At once and behind the program; the two saved last stay."""
    folder = folder / f"of-{comm.size}"
    assert load_checkpoint(comm, folder) is None
    for step in (30, 10, 20):
        state = state_of(comm, step)
        save_checkpoint(comm, folder, state, step=step, background=step == 20)
        state["layer/1"]["w"] += 100  # the copy was made before
        state["split"]["host"].array[...] = -1
    check(comm, load_checkpoint(comm, folder), 20, even(comm.size))
    check(comm, load_checkpoint(comm, folder, 10), 10, even(comm.size))
    raises(
        "step 30 in .*; the steps there are: 10, 20", load_checkpoint, comm, folder, 30
    )
    like = state_of(comm, 0)
    check(comm, load_checkpoint(comm, folder, like=like), 20, LENGTHS[comm.size])
    part = comm.split(comm.rank)
    with part:
        save_checkpoint(
            part, folder / f"own-{comm.rank}", {"r": comm.rank}, step=0, background=True
        )
    comm.barrier()
    last = comm.size - 1
    assert load_checkpoint(comm, folder / f"own-{last}").state == {"r": last}


def loads(comm, folder):
    """What other numbers of ranks have saved."""
    for ranks in (1, 2, 3):
        if (place := folder / f"of-{ranks}").is_dir():
            check(comm, load_checkpoint(comm, place), 20, even(comm.size))
            like = state_of(comm, 0)
            check(comm, load_checkpoint(comm, place, like=like), 20, LENGTHS[comm.size])


def mistakes(comm, folder):
    """Ranks that save different things are told so, and go on."""
    place, second = folder / f"of-{comm.size}", comm.rank == 1
    for own, pattern in (
        ({"b": 1}, "'a' is 1 on rank 0, nothing on rank 1"),
        ({"a": 2}, "'a' is 1 on rank 0, 2 on rank 1; what differs is a Shard"),
        ({"a": np.ones(2)}, "'a' is 1 on rank 0, an array on rank 1"),
    ):
        raises(
            pattern, save_checkpoint, comm, place, own if second else {"a": 1}, step=5
        )
    x = gpuarray.zeros((2, 3), "f4", comm.context)
    for mine, others, pattern in (
        (
            x[:1],
            x,
            r"'a' is <f4 \(2, 3\), replicated, .* rank 0, <f4 \(1, 3\), .* rank 1",
        ),
        (Shard(x), x, "shard along axis 0.* on rank 1"),
        (Shard(x[:, :2]), Shard(x), r"'a' is <f4 \(2, 3\).*<f4 \(2, 2\)"),
        (np.zeros((2, 3), "f4"), x, "on the host on rank 1"),
        (Shard(x, length=2), Shard(x, length=3), "of length 3, .* of length 2"),
        (Shard(x, length=5), Shard(x, length=5), "the length 4 together.* length, 5"),
    ):
        state = {"a": mine if second else others}
        raises(pattern, save_checkpoint, comm, place, state, step=5)
    state = {"a": {1} if second else 1}
    if second:
        try:
            save_checkpoint(comm, place, state, step=5)
        except TypeError as error:
            assert "'a' is a set, expected an array" in str(error)
    else:
        raises(
            "rank 1: save_checkpoint: 'a' is a set",
            save_checkpoint,
            comm,
            place,
            state,
            step=5,
        )
    for change, pattern in (
        ({"more": x}, "has no 'more', which rank 0 expects"),
        ({"number": 1}, "has 'number', which rank 0 does not expect"),
        ({"number": np.complex128(1)}, "'number' is <c8 .*expects <c16"),
        ({"empty": x}, r"'empty' is <f4 \(0, 3\).*expects <f4 \(2, 3\)"),
    ):
        like = {**state_of(comm, 0), **change}
        raises(pattern, load_checkpoint, comm, place, like=like)
    like = state_of(comm, 0)
    like["split"]["host"] = Shard(np.zeros(comm.size, "i8"))
    raises(r"'split/host' is <i8 \(7,\)", load_checkpoint, comm, place, like=like)
    check(comm, load_checkpoint(comm, place), 20, even(comm.size))


def full_disk(comm, folder):
    """A rank that cannot write: all are told which, and older checkpoints stay."""
    place = folder / f"of-{comm.size}"
    before = sorted(place.rglob("*"))
    for background in (False, True):
        for rank in range(2):
            path = f"{place}/step-0000000040/rank-{rank}-of-"
            pattern = rf"rank {rank} cannot write {path}.*npz: File too large"
            with failing(comm.rank == rank, ".npz"):
                if background:
                    save_checkpoint(
                        comm, place, state_of(comm, 40), step=40, background=True
                    )
                    raises(pattern, load_checkpoint, comm, place)
                else:
                    raises(
                        pattern,
                        save_checkpoint,
                        comm,
                        place,
                        state_of(comm, 40),
                        step=40,
                    )
    with failing(comm.rank == 0, "manifest.json"):
        raises(
            "rank 0 cannot write .*manifest.json: .*No space left",
            *(save_checkpoint, comm, place, state_of(comm, 40)),
            step=40,
        )
    comm.barrier()
    left = [p for p in sorted(place.rglob("*")) if p.name != "step-0000000040"]
    assert left == before, (left, before)
    check(comm, load_checkpoint(comm, place), 20, even(comm.size))
    part = comm.duplicate()
    with failing(comm.rank == 1, ".npz"):
        save_checkpoint(part, place, state_of(comm, 40), step=40, background=True)
        raises("rank 1 cannot write", part.close)


def slow_disk(comm, folder):
    """A rank that takes longer than the timeout to write is waited for."""
    place, real = folder / f"of-{comm.size}", files.write_parts

    def write(*arguments):
        time.sleep(1.0)
        return real(*arguments)

    shorten(comm, 0.4)
    if comm.rank == 1:
        files.write_parts = write
    try:
        save_checkpoint(comm, place, state_of(comm, 20), step=20)
    finally:
        files.write_parts = real
        shorten(comm, 60.0)
    check(comm, load_checkpoint(comm, place), 20, even(comm.size))


@contextlib.contextmanager
def failing(fails, suffix):
    """Have files not be written: parts beyond 2,000 bytes, or none of another name."""
    limits, real = resource.getrlimit(resource.RLIMIT_FSIZE), Path.replace

    def replace(self, target):
        if str(target).endswith(suffix):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, target)

    if fails and suffix == ".npz":
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    elif fails:
        Path.replace = replace
    try:
        yield
    finally:
        Path.replace = real
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def damage(comm, folder):
    """Files that are missing, short, or changed are named."""
    place = folder / f"of-{comm.size}"
    step = place / "step-0000000020"
    (path,) = step.glob("rank-1-*.npz")
    content = path.read_bytes()
    comm.barrier()
    offset = content.index(np.float32(1500).tobytes())
    changed = bytearray(content)
    changed[offset] ^= 1
    for bad, pattern in (
        (None, f"{path} is missing; do all ranks see the same folder"),
        (content[:-1], f"{path} has {len(content) - 1} bytes, expected {len(content)}"),
        (changed, f"{path} is damaged: the checksum of 'split/rows' differs, bytes"),
    ):
        if comm.rank == 0:
            path.unlink(missing_ok=True)
            if bad is not None:
                path.write_bytes(bad)
        raises(pattern, load_checkpoint, comm, place)
        comm.barrier()
    check(comm, load_checkpoint(comm, place, 10), 10, even(comm.size))
    manifest = step / "manifest.json"
    if comm.rank == 0:
        path.write_bytes(content)
        text = manifest.read_text()
        manifest.write_text(text.replace('"step": 20', '"step": 21', 1))
    raises(
        "rank 0 cannot load: .*manifest.json is damaged",
        load_checkpoint,
        comm,
        place,
        20,
    )
    if comm.rank == 0:
        manifest.write_text(text)
    comm.barrier()
    check(comm, load_checkpoint(comm, place), 20, even(comm.size))


CASES = {
    case.__name__: case
    for case in (saves, loads, mistakes, full_disk, slow_disk, damage)
}


def main():
    """Run the cases on this rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--case", action="append")
    parser.add_argument("--queued", action="store_true", help="by NCCL's stand-in")
    options = parser.parse_args()
    if options.queued:
        queue_calls()
    with distributed.init(options.context, timeout=60.0) as comm:
        for name in options.case or CASES:
            CASES[name](comm, options.folder)
            print(f"rank {comm.rank}: {name} is right", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
