"""Reductions over any axes, made from the rows of the table that have an identity.

Each is one pass over the array: an epilogue (a mean's division) is computed as the
value is stored, and ``argmax`` reduces pairs of a value and its position.

The dtype of a result is NumPy's. float16 and bfloat16 are accumulated in float32. The
same input on the same device gives the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import axes_numbers
from gpuarray._core.base import BaseArray, require
from gpuarray._core.context import Context
from gpuarray._kernels.codegen import convert, scalar_expression
from gpuarray._kernels.monoids import (
    COUNT,
    Accumulator,
    Axis,
    Reduction,
    apply_reduction,
    axes_mask,
    counted,
    into,
    make_reduction,
    needs_elements as needs_elements,
    reduce_monoid,
    with_mask,
)
from gpuarray._native import check, ffi, lib
from gpuarray.dtypes import (
    as_dtype,
    kind_of,
    parts_dtype,
    warn_of_lost_parts,
    work_ctype,
    work_dtype,
)
from gpuarray.errors import BadType
from gpuarray.scalars import SCALARS, Scalar

DType = np.dtype[Any]
_BOOL = np.dtype(bool)


def _reduce(
    operation: str,
    row: Scalar,
    array: BaseArray,
    axis: Axis,
    keepdims: bool,
    accumulator: DType,
    out: DType | None = None,
    epilogue: str | None = None,
    where: Any = True,
) -> Any:
    """Reduce ``array``, converted to ``accumulator``, with ``row``.

    With a mask the ``epilogue`` sees the number of its elements as ``COUNT`` says.
    """
    context, out = array._context, accumulator if out is None else out
    key = operation, row.name, array._typecode, accumulator, out, epilogue
    reduction = context._kernels.get(key)
    if reduction is None:
        work = work_dtype(accumulator)
        text = convert("x", array._dtype, work)
        inputs, parts = [("x", array._dtype)], [Accumulator(row, text, work)]
        if where is not True:
            inputs, parts = counted(inputs, parts)
        reduction = make_reduction(context, operation, inputs, parts, out, epilogue)
        context._kernels[key] = reduction
    mask = axes_mask(axis, array.ndim, operation)
    arrays = with_mask((array,), where, operation)
    return apply_reduction(reduction, arrays, mask, keepdims, operation)


def folded(
    operation: str,
    row: Scalar,
    array: BaseArray,
    axis: Axis,
    accumulator: DType,
    dtype: DType,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    """Return the reduction with a row, of all elements or those of a mask."""
    if where is True and initial is None:
        result = _reduce(operation, row, array, axis, keepdims, accumulator, dtype)
    else:
        how = axis, dtype, keepdims, initial, where
        result = reduce_monoid(operation, row, array, *how)
    return result if out is None else into(out, result, operation)


def summed_dtype(array: BaseArray, dtype: npt.DTypeLike | None) -> DType:
    """Return NumPy's dtype of a sum: small integers and bools grow to 64 bits."""
    if dtype is not None:
        target = as_dtype(dtype, "reduction")
        warn_of_lost_parts(array._dtype, target)
        return target
    kind = array._dtype.kind
    if kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind == "u" else array._dtype


def mean_dtype(operation: str, array: BaseArray, dtype: npt.DTypeLike | None) -> DType:
    """Return the dtype of a variance: ``dtype``, of integers else float64."""
    if dtype is None:
        is_exact = kind_of(array._dtype) in "biu"
        return np.dtype(np.float64) if is_exact else array._dtype
    target = as_dtype(dtype, operation)
    if kind_of(target) in "biu":
        raise BadType(
            f"{operation}: dtype {target} does not hold a mean; expected a float or a "
            "complex dtype"
        )
    return target


def _fitting_dtype(array: BaseArray, axis: Axis, result: DType) -> DType:
    """The dtype to sum in: 32 bits if sums of small integers cannot exceed them."""
    dtype = array._dtype
    if dtype.kind not in "biu" or dtype.itemsize > 2 or result.itemsize != 8:
        return result
    mask, count = axes_mask(axis, array.ndim, "sum"), 1
    for i, length in enumerate(array.shape):
        count *= length if mask >> i & 1 else 1
    largest = 1 if dtype.kind == "b" else 1 << 8 * dtype.itemsize
    is_exact = result.kind in "iu" and count * largest < 1 << 31
    return np.dtype(np.int32) if is_exact else result


def sum(
    array: BaseArray,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the sum over ``axis`` (None: all), in ``dtype`` or NumPy's choice of it.

    It begins with ``initial``, if given; the mask ``where`` leaves elements out, in
    ``prod``, ``max``, ``min``, ``any`` and ``all`` too. ``out`` takes the result.
    ``dtype`` is by default 64 bits wide for smaller integers and bools; float16 and
    bfloat16 are summed up in float32. 0 of no elements.

    >>> a = gpuarray.asarray([[1, 2], [3, 4]])
    >>> print(gpuarray.sum(a), a.sum(axis=0))
    10 [4 6]
    >>> gpuarray.sum(a, axis=2)
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadIndex: sum: axis 2 is out of bounds for 2 dimensions
    """
    require(array, "sum")
    result = summed_dtype(array, dtype)
    accumulator = _fitting_dtype(array, axis, result)
    how = axis, accumulator, result, out, keepdims, initial, where
    return folded("sum", SCALARS["add"], array, *how)


def prod(
    array: BaseArray,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the product over ``axis``, in ``dtype`` or NumPy's choice of it.

    As ``sum``; 1 of no elements.

    >>> print(gpuarray.prod(gpuarray.asarray([2, 3, 4])))
    24
    """
    require(array, "prod")
    result = summed_dtype(array, dtype)
    how = axis, result, result, out, keepdims, initial, where
    return folded("prod", SCALARS["mul"], array, *how)


def mean(
    array: BaseArray,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """Return the mean over ``axis``, of the elements of the mask ``where``.

    Of integers it is float64, and the sum of those of 32 bits or less is exact; of
    float16 it is computed in float32. nan of no elements. With an integer ``dtype`` it
    is the sum in it, divided and rounded towards 0; 0 of no elements.

    >>> a = gpuarray.asarray([[1, 5], [7, 3]])
    >>> print(gpuarray.mean(a, axis=0))
    [4. 4.]
    >>> print(gpuarray.mean(a, where=a > 1))
    5.0
    """
    source = require(array, "mean")
    if axis is not None:
        axes_numbers(axis, source.ndim, "mean")  # NumPy's has no axis of 0-d arrays
    if dtype is not None and as_dtype(dtype, "mean").kind in "iu":
        average = _whole_mean(source, axis, as_dtype(dtype, "mean"), keepdims, where)
        return average if out is None else into(out, average, "mean")
    result = mean_dtype("mean", source, dtype)
    work = work_dtype(result)
    count = f"({work_ctype(parts_dtype(work))}){COUNT[where is not True]}"
    quotient = f"ga_complex(v.x / {count}, v.y / {count})"
    text = quotient if work.kind == "c" else f"v / {count}"
    if kind_of(array._dtype) in "biu" and array.itemsize <= 4 and result == np.float64:
        work = _fitting_dtype(array, axis, summed_dtype(array, None))
    how = axis, keepdims, work, result, text, where
    average = _reduce("mean", SCALARS["add"], array, *how)
    return average if out is None else into(out, average, "mean")


def _whole_mean(
    array: BaseArray, axis: Axis, dtype: DType, keepdims: bool, where: Any
) -> Any:
    """Return the mean as an integer."""
    count = f"({work_ctype(dtype)}){COUNT[where is not True]}"
    text = f"{count} == 0 ? 0 : v / {count}"
    return _reduce(
        "mean", SCALARS["add"], array, axis, keepdims, dtype, dtype, text, where
    )


def max(
    array: BaseArray,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the largest element over ``axis``; nan if there is one.

    Over one axis, several or all (None). Raises BadValue for no elements, BadIndex for
    an axis that does not exist.

    >>> print(gpuarray.max(gpuarray.asarray([[1, 5], [7, 3]]), axis=0))
    [7 5]
    >>> gpuarray.max(gpuarray.zeros(0))
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadValue: max(float64[0]) on ...
    """
    dtype = require(array, "max")._dtype
    how = axis, dtype, dtype, out, keepdims, initial, where
    return folded("max", SCALARS["maximum"], array, *how)


def min(
    array: BaseArray,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """Return the smallest element over ``axis``; nan if there is one.

    As ``max``: raises BadValue for no elements.

    >>> print(gpuarray.min(gpuarray.asarray([[1, 5], [7, 3]]), axis=0))
    [1 3]
    """
    dtype = require(array, "min")._dtype
    how = axis, dtype, dtype, out, keepdims, initial, where
    return folded("min", SCALARS["minimum"], array, *how)


amax, amin = max, min  # NumPy's other names


def any(
    array: BaseArray,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """Return True if an element over ``axis`` is not zero; False for no elements.

    >>> print(gpuarray.any(gpuarray.asarray([[1, 0], [0, 0]]), axis=1))
    [ True False]
    """
    require(array, "any")
    how = axis, _BOOL, _BOOL, out, keepdims, None, where
    return folded("any", SCALARS["logical_or"], array, *how)


def all(
    array: BaseArray,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """Return True if every element over ``axis`` is not zero; True for no elements.

    >>> print(gpuarray.all(gpuarray.asarray([[1, 0], [2, 3]]), axis=1))
    [False  True]
    """
    require(array, "all")
    how = axis, _BOOL, _BOOL, out, keepdims, None, where
    return folded("all", SCALARS["logical_and"], array, *how)


# ---- positions ----


def extremum_kernel(
    context: Context, typecode: int, smallest: bool, which: int, operation: str
) -> Any:
    """Return the context's ``GpuReduction *`` of extrema or of their positions.

    ``which`` is one of the library's ``GA_EXTREMUM_`` numbers.
    """
    key = "extremum", typecode, smallest, which
    kernel = context._kernels.get(key)
    if kernel is None:
        status = ffi.new("int *")
        handle = lib.GpuReduction_extremum(
            context.pointer, typecode, int(smallest), which, status
        )
        if not handle:
            check(status[0], operation)
        kernel = context._kernels[key] = ffi.gc(handle, lib.GpuReduction_free)
    return kernel


def _position(
    operation: str, array: BaseArray, axis: int | None, keepdims: bool, smallest: bool
) -> Any:
    """Return the first index of the extremum over an axis, or in the flat array."""
    if not isinstance(axis, int | np.integer | None) or isinstance(axis, bool):
        raise BadType(f"{operation}: axis {axis!r}, expected an integer or None")
    kind = array._typecode, smallest, lib.GA_EXTREMUM_POSITION
    kernel = extremum_kernel(array._context, *kind, operation)
    reduction = Reduction(kernel, np.dtype(np.int64), lib.GA_LONG)
    mask = axes_mask(axis, array.ndim, operation)
    return apply_reduction(reduction, (array,), mask, keepdims, operation)


def argmax(
    array: BaseArray, axis: int | None = None, out: Any = None, keepdims: bool = False
) -> Any:
    """The index of the first of the largest elements along ``axis``; nan is largest.

    None: in the raveled array. int64.

    >>> print(gpuarray.argmax(gpuarray.asarray([[1, 5], [7, 3]]), axis=1))
    [1 0]
    """
    require(array, "argmax")
    indices = _position("argmax", array, axis, keepdims, False)
    return indices if out is None else into(out, indices, "argmax")


def argmin(
    array: BaseArray, axis: int | None = None, out: Any = None, keepdims: bool = False
) -> Any:
    """The index of the first of the smallest elements along ``axis``; nan is smallest.

    None: in the raveled array. int64.

    >>> print(gpuarray.argmin(gpuarray.asarray([[1, 5], [7, 3]])))
    0
    """
    require(array, "argmin")
    indices = _position("argmin", array, axis, keepdims, True)
    return indices if out is None else into(out, indices, "argmin")


def ptp(
    array: BaseArray, axis: Axis = None, out: Any = None, keepdims: bool = False
) -> Any:
    """Return the largest minus the smallest element over ``axis``, in one pass.

    As ``max``: raises BadValue for no elements.

    >>> print(gpuarray.ptp(gpuarray.asarray([2, 9, 4])))
    7
    """
    require(array, "ptp")
    context, dtype = array._context, array._dtype
    if dtype.kind == "b":
        raise BadType("ptp: bool has no difference; convert it: x.astype('int8')")
    key = "ptp", array._typecode
    reduction = context._kernels.get(key)
    if reduction is None:
        work = work_dtype(dtype)
        rows = SCALARS["maximum"], SCALARS["minimum"]
        parts = [Accumulator(row, "x", work) for row in rows]
        minus = scalar_expression(SCALARS["sub"], [("v0", work), ("v1", work)])
        inputs = [("x", dtype)]
        reduction = make_reduction(context, "ptp", inputs, parts, dtype, minus.text)
        context._kernels[key] = reduction
    mask = axes_mask(axis, array.ndim, "ptp")
    difference = apply_reduction(reduction, (array,), mask, keepdims, "ptp")
    return difference if out is None else into(out, difference, "ptp")
