"""Variances, running sums with their start, differences, limits and rounding.

Functions composed of reductions, scans and rows of the table; the dtypes are NumPy's.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import (
    as_flag,
    as_integer,
    as_real,
    axes_numbers,
    axis_number,
)
from gpuarray._core.base import BaseArray, on_host, require, require_all
from gpuarray._kernels.codegen import convert, literal
from gpuarray._kernels.monoids import (
    COUNT,
    Accumulator,
    Axis,
    apply_reduction,
    axes_mask,
    counted,
    into,
    make_reduction,
    with_mask,
)
from gpuarray._manipulation.joining import concatenate
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.reduction import mean, mean_dtype, sum as sum_of, summed_dtype
from gpuarray._ufunc.scanning import cumprod, cumsum
from gpuarray.dtypes import (
    as_dtype,
    can_cast,
    kind_of,
    parts_dtype,
    work_ctype,
    work_dtype,
)
from gpuarray.errors import BadType, BadValue
from gpuarray.scalars import SCALARS

DType = np.dtype[Any]

# ---- variances ----


def var(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the variance over ``axis``; of integers in float64.

    The sum of squares is divided by the number of elements less ``correction``, or
    ``ddof``, its other name. ``mean``, with the axes kept, spares its computation. The
    mask ``where`` leaves elements out.

    >>> print(gpuarray.var(gpuarray.asarray([1.0, 3.0]), ddof=1))
    2.0
    """
    divisor = divisor_of("var", ddof, correction)
    return spread("var", a, axis, dtype, out, keepdims, mean, divisor, where)


def std(
    a: Any,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """Return the standard deviation, the square root of ``var``.

    >>> print(gpuarray.std(gpuarray.asarray([1.0, 3.0])))
    1.0
    """
    divisor = divisor_of("std", ddof, correction)
    return spread("std", a, axis, dtype, out, keepdims, mean, divisor, where)


class Divisor(NamedTuple):
    """The divisor of the squares: their count less a correction, ``least`` of none."""

    less: float
    least: float = 0.0

    @property
    def in_kernel(self) -> bool:
        """Return True for a correction so common that the kernel contains it."""
        return self.less in (0, 1)

    def text(self, count: str, dtype: DType) -> str:
        """Return its C text."""
        less, least = literal(self.less, dtype), literal(self.least, dtype)
        count = f"({work_ctype(dtype)}){count}"
        return f"({count} > {less} ? {count} - {less} : {least})"


def divisor_of(
    operation: str, ddof: float, correction: float | None, least: float = 0.0
) -> Divisor:
    """Return the divisor of a correction, of two names; BadValue if both are given."""
    if correction is not None and ddof != 0:
        raise BadValue(f"{operation}: ddof and correction are one thing; give one")
    name, less = ("ddof", ddof) if correction is None else ("correction", correction)
    if not isinstance(less, int | float):
        less = as_real(less, name, operation)
    return Divisor(less, least)


def spread(
    operation: str,
    array: Any,
    axis: Axis,
    dtype: npt.DTypeLike | None,
    out: Any,
    keepdims: bool,
    centre: Any,
    divisor: Divisor,
    where: Any,
) -> Any:
    """Return the variance, or for ``std`` its root, by two passes over the array."""
    source = require(array, operation)
    result = mean_dtype(operation, source, dtype)
    work = work_dtype(result)
    if axis is not None:
        axes_numbers(axis, source.ndim, operation)  # none of a 0-d array
    mask = axes_mask(axis, source.ndim, operation)
    keepdims = as_flag(keepdims, "keepdims", operation)
    if centre is None:
        centre = mean(source, axis, dtype=work, keepdims=True, where=where)
    require_all(operation, source, centre)
    if source.dtype.kind != "c" and centre.dtype.kind != "c":
        work = parts_dtype(work)
    is_root = operation.endswith("std")
    stored = parts_dtype(result if divisor.in_kernel else work)
    masked = where is not True
    reduction = _squares(source, centre, work, stored, divisor, is_root, masked)
    arrays = with_mask((source, centre), where, operation)
    variance = apply_reduction(reduction, arrays, mask, keepdims, operation)
    if divisor.in_kernel:
        return into(out, variance, operation)
    free: Any = _count(source, mask, keepdims, where, operation) - divisor.less
    if where is not True:
        free = FUNCTIONS["where"](free > 0, free, divisor.least)
    elif free <= 0:
        free = divisor.least
    variance = FUNCTIONS["true_divide"](variance, free)
    variance = FUNCTIONS["sqrt"](variance) if is_root else variance
    return into(out, variance.astype(parts_dtype(result), copy=False), operation)


def _count(
    array: BaseArray, mask: int, keepdims: bool, where: Any, operation: str
) -> Any:
    """The number of elements that are reduced: a number, or for a mask an array."""
    axes = tuple(i for i in range(array.ndim) if mask >> i & 1)
    if where is True:
        return math.prod(array.shape[i] for i in axes)
    _, present = with_mask((array,), where, operation)
    return sum_of(present, axes, keepdims=keepdims)


def _squares(
    array: Any,
    centre: Any,
    work: DType,
    stored: DType,
    divisor: Divisor,
    is_root: bool,
    masked: bool,
) -> Any:
    """The reduction that sums squared distances; it divides, if that is common."""
    known = divisor if divisor.in_kernel else None
    types = array.typecode, centre.typecode, work, stored
    key = "squares", *types, known, is_root, masked
    reduction = array.context._kernels.get(key)
    if reduction is not None:
        return reduction
    x, m = convert("x", array.dtype, work), convert("mean", centre.dtype, work)
    far = f"(({x}) - ({m}))"
    text = f"{far} * {far}"
    if work.kind == "c":
        parts = [f"(({x}).{p} - ({m}).{p})" for p in "xy"]
        text = " + ".join(f"{part} * {part}" for part in parts)
    real = parts_dtype(work)
    inputs = [("x", array.dtype), ("mean", centre.dtype)]
    summed = [Accumulator(SCALARS["add"], text, real)]
    if masked:
        inputs, summed = counted(inputs, summed)
    epilogue = None
    if known is not None:
        epilogue = f"v / {known.text(COUNT[masked], real)}"
        epilogue = f"sqrt({epilogue})" if is_root else epilogue
    reduction = make_reduction(
        array.context, "std" if is_root else "var", inputs, summed, stored, epilogue
    )
    array.context._kernels[key] = reduction
    return reduction


# ---- cumulative sums and products ----


def cumulative_sum(
    x: Any,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """The sums up to each element along ``axis``, which only a vector may leave out.

    With ``include_initial`` a 0 comes first, and the axis is longer by 1.

    >>> a = gpuarray.asarray([2, 3])
    >>> print(gpuarray.cumulative_sum(a, include_initial=True))
    [0 2 5]
    """
    return _cumulative(
        "cumulative_sum", cumsum, 0, x, axis, dtype, out, include_initial
    )


def cumulative_prod(
    x: Any,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """The products up to each element along ``axis``, which a vector may leave out.

    With ``include_initial`` a 1 comes first, and the axis is longer by 1.

    >>> a = gpuarray.asarray([2, 3])
    >>> print(gpuarray.cumulative_prod(a, include_initial=True))
    [1 2 6]
    """
    return _cumulative(
        "cumulative_prod", cumprod, 1, x, axis, dtype, out, include_initial
    )


def _cumulative(
    operation: str,
    function: Any,
    start: int,
    array: Any,
    axis: int | None,
    dtype: npt.DTypeLike | None,
    out: Any,
    include_initial: bool,
) -> Any:
    source = require(array, operation)
    source = source.reshape(1) if source.ndim == 0 else source
    if axis is None and source.ndim > 1:
        raise BadValue(
            f"{operation}: axis must be given for an array of {source.ndim} axes"
        )
    at = axis_number(0 if axis is None else axis, source.ndim, operation)
    if not include_initial:
        return function(source, at, dtype, out)
    if out is None:
        target = dtype if dtype is not None else summed_dtype(source, None)
        shape = list(source.shape)
        shape[at] += 1
        stored = as_dtype(target, operation)
        out = source.allocate(tuple(shape), stored, source.context, operation=operation)
    before = (slice(None),) * at
    out[(*before, slice(0, 1))] = start
    function(source, at, None, out[(*before, slice(1, None))])
    return out


# ---- differences ----


def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    """Return each element less the one before it along ``axis``, ``n`` times over.

    ``prepend`` and ``append`` are put at the ends of the axis first.

    >>> print(gpuarray.diff(gpuarray.asarray([1, 4, 9, 16])))
    [3 5 7]
    """
    source = require(a, "diff")
    times = as_integer(n, "n", "diff")
    if times < 0:
        raise BadValue(f"diff: n is {n}, expected 0 or more")
    if times == 0:
        return source
    if source.ndim == 0:
        raise BadValue("diff: a 0-d array has no differences")
    at = axis_number(axis, source.ndim, "diff")
    parts = [_end(source, prepend, at), source, _end(source, append, at)]
    present = [part for part in parts if part is not None]
    result = concatenate(present, at) if len(present) > 1 else source
    before = (slice(None),) * at
    minus = FUNCTIONS["not_equal" if result.dtype.kind == "b" else "subtract"]
    for _ in range(times):
        later = result[(*before, slice(1, None))]
        result = minus(later, result[(*before, slice(None, -1))])
    return result


def _end(source: Any, values: Any, axis: int) -> Any:
    """The array that ``diff`` puts at an end of an axis: a number has length 1."""
    if values is None:
        return None
    if not isinstance(values, BaseArray):
        host = on_host(values, "prepend or append", "diff")
        values = source.from_host(host, source.context)
    if values.ndim:
        return values
    shape = list(source.shape)
    shape[axis] = 1
    return values.broadcast_to(shape)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours of the raveled array, between ``to_`` values.

    >>> print(gpuarray.ediff1d(gpuarray.asarray([1, 4, 9]), to_begin=0))
    [0 3 5]
    """
    flat = require(ary, "ediff1d").ravel()
    if flat.dtype.kind == "b":
        raise BadType("ediff1d: bool has no difference; convert it: x.astype('int8')")
    between = flat[1:] - flat[:-1] if flat.size else flat
    parts = [_flat(between, to_begin), between, _flat(between, to_end)]
    present = [part for part in parts if part is not None]
    return concatenate(present) if len(present) > 1 else between


def _flat(like: Any, values: Any) -> Any:
    if values is None:
        return None
    array = values if isinstance(values, BaseArray) else np.asarray(values)
    if not can_cast(array.dtype, like.dtype, "same_kind"):
        raise BadType(
            f"ediff1d: values of {array.dtype} are not stored as {like.dtype}"
        )
    if isinstance(array, np.ndarray):
        array = like.from_host(array, like.context)
    return array.astype(like.dtype, copy=False).ravel()


# ---- limits and rounding ----


def clip(
    a: Any,
    min: Any = None,
    max: Any = None,
    out: Any = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
) -> Any:
    """Return elements limited to the interval from ``min`` to ``max``; None: no limit.

    ``a_min`` and ``a_max`` are NumPy's other names of the limits. A Python integer
    outside the dtype's range is no limit; TooLarge (OverflowError) if it leaves
    nothing. The result is the upper limit where the lower one is above it.

    >>> print(gpuarray.clip(gpuarray.arange(5), 1, 3))
    [1 1 2 3 3]
    """
    source = require(a, "clip")
    low = a_min if min is None else min
    high = a_max if max is None else max
    if kind_of(source.dtype) in "iu":
        limits = np.iinfo(source.dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    if low is None and high is None:
        return _stored(source, out, "clip")
    if high is None:
        return FUNCTIONS["maximum"](source, low, out=out)
    if low is None:
        return FUNCTIONS["minimum"](source, high, out=out)
    return FUNCTIONS["clip"](source, low, high, out=out)


def _stored(source: Any, out: Any, operation: str) -> Any:
    if out is None:
        return source.copy("K")
    if require(out, f"{operation}: out").shape != source.shape:
        raise BadValue(
            f"{operation}: out has shape {out.shape}, expected {source.shape}"
        )
    out[...] = source
    return out


def fix(x: Any, out: Any = None) -> Any:
    """Return the elements rounded towards 0, as ``trunc`` does.

    >>> print(gpuarray.fix(gpuarray.asarray([-1.7, 1.7])))
    [-1.  1.]
    """
    return FUNCTIONS["trunc"](require(x, "fix"), out=out)


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Return elements rounded to a number of decimals, halves to the even neighbour.

    Negative ``decimals`` round to tens, hundreds and so on. Integers stay integers.

    >>> print(gpuarray.round(gpuarray.asarray([0.5, 1.5, 2.25]), 1))
    [0.5 1.5 2.2]
    >>> print(gpuarray.round(gpuarray.asarray([14, 15, 16]), -1))
    [10 20 20]
    """
    source = require(a, "round")
    places = as_integer(decimals, "decimals", "round")
    is_exact = source.dtype.kind in "iu"
    if is_exact and places >= 0:
        return _stored(source, out, "round")
    rint = FUNCTIONS["rint"]
    if places == 0:
        return rint(source, out=out)
    scale = 10.0 ** abs(places)
    if is_exact:
        return _stored(
            (rint(source / scale) * scale).astype(source.dtype), out, "round"
        )
    if places > 0:
        return FUNCTIONS["true_divide"](rint(source * scale), scale, out=out)
    return FUNCTIONS["multiply"](rint(source / scale), scale, out=out)


around = round  # NumPy's other name
