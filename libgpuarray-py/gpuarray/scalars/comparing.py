"""Comparisons; a signed and an unsigned number are compared by value."""

# A row's function is typed by its place in the table.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from gpuarray.scalars.table import scalar


def _comparison(symbol, reference, of_complex, **properties):
    """A row of an operator of C.

    A number below 0 beside an unsigned one compares with it as -1 does with 0.
    """
    first = "{0} < 0 ||" if reference(-1, 0) else "{0} >= 0 &&"
    second = "{1} < 0 ||" if reference(0, -1) else "{1} >= 0 &&"
    return scalar(
        f"{{0}} {symbol} {{1}}",
        reference,
        kinds={
            "c": of_complex,
            "iu": f"{first} (ga_ulong){{0}} {symbol} {{1}}",
            "ui": f"{second} {{0}} {symbol} (ga_ulong){{1}}",
        },
        result="bool",
        **properties,
    )


@_comparison(
    "==",
    np.equal,
    "ga_ceq({0}, {1})",
    operator="eq",
    commutes=True,
    example=([1, 2], 2),
)
def eq(m, g, y, a, b):
    """True where the two are equal."""
    return None, None  # piecewise constant


@_comparison(
    "!=",
    np.not_equal,
    "ga_cne({0}, {1})",
    operator="ne",
    commutes=True,
    example=([1, 2], 2),
)
def ne(m, g, y, a, b):
    """True where the two differ."""
    return None, None  # piecewise constant


@_comparison("<", np.less, "ga_clt({0}, {1})", operator="lt", example=([1, 2], 2))
def lt(m, g, y, a, b):
    """True where ``a`` is less."""
    return None, None  # piecewise constant


@_comparison(
    "<=", np.less_equal, "ga_cle({0}, {1})", operator="le", example=([1, 2], 2)
)
def le(m, g, y, a, b):
    """True where ``a`` is less or equal."""
    return None, None  # piecewise constant


@_comparison(">", np.greater, "ga_clt({1}, {0})", operator="gt", example=([1, 2], 1))
def gt(m, g, y, a, b):
    """True where ``a`` is greater."""
    return None, None  # piecewise constant


@_comparison(
    ">=", np.greater_equal, "ga_cle({1}, {0})", operator="ge", example=([1, 2], 2)
)
def ge(m, g, y, a, b):
    """True where ``a`` is greater or equal."""
    return None, None  # piecewise constant
