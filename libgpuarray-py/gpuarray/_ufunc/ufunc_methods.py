"""``reduce``, ``accumulate``, ``reduceat`` and ``at`` with any row of two operands.

Associative rows are reduced and scanned by the library, in parallel. The others are
folded from the left, as NumPy does, by one thread for each result; so are slices and
the values of one index of ``at``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import BaseArray, require, require_all
from gpuarray._core.context import Context
from gpuarray._indexing.advanced_indexing import INT64, take_at
from gpuarray._indexing.indexing import assign, get
from gpuarray._kernels.apply import ROUNDED
from gpuarray._kernels.codegen import (
    convert,
    digest,
    resolve,
    scalar_expression,
)
from gpuarray._kernels.kernel import GpuKernel
from gpuarray._kernels.monoids import Axis, into, reduce_monoid
from gpuarray._kernels.numbers import number_operand
from gpuarray._kernels.texts import kernel_text
from gpuarray._native import check, lib
from gpuarray._sorting.sorting import argsort
from gpuarray._ufunc.scanning import scan
from gpuarray.dtypes import (
    OFFSET,
    as_dtype,
    as_numpy_knows,
    can_cast,
    dtype_to_ctype,
    result_type,
    work_dtype,
)
from gpuarray.errors import BadIndex, BadType, BadValue, ReadOnly
from gpuarray.scalars import Scalar

DType = np.dtype[Any]


# ---- dtypes ----


@cache
def _numpy_dtype(row: Scalar, array: DType, dtype: DType | None) -> DType:
    """Return the dtype in which NumPy folds an array."""
    ufunc = row.ufunc
    if ufunc is None:
        raise BadType(f"{row.name}: only NumPy's functions of two operands are folded")
    (known, *target), back = as_numpy_knows(
        (array,) if dtype is None else (array, dtype)
    )
    try:
        folded = ufunc.reduce(np.ones(2, known), dtype=(*target, None)[0]).dtype
    except TypeError as error:
        raise BadType(f"{row.name}: {array} is not folded: {error}") from None
    return as_dtype(back.get(folded, folded), row.name)


def _fold_dtype(row: Scalar, array: BaseArray, dtype: Any, out: Any) -> DType:
    if dtype is not None:
        return _numpy_dtype(row, array._dtype, as_dtype(dtype, row.name))
    if out is None:
        return _numpy_dtype(row, array._dtype, None)
    return resolve(row, (out._dtype, array._dtype)).result


def _output(row: Scalar, out: Any) -> Any:
    """Return the output of a tuple of one; BadType unless it is an array."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    return None if out is None else require(out, row.name)


# ---- reduce ----


def reduce(
    row: Scalar,
    array: Any,
    axis: Axis,
    dtype: Any,
    out: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    """``numpy.<row>.reduce``."""
    operation = f"{row.name}.reduce"
    source, out = _stacked(array, operation), _output(row, out)
    if source.ndim == 0 and axis in (0, -1):
        axis = None
    fold_dtype = _fold_dtype(row, source, dtype, out)
    identity = getattr(row.reference, "identity", None)
    if where is not True and identity is None and initial is None:
        raise BadValue(
            f"{operation}: it has no identity, so with a mask give initial= as well"
        )
    if row.associates:
        result = reduce_monoid(
            operation, row, source, axis, fold_dtype, keepdims, initial, where
        )
    else:
        result = _left(row, source, axis, fold_dtype, keepdims, initial, where)
    return into(out, result, operation)


def _stacked(array: Any, operation: str) -> Any:
    """Return the array; arrays in a list or tuple as one, along a new first axis."""
    is_list = isinstance(array, list | tuple) and len(array) > 0
    if not is_list or not all(isinstance(part, BaseArray) for part in array):
        return require(array, operation)
    parts = require_all(operation, *array)
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        raise BadValue(
            f"{operation}: the arrays have shapes {', '.join(map(str, shapes))}, "
            "expected one shape"
        )
    dtype = result_type(*(part.dtype for part in parts))
    shape = len(parts), *parts[0].shape
    stacked = parts[0].allocate(shape, dtype, parts[0].context, operation=operation)
    for place, part in enumerate(parts):
        assign(stacked, place, part)
    return stacked


# ---- folds from the left ----


def _left(
    row: Scalar,
    array: BaseArray,
    axis: Axis,
    dtype: DType,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    """Return a fold over one axis, element by element."""
    operation = f"{row.name}.reduce"
    listed = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    if axis is None:
        listed = tuple(range(array.ndim))
    if len(listed) > 1:
        raise BadValue(
            f"{operation}: its order cannot be changed, so give one axis; got {axis}"
        )
    if where is not True or initial is not None:
        raise BadType(
            f"{operation}: initial= and where= are offered for functions that "
            "associate, such as add"
        )
    if not listed:
        return array.astype(dtype)
    at = axis_number(listed[0], array.ndim, operation)
    length = array.shape[at]
    if length == 0:
        raise BadValue(f"{operation}: no elements, and it has no identity")
    starts = array.from_host(np.zeros(1, INT64), array._context)
    result = _fold(row, array, starts, at, dtype)
    lengths = [1 if i == at else n for i, n in enumerate(array.shape)]
    return result.reshape(*(n for i, n in enumerate(lengths) if keepdims or i != at))


def _kernel(
    context: Context, stem: str, words: dict[str, str], support: str
) -> GpuKernel:
    """Return the kernel of a file: arrays with their offsets, then numbers."""
    name = f"{stem}_{digest(repr(words).encode())}"
    text = kernel_text(__package__, stem, {"FOLD_NAME": name, **words})
    n_arrays, n_numbers = (3, 4) if stem == "fold" else (4, 2)
    types = [BaseArray, OFFSET] * n_arrays + [np.int64] * n_numbers
    source = ROUNDED + support + text
    return GpuKernel(source, name, types, context)


def _launch(
    kernel: GpuKernel, arrays: Sequence[BaseArray], numbers: Sequence[int]
) -> None:
    """Launch as many work items as the last number."""
    listed = [x for array in arrays for x in (array, array.offset)]
    if numbers[-1]:
        kernel(*listed, *numbers, n=numbers[-1])


def _contiguous(array: BaseArray, dtype: DType) -> BaseArray:
    source = array.astype(dtype, order="C", copy=False)
    return source if source.flags.c_contiguous else source.copy()


def _fold(
    row: Scalar,
    array: BaseArray,
    starts: BaseArray,
    axis: int,
    dtype: DType,
    running: bool = False,
) -> Any:
    """Return folds of slices beginning at ``starts``; ``running``: each step of one."""
    context, work = array._context, work_dtype(dtype)
    key = "fold", row.name, work, running
    kernel = context._kernels.get(key)
    if kernel is None:
        step = scalar_expression(row, [("acc", work), ("v", work)])
        words = {
            "FOLD_TYPE": dtype_to_ctype(work),
            "FOLD_NEXT": convert(f"({step.text})", step.dtype, work),
            "FOLD_IS_RUNNING": str(int(running)),
        }
        kernel = _kernel(context, "fold", words, step.support)
        context._kernels[key] = kernel
    n, m = array.shape[axis], starts.shape[0]
    shape = list(array.shape)
    if not running:
        shape[axis] = m
    result = array.allocate(tuple(shape), work, context, operation=row.name)
    inner = math.prod(array.shape[axis + 1 :])
    count = math.prod(array.shape[:axis]) * m * inner
    arrays = result, _contiguous(array, work), starts
    _launch(kernel, arrays, (n, m, inner, count))
    return result.astype(dtype, copy=False)


def accumulate(row: Scalar, array: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """``numpy.<row>.accumulate``."""
    operation = f"{row.name}.accumulate"
    source, out = require(array, operation), _output(row, out)
    if source.ndim == 0:
        raise BadType(f"{operation}: an array without axes is not accumulated")
    if axis is None and source.ndim > 1:
        raise BadValue(f"{operation}: give one axis; got None for {source.ndim} axes")
    at = axis_number(0 if axis is None else axis, source.ndim, operation)
    fold_dtype = _fold_dtype(row, source, dtype, out)
    if row.associates and row.identity is not None:
        result = scan(row, source, at, fold_dtype)
    elif source.size == 0:
        result = source.astype(fold_dtype)
    else:
        starts = source.from_host(np.zeros(1, INT64), source._context)
        result = _fold(row, source, starts, at, fold_dtype, running=True)
    return into(out, result, f"{row.name}.accumulate")


def reduceat(
    row: Scalar, array: Any, indices: Any, axis: int, dtype: Any, out: Any
) -> Any:
    """``numpy.<row>.reduceat``."""
    operation = f"{row.name}.reduceat"
    source, out = require(array, operation), _output(row, out)
    at = axis_number(axis, source.ndim, operation)
    length, context = source.shape[at], source._context
    if isinstance(indices, BaseArray):
        # Taken from the numbers below the length, to report one out of bounds.
        every = source.from_host(np.arange(length, dtype=INT64), context)
        starts = take_at(every, [indices.astype(INT64, copy=False)], 0)
    else:
        host = np.asarray(indices)
        host = host.astype(INT64) if host.size == 0 else host
        if host.dtype.kind not in "iu":
            raise BadType(f"{operation}: indices of {host.dtype} are no integers")
        if host.size and not (host.min() >= 0 and host.max() < length):
            raise BadIndex(
                f"{operation}: indices from {host.min()} to {host.max()}, of an axis "
                f"of length {length}"
            )
        starts = source.from_host(host.astype(INT64), context)
    if starts.ndim != 1:
        raise BadValue(f"{operation}: indices have {starts.ndim} axes, expected 1")
    fold_dtype = _fold_dtype(row, source, dtype, out)
    folds = _fold(row, source, _packed(starts), at, fold_dtype)
    return into(out, folds, f"{row.name}.reduceat")


def _packed(array: BaseArray) -> BaseArray:
    return array if array.flags.c_contiguous else array.copy()


# ---- at ----


def at(row: Scalar, array: Any, indices: Any, b: Any) -> None:
    """``numpy.<row>.at``."""
    operation = f"{row.name}.at"
    target = require(array, operation)
    if not target.flags.writeable:
        raise ReadOnly(
            f"{operation}: the array is read-only, as broadcast views and elements are"
        )
    places = _places(target, indices)
    dtype, right = target._dtype, 0 if b is None else b
    values = right if isinstance(right, BaseArray) else as_values_of(target, right)
    types = (dtype,) if b is None else (dtype, values._dtype)
    stored = resolve(row, types).result
    if not can_cast(stored, dtype):
        raise BadType(f"{operation}: a result of {stored} cannot be stored as {dtype}")
    values = values.broadcast_to(places.shape)
    packed = _contiguous(target, work_dtype(dtype))
    values = _contiguous(values, work_dtype(values._dtype)).reshape(-1)
    _run_at(row, packed, _packed(places).reshape(-1), values, b is None)
    if packed is not target:
        check(lib.GpuArray_move(target._struct, packed._struct), operation)


def as_values_of(target: BaseArray, values: Any) -> BaseArray:
    """Return host numbers as an array; a Python number takes the target's dtype."""
    weak = number_operand(values)
    if isinstance(weak, type):
        weak = result_type(target._dtype, weak)
    return target.from_host(np.asarray(values, weak), target._context)


def _places(target: BaseArray, indices: Any) -> Any:
    """Return the flat indices of ``target[indices]``, in C order."""
    every = np.arange(target.size, dtype=INT64).reshape(target.shape)
    return get(target.from_host(every, target._context), indices)


def _run_at(
    row: Scalar, a: BaseArray, places: BaseArray, b: BaseArray, is_unary: bool
) -> None:
    context, work = a._context, a._dtype
    key = "at", row.name, work, b._dtype
    kernel = context._kernels.get(key)
    if kernel is None:
        operands = [("acc", work), ("v", b._dtype)][: 1 if is_unary else 2]
        step = scalar_expression(row, operands)
        words = {
            "FOLD_TYPE": dtype_to_ctype(work),
            "FOLD_OTHER": dtype_to_ctype(b._dtype),
            "FOLD_NEXT": convert(f"({step.text})", step.dtype, work),
        }
        kernel = context._kernels[key] = _kernel(
            context, "fold_at", words, step.support
        )
    order = argsort(places)
    arrays = a, take_at(places, [order], 0), order, b
    _launch(kernel, arrays, (a.size, places.size))
