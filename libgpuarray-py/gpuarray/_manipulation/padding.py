"""``pad``: an array with new elements at the ends of its axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import on_host, require
from gpuarray._indexing.advanced_indexing import INT64, take_at
from gpuarray._indexing.indexing import as_values
from gpuarray._sorting.sorting import sort
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.errors import BadType, BadValue, Unsupported

Widths = list[tuple[int, int]]
_TAKEN = ("edge", "reflect", "symmetric", "wrap")
_KEYWORDS = {
    "constant": {"constant_values"},
    "edge": set(),
    "empty": set(),
    "linear_ramp": {"end_values"},
    "maximum": {"stat_length"},
    "mean": {"stat_length"},
    "median": {"stat_length"},
    "minimum": {"stat_length"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    "wrap": set(),
}


def pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    """Return the array with new elements before and behind it along each axis.

    ``pad_width`` is a number, a pair, a pair for each axis, or a dict of them by axis.
    ``mode`` is one of NumPy's names: 'constant' (``constant_values``), 'edge',
    'linear_ramp' (``end_values``), 'maximum', 'mean', 'median', 'minimum'
    (``stat_length``), 'reflect', 'symmetric' (``reflect_type='even'``), 'wrap',
    'empty'.

    >>> print(gpuarray.pad(gpuarray.asarray([1, 2, 3]), 2, "reflect"))
    [3 2 1 2 3 2 1]
    """
    source = require(array, "pad")
    if not isinstance(mode, str) or mode not in _KEYWORDS:
        raise BadValue(f"pad: mode is {mode!r}, expected one of {sorted(_KEYWORDS)}")
    unknown = set(options) - _KEYWORDS[mode]
    if unknown:
        raise BadValue(f"pad: mode {mode!r} takes no {sorted(unknown)}")
    widths = _widths(pad_width, source.ndim)
    if mode in _TAKEN:
        return _by_places(source, widths, mode, options.get("reflect_type", "even"))
    result = _framed(source, widths)
    if mode == "constant":
        values = _pairs(options.get("constant_values", 0), source.ndim)
        _fill(result, widths, lambda axis, side, _: values[axis][side])
    elif mode == "linear_ramp":
        ends = _pairs(options.get("end_values", 0), source.ndim)
        _fill(
            result,
            widths,
            lambda axis, side, inner: _ramp(
                inner, axis, side, widths[axis][side], ends[axis][side]
            ),
        )
    elif mode != "empty":
        lengths = _lengths(options.get("stat_length"), source.ndim)
        _fill(
            result,
            widths,
            lambda axis, side, inner: _statistic(
                inner, axis, side, lengths[axis][side], mode
            ),
        )
    return result


def _widths(widths: Any, ndim: int) -> Widths:
    if isinstance(widths, dict):
        listed = [(0, 0)] * ndim
        for axis, width in widths.items():
            listed[axis_number(axis, ndim, "pad")] = (
                width if isinstance(width, tuple) else (width, width)
            )
        widths = listed or 0
    host = on_host(widths, "pad_width", "pad")
    if host.dtype.kind not in "iu" and host.size:
        raise BadType(f"pad: pad_width of {host.dtype}, expected integers")
    if (host < 0).any():
        raise BadValue(f"pad: pad_width has {host.min()}, expected 0 or more")
    return [(int(a), int(b)) for a, b in _pairs(host, ndim)]


def _pairs(values: Any, ndim: int) -> list[tuple[Any, Any]]:
    """Return the pair before and behind each axis, of values that broadcast to that."""
    try:
        return [tuple(pair) for pair in np.broadcast_to(values, (ndim, 2)).tolist()]
    except ValueError:
        raise BadValue(
            f"pad: {values!r} does not stand for a pair for each of {ndim} axes"
        ) from None


def _lengths(lengths: Any, ndim: int) -> list[tuple[Any, Any]]:
    if lengths is None:
        return [(None, None)] * ndim
    pairs = _pairs(lengths, ndim)
    if any(length < 1 for pair in pairs for length in pair):
        raise BadValue(f"pad: stat_length is {lengths!r}, expected 1 or more")
    return pairs


# ---- modes that take the array's elements ----


def _by_places(source: Any, widths: Widths, mode: str, reflect_type: str) -> Any:
    """Pad axis after axis by taking elements."""
    if reflect_type not in ("even", "odd"):
        raise BadValue(f"pad: reflect_type is {reflect_type!r}, expected 'even'")
    if reflect_type == "odd":
        raise Unsupported("pad: reflect_type 'odd' is not offered, expected 'even'")
    result = source
    for axis, width in enumerate(widths):
        length = source.shape[axis]
        if width == (0, 0):
            continue
        if length == 0:
            raise BadValue(f"pad: axis {axis} has no elements to take for {mode!r}")
        counts = np.arange(length, dtype=INT64)
        places = np.pad(counts, width, mode)  # type: ignore[call-overload]
        index = source.from_host(places, source.context)
        result = take_at(result, [index], axis)
    return result.copy() if result is source else result


# ---- modes that compute values ----


def _framed(source: Any, widths: Widths) -> Any:
    """Return a new array with the elements in its middle, uninitialized around them."""
    shape = tuple(
        before + length + behind
        for length, (before, behind) in zip(source.shape, widths, strict=True)
    )
    result = source.allocate(shape, source.dtype, source.context, operation="pad")
    inside = tuple(
        slice(before, before + length)
        for length, (before, _) in zip(source.shape, widths, strict=True)
    )
    result[inside] = source
    return result


def _fill(result: Any, widths: Widths, value: Callable[[int, int, Any], Any]) -> None:
    """Set both ends along each axis, in the part filled along the axes before it."""
    for axis, (before, behind) in enumerate(widths):
        stop = result.shape[axis] - behind
        rest = tuple(
            slice(None) if i <= axis else slice(front, result.shape[i] - back)
            for i, (front, back) in enumerate(widths)
        )
        inner = result[(*rest[:axis], slice(before, stop), *rest[axis + 1 :])]
        ends = slice(0, before), slice(stop, None)
        for side, end in enumerate(ends):
            if (before, behind)[side]:
                part = (*rest[:axis], end, *rest[axis + 1 :])
                result[part] = value(axis, side, inner)


def _line(axis: int, place: slice) -> tuple[slice, ...]:
    return (*((slice(None),) * axis), place)


def _ramp(inner: Any, axis: int, side: int, width: int, end: Any) -> Any:
    """Return equal steps from the edge to ``end``, which the outer element has."""
    if inner.shape[axis] == 0:
        raise BadValue(f"pad: axis {axis} has no edge to start a ramp from")
    edge = inner[_line(axis, slice(0, 1) if side == 0 else slice(-1, None))]
    shape = [1] * inner.ndim
    shape[axis] = width
    is_exact = inner.dtype.kind in "biu"
    work = np.dtype(np.float64) if is_exact else inner.dtype
    counts = np.arange(width)
    parts = counts if side == 0 else counts[::-1]
    share = inner.from_host((parts / width).reshape(shape).astype(work), inner.context)
    last = as_values(edge, end, "pad").astype(work)
    ramp = (edge.astype(work) - last) * share + last
    floor = FUNCTIONS["floor"]
    return floor(ramp).astype(inner.dtype) if is_exact else ramp


def _statistic(inner: Any, axis: int, side: int, length: Any, mode: str) -> Any:
    """Return the maximum, minimum, mean or median of the elements near an end."""
    if inner.shape[axis] == 0:
        raise BadValue(f"pad: axis {axis} has no elements for the mode {mode!r}")
    near = min(length or inner.shape[axis], inner.shape[axis])
    ends = slice(0, near), slice(inner.shape[axis] - near, None)
    part = inner[_line(axis, ends[side])]
    if mode in ("maximum", "minimum"):
        reduce = part.max if mode == "maximum" else part.min
        return reduce(axis=axis, keepdims=True)
    if mode == "mean":
        middle = part.mean(axis=axis, keepdims=True)
    else:
        middle = _median(part, axis)
    is_exact = inner.dtype.kind in "iu"
    return FUNCTIONS["rint"](middle).astype(inner.dtype) if is_exact else middle


def _median(part: Any, axis: int) -> Any:
    ordered, count = sort(part, axis), part.shape[axis]
    low = ordered[_line(axis, slice((count - 1) // 2, (count - 1) // 2 + 1))]
    high = ordered[_line(axis, slice(count // 2, count // 2 + 1))]
    if part.dtype.kind in "biu":
        low, high = low.astype(np.float64), high.astype(np.float64)
    return (low + high) / 2
