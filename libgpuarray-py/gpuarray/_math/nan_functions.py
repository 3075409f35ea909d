"""Reductions and scans that ignore nan; of other dtypes they are the plain ones."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from gpuarray._core.base import BaseArray, on_host, require
from gpuarray._core.info import finfo
from gpuarray._kernels.monoids import Axis, as_mask, beginning
from gpuarray._math.statistics import divisor_of, spread
from gpuarray._ufunc import reduction, scanning
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.dtypes import as_dtype, kind_of, parts_dtype
from gpuarray.errors import BadType, BadValue
from gpuarray.scalars import SCALARS

choose, isnan = FUNCTIONS["where"], FUNCTIONS["isnan"]


def _has_nan(array: Any, operation: str) -> bool:
    return kind_of(require(array, operation).dtype) in "fc"


def _filled(array: Any, value: float, operation: str) -> Any:
    """Return the array with ``value`` in place of nan."""
    if not _has_nan(array, operation):
        return array
    return choose(isnan(array), value, array)


def _first(
    operation: str, array: Any, dtype: npt.DTypeLike | None, initial: Any
) -> Any:
    """Return ``initial`` as the reduction takes it, checked before any launch."""
    target = reduction.summed_dtype(require(array, operation), dtype)
    return beginning(operation, initial, target)


def _present(array: Any, where: Any, operation: str) -> Any:
    """Return the mask ``where`` without nan."""
    if not _has_nan(array, operation):
        return where
    is_number = FUNCTIONS["equal"](array, array)
    if where is True:
        return is_number
    return FUNCTIONS["logical_and"](is_number, as_mask(where, array, operation))


def nansum(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the sum over ``axis`` of the elements that are not nan; 0 if all are.

    It begins with ``initial``, and the mask ``where`` leaves elements out, as for
    ``sum``.

    >>> print(gpuarray.nansum(gpuarray.asarray([2.0, np.nan, 3.0])))
    5.0
    """
    first = _first("nansum", a, dtype, initial)
    how = axis, dtype, out, keepdims, first, where
    return reduction.sum(_filled(a, 0, "nansum"), *how)


def nanprod(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the product over ``axis`` of the elements that are not nan; 1 if all are.

    >>> print(gpuarray.nanprod(gpuarray.asarray([2.0, np.nan, 3.0])))
    6.0
    """
    first = _first("nanprod", a, dtype, initial)
    how = axis, dtype, out, keepdims, first, where
    return reduction.prod(_filled(a, 1, "nanprod"), *how)


def nancumsum(
    a: Any,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
) -> Any:
    """Return ``cumsum`` with nan as 0.

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
    """Return ``cumprod`` with nan as 1.

    >>> print(gpuarray.nancumprod(gpuarray.asarray([2.0, np.nan, 3.0])))
    [2. 2. 6.]
    """
    return scanning.cumprod(_filled(a, 1, "nancumprod"), axis, dtype, out)


def nanmax(
    a: Any,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the largest element over ``axis`` that is not nan; nan if all are.

    ``initial`` and ``where`` as for ``max``.

    >>> print(gpuarray.nanmax(gpuarray.asarray([2.0, np.nan, 3.0])))
    3.0
    """
    dtype = require(a, "nanmax").dtype
    how = axis, dtype, dtype, out, keepdims, initial, where
    return reduction.folded("nanmax", SCALARS["fmax"], a, *how)


def nanmin(
    a: Any,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the smallest element over ``axis`` that is not nan; nan if all are.

    >>> print(gpuarray.nanmin(gpuarray.asarray([2.0, np.nan, 3.0])))
    2.0
    """
    dtype = require(a, "nanmin").dtype
    how = axis, dtype, dtype, out, keepdims, initial, where
    return reduction.folded("nanmin", SCALARS["fmin"], a, *how)


def nanargmax(
    a: Any, axis: int | None = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Return ``argmax`` of elements that are not nan. Waits: BadValue if all are.

    >>> print(gpuarray.nanargmax(gpuarray.asarray([1.0, np.nan, 2.0])))
    2
    """
    return _position("nanargmax", reduction.argmax, -math.inf, a, axis, out, keepdims)


def nanargmin(
    a: Any, axis: int | None = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Return ``argmin`` of elements that are not nan. Waits: BadValue if all are.

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
    index = find(_filled(array, least, operation), axis, out, keepdims)
    if bool(reduction.any(reduction.all(isnan(array), axis))):
        raise BadValue(
            f"{operation}: a slice is all nan, expected a number in each; leave it out"
        )
    return index


def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """Return the mean over ``axis`` of the elements that are not nan; nan if all are.

    >>> print(gpuarray.nanmean(gpuarray.asarray([2.0, np.nan, 3.0])))
    2.5
    """
    present = _present(a, where, "nanmean")
    is_whole = dtype is not None and kind_of(as_dtype(dtype, "nanmean")) in "biu"
    if is_whole and kind_of(a.dtype) in "fc":
        raise BadType(f"nanmean: a mean of {a.dtype} is not stored as {dtype}")
    return reduction.mean(a, axis, dtype, out, keepdims, where=present)


def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return ``var`` of elements that are not nan; nan for at most ``ddof`` of them.

    >>> print(gpuarray.nanvar(gpuarray.asarray([2.0, np.nan, 4.0]), ddof=1))
    2.0
    """
    divisor = divisor_of("nanvar", ddof, correction, _least(a, "nanvar"))
    present = _present(a, where, "nanvar")
    return spread("nanvar", a, axis, dtype, out, keepdims, mean, divisor, present)


def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the square root of ``nanvar``.

    >>> print(gpuarray.nanstd(gpuarray.asarray([2.0, np.nan, 4.0])))
    1.0
    """
    divisor = divisor_of("nanstd", ddof, correction, _least(a, "nanstd"))
    present = _present(a, where, "nanstd")
    return spread("nanstd", a, axis, dtype, out, keepdims, mean, divisor, present)


def _least(array: Any, operation: str) -> float:
    """Return the divisor where no more elements than the correction are present."""
    return math.nan if _has_nan(array, operation) else 0.0


# ---- replacement of nan ----


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: Any = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Any:
    """The array with numbers for nan and the infinities: by default its extremes.

    The numbers may be arrays or lists that broadcast to it. With ``copy`` False the
    array itself is changed.

    >>> a = gpuarray.asarray([np.nan, 1.0, np.inf])
    >>> print(gpuarray.nan_to_num(a, posinf=9.0))
    [0. 1. 9.]
    >>> print(gpuarray.nan_to_num(a, nan=[7, 8, 9], posinf=[1, 2, 3]))
    [7. 1. 3.]
    """
    source = require(x, "nan_to_num")
    kind = kind_of(source.dtype)
    if kind not in "fc":
        return source.copy("K") if copy else source
    limits = finfo(source.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    instead, high, low = (_replacing(value, source) for value in (nan, high, low))
    result = source.copy("K") if copy else source
    for part in (result.real, result.imag) if kind == "c" else (result,):
        finite = choose(part == -math.inf, low, part)
        finite = choose(part == math.inf, high, finite)
        part[...] = choose(isnan(part), instead, finite)
    return result


def _replacing(value: Any, source: Any) -> Any:
    """Return a number, or numbers over ``source``, real ones; else raise BadType."""
    if not isinstance(value, BaseArray):
        host = on_host(value, "a replacement", "nan_to_num")
        if kind_of(host.dtype) not in "biuf":
            raise BadType(
                f"nan_to_num: got {value!r}, expected real numbers to put in place"
            )
        if host.ndim == 0:
            return float(host)
        value = source.from_host(host.astype(parts_dtype(source.dtype)), source.context)
    elif kind_of(value.dtype) == "c":
        raise BadType(f"nan_to_num: got {value.dtype}, expected real numbers")
    front = value.ndim - source.ndim  # axes of length 1 there are left out, as in NumPy
    if front > 0 and value.shape[:front] == (1,) * front:
        value = value.reshape(value.shape[front:])
    return value.broadcast_to(source.shape)
