"""The error function, its complement, and their inverses."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

from gpuarray.scalars.families import special_function
from gpuarray.scalars.texts import device_functions, horner


@special_function("erf({0})", math.erf, example=([0.0, 1.0],))
def erf(m, g, y, x):
    """The error function."""
    return g * m.exp(-(x * x)) * (2 / math.sqrt(math.pi))


@special_function("erfc({0})", math.erfc, example=([0.0, 1.0],))
def erfc(m, g, y, x):
    """``1 - erf(x)``, exact where that is near 0."""
    return -g * m.exp(-(x * x)) * (2 / math.sqrt(math.pi))


NEAR = (
    0.886226925452758014,
    0.232013666534654143,
    0.127556175305702523,
    0.0865521292292822844,
    0.0649596184968603238,
    0.0517312543412865194,
    0.0428373819292962452,
    0.0364551318455406635,
    0.0318128384448711864,
    0.026969129751201436,
    0.0309101582356060162,
    -0.00146070210703026919,
    0.0872286644669813553,
    -0.0964227452710364341,
    0.120036906193620081,
)
"""Coefficients of erfinv(x) / x in powers of x * x, for abs(x) up to 1/2."""

ERF = device_functions("erf", NEAR=horner(NEAR, "s"))


def _erfcx(x):
    if x > 2:
        rest = x
        for k in range(80, 0, -1):
            rest = x + 0.5 * k / rest
        return 1 / (math.sqrt(math.pi) * rest)
    if x < -27:
        return math.inf
    square = x * x
    split = 134217729.0 * x  # splits x into two halves, whose products are exact
    upper = split - (split - x)
    lower = x - upper
    low = (upper * upper - square) + 2 * upper * lower + lower * lower
    try:
        return math.exp(square) * (1 + low) * math.erfc(x)
    except OverflowError:
        return math.inf


def _erfc_undone(z):
    """Return the inverse of erfc at ``z``, ``0 < z <= 1/2``, by Newton's method."""
    y = math.sqrt(-math.log(z))
    for _ in range(60):
        scaled = _erfcx(y)
        step = (math.log(scaled) - y * y - math.log(z)) * scaled
        y += 0.5 * math.sqrt(math.pi) * step
        if abs(step) < 1e-17 * y:
            break
    return y


def _erfinv(x):
    size = abs(x)
    if not size < 1:
        return math.copysign(math.inf, x) if size == 1 else math.nan
    if size > 0.5:
        return math.copysign(_erfc_undone(1 - size), x)
    if x == 0:
        return x
    half = 0.5 * math.sqrt(math.pi)
    y = half * x
    for _ in range(60):
        step = (x - math.erf(y)) * half * math.exp(y * y)
        y += step
        if abs(step) <= 1e-17 * abs(y):
            break
    return y


def _erfcinv(z):
    if not 0 < z < 2:
        return math.inf if z == 0 else -math.inf if z == 2 else math.nan
    if 0.5 <= z <= 1.5:
        return _erfinv(1 - z)
    return _erfc_undone(z) if z < 1 else -_erfc_undone(2 - z)


@special_function("ga_erfcx({0})", _erfcx, support=ERF, example=([0.0, 100.0],))
def erfcx(m, g, y, x):
    """The scaled complementary error function ``exp(x**2) * erfc(x)``."""
    return g * (2 * x * y - 2 / math.sqrt(math.pi))


@special_function(
    "ga_erfinv({0})",
    _erfinv,
    support=ERF,
    undone_by="erf",
    domain=(-1, 1),
    example=([0.0, 0.5],),
)
def erfinv(m, g, y, x):
    """The inverse error function."""
    return g * m.exp(y * y) * (math.sqrt(math.pi) / 2)


@special_function(
    "ga_erfcinv({0})",
    _erfcinv,
    support=ERF,
    undone_by="erfc",
    domain=(0, 2),
    example=([1.0, 1e-10],),
)
def erfcinv(m, g, y, x):
    """The inverse complementary error function."""
    return -g * m.exp(y * y) * (math.sqrt(math.pi) / 2)
