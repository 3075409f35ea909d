"""Histograms in one or more dimensions, and ``bincount``.

Each element's bin is looked up, and the bin's weights are summed; elements outside
go to a bin of their own, which is left out.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_integer, as_list
from gpuarray._core.base import asnumpy, beside, require, require_all
from gpuarray._indexing.advanced_indexing import INT64
from gpuarray._manipulation.take_put import add_at
from gpuarray._sorting.searching import searchsorted
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.reduction import max as largest, min as smallest
from gpuarray.errors import BadType, BadValue, Unsupported

Edges = npt.NDArray[Any]
Limits = tuple[float, float] | None

where = FUNCTIONS["where"]


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Return how often each integer from 0 on occurs in a vector: int64.

    With ``weights`` the sum of the weights of each: float64. Waits for the largest
    element, which the length of the result depends on.

    >>> print(gpuarray.bincount(gpuarray.asarray([0, 1, 1, 3])))
    [1 2 0 1]
    """
    source = require(x, "bincount")
    if source.ndim != 1:
        raise BadValue(f"bincount: shape {source.shape}, expected a vector")
    if not np.can_cast(source.dtype, np.int64, "safe") or source.dtype.kind == "f":
        raise BadType(f"bincount: elements of {source.dtype}, expected integers")
    if as_integer(minlength, "minlength", "bincount") < 0:
        raise BadValue(f"bincount: minlength is {minlength}, expected 0 or more")
    length = minlength
    if not source.size:
        return source.allocate((length,), INT64, source.context, zeroed=True)
    if source.dtype.kind == "i" and (least := int(smallest(source))) < 0:
        raise BadValue(f"bincount: got the element {least}, expected 0 or more")
    length = max(length, int(largest(source)) + 1)
    return _counts(source.astype(INT64, copy=False), length, _doubles(weights, source))


def _doubles(weights: Any, source: Any) -> Any:
    if weights is None:
        return None
    _, array = beside("bincount", source, weights)
    if array.shape != source.shape:
        raise BadValue(
            f"bincount: {array.shape} weights for elements of shape {source.shape}"
        )
    return _widened("bincount", array)


def _widened(operation: str, weights: Any) -> Any:
    """Return the weights as float64."""
    if not np.can_cast(weights.dtype, np.float64, "safe"):
        raise BadType(
            f"{operation}: weights of {weights.dtype} are not stored as float64"
        )
    return weights.astype(np.float64, copy=False)


def _counts(places: Any, length: int, weights: Any) -> Any:
    """Return the sum of the weights of each of ``length`` bins; None: of ones."""
    dtype = INT64 if weights is None else weights.dtype
    out = places.allocate((length,), dtype, places.context, zeroed=True)
    add_at(out, places, 1 if weights is None else weights)
    return out


def histogram_bin_edges(
    a: Any, bins: int | Any = 10, range: Limits = None, weights: Any = None
) -> Any:
    """Return the edges of ``bins`` intervals of equal width over ``range``.

    None: from the smallest to the largest element, which are waited for. ``bins`` may
    be the edges themselves.

    >>> print(gpuarray.histogram_bin_edges(gpuarray.asarray([0.0, 4.0]), 2))
    [0. 2. 4.]
    """
    source = require(a, "histogram_bin_edges")
    if weights is not None:
        _weights("histogram_bin_edges", weights, source)
    edges = _edges("histogram_bin_edges", source, bins, range)
    return source.from_host(edges, source.context)


def _edges(operation: str, source: Any, bins: Any, limits: Limits) -> Edges:
    """Return the edges on the host, as NumPy computes them from the two extremes."""
    if isinstance(bins, str):
        raise Unsupported(
            f"{operation}: bins={bins!r} is not offered; give their number or edges"
        )
    edges = asnumpy(bins)
    extremes = np.empty(0, source.dtype)
    if edges.ndim == 0 and limits is None and source.size:
        extremes = np.array([np.asarray(f(source)) for f in (smallest, largest)])
    try:
        return np.histogram_bin_edges(extremes, edges[()], limits)
    except (TypeError, ValueError) as error:
        wrong = BadType if isinstance(error, TypeError) else BadValue
        raise wrong(f"{operation}: {error}") from None


def _places(source: Any, edges: Edges) -> Any:
    """Return bins from 1 on; 0 and one above the last: outside."""
    if not len(edges):
        return source.allocate(source.shape, INT64, source.context, zeroed=True)
    bins = searchsorted(source.from_host(edges, source.context), source, "right")
    last = edges.dtype.type(edges[-1]).item()
    return where(source == last, len(edges) - 1, bins)


def histogram(
    a: Any,
    bins: int | Any = 10,
    range: Limits = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any]:
    """Return the number of elements in each interval, and the intervals' edges.

    An interval includes its left end, the last one both. ``weights`` are summed up
    instead; ``density`` divides by the width and the total. Waits for the extremes
    unless ``range`` or the edges are given.

    >>> counts, edges = gpuarray.histogram(gpuarray.asarray([1.0, 2.0, 4.0]), 3)
    >>> print(counts, edges)
    [1 1 1] [1. 2. 3. 4.]
    """
    source = require(a, "histogram").ravel()
    if source.dtype.kind == "b":
        source = source.astype(np.uint8)
    edges = _edges("histogram", source, bins, range)
    known = None if weights is None else _weights("histogram", weights, a).ravel()
    counts = _counts(_places(source, edges), len(edges) + 1, known)[1:-1]
    ends = source.from_host(edges, source.context)
    if density:
        widths = source.from_host(np.diff(edges).astype(float), source.context)
        return counts / widths / counts.sum(), ends
    return counts.copy(), ends


def _weights(operation: str, weights: Any, like: Any) -> Any:
    array = require_all(operation, like, weights)[1]
    if array.shape != like.shape:
        raise BadValue(
            f"{operation}: weights of shape {array.shape} for elements of shape "
            f"{like.shape}"
        )
    return array


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Limits] | None = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, tuple[Any, ...]]:
    """Return the number of points, the rows of ``sample``, in each box, and the edges.

    ``bins`` and ``range`` as for ``histogram``, one for all columns or for each.
    float64.

    >>> points = gpuarray.asarray([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> counts, edges = gpuarray.histogramdd(points, 2)
    >>> print(counts)
    [[1. 0.]
     [0. 2.]]
    """
    points = require(sample, "histogramdd")
    if points.ndim < 2:  # one dimension
        points = points.reshape(-1, 1)
    if points.ndim != 2:
        raise BadValue(f"histogramdd: shape {points.shape}, expected rows of points")
    columns = [points[:, i] for i in builtins.range(points.shape[1])]
    listed = [bins] * len(columns) if _length(bins) is None else list(bins)
    limits = (
        [None] * len(columns)
        if range is None
        else as_list(range, "range", "histogramdd")
    )
    if len(listed) != len(columns) or len(limits) != len(columns):
        raise BadValue(
            f"histogramdd: {len(listed)} bins and {len(limits)} ranges for points of "
            f"{len(columns)} dimensions"
        )
    edges = [
        _edges("histogramdd", column, *bounds)
        for column, *bounds in zip(columns, listed, limits, strict=True)
    ]
    shape = [len(bounds) + 1 for bounds in edges]
    flat: Any = 0
    for column, bounds, length in zip(columns, edges, shape, strict=True):
        flat = flat * length + _places(column, bounds)
    known = None
    if weights is not None:
        known = _weights("histogramdd", weights, columns[0])
        known = _widened("histogramdd", known)
    counts = _counts(flat, math.prod(shape), known).reshape(*shape)
    inner = counts[tuple(slice(1, -1) for _ in shape)].astype(np.float64)
    ends = tuple(points.from_host(bounds, points.context) for bounds in edges)
    return (_density(inner, edges) if density else inner), ends


def _length(bins: Any) -> int | None:
    """Return the number of ``bins``; None for a number and a name."""
    try:
        return None if isinstance(bins, str) else len(bins)
    except TypeError:
        return None


def _density(counts: Any, edges: Sequence[Edges]) -> Any:
    total = counts.sum()
    for axis, limits in enumerate(edges):
        shape = [1] * counts.ndim
        shape[axis] = len(limits) - 1
        widths = np.diff(limits).astype(float).reshape(shape)
        counts = counts / counts.from_host(widths, counts.context)
    return counts / total


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Sequence[Limits] | None = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """``histogramdd`` of the points (x, y): the counts and the edges of each.

    >>> x = gpuarray.asarray([0.0, 1.0, 1.0])
    >>> counts, *edges = gpuarray.histogram2d(x, x, 2)
    >>> print(counts)
    [[1. 0.]
     [0. 2.]]
    """
    first, second = require_all("histogram2d", x, y)
    if first.ndim != 1 or first.shape != second.shape:
        raise BadValue(
            f"histogram2d: shapes {first.shape} and {second.shape}, expected two "
            "vectors of one length"
        )
    points = first.allocate(
        (first.size, 2), np.result_type(first.dtype, second.dtype), first.context
    )
    points[:, 0], points[:, 1] = first, second
    pair = [bins, bins] if _length(bins) not in (None, 1, 2) else bins
    counts, edges = histogramdd(points, pair, range, density, weights)
    return counts, *edges
