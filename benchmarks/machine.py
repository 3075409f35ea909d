"""What figures are measured on: device, driver, host, versions."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

from benchmarks.report import ROOT

PEERS = (
    *("numpy", "numexpr", "torch", "jax", "pytensor", "numba"),
    *("cupy", "cupy-cuda12x", "cupy-cuda13x"),
)


def output_of(*command: str) -> str:
    """What a program prints; empty if there is no such program."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


def versions() -> dict[str, str]:
    """Of what is installed of the peers for this Python."""
    found = {"python": platform.python_version()}
    for name in PEERS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def versions_in(python: str) -> dict[str, str]:
    """The same for another Python."""
    if python == sys.executable:
        return versions()
    said = output_of(python, "-m", "benchmarks.machine")
    found: dict[str, str] = json.loads(said or "{}")
    return found


def processor() -> str:
    """The host's processor, and how many of its cores the process may use."""
    found = output_of("sed", "-n", "s/^model name[^:]*: //p", "/proc/cpuinfo")
    name = found.partition("\n")[0] or platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} cores"


def machine(
    context: Any, commit: str, pythons: Iterable[str] = (sys.executable,)
) -> dict[str, Any]:
    """What the figures of a context were measured on."""
    query = ("--query-gpu=driver_version", "--format=csv,noheader")
    found: dict[str, str] = {}
    for python in sorted(pythons, key=lambda path: path != sys.executable):
        found = versions_in(python) | found
    return {
        "context": context.name,
        "device": context.device_name,
        "driver": output_of("nvidia-smi", *query).partition("\n")[0],
        "host": processor(),
        "versions": found,
        "commit": commit or output_of("git", "rev-parse", "--short", "HEAD"),
        "date": time.strftime("%Y-%m-%d"),
    }


if __name__ == "__main__":
    print(json.dumps(versions()))
