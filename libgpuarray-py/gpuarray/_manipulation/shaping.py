"""Reshapes, transposes, flips, broadcasts and diagonals.

All return views, but for ``reshape`` and ``ravel`` where the strides permit none.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import (
    Order,
    as_integer,
    as_list,
    as_shape,
    axes_numbers,
    axis_number,
)
from gpuarray._core.base import require
from gpuarray.errors import BadIndex, BadType, BadValue, TooLarge

Axis = int | Sequence[int] | None


def reshape(
    a: Any,
    shape: int | Sequence[int],
    order: Order = "C",
    *,
    copy: bool | None = None,
) -> Any:
    """Return the elements in another shape, of which one length may be -1.

    A view where the strides permit it, else a copy; ``copy=True`` always copies,
    ``copy=False`` raises NeedsCopy rather than copy.

    >>> print(gpuarray.reshape(gpuarray.arange(6), (2, -1)))
    [[0 1 2]
     [3 4 5]]
    >>> gpuarray.reshape(gpuarray.arange(6), (4, 2))
    Traceback (most recent call last):
        ...
    gpuarray.errors.BadValue: reshape: int64 (6,) has 6 elements, the new ...
    """
    return require(a, "reshape").reshape(shape, order=order, copy=copy)


def ravel(a: Any, order: Order = "C") -> Any:
    """Return the elements as a vector: a view where the strides permit it, else a copy.

    >>> print(gpuarray.ravel(gpuarray.asarray([[1, 2], [3, 4]])))
    [1 2 3 4]
    """
    return require(a, "ravel").ravel(order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Return a view with its axes permuted; None: reversed.

    Raises BadValue unless each axis is named once.

    >>> print(gpuarray.transpose(gpuarray.asarray([[1, 2], [3, 4]])))
    [[1 3]
     [2 4]]
    """
    return require(a, "transpose").transpose(axes)


def permute_dims(a: Any, axes: Sequence[int]) -> Any:
    """Return a view with its axes in the order ``axes``.

    Raises BadValue unless each axis is named once.

    >>> gpuarray.permute_dims(gpuarray.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return require(a, "permute_dims").transpose(axes)


def matrix_transpose(
    x: Any,
) -> Any:
    """Return a view of matrices with the last two axes swapped.

    >>> gpuarray.matrix_transpose(gpuarray.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    return require(x, "matrix_transpose").mT


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Return a view with two axes exchanged.

    >>> gpuarray.swapaxes(gpuarray.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    ndim = require(a, "swapaxes").ndim
    first, second = (axis_number(axis, ndim, "swapaxes") for axis in (axis1, axis2))
    order = list(range(ndim))
    order[first], order[second] = second, first
    return a.transpose(order)


def moveaxis(
    a: Any,
    source: int | Sequence[int],
    destination: int | Sequence[int],
) -> Any:
    """Return a view with the axes ``source`` moved to the positions ``destination``.

    The others keep their order.

    >>> gpuarray.moveaxis(gpuarray.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    ndim = require(a, "moveaxis").ndim
    moved = axes_numbers(source, ndim, "moveaxis")
    places = axes_numbers(destination, ndim, "moveaxis")
    if len(moved) != len(places):
        raise BadValue(
            f"moveaxis: {len(moved)} axes for {len(places)} places; expected as many"
        )
    order = [axis for axis in range(ndim) if axis not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return a.transpose(order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Return a view with ``axis`` before the axis ``start``; prefer ``moveaxis``.

    >>> gpuarray.rollaxis(gpuarray.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    ndim = require(a, "rollaxis").ndim
    axis = axis_number(axis, ndim, "rollaxis")
    start = as_integer(start, "start", "rollaxis")
    if not -ndim <= start <= ndim:
        raise BadIndex(f"rollaxis: start {start} is out of bounds for {ndim} axes")
    start = start + ndim if start < 0 else start
    order = [number for number in range(ndim) if number != axis]
    order.insert(start - 1 if axis < start else start, axis)
    return a.transpose(order)


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """Return a view with axes of length 1 at the positions ``axis`` of the result.

    >>> gpuarray.expand_dims(gpuarray.arange(3), 0).shape
    (1, 3)
    """
    ndim = require(a, "expand_dims").ndim
    count = len(axis) if isinstance(axis, list | tuple) else 1
    places = axes_numbers(axis, ndim + count, "expand_dims")
    rest = iter(range(ndim))
    pattern: list[Any] = [
        "x" if place in places else next(rest) for place in range(ndim + count)
    ]
    return a.dimshuffle(*pattern)


def squeeze(a: Any, axis: Axis = None) -> Any:
    """A view without the axes of length 1 that ``axis`` names; None: all of them.

    Raises BadValue if an axis that is named has another length.

    >>> gpuarray.squeeze(gpuarray.zeros((1, 3, 1))).shape
    (3,)
    """
    shape = require(a, "squeeze").shape
    if axis is None:
        dropped = tuple(i for i, length in enumerate(shape) if length == 1)
    else:
        dropped = axes_numbers(axis, len(shape), "squeeze")
    for number in dropped:
        if shape[number] != 1:
            raise BadValue(
                f"squeeze: axis {number} of shape {shape} has length {shape[number]}, "
                "expected 1"
            )
    return a.dimshuffle(*(i for i in range(len(shape)) if i not in dropped))


# ---- flips and rotations ----


def flip(m: Any, axis: Axis = None) -> Any:
    """Return a view with the order of the elements reversed along ``axis`` (None: all).

    >>> print(gpuarray.flip(gpuarray.arange(3)))
    [2 1 0]
    """
    ndim = require(m, "flip").ndim
    turned = range(ndim) if axis is None else axes_numbers(axis, ndim, "flip")
    steps = (-1 if i in turned else 1 for i in range(ndim))
    return m[tuple(slice(None, None, step) for step in steps)]


def fliplr(m: Any) -> Any:
    """Return a view with the second axis reversed.

    >>> print(gpuarray.fliplr(gpuarray.arange(4).reshape(2, 2)))
    [[1 0]
     [3 2]]
    """
    if require(m, "fliplr").ndim < 2:
        raise BadValue(f"fliplr: an array of shape {m.shape}, expected 2 axes")
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Return a view with the first axis reversed.

    >>> print(gpuarray.flipud(gpuarray.arange(4).reshape(2, 2)))
    [[2 3]
     [0 1]]
    """
    if require(m, "flipud").ndim < 1:
        raise BadValue("flipud: a 0-d array has no axis to reverse")
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Return a view turned ``k`` times by 90 degrees from ``axes[0]`` to ``axes[1]``.

    >>> print(gpuarray.rot90(gpuarray.asarray([[1, 2], [3, 4]])))
    [[2 4]
     [1 3]]
    """
    ndim = require(m, "rot90").ndim
    plane = axes_numbers(as_list(axes, "axes", "rot90"), ndim, "rot90")
    if len(plane) != 2:
        raise BadValue(f"rot90: axes is {tuple(axes)}, expected 2 axes")
    quarter = as_integer(k, "k", "rot90") % 4
    if quarter in (0, 2):
        return flip(m, plane if quarter else ())
    if quarter == 1:
        return swapaxes(flip(m, plane[1]), *plane)
    return flip(swapaxes(m, *plane), plane[1])


# ---- broadcasts ----


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """Return the shape that arrays of these shapes broadcast to.

    >>> gpuarray.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    listed = [as_shape(shape, "broadcast_shapes") for shape in shapes]
    try:
        return np.broadcast_shapes(*listed)
    except ValueError as error:
        if "too large" in str(error):
            raise TooLarge(f"broadcast_shapes: {error}") from None
        names = ", ".join(map(str, listed))
        raise BadValue(
            f"broadcast_shapes: {names} do not broadcast: along an axis, counted from "
            "the last, lengths must be equal or 1"
        ) from None


def broadcast_to(array: Any, shape: int | Sequence[int]) -> Any:
    """Return a read-only view repeated along axes of length 1 and new leading axes.

    Raises BadValue if the shape does not fit; ReadOnly when the view is written to.

    >>> print(gpuarray.broadcast_to(gpuarray.arange(3), (2, 3)))
    [[0 1 2]
     [0 1 2]]
    """
    return require(array, "broadcast_to").broadcast_to(shape)


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Return views of the arrays in the shape that they broadcast to.

    Raises BadValue if there is none.

    >>> a, b = gpuarray.broadcast_arrays(gpuarray.zeros((2, 1)), gpuarray.zeros(3))
    >>> a.shape, b.shape
    ((2, 3), (2, 3))
    """
    shape = broadcast_shapes(*(require(a, "broadcast_arrays").shape for a in arrays))
    return tuple(a if a.shape == shape else a.broadcast_to(shape) for a in arrays)


def sliding_window_view(
    x: Any,
    window_shape: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
) -> Any:
    """Return a read-only view of each window along ``axis`` (None: all axes).

    The windows' axes are the last; nothing is copied. Raises BadValue if a window is
    longer than its axis.

    >>> print(gpuarray.sliding_window_view(gpuarray.arange(5), 3).sum(axis=-1))
    [3 6 9]
    """
    operation = "sliding_window_view"
    source = require(x, operation)
    lengths = as_shape(window_shape, operation)
    every = tuple(range(source.ndim))
    axes = every if axis is None else axis if isinstance(axis, Sequence) else (axis,)
    axes = tuple(axis_number(one, source.ndim, operation) for one in axes)
    if len(axes) != len(lengths):
        raise BadValue(
            f"{operation}: windows of {lengths} for the axes {axes}, expected a length "
            "for each"
        )
    shape = list(source.shape)
    for one, length in zip(axes, lengths, strict=True):
        if not 0 <= length <= shape[one]:
            raise BadValue(
                f"{operation}: windows of {lengths} do not fit {source.shape} along "
                f"the axes {axes}"
            )
        shape[one] -= length - 1
    strides = (*source.strides, *(source.strides[one] for one in axes))
    read_only = source.broadcast_to((2, *source.shape))
    return read_only.strided((*shape, *lengths), strides)


def atleast_1d(*arrays: Any) -> Any:
    """Return the array with at least one axis; of several arrays, a tuple.

    >>> gpuarray.atleast_1d(gpuarray.asarray(5)).shape
    (1,)
    """
    return _each(
        "atleast_1d", arrays, lambda a: a.dimshuffle("x") if a.ndim == 0 else a
    )


def atleast_2d(*arrays: Any) -> Any:
    """Return the array with at least two axes, new ones in front; of several, a tuple.

    >>> gpuarray.atleast_2d(gpuarray.arange(3)).shape
    (1, 3)
    """
    return _each(
        "atleast_2d",
        arrays,
        lambda a: a.dimshuffle(*"xx"[a.ndim :], *range(a.ndim)) if a.ndim < 2 else a,
    )


def atleast_3d(*arrays: Any) -> Any:
    """Return the array with at least three axes; of several arrays, a tuple.

    A vector gets an axis at either side, a matrix one at the end.

    >>> gpuarray.atleast_3d(gpuarray.arange(3)).shape
    (1, 3, 1)
    """
    patterns: tuple[tuple[Any, ...], ...] = ("x", "x", "x"), ("x", 0, "x"), (0, 1, "x")
    return _each(
        "atleast_3d",
        arrays,
        lambda a: a.dimshuffle(*patterns[a.ndim]) if a.ndim < 3 else a,
    )


def _each(operation: str, arrays: Sequence[Any], change: Any) -> Any:
    changed = tuple(change(require(array, operation)) for array in arrays)
    return changed[0] if len(changed) == 1 else changed


# ---- diagonals ----


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return a view of the diagonal of two axes, which becomes the last axis.

    ``offset`` counts diagonals to the right of the main one.

    >>> print(gpuarray.diagonal(gpuarray.arange(6).reshape(2, 3), 1))
    [1 5]
    """
    ndim = require(a, "diagonal").ndim
    if ndim < 2:
        raise BadValue(f"diagonal: an array of shape {a.shape} has no two axes")
    first, second = (axis_number(axis, ndim, "diagonal") for axis in (axis1, axis2))
    if first == second:
        raise BadValue(f"diagonal: axis1 and axis2 are both {first}")
    try:
        shift = operator.index(offset)
    except TypeError:
        raise BadType(f"diagonal: offset {offset!r} is not an integer") from None
    shape, strides = list(a.shape), list(a.strides)
    down, right = max(-shift, 0), max(shift, 0)
    length = max(min(shape[first] - down, shape[second] - right), 0)
    start = down * strides[first] + right * strides[second] if length else 0
    step = strides[first] + strides[second]
    rest = [axis for axis in range(ndim) if axis not in (first, second)]
    return a.strided(
        [*(shape[axis] for axis in rest), length],
        [*(strides[axis] for axis in rest), step],
        start,
    )


def trace(
    a: Any,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: npt.DTypeLike | None = None,
    out: None = None,
) -> Any:
    """Return the sum of a diagonal of two axes, in ``dtype`` or NumPy's choice of it.

    >>> print(gpuarray.trace(gpuarray.arange(4).reshape(2, 2)))
    3
    """
    entries = diagonal(a, offset, axis1, axis2)
    return entries.sum(axis=-1, dtype=dtype, out=out)
