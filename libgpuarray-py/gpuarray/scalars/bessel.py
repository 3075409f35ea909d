"""Bessel functions of the first kind and modified ones, of real order.

The order is at most 1000 in size: beyond, the result is nan. A negative number has a
result where the order is an integer.
"""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from gpuarray.scalars.references import TINY, by_element
from gpuarray.scalars.table import scalar

# h^v / gamma(v + 1): by Stirling's series, or by steps from the order's fraction.
POWER_OVER_GAMMA = """
GA_INLINE {t} ga_NAME_log_term({t} h, {t} v) {
  const {t} s = 1 / (v * v);
  const {t} rest = (1 / 12.0{f} -
                    s * (1 / 360.0{f} -
                         s * (1 / 1260.0{f} - s * (1 / 1680.0{f} - s / 1188)))) /
                   v;
  return v * (1 + log(h / v)) - 0.5{f} * log(6.28318530717958647693{f} * v) - rest;
}
GA_INLINE {t} ga_NAME_term({t} h, {t} v) {
  if (v > 20)
    return exp(ga_NAME_log_term(h, v));
  const int steps = (int)floor(v);
  if (h == 0 && v >= 0)
    return v == 0;
  if (h == 0)
    return steps & 1 ? ({t})INFINITY : -({t})INFINITY;
  const {t} f = v - floor(v);
  {t} r = pow(h, f) / tgamma(1 + f);
  for (int k = 1; k <= steps; k++)
    r *= h / (f + k);
  for (int k = 0; k > steps; k--)
    r *= (f + k) / h;
  return r;
}
"""
BESSEL_J = (
    POWER_OVER_GAMMA.replace("NAME", "jv")
    + """
/* Hankel's expansion, of orders below 2 and x from 25 on. */
GA_INLINE {t} ga_jv_far({t} v, {t} x) {
  {t} p = 1, q = 0, term = 1;
  for (int k = 1; k <= 30; k++) {
    const {t} odd = ({t})(2 * k - 1);
    term *= (4 * v * v - odd * odd) / (8 * k * x);
    if (k & 1)
      q += k & 2 ? -term : term;
    else
      p += k & 2 ? -term : term;
  }
  const {t} turn = (0.5{f} * v + 0.25{f}) * 3.14159265358979323846{f};
  const {t} s = sin(x), c = cos(x), st = sin(turn), ct = cos(turn);
  return 0.797884560802865355880{f} / sqrt(x) *
         (p * (c * ct + s * st) - q * (s * ct - c * st));
}
/* Downwards from an order where the function vanishes, scaled by Neumann's sum. */
GA_INLINE {t} ga_jv_down({t} f, int steps, {t} x) {
  const int top = (int)fmax(x, ({t})steps);
  int n = (top + 40 + 2 * (int)sqrt(({t})top)) & ~1;
  {t} above = 0, here = 1e-30{f}, below, sum = 0, found = 0, weight = 1;
  for (; n > 0; n--) {
    if (n == steps)
      found = here;
    if (!(n & 1)) {
      sum += (f + n) * weight * here;
      if (n > 2)
        weight *= n / 2 / (f + n / 2 - 1);
    }
    below = 2 * (f + n) / x * here - above;
    above = here;
    here = below;
    if (fabs(here) > 1e20{f}) {
      here *= 1e-20{f};
      above *= 1e-20{f};
      sum *= 1e-20{f};
      found *= 1e-20{f};
    }
  }
  sum = tgamma(1 + f) * (here + sum / weight);
  for (; n > steps; n--) {
    below = 2 * (f + n) / x * here - above;
    above = here;
    here = below;
  }
  return (steps > 0 ? found : here) * pow(x / 2, f) / sum;
}
GA_INLINE {t} ga_jv_near({t} v, {t} x) {
  const {t} s = 0.25{f} * x * x;
  {t} sum = 1, term = 1;
  for (int k = 1; k < 60; k++) {
    term *= -s / (k * (k + v));
    sum += term;
  }
  return sum * ga_jv_term(x / 2, v);
}
GA_NOINLINE {t} ga_jv({t} v, {t} x) {
  if (!(fabs(v) <= 1000) || x != x || (x < 0 && v != floor(v)))
    return NAN;
  {t} sign = 1;
  if (v == floor(v)) {
    if ((x < 0) != (v < 0) && fmod(v, ({t})2) != 0)
      sign = -1;
    v = fabs(v);
  }
  x = fabs(x);
  if (x == INFINITY)
    return 0;
  if (0.25{f} * x * x <= 1 + fmax(v, ({t})0))
    return sign * ga_jv_near(v, x);
  const int steps = (int)floor(v);
  const {t} f = v - floor(v);
  if (x < 25 || x < v)
    return sign * ga_jv_down(f, steps, x);
  {t} a = ga_jv_far(f, x), b = ga_jv_far(f + 1, x), c;
  for (int n = 1; n <= steps; n++) {
    c = 2 * (f + n) / x * b - a;
    a = b;
    b = c;
  }
  for (int n = 0; n > steps; n--) {
    c = 2 * (f + n) / x * a - b;
    b = a;
    a = c;
  }
  return sign * a;
}
/* CUDA's own are exact to a few units below 8, to 2.2e-12 absolute beyond. */
GA_INLINE {t} ga_j0({t} x) {
#ifdef __CUDACC__
  if (fabs(x) < 8)
    return j0(x);
#endif
  return ga_jv(({t})0, x);
}
GA_INLINE {t} ga_j1({t} x) {
#ifdef __CUDACC__
  if (fabs(x) < 8)
    return j1(x);
#endif
  return ga_jv(({t})1, x);
}
"""
)
BESSEL_I = (
    POWER_OVER_GAMMA.replace("NAME", "iv")
    + """
/* The asymptotic expansion where x is large; else the power series, whose sum is scaled
 * down on the way. */
GA_NOINLINE {t} ga_iv({t} v, {t} x) {
  if (!(fabs(v) <= 1000) || x != x || (x < 0 && v != floor(v)))
    return NAN;
  {t} sign = 1;
  if (v == floor(v)) {
    if (x < 0 && fmod(v, ({t})2) != 0)
      sign = -1;
    v = fabs(v);
  }
  x = fabs(x);
  if (x > 1400)
    return sign * INFINITY;
  {t} sum = 1, term = 1, scale = 0;
  if (x >= 30 && x >= v * v) {
    for (int k = 1; k <= 30; k++) {
      const {t} odd = ({t})(2 * k - 1);
      term *= (odd * odd - 4 * v * v) / (8 * k * x);
      sum += term;
    }
    const {t} root = exp(x / 2);
    return sign * root * (root * 0.398942280401432677940{f} / sqrt(x) * sum);
  }
  for (int k = 1; k < 3000; k++) {
    const {t} before = sum;
    term *= 0.25{f} * x * x / (k * (k + v));
    sum += term;
    if (sum == before && k + v > 0)
      break;
    if (sum > 1e30{f}) {
      sum *= 1e-30{f};
      term *= 1e-30{f};
      scale += 69.0775527898213705205{f};
    }
  }
  if (v > 20)
    return sign * exp(ga_iv_log_term(x / 2, v) + scale + log(sum));
  return sign * ga_iv_term(x / 2, v) * sum * exp(scale);
}
GA_INLINE {t} ga_i0({t} x) {
#ifdef __CUDACC__
  return cyl_bessel_i0(x);
#else
  return ga_iv(({t})0, x);
#endif
}
GA_INLINE {t} ga_i1({t} x) {
#ifdef __CUDACC__
  return cyl_bessel_i1(x);
#else
  return ga_iv(({t})1, x);
#endif
}
"""
)


def _log_term(h, v):
    """The logarithm of ``h**v / gamma(v + 1)`` for ``h > 0``, ``v > 20``."""
    s = 1 / (v * v)
    rest = 1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))
    power = v * (1 + math.log(h / v or TINY))
    return power - 0.5 * math.log(2 * math.pi * v) - rest / v


def _term(h, v):
    """``h**v / gamma(v + 1)``."""
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
    """As on the device: by the series, downwards, or from Hankel's expansion."""
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
    above, here, total, found, weight = 0.0, 1e-30, 0.0, 0.0, 1.0
    for n in range(last, 0, -1):
        found = here if n == steps else found
        if n % 2 == 0:
            total += (f + n) * weight * here
            weight *= n / 2 / (f + n / 2 - 1) if n > 2 else 1
        above, here = here, 2 * (f + n) / x * here - above
        if abs(here) > 1e200:
            above, here, total, found = (
                each * 1e-200 for each in (above, here, total, found)
            )
    total = math.gamma(1 + f) * (here + total / weight)
    for n in range(0, steps, -1):
        above, here = here, 2 * (f + n) / x * here - above
    return (found if steps > 0 else here) * (x / 2) ** f / total


@_of_real_order
def _iv(v, x):
    """By the power series, whose sum is scaled down on the way."""
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
    found = sign * _term(x / 2, v) * total
    for _ in range(scale // 200):
        found *= 1e200
    return found


def _of_order(function, order):
    return by_element(lambda x: function(order, x))


@scalar(
    "ga_j0({0})",
    _of_order(_jv, 0.0),
    support=BESSEL_J,
    result="float",
    typed_as=np.exp,
    example=([0.0, 1.0],),
)
def j0(m, g, y, x):
    """The Bessel function of the first kind of order 0."""
    return -g * m.j1(x)


@scalar(
    "ga_j1({0})",
    _of_order(_jv, 1.0),
    support=BESSEL_J,
    result="float",
    typed_as=np.exp,
    example=([0.0, 1.0],),
)
def j1(m, g, y, x):
    """The Bessel function of the first kind of order 1."""
    return g * 0.5 * (m.j0(x) - m.jv(2, x))


@scalar(
    "ga_jv({0}, {1})",
    by_element(_jv, np.arctan2),
    support=BESSEL_J,
    result="float",
    typed_as=np.arctan2,
    example=(2, [0.0, 1.0]),
)
def jv(m, g, y, a, b):
    """The Bessel function of the first kind of real order ``a``, from -1000 to 1000."""
    slope = 0.5 * (m.jv(a - 1, b) - m.jv(a + 1, b))
    return m.unknown("jv by its order"), g * slope


@scalar(
    "ga_i0({0})",
    _of_order(_iv, 0.0),
    support=BESSEL_I,
    result="float",
    typed_as=np.exp,
    example=([0.0, 1.0],),
)
def i0(m, g, y, x):
    """The modified Bessel function of the first kind of order 0."""
    return g * m.i1(x)


@scalar(
    "ga_i1({0})",
    _of_order(_iv, 1.0),
    support=BESSEL_I,
    result="float",
    typed_as=np.exp,
    example=([0.0, 1.0],),
)
def i1(m, g, y, x):
    """The modified Bessel function of the first kind of order 1."""
    return g * 0.5 * (m.i0(x) + m.iv(2, x))


@scalar(
    "ga_iv({0}, {1})",
    by_element(_iv, np.arctan2),
    support=BESSEL_I,
    result="float",
    typed_as=np.arctan2,
    example=(2, [0.0, 1.0]),
)
def iv(m, g, y, a, b):
    """The modified Bessel function of real order ``a``, from -1000 to 1000."""
    slope = 0.5 * (m.iv(a - 1, b) + m.iv(a + 1, b))
    return m.unknown("iv by its order"), g * slope
