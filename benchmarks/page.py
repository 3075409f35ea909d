"""Writes docs/benchmarks.md and its plots from benchmarks/results.

    python -m benchmarks.page              prints the page as it should be
    python -m benchmarks.page --refresh    writes it and its plots

A test fails where the page or a plot is not what this program makes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.charts import Line, chart
from benchmarks.report import RESULTS, ROOT, Figures, medians, read
from benchmarks.rows import LESS_IS_BETTER

PAGE = ROOT / "docs" / "benchmarks.md"
PLOTS = ROOT / "docs" / "benchmarks"
REFRESH = "python -m benchmarks.page --refresh"

Row = dict[str, Any]
Report = dict[str, Any]

BEGINNING = f"""# Benchmarks

Written by `{REFRESH}` from [benchmarks/results](../benchmarks/results).

`make bench` runs every row on the processor, `make bench CONTEXT=cuda0` on a card;
`python -m benchmarks.run --help` tells how to pick rows and libraries. Whatever is
installed of NumPy, numexpr, PyTorch, JAX, CuPy and PyTensor takes part.

For each row every library starts in a new process, makes its results, and is compared
with NumPy; one that computes something else is told so and not timed. Then they take
turns, in an order that is reversed each time, and the figure is the median of the
rounds, with the lowest and the highest. `ours` are compiled functions, `ours, arrays`
operations called one by one. The limit is what must be read and written, at the rate
of the fastest copy of such a size by any library in the same run, or the arithmetic,
at the rate of the fastest matrix product, whichever takes longer. Where no spread is
shown, the figure is the best of five rounds of each library by itself. Where compiling
is timed, the caches of all libraries are empty; kernels of products came with ours, as
cuBLAS's did with the others (`GPUARRAY_CUDA_KERNELS`). `upload` and `download` move
1 GiB between an ordinary NumPy array and the device: the bus bounds
them, of a PCIe 5 card some 55 GB/s.

In the plots a dot is a library, right of the line in the middle where it is faster than
ours, and the bar is the limit. In the tables the best of a row is bold.
"""


def faster(row: Row, one: float, other: float) -> float:
    """How many times as fast as the other one a figure is."""
    if not one or not other:
        return 1.0
    return other / one if row["unit"] in LESS_IS_BETTER else one / other


def ours(row: Row) -> float | None:
    """Our figure: of the compiled function, or of the array package where none is."""
    found = medians(row)
    return found.get("ours", found.get("ours, arrays"))


def number(figure: float) -> str:
    """Three digits."""
    return f"{figure:.0f}" if figure >= 100 else f"{figure:.3g}"


def cell(row: Row, library: str) -> str:
    """A library's figure in a row, with its spread; bold where it is the best."""
    one: Figures = row["libraries"].get(library, {})
    if "median" not in one:
        error = one.get("error", "")
        return "" if not error or error.startswith("not offered") else "see below"
    text = number(one["median"])
    best = (
        max(faster(row, figure, one["median"]) for figure in medians(row).values()) <= 1
    )
    text = f"**{text}**" if best else text
    if one.get("low", one["median"]) != one.get("high", one["median"]):
        text += f" ({number(one['low'])} to {number(one['high'])})"
    return text


def table(rows: Mapping[str, Row]) -> list[str]:
    """The rows of a report, a column for each library that has a figure."""
    libraries = list(dict.fromkeys(name for r in rows.values() for name in medians(r)))
    libraries.sort(key=lambda name: not name.startswith("ours"))
    limited = any("limit" in row for row in rows.values())
    head = ["row", "unit", *libraries, *(["limit", "ours of it"] if limited else [])]
    lines = [head, ["---"] * len(head)]
    for name, row in rows.items():
        cells = [name, row["unit"], *(cell(row, library) for library in libraries)]
        if limited:
            cells += limit_cells(row)
        lines.append(cells)
    return [f"| {' | '.join(cells)} |" for cells in lines]


def limit_cells(row: Row) -> list[str]:
    """The limit, and how much of it we reach."""
    mine = ours(row)
    if "limit" not in row or mine is None:
        return ["", ""]
    return [number(row["limit"]), f"{faster(row, mine, row['limit']):.0%}"]


def errors(rows: Mapping[str, Row]) -> list[str]:
    """Who failed, took too long or gave another result."""
    return [
        f"- {name}: {library}: {one['error']}"
        for name, row in rows.items()
        for library, one in row["libraries"].items()
        if "error" in one and not one["error"].startswith("not offered")
    ]


def lines(rows: Mapping[str, Row]) -> list[Line]:
    """What is plotted: rows that ours and another library have."""
    found = []
    for name, row in rows.items():
        mine = ours(row)
        others = {n: x for n, x in medians(row).items() if n != "ours"}
        if mine is None or not any(not n.startswith("ours") for n in others):
            continue
        if "ours" not in medians(row):
            others.pop("ours, arrays")
        speeds = {library: faster(row, x, mine) for library, x in others.items()}
        limit = faster(row, row["limit"], mine) if "limit" in row else None
        found.append(Line(f"{name}, {row['unit']}", speeds, limit))
    return found


def claims(reports: Mapping[str, Report]) -> list[str]:
    """What the seeds claim of Theano, as ratios to NumPy on the same machine."""
    head = ["run", "exp to host", "exp on device", "rows that stream: median", "best"]
    made = []
    for name, report in reports.items():
        ratios = {
            row: faster(entry, mine, medians(entry)["numpy"])
            for row, entry in report["rows"].items()
            if (mine := ours(entry)) is not None and "numpy" in medians(entry)
        }
        streamed = [x for r, x in ratios.items() if report["rows"][r]["unit"] == "GB/s"]
        if streamed:
            told = ["exp to host", "exp on device"]
            cells = [
                f"{ratios[label]:.3g} x" if label in ratios else "" for label in told
            ]
            best = (
                f"{max(ratios.values()):.3g} x ({max(ratios, key=ratios.__getitem__)})"
            )
            made.append([f"`{name}`", *cells, f"{median(streamed):.3g} x", best])
    if not made:
        return []
    return [
        "## What was said of Theano",
        "",
        "Data-intensive work 6.5 to 44 times as fast as a processor, up to 140 times;",
        "exp of 230,400 floats 72 times as fast as NumPy with the result brought to",
        "the host, 131 times with it kept on the device (the seeds' check1, check2),",
        "15 times on the processor. Ours beside NumPy on the same machine:",
        "",
        *(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *made]),
        "",
    ]


def section(name: str, report: Report) -> list[str]:
    """A run: what it was measured on, its plot, its table, what failed."""
    versions = report.get("versions", {})
    about = [
        report["device"],
        report["context"],
        f"driver {report['driver']}" if report["driver"] else "",
        report.get("host", ""),
        ", ".join(f"{package} {version}" for package, version in versions.items()),
        f"commit {report['commit']}",
        report["date"],
    ]
    found = [f"## {name}", "", "; ".join(fact for fact in about if fact) + ".", ""]
    if lines(report["rows"]):
        found += [f"![Speeds beside ours](benchmarks/{name}.svg)", ""]
    found += [*table(report["rows"]), ""]
    failed = errors(report["rows"])
    return [*found, *failed, ""] if failed else found


def reports() -> dict[str, Report]:
    """Every report that is kept, by name."""
    return {path.stem: read(path) for path in sorted(RESULTS.glob("*.json"))}


def files() -> dict[Path, str]:
    """The page and its plots."""
    kept = reports()
    parts = [BEGINNING, "\n".join(claims(kept))]
    parts += ["\n".join(section(name, report)) for name, report in kept.items()]
    found = {PAGE: "\n".join(part for part in parts if part).rstrip() + "\n"}
    for name, report in kept.items():
        plotted = lines(report["rows"])
        if plotted:
            title = f"{name}: speeds beside ours"
            found[PLOTS / f"{name}.svg"] = chart(plotted, title)
    return found


def main(arguments: list[str]) -> None:
    """Print the page, or write it and its plots."""
    made = files()
    if "--refresh" not in arguments:
        sys.stdout.write(made[PAGE])
        return
    PLOTS.mkdir(exist_ok=True)
    for path in PLOTS.glob("*.svg"):
        if path not in made:
            path.unlink()
    for path, text in made.items():
        path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
