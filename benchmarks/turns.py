"""Libraries that take turns at a row, each in a process of its own.

So a library that fails, hangs or keeps the device's memory leaves the others alone, and
PyTensor may live in another Python. All run in the same minute and in alternating
order: what disturbs the machine disturbs them alike.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.processes import end, started
from benchmarks.report import ROOT
from benchmarks.rows import Row

ENOUGH = 6  # part of a library's time in a row after which it has no more rounds
PAUSE = 0.25  # seconds, in which the threads of the library before stop spinning

Answer = dict[str, Any]


@dataclass(frozen=True)
class Library:
    """A way of doing the rows: a module, its variant, and what has to be installed."""

    module: str
    variant: str
    package: str


LIBRARIES = {
    "ours": Library("ours", "", "gpuarray"),
    "ours, arrays": Library("ours", "arrays", "gpuarray"),
    "numpy": Library("numpy", "", "numpy"),
    "numexpr": Library("numexpr", "", "numexpr"),
    "torch": Library("torch", "", "torch"),
    "torch.compile": Library("torch", "compile", "torch"),
    "torch.compile, CUDA graph": Library("torch", "graph", "torch"),
    "jax": Library("jax", "", "jax"),
    "cupy": Library("cupy", "", "cupy"),
    "cupy.fuse": Library("cupy", "fuse", "cupy"),
    "pytensor, C": Library("pytensor", "CVM", "pytensor"),
    "pytensor, numba": Library("pytensor", "NUMBA", "pytensor"),
}
REFERENCE = "numpy"


class Process:
    """A worker, spoken to by lines of JSON; it ends when its time is over."""

    def __init__(
        self, name: str, python: str, row: str, size: str, place: str, **more: str
    ) -> None:
        library = LIBRARIES[name]
        command = [python, "-m", "benchmarks.worker", library.module, library.variant]
        self.name, self.error = name, ""
        self.spent = 0.0
        self.process = started([*command, row, size, place], **more)

    def answer(self, seconds: float) -> Answer:
        """Its next answer; an error, kept as well, where it gives none in time."""
        stream = self.process.stdout
        assert stream is not None
        ready, _, _ = select.select([stream], [], [], max(seconds, 0))
        if not ready:
            return self.failed(f"more than {seconds:.0f} s")
        line = stream.readline()
        if not line:
            code = self.process.wait()
            how = f"signal {-code}" if code < 0 else f"status {code}"
            return self.failed(f"failed: ended with {how}")
        found: Answer = json.loads(line)
        if "error" in found:
            self.failed(found["error"])
        return found

    def asked(self, seconds: float, *command: Any) -> Answer:
        """Its answer to a command."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except OSError:
            return self.failed(f"failed: ended with {self.process.wait()}")
        return self.answer(seconds)

    def failed(self, error: str) -> Answer:
        """The error as an answer; the process is of no use any more."""
        self.error = self.error or error
        self.end()
        return {"error": self.error}

    def end(self) -> None:
        """Stop it, whatever it does, and wait for that."""
        end(self.process)


def differs(row: Row, found: Path, expected: Path) -> str:
    """In what the results of two libraries differ; empty: in nothing."""
    with np.load(found) as ours, np.load(expected) as theirs:
        if set(ours) != set(theirs):
            return f"{len(ours) // 3} results, not {len(theirs) // 3}"
        for key in sorted(ours):
            a, b = ours[key], theirs[key]
            place, kind = key.split()
            if kind == "shape":
                shapes = tuple(a.tolist()), tuple(b.tolist())
                if shapes[0] != shapes[1]:
                    return f"result {place}: shape {shapes[0]}, not {shapes[1]}"
                continue
            scale = float(np.abs(theirs[f"{place} values"]).mean()) if b.size else 0.0
            allowed = row.tolerance
            if kind == "mean":
                allowed = max(allowed, min(row.apart, 0.01))
            near = np.abs(a - b) <= allowed * (np.abs(b) + scale)
            share = 1 - float(np.mean(near | (np.isnan(a) & np.isnan(b))))
            if kind == "values" and share > row.apart:
                worst = int(np.argmin(near))
                got, want = np.ravel(a)[worst], np.ravel(b)[worst]
                return f"result {place}: {got:g}, not {want:g} ({share:.2%} differ)"
            if kind == "mean" and share:
                return f"result {place}: the mean is {a:g}, not {b:g}"
    return ""


@dataclass
class Plan:
    """How rows are run: who takes part, where, how often, how long."""

    size: str
    pythons: dict[str, str]
    """The Python of each library that takes part."""
    places: dict[str, str]
    """Where it runs."""
    rounds: int
    seconds: float
    """Of one library in one row."""
    environment: dict[str, str]
    said: Callable[[str], None] = lambda text: None
    """Is told what is being done."""

    def start(self, name: str, row: Row, **more: str) -> Process:
        """A process of a library, made ready for a row."""
        environment = {**self.environment, **more}
        python, place = self.pythons[name], self.places[name]
        return Process(name, python, row.name, self.size, place, **environment)

    def begun(self, row: Row, folder: Path) -> dict[str, Process]:
        """Every library made ready and compared with the first; who failed is told."""
        reference = folder / "reference.npz"
        reference.unlink(missing_ok=True)
        others = [name for name in self.pythons if name != REFERENCE]

        def begin(name: str) -> Process:
            path = reference if name == REFERENCE else folder / f"{name}.npz"
            self.said(name)
            process = self.start(name, row)
            until = time.monotonic() + self.seconds
            answer = process.answer(self.seconds)
            if "error" not in answer:
                answer = process.asked(until - time.monotonic(), "check", str(path))
            if "error" not in answer and name != REFERENCE and reference.exists():
                wrong = differs(row, path, reference)
                if wrong:
                    process.failed(f"another result: {wrong}")
            return process

        first = begin(REFERENCE)
        with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) // 2)) as together:
            rest = dict(zip(others, together.map(begin, others), strict=True))
        return {REFERENCE: first, **rest}

    def run(self, row: Row, folder: Path) -> dict[str, list[float] | str]:
        """Seconds of each library's rounds, or why there are none."""
        taking = self.begun(row, folder)
        values: dict[str, list[float]] = {name: [] for name in taking}
        command = "peak" if row.measure == "peak" else "round"
        try:
            for turn in range(1 if command == "peak" else self.rounds):
                order = list(taking.values())[:: 1 if turn % 2 == 0 else -1]
                for process in order:
                    self.one(process, values, command, turn)
        finally:
            for process in taking.values():
                process.end()
        return {
            name: values[name] or process.error or "failed: nothing was measured"
            for name, process in taking.items()
        }

    def one(
        self, process: Process, values: dict[str, list[float]], command: str, turn: int
    ) -> None:
        """A turn of a library, if it is still of use and has time."""
        found = values[process.name]
        if process.error:
            return
        if process.spent > self.seconds / ENOUGH and found:
            return
        self.said(process.name)
        time.sleep(PAUSE)
        arguments: Sequence[int] = () if command == "peak" else (turn,)
        started = time.monotonic()
        answer = process.asked(self.seconds, command, *arguments)
        process.spent += time.monotonic() - started
        if "error" in answer:
            found.clear()
        else:
            found.append(answer["seconds"])


def python_of(package: str, pythons: Sequence[str]) -> str | None:
    """The first Python that can import a package."""
    program = (
        f"import importlib.util as u; raise SystemExit(not u.find_spec({package!r}))"
    )
    for python in pythons:
        done = subprocess.run([python, "-c", program], check=False, cwd=ROOT)
        if done.returncode == 0:
            return python
    return None


def taking_part(only: Sequence[str], peers: str) -> dict[str, str]:
    """The Python of each library that is installed; ours are of this one."""
    found = {}
    for name in only:
        package = LIBRARIES[name].package
        pythons = [sys.executable]
        if package != "gpuarray" and peers != sys.executable:
            pythons.append(peers)
        python = python_of(package, pythons)
        if python is not None:
            found[name] = python
    return found


def peers_environment(is_cpu: bool) -> dict[str, str]:
    """What keeps peers on the kind of device that ours are on."""
    if is_cpu:
        return {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    return {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
