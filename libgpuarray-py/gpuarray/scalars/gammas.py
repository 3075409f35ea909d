"""The gamma function, and the derivatives of its logarithm."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from gpuarray.scalars.families import special_function
from gpuarray.scalars.texts import device_functions


def _gamma(x):
    if x == 0:
        return math.copysign(math.inf, x)
    if x < 0 and (math.isinf(x) or x == math.floor(x)):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:  # near 0 the infinity has a sign
        return math.copysign(math.inf, x)


def _gammaln(x):
    if x <= 0 and not math.isinf(x) and x == math.floor(x):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _psi(x):
    """Digamma: by reflection and recurrence to x >= 10, then the asymptotic series."""
    if x == math.inf:
        return x
    if x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x < 0:
        return _psi(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    z = 1 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return shift + math.log(x) - 0.5 / x - series


def _tri_gamma(x):
    """Trigamma, the derivative of digamma, computed in the same way."""
    if x == math.inf:
        return 0.0
    if x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x < 0:
        inverse = math.pi / math.sin(math.pi * (x - round(x)))
        return inverse * inverse - _tri_gamma(1 - x)
    shift = 0.0
    while x < 10:
        inverse = 1 / x
        shift += inverse * inverse
        x += 1
    z = 1 / (x * x)
    series = z * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * 5 / 66))))
    return shift + (1 + 0.5 / x + series) / x


@special_function("tgamma({0})", _gamma, domain=(0, np.inf), example=([1.0, 5.0],))
def gamma(m, g, y, x):
    """The gamma function: of ``n + 1`` it is n factorial."""
    return g * y * m.psi(x)


@special_function("lgamma({0})", _gammaln, domain=(0, np.inf), example=([1.0, 5.0],))
def gammaln(m, g, y, x):
    """The logarithm of the gamma function's absolute value."""
    return g * m.psi(x)


PSI = device_functions("psi")
TRI_GAMMA = device_functions("tri_gamma")


@special_function(
    "ga_psi({0})", _psi, support=PSI, domain=(0, np.inf), example=([1.0, 2.0],)
)
def psi(m, g, y, x):
    """The digamma function: the derivative of ``gammaln``."""
    return g * m.tri_gamma(x)


@special_function(
    "ga_tri_gamma({0})",
    _tri_gamma,
    support=TRI_GAMMA,
    domain=(0, np.inf),
    example=([1.0, 2.0],),
)
def tri_gamma(m, g, y, x):
    """The trigamma function: the derivative of ``psi``."""
    raise NotImplementedError("tri_gamma has no gradient: polygamma(2, x) is not a row")
