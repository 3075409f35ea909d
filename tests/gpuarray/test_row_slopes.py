"""The gradients of rows, computed by their references, are slopes of these."""

from types import SimpleNamespace

import numpy as np
import pytest
from gpuarray.scalars import SCALARS

MATH = SimpleNamespace(
    **{row.name: row.reference for row in SCALARS.values()}, unknown=lambda what: None
)
STEP = 1e-6


def inside(row):
    """Numbers in the domain of a row, apart from its ends and from integers."""
    low, high = (np.clip(end, -3, 3) for end in row.domain)
    line = np.linspace(low, high, 15)[1:-1] * 0.97 + 0.0113
    return line[(line > low + 0.01) & (line < high - 0.01)]


def operands_of(row):
    """Operands of a row, which differ."""
    first = inside(row)
    if row.name == "polygamma":
        return [np.round(np.abs(first)), first]
    return [first, np.roll(first, 4) * 0.9 + 0.007, np.roll(first, 7)][: row.arity]


def has_slopes(row):
    try:
        with np.errstate(all="ignore"):
            made = row.reference(*(np.asarray(x) for x in operands_of(row)))
    except TypeError:
        return False
    return made.dtype.kind == "f"


@pytest.mark.parametrize(
    "row",
    [row for row in SCALARS.values() if has_slopes(row)],
    ids=lambda row: row.name,
)
def test_a_gradient_is_the_slope_of_its_row(row):
    operands = operands_of(row)
    with np.errstate(all="ignore"):
        y = row.reference(*operands)
        flows = row.gradient(MATH, np.full(y.shape, 2.0), y, *operands)
        flows = flows if isinstance(flows, tuple) else (flows,)
        for place, flow in enumerate(flows):
            if flow is None:
                continue
            ends = []
            for sign in (1, -1):
                moved = [x + sign * STEP * (i == place) for i, x in enumerate(operands)]
                ends.append(row.reference(*moved))
            slope = (ends[0] - ends[1]) / (2 * STEP)
            known = np.isfinite(slope) & np.isfinite(y)
            assert known.any()
            flow = np.broadcast_to(flow, y.shape)
            np.testing.assert_allclose(flow[known], 2 * slope[known], 1e-5, 1e-7)
