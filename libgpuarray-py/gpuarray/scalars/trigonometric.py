"""Trigonometric and hyperbolic functions, and their inverses."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math

import numpy as np

from gpuarray.scalars.families import float_function
from gpuarray.scalars.table import scalar


@float_function("sin", np.sin, example=([0.0, 1.0],))
def sin(m, g, y, x):
    """The sine of an angle in radians."""
    return g * m.cos(x)


@float_function("cos", np.cos, example=([0.0, 1.0],))
def cos(m, g, y, x):
    """The cosine of an angle in radians."""
    return -g * m.sin(x)


@float_function("tan", np.tan, example=([0.0, 1.0],))
def tan(m, g, y, x):
    """The tangent of an angle in radians."""
    return g * (y * y + 1)


@float_function(
    "asin",
    np.arcsin,
    undone_by="sin",
    domain=(-1, 1),
    aliases=("asin",),
    example=([0.0, 1.0],),
)
def arcsin(m, g, y, x):
    """The inverse sine, from -pi/2 to pi/2."""
    return g / m.sqrt(1 - x * x)


@float_function(
    "acos",
    np.arccos,
    undone_by="cos",
    domain=(-1, 1),
    aliases=("acos",),
    example=([0.0, 1.0],),
)
def arccos(m, g, y, x):
    """The inverse cosine, from 0 to pi."""
    return -g / m.sqrt(1 - x * x)


@float_function(
    "atan",
    np.arctan,
    undone_by="tan",
    undone_complex=True,
    aliases=("atan",),
    example=([0.0, 1.0],),
)
def arctan(m, g, y, x):
    """The inverse tangent, from -pi/2 to pi/2."""
    return g / (x * x + 1)


@scalar(
    "atan2({0}, {1})",
    np.arctan2,
    result="float",
    aliases=("atan2",),
    example=([1.0, -1.0], -1.0),
)
def arctan2(m, g, y, a, b):
    """The angle, from -pi to pi, of the point (``b``, ``a``)."""
    scale = g / (a * a + b * b)
    return scale * b, -scale * a


@float_function("sinh", np.sinh, undone_by="arcsinh", example=([0.0, 1.0],))
def sinh(m, g, y, x):
    """The hyperbolic sine."""
    return g * m.cosh(x)


@float_function("cosh", np.cosh, example=([0.0, 1.0],))
def cosh(m, g, y, x):
    """The hyperbolic cosine."""
    return g * m.sinh(x)


@float_function(
    "tanh", np.tanh, undone_by="arctanh", increases_in=(0,), example=([0.0, 1.0],)
)
def tanh(m, g, y, x):
    """The hyperbolic tangent."""
    return g * (1 - y * y)


@float_function(
    "asinh",
    np.arcsinh,
    undone_by="sinh",
    undone_complex=True,
    aliases=("asinh",),
    example=([0.0, 1.0],),
)
def arcsinh(m, g, y, x):
    """The inverse hyperbolic sine."""
    return g / m.sqrt(x * x + 1)


@float_function(
    "acosh",
    np.arccosh,
    undone_by="cosh",
    domain=(1, np.inf),
    aliases=("acosh",),
    example=([1.0, 2.0],),
)
def arccosh(m, g, y, x):
    """The inverse hyperbolic cosine, not negative."""
    return g / (m.sqrt(x - 1) * m.sqrt(x + 1))


@float_function(
    "atanh",
    np.arctanh,
    undone_by="tanh",
    domain=(-1, 1),
    aliases=("atanh",),
    example=([0.0, 0.5],),
)
def arctanh(m, g, y, x):
    """The inverse hyperbolic tangent."""
    return g / (1 - x * x)


@scalar(
    "{0} * 0.0174532925199432957692369076849{f}",
    np.deg2rad,
    result="float",
    undone_by="rad2deg",
    aliases=("radians",),
    example=([90.0, 180.0],),
)
def deg2rad(m, g, y, x):
    """An angle in degrees in radians."""
    return g * (math.pi / 180)


@scalar(
    "{0} * 57.2957795130823208767981548141{f}",
    np.rad2deg,
    result="float",
    undone_by="deg2rad",
    aliases=("degrees",),
    example=([0.0, np.pi],),
)
def rad2deg(m, g, y, x):
    """An angle in radians in degrees."""
    return g * (180 / math.pi)
