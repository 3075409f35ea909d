"""Minimum, maximum, clip and the choice by a condition."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.table import scalar

# maximum and minimum propagate nan, fmax and fmin ignore it. Where both operands are
# equal, the gradient goes to the first.


def _extremum(of_floats, reference, symbol, first_of_complex, **properties):
    """A row of one of two operands: of integers the first one if ``symbol`` holds."""
    return scalar(
        of_floats,
        reference,
        kinds={
            "c": f"({first_of_complex}) ? {{0}} : {{1}}",
            "b|i|u": f"{{0}} {symbol} {{1}} ? {{0}} : {{1}}",
        },
        commutes=True,
        associates=True,
        increases_in=(0, 1),
        example=([1.0, np.nan], 2.0),
        **properties,
    )


@_extremum(
    "({0} >= {1} || {0} != {0}) ? {0} : {1}",
    np.maximum,
    ">",
    "ga_cle({1}, {0}) || ga_cisnan({0})",
    identity=-np.inf,
    reduction="max",
)
def maximum(m, g, y, a, b):
    """The larger one; nan where one is nan."""
    first = m.ge(a, b)
    return m.where(first, g, 0), m.where(first, 0, g)


@_extremum(
    "({0} <= {1} || {0} != {0}) ? {0} : {1}",
    np.minimum,
    "<",
    "ga_cle({0}, {1}) || ga_cisnan({0})",
    identity=np.inf,
    reduction="min",
)
def minimum(m, g, y, a, b):
    """The smaller one; nan where one is nan."""
    first = m.le(a, b)
    return m.where(first, g, 0), m.where(first, 0, g)


@_extremum(
    "fmax({0}, {1})",
    np.fmax,
    ">",
    "ga_cle({1}, {0}) || ga_cisnan({1})",
    identity=np.nan,
    integer_identity=-np.inf,
)
def fmax(m, g, y, a, b):
    """The larger one; where one is nan, the other."""
    first = m.logical_or(m.ge(a, b), m.isnan(b))
    return m.where(first, g, 0), m.where(first, 0, g)


@_extremum(
    "fmin({0}, {1})",
    np.fmin,
    "<",
    "ga_cle({0}, {1}) || ga_cisnan({1})",
    identity=np.nan,
    integer_identity=np.inf,
)
def fmin(m, g, y, a, b):
    """The smaller one; where one is nan, the other."""
    first = m.logical_or(m.le(a, b), m.isnan(b))
    return m.where(first, g, 0), m.where(first, 0, g)


CLIP = """
GA_INLINE {t} ga_clip({t} x, {t} low, {t} high) {
  const {t} v = x != x || x > low ? x : low;
  return v != v || v < high ? v : high;
}
"""
CLIP_COMPLEX = """
GA_INLINE {t} ga_clip({t} x, {t} low, {t} high) {
  const {t} v = ga_cle(low, x) || ga_cisnan(x) ? x : low;
  return ga_cle(v, high) || ga_cisnan(v) ? v : high;
}
"""


@scalar(
    "ga_clip({0}, {1}, {2})",
    np.clip,
    kinds={
        # Nothing of the limits alone: of the lesser one of two numbers ptxas 13.0 keeps
        # 16 bits when it takes it out of a loop.
        "b|i|u": "({0} < {1} ? {1} : {0}) < {2} ? ({0} < {1} ? {1} : {0}) : {2}",
        "c": "ga_clip({0}, {1}, {2})",
    },
    support={"f": CLIP, "c": CLIP_COMPLEX},
    joins=(0, 1, 2),
    example=([1, 5, 9], 2, 6),
)
def clip(m, g, y, x, low, high):
    """The element limited to an interval: ``min(max(x, low), high)``."""
    # Where low is above high, the value is high, and so all of the gradient is.
    above = m.gt(m.maximum(x, low), high)
    within = m.where(above, 0, g)
    below = m.lt(x, low)
    to_x, to_low = m.where(below, 0, within), m.where(below, within, 0)
    return to_x, to_low, m.where(above, g, 0)


@scalar("copysign({0}, {1})", np.copysign, result="float", example=([1.0, -2.0], -0.0))
def copysign(m, g, y, a, b):
    """``a`` with the sign of ``b``."""
    return g * m.sign(a) * m.copysign(1, b), None


# ---- choosing ----


@scalar(
    "{0} != 0 ? {1} : {2}", np.where, joins=(1, 2), example=([True, False], [1, 2], 0)
)
def where(m, g, y, condition, a, b):
    """``a`` where the condition is not 0, else ``b``."""
    return None, m.where(condition, g, 0), m.where(condition, 0, g)


@scalar(
    "{1}",
    lambda a, b: np.broadcast_arrays(a, b)[1].copy(),
    joins=(1,),
    example=([1, 2], 7),
)
def second(m, g, y, a, b):
    """``b``, repeated to the shape of both."""
    return None, g


@scalar(
    "{0} != 0 ? {1} : ({t})0",
    lambda a, b: np.where(np.asarray(a) != 0, b, np.zeros_like(b)),
    kinds={"bc|ic|uc|fc": "{0} != 0 ? {1} : ga_complex(({p})0, ({p})0)"},
    joins=(1,),
    public=False,
    example=([2.0, 0.0], [3.0, np.inf]),
)
def where_nonzero(m, g, y, a, b):
    """``b`` where ``a`` is not 0, else 0: ``b`` has ``a`` for a factor."""
    # Where the factor is 0 the product moves with it all the same.
    return None, g
