"""``pad``: an array with more elements at its ends, copied or computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError, GraphValueError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.broadcast.axes import expand_dims
from gpuarray.compiler.ops.creation.creation import alloc, counted
from gpuarray.compiler.ops.creation.joining import as_length
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index, set_subtensor
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, is_constant

Width = tuple[Variable, Variable]

KEYWORDS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
}


def pad(x: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Variable:
    """Return ``x`` with elements added before and after it along each axis.

    ``pad_width`` is an integer, a pair, or a pair for each axis, of integers or integer
    scalars. ``mode`` is one of NumPy's names: 'constant' (``constant_values``), 'edge',
    'linear_ramp' (``end_values``), 'maximum', 'mean', 'minimum' (of whole lines),
    'reflect', 'symmetric' (``reflect_type='even'``), 'wrap'. Copying from an axis
    without elements is an error when the program runs.
    """
    variable = as_tensor_variable(x)
    if not isinstance(mode, str) or mode not in KEYWORDS:
        raise GraphValueError(
            f"pad: mode is {mode!r}, expected one of {sorted(KEYWORDS)}"
        )
    if unknown := set(options) - set(KEYWORDS[mode]):
        raise GraphValueError(f"pad: mode {mode!r} takes no {sorted(unknown)}")
    if options.get("reflect_type", "even") != "even":
        raise GraphValueError("pad: reflect_type is not 'even', the only one offered")
    if options.get("stat_length") is not None:
        raise GraphValueError("pad: stat_length is not None, the only one offered")
    widths = [
        (_width(before), _width(behind))
        for before, behind in pairs("pad_width", pad_width, variable.type.ndim)
    ]
    if mode in PLACES:
        return _by_places(variable, widths, PLACES[mode])
    if mode == "constant":
        values = options.get("constant_values", 0)
        return _constant(variable, widths, values)
    for axis, width in enumerate(widths):
        if not all(is_constant(end, 0) for end in width):
            variable = _made_up(variable, axis, width, mode, options)
    return variable


def pairs(name: str, argument: Any, ndim: int) -> list[tuple[Any, Any]]:
    """Return the padding before and after each axis, from a number or pairs."""
    if not isinstance(argument, (list, tuple, np.ndarray)):
        return [(argument, argument)] * ndim
    listed = [
        list(item) if isinstance(item, (list, tuple, np.ndarray)) else item
        for item in argument
    ]
    nested = [item for item in listed if isinstance(item, list)]
    if not nested:
        listed, nested = [listed], [listed]
    fits = len(nested) == len(listed) and len(listed) in (1, ndim)
    if not fits or any(len(pair) not in (1, 2) for pair in nested):
        raise GraphValueError(
            f"pad: {name} is {argument!r}, expected one, a pair, or a pair for each of "
            f"{ndim} axes"
        )
    widths = [(pair[0], pair[-1]) for pair in nested]
    return widths * ndim if len(widths) == 1 else widths


def _width(argument: Any) -> Variable:
    width = as_length("pad", argument, "a width")
    if isinstance(width, core.Constant) and width.data.item() < 0:
        raise GraphValueError(
            f"pad: a width is {width.data.item()}, expected 0 or more"
        )
    return width


def _framed(x: Variable, widths: list[Width], filled: Any) -> Variable:
    """Return ``x`` in the middle of an array filled with a scalar."""
    lengths = []
    middle = []
    for axis, (before, behind) in enumerate(widths):
        length = shape_i(x, axis)
        if is_constant(before, 0) and is_constant(behind, 0):
            lengths.append(length)
            middle.append(slice(None))
            continue
        lengths.append(before + length + behind)
        middle.append(slice(before, before + length))
    frame = alloc(filled, lengths)
    return set_subtensor(index(frame, tuple(middle)), x)


def _constant(x: Variable, widths: list[Width], values: Any) -> Variable:
    """Pad in one launch where all ends have one value; else axis by axis."""
    listed = pairs("constant_values", values, x.type.ndim)
    first = listed[0][0] if listed else 0
    if all(value == first for pair in listed for value in pair):
        if all(is_constant(end, 0) for width in widths for end in width):
            return x
        return _framed(x, widths, _scalar_of("a value", first, x.type.dtype))
    for axis, (width, ends) in enumerate(zip(widths, listed, strict=True)):
        if not all(is_constant(end, 0) for end in width):
            x = _ended(
                x,
                axis,
                width,
                [_scalar_of("a value", end, x.type.dtype) for end in ends],
            )
    return x


def _scalar_of(what: str, argument: Any, dtype: str) -> Variable:
    value = as_tensor_variable(argument)
    if value.type.ndim != 0:
        raise GraphArgumentError(f"pad: {what} is {value.type}, expected a scalar")
    return math.cast(value, dtype)


def _ended(x: Variable, axis: int, width: Width, ends: Any) -> Variable:
    """Return ``x`` with values added before and after one axis; they broadcast."""
    nothing: Variable = core.constant(0, "int64")
    widths: list[Width] = [(nothing, nothing)] * x.type.ndim
    widths[axis] = width
    framed = _framed(x, widths, core.constant(0, x.type.dtype))
    stop = width[0] + shape_i(x, axis)
    skipped = (slice(None),) * axis
    framed = set_subtensor(index(framed, (*skipped, slice(None, width[0]))), ends[0])
    return set_subtensor(index(framed, (*skipped, slice(stop, None))), ends[1])


# ---- copied elements ----


def _edge(place: Any, length: Any) -> Variable:
    return math.clip(place, 0, length - 1)


def _wrap(place: Any, length: Any) -> Variable:
    return math.mod(place, length)


def _reflect(place: Any, length: Any) -> Variable:
    period = math.maximum(2 * (length - 1), 1)
    inside = math.mod(place, period)
    return math.minimum(inside, period - inside) * math.cast(
        math.gt(length, 1), "int64"
    )


def _symmetric(place: Any, length: Any) -> Variable:
    inside = math.mod(place, 2 * length)
    return math.minimum(inside, 2 * length - 1 - inside)


PLACES: dict[str, Callable[[Any, Any], Variable]] = {
    "edge": _edge,
    "reflect": _reflect,
    "symmetric": _symmetric,
    "wrap": _wrap,
}
"""The index of the element that is copied to a position, counted from the array."""


def _by_places(
    x: Variable, widths: list[Width], place_of: Callable[[Any, Any], Variable]
) -> Variable:
    """Return ``x`` padded axis after axis by gathering elements."""
    for axis, (before, behind) in enumerate(widths):
        if is_constant(before, 0) and is_constant(behind, 0):
            continue
        length = shape_i(x, axis)
        places = counted(before + length + behind) - before
        key = (slice(None),) * axis + (place_of(places, length),)
        x = index(x, key)
    return x


# ---- computed from lines ----


def _made_up(
    x: Variable, axis: int, width: Width, mode: str, options: dict[str, Any]
) -> Variable:
    if mode == "linear_ramp":
        values = pairs("end_values", options.get("end_values", 0), x.type.ndim)[axis]
        ends = [_ramp(x, axis, width, side, values[side]) for side in (0, 1)]
        return _ended(x, axis, width, ends)
    folds: dict[str, Any] = {
        "maximum": reduce.max,
        "mean": reduce.mean,
        "minimum": reduce.min,
    }
    line = folds[mode](x, axis=axis, keepdims=True)
    if line.type.dtype != x.type.dtype:  # a mean of integers, to the nearest one
        is_truth = x.type.dtype == "bool"
        line = math.cast(line if is_truth else math.rint(line), x.type.dtype)
    return _ended(x, axis, width, [line, line])


def _ramp(x: Variable, axis: int, width: Width, side: int, end: Any) -> Variable:
    """Return the values from ``end``, the outermost, to the border of ``x``."""
    skipped = (slice(None),) * axis
    border = expand_dims(index(x, (*skipped, 0 if side == 0 else -1)), axis)
    narrow = x.type.dtype in ("float16", "bfloat16")
    is_exact = x.type.dtype[0] in "iu" or x.type.dtype == "bool"
    work = "float32" if narrow else "float64" if is_exact else x.type.dtype
    border = math.cast(border, work)
    count = width[side]
    steps = counted(count)
    order = ["x"] * x.type.ndim
    inwards = steps if side == 0 else count - 1 - steps
    along = dimshuffle(inwards, *order[:axis], 0, *order[axis + 1 :])
    start = _scalar_of("an end value", end, work)
    parts = math.cast(math.maximum(count, 1), work)
    value = math.cast(along, work) * ((border - start) / parts) + start
    if x.type.dtype[0] in "iu":
        value = math.floor(value)
    return math.cast(value, x.type.dtype)
