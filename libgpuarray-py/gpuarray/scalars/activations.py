"""Activation functions of neural networks."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.references import floating, real_only
from gpuarray.scalars.table import scalar

SIGMOID = """
GA_INLINE {t} ga_sigmoid({t} x) {
  const {t} e = exp(-fabs(x));
  return ga_part(x >= 0 ? ({t})1 : e, 1 + e);
}
"""


def _sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, np.ones_like(e), e) / (1 + e)


@scalar(
    "ga_sigmoid({0})",
    floating(_sigmoid),
    support=SIGMOID,
    result="float",
    typed_as=np.exp,
    is_bare=True,
    increases_in=(0,),
    example=([0.0, 1.0],),
)
def sigmoid(m, g, y, x):
    """``1 / (1 + exp(-x))``."""
    return g * y * (1 - y)


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@scalar(
    "fmax({0}, ({t})0) + log1p(exp(-fabs({0})))",
    floating(_softplus),
    result="float",
    typed_as=np.exp,
    is_bare=True,
    increases_in=(0,),
    example=([0.0, 1000.0],),
)
def softplus(m, g, y, x):
    """``log(1 + exp(x))``, without overflow in between."""
    return g * m.sigmoid(x)


@scalar(
    "({0} > 0 || {0} != {0}) ? {0} : ({t})0",
    lambda x: np.maximum(real_only(x), x.dtype.type(0)),
    kinds={"i": "{0} > 0 ? {0} : ({t})0", "b|u": "{0}"},
    typed_as=np.absolute,
    increases_in=(0,),
    example=([-1.0, 2.0],),
)
def relu(m, g, y, x):
    """The rectified linear unit: the element, or 0 where it is negative."""
    return m.where(m.eq(x, 0), 0.5 * g, m.where(m.gt(x, 0), g, 0))
