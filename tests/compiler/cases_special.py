"""Functions composed of rows: rounding by mode, gamma functions, nearness."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f64, i32

HALVES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.3, -0.7])
AWAY = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 0.0, -1.0])
POINTS = np.array([0.5, 1.0, 2.0, 4.0])
# Of 1.5: by integration with 30 digits.
UPPER = np.array([0.7100910582776, 0.5072822338118, 0.231716552001, 0.0407768124678])

case("round", T.round, np.rint, HALVES, has_gradient=False)
case(
    "round_away",
    lambda x: T.round(x, "half_away_from_zero"),
    lambda x: AWAY,
    HALVES,
    has_gradient=False,
)
case(
    "iround",
    lambda x: T.iround(x, mode="half_away_from_zero"),
    lambda x: AWAY.astype("int64"),
    HALVES,
    has_gradient=False,
)
case(
    "ceil_intdiv",
    lambda x: T.ceil_intdiv(x, np.int32(4)),
    lambda x: -(-x // np.int32(4)),
    i32(3, 4),
    has_gradient=False,
)
case(
    "allclose",
    lambda x: [T.allclose(x, x + 1e-9), T.allclose(x, x + 1e-3, atol=1e-4)],
    lambda x: (np.array(True), np.array(False)),
    f64(3, 4),
    has_gradient=False,
)
case(
    "allclose_nan",
    lambda x: [T.allclose(x, x), T.allclose(x, x, equal_nan=True)],
    lambda x: (np.array(False), np.array(True)),
    np.array([1.0, np.nan, np.inf]),
    has_gradient=False,
)
case(
    "complex_from_polar",
    lambda r, t: T.abs(T.complex_from_polar(T.exp(r), t) + 1),
    lambda r, t: np.abs(np.exp(r + 1j * t) + 1),
    f64(3, 4),
    f64(3, 4),
)
case(
    "gammal",
    lambda x: T.gammal(np.float64(1.5), x),
    lambda x: np.sqrt(np.pi) / 2 - UPPER,
    POINTS,
)
case(
    "gammau",
    lambda x: T.gammau(np.float64(1.5), x),
    lambda x: UPPER,
    POINTS,
)
case(
    "chi2sf",
    lambda x: T.chi2sf(x, 3),
    lambda x: UPPER / (np.sqrt(np.pi) / 2),
    2 * POINTS,
)
