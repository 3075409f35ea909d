"""Comparisons; a signed beside an unsigned number is compared by value."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.table import scalar


@scalar(
    "{0} == {1}",
    np.equal,
    kinds={
        "c": "ga_ceq({0}, {1})",
        "iu": "{0} >= 0 && (ga_ulong){0} == {1}",
        "ui": "{1} >= 0 && {0} == (ga_ulong){1}",
    },
    result="bool",
    operator="eq",
    commutes=True,
    example=([1, 2], 2),
)
def eq(m, g, y, a, b):
    """Whether the two are equal."""
    return None, None  # piecewise constant


@scalar(
    "{0} != {1}",
    np.not_equal,
    kinds={
        "c": "ga_cne({0}, {1})",
        "iu": "{0} < 0 || (ga_ulong){0} != {1}",
        "ui": "{1} < 0 || {0} != (ga_ulong){1}",
    },
    result="bool",
    operator="ne",
    commutes=True,
    example=([1, 2], 2),
)
def ne(m, g, y, a, b):
    """Whether the two differ."""
    return None, None  # piecewise constant


@scalar(
    "{0} < {1}",
    np.less,
    kinds={
        "c": "ga_clt({0}, {1})",
        "iu": "{0} < 0 || (ga_ulong){0} < {1}",
        "ui": "{1} >= 0 && {0} < (ga_ulong){1}",
    },
    result="bool",
    operator="lt",
    example=([1, 2], 2),
)
def lt(m, g, y, a, b):
    """Whether ``a`` is less."""
    return None, None  # piecewise constant


@scalar(
    "{0} <= {1}",
    np.less_equal,
    kinds={
        "c": "ga_cle({0}, {1})",
        "iu": "{0} < 0 || (ga_ulong){0} <= {1}",
        "ui": "{1} >= 0 && {0} <= (ga_ulong){1}",
    },
    result="bool",
    operator="le",
    example=([1, 2], 2),
)
def le(m, g, y, a, b):
    """Whether ``a`` is less or equal."""
    return None, None  # piecewise constant


@scalar(
    "{0} > {1}",
    np.greater,
    kinds={
        "c": "ga_clt({1}, {0})",
        "iu": "{0} >= 0 && (ga_ulong){0} > {1}",
        "ui": "{1} < 0 || {0} > (ga_ulong){1}",
    },
    result="bool",
    operator="gt",
    example=([1, 2], 1),
)
def gt(m, g, y, a, b):
    """Whether ``a`` is greater."""
    return None, None  # piecewise constant


@scalar(
    "{0} >= {1}",
    np.greater_equal,
    kinds={
        "c": "ga_cle({1}, {0})",
        "iu": "{0} >= 0 && (ga_ulong){0} >= {1}",
        "ui": "{1} < 0 || {0} >= (ga_ulong){1}",
    },
    result="bool",
    operator="ge",
    example=([1, 2], 2),
)
def ge(m, g, y, a, b):
    """Whether ``a`` is greater or equal."""
    return None, None  # piecewise constant
