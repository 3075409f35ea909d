"""Conversion and checks of a compiled function's arguments.

Compiled functions and those loaded from files share them. ``kind`` is the input's type
as messages name it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuarray.dtypes import kind_of, result_type
from gpuarray.errors import BadType, BadValue, ContextClosed

if TYPE_CHECKING:
    from gpuarray._core.context import Context
    from gpuarray.array import Array


def fitted(
    value: Any,
    dtype: np.dtype[Any],
    broadcastable: Sequence[bool],
    kind: object,
    downcast: bool | None = None,
    rounds: bool = False,
) -> np.ndarray[Any, Any]:
    """Return a value as a NumPy array of this dtype, itself if it is one; else BadType.

    Values widen silently, and narrow only where nothing is lost from a Python number or
    list, where a Python float ``rounds``, or where ``downcast`` is true.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise BadType(
            f"given a {type(value).__name__} that is no array ({error}), expected "
            f"{kind}"
        ) from None
    if kind_of(array.dtype) not in "biufc":
        raise BadType(
            f"given {type(value).__name__} of dtype {array.dtype}, expected {kind}"
        )
    check_shape(
        lambda: f"an array of {array.dtype}, shape {array.shape},",
        array.shape,
        broadcastable,
        kind,
    )
    if array.dtype == dtype:
        return array if array.dtype.isnative else array.astype(dtype)
    narrow = converted(array, dtype)
    if downcast or result_type(array.dtype, dtype) == dtype:
        return narrow
    is_plain = not hasattr(value, "dtype")
    is_rounded = rounds and type(value) is float and downcast is None
    if is_plain and (is_rounded or np.array_equal(narrow, array)):
        return narrow
    call = "numpy.asarray(value, {})" if is_plain else ".astype({})"
    raise BadType(
        f"given {type(value).__name__} of dtype {array.dtype}, expected {kind}: "
        f"{array.dtype} does not fit {dtype.name}; convert it with "
        f"{call.format(repr(dtype.name))}, or allow it with "
        "allow_input_downcast=True (allow_downcast of shared and In)"
    )


def converted(array: np.ndarray[Any, Any], to: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the array cast to another dtype, silently.

    A complex number becomes its real part, and a bool is whether a number is not 0.
    """
    keeps_parts = kind_of(array.dtype) != "c" or kind_of(to) in "cb"
    real = array if keeps_parts else array.real
    with np.errstate(all="ignore"):
        result: np.ndarray[Any, Any] = real.astype(to)
    return result


def check_shape(
    describe: Callable[[], str],
    shape: tuple[int, ...],
    broadcastable: Sequence[bool],
    kind: object,
) -> None:
    """Raise BadType for another rank, or a broadcastable axis not of length 1."""
    if len(shape) != len(broadcastable):
        raise BadType(
            f"{describe()} has {len(shape)} axes, expected {len(broadcastable)}: {kind}"
        )
    for axis, (length, flag) in enumerate(zip(shape, broadcastable, strict=True)):
        if flag and length != 1:
            raise BadType(
                f"{describe()} has length {length} on axis {axis}, expected 1: {kind} "
                "broadcasts this axis"
            )


def has_dtype(value: Any, dtype: np.dtype[Any]) -> bool:
    """True if a value is an array, or a number of NumPy's, of this dtype."""
    return hasattr(value, "dtype") and value.dtype == dtype


def check_strict(value: Any, dtype: np.dtype[Any]) -> None:
    """Raise BadType unless the value is an array, or NumPy's number, of this dtype."""
    if not has_dtype(value, dtype):
        raise BadType(
            f"given a {type(value).__name__}, expected an array of {dtype.name}: the "
            "input is strict"
        )


def check_array(
    array: Array | np.ndarray[Any, Any],
    context: Context,
    dtype: np.dtype[Any],
    broadcastable: Sequence[bool],
    kind: object,
) -> None:
    """Raise BadType, BadValue or ContextClosed for an array that does not fit.

    A NumPy array has no context to check.
    """
    place = getattr(array, "context", context)
    if place is not context:
        move = f"gpuarray.asarray(numpy.asarray(x), context={context.name!r})"
        if place.closed:
            raise ContextClosed(
                f"the array's context {place.name!r} is closed; move the array with "
                f"{move}"
            )
        raise BadValue(
            f"the array lives on {place.name}, the function on {context.name}; move "
            f"it with {move}"
        )
    if array.dtype != dtype or array.ndim != len(broadcastable):
        raise BadType(
            f"given {array.dtype} of {array.ndim} axes, expected {kind}; convert "
            f"it with .astype({dtype.name!r}) or .reshape(...)"
        )
    check_shape(
        lambda: f"an array of {array.dtype}, shape {array.shape},",
        array.shape,
        broadcastable,
        kind,
    )
