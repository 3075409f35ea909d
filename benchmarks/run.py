"""Runs every library's rows, each in its own process; prints a table, writes JSON.

``python benchmarks/run.py --context cuda0 --output benchmarks/results/h100.json``
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import gpuarray

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = {
    "ours": "gpuarray",
    "numpy": "numpy",
    "torch": "torch",
    "cupy": "cupy",
    "jax": "jax",
}
UNITS = (
    "GB/s of the bytes that must move, unless the row says otherwise; steps, exp and "
    "10 floats: microseconds; compile: seconds"
)
TIMES = ("10 floats: ", "a + a, 10 floats", "exp ", "logistic ")
"""How the names of rows in microseconds begin; the others are rates."""


def measured(module: str, *args: str, **environment: str) -> dict[str, float]:
    """What a module of the benchmarks prints as JSON, run in a process of its own.

    Empty, with a note on the error, if it fails.
    """
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *args],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
    )
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    if done.returncode or not lines:
        print(f"{module} {args}: {lines[-1:]}", file=sys.stderr)
        return {}
    found: dict[str, float] = json.loads(lines[-1])
    return found


def best_of(runs: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The best figure of each row."""
    found: dict[str, float] = {}
    for rows in runs:
        for name, figure in rows.items():
            better = min if name.startswith(TIMES) else max
            found[name] = better(found.get(name, figure), figure)
    return found


def compile_times(context: str) -> dict[str, dict[str, float]]:
    """Seconds to a first result in a new process, with an empty and a filled cache.

    NVRTC's own cache is off: it would hide what compiling costs.
    """
    with tempfile.TemporaryDirectory() as cache:
        places = {"GPUARRAY_CACHE_DIR": cache, "CUDA_CACHE_DISABLE": "1"}
        return {
            label: measured("compiling", context, **places)
            for label in ("cold", "warm")
        }


def launch_times() -> dict[str, float]:
    """Microseconds of a launch from C, ours and the CUDA driver's own.

    Empty, with a note on the error, where it cannot be built or run.
    """
    folder = Path(gpuarray.__file__).parent
    include = ROOT / "libgpuarray-py" / "include"
    with tempfile.TemporaryDirectory() as place:
        program = str(Path(place) / "launch")
        build = [os.environ.get("CC", "cc"), "-O2", str(ROOT / "benchmarks/launch.c")]
        build += [f"-I{include}", f"-L{folder}", f"-Wl,-rpath,{folder}", "-lgpuarray"]
        try:
            subprocess.run([*build, "-ldl", "-o", program], check=True)
            done = subprocess.run([program], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"launch: {error}", file=sys.stderr)
            return {}
    found: dict[str, float] = json.loads(done.stdout)
    return found


def output_of(*command: str) -> str:
    """What a program prints; empty if there is no such program."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


def machine(context: str, commit: str) -> dict[str, str]:
    """What the figures were measured on."""
    ctx = gpuarray.context(context or None)
    query = ("--query-gpu=driver_version", "--format=csv,noheader")
    return {
        "context": ctx.name,
        "device": ctx.device_name,
        "driver": output_of("nvidia-smi", *query).partition("\n")[0],
        "commit": commit or output_of("git", "rev-parse", "--short", "HEAD"),
        "date": time.strftime("%Y-%m-%d"),
    }


def table(results: Mapping[str, Mapping[str, float]]) -> str:
    """The rows as text: a line a row, a column a library."""
    names = list(dict.fromkeys(name for rows in results.values() for name in rows))
    width = max(map(len, names), default=0)
    lines = [" " * width + "".join(f"{library:>12}" for library in results)]
    for name in names:
        cells = [rows.get(name) for rows in results.values()]
        texts = ["" if cell is None else f"{cell:.2f}" for cell in cells]
        lines.append(f"{name:<{width}}" + "".join(f"{text:>12}" for text in texts))
    return "\n".join(lines)


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", default="")
    parser.add_argument(
        "--passes",
        type=int,
        default=1,
        help="runs of every library, in turns, of which the best figures count",
    )
    parser.add_argument("--output", type=Path)
    parser.add_argument("--commit", default="", help="where the tree has no git")
    parser.add_argument("--only", nargs="*", choices=LIBRARIES, default=[*LIBRARIES])
    return parser.parse_args()


def main(
    context: str, passes: int, only: list[str], output: Path | None, commit: str
) -> None:
    """Measure, print and keep. A processor gets small sizes."""
    size = "small" if gpuarray.context(context or None).is_cpu else "large"
    found = [name for name in only if importlib.util.find_spec(LIBRARIES[name])]
    runs: dict[str, list[dict[str, float]]] = {library: [] for library in found}
    for _ in range(passes):
        for library in found:
            print(f"{library} ...", file=sys.stderr)
            runs[library].append(measured("worker", library, size, context))
    results = {library: best_of(rows) for library, rows in runs.items()}
    compiling = compile_times(context)
    launching = launch_times() if context.startswith("cuda") else {}
    print(table(results))
    print(json.dumps({"compile": compiling, "launch": launching}, indent=2))
    if output is not None:
        report: dict[str, Any] = {
            **machine(context, commit),
            "units": UNITS,
            "rows": results,
            "compile": compiling,
            "launch": launching,
        }
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main(**vars(options()))
