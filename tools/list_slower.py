"""Writes the tables of docs/when-it-is-not-faster.md from benchmarks/results.

    python tools/list_slower.py              prints the page as it should be
    python tools/list_slower.py --refresh    writes it

A table stands between two comments with its name; the rest of the page is written by
hand. A test fails where the page is not what this program prints.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "when-it-is-not-faster.md"
RESULTS = ROOT / "benchmarks" / "results"
REFRESH = "python tools/list_slower.py --refresh"
TIMES = ("us", "ms", "s", "MB")  # units of which less is better
NOISE = 1.03  # a smaller difference of two runs says nothing


class Figure(NamedTuple):
    """A row of a run: what it measured, ours, and the best of the others."""

    run: str
    row: str
    ours: float
    library: str
    theirs: float
    unit: str

    @property
    def is_slower(self) -> bool:
        """Whether the other one is faster by more than noise."""
        better, worse = (self.theirs, self.ours)
        if self.unit in TIMES:
            better, worse = worse, better
        return better > NOISE * worse


def figures() -> Iterator[Figure]:
    """Every row that ours and another library have in a run, by file."""
    for path in sorted(RESULTS.glob("*.json")):
        rows: dict[str, dict[str, Any]] = json.loads(path.read_text())["rows"]
        for name, row in rows.items():
            found = {
                library: one["median"]
                for library, one in row["libraries"].items()
                if "median" in one
            }
            mine = [library for library in found if library.startswith("ours")]
            others = {name: x for name, x in found.items() if name not in mine}
            if not mine or not others:
                continue
            best = min if row["unit"] in TIMES else max
            library = best(others, key=lambda one: others[one])
            ours = found["ours"] if "ours" in found else best(found[x] for x in mine)
            theirs = others[library]
            yield Figure(path.stem, name, ours, library, theirs, row["unit"])


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _number(figure: float) -> str:
    return f"{figure:.3g}" if figure < 1000 else f"{figure:.0f}"


def _cells(one: Figure, *, with_unit: bool) -> tuple[str, ...]:
    ours, theirs = _number(one.ours), f"{_number(one.theirs)} ({one.library})"
    cells = f"`{one.run}`", f"`{one.row}`", ours, theirs
    return (*cells, one.unit) if with_unit else cells


def tables() -> dict[str, str]:
    """The tables, by name."""
    every = list(figures())
    slower = [_cells(one, with_unit=True) for one in every if one.is_slower]
    small = [
        _cells(one, with_unit=False)
        for one in every
        if one.row.startswith(("a + a, 10", "exp "))
    ]
    head = ("run", "row", "ours", "the fastest other")
    return {
        "small": _table((*head[:2], "ours, us", "the fastest other, us"), small),
        "slower": _table((*head, "unit"), slower),
    }


def page() -> str:
    """The page with its tables written anew."""
    text = PAGE.read_text()
    for name, table in tables().items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        within = re.compile(f"{begin}.*?{end}", re.DOTALL)
        assert within.search(text), f"{PAGE}: no place for the table {name!r}"
        text = within.sub(lambda _, new=f"{begin}\n\n{table}\n\n{end}": new, text)  # type: ignore[misc]
    return text


def main(arguments: list[str]) -> Any:
    """Print the page, or write it."""
    if "--refresh" in arguments:
        return PAGE.write_text(page())
    return sys.stdout.write(page())


if __name__ == "__main__":
    main(sys.argv[1:])
