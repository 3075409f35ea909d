"""Arrays of coordinates and indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_shape, require_callable
from gpuarray._core.base import BaseArray, require_all
from gpuarray._creation.arguments import Place
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import empty
from gpuarray._creation.ranges import arange
from gpuarray._indexing.advanced_indexing import INT64
from gpuarray._manipulation.shaping import broadcast_arrays
from gpuarray.errors import BadType, BadValue


def meshgrid(
    *arrays: Any,
    copy: bool = True,
    sparse: bool = False,
    indexing: Literal["xy", "ij"] = "xy",
) -> tuple[Any, ...]:
    """Return coordinate arrays for vectors of coordinates, one for each axis.

    With ``indexing='xy'`` the first two axes are swapped. ``sparse`` leaves length 1
    along the other axes; without ``copy`` the arrays are views.

    >>> x, y = gpuarray.meshgrid(gpuarray.arange(3), gpuarray.arange(2))
    >>> print(x)
    [[0 1 2]
     [0 1 2]]
    >>> print(y)
    [[0 0 0]
     [1 1 1]]
    """
    if indexing not in ("xy", "ij"):
        raise BadValue(f"meshgrid: indexing is {indexing!r}, expected 'xy' or 'ij'")
    ndim = len(arrays)
    shaped = []
    for i, vector in enumerate(require_all("meshgrid", *arrays)):
        place = 1 - i if indexing == "xy" and ndim > 1 and i < 2 else i
        shape = [1] * ndim
        shape[place] = -1
        shaped.append(vector.reshape(shape))
    grids = tuple(shaped) if sparse or not shaped else broadcast_arrays(*shaped)
    return tuple(grid.copy() for grid in grids) if copy else grids


def indices(
    dimensions: Sequence[int],
    dtype: npt.DTypeLike = int,
    sparse: bool = False,
    context: Place = None,
) -> Any:
    """Return the indices of the elements of an array of this shape, along each axis.

    One array with the axes along the first, or with ``sparse`` a tuple of arrays that
    broadcast.

    >>> print(gpuarray.indices((2, 2)).tolist())
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    shape = as_shape(dimensions, "indices")
    lines = []
    for i, length in enumerate(shape):
        line = [1] * len(shape)
        line[i] = length
        lines.append(arange(length, dtype=dtype, context=context).reshape(line))
    if sparse:
        return tuple(lines)
    result = empty((len(shape), *shape), dtype, context)
    for i, counts in enumerate(lines):
        result[i] = counts
    return result


class _Grid:
    """``mgrid`` and ``ogrid``: coordinates by slices in brackets, as NumPy's.

    Their arrays are made on the default context.

    >>> print(gpuarray.mgrid[0:2, 0:2].tolist())
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    >>> print(gpuarray.ogrid[0:3][0])
    0
    """

    __slots__ = ("_is_open",)

    def __init__(self, is_open: bool) -> None:
        self._is_open = is_open

    def __getitem__(self, index: Any) -> Any:
        grid = (np.ogrid if self._is_open else np.mgrid)[index]
        if isinstance(grid, tuple | list):
            return tuple(asarray(part) for part in grid)
        return asarray(grid)


mgrid = _Grid(False)
ogrid = _Grid(True)


def ix_(*sequences: Any) -> tuple[Any, ...]:
    """Return index arrays that together select the product of the sequences.

    At least one sequence is an array of the device, on which all results are; a mask
    becomes the indices of its true elements.

    >>> a = gpuarray.arange(9).reshape(3, 3)
    >>> print(a[gpuarray.ix_(gpuarray.asarray([0, 2]), gpuarray.asarray([1, 2]))])
    [[1 2]
     [7 8]]
    """
    like = next((x for x in sequences if isinstance(x, BaseArray)), None)
    if like is None:
        raise BadType("ix_: no sequence is a gpuarray array; use numpy.ix_")
    result = []
    for i, sequence in enumerate(sequences):
        vector = asarray(sequence, context=like.context)
        if vector.ndim != 1:
            raise BadValue(
                f"ix_: a sequence of shape {vector.shape}, expected a vector"
            )
        if vector.size == 0 and not isinstance(sequence, BaseArray):
            vector = vector.astype(INT64)
        places = vector.nonzero()[0] if vector.dtype.kind == "b" else vector
        shape = [1] * len(sequences)
        shape[i] = -1 if places.size else 0
        result.append(places.reshape(shape))
    return tuple(result)


def fromfunction(
    function: Callable[..., Any],
    shape: Sequence[int],
    *,
    dtype: npt.DTypeLike = float,
    context: Place = None,
    **options: Any,
) -> Any:
    """Return ``function`` of the coordinates of an array of this shape, called once.

    >>> print(gpuarray.fromfunction(lambda i, j: i + j, (2, 2)).tolist())
    [[0.0, 1.0], [1.0, 2.0]]
    """
    require_callable(function, "function", "fromfunction")
    return function(*indices(shape, dtype, context=context), **options)
