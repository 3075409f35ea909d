"""Bessel functions of the first kind and modified ones, of real order.

Beyond an order of 1000 in size the result is nan, and for a negative number unless the
order is an integer.
"""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from functools import partial

import numpy as np

from gpuarray.scalars.families import special_function
from gpuarray.scalars.references import TINY
from gpuarray.scalars.texts import device_functions


def _device_functions(name, stem):
    words = {"TERM": f"ga_{stem}_term", "LOG_TERM": f"ga_{stem}_log_term"}
    power_over_gamma = device_functions("power_over_gamma", **words)
    return power_over_gamma + device_functions(name)


BESSEL_J = _device_functions("bessel_j", "jv")
BESSEL_I = _device_functions("bessel_i", "iv")


def _log_term(h, v):
    """Return the logarithm of ``h**v / gamma(v + 1)`` for ``h > 0``, ``v > 20``."""
    s = 1 / (v * v)
    rest = 1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))
    power = v * (1 + math.log(h / v or TINY))
    return power - 0.5 * math.log(2 * math.pi * v) - rest / v


def _term(h, v):
    """Return ``h**v / gamma(v + 1)``."""
    if h == 0:
        pole = math.inf if math.floor(v) % 2 else -math.inf
        return 1.0 if v == 0 else 0.0 if v > 0 else pole
    if v > 20:
        return math.exp(_log_term(h, v))
    steps = math.floor(v)
    f = v - steps
    r = h**f / math.gamma(1 + f)
    for k in range(1, steps + 1):
        r *= h / (f + k)
    for k in range(0, steps, -1):
        r *= (f + k) / h
    return r


def _of_real_order(function):
    """The function of ``0 <= v`` or a fraction, and ``0 <= x < inf``, continued."""

    def continued(v, x):
        if not abs(v) <= 1000 or math.isnan(x) or (x < 0 and v != math.floor(v)):
            return math.nan
        return function(v, x)

    return continued


@_of_real_order
def _jv(v, x):
    """Compute it as on the device: by the series, downwards, or Hankel's expansion."""
    sign = 1
    if v == math.floor(v):
        sign = -1 if (x < 0) != (v < 0) and v % 2 else 1
        v = abs(v)
    x = abs(x)
    if x == math.inf:
        return 0.0
    if 0.25 * x * x <= 1 + max(v, 0):
        total = term = 1.0
        for k in range(1, 60):
            term *= -0.25 * x * x / (k * (k + v))
            total += term
        return sign * total * _term(x / 2, v)
    steps = math.floor(v)
    f = v - steps
    if x < 25 or x < v:
        return sign * _jv_down(f, steps, x)
    a, b = _jv_far(f, x), _jv_far(f + 1, x)
    for n in range(1, steps + 1):
        a, b = b, 2 * (f + n) / x * b - a
    for n in range(0, steps, -1):
        a, b = 2 * (f + n) / x * a - b, a
    return sign * a


def _jv_far(v, x):
    parts = [0.0] * 4
    term = 1.0
    for k in range(31):
        parts[k % 4] += term
        term *= (4 * v * v - (2 * k + 1) ** 2) / (8 * (k + 1) * x)
    p, q = parts[0] - parts[2], parts[1] - parts[3]
    turn = (0.5 * v + 0.25) * math.pi
    c = math.cos(x) * math.cos(turn) + math.sin(x) * math.sin(turn)
    s = math.sin(x) * math.cos(turn) - math.cos(x) * math.sin(turn)
    return math.sqrt(2 / (math.pi * x)) * (p * c - q * s)


def _jv_down(f, steps, x):
    top = int(max(x, steps))
    last = (top + 40 + 2 * int(math.sqrt(top))) // 2 * 2
    above, here, total, of_order, weight = 0.0, 1e-30, 0.0, 0.0, 1.0
    for n in range(last, 0, -1):
        of_order = here if n == steps else of_order
        if n % 2 == 0:
            total += (f + n) * weight * here
            weight *= n / 2 / (f + n / 2 - 1) if n > 2 else 1
        above, here = here, 2 * (f + n) / x * here - above
        if abs(here) > 1e200:
            above, here, total, of_order = (
                number * 1e-200 for number in (above, here, total, of_order)
            )
    total = math.gamma(1 + f) * (here + total / weight)
    for n in range(0, steps, -1):
        above, here = here, 2 * (f + n) / x * here - above
    return (of_order if steps > 0 else here) * (x / 2) ** f / total


@_of_real_order
def _iv(v, x):
    """Compute it by the power series, whose sum is scaled down in between."""
    sign = -1 if v == math.floor(v) and x < 0 and v % 2 else 1
    v = abs(v) if v == math.floor(v) else v
    x = abs(x)
    if x > 1400:
        return sign * math.inf
    total = term = 1.0
    scale = 0
    for k in range(1, 3000):
        before = total
        term *= 0.25 * x * x / (k * (k + v))
        total += term
        if total == before and k + v > 0:
            break
        if total > 1e200:
            total, term, scale = total * 1e-200, term * 1e-200, scale + 200
    if v > 20 and x > 0:
        power = _log_term(x / 2, v) + scale * math.log(10) + math.log(total)
        return sign * math.exp(power) if power < 709.7 else sign * math.inf
    result = sign * _term(x / 2, v) * total
    for _ in range(scale // 200):
        result *= 1e200
    return result


@special_function(
    "ga_j0({0})", partial(_jv, 0.0), support=BESSEL_J, example=([0.0, 1.0],)
)
def j0(m, g, y, x):
    """The Bessel function of the first kind of order 0."""
    return -g * m.j1(x)


@special_function(
    "ga_j1({0})", partial(_jv, 1.0), support=BESSEL_J, example=([0.0, 1.0],)
)
def j1(m, g, y, x):
    """The Bessel function of the first kind of order 1."""
    return g * 0.5 * (m.j0(x) - m.jv(2, x))


@special_function(
    "ga_jv({0}, {1})", _jv, np.arctan2, support=BESSEL_J, example=(2, [0.0, 1.0])
)
def jv(m, g, y, a, b):
    """The Bessel function of the first kind of real order ``a``, from -1000 to 1000."""
    slope = 0.5 * (m.jv(a - 1, b) - m.jv(a + 1, b))
    return m.unknown("jv by its order"), g * slope


@special_function(
    "ga_i0({0})", partial(_iv, 0.0), support=BESSEL_I, example=([0.0, 1.0],)
)
def i0(m, g, y, x):
    """The modified Bessel function of the first kind of order 0."""
    return g * m.i1(x)


@special_function(
    "ga_i1({0})", partial(_iv, 1.0), support=BESSEL_I, example=([0.0, 1.0],)
)
def i1(m, g, y, x):
    """The modified Bessel function of the first kind of order 1."""
    return g * 0.5 * (m.i0(x) + m.iv(2, x))


@special_function(
    "ga_iv({0}, {1})", _iv, np.arctan2, support=BESSEL_I, example=(2, [0.0, 1.0])
)
def iv(m, g, y, a, b):
    """The modified Bessel function of real order ``a``, from -1000 to 1000."""
    slope = 0.5 * (m.iv(a - 1, b) + m.iv(a + 1, b))
    return m.unknown("iv by its order"), g * slope
