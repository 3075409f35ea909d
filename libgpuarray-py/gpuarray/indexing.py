"""Indexing: integers, slices, Ellipsis and None give a view; arrays, masks a copy."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import numpy as np

from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.base import BaseArray
from gpuarray.errors import BadIndex, BadType, BadValue, ReadOnly
from gpuarray.fancy import (
    compress_by,
    gather_axes,
    is_fancy,
    pick,
    put_at,
    single_mask,
    take_at,
)


def get(array: BaseArray, index: Any) -> Any:
    """``array[index]``: a view, or a new array where the index has arrays or masks.

    An index on a device that is out of bounds raises BadIndex when the context is next
    waited for.
    """
    entries = index if isinstance(index, tuple) else (index,)
    if not any(map(is_fancy, entries)):
        return view_of(array, index)
    mask = single_mask(array, entries)
    if mask is not None:
        return compress_by(array, mask)
    picked = pick(array, entries)
    view, first = gather_axes(picked, view_of(array, tuple(picked.entries)))
    return take_at(view, picked.indices, first)


def assign(array: BaseArray, index: Any, value: Any) -> None:
    """``array[index] = value``, with NumPy's broadcasting and conversion."""
    if not array.flags.writeable:
        raise ReadOnly("setitem: the array is read-only, as broadcast views are")
    entries = index if isinstance(index, tuple) else (index,)
    if not any(map(is_fancy, entries)):
        target = view_of(array, index)
        source = as_values(array, value, "setitem")
        check(lib.GpuArray_setarray(target._struct, source._struct), "setitem")
        return
    source = as_values(array, value, "setitem")
    mask = single_mask(array, entries)
    if mask is not None:
        check(lib.GpuArray_put_mask(array._struct, mask._struct, source._struct))
        return
    picked = pick(array, entries)
    view, first = gather_axes(picked, view_of(array, tuple(picked.entries)))
    put_at(view, picked.indices, first, source)


def as_values(array: BaseArray, value: Any, operation: str) -> BaseArray:
    """``value`` as an array on the context of ``array``; host values take its dtype."""
    if not isinstance(value, BaseArray):
        host = np.asarray(value)
        if host.dtype.kind == "c" and array._dtype.kind not in "bc":
            raise BadType(
                f"{operation}: values of {host.dtype} for an array of {array._dtype}; "
                "give their real parts, or make the array complex"
            )
        return array.from_host(host.astype(array._dtype, copy=False), array._context)
    if value._context is not array._context:
        raise BadValue(
            f"{operation}: the value is on {value.context.name}, the array on "
            f"{array.context.name}; use value.transfer(array.context)"
        )
    return value


def view_of(array: BaseArray, index: Any) -> Any:
    """``array[index]``, a view; BadIndex for what is no basic index."""
    entries = _expand(array, index if isinstance(index, tuple) else (index,))
    starts, stops, steps = _bounds(array, [e for e in entries if e is not None])
    struct = ffi.new(ARRAY)
    check(lib.GpuArray_index(struct, array._struct, starts, stops, steps), "index")
    result = array._like(struct)
    if None not in entries:
        return result
    return result.dimshuffle(*_pattern(entries))


def _expand(array: BaseArray, index: tuple[Any, ...]) -> list[Any]:
    """The entries with Ellipsis written out: one per axis, and None for new axes."""
    given = sum(1 for e in index if e is not None and not isinstance(e, EllipsisType))
    gaps = [i for i, e in enumerate(index) if isinstance(e, EllipsisType)]
    missing = array.ndim - given
    if missing < 0:
        raise BadIndex(f"index: {given} indices for an array of {array.ndim} axes")
    if len(gaps) > 1:
        raise BadIndex("index: only one Ellipsis may stand in an index")
    place = gaps[0] if gaps else len(index)
    fill = [slice(None)] * missing
    return [*index[:place], *fill, *index[place + 1 :]]


def _bounds(
    array: BaseArray, entries: list[Any]
) -> tuple[list[int], list[int], list[int]]:
    """What GpuArray_index takes: step 0 picks an element and drops the axis."""
    starts, stops, steps = [], [], []
    for axis, (entry, length) in enumerate(zip(entries, array.shape, strict=True)):
        if isinstance(entry, slice):
            start, stop, step = _slice(entry, length)
        else:
            start, stop, step = _integer(entry, axis, length), 0, 0
        starts.append(start)
        stops.append(stop)
        steps.append(step)
    return starts, stops, steps


def _slice(entry: slice, length: int) -> tuple[int, int, int]:
    try:
        bounds = entry.indices(length)
        return bounds if range(*bounds) else (0, 0, 1)
    except (TypeError, ValueError) as error:
        raise BadIndex(f"index: {entry}: {error}") from None


def _integer(entry: Any, axis: int, length: int) -> int:
    if not hasattr(entry, "__index__"):
        raise BadIndex(
            f"index: got {type(entry).__name__}; expected integers, slices, Ellipsis, "
            "None, or arrays of integers or bools"
        )
    number: int = entry.__index__()
    if not -length <= number < length:
        raise BadIndex(
            f"index: {number} is out of bounds for axis {axis} of length {length}"
        )
    return number % length


def _pattern(entries: list[Any]) -> list[Any]:
    """The dimshuffle that adds the new axes after integers have dropped theirs."""
    pattern: list[Any] = []
    kept = 0
    for entry in entries:
        if entry is None:
            pattern.append("x")
        elif isinstance(entry, slice):
            pattern.append(kept)
            kept += 1
    return pattern
