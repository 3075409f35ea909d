"""``repeat``, ``tile`` and ``resize``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.arguments import as_shape, axis_number
from gpuarray._core.base import on_host, require
from gpuarray._indexing.advanced_indexing import INT64, take_at
from gpuarray._manipulation.shaping import expand_dims
from gpuarray.errors import BadType, BadValue


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Return each element ``repeats`` times along ``axis`` (None: the raveled array).

    ``repeats`` is a number, or one for each element along the axis; of an array on the
    device the sum is waited for.

    >>> print(gpuarray.repeat(gpuarray.asarray([1, 2]), 2))
    [1 1 2 2]
    >>> print(gpuarray.repeat(gpuarray.asarray([1, 2]), [3, 0]))
    [1 1 1]
    """
    source = require(a, "repeat")
    if axis is None:
        source, axis = source.ravel(), 0
    axis = axis_number(axis, source.ndim, "repeat")
    counts = on_host(repeats, "repeats", "repeat")
    if counts.dtype.kind not in "biu":
        raise BadType(f"repeat: repeats of {counts.dtype}, expected integers")
    if counts.ndim > 1:
        raise BadValue(f"repeat: repeats have {counts.ndim} axes, expected 1 at most")
    if (counts < 0).any():
        raise BadValue(f"repeat: repeats has {counts.min()}, expected 0 or more")
    length = source.shape[axis]
    if counts.size == 1:
        times = int(counts.reshape(()))
        shape = list(source.shape)
        shape[axis + 1 : axis + 1] = [times]
        result = [*shape[:axis], length * times, *shape[axis + 2 :]]
        return expand_dims(source, axis + 1).broadcast_to(shape).reshape(result)
    if counts.size != length:
        raise BadValue(
            f"repeat: {counts.size} repeats for axis {axis} of length {length}"
        )
    places = np.repeat(np.arange(length, dtype=INT64), counts)
    return take_at(source, [source.from_host(places, source.context)], axis)


def tile(
    A: Any,
    reps: int | Sequence[int],
) -> Any:
    """Return the whole array repeated ``reps`` times along each axis.

    The array gets axes where ``reps`` has more, and first axes not in ``reps`` have 1.

    >>> print(gpuarray.tile(gpuarray.asarray([1, 2]), (2, 2)))
    [[1 2 1 2]
     [1 2 1 2]]
    """
    source = require(A, "tile")
    times = as_shape(reps, "tile")
    ndim = max(len(times), source.ndim)
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - source.ndim) + source.shape
    pairs = list(zip(times, shape, strict=True))
    # Each axis is preceded by one to repeat along, where there is something to repeat.
    split_shape = [
        n for t, length in pairs for n in ((1, length) if t != 1 else (length,))
    ]
    wide = [n for t, length in pairs for n in ((t, length) if t != 1 else (length,))]
    result = tuple(t * length for t, length in pairs)
    return source.reshape(split_shape).broadcast_to(wide).copy().reshape(result)


def resize(a: Any, new_shape: int | Sequence[int]) -> Any:
    """Return a new array of this shape, of the elements over and over again.

    >>> print(gpuarray.resize(gpuarray.asarray([1, 2, 3]), (2, 2)))
    [[1 2]
     [3 1]]
    """
    source = require(a, "resize")
    shape = as_shape(new_shape, "resize")
    size = math.prod(shape)
    flat = source.ravel()
    if flat.size == 0 or size == 0:
        return source.allocate(shape, source.dtype, source.context, zeroed=True)
    flat = flat if flat.size >= size else tile(flat, -(-size // flat.size))
    return flat[:size].reshape(shape, copy=True)
