"""The same program compiles to the same kernels; a second process compiles none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("run_programs.py")


class Folders:
    """A cache and a place for the kernels' sources, for one or more processes."""

    def __init__(self, folder):
        self.cache, self.sources = folder / "cache", folder / "sources"

    def run(self, context, hash_seed):
        """What the context's cache did in a process of its own."""
        environment = {
            **os.environ,
            "GPUARRAY_CACHE_DIR": str(self.cache),
            "GPUARRAY_SHIPPED_KERNELS": "",
            "GPUARRAY_DUMP_KERNELS": str(self.sources),
            "PYTHONHASHSEED": str(hash_seed),
        }
        done = subprocess.run(
            [sys.executable, PROGRAM, context.name],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def kernels(self):
        """The sources by the names of their files."""
        return {path.name: path.read_bytes() for path in self.sources.iterdir()}


@pytest.fixture(scope="module")
def first(context, tmp_path_factory):
    folders = Folders(tmp_path_factory.mktemp("first"))
    return folders, folders.run(context, 1)


def test_two_runs_compile_the_same_kernels_byte_for_byte(context, first, tmp_path):
    one, cold = first
    assert cold["compiled"] > 0 and cold["disk_hits"] == 0 and cold["unwritable"] == 0
    other = Folders(tmp_path)
    again = other.run(context, 2)
    assert again["compiled"] == cold["compiled"]
    assert one.kernels() == other.kernels()
    assert len(one.kernels()) >= cold["compiled"]


def test_a_second_process_compiles_none(context, first):
    folders, cold = first
    kernels = folders.kernels()
    warm = folders.run(context, 3)
    assert warm["compiled"] == warm["damaged"] == 0
    assert warm["disk_hits"] == cold["compiled"]
    assert folders.kernels() == kernels
