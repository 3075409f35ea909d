"""Elements, rows, columns and parts of a sparse array that are set."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import zeros
from gpuarray._creation.ranges import arange
from gpuarray._manipulation.joining import concatenate
from gpuarray._manipulation.take_put import flatnonzero, put
from gpuarray._sorting.searching import searchsorted
from gpuarray._sorting.sorting import argsort
from gpuarray._sparse.base import (
    check_context,
    is_number,
    is_sparse,
    make,
    not_an_operand,
)
from gpuarray._sparse.conversion import (
    asformat,
    canonical,
    converted,
    kept,
    keys,
    major_lengths,
    places,
)
from gpuarray._sparse.indexing import (
    are_pairs,
    as_entry,
    as_matrix,
    filled,
    in_range,
    places_of_mask,
)
from gpuarray._sparse.pattern import INT64, Pattern
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.errors import BadIndex, BadValue

Entries = tuple[Any, Any, Any]


def put_part(a: Any, index: Any, value: Any) -> None:
    """``A[index] = value`` of the array itself; waits.

    ``value`` is a number, a dense array that is repeated to the part, or a sparse one.
    All of a dense value is stored, zeros too, of a sparse one its own places, and the
    number 0 empties rows by columns. Of an element set twice the last value counts.
    """
    not_an_operand(value, "setitem")
    matrix = as_matrix(a)
    chosen = places_of_mask(a, index)
    if chosen is None:
        entries = index if isinstance(index, tuple) else (index,)
        if any(entry is None for entry in entries):
            raise BadIndex("setitem: None makes a new axis, which cannot be set")
        entries = filled(entries, a.ndim)
        if a.ndim == 1:
            entries = (0, *entries)
        chosen = tuple(as_entry(matrix, x, axis) for axis, x in enumerate(entries))
        if not are_pairs(*chosen):
            _set(a, _with_part(matrix, *chosen, value))
            return
    _set(a, _with_elements(matrix, *chosen, value))


def _set(a: Any, changed: Any) -> None:
    changed = asformat(changed, a.format)
    a._set(changed._values, changed._pattern, a.shape)


def _dense(
    a: Any, value: Any, shape: tuple[int, ...], lengths: tuple[int, ...] = ()
) -> Any:
    """Return a dense value, repeated to the shape of a part, as a vector.

    ``lengths`` are those of the part as a matrix, which fit, too.
    """
    if is_sparse(value):
        check_context(a, value, "setitem")
        value = value.toarray()
    given = asarray(value, a.dtype, a.context)
    while given.ndim > len(shape) and given.shape[0] == 1:
        given = given[0]
    for wanted in (shape, lengths):
        try:
            if np.broadcast_shapes(given.shape, wanted) == wanted:
                return given.broadcast_to(wanted).reshape(-1)
        except ValueError:
            continue
    raise BadValue(
        f"setitem: a value of shape {given.shape} for a part of shape {shape}"
    )


def _with_entries(a: Any, rest: Any, entries: Entries) -> Any:
    """Return the rest of an array and values, rows and columns where it has none."""
    listed = converted(rest, "coo")
    index = listed._pattern.indices.dtype
    values, rows, columns = entries
    pattern = Pattern(
        "coo",
        a.shape,
        concatenate([listed._pattern.indices, columns.astype(index, copy=False)]),
        concatenate([listed._pattern.indptr, rows.astype(index, copy=False)]),
    )
    stored = values.astype(a.dtype, copy=False)
    return canonical(
        asformat(make(concatenate([listed._values, stored]), pattern), a.format)
    )


# ---- elements at pairs of indices ----


def _with_elements(a: Any, row: Any, column: Any, value: Any) -> Any:
    """Return a matrix with other elements at pairs of indices; itself, if they are
    stored.
    """
    a = canonical(a)
    row = in_range(a, row, a.shape[0])
    column = in_range(a, column, a.shape[1])
    try:
        shape = np.broadcast_shapes(row.shape, column.shape)
    except ValueError:
        raise BadIndex(
            f"setitem: arrays of indices of shapes {row.shape} and {column.shape}"
        ) from None
    row, column = (x.broadcast_to(shape).reshape(-1) for x in (row, column))
    given = _dense(a, value, shape)
    if row.size == 0:
        return a
    length = major_lengths(a)[1]
    major, minor = (column, row) if a.format == "csc" else (row, column)
    asked = major * length + minor
    if row.size > 1:
        last = _last_of_each(asked)
        asked, row, column, given = (x[last] for x in (asked, row, column, given))
    if a.nnz == 0:
        return _with_entries(a, a, (given, row, column))
    stored = keys(a)
    at = FUNCTIONS["minimum"](searchsorted(stored, asked), a.nnz - 1)
    is_stored = stored[at] == asked
    if bool(is_stored.all()):
        put(a._values, at, given)
        return a
    others: Any = zeros(a.nnz, bool, a.context)
    put(others, at[is_stored], True)
    return _with_entries(a, kept(a, ~others), (given, row, column))


def _last_of_each(numbers: Any) -> Any:
    """Return the place of the last of each number."""
    order = argsort(numbers, stable=True)
    ordered = numbers[order]
    ends: Any = zeros(numbers.size, bool, numbers.context)
    ends[-1] = True
    ends[:-1] = ordered[1:] != ordered[:-1]
    return order[flatnonzero(ends)]


# ---- rows by columns ----


def _with_part(a: Any, row: Any, column: Any, value: Any) -> Any:
    """Return a matrix with another part, of rows by columns."""
    lines = [_numbers(a, x, axis) for axis, x in enumerate((row, column))]
    is_one = [isinstance(x, int) for x in (row, column)]
    lengths = (lines[0].size, lines[1].size)
    shape = tuple(n for n, is_gone in zip(lengths, is_one, strict=True) if not is_gone)
    chosen = [_masks(a, x, axis) for axis, x in enumerate(lines)]
    rows, columns = places(a)
    inside = chosen[0][0][rows] & chosen[1][0][columns]
    if is_sparse(value):
        entries = _of_sparse(a, value, lengths, is_one == [False, True])
    else:
        entries = _of_dense(a, value, lengths, shape)
    values, i, j = entries
    if values.size == 0:
        return kept(a, ~inside)
    last = chosen[0][1][i] & chosen[1][1][j]
    if not bool(last.all()):
        values, i, j = values[last], i[last], j[last]
    return _with_entries(a, kept(a, ~inside), (values, lines[0][i], lines[1][j]))


def _numbers(a: Any, entry: Any, axis: int) -> Any:
    """Return the numbers of chosen rows or columns as a vector."""
    length = a.shape[axis]
    if isinstance(entry, slice):
        start, stop, step = entry.indices(length)
        return arange(start, stop, step, dtype=INT64, context=a.context)
    return in_range(a, entry, length).reshape(-1)


def _masks(a: Any, numbers: Any, axis: int) -> tuple[Any, Any]:
    """Return whether each line is chosen, and each number the last of its line."""
    places_of: Any = zeros(a.shape[axis], INT64, a.context)
    places_of -= 1
    steps: Any = arange(numbers.size, dtype=INT64, context=a.context)
    put(places_of, numbers, steps)
    return places_of >= 0, places_of[numbers] == steps


def _of_dense(
    a: Any, value: Any, lengths: tuple[int, int], shape: tuple[int, ...]
) -> Entries:
    """Return values and their places in a part of a dense value."""
    if is_number(value) and not isinstance(value, np.ndarray | BaseArray) and not value:
        shape = (0,)
    values = _dense(a, value, shape, lengths)
    steps: Any = arange(values.size, dtype=INT64, context=a.context)
    row = steps // max(lengths[1], 1)
    return values, row, steps - row * lengths[1]


def _of_sparse(
    a: Any, value: Any, lengths: tuple[int, int], is_column: bool
) -> Entries:
    """Return values and their places in a part of a sparse value."""
    check_context(a, value, "setitem")
    matrix = canonical(as_matrix(value))
    if value.ndim == 1 and is_column:
        matrix = make(matrix._values, matrix._pattern.turned())
    for own, wanted in zip(matrix.shape, lengths, strict=True):
        if own not in (1, wanted):
            raise BadValue(
                f"setitem: a sparse value of shape {value.shape} for a part of shape "
                f"{lengths}"
            )
    values = matrix._values
    row, column = (index.astype(INT64, copy=False) for index in places(matrix))
    if matrix.shape[0] != lengths[0]:
        values, column, row = _repeated(a, values, column, lengths[0])
    if matrix.shape[1] != lengths[1]:
        values, row, column = _repeated(a, values, row, lengths[1])
    return values, row, column


def _repeated(a: Any, values: Any, kept_index: Any, count: int) -> Entries:
    """Return entries of one line, repeated in ``count`` lines, and their line."""
    shape = (count, values.size)
    lines: Any = arange(count, dtype=INT64, context=a.context)
    parts = values[None], kept_index[None], lines[:, None]
    again, index, line = (part.broadcast_to(shape).reshape(-1) for part in parts)
    return again, index, line
