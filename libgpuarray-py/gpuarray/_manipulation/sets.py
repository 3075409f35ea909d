"""Unique elements and set operations.

A sort brings equal elements together; a mask marks the first of each. Their number
is waited for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import BaseArray, on_host, require, require_all
from gpuarray._indexing.advanced_indexing import INT64
from gpuarray._manipulation.joining import concatenate
from gpuarray._manipulation.shaping import moveaxis
from gpuarray._sorting.searching import searchsorted
from gpuarray._sorting.sorting import argsort, sort
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.scanning import cumsum
from gpuarray.dtypes import kind_of, result_type
from gpuarray.errors import BadValue


class UniqueAll(NamedTuple):
    """The result of ``unique_all``."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of ``unique_counts``."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of ``unique_inverse``."""

    values: Any
    inverse_indices: Any


def unique_all(
    x: Any,
) -> UniqueAll:
    """Return the unique elements, sorted, with indices, inverse and counts.

    The index of each one's first occurrence in the raveled array; for each element of
    the array, in its shape, the index among the unique; and how often each occurs.
    Every nan is unique.

    >>> found = gpuarray.unique_all(gpuarray.asarray([2, 1, 2]))
    >>> print(found.values, found.indices, found.inverse_indices, found.counts)
    [1 2] [1 0] [1 0 1] [1 2]
    """
    source = require(x, "unique_all")
    return UniqueAll(*_unique(source, True, True, True, equal_nan=False))


def unique_counts(
    x: Any,
) -> UniqueCounts:
    """Return the unique elements, sorted, and their counts; every nan is unique.

    >>> found = gpuarray.unique_counts(gpuarray.asarray([2, 1, 2]))
    >>> print(found.values, found.counts)
    [1 2] [1 2]
    """
    source = require(x, "unique_counts")
    values, counts = _unique(source, False, False, True, equal_nan=False)
    return UniqueCounts(values, counts)


def unique_inverse(
    x: Any,
) -> UniqueInverse:
    """Return the unique elements, sorted, and each element's index among them.

    The indices have the array's shape. Every nan is unique.

    >>> found = gpuarray.unique_inverse(gpuarray.asarray([2, 1, 2]))
    >>> print(found.values[found.inverse_indices])
    [2 1 2]
    """
    source = require(x, "unique_inverse")
    values, inverse = _unique(source, False, True, False, equal_nan=False)
    return UniqueInverse(values, inverse)


def unique_values(
    x: Any,
) -> Any:
    """Return the unique elements, sorted; every nan is unique.

    >>> print(gpuarray.unique_values(gpuarray.asarray([2, 1, 2])))
    [1 2]
    """
    source = require(x, "unique_values")
    return _unique(source, False, False, False, equal_nan=False)[0]


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return the unique elements, sorted; or the unique parts along ``axis``.

    If asked for, in a tuple with the index of each one's first occurrence, the
    elements' indices among them, and the counts. They are sorted whatever ``sorted``
    says.

    >>> a = gpuarray.asarray([2, 1, 2])
    >>> values, counts = gpuarray.unique(a, return_counts=True)
    >>> print(values, counts)
    [1 2] [1 2]
    """
    source = require(ar, "unique")
    options = return_index, return_inverse, return_counts
    if axis is None:
        parts = _unique(source, *options, equal_nan)
    else:
        parts = _unique_parts(source, axis, *options)
    return parts[0] if len(parts) == 1 else tuple(parts)


def _unique(
    array: Any, index: bool, inverse: bool, counts: bool, equal_nan: bool
) -> list[Any]:
    flat = array.ravel()
    order = argsort(flat) if index or inverse else None
    ordered = sort(flat) if order is None else flat[order]
    is_first = _is_first(ordered, equal_nan)
    parts = [ordered[is_first]]
    parts += _places(is_first, order, array.shape, index, inverse, counts)
    return parts


def _is_first(ordered: Any, equal_nan: bool) -> Any:
    """The mask of the elements of a sorted vector that differ from the one before."""
    mask = _truths(ordered, ordered.shape)
    if ordered.size < 2:
        return mask
    differ = ordered[1:] != ordered[:-1]
    if equal_nan and kind_of(ordered.dtype) in "fc":
        isnan = FUNCTIONS["isnan"]
        differ &= ~(isnan(ordered[1:]) & isnan(ordered[:-1]))
    mask[1:] = differ
    return mask


def _truths(like: Any, shape: tuple[int, ...]) -> Any:
    mask = like.allocate(shape, np.dtype(np.bool_), like.context, operation="unique")
    mask[...] = True
    return mask


def _places(
    is_first: Any,
    order: Any,
    shape: tuple[int, ...],
    index: bool,
    inverse: bool,
    counts: bool,
) -> list[Any]:
    """Return indices, inverse and counts by the mask of first elements, sorted."""
    parts = []
    if index:
        parts.append(order[is_first])
    if inverse:
        places = order.allocate(order.shape, INT64, order.context, operation="unique")
        places[order] = cumsum(is_first) - 1
        parts.append(places.reshape(shape))
    if counts:
        starts = is_first.nonzero()[0]
        length = is_first.size
        end = is_first.from_host(np.array([length], INT64), is_first.context)
        parts.append(concatenate((starts[1:], end)) - starts)
    return parts


def _unique_parts(
    array: Any, axis: int, index: bool, inverse: bool, counts: bool
) -> list[Any]:
    """Return the unique parts along ``axis``, in the order of their elements."""
    axis = axis_number(axis, array.ndim, "unique")
    front = moveaxis(array, axis, 0)
    length = front.shape[0]
    width = int(np.prod(front.shape[1:], dtype=np.int64))
    rows = front.reshape(length, width)
    order = array.from_host(np.arange(length, dtype=INT64), array.context)
    for column in range(width - 1, -1, -1):  # a stable sort by each, the last one first
        order = order[argsort(rows[order, column])]
    ordered = rows[order]
    is_first = _truths(array, (length,))
    if length > 1:
        is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    picked = front[order[is_first]]
    parts = [moveaxis(picked, 0, axis)]
    parts += _places(is_first, order, (length,), index, inverse, counts)
    return parts


# ---- two sets ----


def _beside(array: Any, other: Any, operation: str) -> tuple[Any, Any]:
    """Return both on one context, that of either; a Python number takes a dtype."""
    ours = array if isinstance(array, BaseArray) else other
    require(ours, operation)
    arrays = [
        x
        if isinstance(x, BaseArray)
        else ours.from_host(_host(ours, x, operation), ours.context)
        for x in (array, other)
    ]
    first, second = require_all(operation, *arrays)
    return first, second


def _host(like: Any, values: Any, operation: str) -> Any:
    host = on_host(values, "values", operation)
    is_weak = isinstance(values, float | complex) and not isinstance(values, bool)
    return host.astype(result_type(like.dtype, type(values))) if is_weak else host


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    """Return True for each element among ``test_elements``; ``invert``: if it is not.

    ``assume_unique`` and ``kind`` are NumPy's hints, which change no result.

    >>> a = gpuarray.asarray([[1, 2], [3, 4]])
    >>> print(gpuarray.isin(a, gpuarray.asarray([2, 4])))
    [[False  True]
     [False  True]]
    """
    elements, members = _beside(element, test_elements, "isin")
    if kind not in (None, "sort", "table"):
        raise BadValue(f"isin: kind is {kind!r}, expected None, 'sort' or 'table'")
    compare = FUNCTIONS["not_equal" if invert else "equal"]
    if members.size == 0:
        result = _truths(elements, elements.shape)
        result[...] = invert
        return result
    dtype = result_type(elements.dtype, members.dtype)
    elements = elements.astype(dtype, copy=False)
    ordered = sort(members.astype(dtype, copy=False).ravel())
    places = searchsorted(ordered, elements)
    return compare(elements, ordered.take(places, mode="clip"))


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return ``isin`` of the raveled array.

    >>> a = gpuarray.asarray([[1, 2], [3, 4]])
    >>> print(gpuarray.in1d(a, gpuarray.asarray([2, 4])))
    [False  True False  True]
    """
    elements, members = _beside(ar1, ar2, "in1d")
    return isin(elements.ravel(), members, assume_unique, invert)


def union1d(ar1: Any, ar2: Any) -> Any:
    """Return the unique elements of either array, sorted.

    >>> print(gpuarray.union1d(gpuarray.asarray([3, 1]), gpuarray.asarray([3, 2])))
    [1 2 3]
    """
    a, b = _beside(ar1, ar2, "union1d")
    return unique(concatenate((a, b), None))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Return the unique elements of the first array that are not in the second, sorted.

    With ``assume_unique`` in the order of the first, repeated ones included.

    >>> a, b = gpuarray.asarray([3, 1, 2]), gpuarray.asarray([2])
    >>> print(gpuarray.setdiff1d(a, b))
    [1 3]
    """
    a, b = _beside(ar1, ar2, "setdiff1d")
    a = a.ravel() if assume_unique else unique(a)
    return a[isin(a, b, invert=True)]


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
) -> Any:
    """Return the unique elements that both arrays have, sorted.

    With ``return_indices`` in a tuple with the first index of each in either array.

    >>> a, b = gpuarray.asarray([3, 1, 2]), gpuarray.asarray([2, 3])
    >>> print(gpuarray.intersect1d(a, b))
    [2 3]
    """
    a, b = _beside(ar1, ar2, "intersect1d")
    dtype = result_type(a.dtype, b.dtype)
    a, b = a.astype(dtype, copy=False).ravel(), b.astype(dtype, copy=False).ravel()
    if not return_indices:
        a = sort(a) if assume_unique else unique(a)
        return a[isin(a, b)]
    values, places = unique(a, return_index=True)
    others, other_places = unique(b, return_index=True)
    is_shared = isin(values, others)
    shared = values[is_shared]
    positions = searchsorted(others, shared)
    return shared, places[is_shared], other_places[positions]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Return the unique elements that only one of the two arrays has, sorted.

    >>> print(gpuarray.setxor1d(gpuarray.asarray([3, 1]), gpuarray.asarray([3, 2])))
    [1 2]
    """
    a, b = _beside(ar1, ar2, "setxor1d")
    a, b = (x.ravel() if assume_unique else unique(x) for x in (a, b))
    joined = concatenate((a, b))
    if joined.size == 0:
        return joined
    ordered = sort(joined)
    is_first = _truths(ordered, (ordered.size + 1,))
    is_first[1:-1] = ordered[1:] != ordered[:-1]
    return ordered[is_first[1:] & is_first[:-1]]
