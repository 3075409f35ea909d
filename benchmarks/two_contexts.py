"""Model parallel: a network in two contexts of one process, and the copies between.

``python -m benchmarks.two_contexts cuda0 cuda1 --add FILE.json`` prints the rate of a
copy as a step of a plan, beside PyTorch's; times of a training step of two layers on
one context and on two; and how long commands of both contexts ran at once, by the trace
of the function's profile. ``opencl0:0 opencl1:0 --small`` tries the program.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gpuarray
import numpy as np
from gpuarray._core.command_line import exit_with
from gpuarray.compiler import config, function, grad, shared, tensor as T
from gpuarray.compiler.contexts import reg_context, sync_all
from gpuarray.compiler.profiling import ProfileStats

PLACES = "first", "second"
SIZES = 64, 1024, 4096
"""Rows of a batch, and the length of both layers."""
RATE = np.float32(0.1)

Pair = Sequence[Any]


def seconds(call: Callable[[], Any], pair: Pair, least: float = 0.1) -> float:
    """Return the time of a call, in the best of four rounds."""

    def wait() -> None:
        sync_all(pair)
        torch = sys.modules.get("torch")
        if torch is not None:
            for number in range(torch.cuda.device_count()):
                torch.cuda.synchronize(number)

    for _ in range(3):
        call()
    wait()
    best, turns = np.inf, 1
    for _ in range(4):
        start = time.perf_counter()
        for _ in range(turns):
            call()
        wait()
        took = (time.perf_counter() - start) / turns
        best, turns = min(best, took), max(3, min(1000, int(least / took)))
    return best


# ---- copies ----


def copies(pair: Pair, largest: int) -> list[dict[str, Any]]:
    """Return the rates of copies from the first context to the second, in GB/s."""
    found = []
    for power in range(12, largest + 1, 3):
        size = 2**power
        here = shared(np.zeros(size // 4, "float32"), target=PLACES[0])
        copy = function([], here.transfer(PLACES[1]), on_device=True)
        row: dict[str, Any] = {"bytes": size}
        for library, call in (("ours", copy), ("torch", of_torch(pair, size // 4))):
            if call is not None:
                took = seconds(call, pair)
                row[f"{library}_us"] = took * 1e6
                row[f"{library}_GB_s"] = size / took / 1e9
        found.append(row)
        print(row, flush=True)
    return found


def of_torch(pair: Pair, count: int) -> Callable[[], Any] | None:
    """Return PyTorch's copy; None but between CUDA devices."""
    if any(context.kind != "cuda" for context in pair):
        return None
    import torch

    here, there = (
        torch.zeros(count, device=context.name.replace("cuda", "cuda:"))
        for context in pair
    )

    return lambda: there.copy_(here)


# ---- training ----


class Network:
    """Two layers of one length, each on a context, and a step of their training."""

    def __init__(self, places: Sequence[str], length: int, **options: Any) -> None:
        rng = np.random.default_rng(0)

        def drawn(rows: int, scale: float) -> Any:
            return (rng.normal(size=(rows, length)) * scale).astype("float32")

        scale = length**-0.5
        self.host = [drawn(length, scale), drawn(length, scale)]
        self.data = [drawn(length, 1), drawn(length, 1)]
        self.layers, (x, y) = (
            [
                shared(value, target=place)
                for value, place in zip(v, places, strict=True)
            ]
            for v in (self.host, self.data)
        )
        v, w = self.layers
        hidden = T.tanh(T.dot(x, v))
        if places[0] != places[1]:
            hidden = hidden.transfer(places[1])
        cost = T.sqr(T.dot(hidden, w) - y).mean()
        updates = [(p, p - RATE * grad(cost, p)) for p in self.layers]
        self.step = function([], cost, updates=updates, on_device=True, **options)

    def check(self, steps: int) -> None:
        """Raise AssertionError if some steps do not give NumPy's parameters."""
        (x, y), (v, w) = (
            [a.astype("float64") for a in b] for b in (self.data, self.host)
        )
        for _ in range(steps):
            self.step()
            hidden = np.tanh(x @ v)
            slope = 2 * (hidden @ w - y) / y.size
            back = slope @ w.T * (1 - hidden * hidden)
            v, w = v - RATE * x.T @ back, w - RATE * hidden.T @ slope
        for layer, wanted in zip(self.layers, (v, w), strict=True):
            np.testing.assert_allclose(layer.get_value(), wanted, rtol=1e-3, atol=1e-4)


def steps(pair: Pair, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Return times of steps with both layers on one context, and on two."""
    found = []
    for length in sizes:
        row: dict[str, Any] = {"length": length}
        for name, places in (("one", PLACES[:1] * 2), ("two", PLACES)):
            network = Network(places, length)
            if length <= 256:
                network.check(3)
            row[f"{name}_ms"] = seconds(network.step, pair) * 1e3
        found.append(row)
        print(row, flush=True)
    return found


# ---- the trace ----


def halves(length: int) -> Any:
    """Return a function of two independent halves of a batch, each forth and back.

    While one half is on the second context the other may be on the first.
    """
    rng = np.random.default_rng(1)
    weights = (rng.normal(size=(length, length)) * length**-0.5).astype("float32")
    v, w = (shared(weights, target=place) for place in PLACES)
    costs = []
    for _ in range(2):
        x = shared(
            rng.normal(size=(length, length)).astype("float32"), target=PLACES[0]
        )
        for _ in range(3):
            there = T.tanh(T.dot(x, v)).transfer(PLACES[1])
            x = T.tanh(T.dot(there, w)).transfer(PLACES[0])
        costs.append(x.sum())
    stats = ProfileStats(atexit_print=False)
    return function([], costs, on_device=True, profile=stats)


def overlap(pair: Pair, length: int) -> dict[str, Any]:
    """Return how long each context, and both, computed, by the trace of a profile."""
    run = halves(length)
    for _ in range(4):
        run()
    sync_all(pair)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        run.profile.chrome_trace(path)
        events = json.loads(path.read_text())["traceEvents"]
    lanes: dict[int, list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X" and event["pid"] == 1:
            span = event["ts"], event["ts"] + event["dur"]
            lanes.setdefault(event["tid"], []).append(span)
    busy = {str(lane): sum(b - a for a, b in spans) for lane, spans in lanes.items()}
    several = list(lanes.values())
    both = sum(
        max(0.0, min(b, d) - max(a, c))
        for i, spans in enumerate(several)
        for others in several[i + 1 :]
        for a, b in spans
        for c, d in others
    )
    row = {"length": length, "lanes_us": busy, "at_once_us": both}
    print("trace:", row, flush=True)
    return row


def main() -> None:
    """Run on two devices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("devices", nargs=2)
    parser.add_argument("--add", type=Path, help="a file of results to add these to")
    parser.add_argument("--commit", default="")
    parser.add_argument("--small", action="store_true", help="only try the program")
    options = parser.parse_args()
    pair = [gpuarray.context(name) for name in options.devices]
    for name, context in zip(PLACES, pair, strict=True):
        reg_context(name, context)
    with config.use(floatX="float32", device=pair[0].name):
        results = {
            "devices": options.devices,
            "commit": options.commit,
            "copies": copies(pair, 21 if options.small else 30),
            "training step": steps(pair, SIZES[:1] if options.small else SIZES),
            "overlap": overlap(pair, 64 if options.small else 4096),
        }
    if options.add is not None:
        known = json.loads(options.add.read_text()) if options.add.exists() else []
        options.add.write_text(json.dumps([*known, results], indent=1) + "\n")


if __name__ == "__main__":
    exit_with(main)
