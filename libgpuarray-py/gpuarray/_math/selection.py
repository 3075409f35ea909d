"""``choose``, ``select``, ``piecewise``: results of several arrays' elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.arguments import as_list
from gpuarray._core.base import BaseArray, on_host, require, require_all
from gpuarray._core.info import result_type
from gpuarray._indexing.advanced_indexing import INT64, MODES
from gpuarray._indexing.indexing import as_values, assign
from gpuarray._manipulation.joining import stack
from gpuarray._manipulation.shaping import broadcast_arrays
from gpuarray._manipulation.take_put import as_mask, take_along_axis
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.dtypes import can_cast
from gpuarray.errors import BadArgument, BadType, BadValue, host_errors

where = FUNCTIONS["where"]


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Return elements of the first choice whose condition is true, else of ``default``.

    >>> a = gpuarray.arange(5)
    >>> print(gpuarray.select([a < 2, a > 3], [a, a * 10], default=-1))
    [ 0  1 -1 -1 40]
    """
    conditions = as_list(condlist, "condlist", "select")
    choices = as_list(choicelist, "choicelist", "select")
    if len(conditions) != len(choices) or not conditions:
        raise BadValue(
            f"select: {len(conditions)} conditions and {len(choices)} choices, "
            "expected one for each, and at least one"
        )
    result = default
    pairs = zip(reversed(conditions), reversed(choices), strict=True)
    for condition, choice in pairs:
        if require(condition, "select").dtype.kind != "b":
            raise BadType(f"select: a condition of {condition.dtype}, expected bool")
        result = where(condition, choice, result)
    return result


# ---- by numbers ----


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Return elements of the choices that have the numbers ``a``; all broadcast.

    ``choices`` is a sequence, or an array with the choices along its first axis. A
    number on a device that is none of a choice raises BadIndex when the context is next
    waited for; ``mode`` 'wrap' takes it modulo their count, 'clip' stops at the ends.

    >>> a = gpuarray.asarray([1, 0, 1])
    >>> print(gpuarray.choose(a, [gpuarray.asarray([1, 2, 3]), -1]))
    [-1  2 -1]
    """
    if not isinstance(mode, str) or mode not in MODES:
        raise BadValue(f"choose: got mode {mode!r}, expected 'raise', 'wrap' or 'clip'")
    options = _options(a, choices)
    numbers = _numbers(a, options, mode)
    count, shape = options.shape[0], options.shape[1:]
    try:
        shape = np.broadcast_shapes(numbers.shape, shape)
    except ValueError:
        raise BadValue(
            f"choose: numbers of shape {numbers.shape} and choices of {shape} do not "
            "broadcast"
        ) from None
    axes = (1,) * (len(shape) - options.ndim + 1)
    options = options.reshape(count, *axes, *options.shape[1:])
    options = options.broadcast_to((count, *shape))
    result = take_along_axis(options, numbers.broadcast_to(shape)[None], 0)[0, ...]
    return result if out is None else _stored(result, out)


def _options(a: Any, choices: Any) -> Any:
    """Return the choices as one array, of their common dtype and shape."""
    listed = (
        [choices]
        if isinstance(choices, BaseArray)
        else as_list(choices, "choices", "choose")
    )
    if not listed or getattr(choices, "shape", (1,))[:1] in ((), (0,)):
        raise BadValue("choose: there are no choices, expected one or more")
    arrays = [x for x in (a, *listed) if isinstance(x, BaseArray)]
    if not arrays:
        raise BadType(
            "choose: neither the numbers nor a choice is a gpuarray array; use "
            "numpy.choose, or gpuarray.asarray(x)"
        )
    require_all("choose", *arrays)
    if isinstance(choices, BaseArray):
        return choices
    numbers = BaseArray | bool | int | float | complex | np.generic
    with host_errors("choose"):
        listed = [x if isinstance(x, numbers) else np.asarray(x) for x in listed]
        dtype = result_type(*listed)
        common = arrays[0].allocate((0,), dtype, arrays[0].context)
        found = [as_values(common, x, "choose") for x in listed]
        found = [x.astype(dtype, copy=False) for x in found]
        return stack(broadcast_arrays(*found))


def _numbers(a: Any, options: BaseArray, mode: str) -> Any:
    """Return the numbers of choices on the device, in bounds but for ``raise``."""
    count = options.shape[0]
    numbers: Any = a if isinstance(a, BaseArray) else on_host(a, "a", "choose")
    if not can_cast(numbers.dtype, INT64, "safe"):
        raise BadType(
            f"choose: numbers of {numbers.dtype}, expected integers or truth values "
            "that cast to int64 safely"
        )
    numbers = numbers.astype(INT64)
    if not isinstance(a, BaseArray):
        wrong = numbers[(numbers < 0) | (numbers >= count)]
        if mode == "raise" and wrong.size:
            raise BadValue(
                f"choose: got the number {wrong[0]}, expected 0 to {count - 1}, one "
                "of the choices"
            )
        numbers = options.from_host(numbers, options.context)
    elif mode == "raise":
        return where(numbers < 0, count, numbers)  # not counted from the end
    return numbers % count if mode == "wrap" else numbers.clip(0, count - 1)


def _stored(result: Any, out: Any) -> Any:
    """Store the result in ``out``, whatever its dtype, as NumPy does."""
    if require(out, "choose: out").shape != result.shape:
        raise BadArgument(f"choose: out has shape {out.shape}, expected {result.shape}")
    assign(out, (), result)
    return out


# ---- by conditions ----


def piecewise(
    x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any
) -> Any:
    """Return, where a condition is true, its function of the elements there.

    Each of ``funclist`` is a function of a vector of elements, and of ``args`` and
    ``kw``, or a number; one more than there are conditions is for where none is true,
    else that is 0. Of several conditions the last one counts. A function's elements are
    waited for.

    >>> a = gpuarray.asarray([-2.0, 0.0, 4.0])
    >>> print(gpuarray.piecewise(a, [a < 0, a > 0], [lambda v: -v, lambda v: v * 10]))
    [ 2.  0. 40.]
    """
    source = require(x, "piecewise")
    masks = _conditions(source, condlist)
    functions = as_list(funclist, "funclist", "piecewise")
    if len(functions) not in (len(masks), len(masks) + 1):
        raise BadValue(
            f"piecewise: {len(functions)} functions for {len(masks)} conditions, "
            "expected one for each, and at most one more"
        )
    result = source.allocate(source.shape, source.dtype, source.context, zeroed=True)
    if len(functions) > len(masks):
        rest = ~functools.reduce(FUNCTIONS["logical_or"], masks)
        masks.append(rest)
    for mask, function in zip(masks, functions, strict=True):
        value = function
        if callable(function):
            chosen = source[mask]
            if not chosen.size:
                continue
            value = function(chosen, *args, **kw)
        assign(result, mask, value)
    return result


def _conditions(source: BaseArray, condlist: Any) -> list[Any]:
    """Return the masks, each of the array's shape; a vector is one by itself."""
    axes = getattr(condlist, "ndim", None)
    if axes is None:
        listed = (
            as_list(condlist, "condlist", "piecewise") if condlist is not None else []
        )
        first = listed[0] if listed and isinstance(condlist, list | tuple) else condlist
        axes = 1 + hasattr(first, "__len__")
    is_one = axes == 0 or (axes == 1 and source.ndim > 0)
    masks = [
        as_mask(mask, source, "piecewise")
        for mask in ([condlist] if is_one else condlist)
    ]
    for mask in masks:
        if mask.shape != source.shape:
            raise BadValue(
                f"piecewise: a condition of shape {mask.shape} for an array of shape "
                f"{source.shape}"
            )
    return masks
