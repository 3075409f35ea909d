"""Reductions and scans that leave nan out; of other dtypes they are the plain ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray import reduction, scanning
from gpuarray.base import BaseArray, require
from gpuarray.dtypes import kind_of
from gpuarray.elementwise import FUNCTIONS
from gpuarray.errors import BadType, BadValue
from gpuarray.info import finfo
from gpuarray.monoids import Axis, axes_mask, into
from gpuarray.statistics import chosen_correction, std, var

where, isnan = FUNCTIONS["where"], FUNCTIONS["isnan"]


def _has_nan(array: Any, operation: str) -> bool:
    return kind_of(require(array, operation).dtype) in "fc"


def _filled(array: Any, value: float, operation: str) -> Any:
    """The array with ``value`` in place of nan."""
    if not _has_nan(array, operation):
        return array
    return where(isnan(array), value, array)


def _numbers(array: Any, axis: Axis) -> Any:
    """How many elements over ``axis`` are not nan, the axes kept: int64."""
    present = FUNCTIONS["logical_not"](isnan(array))
    return reduction.sum(present, axis, keepdims=True)


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
) -> Any:
    """The sum over ``axis`` of what is not nan; 0 where nothing else is.

    >>> print(gpuarray.nansum(gpuarray.asarray([2.0, np.nan, 3.0])))
    5.0
    """
    return reduction.sum(_filled(a, 0, "nansum"), axis, dtype, out, keepdims)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
) -> Any:
    """The product over ``axis`` of what is not nan; 1 where nothing else is.

    >>> print(gpuarray.nanprod(gpuarray.asarray([2.0, np.nan, 3.0])))
    6.0
    """
    return reduction.prod(_filled(a, 1, "nanprod"), axis, dtype, out, keepdims)


def nancumsum(
    a: Any,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
) -> Any:
    """``cumsum`` with nan as 0.

    >>> print(gpuarray.nancumsum(gpuarray.asarray([2.0, np.nan, 3.0])))
    [2. 2. 5.]
    """
    return scanning.cumsum(_filled(a, 0, "nancumsum"), axis, dtype, out)


def nancumprod(
    a: Any,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
) -> Any:
    """``cumprod`` with nan as 1.

    >>> print(gpuarray.nancumprod(gpuarray.asarray([2.0, np.nan, 3.0])))
    [2. 2. 6.]
    """
    return scanning.cumprod(_filled(a, 1, "nancumprod"), axis, dtype, out)


def nanmax(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Any:
    """The largest element over ``axis`` that is not nan; nan where nothing else is.

    >>> print(gpuarray.nanmax(gpuarray.asarray([2.0, np.nan, 3.0])))
    3.0
    """
    return _extremum("nanmax", reduction.max, -math.inf, a, axis, out, keepdims)


def nanmin(a: Any, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Any:
    """The smallest element over ``axis`` that is not nan; nan where nothing else is.

    >>> print(gpuarray.nanmin(gpuarray.asarray([2.0, np.nan, 3.0])))
    2.0
    """
    return _extremum("nanmin", reduction.min, math.inf, a, axis, out, keepdims)


def _extremum(
    operation: str,
    reduce: Any,
    least: float,
    array: Any,
    axis: Axis,
    out: Any,
    keepdims: bool,
) -> Any:
    if not _has_nan(array, operation):
        return reduce(array, axis, out, keepdims)
    found = reduce(_filled(array, least, operation), axis, None, keepdims)
    empty = reduction.all(isnan(array), axis, None, keepdims)
    return into(out, where(empty, math.nan, found), operation)


def nanargmax(
    a: Any, axis: int | None = None, out: Any = None, keepdims: bool = False
) -> Any:
    """``argmax`` of what is not nan. Waits: BadValue where nothing else is.

    >>> print(gpuarray.nanargmax(gpuarray.asarray([1.0, np.nan, 2.0])))
    2
    """
    return _position("nanargmax", reduction.argmax, -math.inf, a, axis, out, keepdims)


def nanargmin(
    a: Any, axis: int | None = None, out: Any = None, keepdims: bool = False
) -> Any:
    """``argmin`` of what is not nan. Waits: BadValue where nothing else is.

    >>> print(gpuarray.nanargmin(gpuarray.asarray([np.nan, 3.0, 2.0])))
    2
    """
    return _position("nanargmin", reduction.argmin, math.inf, a, axis, out, keepdims)


def _position(
    operation: str,
    find: Any,
    least: float,
    array: Any,
    axis: int | None,
    out: Any,
    keepdims: bool,
) -> Any:
    if not _has_nan(array, operation):
        return find(array, axis, out, keepdims)
    found = find(_filled(array, least, operation), axis, out, keepdims)
    if bool(reduction.any(reduction.all(isnan(array), axis))):
        raise BadValue(f"{operation}: there are slices of nothing but nan")
    return found


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
) -> Any:
    """The mean over ``axis`` of what is not nan; nan where nothing else is.

    >>> print(gpuarray.nanmean(gpuarray.asarray([2.0, np.nan, 3.0])))
    2.5
    """
    if not _has_nan(a, "nanmean"):
        return reduction.mean(a, axis, dtype, out, keepdims)
    total = reduction.sum(_filled(a, 0, "nanmean"), axis, dtype, None, True)
    quotient = total / _numbers(a, axis).astype(total.dtype)
    result = _finished(quotient.astype(total.dtype, copy=False), a, axis, keepdims)
    return into(out, result, "nanmean")


def _finished(result: Any, array: Any, axis: Axis, keepdims: bool) -> Any:
    """The result, of length 1 along the axes of ``array`` that were reduced."""
    if keepdims:
        return result
    mask = axes_mask(axis, array.ndim, "axis")
    return result.reshape(
        tuple(n for i, n in enumerate(array.shape) if not mask >> i & 1)
    )


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """``var`` of what is not nan; nan where fewer elements than ``ddof`` are left.

    >>> print(gpuarray.nanvar(gpuarray.asarray([2.0, np.nan, 4.0]), ddof=1))
    2.0
    """
    if not _has_nan(a, "nanvar"):
        return var(
            a, axis, dtype, out, ddof, keepdims, mean=mean, correction=correction
        )
    less = chosen_correction("nanvar", ddof, correction)
    centre = nanmean(a, axis, dtype, keepdims=True) if mean is None else mean
    away = where(isnan(a), 0, a - centre)
    squares = away * away
    if away.dtype.kind == "c":
        squares = away.real * away.real + away.imag * away.imag
    total = reduction.sum(squares, axis, None, None, True)
    free = _numbers(a, axis).astype(total.dtype) - less
    result = where(free > 0, total / free, math.nan).astype(total.dtype, copy=False)
    return into(out, _finished(result, a, axis, keepdims), "nanvar")


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """The square root of ``nanvar``.

    >>> print(gpuarray.nanstd(gpuarray.asarray([2.0, np.nan, 4.0])))
    1.0
    """
    if not _has_nan(a, "nanstd"):
        return std(
            a, axis, dtype, out, ddof, keepdims, mean=mean, correction=correction
        )
    options = {"mean": mean, "correction": correction}
    spread = nanvar(a, axis, dtype, None, ddof, keepdims, **options)
    return into(out, FUNCTIONS["sqrt"](spread), "nanstd")


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Any:
    """The array with numbers for nan and the infinities: by default its extremes.

    With ``copy`` False the array itself is changed.

    >>> a = gpuarray.asarray([np.nan, 1.0, np.inf])
    >>> print(gpuarray.nan_to_num(a, posinf=9.0))
    [0. 1. 9.]
    """
    source = require(x, "nan_to_num")
    for number in (nan, posinf, neginf):
        if not isinstance(number, int | float | np.number | BaseArray | None):
            raise BadType(f"nan_to_num: got {number!r} for what is no number")
    kind = kind_of(source.dtype)
    if kind not in "fc":
        return source.copy("K") if copy else source
    result = source.copy("K") if copy else source
    for part in (result.real, result.imag) if kind == "c" else (result,):
        limits = finfo(part.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        part[...] = where(
            isnan(part),
            nan,
            where(part == math.inf, high, where(part == -math.inf, low, part)),
        )
    return result
