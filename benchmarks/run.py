"""Runs every library's rows, each in its own process; prints a table and writes JSON.

``python benchmarks/run.py --context cuda0 --output benchmarks/results/h100.json``
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = {
    "ours": "gpuarray",
    "numpy": "numpy",
    "torch": "torch",
    "cupy": "cupy",
    "jax": "jax",
}
COMPILE_PROGRAM = """
import json, sys, time
start = time.perf_counter()
import numpy
numpy_done = time.perf_counter()
import gpuarray
imported = time.perf_counter()
import gpuarray.compiler as theano, gpuarray.compiler.tensor as T
ctx = gpuarray.context(sys.argv[1] or None)
opened = time.perf_counter()
with theano.config.use(floatX="float32", device=ctx.name):
    x, y = T.matrix("x"), T.vector("y")
    w = theano.shared(numpy.zeros(784, "float32")); b = theano.shared(numpy.float32(0))
    p = 1 / (1 + T.exp(-T.dot(x, w) - b))
    xent = -y * T.log(p) - (1 - y) * T.log(1 - p)
    cost = xent.mean() + 0.01 * (w ** 2).sum()
    gw, gb = T.grad(cost, [w, b])
    built = time.perf_counter()
    f = theano.function([x, y], [p > 0.5, xent], updates={w: w - 0.1 * gw, b: b - 0.1 * gb})
    compiled = time.perf_counter()
    data = numpy.ones((400, 784), "float32"), numpy.ones(400, "float32")
    f(*data)
    first = time.perf_counter()
print(json.dumps({
    "import over NumPy": imported - numpy_done, "open the context": opened - imported,
    "build the expressions": built - opened, "compile": compiled - built,
    "first call": first - compiled}))
"""


def worker(library: str, context: str, small: bool) -> None:
    """Print one library's rows as JSON."""
    from benchmarks import timing

    module = importlib.import_module(f"benchmarks.workers.{library}")
    sizes = timing.SMALL if small else timing.LARGE
    print(json.dumps(module.rows(sizes, context)))


def run_worker(library: str, arguments: list[str]) -> dict[str, float]:
    """The rows of a library, from a process of its own; empty, with a note, if it fails."""
    command = [sys.executable, __file__, "--worker", library, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, check=False
    )
    if done.returncode != 0:
        print(f"{library}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    return json.loads(done.stdout.strip().splitlines()[-1])


def compile_times(context: str, cache: Path) -> dict[str, dict[str, float]]:
    """Seconds to compile the logistic regression in a new process, cold and from disk."""
    import os

    result = {}
    for label in ("cold", "warm"):
        done = subprocess.run(
            [sys.executable, "-c", COMPILE_PROGRAM, context],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "GPUARRAY_CACHE_DIR": str(cache)},
        )
        result[label] = json.loads(done.stdout)
    return result


def driver() -> str:
    """The version of NVIDIA's driver, where there is one."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""


def machine(context: str) -> dict[str, str]:
    """What the figures were measured on."""
    import gpuarray

    ctx = gpuarray.context(context or None)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    return {
        "context": ctx.name,
        "device": ctx.device_name,
        "driver": driver(),
        "commit": commit.stdout.strip(),
        "date": time.strftime("%Y-%m-%d"),
    }


def table(results: dict[str, dict[str, float]]) -> str:
    """The rows as text: a line a row, a column a library."""
    names = list(dict.fromkeys(name for rows in results.values() for name in rows))
    width = max(map(len, names))
    head = " " * width + "".join(f"{library:>12}" for library in results)
    lines = [head]
    for name in names:
        cells = [rows.get(name) for rows in results.values()]
        lines.append(
            f"{name:<{width}}"
            + "".join(f"{'' if c is None else format(c, '12.2f'):>12}" for c in cells)
        )
    return "\n".join(lines)


def main() -> None:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", default="")
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--only", nargs="*", default=list(LIBRARIES))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.worker:
        worker(options.worker, options.context, options.small)
        return
    arguments = [
        f"--context={options.context}",
        *(["--small"] if options.small else []),
    ]
    results = {}
    for library in options.only:
        if importlib.util.find_spec(LIBRARIES[library]) is not None:
            print(f"{library} ...", file=sys.stderr)
            results[library] = run_worker(library, arguments)
    import tempfile

    with tempfile.TemporaryDirectory() as cache:
        compiling = compile_times(options.context, Path(cache))
    report = {
        **machine(options.context),
        "units": "copy, a + b, sum: GB/s; others: microseconds; compile: seconds",
        "rows": results,
        "compile": compiling,
    }
    print(table(results))
    print(json.dumps(compiling, indent=2))
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
