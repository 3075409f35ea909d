"""Runs every row with ours and every peer that is installed; a table, and JSON.

``python -m benchmarks.run --context cuda0 --json benchmarks/results/h100-cuda.json``
``python -m benchmarks.run --rows "softmax*" --only ours torch``
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gpuarray
from gpuarray._core.command_line import exit_with

from benchmarks import firsts, report
from benchmarks.machine import machine, output_of
from benchmarks.progress import Bar, shown
from benchmarks.report import ROOT, Figures
from benchmarks.rows import SIZES, Row
from benchmarks.turns import (
    LIBRARIES,
    REFERENCE,
    Plan,
    peers_environment,
    taking_part,
)
from benchmarks.workloads import rows

LIMITS = "copy", "copy, 1 MiB", "gemm float32"
"""The rows that say what the machine can do; they are always run, and first."""
PACKAGES = "import", "installed size, its own files"
LAUNCH = "a launch from C"


def as_figures(row: Row, found: list[float] | str) -> Figures:
    """Seconds of rounds as figures of a row."""
    if isinstance(found, str):
        return {"error": found}
    return report.figures([row.figure(seconds) for seconds in found])


class Run:
    """The rows measured so far, and the machine's limits."""

    def __init__(self, plan: Plan, only: list[str], bar: Bar) -> None:
        self.plan, self.only, self.bar = plan, only, bar
        self.rows: dict[str, dict[str, Any]] = {}

    def add(self, name: str, unit: str, libraries: dict[str, Any], **more: Any) -> None:
        """Keep a row and show it."""
        self.rows[name] = {"unit": unit, **more, "libraries": libraries}
        self.bar.end()
        print(shown(name, self.rows[name]), flush=True)

    def row(self, row: Row, folder: Path) -> None:
        """Measure a row; the reference takes part, but is told only if asked for."""
        self.bar.begin(row.name)
        if row.measure == "first":
            both = firsts.compiled(self.plan, row)
            for word, found in zip(("cold", "warm"), both, strict=True):
                libraries = {name: as_figures(row, x) for name, x in found.items()}
                self.add(f"{row.name}, {word}", row.unit, self.told(libraries))
            return
        found = self.plan.run(row, folder)
        libraries = {name: as_figures(row, times) for name, times in found.items()}
        more = {key: getattr(row, key) for key in ("bytes", "bus", "flops")}
        more = {key: value for key, value in more.items() if value}
        limit = self.limit(row)
        if limit is not None:
            more["limit"] = float(f"{limit:.4g}")
        self.add(row.name, row.unit, self.told(libraries), **more)

    def told(self, libraries: dict[str, Figures]) -> dict[str, Figures]:
        """Those that were asked for."""
        return {name: one for name, one in libraries.items() if name in self.only}

    def best(self, name: str) -> float | None:
        """The best figure of a row."""
        row = self.rows.get(name)
        found = report.medians(row) if row else {}
        return max(found.values()) if found else None

    def limit(self, row: Row) -> float | None:
        """The row's figure at the rates that the best of all reached in this run."""
        large, small, product = (self.best(name) for name in LIMITS)
        if row.name in LIMITS or large is None or product is None:
            return None
        rates = {8 * SIZES[self.plan.size].vector: large, 2**21: small or large}

        def copied(count: int) -> float:
            nearest = min(
                rates, key=lambda size: abs(size.bit_length() - count.bit_length())
            )
            return rates[nearest] * 1e9

        return row.limit(copied, product * 1e12)

    def packages(self, wanted: list[str]) -> None:
        """Imports and sizes."""
        self.bar.begin("packages")
        for name, entry in firsts.of_packages(self.plan).items():
            if name in wanted:
                libraries = {
                    library: {"error": found}
                    if isinstance(found, str)
                    else report.figures(found)
                    for library, found in entry["found"].items()
                }
                self.add(name, entry["unit"], libraries)

    def launch(self, context: str) -> None:
        """A launch from C, ours and the driver's own."""
        self.bar.begin(LAUNCH)
        folder = Path(gpuarray.__file__).parent
        include = ROOT / "libgpuarray-py" / "include"
        with tempfile.TemporaryDirectory() as place:
            program = str(Path(place) / "launch")
            source = str(ROOT / "benchmarks/launch.c")
            build = [os.environ.get("CC", "cc"), "-O2", source, f"-I{include}"]
            build += [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lgpuarray", "-ldl"]
            try:
                subprocess.run([*build, "-o", program], check=True, capture_output=True)
                found = json.loads(output_of(program, context))
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                libraries: dict[str, Any] = {"ours": {"error": f"failed: {error}"}}
            else:
                libraries = {
                    name: report.figures([value]) for name, value in found.items()
                }
        self.add(LAUNCH, "us", libraries)


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", default="", help="such as cuda0; a processor")
    parser.add_argument("--only", nargs="*", choices=LIBRARIES, default=[*LIBRARIES])
    parser.add_argument(
        "--rows", nargs="*", default=["*"], help="patterns of names, as a shell's"
    )
    parser.add_argument("--list", action="store_true", help="print the rows' names")
    parser.add_argument("--json", "--output", type=Path, help="the file to write")
    parser.add_argument(
        "--add", action="store_true", help="keep the file's rows that are not run"
    )
    parser.add_argument("--peers", default=sys.executable, help="a Python with others")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--seconds", type=float, default=180, help="the most for a library in a row"
    )
    parser.add_argument("--size", choices=SIZES, help="of another kind of machine")
    parser.add_argument("--commit", default="", help="where the tree has no git")
    return parser.parse_args(arguments)


def found_context(name: str) -> gpuarray.Context:
    """The context of a name; without one a processor, if there is any."""
    processors = [one.context for one in gpuarray.devices() if one.is_cpu]
    return gpuarray.context(name or next(iter(processors), None))


def wanted(names: list[str], patterns: list[str]) -> list[str]:
    """The names that a pattern fits; ValueError for a pattern that fits none."""
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            near = difflib.get_close_matches(pattern, names, 3, 0.4)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise ValueError(
                f"--rows: no row fits {pattern!r}; --list has them. {hint}"
            )
    return [
        n for n in names if any(fnmatch.fnmatch(n, pattern) for pattern in patterns)
    ]


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    given = options(arguments)
    ctx = found_context(given.context)
    size = given.size or ("small" if ctx.is_cpu else "large")
    table = rows(size)
    try:
        names = wanted([*table, *PACKAGES, LAUNCH], given.rows)
    except ValueError as error:
        sys.exit(str(error))
    if ctx.name == "null":
        names = [name for name in names if name != LAUNCH]
    if given.list:
        print(*names, sep="\n")
        return
    peer = "cpu" if ctx.is_cpu else "cuda"
    pythons = taking_part(list({*given.only, REFERENCE}), given.peers)
    pythons = {name: pythons[name] for name in LIBRARIES if name in pythons}
    places = {name: ctx.name if name.startswith("ours") else peer for name in pythons}
    todo = [n for n in dict.fromkeys([*LIMITS, *names]) if n in table]
    bar = Bar(len(todo) + sum(n not in table for n in names))
    bar.total += sum(table[name].measure == "first" for name in todo)
    plan = Plan(
        size,
        pythons,
        places,
        given.rounds,
        given.seconds,
        peers_environment(ctx.is_cpu),
        bar.said,
    )
    run = Run(plan, given.only, bar)
    before = (
        given.json and given.add and given.json.exists() and report.read(given.json)
    )
    kept = before["rows"] if before else {}
    found = machine(ctx, given.commit, set(pythons.values())) | {"rounds": given.rounds}

    def keep() -> None:
        """Write what there is: who stops the run has the rows so far."""
        if given.json is not None:
            report.write(found | {"rows": kept | run.rows}, given.json)

    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name in todo:
            run.row(table[name], Path(folder))
            keep()
    if any(name in names for name in PACKAGES):
        run.packages(names)
    if LAUNCH in names:
        run.launch(ctx.name)
    keep()
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    exit_with(main)
