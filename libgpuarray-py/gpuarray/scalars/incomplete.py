"""The incomplete gamma functions."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from gpuarray.scalars.families import special_function
from gpuarray.scalars.references import TINY
from gpuarray.scalars.texts import device_functions, horner

# fmt: off
TEMME = (
    (-0.333333333333333333, 0.0833333333333333333, -0.0148148148148148148,
     0.00115740740740740741, 3.527336860670194e-4, -1.78755144032921811e-4,
     3.91926317852243778e-5, -2.18544851067999216e-6, -1.85406221071515996e-6,
     8.29671134095308601e-7, -1.76659527368260793e-7, 6.70785354340149858e-9,
     1.0261809784240308e-8, -4.38203601845335319e-9),
    (-0.00185185185185185185, -0.00347222222222222222, 0.0026455026455026455,
     -9.90226337448559671e-4, 2.05761316872427984e-4, -4.01877572016460905e-7,
     -1.80985503344899778e-5, 7.64916091608111008e-6),
    (0.0041335978835978836, -0.00268132716049382716, 7.71604938271604938e-4,
     2.00938786008230453e-6),
    (6.49434156378600823e-4, 2.29472093621399177e-4),
)
# fmt: on
"""Temme's uniform expansion by powers of 1 / a; each coefficient by powers of eta."""

LOG_GAMMA = (
    -0.577215664901532866,
    0.822467033424113203,
    -0.400685634386531431,
    0.270580808427784536,
    -0.207385551028674009,
    0.169557176997408215,
    -0.144049896768846136,
    0.125509669524743045,
    -0.111334265869564686,
    0.100099457512781792,
    -0.0909540171458290414,
    0.0833538405461090037,
    -0.0769325164113521948,
    0.0714329462953613437,
    -0.0666687058824204648,
    0.0625009551412130382,
    -0.0588239786586845781,
)
"""Coefficients of lgamma(1 + a) / a in powers of a, for a below 0.1."""

INCOMPLETE = device_functions(
    "incomplete_gamma",
    SLOPE=horner(LOG_GAMMA, "a"),
    **{f"C{k}": horner(coefficients, "h") for k, coefficients in enumerate(TEMME)},
)


def _apart(a, x):
    mu = (x - a) / a
    if abs(mu) > 0.25:
        return a * (mu - math.log(x / a or TINY))
    r = mu / (2 + mu)
    rest = sum(r ** (2 * k) / (2 * k + 1) for k in range(12, 0, -1))
    return a * (mu * r - 2 * r * rest)


def _front(a, x):
    if a <= 20:
        return math.exp(a * math.log(x) - x) / math.gamma(a + 1)
    s = 1 / (a * a)
    rest = 1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))
    return math.exp(-_apart(a, x) - rest / a) / math.sqrt(2 * math.pi * a)


def _uniform(a, x):
    """Return the lower and the upper part for large ``a``."""
    y = _apart(a, x)
    if not y < 800:
        return (0.0, 1.0) if x < a else (1.0, 0.0)
    root = math.copysign(math.sqrt(y), x - a)
    eta = root * math.sqrt(2 / a)
    total = sum(
        a**-k * sum(c * eta**n for n, c in enumerate(row))
        for k, row in enumerate(TEMME)
    )
    rest = math.exp(-y) / math.sqrt(2 * math.pi * a) * total
    return 0.5 * math.erfc(-root) - rest, 0.5 * math.erfc(root) + rest


def _fraction(a, x):
    b = x + 1 - a
    c, d = 1e300, 1 / b
    h = d
    for k in range(1, 2000):
        top = -k * (k - a)
        b += 2
        d = 1 / ((top * d + b) or 1e-300)
        c = (b + top / c) or 1e-300
        h *= c * d
        if abs(c * d - 1) < 3e-16:
            break
    return h


def _small(a, x):
    slope = sum(c * a**k for k, c in enumerate(LOG_GAMMA))
    power = a * (math.log(x) - slope)
    total, term = 0.0, 1.0
    for k in range(1, 30):
        term *= -x / k
        total += term / (a + k)
    return -math.expm1(power) - math.exp(power) * a * total


def _parts(a, x):
    """Return the regularised lower and upper part, computed as on the device."""
    if not (a >= 0 and x >= 0) or a == x == 0 or a == x == math.inf:
        return math.nan, math.nan
    if x == 0 or a == math.inf:
        return 0.0, 1.0
    if a == 0 or x == math.inf:
        return 1.0, 0.0
    if a > 10000:
        return _uniform(a, x)
    lower, upper = _lower(a, x), _upper(a, x)
    return (1 - upper if lower is None else lower), (
        1 - lower if upper is None else upper
    )


def _lower(a, x):
    """Return it by the series, where ``x < a + 1``."""
    if x >= a + 1:
        return None
    total = term = 1.0
    for k in range(1, 2000):
        term *= x / (a + k)
        if total + term == total:
            break
        total += term
    return _front(a, x) * total


def _upper(a, x):
    """Return it by the continued fraction, where ``x >= a + 1`` or ``x >= 1 > a``."""
    if a < 0.1 and x < 1:
        return _small(a, x)
    if x < a + 1 and (a >= 1 or x < 1):
        return None
    front = _front(a, x)
    return front * a * _fraction(a, x) if front else 0.0


@special_function(
    "ga_gamma_part({0}, {1}, 0)",
    lambda a, x: _parts(a, x)[0],
    np.arctan2,
    support=INCOMPLETE,
    domain=(0, np.inf),
    example=(2.0, [0.0, 1.0, np.inf]),
)
def gammainc(m, g, y, a, b):
    """The lower incomplete gamma function of ``a`` up to ``b``, from 0 to 1."""
    slope = m.exp((a - 1) * m.log(b) - b - m.gammaln(a))
    return m.unknown("gammainc by its first operand"), g * slope


@special_function(
    "ga_gamma_part({0}, {1}, 1)",
    lambda a, x: _parts(a, x)[1],
    np.arctan2,
    support=INCOMPLETE,
    domain=(0, np.inf),
    example=(2.0, [0.0, 1.0, np.inf]),
)
def gammaincc(m, g, y, a, b):
    """``1 - gammainc(a, b)``, exact where that is near 0."""
    slope = m.exp((a - 1) * m.log(b) - b - m.gammaln(a))
    return m.unknown("gammaincc by its first operand"), -g * slope
