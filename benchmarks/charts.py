"""Plots as SVG text: each library's speed beside ours, row by row.

Written here rather than by a plotting library, so that the same figures give the same
file everywhere, small, and readable on light and dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

COLORS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#8c6bb1", "#999933", "#7f7f7f", "#b2182b"),
)
NAMES, PLOT, ROW, TOP = 250, 500, 17, 46  # widths and heights in pixels
WIDEST = 1000.0  # what is further away stands at the border

STYLE = """
  text { font: 11px sans-serif; fill: #1f2328; }
  .grid { stroke: #d1d9e0; } .one { stroke: #1f2328; stroke-width: 1.5; }
  .limit { stroke: #1f2328; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .grid { stroke: #3d444d; }
    .one, .limit { stroke: #e6edf3; }
  }
"""


class Line(NamedTuple):
    """A row: how many times as fast as ours each library is, and the limit."""

    name: str
    speeds: Mapping[str, float]
    limit: float | None = None


def scaled(speed: float, most: float) -> float:
    """Where a speed stands, in pixels: the scale is logarithmic, 1 in the middle."""
    within = min(max(speed, 1 / most), most)
    return NAMES + PLOT / 2 * (1 + math.log(within) / math.log(most))


def chart(lines: Sequence[Line], title: str) -> str:
    """A plot of rows: dots right of the line in the middle are faster than ours."""
    libraries = list(dict.fromkeys(name for line in lines for name in line.speeds))
    color = dict(zip(libraries, COLORS, strict=False))
    speeds = [x for line in lines for x in line.speeds.values()]
    furthest = max((max(x, 1 / x) for x in speeds), default=10.0)
    most = min(WIDEST, 10 ** math.ceil(math.log10(max(furthest, 1.01))))
    height, width = TOP + ROW * len(lines) + 24, NAMES + PLOT + 20
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        *legend(color),
        *grid(most, height),
    ]
    for place, line in enumerate(lines):
        parts += drawn(line, TOP + ROW * place + ROW / 2, most, color)
    return "\n".join([*parts, "</svg>"]) + "\n"


def legend(color: Mapping[str, str]) -> list[str]:
    """Dots and names of libraries, and what the bar is."""
    found, x = [], 8.0
    for name, fill in color.items():
        found.append(f'<circle cx="{x:g}" cy="12" r="4" fill="{fill}"/>')
        found.append(f'<text x="{x + 8:g}" y="16">{escape(name)}</text>')
        x += 24 + 6.2 * len(name)
    found.append(f'<path class="limit" d="M{x:g} 6v12"/>')
    found.append(f'<text x="{x + 6:g}" y="16">the limit</text>')
    return found


def grid(most: float, height: int) -> list[str]:
    """Lines at powers of ten, with what they mean."""
    found = []
    powers = round(math.log10(most))
    for power in range(-powers, powers + 1):
        x = scaled(10.0**power, most)
        kind = "one" if power == 0 else "grid"
        found.append(f'<path class="{kind}" d="M{x:.1f} {TOP - 4}V{height - 20}"/>')
        text = "as fast as ours" if power == 0 else f"{10.0**power:g} x"
        found.append(
            f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">{text}</text>'
        )
    return found


def drawn(line: Line, y: float, most: float, color: Mapping[str, str]) -> list[str]:
    """The row's name, its limit and its dots."""
    name = escape(line.name)
    found = [f'<text x="{NAMES - 8}" y="{y + 4:g}" text-anchor="end">{name}</text>']
    if line.limit is not None:
        x = scaled(line.limit, most)
        found.append(f'<path class="limit" d="M{x:.1f} {y - 6:g}v12"/>')
    for library, speed in line.speeds.items():
        x, fill = scaled(speed, most), color.get(library, COLORS[-1])
        found.append(f'<circle cx="{x:.1f}" cy="{y:g}" r="4" fill="{fill}"/>')
    return found
