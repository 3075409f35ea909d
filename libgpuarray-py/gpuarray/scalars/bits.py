"""Logical and bitwise operations."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.table import scalar


@scalar(
    "{0} != 0 && {1} != 0",
    np.logical_and,
    kinds={"c": "ga_ctrue({0}) && ga_ctrue({1})"},
    result="bool",
    identity=1,
    commutes=True,
    associates=True,
    reduction="all",
    example=([0, 1], 2),
)
def logical_and(m, g, y, a, b):
    """True where neither is 0."""
    return None, None  # piecewise constant


@scalar(
    "{0} != 0 || {1} != 0",
    np.logical_or,
    kinds={"c": "ga_ctrue({0}) || ga_ctrue({1})"},
    result="bool",
    identity=0,
    commutes=True,
    associates=True,
    reduction="any",
    example=([0, 1], 0),
)
def logical_or(m, g, y, a, b):
    """True where one of the two is not 0."""
    return None, None  # piecewise constant


@scalar(
    "{0} == 0",
    np.logical_not,
    kinds={"c": "!ga_ctrue({0})"},
    result="bool",
    example=([0, 1],),
)
def logical_not(m, g, y, x):
    """True where the element is 0."""
    return None  # piecewise constant


@scalar(
    "({0} != 0) != ({1} != 0)",
    np.logical_xor,
    kinds={"c": "ga_ctrue({0}) != ga_ctrue({1})"},
    result="bool",
    identity=0,
    commutes=True,
    associates=True,
    example=([0, 1], 2),
)
def logical_xor(m, g, y, a, b):
    """True where exactly one of the two is not 0."""
    return None, None  # piecewise constant


@scalar(
    "{0} & {1}",
    np.bitwise_and,
    operator="and",
    identity=-1,
    commutes=True,
    associates=True,
    example=([5, 6], 3),
)
def bitwise_and(m, g, y, a, b):
    """The bits that are set in both integers."""
    return None, None  # integers only


@scalar(
    "{0} | {1}",
    np.bitwise_or,
    operator="or",
    identity=0,
    commutes=True,
    associates=True,
    example=([5, 6], 3),
)
def bitwise_or(m, g, y, a, b):
    """The bits that are set in either integer."""
    return None, None  # integers only


@scalar(
    "{0} ^ {1}",
    np.bitwise_xor,
    operator="xor",
    identity=0,
    commutes=True,
    associates=True,
    example=([5, 6], 3),
)
def bitwise_xor(m, g, y, a, b):
    """The bits that are set in exactly one of the integers."""
    return None, None  # integers only


COUNT_BITS = """
GA_INLINE int ga_count_bits(ga_ulong x) {
  x -= x >> 1 & 0x5555555555555555;
  x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return (int)(x * 0x0101010101010101 >> 56);
}
"""


@scalar(
    "ga_count_bits({0} < 0 ? 0 - (ga_ulong)(ga_long){0} : (ga_ulong){0})",
    np.bitwise_count,
    kinds={"b|u": "ga_count_bits((ga_ulong){0})"},
    support=COUNT_BITS,
    example=([7, 8, -3],),
)
def bitwise_count(m, g, y, x):
    """The number of set bits of an integer's magnitude: uint8."""
    return None  # integers only


@scalar(
    "~{0}",
    np.invert,
    kinds={"b": "!{0}"},
    operator="invert",
    undone_by="invert",
    aliases=("bitwise_invert", "bitwise_not"),
    example=([0, 5],),
)
def invert(m, g, y, x):
    """The inverted bits of an integer; of a bool, its negation."""
    return None  # integers only


# A shift by the width or more gives what shifting one by one would, as in NumPy.


@scalar(
    "(ga_ulong){1} < sizeof({t}) * 8 ? ({t})((ga_ulong){0} << {1}) : ({t})0",
    np.left_shift,
    operator="lshift",
    aliases=("bitwise_left_shift",),
    example=([1, 3], 2),
)
def left_shift(m, g, y, a, b):
    """The bits of ``a`` shifted up by ``b``."""
    return None, None  # integers only


@scalar(
    "(ga_ulong){1} < sizeof({t}) * 8 ? ({t})({0} >> {1}) : ({t})({0} < 0 ? -1 : 0)",
    np.right_shift,
    kinds={"u": "{1} < sizeof({t}) * 8 ? ({t})({0} >> {1}) : ({t})0"},
    operator="rshift",
    aliases=("bitwise_right_shift",),
    example=([4, -4], 1),
)
def right_shift(m, g, y, a, b):
    """The bits of ``a`` shifted down by ``b``."""
    return None, None  # integers only
