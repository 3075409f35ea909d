"""Compiled rows through CUDA and through OpenCL on one card, in turns.

``python -m benchmarks.opencl_steps cuda0 opencl1:0 "exp on device" --json steps.json``
also queues what a call queues through OpenCL once more, without us (`opencl_calls.c`):
that the driver takes as long for it says whose time it is.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpuarray
import numpy as np
from gpuarray._core.command_line import exit_with

from benchmarks.libraries import ours
from benchmarks.machine import machine
from benchmarks.report import figures, write
from benchmarks.rows import Row
from benchmarks.workloads import rows

ROUNDS = 7
SECONDS = 0.05
"""Of a round."""
SOURCE = Path(__file__).with_name("opencl_calls.c")
DRIVER = "ours, the driver's part"
FEW = 100e-6
"""Seconds of a call through CUDA up to which the driver's calls are timed alone."""

Turn = Callable[[int], float]
"""Seconds of so many calls, the last of which is waited for."""


def calls_of(prepared: Any) -> Turn:
    """A turn of calls of ours."""

    def turn(times: int) -> float:
        start = time.perf_counter()
        for _ in range(times):
            prepared.call()
        prepared.wait()
        return time.perf_counter() - start

    return turn


def driver_turn(prepared: Any) -> tuple[int, Turn]:
    """How many kernels a call queues, and a turn of the driver's calls for them."""
    taken = ctypes.CDLL(os.environ["LD_PRELOAD"])
    taken.calls_again.restype = ctypes.c_double
    taken.calls_begin()
    prepared.call()
    prepared.wait()
    launches = taken.calls_end()
    assert launches > 0, "a call queues nothing, or more than can be taken down"
    return launches, lambda times: float(taken.calls_again(times))


def measured(row: Row, cuda: str, opencl: str) -> tuple[str, dict[str, Any]]:
    """What to print, and the row's figures by the library."""
    data, state = row.data(), row.state()
    row = dataclasses.replace(row, data=lambda: data, state=lambda: state)
    prepared = {place: ours.prepare(row, "", place) for place in (cuda, opencl)}
    turns = {
        "ours": calls_of(prepared[cuda]),
        "ours, NVIDIA OpenCL": calls_of(prepared[opencl]),
    }
    results = []
    for one in prepared.values():
        one.call()
        one.wait()
        results.append([np.asarray(array) for array in one.results()])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, row.tolerance, row.tolerance)
    del results, a, b
    gc.collect()
    said = ""
    if min(turns["ours"](10) for _ in range(5)) / 10 < FEW:  # once its graph is there
        launches, turns[DRIVER] = driver_turn(prepared[opencl])
        said = f", {launches} launches"
    found: dict[str, list[float]] = {name: [] for name in turns}
    for number in range(ROUNDS + 1):
        for name, turn in turns.items():
            once = turn(10) / 10
            times = max(1, min(1000, int(SECONDS / once)))
            took = turn(times) / times
            if number:  # the first round warms up
                found[name].append(row.figure(took))
    libraries = {name: figures(values) for name, values in found.items()}
    return said, {"unit": row.unit, "libraries": libraries}


def preloaded() -> None:
    """Run this again with the library that takes down the driver's calls."""
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/calls.so"
        command = ["cc", "-O2", "-shared", "-fPIC", str(SOURCE), "-ldl", "-o", library]
        subprocess.run(command, check=True)
        again = [sys.executable, "-m", "benchmarks.opencl_steps", *sys.argv[1:]]
        done = subprocess.run(again, env={**os.environ, "LD_PRELOAD": library})
    sys.exit(done.returncode)


def main() -> None:
    """The rows that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cuda", help="a context such as cuda0")
    parser.add_argument("opencl", help="the same card's, such as opencl1:0")
    parser.add_argument("rows", nargs="+", help="names of rows")
    parser.add_argument("--json", "--output", type=Path, help="the file to write")
    parser.add_argument("--commit", default="", help="where the tree has no git")
    options = parser.parse_args()
    if "LD_PRELOAD" not in os.environ:
        preloaded()
    table = rows("large")
    found: dict[str, Any] = {}
    for name in options.rows:
        said, found[name] = measured(table[name], options.cuda, options.opencl)
        print(f"{name}, {found[name]['unit']}{said}", flush=True)
        for library, one in found[name]["libraries"].items():
            spread = f"{one['low']:.4g} to {one['high']:.4g}"
            print(f"    {library:<32} {one['median']:8.4g}  {spread}", flush=True)
        if options.json:
            ctx = gpuarray.context(options.cuda)
            write({**machine(ctx, options.commit), "rows": found}, options.json)


if __name__ == "__main__":
    exit_with(main)
