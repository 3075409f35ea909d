"""Running sums, products, maxima and minima along an axis.

The dtype of a result is NumPy's. float16 is combined in float32. The same input on the
same device gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._native import check, lib
from gpuarray.base import BaseArray, axis_number
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType
from gpuarray.reduction import _summed_dtype

DType = np.dtype[Any]


def _scan(
    operation: str,
    function: Callable[..., int],
    array: BaseArray,
    axis: int | None,
    dtype: DType,
    out: BaseArray | None,
    reverse: bool,
    exclusive: bool,
) -> Any:
    """Run a scan into ``out``, or a new array of ``dtype``; None: of all elements."""
    if axis is None:
        array, axis = array.reshape(-1), 0
    at = axis_number(axis, array.ndim, operation)
    if out is None:
        out = array.allocate(array.shape, dtype, array.context, operation=operation)
    elif not isinstance(out, BaseArray):
        raise BadType(
            f"{operation}: out is {type(out).__name__}, expected a gpuarray array"
        )
    flags = (lib.GA_SCAN_REVERSE if reverse else 0) | (
        lib.GA_SCAN_EXCLUSIVE if exclusive else 0
    )
    check(function(out.struct, array.struct, at, flags), f"array of {array.shape}")
    return out


def _chosen(
    dtype: npt.DTypeLike | None, out: BaseArray | None, otherwise: DType, name: str
) -> DType:
    if dtype is not None:
        return as_dtype(dtype, name)
    return otherwise if out is None else out.dtype


def cumsum(
    array: BaseArray,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: BaseArray | None = None,
    *,
    reverse: bool = False,
    exclusive: bool = False,
) -> Any:
    """The sums of the elements up to each one along ``axis`` (None: of all of them).

    Summed in ``dtype``, or NumPy's choice of it. ``reverse`` sums from the end;
    ``exclusive`` leaves an element out of its own sum.
    """
    summed = _chosen(dtype, out, _summed_dtype(array, None), "cumsum")
    function = lib.GpuArray_cumsum
    return _scan("cumsum", function, array, axis, summed, out, reverse, exclusive)


def cumprod(
    array: BaseArray,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: BaseArray | None = None,
    *,
    reverse: bool = False,
    exclusive: bool = False,
) -> Any:
    """The products of the elements up to each one along ``axis``, as ``cumsum``."""
    chosen = _chosen(dtype, out, _summed_dtype(array, None), "cumprod")
    function = lib.GpuArray_cumprod
    return _scan("cumprod", function, array, axis, chosen, out, reverse, exclusive)


def cummax(
    array: BaseArray,
    axis: int | None = None,
    out: BaseArray | None = None,
    *,
    reverse: bool = False,
) -> Any:
    """The largest element up to each one along ``axis``; nan from the first nan on."""
    function = lib.GpuArray_cummax
    return _scan("cummax", function, array, axis, array.dtype, out, reverse, False)


def cummin(
    array: BaseArray,
    axis: int | None = None,
    out: BaseArray | None = None,
    *,
    reverse: bool = False,
) -> Any:
    """The smallest element up to each one along ``axis``; nan from the first nan on."""
    function = lib.GpuArray_cummin
    return _scan("cummin", function, array, axis, array.dtype, out, reverse, False)
