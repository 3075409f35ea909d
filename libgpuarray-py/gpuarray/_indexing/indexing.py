"""Indexing: integers, slices, Ellipsis and None give a view; arrays, masks a copy.

A single element is a copy as well: a value, as NumPy's scalars are.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._indexing.advanced_indexing import (
    compress_by,
    gather_axes,
    is_fancy,
    pick,
    put_at,
    single_mask,
    take_at,
)
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.dtypes import warn_of_lost_parts
from gpuarray.errors import BadIndex, BadType, BadValue, ReadOnly, TooLarge, host_errors


def get(array: BaseArray, index: Any) -> Any:
    """``array[index]``: a view, or a new array where the index has arrays or masks.

    An element selected by integers alone is a value: a read-only array of no axes,
    which later stores do not change; ``array[i, ...]`` is a view of it. A device index
    out of bounds raises BadIndex at the next wait for the context.
    """
    if index.__class__ is slice:
        return _along_first(array, index)
    if index.__class__ is int:
        return _row_or_element(_along_first(array, index))
    index = _as_tuple(index)
    entries = index if isinstance(index, tuple) else (index,)
    if not any(map(is_fancy, entries)):
        view = view_of(array, index)
        if any(map(_is_host_array, entries)):  # no view for NumPy, either
            return view.copy() if view._struct.nd else _row_or_element(view)
        return view if Ellipsis in entries else _row_or_element(view)
    mask = single_mask(array, entries)
    if mask is not None:
        return compress_by(array, mask)
    picked = pick(array, entries)
    view, first = gather_axes(picked, view_of(array, tuple(picked.entries)))
    return take_at(view, picked.indices, first)


def assign(array: BaseArray, index: Any, value: Any) -> None:
    """Store ``array[index] = value``, with NumPy's broadcasting and casting.

    A complex array is stored in a real one by its real parts, with a ComplexWarning.
    """
    if not array.flags.writeable:
        raise ReadOnly(
            "setitem: the array is read-only, as broadcast views and elements are"
        )
    index = _as_tuple(index)
    entries = index if isinstance(index, tuple) else (index,)
    if not any(map(is_fancy, entries)):
        target = view_of(array, index)
        source = as_values(array, value, "setitem")
        if source is value:
            _check_exchange(target, source)
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


def _is_host_array(entry: Any) -> bool:
    """True if an entry is an array of no axes, which NumPy tells from an integer."""
    return isinstance(entry, np.ndarray)


def _as_tuple(index: Any) -> Any:
    """Return a list with a slice or an Ellipsis in it as a tuple."""
    is_several = index.__class__ is list and any(
        isinstance(entry, slice) or entry is Ellipsis for entry in index
    )
    return tuple(index) if is_several else index


# ---- exchanged rows and elements ----


def _row_or_element(view: Any) -> Any:
    """Return an element as a value; mark a row with the count of stores."""
    if view._struct.nd:
        view._age = view._context._row_stores
        return view
    struct = ffi.new(ARRAY)
    check(lib.GpuArray_copy(struct, view._struct, lib.GA_C_ORDER))
    element = view.wrap(struct, view._context, view._dtype, view._typecode)
    element._struct.flags &= ~lib.GA_WRITEABLE
    return element


def _check_exchange(target: BaseArray, row: BaseArray) -> None:
    """Raise BadValue where ``a[i], a[j] = a[j], a[i]`` stores the second of two rows.

    Rows are views, so the first store has overwritten the second: NumPy duplicates one
    of them. ``numpy.random.shuffle`` exchanges so arrays that are not NumPy's.
    """
    looked_up = getattr(row, "_age", None)
    buffer = target._struct.data
    if looked_up is None or row._struct.data != buffer:
        return
    to, source = target._struct.offset, row._struct.offset
    if to == source:
        return
    context = target._context
    number, *last = context._last_row_store
    if looked_up < number and last == [buffer, source, to]:
        raise BadValue(
            "setitem: rows are exchanged by way of views, of which the first store has "
            "overwritten one: a[i] and a[j] are equal now. Write a[[i, j]] = a[[j, i]];"
            " gpuarray.random.default_rng().shuffle(a) puts rows in a random order"
        )
    context._row_stores += 1
    context._last_row_store = context._row_stores, buffer, to, source


def as_integers(
    value: Any, dtype: np.dtype[Any], operation: str
) -> np.ndarray[Any, Any]:
    """Return Python's numbers, also in lists, as integers. Raises TooLarge.

    A nan is a BadValue.
    """
    try:
        return np.asarray(value, dtype)
    except OverflowError as error:
        raise TooLarge(f"{operation}: {error}; give an array of {dtype}") from None
    except ValueError as error:
        raise BadValue(f"{operation}: {error}, expected numbers for {dtype}") from None


def as_values(array: BaseArray, value: Any, operation: str) -> BaseArray:
    """Return ``value`` as an array beside ``array``; host values take its dtype."""
    if not isinstance(value, BaseArray):
        with host_errors(operation):
            host = np.asarray(value)
        if host.dtype.kind == "c" and array._dtype.kind not in "bc":
            raise BadType(
                f"{operation}: values of {host.dtype} for an array of {array._dtype}; "
                "give their real parts, or make the array complex"
            )
        if not hasattr(value, "dtype") and array._dtype.kind in "iu":
            host = as_integers(value, array._dtype, operation)
        with host_errors(operation):
            host = host.astype(array._dtype, copy=False)
        return array.from_host(host, array._context)
    if value._context is not array._context:
        raise BadValue(
            f"{operation}: the value is on {value.context.name}, the array on "
            f"{array.context.name}; use value.transfer(array.context)"
        )
    warn_of_lost_parts(value._dtype, array._dtype)
    return value


def _along_first(array: BaseArray, index: Any) -> Any:
    """Return ``view_of`` for an integer or a slice, with a shortcut for common ones."""
    try:
        if index.__class__ is int:
            struct = lib.array_index1(array._struct, index, 0, 0)
        else:
            start, stop, step = index.start, index.stop, index.step
            if start is None:
                start = 0
            if stop is None:
                stop = sys.maxsize
            if (
                step is not None
                or start.__class__ is not int
                or stop.__class__ is not int
            ):
                return view_of(array, index)
            struct = lib.array_index1(array._struct, start, stop, 1)
    except OverflowError:
        return view_of(array, index)
    return array._made(struct) if struct else view_of(array, index)


def view_of(array: BaseArray, index: Any) -> Any:
    """Return the view ``array[index]``. Raises BadIndex for no basic index."""
    entries = index if index.__class__ is tuple else (index,)
    added: tuple[Any, ...] = ()
    if None in entries or Ellipsis in entries:
        added = _expand(array, entries)
        entries = tuple(entry for entry in added if entry is not None)
    steps = [_steps(entry) for entry in entries]
    try:
        struct = _index(array, steps)
    except OverflowError:
        struct = _index(array, [tuple(map(_within, entry)) for entry in steps])
    if not struct:
        if lib.last_status() == lib.GA_INDEX_ERROR:
            raise _no_index(array, entries)
        check(lib.last_status(), "index")
    result = array._made(struct)
    return result.dimshuffle(*_pattern(added)) if None in added else result


def _index(array: BaseArray, steps: Sequence[tuple[int, ...]]) -> Any:
    """Return the struct of a view; NULL if it is none."""
    if len(steps) == 1:
        return lib.array_index1(array._struct, *steps[0])
    columns = zip(*steps, strict=True) if steps else ((), (), ())
    return lib.array_index(array._struct, len(steps), *columns)


def _steps(entry: Any) -> tuple[int, int, int]:
    """Return start, stop and step of an entry; the step of an integer is 0."""
    if entry.__class__ is int:
        return entry, 0, 0
    if entry.__class__ is not slice:
        if hasattr(entry, "__index__"):
            return entry.__index__(), 0, 0
        raise BadIndex(
            f"index: got {type(entry).__name__}; expected integers, slices, Ellipsis, "
            "None, or arrays of integers or bools"
        )
    start, stop, step = entry.start, entry.stop, entry.step
    try:
        step = 1 if step is None else operator.index(step)
        if start is None:
            start = 0 if step > 0 else sys.maxsize
        if stop is None:
            stop = sys.maxsize if step > 0 else -sys.maxsize
        start, stop = operator.index(start), operator.index(stop)
    except TypeError as error:
        raise BadIndex(f"index: {entry}: {error}") from None
    if step == 0:
        raise BadIndex(f"index: {entry}: slice step cannot be zero")
    return start, stop, step


def _within(number: int) -> int:
    """Return the nearest integer in the range of an axis's indices."""
    return max(-sys.maxsize, min(number, sys.maxsize))


def _no_index(array: BaseArray, entries: tuple[Any, ...]) -> BadIndex:
    if len(entries) > array.ndim:
        return BadIndex(
            f"index: {len(entries)} indices for an array of {array.ndim} axes"
        )
    axis, place, length = next(
        (axis, entry.__index__(), length)
        for axis, (entry, length) in enumerate(zip(entries, array.shape, strict=False))
        if not isinstance(entry, slice) and not -length <= entry.__index__() < length
    )
    return BadIndex(
        f"index: {place} is out of bounds for axis {axis} of length {length}"
    )


def _expand(array: BaseArray, index: tuple[Any, ...]) -> tuple[Any, ...]:
    """The entries with Ellipsis expanded: one per axis, and None for new axes."""
    n_axes = sum(1 for e in index if e is not None and e is not Ellipsis)
    gaps = [i for i, e in enumerate(index) if e is Ellipsis]
    missing = array.ndim - n_axes
    if missing < 0:
        raise BadIndex(f"index: {n_axes} indices for an array of {array.ndim} axes")
    if len(gaps) > 1:
        raise BadIndex("index: only one Ellipsis may stand in an index")
    place = gaps[0] if gaps else len(index)
    return *index[:place], *[slice(None)] * missing, *index[place + 1 :]


def _pattern(entries: tuple[Any, ...]) -> list[Any]:
    """The dimshuffle that adds the new axes after integers have dropped theirs."""
    pattern: list[Any] = []
    axis = 0
    for entry in entries:
        if entry is None:
            pattern.append("x")
        elif isinstance(entry, slice):
            pattern.append(axis)
            axis += 1
    return pattern
