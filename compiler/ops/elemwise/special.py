"""Functions composed of rows: rounding by mode, and gamma functions."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

ROUNDINGS = {
    "half_to_even": "rint",
    "half_away_from_zero": "round_half_away_from_zero",
}
"""The modes of ``round``, and the row of each."""


def round(a: Any, mode: str | None = None) -> Variable:
    """The nearest integer, as a float; by default of two the even one.

    ``mode`` is ``"half_to_even"``, or ``"half_away_from_zero"`` as C rounds.
    """
    mode = "half_to_even" if mode is None else mode
    row = ROUNDINGS.get(mode) if isinstance(mode, str) else None
    if row is None:
        modes = " or ".join(map(repr, ROUNDINGS))
        raise GraphValueError(f"round: mode={mode!r}; it takes {modes}")
    return math.FUNCTIONS[row](a)


def iround(a: Any, mode: str | None = None) -> Variable:
    """``round(a, mode)`` as int64."""
    return math.cast(round(a, mode), "int64")


def ceil_intdiv(a: Any, b: Any) -> Variable:
    """Return the quotient of integers rounded up, computed without floats.

    It has the dtype of ``a // b``.
    """
    row = math.FUNCTIONS
    quotient = row["floor_divide"](a, b)
    is_more = row["ne"](row["mod"](a, b), 0)
    return quotient + math.cast(is_more, quotient.type.dtype)


def complex_from_polar(r: Any, theta: Any) -> Variable:
    """The complex number of size ``r`` and angle ``theta``, in radians."""
    row = math.FUNCTIONS
    size, angle = as_tensor_variable(r), as_tensor_variable(theta)
    return row["complex"](size * row["cos"](angle), size * row["sin"](angle))


def gammal(k: Any, x: Any) -> Variable:
    """The lower incomplete gamma function: ``gammainc(k, x) * gamma(k)``."""
    return math.FUNCTIONS["gammainc"](k, x) * math.FUNCTIONS["gamma"](k)


def gammau(k: Any, x: Any) -> Variable:
    """The upper incomplete gamma function: ``gammaincc(k, x) * gamma(k)``."""
    return math.FUNCTIONS["gammaincc"](k, x) * math.FUNCTIONS["gamma"](k)


def chi2sf(x: Any, k: Any) -> Variable:
    """The probability that chi-squared of ``k`` degrees of freedom is above ``x``."""
    degrees, bound = as_tensor_variable(k), as_tensor_variable(x)
    return math.FUNCTIONS["gammaincc"](degrees * 0.5, bound * 0.5)
