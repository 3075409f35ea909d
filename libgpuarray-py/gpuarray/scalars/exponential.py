"""Exponentials and logarithms."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from gpuarray.scalars.families import float_function
from gpuarray.scalars.references import floating
from gpuarray.scalars.table import scalar


@float_function(
    "exp", np.exp, undone_by="log", increases_in=(0,), example=([0.0, 1.0],)
)
def exp(m, g, y, x):
    """e to the power of the element."""
    return g * y


@scalar(
    "exp2({0})",
    np.exp2,
    kinds={"c": "ga_cexp(ga_cscale({0}, 0.693147180559945309417232121458{f}))"},
    result="float",
    undone_by="log2",
    example=([0.0, 3.0],),
)
def exp2(m, g, y, x):
    """2 to the power of the element."""
    return g * y * math.log(2)


@float_function("expm1", np.expm1, undone_by="log1p", example=([0.0, 1e-10],))
def expm1(m, g, y, x):
    """``exp(x) - 1``, exact near 0."""
    return g * m.exp(x)


@float_function(
    "log", np.log, undone_by="exp", domain=(0, np.inf), example=([1.0, 10.0],)
)
def log(m, g, y, x):
    """The logarithm to the base e."""
    return g / x


@scalar(
    "log2({0})",
    np.log2,
    kinds={"c": "ga_cscale(ga_clog({0}), 1.44269504088896340735992468100{f})"},
    result="float",
    undone_by="exp2",
    domain=(0, np.inf),
    example=([1.0, 8.0],),
)
def log2(m, g, y, x):
    """The logarithm to the base 2."""
    return g / (x * math.log(2))


@scalar(
    "log10({0})",
    np.log10,
    kinds={"c": "ga_cscale(ga_clog({0}), 0.434294481903251827651128918917{f})"},
    result="float",
    domain=(0, np.inf),
    example=([1.0, 1000.0],),
)
def log10(m, g, y, x):
    """The logarithm to the base 10."""
    return g / (x * math.log(10))


@float_function(
    "log1p", np.log1p, undone_by="expm1", domain=(-1, np.inf), example=([0.0, 1e-10],)
)
def log1p(m, g, y, x):
    """``log(1 + x)``, exact near 0."""
    return g / (x + 1)


LOGADDEXP = """
GA_INLINE {t} ga_logaddexp({t} a, {t} b) {
  if (a == b)
    return a + 0.693147180559945309417232121458{f};
  return (a > b ? a : b) + log1p(exp(-fabs(a - b)));
}
"""


@scalar(
    "ga_logaddexp({0}, {1})",
    np.logaddexp,
    support=LOGADDEXP,
    result="float",
    identity=-np.inf,
    commutes=True,
    associates=True,
    example=([1000.0], 1000.0),
)
def logaddexp(m, g, y, a, b):
    """``log(exp(a) + exp(b))``, without overflow in between."""
    return g * m.sigmoid(a - b), g * m.sigmoid(b - a)


LOGADDEXP2 = """
GA_INLINE {t} ga_logaddexp2({t} a, {t} b) {
  if (a == b)
    return a + 1;
  const {t} more = log1p(exp2(-fabs(a - b)));
  return (a > b ? a : b) + more * 1.44269504088896340735992468100{f};
}
"""


@scalar(
    "ga_logaddexp2({0}, {1})",
    np.logaddexp2,
    support=LOGADDEXP2,
    result="float",
    identity=-np.inf,
    commutes=True,
    associates=True,
    example=([2000.0], 2000.0),
)
def logaddexp2(m, g, y, a, b):
    """``log2(2**a + 2**b)``, without overflow in between."""
    difference = (a - b) * math.log(2)
    return g * m.sigmoid(difference), g * m.sigmoid(-difference)


def _xlogx(x):
    return np.where(x == 0, np.zeros_like(x), x * np.log(x))


@scalar(
    "{0} == 0 ? ({t})0 : {0} * log({0})",
    floating(_xlogx),
    result="float",
    typed_as=np.exp,
    domain=(0, np.inf),
    example=([0.0, 1.0, np.e],),
)
def xlogx(m, g, y, x):
    """``x * log(x)``, 0 at 0."""
    return g * (m.log(x) + 1)


def _xlogy0(x, y):
    return np.where(x == 0, np.zeros_like(x), x * np.log(y))


@scalar(
    "{0} == 0 ? ({t})0 : {0} * log({1})",
    floating(_xlogy0, np.arctan2),
    result="float",
    typed_as=np.arctan2,
    domain=(0, np.inf),
    example=([0.0, 2.0], [0.0, 1.0]),
)
def xlogy0(m, g, y, a, b):
    """``a * log(b)``, 0 where ``a`` is 0."""
    return g * m.log(b), m.where(m.eq(a, 0), 0, g * (a / b))
