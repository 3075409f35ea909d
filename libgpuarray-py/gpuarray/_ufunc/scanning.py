"""Scans: cumulative sums, products, maxima and minima along an axis.

The dtype of a result is NumPy's. float16 is combined in float32. The same input on the
same device gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import BaseArray, require
from gpuarray._kernels.codegen import convert, identity_text, scalar_expression
from gpuarray._native import check, ffi, lib, sized
from gpuarray._ufunc.reduction import summed_dtype
from gpuarray.dtypes import as_dtype, dtype_to_typecode, work_dtype
from gpuarray.errors import BadType
from gpuarray.scalars import Scalar

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
    if axis is None or array.ndim == 0:
        array, axis = array.reshape(-1), 0 if axis is None else axis
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


def _summed(operation: str, array: BaseArray, dtype: npt.DTypeLike | None) -> DType:
    return summed_dtype(array, None) if dtype is None else as_dtype(dtype, operation)


def cumsum(
    array: BaseArray,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: BaseArray | None = None,
    *,
    reverse: bool = False,
    exclusive: bool = False,
) -> Any:
    """Return the sums of the elements up to each one along ``axis`` (None: raveled).

    Summed in ``dtype``, or NumPy's choice of it. ``reverse`` sums from the end;
    ``exclusive`` leaves an element out of its own sum.

    >>> a = gpuarray.asarray([1, 2, 3])
    >>> print(gpuarray.cumsum(a), gpuarray.cumsum(a, exclusive=True))
    [1 3 6] [0 1 3]
    """
    source = require(array, "cumsum")
    summed = _summed("cumsum", source, dtype)
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
    """Return the products of the elements up to each one along ``axis``, as ``cumsum``.

    >>> print(gpuarray.cumprod(gpuarray.asarray([2, 3, 4])))
    [ 2  6 24]
    """
    source = require(array, "cumprod")
    summed = _summed("cumprod", source, dtype)
    function = lib.GpuArray_cumprod
    return _scan("cumprod", function, array, axis, summed, out, reverse, exclusive)


def cummax(
    array: BaseArray,
    axis: int | None = None,
    out: BaseArray | None = None,
    *,
    reverse: bool = False,
) -> Any:
    """The largest element up to each one along ``axis``; nan from the first nan on.

    >>> print(gpuarray.cummax(gpuarray.asarray([1, 3, 2, 5])))
    [1 3 3 5]
    """
    dtype, function = require(array, "cummax").dtype, lib.GpuArray_cummax
    return _scan("cummax", function, array, axis, dtype, out, reverse, False)


def cummin(
    array: BaseArray,
    axis: int | None = None,
    out: BaseArray | None = None,
    *,
    reverse: bool = False,
) -> Any:
    """The smallest element up to each one along ``axis``; nan from the first nan on.

    >>> print(gpuarray.cummin(gpuarray.asarray([3, 1, 2]), reverse=True))
    [1 1 2]
    """
    dtype, function = require(array, "cummin").dtype, lib.GpuArray_cummin
    return _scan("cummin", function, array, axis, dtype, out, reverse, False)


# ---- any associative row ----


def scan(row: Scalar, array: BaseArray, axis: int, dtype: DType) -> Any:
    """Return the scan along ``axis`` with ``row``, computed in ``dtype``."""
    context = array._context
    key = "scan", row.name, array._typecode, dtype
    handle = context._kernels.get(key)
    if handle is None:
        handle = context._kernels[key] = _new_scan(row, array, dtype)
    out = array.allocate(array.shape, dtype, context, operation=row.name)
    check(
        lib.GpuScan_call(handle, out._struct, array._struct, axis, 0),
        f"{row.name}.accumulate of an array of {array.shape}",
    )
    return out


def _new_scan(row: Scalar, array: BaseArray, dtype: DType) -> Any:
    work = work_dtype(dtype)
    combine = scalar_expression(row, [("a", work), ("b", work)])
    parts = combine.support, convert("x", array._dtype, work), combine.text
    texts = [ffi.new("char[]", t.encode()) for t in (*parts, identity_text(row, work))]
    name = ffi.new("char[]", b"x")
    spec = sized("gpuscan_spec")
    spec.preamble, spec.map, spec.combine, spec.identity = texts
    spec.acc_typecode = dtype_to_typecode(work)
    spec.out_typecode = dtype_to_typecode(dtype)
    spec.input.name, spec.input.typecode = name, array._typecode
    spec.input.flags = lib.GE_READ
    status = ffi.new("int *")
    handle = lib.GpuScan_new(array._context.pointer, spec, status)
    if not handle:
        check(status[0], f"{row.name}.accumulate")
    return ffi.gc(handle, lib.GpuScan_free)
