"""``take``, ``put``, ``compress``, ``where``, ``nonzero`` and their kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import BaseArray, on_host, require
from gpuarray._indexing.advanced_indexing import (
    INT64,
    MODES,
    compress_by,
    positions,
    put_at,
    row,
    take_at,
    upload_indices,
)
from gpuarray._indexing.indexing import as_values
from gpuarray._native import check, lib
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.errors import BadType, BadValue, ReadOnly


def _mode(mode: str, operation: str) -> int:
    if not isinstance(mode, str) or mode not in MODES:
        raise BadValue(
            f"{operation}: got mode {mode!r}, expected 'raise', 'wrap' or 'clip'"
        )
    return int(MODES[mode])


def _index_array(
    indices: Any, array: BaseArray, axis: int, length: int, mode: str, operation: str
) -> BaseArray:
    """The indices on the context of ``array``; those of the host are checked here."""
    if isinstance(indices, BaseArray):
        if indices.dtype.kind not in "iu":
            raise BadType(f"{operation}: indices of {indices.dtype} are no integers")
        return indices
    host = on_host(indices, "indices", operation)
    if host.size == 0:
        host = host.astype(INT64)
    if host.dtype.kind not in "iu":
        raise BadType(f"{operation}: indices of {host.dtype} are no integers")
    if mode != "raise":
        return array.from_host(host.astype(INT64, copy=False), array._context)
    checked: BaseArray = upload_indices(host, length, axis, array)
    return checked


# ---- by indices ----


def take(
    array: Any,
    indices: Any,
    axis: int | None = None,
    out: Any = None,
    mode: str = "raise",
) -> Any:
    """Return the elements at ``indices`` along ``axis``; None: of the raveled array.

    Indices on a device that are out of bounds raise BadIndex when the context is next
    waited for; ``mode`` 'wrap' takes them modulo the length, 'clip' stops at the ends.

    >>> a = gpuarray.asarray([[1, 2], [3, 4]])
    >>> print(gpuarray.take(a, gpuarray.asarray([1, 1, 0]), axis=0))
    [[3 4]
     [3 4]
     [1 2]]
    """
    source = require(array, "take")
    number = _mode(mode, "take")
    if axis is None:
        source, axis = source.ravel(), 0
    axis = axis_number(axis, source.ndim, "take")
    length = source.shape[axis]
    index = _index_array(indices, source, axis, length, mode, "take")
    result = take_at(source, [index], axis, number)
    if out is None:
        return result
    if result.shape != out.shape:
        raise BadValue(f"take: out has shape {out.shape}, expected {result.shape}")
    check(lib.GpuArray_move(_writeable(out, "take")._struct, result._struct), "take")
    return out


def put(array: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Set elements of the raveled array; ``v`` is repeated as needed.

    Where an index is repeated the last value wins, on every device; ``array[i] = v``
    does the same along an axis. Indices on a device that are out of bounds raise
    BadIndex when the context is next waited for, and set nothing; ``mode`` 'wrap' takes
    them modulo the length, 'clip' stops at the ends.

    >>> a = gpuarray.zeros((2, 2))
    >>> gpuarray.put(a, [1, 2], gpuarray.asarray([5, 6]))
    >>> print(a)
    [[0. 5.]
     [6. 0.]]
    """
    target = _writeable(array, "put")
    number = _mode(mode, "put")
    index = _index_array(ind, target, 0, target.size, mode, "put").ravel()
    values = as_values(target, v, "put").ravel()
    if values.size == 0:
        return
    if values.size not in (1, index.size):
        counts = np.arange(index.size, dtype=INT64) % values.size
        values = take_at(values, [target.from_host(counts, target._context)], 0)
    is_block = target.flags.c_contiguous
    flat = target.reshape(-1) if is_block else target.copy().reshape(-1)
    put_at(flat, [index], 0, values, number)
    if not is_block:
        packed = flat.reshape(target.shape)
        check(lib.GpuArray_move(target._struct, packed._struct), "put")


def _along(array: BaseArray, indices: Any, axis: int, operation: str) -> list[Any]:
    """Return index arrays: ``indices`` for one axis, its positions for the others."""
    index = _index_array(indices, array, axis, array.shape[axis], "raise", operation)
    if index.ndim != array.ndim:
        raise BadValue(
            f"{operation}: indices have {index.ndim} axes, the array {array.ndim}"
        )
    picked: list[Any] = []
    for k, length in enumerate(array.shape):
        shape = [1] * array.ndim
        shape[k] = length
        counts = np.arange(length, dtype=INT64).reshape(shape)
        is_other = k != axis
        picked.append(array.from_host(counts, array._context) if is_other else index)
    return picked


def take_along_axis(array: Any, indices: Any, axis: int | None = -1) -> Any:
    """The elements at ``indices`` along ``axis``, for each index of the other axes.

    Raises BadIndex, when the context is next waited for, for one out of bounds.

    >>> a = gpuarray.asarray([[3, 1], [2, 4]])
    >>> print(gpuarray.take_along_axis(a, gpuarray.argsort(a, axis=1), axis=1))
    [[1 3]
     [2 4]]
    """
    source = require(array, "take_along_axis")
    if axis is None:
        source, axis = source.ravel(), 0
    axis = axis_number(axis, source.ndim, "take_along_axis")
    return take_at(source, _along(source, indices, axis, "take_along_axis"), 0)


def put_along_axis(array: Any, indices: Any, values: Any, axis: int = -1) -> None:
    """Set elements at ``indices`` along ``axis``, for each index of the others.

    Where an index is repeated the last value wins, on every device.

    >>> a = gpuarray.asarray([[1, 9], [8, 2]])
    >>> gpuarray.put_along_axis(a, gpuarray.asarray([[1], [0]]), 0, axis=1)
    >>> print(a)
    [[1 0]
     [0 2]]
    """
    target = _writeable(array, "put_along_axis")
    axis = axis_number(axis, target.ndim, "put_along_axis")
    picked = _along(target, indices, axis, "put_along_axis")
    put_at(target, picked, 0, as_values(target, values, "put_along_axis"))


def add_at(array: Any, indices: Any, values: Any, *, any_order: bool = False) -> None:
    """``array[indices] += values`` along the first axis, repeated indices summed up.

    ``indices`` is an array or a tuple of arrays, for the first axes. The values of one
    index are summed in an order that depends on the indices alone: the same bits each
    time. With ``any_order`` float32 and float64 are added by atomics, which is faster.

    >>> a = gpuarray.zeros(3)
    >>> gpuarray.add_at(a, gpuarray.asarray([0, 0, 2]), 1)
    >>> print(a)
    [2. 0. 1.]
    """
    target = _writeable(array, "add_at")
    listed = indices if isinstance(indices, tuple) else (indices,)
    if len(listed) > target.ndim:
        raise BadValue(
            f"add_at: {len(listed)} index arrays for an array of {target.ndim} axes"
        )
    picked = [
        _index_array(indexes, target, axis, target.shape[axis], "raise", "add_at")
        for axis, indexes in enumerate(listed)
    ]
    mode = lib.GA_ADD_AT_ANY_ORDER if any_order else 0
    given = as_values(target, values, "add_at")
    put_at(target, picked, 0, given, mode, adds=True)


def _writeable(array: Any, operation: str) -> BaseArray:
    target: BaseArray = require(array, operation)
    if not target.flags.writeable:
        raise ReadOnly(
            f"{operation}: the array is read-only, as broadcast views and elements are"
        )
    return target


# ---- by masks ----


def as_mask(condition: Any, like: BaseArray, operation: str) -> BaseArray:
    """Return a bool array on the context of ``like``."""
    if isinstance(condition, BaseArray):
        return condition.astype(np.bool_, copy=False)
    host = on_host(condition, "condition", operation).astype(np.bool_)
    return like.from_host(host, like._context)


def compress(condition: Any, array: Any, axis: int | None = None) -> Any:
    """The parts along ``axis`` where the 1-d condition is true; waits for the count.

    A condition shorter than the axis is false beyond its end.

    >>> a = gpuarray.arange(6).reshape(2, 3)
    >>> print(gpuarray.compress(gpuarray.asarray([True, False, True]), a, axis=1))
    [[0 2]
     [3 5]]
    """
    source = require(array, "compress")
    mask = as_mask(condition, source, "compress")
    if mask.ndim != 1:
        raise BadValue(f"compress: the condition has {mask.ndim} axes, expected 1")
    if axis is None:
        source, axis = source.ravel(), 0
    axis = axis_number(axis, source.ndim, "compress")
    return take_at(source, [row(positions(mask), 0)], axis)


def extract(condition: Any, array: Any) -> Any:
    """Return the elements, in C order, where a condition of as many elements is true.

    Waits for their count, which is the length of the result.

    >>> a = gpuarray.arange(4)
    >>> print(gpuarray.extract(a % 2 == 0, a))
    [0 2]
    """
    source = require(array, "extract")
    return compress_by(source.ravel(), as_mask(condition, source, "extract").ravel())


def nonzero(array: Any) -> tuple[Any, ...]:
    """Return, for each axis, the indices of the elements that are not zero; waits.

    >>> rows, columns = gpuarray.nonzero(gpuarray.asarray([[0, 1], [2, 0]]))
    >>> print(rows, columns)
    [0 1] [1 0]
    """
    source = require(array, "nonzero")
    if source.ndim == 0:
        raise BadValue("nonzero: a 0-d array has no axes; use array.reshape(1)")
    indices = positions(source)
    return tuple(row(indices, k) for k in range(source.ndim))


def flatnonzero(array: Any) -> Any:
    """Return the indices of nonzero elements of the raveled array; waits.

    >>> print(gpuarray.flatnonzero(gpuarray.asarray([[0, 1], [2, 0]])))
    [1 2]
    """
    return nonzero(require(array, "flatnonzero").ravel())[0]


def where(condition: Any, *choices: Any, out: Any = None) -> Any:
    """``where(condition, x, y)``: elements of x where it is not zero, else of y.

    With the condition alone, its ``nonzero()``.

    >>> a = gpuarray.asarray([1, -2, 3])
    >>> print(gpuarray.where(a > 0, a, 0))
    [1 0 3]
    >>> print(*gpuarray.where(a > 0))
    [0 2]
    """
    if choices or out is not None:
        return FUNCTIONS["where"](condition, *choices, out=out)
    return nonzero(require(condition, "where"))


def argwhere(array: Any) -> Any:
    """Return the indices of elements that are not zero, a row for each; waits.

    >>> print(gpuarray.argwhere(gpuarray.asarray([[0, 1], [2, 0]])))
    [[0 1]
     [1 0]]
    """
    return positions(require(array, "argwhere")).transpose()


def count_nonzero(
    array: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Any:
    """Return the number of nonzero elements over ``axis`` (None: all), int64.

    >>> print(gpuarray.count_nonzero(gpuarray.asarray([[0, 1], [2, 3]]), axis=0))
    [1 2]
    """
    source: Any = require(array, "count_nonzero")
    return source.astype(np.bool_, copy=False).sum(axis=axis, keepdims=keepdims)
