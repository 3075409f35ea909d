"""A user's function applied to each slice of an array along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuarray._core.arguments import as_list, axis_number, require_callable
from gpuarray._core.base import require
from gpuarray._creation.conversion import asarray
from gpuarray._manipulation.joining import stack
from gpuarray._manipulation.shaping import expand_dims, moveaxis
from gpuarray.errors import BadValue


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """Return ``func1d`` of each vector along ``axis``, called for each: slow for many.

    >>> a = gpuarray.asarray([[3, 1], [2, 4]])
    >>> print(gpuarray.apply_along_axis(lambda v: v.max() - v, 1, a).tolist())
    [[0, 2], [2, 0]]
    """
    source = require(arr, "apply_along_axis")
    require_callable(func1d, "func1d", "apply_along_axis")
    at = axis_number(axis, source.ndim, "apply_along_axis")
    rows = moveaxis(source, at, -1)
    lengths = rows.shape[:-1]
    if 0 in lengths:
        raise BadValue(
            f"apply_along_axis: an array of shape {source.shape} has no vector along "
            f"axis {axis}, expected one or more"
        )
    results = [
        asarray(func1d(rows[place], *args, **kwargs), context=source.context)
        for place in np.ndindex(*lengths)
    ]
    stacked = stack(results).reshape(*lengths, *results[0].shape)
    first = len(lengths)
    moved = range(first, first + results[0].ndim)
    return moveaxis(stacked, tuple(moved), tuple(at + i for i in range(len(moved))))


def apply_over_axes(
    func: Callable[[Any, int], Any], a: Any, axes: int | Sequence[int]
) -> Any:
    """Return ``func(a, axis)`` for one axis after the other; reduced axes are kept.

    >>> a = gpuarray.ones((2, 3))
    >>> print(gpuarray.apply_over_axes(gpuarray.sum, a, [0, 1]))
    [[6.]]
    """
    value = source = require(a, "apply_over_axes")
    require_callable(func, "func", "apply_over_axes")
    listed = (
        [axes] if isinstance(axes, int) else as_list(axes, "axes", "apply_over_axes")
    )
    for axis in listed:
        at = axis_number(axis, source.ndim, "apply_over_axes")
        result = func(value, at)
        require(result, "apply_over_axes: the function's result")
        if result.ndim == value.ndim - 1:
            result = expand_dims(result, at)
        if result.ndim != value.ndim:
            raise BadValue(
                f"apply_over_axes: the function gave an array of {result.ndim} axes "
                f"for one of {value.ndim}, expected as many, or one less"
            )
        value = result
    return value
