"""Rounding to integers, and the parts of a number."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.references import floating
from gpuarray.scalars.table import scalar


def _rounding(name, reference, **properties):
    """A row of C's function of a float; integers stay as they are."""
    return scalar(
        f"{name}({{0}})",
        reference,
        kinds={"b|i|u": "{0}"},
        floats_integers=True,
        **properties,
    )


@_rounding("ceil", np.ceil, example=([1.2, -1.2],))
def ceil(m, g, y, x):
    """The smallest integer that is not less."""
    return None  # piecewise constant


@_rounding("floor", np.floor, example=([1.2, -1.2],))
def floor(m, g, y, x):
    """The largest integer that is not greater."""
    return None  # piecewise constant


@_rounding("trunc", np.trunc, example=([1.7, -1.7],))
def trunc(m, g, y, x):
    """The integer towards 0."""
    return None  # piecewise constant


@scalar(
    "rint({0})",
    np.rint,
    kinds={"c": "ga_complex(rint({0}.x), rint({0}.y))"},
    result="float",
    example=([0.5, 1.5],),
)
def rint(m, g, y, x):
    """The nearest integer; of two, the even one."""
    return None  # piecewise constant


def _round_away(x):
    whole = np.trunc(x)
    with np.errstate(invalid="ignore"):
        return np.copysign(whole + np.sign(x) * (np.abs(x - whole) >= 0.5), x)


@scalar(
    "round({0})",
    floating(_round_away),
    result="float",
    typed_as=np.rint,
    example=([0.5, -2.5],),
)
def round_half_away_from_zero(m, g, y, x):
    """The nearest integer; of two, the one farther from 0."""
    return None  # piecewise constant


# ---- the parts of a number ----


@scalar(
    "fabs({0}) == INFINITY ? copysign(({t})0, {0}) : copysign({0} - trunc({0}), {0})",
    lambda x: np.modf(x)[0],
    result="float",
    typed_as=np.modf,
    example=([1.5, -2.25],),
)
def fractional_part(m, g, y, x):
    """The fractional part, with the sign of the element."""
    return g


@scalar(
    "trunc({0})",
    lambda x: np.modf(x)[1],
    result="float",
    typed_as=np.modf,
    output=1,
    example=([1.5, -2.25],),
)
def integral_part(m, g, y, x):
    """The integer towards 0."""
    return None  # piecewise constant


# x = mantissa * 2**exponent, with the mantissa's size from 1/2 to 1.
FREXP = """
GA_INLINE {t} ga_mantissa({t} x) {
  int e;
  return fabs(x) < INFINITY ? frexp(x, &e) : x;
}
GA_INLINE ga_int ga_exponent({t} x) {
  int e = 0;
  if (fabs(x) < INFINITY)
    frexp(x, &e);
  return e;
}
"""


@scalar(
    "ga_mantissa({0})",
    lambda x: np.frexp(x)[0],
    support=FREXP,
    result="float",
    typed_as=np.frexp,
    example=([8.0, 3.0],),
)
def mantissa(m, g, y, x):
    """The number from 1/2 to 1 that ``frexp`` splits off."""
    return g * m.where(m.eq(x, 0), 1, y / x)


@scalar(
    "ga_exponent({0})",
    lambda x: np.frexp(x)[1],
    support=FREXP,
    typed_as=np.frexp,
    output=1,
    example=([8.0, 3.0],),
)
def exponent(m, g, y, x):
    """The power of two that ``frexp`` splits off."""
    return None  # piecewise constant
