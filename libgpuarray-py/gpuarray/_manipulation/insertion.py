"""``append``, ``delete``, ``insert`` and ``trim_zeros``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import axes_numbers, axis_number
from gpuarray._core.base import asnumpy, require
from gpuarray._indexing.advanced_indexing import INT64, take_at
from gpuarray._indexing.indexing import as_values
from gpuarray._manipulation.joining import as_operand, concatenate
from gpuarray._manipulation.shaping import expand_dims, moveaxis
from gpuarray.errors import BadIndex, BadValue


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Return ``values`` behind the array along ``axis`` (None: both as vectors).

    >>> a, b = gpuarray.asarray([1, 2]), gpuarray.asarray([[3], [4]])
    >>> print(gpuarray.append(a, b))
    [1 2 3 4]
    """
    source = require(arr, "append")
    behind = as_operand(source, values, "append")
    return concatenate((source, behind), axis)


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """A copy without the indices ``obj`` of ``axis`` (None: of the raveled array).

    ``obj`` is an integer, a slice, a list of integers or a mask; one on the device is
    waited for.

    >>> print(gpuarray.delete(gpuarray.arange(5), [0, 2]))
    [1 3 4]
    """
    source = require(arr, "delete")
    if axis is None:
        source, axis = source.ravel(), 0
    axis = axis_number(axis, source.ndim, "delete")
    indices = obj if isinstance(obj, slice | int) else asnumpy(obj)
    if isinstance(indices, np.ndarray) and indices.size == 0:
        indices = indices.astype(INT64)
    try:
        remaining = np.delete(np.arange(source.shape[axis], dtype=INT64), indices)
    except IndexError as error:
        raise BadIndex(f"delete: {error}") from None
    except ValueError as error:
        raise BadValue(f"delete: {error}") from None
    return take_at(source, [source.from_host(remaining, source.context)], axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """A copy with ``values`` before the indices ``obj`` of ``axis`` (None: raveled).

    ``obj`` is an integer, a slice, a list of integers or a mask; one on the device is
    waited for. The values are converted to the array's dtype.

    >>> print(gpuarray.insert(gpuarray.arange(3), 1, gpuarray.asarray([7, 8])))
    [0 7 8 1 2]
    """
    source = require(arr, "insert")
    if axis is None:
        source, axis = source.ravel(), 0
    axis = axis_number(axis, source.ndim, "insert")
    length = source.shape[axis]
    indices = _places(obj, length, axis)
    inserted = as_values(source, values, "insert")
    while inserted.ndim < source.ndim:
        inserted = expand_dims(inserted, 0)
    if indices.ndim == 0:
        inserted = moveaxis(inserted, 0, axis)
    if indices.size == 1:
        indices = np.full(inserted.shape[axis], int(indices.reshape(())), INT64)
    order = indices.argsort(kind="stable")
    indices[order] += np.arange(indices.size)
    shape = list(source.shape)
    shape[axis] = length + indices.size
    result = source.allocate(tuple(shape), source.dtype, source.context)
    is_old = np.ones(shape[axis], bool)
    is_old[indices] = False
    before = (slice(None),) * axis
    result[(*before, np.flatnonzero(is_old))] = source
    result[(*before, indices)] = inserted
    return result


def _places(obj: Any, length: int, axis: int) -> npt.NDArray[Any]:
    """Return the indices to insert at, counted from the front."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(length), dtype=INT64)
    places = np.array(asnumpy(obj))
    if places.dtype.kind == "b":
        if places.ndim != 1 or places.size != length:
            raise BadValue(
                f"insert: a mask of shape {places.shape} for axis {axis} of {length}"
            )
        places = np.flatnonzero(places)
    if places.size == 0:
        places = places.astype(INT64)
    if places.ndim > 1 or places.dtype.kind not in "iu":
        raise BadIndex(
            f"insert: {places.dtype} of {places.ndim} axes, expected an integer, a "
            "slice, or a list of integers or bools"
        )
    places = places.astype(INT64)
    wrong = places[(places < -length) | (places > length)]
    if wrong.size:
        raise BadIndex(
            f"insert: index {wrong.flat[0]} is out of bounds for axis {axis} of length "
            f"{length}"
        )
    return np.where(places < 0, places + length, places)


def trim_zeros(
    filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None
) -> Any:
    """Return a view without zeros at the ends of ``axis`` (None: of all axes); waits.

    ``trim`` says which ends: 'f' the front, 'b' the back.

    >>> print(gpuarray.trim_zeros(gpuarray.asarray([0, 0, 1, 0, 2, 0])))
    [1 0 2]
    """
    source = require(filt, "trim_zeros")
    sides = str(trim).lower()
    if not sides or set(sides) - set("fb"):
        raise BadValue(f"trim_zeros: trim is {trim!r}, expected 'f', 'b' or 'fb'")
    axes = (
        range(source.ndim)
        if axis is None
        else axes_numbers(axis, source.ndim, "trim_zeros")
    )
    nonzeros = [indices.get() for indices in source.nonzero()] if source.ndim else []
    index: list[Any] = [slice(None)] * source.ndim
    for i in axes:
        if not nonzeros[i].size:
            index[i] = slice(0, 0)
            continue
        start = int(nonzeros[i].min()) if "f" in sides else None
        stop = int(nonzeros[i].max()) + 1 if "b" in sides else None
        index[i] = slice(start, stop)
    return source[tuple(index)]
