"""The neighbours of floats, and predicates of floats."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.table import scalar

# ---- neighbours of floats ----

# {bits}: a narrow type's bits of the mantissa; {low}: its smallest normal exponent.
NEXT_NARROW = """
GA_INLINE {t} ga_next_{name}({t} x, {t} to) {
  if (x != x || to != to || x == to)
    return x != x ? x : to;
  if (x == 0)
    return copysign(ldexp(({t})1, {low} - {bits}), to);
  if (fabs(x) == INFINITY)
    return copysign(ldexp(({t})2 - ldexp(({t})1, -{bits}), 1 - {low}), x);
  int e;
  const int outward = (x < to) == (x > 0);
  const int inward = frexp(fabs(x), &e) == ({t})0.5 && !outward;
  e -= 1 + inward;
  const {t} step = ldexp(({t})1, (e < {low} ? {low} : e) - {bits});
  return copysign(x < to ? x + step : x - step, x);
}
"""


def _next(name, bits, low):
    words = {"{name}": name, "{bits}": str(bits), "{low}": f"({low})"}
    text = NEXT_NARROW
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


@scalar(
    "nextafter({0}, {1})",
    np.nextafter,
    kinds={"f16": "ga_next_half({0}, {1})", "bf16": "ga_next_bfloat16({0}, {1})"},
    support={
        "f16": _next("half", 10, -14),
        "bf16": _next("bfloat16", 7, -126),
    },
    result="float",
    example=([0.0], 1.0),
)
def nextafter(m, g, y, a, b):
    """The next float after ``a`` on the way to ``b``."""
    return g, None


@scalar(
    "ldexp({0}, (int)({1} < -5000 ? -5000 : {1} > 5000 ? 5000 : {1}))",
    np.ldexp,
    result="float",
    example=([1.0, 3.0], 2),
)
def ldexp(m, g, y, x, i):
    """``x`` times two to the power ``i``, an integer."""
    return m.ldexp(g, i), None


# ---- predicates of floats ----


def _question(expression, reference, of_integers, of_complex):
    """A row that holds for some floats, and for all integers or for none."""
    return scalar(
        expression,
        reference,
        kinds={"b|i|u": of_integers, "c": of_complex},
        result="bool",
        example=([1.0, np.nan, np.inf],),
    )


@_question("{0} != {0}", np.isnan, "0", "ga_cisnan({0})")
def isnan(m, g, y, x):
    """True where the element is nan."""
    return None  # piecewise constant


@_question("fabs({0}) == INFINITY", np.isinf, "0", "ga_cisinf({0})")
def isinf(m, g, y, x):
    """True where the element is infinite."""
    return None  # piecewise constant


@_question("fabs({0}) < INFINITY", np.isfinite, "1", "ga_cisfinite({0})")
def isfinite(m, g, y, x):
    """True where the element is neither nan nor infinite."""
    return None  # piecewise constant


@scalar("signbit({0}) != 0", np.signbit, result="bool", example=([1.0, -0.0],))
def signbit(m, g, y, x):
    """True where the sign is minus, of zeros, too."""
    return None  # piecewise constant
