"""Seconds to first results, in new processes: of compilers, and of imports; sizes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.report import ROOT
from benchmarks.rows import Row
from benchmarks.turns import Plan

TIMES = 3
PACKAGES = {
    "gpuarray": "ours",
    "gpuarray.compiler": "ours, with the compiler",
    "numpy": "numpy",
    "torch": "torch",
    "jax": "jax",
    "cupy": "cupy",
    "pytensor": "pytensor",
}
INSTALLED = """
import importlib.metadata as m, sys
names = m.packages_distributions().get(sys.argv[1], [sys.argv[1]])
print(sum((f.locate().stat().st_size for f in m.files(names[0]) or ()
    if f.locate().exists())))
"""
IMPORTED = """
import importlib, sys, time
start = time.perf_counter()
importlib.import_module(sys.argv[1])
print(time.perf_counter() - start)
"""

Found = dict[str, list[float] | str]


def caches(folder: str) -> dict[str, str]:
    """Every library's cache of compiled code, in a folder."""
    return {
        "GPUARRAY_CACHE_DIR": f"{folder}/gpuarray",
        "CUDA_CACHE_DISABLE": "1",
        "POCL_CACHE_DIR": f"{folder}/pocl",
        "CUPY_CACHE_DIR": f"{folder}/cupy",
        "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor,floatX=float32",
        "NUMBA_CACHE_DIR": f"{folder}/numba",
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/torch",
    }


def compiled(plan: Plan, row: Row) -> tuple[Found, Found]:
    """Seconds with empty caches, and in another process with what they keep."""
    cold: dict[str, list[float]] = {name: [] for name in plan.pythons}
    warm: dict[str, list[float]] = {name: [] for name in plan.pythons}
    errors: dict[str, str] = {}
    for _ in range(TIMES):
        for name in plan.pythons:
            if name in errors:
                continue
            plan.said(name)
            with tempfile.TemporaryDirectory() as folder:
                for values in (cold[name], warm[name]):
                    process = plan.start(name, row, **caches(folder))
                    try:
                        answer = process.answer(plan.seconds)
                    finally:
                        process.end()
                    if "error" in answer:
                        errors[name] = answer["error"]
                        break
                    values.append(answer["seconds"])
    return (
        {name: errors.get(name) or values for name, values in cold.items()},
        {name: errors.get(name) or values for name, values in warm.items()},
    )


def printed(program: str, package: str, pythons: set[str]) -> float | str:
    """The number that a program prints for a package, in the first Python that can."""
    said = "not offered: not installed"
    for python in sorted(pythons, key=lambda path: path != sys.executable):
        done = subprocess.run(
            [python, "-c", program, package],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
        if done.returncode == 0:
            return float(done.stdout)
        last = (done.stderr.strip().splitlines() or [""])[-1]
        if "No module named" not in last and "PackageNotFound" not in last:
            said = f"failed: {last}"
    return said


def of_packages(plan: Plan) -> dict[str, dict[str, Any]]:
    """Seconds of an import in a new process, and MB of a package's own files."""
    pythons = set(plan.pythons.values())
    times: Found = {}
    for package, name in PACKAGES.items():
        plan.said(name)
        values = [printed(IMPORTED, package, pythons) for _ in range(TIMES)]
        numbers = [value for value in values if isinstance(value, float)]
        times[name] = numbers or str(values[0])
    sizes: Found = {}
    for package, name in PACKAGES.items():
        if package != "gpuarray.compiler":
            size = printed(INSTALLED, package, pythons)
            sizes[name] = size if isinstance(size, str) else [size / 1e6]
    return {
        "import": {"unit": "s", "found": times},
        "installed size, its own files": {"unit": "MB", "found": sizes},
    }
