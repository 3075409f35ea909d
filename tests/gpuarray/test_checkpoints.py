"""Checkpoints of several ranks, loaded by other numbers of ranks, and what fails.

The cases are in the programs tests/checkpoint_ranks.py and tests/checkpoint_kills.py,
of which each launch runs several: to start a process costs more than what it does then.
"""

import json
import subprocess
import sys
from pathlib import Path

import checkpoint_kills
import checkpoint_ranks
import gpuarray
import numpy as np
import pytest
from gpuarray import distributed
from gpuarray._checkpoints import files as checkpoint_files
from gpuarray.distributed import Shard, load_checkpoint, save_checkpoint
from launched import run, torchrun


@pytest.fixture
def comm(first_context):
    with distributed.init(first_context, by="none") as made:
        yield made


def test_checkpoints_of_several_ranks(first_context, comm, tmp_path):
    """Each number of ranks loads what the others have saved."""
    program = "checkpoint_ranks.py", "--context", first_context.name
    arguments = *program[1:], "--folder", str(tmp_path)
    checkpoint_ranks.saves(comm, tmp_path)
    statuses, texts = run(program[0], torchrun(2), *arguments)
    assert statuses == [0, 0], "\n".join(texts)
    assert texts[0].count("is right") == len(checkpoint_ranks.CASES)
    some = "--case", "loads", "--case", "saves"
    statuses, texts = run(program[0], torchrun(3), *arguments, *some)
    assert statuses == [0, 0, 0], "\n".join(texts)
    checkpoint_ranks.loads(comm, tmp_path)


def test_ranks_that_are_killed_while_they_save(tmp_path):
    """In a process of its own, which forks before it has opened a device."""
    program = Path(checkpoint_kills.__file__)
    done = subprocess.run(
        [sys.executable, program, "8", "3"], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ([1], "the state is a list, expected a mapping"),
        ({1: 2}, "a key of 'the state' is 1, expected a text"),
        (
            {"a": {"$b": 2}},
            r"a key of 'a' is '\$b', expected a text that does not begin",
        ),
        ({"a": [b"x"]}, "'a/0' is a bytes, expected an array, a Shard, a number"),
        ({"a": np.array([None])}, "'a' is of object, expected numbers"),
        ({"a/b": np.ones(1), "a": {"b": np.ones(1)}}, "two arrays have the name 'a/b'"),
    ],
)
def test_states_that_cannot_be_saved(comm, tmp_path, state, text):
    with pytest.raises((TypeError, ValueError), match=text):
        save_checkpoint(comm, tmp_path, state, step=0)
    assert not list(tmp_path.iterdir())


def test_arguments_of_checkpoints(comm, tmp_path):
    for step in (-1, 1.5, True, None):
        with pytest.raises(ValueError, match=f"step is {step}, expected 0, 1"):
            save_checkpoint(comm, tmp_path, {}, step=step)
    with pytest.raises(ValueError, match="keep is 0, expected 1 or more, or None"):
        save_checkpoint(comm, tmp_path, {}, step=0, keep=0)
    with pytest.raises(TypeError, match="got list, expected an array of gpuarray or"):
        Shard([1.0])
    with pytest.raises(ValueError, match="axis 1 is out of bounds for 1 axes"):
        Shard(np.ones(3), 1)


def test_a_folder_of_another_program(comm, tmp_path, monkeypatch):
    """Its checkpoints are not removed; who loads from there goes on."""
    for step in (1000, 2000):
        save_checkpoint(comm, tmp_path, {}, step=step)
    monkeypatch.setattr(checkpoint_files, "_known", {})  # another process
    for background in (False, True):
        with pytest.raises(gpuarray.DistributedError, match="neither saved nor loaded"):
            save_checkpoint(comm, tmp_path, {}, step=1, background=background)
    assert [one.name[-4:] for one in sorted(tmp_path.iterdir())] == ["1000", "2000"]
    assert load_checkpoint(comm, tmp_path, 1000).step == 1000
    save_checkpoint(comm, tmp_path, {}, step=1001)
    assert load_checkpoint(comm, tmp_path).step == 1001


def test_a_program_that_saves_meanwhile(comm, tmp_path, monkeypatch):
    """The one that comes second is told before it makes its files a checkpoint."""
    write_parts = checkpoint_files.write_parts

    def write(*arguments):
        theirs = {"number": 1, "step": 7, "files": []}
        checkpoint_files.write_manifest(tmp_path / "step-0000000007", theirs)
        monkeypatch.setattr(checkpoint_files, "_known", {})  # another process
        return write_parts(*arguments)

    monkeypatch.setattr(checkpoint_files, "write_parts", write)
    with pytest.raises(gpuarray.DistributedError, match="has step 7, which this"):
        save_checkpoint(comm, tmp_path, {"w": np.ones(2)}, step=6, keep=1)
    assert [path.parent.name for path in tmp_path.glob("*/*")] == ["step-0000000007"]


@pytest.mark.parametrize("fields", [{"checkpoint": {}, "crc32": 0}, {"steps": []}])
def test_a_manifest_of_another_version(comm, tmp_path, fields):
    save_checkpoint(comm, tmp_path, {}, step=3)
    (path,) = tmp_path.glob("*/manifest.json")
    path.write_text(json.dumps({"format": "gpuarray checkpoint, version 9", **fields}))
    for call in (
        lambda: load_checkpoint(comm, tmp_path),
        lambda: save_checkpoint(comm, tmp_path, {}, step=4, keep=1),
    ):
        with pytest.raises(gpuarray.DistributedError, match=r"is of .* version 9"):
            call()
    assert [one.name for one in tmp_path.iterdir()] == ["step-0000000003"]


def test_which_checkpoints_stay(comm, tmp_path):
    """The latest by the order of saving; files of others are never removed."""
    (tmp_path / "notes.txt").write_text("mine")
    for step in (1, 5, 3):
        save_checkpoint(comm, tmp_path, {"a": np.full(3, step)}, step=step, keep=None)
        (tmp_path / f"step-000000000{step}" / "mine.txt").write_text("mine")
    assert load_checkpoint(comm, tmp_path).step == 3
    save_checkpoint(comm, tmp_path, {"a": np.full(3, 2)}, step=2)
    for step, is_there in ((1, False), (5, False), (3, True), (2, True)):
        names = {p.name for p in (tmp_path / f"step-000000000{step}").iterdir()}
        assert ("manifest.json" in names) == is_there
        assert ("mine.txt" in names) == (step != 2)
        assert any(name.endswith(".npz") for name in names) == is_there
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_parts_without_us(comm, tmp_path):
    """NumPy reads a rank's file, and the manifest is JSON."""
    x = gpuarray.arange(6, dtype="f4", context=comm.context).reshape(2, 3)
    state = {"a": {"x": Shard(x.T, axis=1)}, "b": np.array(["one", "two"])}
    save_checkpoint(comm, tmp_path, state, step=0)
    (path,) = tmp_path.rglob("*.npz")
    with np.load(path) as parts:
        np.testing.assert_array_equal(parts["a/x"], x.get().T)
        assert parts["b"].tolist() == ["one", "two"]
    manifest = json.loads((path.parent / "manifest.json").read_text())
    part = manifest["checkpoint"]["arrays"]["a/x"]["parts"][0]
    raw = np.fromfile(path, "f4", 6, offset=part["offset"])
    np.testing.assert_array_equal(raw.reshape(3, 2), x.get().T)


def test_only_the_blocks_that_are_needed_are_read(comm, tmp_path, monkeypatch):
    """A rank of many reads its rows, and damage elsewhere is not its matter."""
    monkeypatch.setattr(checkpoint_files, "BLOCK", 64)
    whole = np.arange(1000, dtype="f4").reshape(250, 4)
    save_checkpoint(comm, tmp_path, {"a": Shard(whole)}, step=0)
    (path,) = tmp_path.rglob("*.npz")
    manifest = checkpoint_files.read_manifest(path.parent)
    offset = manifest["arrays"]["a"]["parts"][0]["offset"]
    content = bytearray(path.read_bytes())
    content[offset + 64] ^= 1
    path.write_bytes(content)
    for start, stop in ((0, 4), (8, 250), (9, 11), (250, 250)):
        rows = checkpoint_files.read_rows(path.parent, manifest, "a", start, stop)
        np.testing.assert_array_equal(rows, whole[start:stop])
    for start, stop in ((3, 5), (7, 9)):
        with pytest.raises(checkpoint_files.Damaged, match=r"bytes \d+ to \d+"):
            checkpoint_files.read_rows(path.parent, manifest, "a", start, stop)


def test_a_background_save_that_fails(first_context, tmp_path):
    """Its error is raised by close, and does not hide the program's own."""
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "in"
    comm = distributed.init(first_context, by="none")
    save_checkpoint(comm, folder, {"a": np.ones(1)}, step=0, background=True)
    with pytest.raises(gpuarray.DistributedError, match=r"cannot write .*file/in"):
        comm.close()
    comm.close()
    with (
        pytest.raises(ZeroDivisionError),
        distributed.init(first_context, by="none") as comm,
    ):
        save_checkpoint(comm, folder, {"a": np.ones(1)}, step=0, background=True)
        raise ZeroDivisionError
