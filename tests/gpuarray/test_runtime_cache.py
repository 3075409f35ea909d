"""Kernels that an OpenCL runtime keeps on disk itself, PoCL, beside our files."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import gpuarray
context = gpuarray.context(sys.argv[1])
a = gpuarray.ones((3, 5), "float32", context=context)
assert float((a + a).sum()) == 30
info = context.cache_info()
print(info.compiled, info.disk_hits, info.damaged, info.unwritable)
"""


def run(context, places):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(context.name)],
        env=os.environ | {name: str(folder) for name, folder in places.items()},
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(word) for word in done.stdout.split()]


def work_groups(folder):
    """PoCL's work-group functions, by the group's size that each is compiled for."""
    return [path.parent.name for path in folder.rglob("*.so")]


@pytest.mark.every_case
def test_a_kernel_is_compiled_once(context, tmp_path):
    """By PoCL for the launch alone, and by no process after the first."""
    tmp_path.chmod(0o700)
    ours, its = tmp_path / "ours", tmp_path / "its"
    places = {"GPUARRAY_CACHE_DIR": ours, "POCL_CACHE_DIR": its}
    compiled, *rest = run(context, places)
    assert compiled > 0
    assert rest == [0, 0, 0]
    first = work_groups(its)
    assert len(first) == (compiled if b"PoCL" in context.bin_id else 0)
    assert "0-0-0" not in first  # for groups of any size, which no launch takes
    assert run(context, places) == [0, compiled, 0, 0]
    assert work_groups(its) == first
