"""Quantiles, medians and percentiles, also of the elements that are not nan.

The array is sorted along the axis; a quantile lies at a position between two
neighbours, which the method computes from the number of elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import axes_numbers
from gpuarray._core.base import BaseArray, asnumpy, require
from gpuarray._indexing.advanced_indexing import INT64
from gpuarray._kernels.monoids import Axis, into
from gpuarray._manipulation.joining import stack
from gpuarray._manipulation.take_put import take_along_axis
from gpuarray._sorting.sorting import argsort, sort
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.reduction import mean, sum as sum_of
from gpuarray._ufunc.scanning import cumsum
from gpuarray.dtypes import kind_of
from gpuarray.errors import BadIndex, BadType, BadValue

Place = Callable[[Any, Any], tuple[Any, Any]]

where, isnan, clip = FUNCTIONS["where"], FUNCTIONS["isnan"], FUNCTIONS["clip"]


def _either(name: str) -> Callable[..., Any]:
    """Return a function: the table's for arrays on the device, NumPy's for the host."""
    tables, numpys = FUNCTIONS[name], getattr(np, name)

    def apply(x: Any, *limits: Any) -> Any:
        return (tables if isinstance(x, BaseArray) else numpys)(x, *limits)

    return apply


floor_any, ceil_any, rint_any = _either("floor"), _either("ceil"), _either("rint")
clip_any = _either("clip")


# ---- methods: the position of a quantile among n sorted elements ----


def _between(alpha: float, beta: float) -> Place:
    """Return the method of Hyndman and Fan's interpolating family; linear is (1, 1)."""

    def place(n: Any, q: Any) -> tuple[Any, Any]:
        at = n * q + (alpha + q * (1 - alpha - beta)) - 1
        at = clip_any(at, 0, n - 1)
        return floor_any(at), at - floor_any(at)

    return place


def _rounded(how: Callable[[Any], Any]) -> Place:
    """Return the method of the element next to the position of the linear method."""

    def place(n: Any, q: Any) -> tuple[Any, Any]:
        at = how((n - 1) * q)
        return at, at * 0

    return place


def _midpoint(n: Any, q: Any) -> tuple[Any, Any]:
    at = (n - 1) * q
    return floor_any(at), (ceil_any(at) - floor_any(at)) * 0.5


def _inverted(n: Any, q: Any) -> tuple[Any, Any]:
    at = ceil_any(n * q) - 1
    return at, at * 0


def _averaged(n: Any, q: Any) -> tuple[Any, Any]:
    at = n * q - 1
    is_step = (ceil_any(at) == at) & (at >= 0) & (at < n - 1)
    return ceil_any(at), is_step * 0.5


def _closest(n: Any, q: Any) -> tuple[Any, Any]:
    """The element whose step is nearest; of two equally near the one of even rank."""
    at = rint_any(n * q) - 1
    return at, at * 0


class Method(NamedTuple):
    """The position of a quantile, and whether it may be between two elements.

    A position outside the first or last element means that one.
    """

    place: Place
    interpolates: bool = True


METHODS = {
    "linear": Method(_between(1, 1)),
    "lower": Method(_rounded(floor_any), interpolates=False),
    "higher": Method(_rounded(ceil_any), interpolates=False),
    "nearest": Method(_rounded(rint_any), interpolates=False),
    "midpoint": Method(_midpoint),
    "inverted_cdf": Method(_inverted, interpolates=False),
    "averaged_inverted_cdf": Method(_averaged),
    "closest_observation": Method(_closest, interpolates=False),
    "interpolated_inverted_cdf": Method(_between(0, 1)),
    "hazen": Method(_between(0.5, 0.5)),
    "weibull": Method(_between(0, 0)),
    "median_unbiased": Method(_between(1 / 3, 1 / 3)),
    "normal_unbiased": Method(_between(3 / 8, 3 / 8)),
}


# ---- the public functions ----


def median(
    array: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle element over ``axis``, or the mean of the two; nan if there is one.

    Integers give float64, floats their dtype.

    >>> print(gpuarray.median(gpuarray.asarray([5.0, 1.0, 2.0, 4.0])))
    3.0
    """
    rows, finish = _rows("median", array, axis, keepdims, out)
    _require_rows("median", rows, axis)
    return finish(_middle(rows))


def _middle(rows: Any) -> Any:
    n = rows.shape[-1]
    if n == 0:
        return mean(rows, -1)
    ordered = sort(rows)
    middle = mean(ordered[..., (n - 1) // 2 : n // 2 + 1], -1)
    return _nan_kept(middle, ordered)


def quantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return the ``q``-quantile over ``axis``, ``q`` from 0 to 1.

    ``q`` may be an array, whose axes come first in the result. ``method`` is NumPy's
    name of the interpolation between two elements. nan if there is one. ``weights``, of
    the array's shape or of the axis, are taken by the method ``inverted_cdf``.

    >>> a = gpuarray.asarray([1.0, 2.0, 3.0])
    >>> print(gpuarray.quantile(a, [0.25, 1.0]))
    [1.5 3. ]
    >>> print(gpuarray.quantile(a, 0.25, method="lower"))
    1.0
    """
    return _quantile("quantile", a, q, 1, axis, out, method, keepdims, weights)


def percentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """``quantile`` with ``q`` from 0 to 100.

    >>> print(gpuarray.percentile(gpuarray.asarray([1.0, 2.0, 3.0]), 50))
    2.0
    """
    return _quantile("percentile", a, q, 100, axis, out, method, keepdims, weights)


def nanmedian(
    a: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return ``median`` of the elements that are not nan; nan if all are.

    >>> print(gpuarray.nanmedian(gpuarray.asarray([5.0, np.nan, 1.0])))
    3.0
    """
    rows, finish = _rows("nanmedian", a, axis, keepdims, out)
    if kind_of(rows.dtype) not in "fc" or rows.shape[-1] == 0:
        return finish(_middle(rows))
    ordered, count = sort(rows), _count(rows)
    low = _at(ordered, (count - 1) // 2)
    high = _at(ordered, count // 2)
    return finish(mean(stack([low, high]), 0))


def nanquantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Return ``quantile`` of the elements that are not nan; nan if all are.

    >>> print(gpuarray.nanquantile(gpuarray.asarray([5.0, np.nan, 1.0]), 0.25))
    2.0
    """
    return _nanquantile("nanquantile", a, q, 1, axis, out, method, keepdims, weights)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """``nanquantile`` with ``q`` from 0 to 100.

    >>> print(gpuarray.nanpercentile(gpuarray.asarray([5.0, np.nan, 1.0]), 25))
    2.0
    """
    return _nanquantile(
        "nanpercentile", a, q, 100, axis, out, method, keepdims, weights
    )


# ---- the computation ----


def _rows(
    operation: str, array: Any, axis: Axis, keepdims: bool = False, out: Any = None
) -> tuple[Any, Callable[[Any], Any]]:
    """Return the array with the axes raveled into a last one, and the result's finish.

    The result may have more axes in front.
    """
    source = require(array, operation)
    every = tuple(range(source.ndim))
    axes = every if axis is None else axes_numbers(axis, source.ndim, operation)
    rest = [i for i in every if i not in axes]
    lengths = [source.shape[i] for i in rest]
    count = math.prod(source.shape[i] for i in axes)
    rows = source.transpose(*rest, *axes).reshape(*lengths, count)
    reduced = [1 if i in axes else n for i, n in enumerate(source.shape)]

    def finish(result: Any) -> Any:
        if keepdims:
            front = result.shape[: result.ndim - len(lengths)]
            result = result.reshape(*front, *reduced)
        return into(out, result, operation)

    return rows, finish


def _require_rows(operation: str, rows: Any, axis: Axis) -> None:
    """Raise BadValue if several axes are reduced for an empty array of rows."""
    listed = tuple(axis) if isinstance(axis, Sequence) else ()
    if len(listed) > 1 and 0 in rows.shape[:-1]:
        raise BadValue(
            f"{operation}: the axes {listed} are reduced for each of no rows of "
            f"the others, which have lengths {rows.shape[:-1]}; give one axis"
        )


def _shares(
    operation: str, q: Any, scale: int, dtype: np.dtype[Any]
) -> tuple[npt.NDArray[Any], np.dtype[Any]]:
    """Return ``q`` on the host, as shares from 0 to 1, and its dtype.

    A Python number has that of floats, but not to count elements with.
    """
    is_number = isinstance(q, int | float) and not isinstance(q, np.generic)
    is_weak = is_number and dtype.kind == "f"
    shares = np.asarray(q, np.float64) if is_weak else asnumpy(q)
    if shares.dtype.kind not in "fiub":
        raise BadType(f"{operation}: q of {shares.dtype}, expected real numbers")
    shares = np.true_divide(shares, shares.dtype.type(scale)) if scale != 1 else shares
    if not ((shares >= 0) & (shares <= 1)).all():
        raise BadValue(f"{operation}: q is {q!r}, expected numbers from 0 to {scale}")
    return shares, dtype if is_weak else shares.dtype


def _chosen(operation: str, method: str, weights: Any) -> Method:
    if weights is not None and method != "inverted_cdf":
        raise BadValue(
            f"{operation}: got weights and the method {method!r}; only 'inverted_cdf' "
            "takes weights"
        )
    if not isinstance(method, str) or method not in METHODS:
        raise BadValue(
            f"{operation}: got method {method!r}, expected one of {', '.join(METHODS)}"
        )
    return METHODS[method]


def _quantile(
    operation: str,
    array: Any,
    q: Any,
    scale: int,
    axis: Axis,
    out: Any,
    method: str,
    keepdims: bool,
    weights: Any,
) -> Any:
    how = _chosen(operation, method, weights)
    if require(array, operation).dtype.kind in "cb":
        raise BadType(f"{operation}: elements of {array.dtype}, expected real numbers")
    rows, finish = _rows(operation, array, axis, keepdims, out)
    shares, kind = _shares(operation, q, scale, rows.dtype)
    n = rows.shape[-1]
    _require_rows(operation, rows, axis)
    if n == 0:
        raise BadIndex(
            f"{operation}: the array has no element to take, expected one or more"
        )
    if weights is not None:
        heavy = _weights(operation, weights, array, axis)
        return finish(_weighted(rows, heavy, shares, keeps_nan=True))
    ordered, results = sort(rows), []
    for share in shares.ravel():
        low, part = how.place(n, share)
        first, part = min(max(int(low), 0), n - 1), kind.type(part)
        after = ordered[..., min(first + 1, n - 1)]
        value = ordered[..., first]
        if how.interpolates:
            value = value.astype(np.result_type(value.dtype, kind), copy=False)
        if part > 0:
            value = _mixed(value, after, part, part >= 0.5)
        results.append(_nan_kept(value, ordered))
    return finish(_gathered(results, shares.shape, rows))


def _nanquantile(
    operation: str,
    array: Any,
    q: Any,
    scale: int,
    axis: Axis,
    out: Any,
    method: str,
    keepdims: bool,
    weights: Any,
) -> Any:
    source = require(array, operation)
    if kind_of(source.dtype) != "f" and (source.size or source.dtype.kind in "cb"):
        return _quantile(
            operation, array, q, scale, axis, out, method, keepdims, weights
        )
    how = _chosen(operation, method, weights)
    rows, finish = _rows(operation, array, axis, keepdims, out)
    shares, kind = _shares(operation, q, scale, rows.dtype)
    if rows.shape[-1] == 0:
        empty = mean(rows, -1)
        return finish(empty.broadcast_to((*shares.shape, *empty.shape)).copy())
    if weights is not None:
        heavy = _weights(operation, weights, array, axis)
        heavy = where(isnan(rows), 0, heavy)
        return finish(_weighted(rows, heavy, shares, keeps_nan=False))
    ordered, count, results = sort(rows), _count(rows), []
    known = count.astype(np.result_type(kind, np.float32))
    for share in shares.ravel():
        low, part = how.place(known, known.dtype.type(share))
        value, after = (
            _at(ordered, low.astype(INT64)),
            _at(ordered, low.astype(INT64) + 1),
        )
        if how.interpolates:
            part = part.astype(np.result_type(kind, rows.dtype))
            near, far = (_mixed(value, after, part, end) for end in (False, True))
            value = where(part > 0, where(part >= 0.5, far, near), value)
        results.append(value)
    return finish(_gathered(results, shares.shape, rows))


def _weights(operation: str, weights: Any, array: Any, axis: Axis) -> Any:
    """The weights of the elements of the array's rows; waits to check their sign.

    They have the array's shape, or that of the axes that are reduced.
    """
    listed = require(weights, f"{operation}: weights")
    if bool((listed < 0).any()):
        raise BadValue(f"{operation}: a weight is negative, expected 0 or more")
    if listed.shape != array.shape:
        if axis is None:
            raise BadType(
                f"{operation}: weights have shape {listed.shape}, the array has "
                f"{array.shape}: give the axis that they belong to"
            )
        axes = axes_numbers(axis, array.ndim, operation)
        expected = tuple(array.shape[i] for i in axes)
        if listed.shape != expected:
            raise BadValue(
                f"{operation}: weights have shape {listed.shape}, expected {expected} "
                f"or {array.shape}"
            )
        listed = listed.transpose(*np.argsort(axes))
        lengths = [n if i in axes else 1 for i, n in enumerate(array.shape)]
        listed = listed.reshape(*lengths).broadcast_to(array.shape)
    return _rows(operation, listed, axis)[0]


def _weighted(
    rows: Any, weights: Any, shares: npt.NDArray[Any], keeps_nan: bool
) -> Any:
    """Return the first element of each row up to which a share of its weights lies."""
    order = argsort(rows)
    ordered = take_along_axis(rows, order, -1)
    wide = np.float64 if rows.context.has_double else np.float32
    risen = cumsum(take_along_axis(weights, order, -1), -1, wide)
    risen = risen / risen[..., -1:]
    risen = where(risen == 0, -1, risen)  # so that a share of 0 finds a weight
    results = []
    for share in shares.ravel():
        value = _at(ordered, sum_of(risen < float(share), -1))
        results.append(_nan_kept(value, ordered) if keeps_nan else value)
    return _gathered(results, shares.shape, rows)


def _mixed(low: Any, high: Any, part: Any, from_high: bool) -> Any:
    """Return the linear interpolation from ``low`` to ``high``, from the nearer end."""
    apart = high - low
    return high - apart * (1 - part) if from_high else low + apart * part


def _nan_kept(result: Any, ordered: Any) -> Any:
    """Return the result, nan where the last of the sorted elements is nan."""
    if kind_of(ordered.dtype) not in "fc":
        return result
    return where(isnan(ordered[..., -1]), math.nan, result)


def _count(rows: Any) -> Any:
    """Return the number of elements of each row that are not nan: int64."""
    return sum_of(FUNCTIONS["logical_not"](isnan(rows)), -1)


def _at(ordered: Any, place: Any) -> Any:
    """Return the element of each row at a position, which is clipped to the row."""
    inside = clip(place, 0, ordered.shape[-1] - 1)
    return take_along_axis(ordered, inside[..., None], -1)[..., 0]


def _gathered(results: list[Any], shape: tuple[int, ...], rows: Any) -> Any:
    """Return the results of all shares, their axes in front."""
    lengths = rows.shape[:-1]
    if shape == ():
        return results[0]
    if not results:
        dtype = np.result_type(rows.dtype, np.float64)
        return rows.allocate((*shape, *lengths), dtype, rows.context)
    return stack(results).reshape(*shape, *lengths)
