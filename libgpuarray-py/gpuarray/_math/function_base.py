"""Numerical functions of samples: gradients, integrals, interpolation, convolution,
averages and covariances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_real, axes_numbers, axis_number
from gpuarray._core.base import (
    BaseArray,
    asnumpy,
    beside,
    on_host,
    require,
    require_all,
)
from gpuarray._kernels.monoids import Axis
from gpuarray._manipulation.joining import concatenate
from gpuarray._products.matmul import matmul
from gpuarray._sorting.searching import searchsorted
from gpuarray._sorting.sorting import argsort
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.reduction import mean, sum as sum_of
from gpuarray.dtypes import kind_of
from gpuarray.errors import BadType, BadValue

where = FUNCTIONS["where"]


def _at(axis: int, entry: Any) -> tuple[Any, ...]:
    """Return an index of one axis."""
    return (*(slice(None),) * axis, entry)


def _floating(array: Any) -> Any:
    """Return the array; integers and truth values as float64."""
    return array.astype(np.float64) if kind_of(array.dtype) in "biu" else array


# ---- differences and integrals ----


def gradient(
    f: Any, *varargs: Any, axis: Axis = None, edge_order: Literal[1, 2] = 1
) -> Any:
    """Return the derivative along each axis by central differences; one-sided at ends.

    ``varargs`` are the distances of samples: one number for all axes, or for each axis
    a number or the coordinates along it. A list of arrays for several axes.

    >>> print(gpuarray.gradient(gpuarray.asarray([1.0, 2.0, 4.0])))
    [1.  1.5 2. ]
    """
    source = require(f, "gradient")
    every = tuple(range(source.ndim))
    axes = every if axis is None else axes_numbers(axis, source.ndim, "gradient")
    if edge_order not in (1, 2):
        raise BadValue(f"gradient: edge_order is {edge_order}, expected 1 or 2")
    spaces = _spaces(varargs, axes, source)
    for number in axes:
        if source.shape[number] < edge_order + 1:
            raise BadValue(
                f"gradient: axis {number} has {source.shape[number]} elements, "
                f"expected {edge_order + 1} or more"
            )
    source = _floating(source)
    derivatives = [
        _along(source, number, space, edge_order)
        for number, space in zip(axes, spaces, strict=True)
    ]
    return derivatives[0] if len(axes) == 1 else tuple(derivatives)


def _spaces(
    distances: Sequence[Any], axes: Sequence[int], source: Any
) -> list[npt.NDArray[Any]]:
    """Return the samples' distances along each axis: one number, or one for each."""
    if not distances:
        return [np.ones(())] * len(axes)
    if len(distances) == 1 and np.ndim(distances[0]) == 0:
        return [np.asarray(distances[0], float)] * len(axes)
    if len(distances) != len(axes):
        raise BadType(f"gradient: {len(distances)} distances for {len(axes)} axes")
    spaces = []
    for axis, distance in zip(axes, distances, strict=True):
        space = asnumpy(distance)
        if space.ndim == 1:
            if len(space) != source.shape[axis]:
                raise BadValue(
                    f"gradient: {len(space)} coordinates along axis {axis} of length "
                    f"{source.shape[axis]}"
                )
            space = np.diff(space.astype(float))
            space = space[0] if (space == space[0]).all() else space
        elif space.ndim:
            raise BadValue(
                f"gradient: a distance of shape {space.shape}, expected a number, or "
                "the coordinates along an axis"
            )
        spaces.append(np.asarray(space, float))
    return spaces


def _along(source: Any, axis: int, space: npt.NDArray[Any], edge_order: int) -> Any:
    out = source.allocate(source.shape, source.dtype, source.context)
    x = [source[_at(axis, slice(i, source.shape[axis] - 2 + i))] for i in range(3)]
    inner = _at(axis, slice(1, -1))
    if space.ndim == 0:
        h = float(space)
        out[inner] = (x[2] - x[0]) / (2 * h)
        before = after = (h, h)
    else:
        h1, h2 = space[:-1], space[1:]
        weights = (-h2 / (h1 * (h1 + h2)), (h2 - h1) / (h1 * h2), h1 / (h2 * (h1 + h2)))
        shape = [-1 if i == axis else 1 for i in range(source.ndim)]
        total: Any = 0
        for part, weight in zip(x, weights, strict=True):
            host = weight.reshape(shape).astype(source.dtype)
            total = total + part * source.from_host(host, source.context)
        out[inner] = total
        before = float(space[0]), float(space[min(1, len(space) - 1)])
        after = float(space[-1]), float(space[max(len(space) - 2, 0)])
    for start, sign, distances in ((0, 1, before), (-1, -1, after)):
        values = [source[_at(axis, start + sign * i)] for i in range(edge_order + 1)]
        out[_at(axis, start)] = _end(values, sign, distances)
    return out


def _end(values: Sequence[Any], sign: int, distances: tuple[float, float]) -> Any:
    """Return the one-sided derivative at an end, from the elements that follow it."""
    h1, h2 = distances
    if len(values) == 2:
        return (values[1] - values[0]) / (sign * h1)
    a = -(2 * h1 + h2) / (h1 * (h1 + h2))
    b = (h1 + h2) / (h1 * h2)
    c = -h1 / (h2 * (h1 + h2))
    return (values[0] * a + values[1] * b + values[2] * c) * float(sign)


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Return the integral along ``axis`` by the trapezoidal rule.

    The samples are ``dx`` apart, or at the coordinates ``x``, of the axis or of each.

    >>> print(gpuarray.trapezoid(gpuarray.asarray([1.0, 2.0, 3.0])))
    4.0
    """
    source = require(y, "trapezoid")
    at = axis_number(axis, source.ndim, "trapezoid")
    apart: Any = dx
    if x is not None:
        places = beside("trapezoid", source, x)[1]
        own = 0 if places.ndim == 1 else at
        apart = places[_at(own, slice(1, None))] - places[_at(own, slice(None, -1))]
        if places.ndim == 1:
            apart = apart.reshape(*(-1 if i == at else 1 for i in range(source.ndim)))
    later, earlier = source[_at(at, slice(1, None))], source[_at(at, slice(None, -1))]
    return sum_of(apart * (later + earlier) / 2.0, at)


# ---- interpolation ----


def interp(
    x: Any,
    xp: Any,
    fp: Any,
    left: float | None = None,
    right: float | None = None,
    period: float | None = None,
) -> Any:
    """The linear interpolation at ``x`` of points (``xp``, ``fp``) of ascending ``xp``.

    Beyond them it is ``left`` and ``right``, else the first and last of ``fp``; with a
    ``period`` it repeats. float64, or complex128 where ``fp`` is complex.

    >>> x, y = gpuarray.asarray([0.0, 1.0]), gpuarray.asarray([0.0, 10.0])
    >>> print(gpuarray.interp(gpuarray.asarray([-1.0, 0.5]), x, y))
    [0. 5.]
    """
    places, ends, values = beside("interp", x, xp, fp)
    if ends.ndim != 1 or ends.shape != values.shape or ends.size == 0:
        raise BadValue(
            f"interp: points of shapes {ends.shape} and {values.shape}, expected two "
            "vectors of one length, not empty"
        )
    if "c" in (places.dtype.kind, ends.dtype.kind):
        raise BadType(
            "interp: x or xp is complex, expected real numbers; interpolate by "
            "their real parts"
        )
    places, ends = places.astype(np.float64), ends.astype(np.float64)
    values = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    if period is not None:
        places, ends, values = _wrapped(places, ends, values, float(period))
        left = right = None
    last = ends.size - 1
    low = (searchsorted(ends, places, "right") - 1).clip(0, max(last - 1, 0))
    high = (low + 1).clip(0, last)
    x0, x1, y0, y1 = ends[low], ends[high], values[low], values[high]
    slope = (y1 - y0) / (x1 - x0)
    result = slope * (places - x0) + y0
    result = where(places == x1, y1, result)
    first = values[0] if left is None else left
    result = where(places < ends[0], first, result)
    result = where(
        places > ends[last], values[last] if right is None else right, result
    )
    return where(FUNCTIONS["isnan"](places), places, result)


def _wrapped(
    places: Any, ends: Any, values: Any, period: float
) -> tuple[Any, Any, Any]:
    """Return the points of one period, with one more on either side."""
    if period == 0:
        raise BadValue(f"interp: period is {period}, expected a number other than 0")
    period = abs(period)
    ends = ends % period
    order = argsort(ends)
    ends, values = ends[order], values[order]
    ends = concatenate([ends[-1:] - period, ends, ends[:1] + period])
    values = concatenate([values[-1:], values, values[:1]])
    return places % period, ends, values


# ---- convolution ----


def convolve(a: Any, v: Any, mode: Literal["full", "same", "valid"] = "full") -> Any:
    """Return the convolution of vectors of lengths m and n: m + n - 1 elements.

    'same' returns the middle max(m, n) of them, 'valid' those where one vector lies
    wholly in the other.

    >>> a = gpuarray.asarray([1.0, 2.0, 3.0])
    >>> print(gpuarray.convolve(a, gpuarray.asarray([1.0, 1.0])))
    [1. 3. 5. 3.]
    """
    first, second = (_vector("convolve", x) for x in beside("convolve", a, v))
    if first.size < second.size:
        first, second = second, first
    return _slid("convolve", first, second[::-1], mode)


def correlate(a: Any, v: Any, mode: Literal["full", "same", "valid"] = "valid") -> Any:
    """The cross-correlation: products of ``a`` and the shifted conjugate of ``v``.

    >>> a = gpuarray.asarray([1.0, 2.0, 3.0])
    >>> print(gpuarray.correlate(a, gpuarray.asarray([0.0, 1.0])))
    [2. 3.]
    """
    first, second = (_vector("correlate", x) for x in beside("correlate", a, v))
    second = second.conj()
    if first.size >= second.size:
        return _slid("correlate", first, second, mode)
    return _slid("correlate", second, first, mode)[::-1]


def _vector(operation: str, array: Any) -> Any:
    if array.ndim > 1:
        raise BadValue(f"{operation}: shape {array.shape}, expected a vector")
    return array.reshape(-1)


def _slid(operation: str, long: Any, short: Any, mode: str) -> Any:
    """The products of ``short`` with windows of ``long``, zeros beyond its ends."""
    if short.size == 0:
        raise BadValue(
            f"{operation}: got vectors of {long.size} and {short.size} elements, "
            "expected 1 or more"
        )
    n, k = long.size, short.size
    before = {"full": k - 1, "same": k // 2, "valid": 0}.get(mode)
    if before is None:
        raise BadValue(
            f"{operation}: got mode {mode!r}, expected 'full', 'same' or 'valid'"
        )
    count = {"full": n + k - 1, "same": n, "valid": n - k + 1}[mode]
    dtype = np.result_type(long.dtype, short.dtype)
    padded = long.allocate((count + k - 1,), dtype, long.context, zeroed=True)
    padded[before : before + n] = long
    step = padded.itemsize
    windows = padded.strided((count, k), (step, step))
    return matmul(windows, short.astype(dtype, copy=False))


# ---- averages ----


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Return the weighted mean over ``axis``.

    ``weights`` have the shape of ``a``, or of the axis. ``returned`` adds the sum of
    the weights to the result.

    >>> a = gpuarray.asarray([1.0, 5.0])
    >>> print(gpuarray.average(a, weights=gpuarray.asarray([3.0, 1.0])))
    2.0
    """
    source = require(a, "average")
    if weights is None:
        result = mean(source, axis, keepdims=keepdims)
        count = source.size // max(result.size, 1)
        total = result * 0 + float(count) if returned else None
        return (result, total) if returned else result
    known = _along_axes(source, axis, weights)
    dtype = np.result_type(source.dtype, known.dtype)
    if kind_of(dtype) in "biu" or kind_of(source.dtype) in "biu":
        dtype = np.result_type(dtype, np.float64)
    total = sum_of(known.astype(dtype), axis, keepdims=keepdims)
    result = sum_of(source * known, axis, dtype, keepdims=keepdims) / total
    return (result, total) if returned else result


def _along_axes(source: Any, axis: Axis, weights: Any) -> Any:
    """Return the weights in the shape of the array."""
    array = weights
    if not isinstance(weights, BaseArray):
        array = source.from_host(on_host(weights, "weights", "average"), source.context)
    require_all("average", source, array)
    if array.shape == source.shape:
        return array
    if axis is None:
        raise BadType(
            f"average: weights of shape {array.shape} for an array of shape "
            f"{source.shape} need an axis"
        )
    axes = axes_numbers(axis, source.ndim, "average")
    if array.shape != tuple(source.shape[i] for i in axes):
        raise BadValue(
            f"average: weights of shape {array.shape} do not fit the axes {axes} of "
            f"shape {source.shape}"
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = [n if i in axes else 1 for i, n in enumerate(source.shape)]
    return array.transpose(*order).reshape(*shape).broadcast_to(source.shape)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
) -> Any:
    """The covariances of variables, the rows of ``m`` and ``y``; columns are samples.

    With ``rowvar`` False the other way round. Divided by the samples less ``ddof``, by
    default 1, or 0 with ``bias``. ``fweights`` are the samples' counts, ``aweights``
    their weights.

    >>> a = gpuarray.asarray([1.0, 2.0, 3.0])
    >>> print(gpuarray.cov(a, 2 * a))
    [[1. 2.]
     [2. 4.]]
    """
    if ddof is not None and as_real(ddof, "ddof", "cov") % 1 != 0:
        raise BadValue(f"cov: ddof is {ddof}, expected an integer")
    source = _rows(require(m, "cov"))
    source = source if rowvar or m.ndim < 2 else source.T
    if y is not None:
        more = _rows(require(y, "cov"))
        source = concatenate([source, more if rowvar or len(more) == 1 else more.T])
    if dtype is None:
        dtype = np.result_type(source.dtype, np.float64)
    source = source.astype(dtype, copy=False)
    less = (0 if bias else 1) if ddof is None else ddof
    weights = _sample_weights(source, fweights, aweights)
    free: Any = max(float(source.shape[1] - less), 0.0)
    if weights is None:
        away = source - mean(source, 1, keepdims=True)
        right = away
    else:
        middle, total = average(source, 1, weights, returned=True)
        free = total[0] - less
        if less and aweights is not None:
            heavy = weights * _as_vector(source, aweights)
            free = total[0] - less * heavy.sum() / total[0]
        free = FUNCTIONS["maximum"](free, 0)
        away = source - middle[:, None]
        right = away * weights
    product = matmul(away, right.conj().T)
    return (product / free).squeeze()


def _rows(array: Any) -> Any:
    if array.ndim > 2:
        raise BadValue(f"cov: shape {array.shape}, expected at most 2 axes")
    return array.reshape(1, -1) if array.ndim < 2 else array


def _as_vector(source: Any, weights: Any) -> Any:
    real = np.empty(0, source.dtype).real.dtype
    if not isinstance(weights, BaseArray):
        weights = source.from_host(np.asarray(weights, real), source.context)
    if weights.shape != source.shape[1:]:
        raise BadValue(
            f"cov: weights of shape {weights.shape} for {source.shape[1]} samples"
        )
    return weights.astype(real, copy=False)


def _sample_weights(source: Any, counts: Any, weights: Any) -> Any:
    if counts is None and weights is None:
        return None
    products = [
        _as_vector(source, vector) for vector in (counts, weights) if vector is not None
    ]
    return products[0] if len(products) == 1 else products[0] * products[1]


def corrcoef(
    x: Any, y: Any = None, rowvar: bool = True, *, dtype: npt.DTypeLike | None = None
) -> Any:
    """Return the correlations: covariances divided by both standard deviations.

    >>> a = gpuarray.asarray([1.0, 2.0, 3.0])
    >>> print(gpuarray.corrcoef(a, -a).round(6))
    [[ 1. -1.]
     [-1.  1.]]
    """
    matrix = cov(x, y, rowvar, dtype=dtype)
    if matrix.ndim == 0:
        return matrix / matrix
    size = matrix.shape[0]
    step = matrix.itemsize * (size + 1)
    own = matrix.strided((size,), (step,)).real
    deviation = FUNCTIONS["sqrt"](own)
    matrix = matrix / deviation[:, None] / deviation
    if matrix.dtype.kind == "c":
        matrix.real, matrix.imag = matrix.real.clip(-1, 1), matrix.imag.clip(-1, 1)
        return matrix
    return matrix.clip(-1, 1)
