"""The rows, by what they are about."""

from __future__ import annotations

from benchmarks.rows import SIZES, Row
from benchmarks.workloads import (
    arrays,
    calls,
    convolutions,
    draws,
    loops,
    networks,
    residual,
    sparse,
)


def rows(size: str) -> dict[str, Row]:
    """Every row by its name, for a size of machine."""
    sizes = SIZES[size]
    families = (
        arrays.rows,
        draws.rows,
        networks.rows,
        convolutions.rows,
        residual.rows,
        loops.rows,
        sparse.rows,
        calls.rows,
    )
    return {row.name: row for family in families for row in family(sizes)}
