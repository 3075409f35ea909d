"""Stable sorts along an axis, in NumPy's order."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._core.arguments import as_flag, as_integer, axis_number
from gpuarray._core.base import BaseArray, require, require_all
from gpuarray._native import check, lib
from gpuarray.errors import BadType, Unsupported

KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def _refuse(operation: str, kind: str | None, order: Any) -> None:
    """Refuse NumPy's ``kind`` and ``order``: sorts are stable; no dtype has fields."""
    if kind not in KINDS:
        raise BadType(f"{operation}: kind is {kind!r}, expected one of {KINDS}")
    if order is not None:
        raise Unsupported(f"{operation}: order is for dtypes with fields; none has any")


def sort(
    array: BaseArray,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Any:
    """Return a sorted copy, along ``axis`` (None: of all elements); nan comes last.

    Equal elements keep their order, whatever ``kind`` and ``stable`` say.

    >>> print(gpuarray.sort(gpuarray.asarray([3, 1, 2]), descending=True))
    [3 2 1]
    """
    _refuse("sort", kind, order)
    require(array, "sort")
    if axis is None:
        array, axis = array.reshape(-1), 0
    at = axis_number(axis, array.ndim, "sort")
    downwards = as_flag(descending, "descending", "sort")
    out = array.allocate(array.shape, array.dtype, array.context, operation="sort")
    check(lib.GpuArray_sort(out.struct, array.struct, at, downwards))
    return out


def sort_inplace(
    array: BaseArray,
    axis: int = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> None:
    """Sort the array itself along ``axis``.

    >>> a = gpuarray.asarray([3, 1, 2])
    >>> a.sort()
    >>> print(a)
    [1 2 3]
    """
    _refuse("sort", kind, order)
    at = axis_number(axis, array.ndim, "sort")
    downwards = as_flag(descending, "descending", "sort")
    check(lib.GpuArray_sort(array.struct, array.struct, at, downwards))


def argsort(
    array: BaseArray,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Any:
    """Return the indices (int64) that sort the array along ``axis``; as ``sort``.

    A 0-d array gives ``[0]``, as in NumPy.

    >>> print(gpuarray.argsort(gpuarray.asarray([3, 1, 2])))
    [1 2 0]
    """
    _refuse("argsort", kind, order)
    require(array, "argsort")
    if axis is None or is_lone(array, axis):
        array, axis = array.reshape(-1), 0
    at = axis_number(axis, array.ndim, "argsort")
    downwards = as_flag(descending, "descending", "argsort")
    places = np.dtype(np.int64)
    out = array.allocate(array.shape, places, array.context, operation="argsort")
    check(lib.GpuArray_argsort(out.struct, array.struct, at, downwards))
    return out


def argsort_random(bits: BaseArray, axis: int) -> Any:
    """Return the indices (int64) that sort random uint64 along ``axis``."""
    places = np.dtype(np.int64)
    out = bits.allocate(bits.shape, places, bits.context, operation="argsort")
    check(lib.GpuArray_argsort(out.struct, bits.struct, axis, lib.GA_SORT_RANDOM))
    return out


def is_lone(array: BaseArray, axis: int) -> bool:
    """Return True if NumPy takes a 0-d array as one of one element along ``axis``."""
    return array.ndim == 0 and axis in (0, -1)


def sort_pairs(
    keys: BaseArray, values: BaseArray, axis: int = -1, *, descending: bool = False
) -> tuple[Any, Any]:
    """Return ``keys`` sorted along ``axis``, and ``values`` permuted as they are.

    Both of one shape; equal keys keep their order. Raises BadValue for shapes that
    differ.

    >>> keys, values = gpuarray.asarray([3, 1, 2]), gpuarray.asarray([30, 10, 20])
    >>> print(*gpuarray.sort_pairs(keys, values))
    [1 2 3] [10 20 30]
    """
    keys, values = require_all("sort_pairs", keys, values)
    at = axis_number(axis, keys.ndim, "sort_pairs")
    downwards = as_flag(descending, "descending", "sort_pairs")
    sorted_keys = keys.allocate(keys.shape, keys.dtype, keys.context)
    moved = values.allocate(values.shape, values.dtype, keys.context)
    check(
        lib.GpuArray_sort_pairs(
            sorted_keys.struct,
            moved.struct,
            keys.struct,
            values.struct,
            at,
            downwards,
        )
    )
    return sorted_keys, moved


def topk(
    array: BaseArray, k: int, axis: int = -1, *, largest: bool = True
) -> tuple[Any, Any]:
    """The ``k`` largest (or smallest) elements along ``axis``, and their indices.

    In order, the first one first. nan counts as largest; of equal elements those with
    the smallest indices are taken.

    >>> values, places = gpuarray.topk(gpuarray.asarray([3, 9, 5]), 2)
    >>> print(values, places)
    [9 5] [1 2]
    """
    at = axis_number(axis, require(array, "topk").ndim, "topk")
    count = as_integer(k, "k", "topk")
    if count < 0:
        raise BadType(f"topk: k is {k}, expected 0 or more")
    is_largest = as_flag(largest, "largest", "topk")
    shape = (*array.shape[:at], count, *array.shape[at + 1 :])
    values = array.allocate(shape, array.dtype, array.context, operation="topk")
    places = np.dtype(np.int64)
    indices = array.allocate(shape, places, array.context, operation="topk")
    status = lib.GpuArray_topk(
        values.struct, indices.struct, array.struct, count, at, is_largest, 1
    )
    check(status, f"array of {array.shape}")
    return values, indices
