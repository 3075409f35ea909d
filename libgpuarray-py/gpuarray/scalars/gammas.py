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


_FACTORS = (12, 720, 30240, 1209600, 47900160, 1307674368000 / 691)
"""What Bernoulli's numbers of even index are divided by in Euler's series."""


def _polygamma_above_0(n, x):
    """Sum ``n! / (x + k)**(n + 1)`` over ``k``: few terms, then Euler's series."""
    total = 0.0
    while x < 2 * n + 12:
        term = 1 / x
        for k in range(1, n + 1):
            term *= k / x
        total += term
        x += 1
    first = 1 / x
    for k in range(1, n):
        first *= k / x
    factor, rising, sign = 1 + n / 2 / x, 1.0, 1
    for k, divisor in enumerate(_FACTORS):
        rising *= (n + 2 * k) / x * ((n + 2 * k + 1) / x)
        factor += sign * rising / divisor
        sign = -sign
    return total + first * factor


def _polygamma(n, x):
    """Compute it as on the device; below 0 by the sum over all integers."""
    if n == 0:
        return _psi(x)
    is_order = 0 < n <= 100 and n == math.floor(n)
    is_pole = x == -math.inf or (x <= 0 and x == math.floor(x))
    if not is_order or math.isnan(x) or is_pole:
        return math.nan
    n, sign = int(n), 1 if n % 2 else -1
    if x > 0:
        return sign * _polygamma_above_0(n, x)
    d = x - round(x)
    below, above = (1 + d, -d) if d < 0 else (d, 1 - d)
    around = sign * _polygamma_above_0(n, below) + _polygamma_above_0(n, above)
    return around - _polygamma_above_0(n, 1 - x)


@special_function("tgamma({0})", _gamma, domain=(0, np.inf), example=([1.0, 5.0],))
def gamma(m, g, y, x):
    """The gamma function: of ``n + 1`` it is n factorial."""
    return g * y * m.psi(x)


@special_function("lgamma({0})", _gammaln, domain=(0, np.inf), example=([1.0, 5.0],))
def gammaln(m, g, y, x):
    """The logarithm of the gamma function's absolute value."""
    return g * m.psi(x)


PSI = device_functions("psi") + device_functions("polygamma")
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
    return g * m.polygamma(2, x)


@special_function(
    "ga_polygamma({0}, {1})",
    _polygamma,
    np.arctan2,
    support=PSI,
    example=(2, [1.0, 2.0]),
)
def polygamma(m, g, y, a, b):
    """The derivative of ``psi`` of order ``a``, a whole number from 0 to 100."""
    return m.unknown("polygamma by its order"), g * m.polygamma(a + 1, b)
