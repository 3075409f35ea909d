"""Compile times beside other compilers, each library and graph in its own process.

``python -m benchmarks.compile_times --context opencl0:0 --output
benchmarks/results/xeon-2-cores-compiling.json``; ``--peers`` names another Python that
has PyTensor and JAX. Every library compiles with empty caches (cold), and again in a
new process with what the first one kept (warm).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.graphs import graphs
from benchmarks.run import ROOT, machine

LIBRARIES = {
    "ours": ("ours", ""),
    "pytensor, C": ("pytensor", "CVM"),
    "pytensor, numba": ("pytensor", "NUMBA"),
    "jax": ("jax", ""),
    "torch.compile": ("torch", ""),
}
"""The module of `benchmarks.compilers` and its second argument, by name."""

UNITS = "seconds of building, compiling and the first call; importing is not counted"


def caches(folder: str) -> dict[str, str]:
    """Every library's cache of compiled code, in a folder."""
    return {
        "GPUARRAY_CACHE_DIR": f"{folder}/gpuarray",
        "CUDA_CACHE_DISABLE": "1",
        "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor,floatX=float32",
        "NUMBA_CACHE_DIR": f"{folder}/numba",
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/torch",
    }


def measured(
    python: str, module: str, name: str, where: str, folder: str, seconds: float
) -> dict[str, float] | str:
    """What one process measures, or in a word why it does not."""
    command = [python, "-m", "benchmarks.graphs", module, name, where]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, **caches(folder)},
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"more than {seconds:g} s"
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    if done.returncode or not lines:
        return f"failed: {lines[-1] if lines else done.returncode}"[:200]
    found: dict[str, float] = json.loads(lines[-1])
    return found


def rows(
    context: str, only: list[str], names: list[str], peers: str, seconds: float
) -> dict[str, dict[str, dict[str, Any]]]:
    """Cold and warm figures of each library for each graph."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name in names:
        found[name] = {}
        for library in only:
            module, where = LIBRARIES[library]
            where = context if module == "ours" else where
            python = peers if module in ("pytensor", "jax") else sys.executable
            with tempfile.TemporaryDirectory() as folder:
                cold, warm = (
                    measured(python, module, name, where, folder, seconds)
                    for _ in range(2)
                )
            found[name][library] = {"cold": cold, "warm": warm}
            texts = [
                x if isinstance(x, str) else f"{x['all']:.2f} s" for x in (cold, warm)
            ]
            print(f"{name}, {library}: cold {texts[0]}, warm {texts[1]}", flush=True)
    return found


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", default="")
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--only", nargs="*", choices=LIBRARIES, default=[*LIBRARIES])
    parser.add_argument("--graphs", nargs="*", default=[*graphs()])
    parser.add_argument("--seconds", type=float, default=600, help="of one process")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--commit", default="")
    given = parser.parse_args()
    found = rows(given.context, given.only, given.graphs, given.peers, given.seconds)
    if given.output is not None:
        report = {**machine(given.context, given.commit), "units": UNITS, "rows": found}
        given.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
