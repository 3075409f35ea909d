"""What a run shows while it goes on: a bar, and each row when it is done."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.report import Figures
from benchmarks.rows import LESS_IS_BETTER


class Bar:
    """A line on the terminal that says how far the run is; plain lines elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.row = total, 0, ""
        self.live = sys.stderr.isatty()

    def begin(self, row: str) -> None:
        """The next row."""
        self.row = row
        if not self.live:
            print(f"{self.done + 1}/{self.total} {row}", file=sys.stderr, flush=True)

    def said(self, library: str) -> None:
        """Which library is at work."""
        if self.live:
            filled = 24 * self.done // max(self.total, 1)
            bar = "#" * filled + "." * (24 - filled)
            text = f"[{bar}] {self.done}/{self.total} {self.row}: {library}"
            print(f"\r\x1b[K{text[:100]}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """The row is done."""
        self.done += 1
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def shown(name: str, row: Mapping[str, Any]) -> str:
    """A row as text: a line, and one for each library; the fastest first."""
    head = f"{name}, {row['unit']}"
    if row.get("limit"):
        head += f" (limit {row['limit']:.4g})"
    sign = 1 if row["unit"] in LESS_IS_BETTER else -1
    libraries: Mapping[str, Figures] = row["libraries"]

    def place(item: tuple[str, Figures]) -> float:
        median: float = item[1].get("median", sign * 1e30)
        return sign * median

    lines = [head]
    for library, one in sorted(libraries.items(), key=place):
        text = one.get("error", "")
        if text.startswith("not offered"):
            continue
        if not text:
            text = f"{one['median']:>10.4g}"
        if "low" in one:
            text += f"  {one['low']:.4g} to {one['high']:.4g}"
        lines.append(f"    {library:<26} {text}")
    return "\n".join(lines)
