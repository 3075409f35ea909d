"""Compiled C code on disk: one build each, by many processes, some of which die."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from gpuarray._core import folders
from gpuarray.compiler import store
from gpuarray.compiler.cops.module import LIBRARIES, load
from gpuarray.compiler.errors import CCodeError

PROCESSES = 8
"""How many compile at once; the rare run sets it to 32."""

PROGRAM = """
import json, os, signal, sys, time
from gpuarray.compiler import Apply, TensorType
from gpuarray.compiler.cops import COp
from gpuarray.compiler.cops.module import build, load
from gpuarray.compiler.cops.source import TypedOp

class Times(COp):
    __props__ = ("by",)
    def __init__(self, by):
        self.by = by
    def make_node(self, x):
        return Apply(self, [x], [x.type()])
    def c_code(self, node, name, inp, out, sub):
        return '''
        %s = (PyArrayObject *)PyArray_NewCopy(%s, NPY_CORDER);
        if (%s == NULL) %s
        *(double *)PyArray_DATA(%s) *= %d;''' % (
            *out, *inp, *out, sub["fail"], *out, self.by)

VECTOR = TensorType("float64", (False,))

def start(by, gate):
    "A process that compiles the op once the gate is shut, and loads it."
    child = os.fork()
    if child:
        return child
    os.close(gate[1])
    os.read(gate[0], 1)
    load(build(TypedOp(Times(by), (VECTOR, VECTOR), 1)), "Times")
    os._exit(0)

def race(n, by, kill_after=None):
    "How n processes end that begin at once; half of them may be killed."
    gate = os.pipe()
    children = [start(by, gate) for _ in range(n)]
    os.close(gate[1])
    if kill_after is not None:
        time.sleep(kill_after)
        for child in children[::2]:
            os.kill(child, signal.SIGKILL)
    ends = [os.waitpid(child, 0)[1] for child in children]
    os.close(gate[0])
    builds = len(open(sys.argv[2]).readlines())
    return {"ends": ends, "builds": builds, "kept": os.listdir(sys.argv[3])}

n = int(sys.argv[1])
found = {"first": race(1, 2), "second": race(1, 2), "many": race(n, 3)}
found |= {"killed": race(n, 4, 0.05), "after": race(1, 4)}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def races(tmp_path_factory):
    """What became of processes that compile one new op at once, in turn of some ops."""
    place = tmp_path_factory.mktemp("races")
    log, program, cache = place / "log", place / "logged-cc", place / "cache"
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) ;; *) echo x >> {log} ;; esac\n'
        'exec cc "$@"\n'
    )
    program.chmod(0o700)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(PROCESSES), str(log), str(cache / "ops")],
        env={**os.environ, "CC": str(program), "GPUARRAY_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_second_process_compiles_nothing(races):
    assert races["first"]["builds"] == races["second"]["builds"] == 1
    assert races["second"]["ends"] == [0]


def test_many_processes_compile_one_new_op_at_once(races):
    many = races["many"]
    assert many["ends"] == [0] * PROCESSES
    assert 1 <= many["builds"] - races["second"]["builds"] <= PROCESSES
    assert len(many["kept"]) == 2  # no lock, nothing unfinished


def test_processes_that_are_killed_leave_nothing_broken(races):
    killed, after = races["killed"], races["after"]
    assert killed["ends"][1::2] == [0] * (PROCESSES // 2)
    assert killed["builds"] - races["many"]["builds"] <= PROCESSES
    finished = [each for each in after["kept"] if not each.startswith(store.TEMPORARY)]
    assert len(finished) == 3
    assert after["ends"] == [0] and after["builds"] == killed["builds"]


def made(key, content=b"library"):
    calls = []

    def make():
        calls.append(key)
        return content

    path = LIBRARIES.find_or_make(key, make)
    return path, len(calls)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", str(tmp_path))
    return tmp_path / "ops"


def test_an_entry_is_made_once_and_is_private(cache):
    path, first = made("a" * 32)
    assert (first, made("a" * 32)[1]) == (1, 0)
    assert path.parent == cache and path.read_bytes().startswith(b"library")
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(b"x" + path.read_bytes()[1:]),
        lambda path: path.write_bytes(b""),
        lambda path: made("b" * 32)[0].replace(path),
    ],
)
def test_a_damaged_or_foreign_entry_is_made_anew(cache, damage):
    path, _ = made("a" * 32)
    damage(path)
    assert made("a" * 32) == (path, 1)
    assert made("a" * 32) == (path, 0)


def test_a_folder_that_others_may_write_to_is_not_used(cache):
    cache.mkdir(mode=0o700)
    cache.chmod(0o777)
    with pytest.warns(RuntimeWarning, match=f"run chmod go-w {cache}, or"):
        path, _ = made("c" * 32)
    assert path.parent != cache and list(cache.iterdir()) == []


def test_a_folder_that_cannot_be_had_costs_only_time(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", str(blocked))
    path, first = made("e" * 32)
    assert first == 1 and path.read_bytes().startswith(b"library")
    assert LIBRARIES.find("e" * 32) is None


def test_a_folder_of_the_process_that_others_could_exchange(tmp_path, monkeypatch):
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o777)
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", "")
    monkeypatch.setenv("TMPDIR", str(above))
    monkeypatch.setattr(tempfile, "tempdir", None)
    store._of_process.cache_clear()
    with pytest.raises(OSError, match=f"TMPDIR: others may write to {above} "):
        made("f" * 32)


def test_nothing_is_kept_where_the_cache_is_off(monkeypatch):
    monkeypatch.setenv("GPUARRAY_CACHE_DIR", "")
    path, first = made("d" * 32)
    assert first == 1 and path.is_file()  # until the process ends
    assert made("d" * 32) == (path, 0)


def test_the_oldest_entries_go_first_and_what_nobody_finished(cache, monkeypatch):
    old, unfinished = made("a" * 32)[0], None
    unfinished = cache / f"{store.TEMPORARY}x{LIBRARIES.suffix}"
    unfinished.write_bytes(b"half")
    for age, path in ((50, old), (store.STALE_SECONDS + 60, unfinished)):
        os.utime(path, (time.time() - age,) * 2)
    monkeypatch.setenv("GPUARRAY_CACHE_SIZE", "60")
    monkeypatch.setattr(store, "WRITES_PER_PRUNE", 1)
    new, _ = made("b" * 32)
    assert sorted(cache.iterdir()) == [new]


def test_the_folder_is_beside_the_kernels(cache):
    assert LIBRARIES.folder() == cache
    assert Path(os.environ["GPUARRAY_CACHE_DIR"]) == cache.parent


def test_a_folder_that_is_exchanged_before_it_is_loaded_from_runs_nothing(cache):
    """Above a home others may do so; a library runs code when it is opened."""
    path = LIBRARIES.find_or_make("0" * 32, lambda: b"no library")
    with pytest.raises(CCodeError, match="an op: its compiled C code cannot be loaded"):
        load(path, "an op")
    cache.rename(cache.with_name("elsewhere"))
    cache.mkdir()
    cache.chmod(0o777)
    path.write_bytes(b"planted")
    folders._warn.cache_clear()
    with (
        pytest.warns(RuntimeWarning, match="others may write"),
        pytest.raises(CCodeError, match="is gone"),
    ):
        load(path, "an op")  # whose copy would be loaded
    with pytest.raises(CCodeError, match="no folder of the user's alone"):
        load(path.with_name(f"{'1' * 32}{path.suffix}"), "an op")
