"""A process of one library and one row; it does what its standard input says.

``python -m benchmarks.worker torch compile "a + b" large cuda`` answers each command, a
line of JSON, by a line of JSON. It says ``{"ready": ...}`` first, or what kept it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.libraries.base import NotOffered, Prepared
from benchmarks.rows import Array, Row, nothing, numbers
from benchmarks.workloads import rows
from benchmarks.workloads.arrays import of

LONGEST = 0.15  # seconds of a round, as far as the number of calls decides it
MOST = {"call": 2000, "host": 20}  # calls, then a wait; few, for no queue to fill
WAITS = {"call": 1, "host": 50}  # of a round
WARM = 0.05  # seconds of calls before the clock starts, after which clocks are up
SHARE = 65536  # values of a result that are compared
CHECKED = 3  # calls before a state is compared


def summary(array: Array) -> dict[str, Any]:
    """What of a result is compared: its shape, its mean, and values all over it."""
    flat = np.asarray(array).reshape(-1)
    step = max(1, flat.size // SHARE)
    return {
        "shape": np.shape(array),
        "mean": float(flat.mean(dtype="float64")) if flat.size else 0.0,
        "values": flat[::step].astype("float64"),
    }


def keep(results: list[Array], path: str) -> None:
    """Write summaries of results to a file."""
    found: dict[str, Any] = {}
    for place, result in enumerate(results):
        found |= {f"{place} {name}": value for name, value in summary(result).items()}
    np.savez(path, **found)


class Worker:
    """The prepared row, and how many calls make a round."""

    def __init__(self, prepared: Prepared, row: Row) -> None:
        self.prepared, self.row = prepared, row
        self.calls = 0

    def check(self, path: str) -> dict[str, Any]:
        """Call, a few times where there is a state; write the results."""
        for _ in range(1 if self.row.state is nothing else CHECKED):
            self.prepared.call()
        self.prepared.wait()
        keep(self.prepared.results(), path)
        return {}

    def round(self, turn: int) -> dict[str, Any]:
        """Seconds of a call, the mean of a round."""
        kind = self.row.measure
        if kind == "new size":
            return self.another(turn)
        if kind == "host" and not self.prepared.is_asynchronous:
            return {"error": "not offered: a call returns when its work is done"}
        if not self.calls:
            once = min(self.once() for _ in range(2))
            fitting = int(LONGEST / WAITS[kind] / max(once, 1e-9))
            self.calls = max(1, min(MOST[kind], fitting))
        if self.calls > 1:  # what takes long has no need of it
            end = time.perf_counter() + WARM
            while time.perf_counter() < end:
                self.batch()
        waits = WAITS[kind] if self.calls > 1 else 1
        start = time.perf_counter()
        queued = sum(self.batch() for _ in range(waits))
        spent = queued if kind == "host" else time.perf_counter() - start
        return {"seconds": spent / (self.calls * waits)}

    def batch(self) -> float:
        """Calls, then a wait; seconds of the host for the calls."""
        call = self.prepared.call
        start = time.perf_counter()
        for _ in range(self.calls):
            call()
        queued = time.perf_counter() - start
        self.prepared.wait()
        return queued

    def once(self) -> float:
        """Seconds of a call and a wait."""
        start = time.perf_counter()
        self.prepared.call()
        self.prepared.wait()
        return time.perf_counter() - start

    def another(self, turn: int) -> dict[str, Any]:
        """Seconds of the first call with data of a size not met before."""
        if self.prepared.resize is None or self.row.another is None:
            return {"error": "not offered: a size is for good"}
        self.prepared.resize(self.row.another(turn))
        self.prepared.wait()
        return {"seconds": self.once()}

    def peak(self) -> dict[str, Any]:
        """Bytes at the worst moment of a call."""
        if self.prepared.peak is None:
            return {"error": "not offered: does not count its memory"}
        return {"seconds": self.prepared.peak()}


def small() -> Row:
    """What is compiled before the clock starts: what is done once is not counted."""
    work = of(lambda names, x: names.tanh(x) * 3)
    return Row("small", "us", work, lambda: [numbers((7,), 0)])


def first(module: Any, row: Row, variant: str, place: str) -> dict[str, Any]:
    """Seconds from the program's text to its first result; imports are not counted."""
    data, state = row.data(), row.state()
    row = replace(row, data=lambda: data, state=lambda: state)
    before = module.prepare(small(), variant, place)
    before.call()
    before.wait()
    start = time.perf_counter()
    prepared: Prepared = module.prepare(row, variant, place)
    prepared.call()
    prepared.wait()
    return {"seconds": time.perf_counter() - start}


def main(library: str, variant: str, name: str, size: str, place: str) -> None:
    """Answer until there are no more commands."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer

    def answer(found: dict[str, Any]) -> None:
        print(json.dumps(found), file=answers, flush=True)

    try:
        row = rows(size)[name]
        module = importlib.import_module(f"benchmarks.libraries.{library}")
        if row.measure == "first":
            answer(first(module, row, variant, place))
            return
        worker = Worker(module.prepare(row, variant, place), row)
        answer({"ready": True})
        for line in sys.stdin:
            command, *args = json.loads(line)
            answer(getattr(worker, command)(*args))
    except NotOffered as reason:
        answer({"error": f"not offered: {reason}"})
    except Exception as error:
        traceback.print_exc()
        said = str(error).strip().splitlines() or [""]
        answer({"error": f"failed: {type(error).__name__}: {said[0]}"[:300]})


if __name__ == "__main__":
    main(*sys.argv[1:])
