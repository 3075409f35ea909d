"""Functions of stacks that NumPy has in another form outside of its ``linalg``."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import require_all
from gpuarray._manipulation import shaping
from gpuarray._products.contractions import crossed
from gpuarray.errors import BadValue


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Return a view of the diagonals of the matrices in the last two axes.

    >>> print(gpuarray.linalg.diagonal(gpuarray.arange(4).reshape(2, 2)))
    [0 3]
    """
    return shaping.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Any:
    """Return the sums of the diagonals of the matrices in the last two axes.

    >>> print(gpuarray.linalg.trace(gpuarray.arange(8).reshape(2, 2, 2)))
    [ 3 11]
    """
    return shaping.trace(x, offset, -2, -1, dtype)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of 3 elements along ``axis``; they broadcast.

    Raises BadValue unless the axis has 3 elements in both.

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
        vectors.append(shaping.moveaxis(x, number, -1))
    return shaping.moveaxis(crossed(*vectors), -1, axis)
