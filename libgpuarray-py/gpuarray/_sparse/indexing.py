"""Elements, rows, columns and parts, by numbers, slices, arrays and masks."""

from __future__ import annotations

import operator
from types import EllipsisType
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import zeros
from gpuarray._creation.ranges import arange
from gpuarray._indexing.advanced_indexing import upload_indices
from gpuarray._manipulation.joining import concatenate
from gpuarray._manipulation.take_put import flatnonzero, put
from gpuarray._native import lib
from gpuarray._sorting.searching import searchsorted
from gpuarray._sparse.base import (
    is_canonical,
    is_sparse,
    make,
    require_matrix,
    struct,
)
from gpuarray._sparse.conversion import (
    asformat,
    canonical,
    converted,
    copied,
    kept,
    keys,
    major_lengths,
    places,
)
from gpuarray._sparse.pattern import CANONICAL, INT64, Knowledge, Pattern, made
from gpuarray._sparse.reductions import nonzero
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.errors import BadIndex, BadValue, Unsupported

where = FUNCTIONS["where"]
_ALL = slice(None)


def get(a: Any, index: Any) -> Any:
    """``A[index]``: an element, a sparse vector, a sparse part, or dense elements.

    No part shares memory with the array. Two arrays of indices, and a mask of two axes,
    give the elements as a dense vector.
    """
    found = places_of_mask(a, index)
    if found is not None:
        return _elements(as_matrix(a), *found)
    entries = index if isinstance(index, tuple) else (index,)
    if any(entry is None for entry in entries):
        return _with_new_axes(a, entries)
    entries = filled(entries, a.ndim)
    if a.ndim == 1:
        return _part(as_matrix(a), 0, entries[0])
    part = _part(a, *entries)
    return copied(part) if part is a else part


def places_of_mask(a: Any, index: Any) -> tuple[Any, Any] | None:
    """Return the rows and columns where a mask of all axes is true; None of others."""
    if isinstance(index, tuple):
        rest = [entry for entry in index if not isinstance(entry, EllipsisType)]
        index = rest[0] if len(rest) == 1 < len(index) else None
    if isinstance(index, list) and index and isinstance(index[0], list):
        index = np.asarray(index)
    if not is_sparse(index) and not _is_mask(index, 2):
        return None
    if index.shape != a.shape:
        raise BadIndex(f"index: a mask of {index.shape} for shape {a.shape}")
    found = nonzero(index) if is_sparse(index) else index.nonzero()
    numbers = [asarray(part, INT64, a.context) for part in found]
    return (numbers[0], numbers[1]) if a.ndim == 2 else (0, numbers[0])


def as_matrix(a: Any) -> Any:
    """Return a sparse vector as a matrix of one row."""
    return a if a.ndim == 2 else make(a._values, a._pattern)


def _is_mask(entry: Any, ndim: int) -> bool:
    is_array = isinstance(entry, np.ndarray | BaseArray)
    return bool(is_array and entry.ndim == ndim and entry.dtype.kind == "b")


def filled(entries: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """Return an entry for each axis."""
    dots = [i for i, entry in enumerate(entries) if isinstance(entry, EllipsisType)]
    rest = len(entries) - len(dots)
    if rest > ndim or len(dots) > 1:
        raise BadIndex(f"index: {len(entries)} entries for {ndim} axes")
    missing = (_ALL,) * (ndim - rest)
    if not dots:
        return entries + missing
    return entries[: dots[0]] + missing + entries[dots[0] + 1 :]


def _with_new_axes(a: Any, entries: tuple[Any, ...]) -> Any:
    """Return a part with an axis of one for each None: a vector as a matrix."""
    rest = tuple(entry for entry in entries if entry is not None)
    part = get(a, rest)
    new = len(entries) - len(rest)
    if not is_sparse(part) or part.ndim + new != 2:
        raise Unsupported(
            f"index: None makes a new axis, {new} beside {np.ndim(part)}; sparse "
            "arrays have one axis or two, dense ones more: use A.toarray()"
        )
    is_row = _first_axis(entries, a.ndim - len(rest)) is None
    row = as_matrix(part)
    column = make(row._values, row._pattern.turned())
    return asformat(row if is_row else column, a.format)


def _first_axis(entries: tuple[Any, ...], missing: int) -> Any:
    """Return the entry of a result's first axis; one that is missing is all of it."""
    for entry in entries:
        if isinstance(entry, EllipsisType):
            if missing >= 0:  # it stands for one more than is missing
                return _ALL
        elif entry is None or isinstance(entry, slice) or np.ndim(entry):
            return entry
    return _ALL


# ---- parts ----


def _part(a: Any, row: Any, column: Any) -> Any:
    row, column = (as_entry(a, entry, axis) for axis, entry in enumerate((row, column)))
    if are_pairs(row, column):
        return _elements(a, row, column)
    row, column = (
        x.reshape(-1) if isinstance(x, BaseArray) else x for x in (row, column)
    )
    part = _columns(_rows(a, row), column)
    if isinstance(row, int):
        return _vector(part)
    if isinstance(column, int):
        return _vector(make(part._values, part._pattern.turned()))
    return asformat(part, a.format)


def are_pairs(row: Any, column: Any) -> bool:
    """Return True if entries are the places of elements, not rows by columns."""
    is_array = [isinstance(entry, BaseArray) for entry in (row, column)]
    if all(is_array):
        is_mesh = row.ndim == 2 and row.shape[1] == 1
        return not (is_mesh and (column.ndim < 2 or len(column) == 1))
    for entry in (row, column):
        if isinstance(entry, BaseArray) and entry.ndim > 1:
            raise BadIndex(f"index: an array of shape {entry.shape}, expected a vector")
    return isinstance(row, int) and isinstance(column, int)


def as_entry(a: Any, entry: Any, axis: int) -> Any:
    """Return an int in range, a slice, or an array of integers on the device."""
    length = a.shape[axis]
    if isinstance(entry, slice):
        return entry
    if isinstance(entry, BaseArray) and entry.ndim:
        return flatnonzero(_fitting(entry, length)) if _is_mask(entry, 1) else entry
    if isinstance(entry, list | tuple | range | np.ndarray) and np.ndim(entry):
        host = np.asarray(entry)
        if host.dtype.kind == "b":
            (host,) = np.nonzero(_fitting(host, length))
        if host.size == 0:
            host = host.astype(INT64)
        if host.dtype.kind not in "iu":
            raise BadIndex(f"index: an array of {host.dtype}, expected integers")
        return upload_indices(host, length, axis, a._values)
    try:
        number = operator.index(entry.item() if hasattr(entry, "item") else entry)
    except TypeError:
        raise BadIndex(
            f"index: got {type(entry).__name__}, expected integers, slices, arrays of "
            "integers or bools"
        ) from None
    if not -length <= number < length:
        raise BadIndex(
            f"index: {number} is out of bounds for axis {axis} of length {length}"
        )
    return number % length


def _fitting(mask: Any, length: int) -> Any:
    if mask.shape != (length,):
        raise BadIndex(f"index: a mask of shape {mask.shape} for an axis of {length}")
    return mask


def _vector(part: Any) -> Any:
    """Return a matrix of one row as a sparse vector, in COO."""
    listed = converted(part, "coo")
    return make(listed._values, listed._pattern, (part.shape[1],))


def _rows(a: Any, entry: Any) -> Any:
    """Return rows, in their order, in a compressed format."""
    if isinstance(entry, slice):
        start, stop, step = entry.indices(a.shape[0])
        if (start, stop, step) == (0, a.shape[0], 1):
            return a
        if a.format == "csc" and step > 0:
            return _within(a, start, stop, step)
        entry = arange(start, stop, step, context=a.context)
    elif isinstance(entry, int):
        entry = a._values.from_host(np.array([entry]), a.context)
    return _taken(asformat(a, "csr"), entry)


def _columns(a: Any, entry: Any) -> Any:
    if isinstance(entry, BaseArray) and a.format == "csr" and is_canonical(a):
        numbers, are_all = _new_columns(a, entry)
        if are_all:
            return _renumbered(a, numbers, entry.size)
    turned = make(a._values, a._pattern.turned())
    if isinstance(entry, int) and turned.format == "csc":
        entry = slice(entry, entry + 1)
    part = _rows(turned, entry)
    return a if part is turned else make(part._values, part._pattern.turned())


def _new_columns(a: Any, entry: BaseArray) -> tuple[Any, bool]:
    """Return each column's new number, or -1, and whether none is taken twice."""
    length, context, index = a.shape[1], a.context, a._pattern.indices.dtype
    taken: Any = arange(length, dtype=index, context=context)[entry]
    places: Any = arange(taken.size, dtype=index, context=context)
    numbers: Any = zeros(length, index, context)
    numbers -= 1
    put(numbers, taken, places)
    return numbers, bool((numbers[taken] == places).all())


def _renumbered(a: Any, numbers: Any, count: int) -> Any:
    """Return a CSR array with new numbers of columns, -1 for none; waits.

    Its indices are not sorted, as scipy's are not: what needs them sorts them.
    """
    pattern = a._pattern
    moved = numbers[pattern.indices]
    wide = Pattern("csr", (a.shape[0], count), moved, pattern.indptr)
    return kept(make(a._values, wide), moved >= 0)


def _within(a: Any, start: int, stop: int, step: int) -> Any:
    """Return a CSC array with some of its rows, the others left out."""
    count = len(range(start, stop, step))
    index = a._pattern.indices
    mask = (index >= start) & (index < stop)
    if step != 1:
        mask = mask & ((index - start) % step == 0)
    fewer = kept(a, mask)
    pattern = fewer._pattern
    indices = pattern.indices - index.dtype.type(start)
    if step != 1:
        indices = indices // index.dtype.type(step)
    lengths = (count, a.shape[1])
    known = Knowledge(pattern.knowledge.flags)
    shifted = Pattern("csc", lengths, indices, pattern.indptr, known)
    return make(fewer._values, shifted)


def _taken(a: Any, rows: Array) -> Any:
    """Return the rows of a CSR array at indices; waits for the number of values."""
    is_known = a._pattern.knowledge.sure_flags == CANONICAL
    args = struct(a), rows.struct, 0
    values, pattern = made("index", a.context, lib.GpuSparse_take, *args)
    pattern.knowledge.flags = CANONICAL if is_known else None
    return make(values, pattern)


# ---- elements ----


def _elements(a: Any, row: Any, column: Any) -> Any:
    """Return the elements at pairs of indices, dense; 0 where none is stored."""
    a = canonical(a)
    count, length = major_lengths(a)
    major, minor = (column, row) if a.format == "csc" else (row, column)
    major = in_range(a, major, count)
    minor = in_range(a, minor, length)
    asked = major * length + minor
    if a.nnz == 0:
        return zeros(asked.shape, a.dtype, a.context)
    stored = keys(a)
    at = FUNCTIONS["minimum"](searchsorted(stored, asked), a.nnz - 1)
    return where(stored[at] == asked, a._values[at], a.dtype.type(0))


def in_range(a: Any, index: Any, length: int) -> Any:
    """Return indices from 0 on; the next wait finds one that is out of bounds."""
    if isinstance(index, int):
        return asarray(np.asarray(index), INT64, a.context)
    return arange(length, context=a.context)[index]


# ---- diagonals ----


def setdiag(a: Any, values: Any, k: int = 0) -> None:
    """Set the diagonal with offset ``k`` of the array itself; waits.

    ``values`` is a number or a vector; beyond its end the diagonal stays.

    >>> A = gpuarray.sparse.csr_array([[1, 2], [3, 4]])
    >>> A.setdiag(0)
    >>> print(A.toarray())
    [[0 2]
     [3 0]]
    """
    rows, columns = require_matrix(a, "setdiag").shape
    first, shift = max(-k, 0), max(k, 0)
    length = min(rows - first, columns - shift)
    if (rows <= first and k <= 0) or (columns <= shift and k >= 0):
        raise BadValue(f"setdiag: k is {k}, outside of shape {a.shape}")
    if length <= 0:
        return
    given = asarray(values, a.dtype, a.context)
    if given.ndim == 0:
        given = given.broadcast_to((length,)).copy()
    length = min(length, given.size)
    row, column = places(a)
    apart = (column - row != k) | (row >= first + length)
    rest = converted(kept(a, apart), "coo")
    index = rest._pattern.indices.dtype
    steps: Any = arange(length, dtype=index, context=a.context)
    pattern = Pattern(
        "coo",
        a.shape,
        concatenate([rest._pattern.indices, steps + index.type(shift)]),
        concatenate([rest._pattern.indptr, steps + index.type(first)]),
    )
    listed = make(concatenate([rest._values, given[:length]]), pattern)
    changed = asformat(canonical(listed), a.format)
    a._set(changed._values, changed._pattern)
