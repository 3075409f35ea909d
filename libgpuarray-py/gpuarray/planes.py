"""Diagonals, traces and cross products as the array API's ``linalg`` has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import axis_number, require_all
from gpuarray._manipulation import shaping
from gpuarray._manipulation.shaping import moveaxis
from gpuarray.errors import BadValue


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A view of the diagonals of the matrices in the last two axes.

    >>> print(gpuarray.linalg.diagonal(gpuarray.arange(4).reshape(2, 2)))
    [0 3]
    """
    return shaping.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Any:
    """The sums of the diagonals of the matrices in the last two axes.

    >>> print(gpuarray.linalg.trace(gpuarray.arange(8).reshape(2, 2, 2)))
    [ 3 11]
    """
    return shaping.trace(x, offset, -2, -1, dtype)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of 3 elements along ``axis``, which broadcast.

    BadValue unless the axis has 3 elements in both.

    >>> x, y = gpuarray.asarray([1.0, 0.0, 0.0]), gpuarray.asarray([0.0, 1.0, 0.0])
    >>> print(gpuarray.linalg.cross(x, y))
    [0. 0. 1.]
    """
    x1, x2 = require_all("cross", x1, x2)
    vectors = []
    for x in (x1, x2):
        number = axis_number(axis, x.ndim, "cross")
        if x.shape[number] != 3:
            raise BadValue(
                f"cross: axis {axis} of shape {x.shape} has {x.shape[number]} "
                "elements, expected 3"
            )
        vectors.append(moveaxis(x, number, -1))
    return moveaxis(crossed(*vectors), -1, axis)


def crossed(a: Any, b: Any) -> Any:
    """The cross products of vectors of 2 or 3 elements along the last axis.

    Of vectors of 2 alone it is the element that stands upright on them.
    """
    flat = a.shape[-1] == b.shape[-1] == 2
    parts = [_across(a, b, 0, 1)]
    if not flat:
        parts = [_across(a, b, 1, 2), _across(a, b, 2, 0), *parts]
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    out = a.allocate((*shape, len(parts)), parts[0].dtype, a.context, operation="cross")
    for i, part in enumerate(parts):
        out[..., i] = part
    return out[..., 0] if flat else out


def _across(a: Any, b: Any, i: int, j: int) -> Any:
    """``a[i] * b[j] - a[j] * b[i]``; a product with a third of two is left out."""
    is_first = i < a.shape[-1] and j < b.shape[-1]
    is_second = j < a.shape[-1] and i < b.shape[-1]
    first = a[..., i] * b[..., j] if is_first else None
    second = a[..., j] * b[..., i] if is_second else None
    if second is None:
        return first
    return -second if first is None else first - second
