"""Checks of shape, axis and order arguments."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np

from gpuarray._native import lib
from gpuarray.errors import BadIndex, BadType, BadValue, TooLarge

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


def as_integer(value: Any, name: str, operation: str) -> int:
    """Return an argument that is an integer. Raises BadType for others."""
    try:
        return operator.index(value)
    except TypeError:
        raise BadType(
            f"{operation}: {name} is {value!r:.60}, expected an integer"
        ) from None


def as_flag(value: Any, name: str, operation: str) -> bool:
    """Return an argument that is True or False. Raises BadType for others."""
    if isinstance(value, bool | np.bool_ | int):
        return bool(value)
    raise BadType(f"{operation}: {name} is {value!r:.60}, expected True or False")


def as_real(value: Any, name: str, operation: str) -> float:
    """Return an argument that is a real number. Raises BadType for others."""
    if not isinstance(value, str | bytes):
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise BadType(f"{operation}: {name} is {value!r:.60}, expected a real number")


def as_list(values: Any, name: str, operation: str) -> list[Any]:
    """Return the items of an argument that is a sequence. Raises BadType for others."""
    try:
        return list(values)
    except TypeError:
        raise BadType(
            f"{operation}: {name} is {values!r:.60}, expected a sequence"
        ) from None


def require_callable(function: Any, name: str, operation: str) -> None:
    """Raise BadType unless an argument can be called."""
    if not callable(function):
        raise BadType(f"{operation}: {name} is {function!r:.60}, expected a function")


def require_file(file: Any, operation: str) -> None:
    """Raise BadType unless an argument is a path or an open file."""
    if not isinstance(file, str | os.PathLike) and not hasattr(file, "read"):
        raise BadType(
            f"{operation}: file is {file!r:.60}, expected a path or an open file"
        )


def _is_integer(value: Any) -> bool:
    """Return True for an integer and for an array of one without axes."""
    return hasattr(value, "__index__") and not getattr(value, "ndim", 0)


def as_shape(shape: int | Sequence[int], operation: str) -> tuple[int, ...]:
    """Return a tuple of lengths. Raises BadValue if one is negative."""
    try:
        listed: Any = (shape,) if _is_integer(shape) else shape
        lengths = tuple(operator.index(length) for length in listed)
    except TypeError:
        raise BadType(
            f"{operation}: shape {shape!r} is not an integer or a sequence of integers"
        ) from None
    if any(length < 0 for length in lengths):
        raise BadValue(f"{operation}: negative length in shape {lengths}")
    if any(length > sys.maxsize for length in lengths):
        raise TooLarge(
            f"{operation}: length {max(lengths)} in the shape, expected at most "
            f"{sys.maxsize}"
        )
    if len(lengths) > lib.GA_MAX_NDIM:
        raise BadValue(
            f"{operation}: {len(lengths)} dimensions; at most {lib.GA_MAX_NDIM} are "
            "offered"
        )
    return lengths


def spread(arguments: tuple[Any, ...], name: str, operation: str) -> tuple[Any, ...]:
    """Return the integers of ``f(2, 3)``, ``f((2, 3))`` or ``f(None)``."""
    if len(arguments) == 1 and not _is_integer(arguments[0]):
        (given,) = arguments
        return () if given is None else tuple(as_list(given, name, operation))
    return arguments


def axis_number(axis: Any, ndim: int, operation: str) -> int:
    """Return an axis counted from the front. Raises BadIndex if it does not exist."""
    try:
        number = axis.__index__()
    except (AttributeError, TypeError):
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
