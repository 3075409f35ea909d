"""Compile times beside other compilers, each library and graph in its own process.

``python -m benchmarks.compile_times --context opencl0:0 --peers python --json
benchmarks/results/epyc-2-cores-compiling.json``; ``--peers`` names another Python, for
libraries that this one lacks. Every library compiles in a new process with empty caches
(cold), and again in another new process with what the first one kept (warm). A library
that takes too long is told so, and is not tried again.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gpuarray
from gpuarray._core.command_line import exit_with

from benchmarks.firsts import caches
from benchmarks.graphs import graphs
from benchmarks.machine import machine
from benchmarks.processes import ended
from benchmarks.progress import Bar, shown
from benchmarks.report import figures, write
from benchmarks.turns import peers_environment, python_of

LIBRARIES = {
    "ours": ("ours", "gpuarray", ""),
    "pytensor, C": ("pytensor", "pytensor", "CVM"),
    "pytensor, numba": ("pytensor", "pytensor", "NUMBA"),
    "jax": ("jax", "jax", ""),
    "torch.compile": ("torch", "torch", ""),
}
"""The module of `benchmarks.compilers`, its package, its second argument."""

ENOUGH = 20.0  # seconds of a library with a graph, after which it is not repeated

Found = dict[str, float] | str


def measured(
    python: str, module: str, name: str, where: str, seconds: float, **more: str
) -> Found:
    """What one process measures, or in a word why it does not."""
    command = [python, "-m", "benchmarks.graphs", module, name, where]
    code, said, errors = ended(command, seconds, **more)
    if code is None:
        return f"more than {seconds:g} s"
    if code < 0:
        return f"failed: ended with signal {-code}"
    lines = (errors if code else said).strip().splitlines()
    if code or not lines:
        return f"failed: {lines[-1] if lines else code}"[:200]
    found: dict[str, float] = json.loads(lines[-1])
    return found


def as_figures(found: list[Found]) -> dict[str, Any]:
    """Figures of the whole, and the median of its stages."""
    for outcome in found:
        if isinstance(outcome, str):
            return {"error": outcome}
    stages = [times for times in found if not isinstance(times, str)]
    parts = {
        name: figures([times[name] for times in stages])["median"]
        for name in stages[0]
        if name != "all"
    }
    return {**figures([times["all"] for times in stages]), **parts}


class Measuring:
    """The graphs measured so far, for a context, with the libraries that there are."""

    def __init__(self, given: argparse.Namespace, context: Any, bar: Bar) -> None:
        self.given, self.context, self.bar = given, context, bar
        self.environment = peers_environment(context.is_cpu)
        self.rows: dict[str, dict[str, Any]] = {}
        self.pythons: dict[str, str] = {}
        for name in given.only:
            package = LIBRARIES[name][1]
            mine = [sys.executable]
            python = python_of(
                package, mine if name == "ours" else [given.peers, *mine]
            )
            if python is not None:
                self.pythons[name] = python

    def graph(self, name: str) -> None:
        """Cold and warm figures of each library for a graph."""
        self.bar.begin(name)
        cold: dict[str, Any] = {}
        warm: dict[str, Any] = {}
        for library in self.pythons:
            self.bar.said(library)
            both = self.library(library, name)
            cold[library], warm[library] = map(as_figures, both)
        for word, libraries in (("cold", cold), ("warm", warm)):
            row = {"unit": "s", "libraries": libraries}
            self.rows[f"{name}, {word}"] = row
            print(shown(f"{name}, {word}", row), flush=True)
        self.bar.end()

    def library(self, library: str, name: str) -> tuple[list[Found], list[Found]]:
        """Cold and warm, a few times; once if that takes long."""
        module, _, where = LIBRARIES[library]
        where = self.context.name if module == "ours" else where
        python, seconds = self.pythons[library], self.given.seconds
        cold: list[Found] = []
        warm: list[Found] = []
        started = time.monotonic()
        while len(cold) < self.given.times:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                more = {**self.environment, **caches(folder)}
                cold.append(measured(python, module, name, where, seconds, **more))
                if isinstance(cold[-1], str):
                    return cold, ["not tried: cold failed"]
                warm.append(measured(python, module, name, where, seconds, **more))
            if isinstance(warm[-1], str) or time.monotonic() - started > ENOUGH:
                break
        return cold, warm


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", default="")
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--only", nargs="*", choices=LIBRARIES, default=[*LIBRARIES])
    parser.add_argument("--graphs", nargs="*", default=["*"], help="patterns of names")
    parser.add_argument("--seconds", type=float, default=600, help="of one process")
    parser.add_argument("--times", type=int, default=3, help="unless it takes long")
    parser.add_argument("--json", "--output", type=Path, help="the file to write")
    parser.add_argument("--commit", default="", help="where the tree has no git")
    given = parser.parse_args(arguments)
    names = [n for n in graphs() if any(fnmatch.fnmatch(n, p) for p in given.graphs)]
    context = gpuarray.context(given.context or None)
    measuring = Measuring(given, context, Bar(len(names)))
    for name in names:
        measuring.graph(name)
        if given.json is not None:  # what takes hours is kept as it comes
            about = machine(context, given.commit, set(measuring.pythons.values()))
            write({**about, "rows": measuring.rows}, given.json)


if __name__ == "__main__":
    exit_with(main)
