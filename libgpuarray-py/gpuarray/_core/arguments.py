"""Checks of shape, axis and order arguments."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from gpuarray._native import lib
from gpuarray.errors import BadIndex, BadType, BadValue

Order = Literal["C", "F", "A", "K"]

_LETTERS: tuple[Order, ...] = ("C", "F", "A", "K")
_ORDERS = {text: one for one in _LETTERS for text in (one, one.lower())}


def as_order(order: str | None) -> Order:
    """``order`` as one of 'C', 'F', 'A' and 'K'; None is 'A'.

    >>> as_order("f"), as_order(None)
    ('F', 'A')
    """
    if order is None:
        return "A"
    code = _ORDERS.get(order) if isinstance(order, str) else None
    if code is None:
        raise BadValue(f"order: got {order!r}, expected 'C', 'F', 'A' or 'K'")
    return code


def as_shape(shape: int | Sequence[int], operation: str) -> tuple[int, ...]:
    """Return a tuple of lengths. Raises BadValue if one is negative."""
    try:
        listed = shape if isinstance(shape, Iterable) else (shape,)
        lengths = tuple(operator.index(length) for length in listed)
    except TypeError:
        raise BadType(
            f"{operation}: shape {shape!r} is not an integer or a sequence of integers"
        ) from None
    if any(length < 0 for length in lengths):
        raise BadValue(f"{operation}: negative length in shape {lengths}")
    if len(lengths) > lib.GA_MAX_NDIM:
        raise BadValue(
            f"{operation}: {len(lengths)} dimensions; at most {lib.GA_MAX_NDIM} are "
            "offered"
        )
    return lengths


def spread(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the lengths of ``f(2, 3)``, ``f((2, 3))`` or ``f(None)``."""
    if len(arguments) == 1 and not hasattr(arguments[0], "__index__"):
        return () if arguments[0] is None else tuple(arguments[0])
    return arguments


def axis_number(axis: Any, ndim: int, operation: str) -> int:
    """Return an axis counted from the front. Raises BadIndex if it does not exist."""
    try:
        number = axis.__index__()
    except AttributeError:
        raise BadType(f"{operation}: axis {axis!r} is not an integer") from None
    if not -ndim <= number < ndim:
        raise BadIndex(
            f"{operation}: axis {number} is out of bounds for {ndim} dimensions"
        )
    return int(number) % ndim


def axes_numbers(axis: Any, ndim: int, operation: str) -> tuple[int, ...]:
    """Return axes counted from the front. Raises BadValue if one is given twice."""
    listed = axis if isinstance(axis, list | tuple) else (axis,)
    numbers = tuple(axis_number(number, ndim, operation) for number in listed)
    if len(set(numbers)) != len(numbers):
        raise BadValue(f"{operation}: an axis is given twice in {tuple(listed)}")
    return numbers
