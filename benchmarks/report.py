"""What a run has measured, as JSON: rows of figures of each library."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"

Figures = dict[str, Any]
"""``median``, ``low`` and ``high`` of ``rounds`` in the row's unit, or ``error``."""


def figures(values: list[float]) -> Figures:
    """A library's rounds, in four significant digits."""
    of_all = {"median": median(values), "low": min(values), "high": max(values)}
    rounded: Figures = {name: float(f"{x:.4g}") for name, x in of_all.items()}
    return {**rounded, "rounds": len(values)}


def medians(row: dict[str, Any]) -> dict[str, float]:
    """The median of each library that has one in a row."""
    libraries: dict[str, Figures] = row["libraries"]
    return {name: one["median"] for name, one in libraries.items() if "median" in one}


def write(report: dict[str, Any], path: Path) -> None:
    """Keep a report; a line of the file is a library's figures in a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=2)
    text = re.sub(r"\{[^{}]*\}", lambda found: " ".join(found[0].split()), text)
    path.write_text(text + "\n")


def read(path: Path) -> dict[str, Any]:
    """A report that was kept."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found
