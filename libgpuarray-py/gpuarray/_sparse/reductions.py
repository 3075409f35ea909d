"""Sums, means, extremes, counts, diagonals."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from gpuarray._core.arguments import axis_number
from gpuarray._creation.filled import empty, zeros
from gpuarray._creation.ranges import arange
from gpuarray._manipulation.take_put import count_nonzero as _count, flatnonzero
from gpuarray._native import check, lib
from gpuarray._sparse.base import make, require, require_matrix, struct
from gpuarray._sparse.conversion import (
    asformat,
    canonical,
    from_dense,
    kept,
    places,
    without_zeros,
)
from gpuarray._sparse.pattern import index_dtype
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype, kind_of
from gpuarray.errors import BadValue, Unsupported

where = FUNCTIONS["where"]


def _axis(a: Any, axis: Any, operation: str) -> int | None:
    """Return the axis of a matrix that is folded; None: all of them."""
    require(a, operation)
    if axis is None:
        return None
    axes = axis if isinstance(axis, tuple) else (axis,)
    numbers = {axis_number(number, a.ndim, operation) for number in axes}
    if len(numbers) != len(axes):
        raise BadValue(f"{operation}: an axis is repeated in {axis}")
    return None if len(numbers) == a.ndim else numbers.pop()


def _sum_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    kind = kind_of(dtype)
    if kind in "bi" and dtype.itemsize < 8:
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind == "u" else dtype


def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the sum over an axis (None: all), dense; integers are added in 64 bits.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 3]])
    >>> print(A.sum(axis=0), A.sum())
    [2 4] 6
    """
    number = _axis(a, axis, "sum")
    _no_out(out, "sum")
    target = _sum_dtype(a.dtype) if dtype is None else as_dtype(dtype, "sum")
    values = a._values.astype(target, copy=False)
    if number is None:
        return values.sum(dtype=target)
    return _line_sums(make(values, a._pattern), number)


def _line_sums(a: Any, axis: int) -> Array:
    return _folded(lib.GpuSparse_sum, a, axis, "sum")


def _folded(call: Any, a: Any, axis: int, operation: str) -> Array:
    """Return what a function of the library makes of the values of each line."""
    y = empty(a.shape[1 - axis], a.dtype, a.context)
    check(call(y._struct, struct(a), axis), operation)
    return y


def _no_out(out: Any, operation: str) -> None:
    if out is not None:
        raise Unsupported(
            f"{operation}: out is not offered for sparse arrays; assign the result: "
            "out[...] = A.sum(axis)"
        )


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the mean over an axis (None: all), zeros among the elements, dense.

    Integers as float64.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 3]])
    >>> print(A.mean(axis=1), A.mean())
    [0.5 2.5] 1.5
    """
    number = _axis(a, axis, "mean")
    _no_out(out, "mean")
    count = math.prod(a.shape) if number is None else a.shape[number]
    inner = np.dtype(np.float64) if kind_of(a.dtype) in "biu" else a.dtype
    if dtype is not None:
        inner = np.result_type(inner, as_dtype(dtype, "mean"))
    total = sum(a, number, inner) * (1.0 / count if count else math.nan)
    return total if dtype is None else total.astype(dtype)


# ---- extremes ----


def max(a: Any, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
    """Return the maximum over an axis, as a sparse vector; None: of all, a number.

    ``explicit``: of stored values alone.

    >>> A = gpuarray.sparse.csr_array([[0, -1], [2, -3]])
    >>> print(A.max(axis=0).toarray(), A.max())
    [ 2 -1] 2
    """
    return _extreme("maximum", a, axis, out, explicit)


def min(a: Any, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
    """Return the minimum over an axis, as a sparse vector; None: of all, a number.

    ``explicit``: of stored values alone.

    >>> A = gpuarray.sparse.csr_array([[0, -1], [2, -3]])
    >>> print(A.min(axis=1).toarray(), A.min())
    [-1 -3] -3
    """
    return _extreme("minimum", a, axis, out, explicit)


def nanmax(a: Any, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
    """Return the maximum over an axis as ``max`` does, but for nan, which is left out.

    It is nan where there is nothing else.

    >>> A = gpuarray.sparse.csr_array([[0, -1.0], [np.nan, -3]])
    >>> print(A.nanmax(axis=0).toarray(), A.nanmax())
    [ 0. -1.] 0.0
    """
    return _nan_extreme("maximum", a, axis, out, explicit)


def nanmin(a: Any, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
    """Return the minimum over an axis as ``min`` does, but for nan, which is left out.

    It is nan where there is nothing else.

    >>> A = gpuarray.sparse.csr_array([[0, -1.0], [np.nan, -3]])
    >>> print(A.nanmin(axis=1).toarray(), A.nanmin())
    [-1. -3.] -3.0
    """
    return _nan_extreme("minimum", a, axis, out, explicit)


def _extreme(name: str, a: Any, axis: Any, out: Any, explicit: bool) -> Any:
    number, count = _line_of_extreme(name, a, axis, out)
    a, function = canonical(a), FUNCTIONS[name]
    if number is not None:
        return _line_extremes(name, a, number, explicit)
    if a.nnz == 0:
        return zeros((), a.dtype, a.context)
    extreme = function.reduce(a._values)
    is_full = explicit or a.nnz == count
    return extreme if is_full else function(extreme, a.dtype.type(0))


def _line_of_extreme(name: str, a: Any, axis: Any, out: Any) -> tuple[int | None, int]:
    """Return the axis and the number of elements that each extreme is of."""
    number = _axis(a, axis, name)
    _no_out(out, name)
    count = math.prod(a.shape) if number is None else a.shape[number]
    if count == 0:
        raise BadValue(f"{name}: no elements in an array of shape {a.shape}")
    return number, count


def _nan_extreme(name: str, a: Any, axis: Any, out: Any, explicit: bool) -> Any:
    number, count = _line_of_extreme(name, a, axis, out)
    if a.dtype.kind not in "fc":
        return _extreme(name, a, axis, out, explicit)
    a, function = canonical(a), FUNCTIONS["fmax" if name == "maximum" else "fmin"]
    zero = a.dtype.type(0)
    if number is None:
        if a.nnz == 0:
            return zeros((), a.dtype, a.context)
        extreme = function.reduce(a._values)
        return extreme if explicit or a.nnz == count else function(extreme, zero)
    is_nan = a._values != a._values
    last = a.dtype.type(-math.inf if name == "maximum" else math.inf)
    filled = make(where(is_nan, last, a._values), a._pattern, a.shape)
    call = getattr(lib, f"GpuSparse_{name[:3]}")
    lengths = _line_lengths(a, number)
    nans = make(is_nan.astype(a._pattern.indices.dtype), a._pattern)
    has_none = lengths == _line_sums(nans, number)
    extremes = where(
        has_none, a.dtype.type(math.nan), _folded(call, filled, number, name)
    )
    is_open = lengths == 0 if explicit else lengths < count
    return coo_of(where(is_open, function(extremes, zero), extremes))


def _line_extremes(name: str, a: Any, axis: int, explicit: bool) -> Any:
    """Return the extremes of columns (axis 0) or rows as a sparse vector."""
    return coo_of(_dense_extremes(name, a, axis, explicit))


def _dense_extremes(name: str, a: Any, axis: int, explicit: bool) -> Any:
    zero, call = a.dtype.type(0), getattr(lib, f"GpuSparse_{name[:3]}")
    lengths = _line_lengths(a, axis)
    values = _folded(call, a, axis, name)
    if explicit:
        return where(lengths == 0, zero, values)
    either = FUNCTIONS[name](values, zero)
    is_full = lengths == a.shape[axis]
    return where(is_full, values, where(lengths == 0, zero, either))


def _line_lengths(a: Any, axis: int) -> Any:
    """Return the number of values of each column (axis 0) or row."""
    pattern = a._pattern
    if pattern.format == ("csc" if axis == 0 else "csr"):
        return pattern.indptr[1:] - pattern.indptr[:-1]
    ones: Any = zeros(a.nnz, pattern.indices.dtype, a.context)
    ones = ones + 1
    return _line_sums(make(ones, pattern), axis)


def coo_of(dense: Array) -> Any:
    """Return a dense vector or matrix as a sparse one."""
    return from_dense(dense, "coo", index_dtype(dense.size))


# ---- places of extremes ----


def argmax(a: Any, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
    """Return where the first maximum is over an axis, dense; None: of all, an int.

    Zeros that are not stored are elements, too, unless ``explicit``.

    >>> A = gpuarray.sparse.csr_array([[0, -1], [2, -3]])
    >>> print(A.argmax(axis=0), A.argmax())
    [1 0] 2
    """
    return _place("maximum", a, axis, out, explicit)


def argmin(a: Any, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
    """Return where the first minimum is over an axis, dense; None: of all, an int.

    Zeros that are not stored are elements, too, unless ``explicit``.

    >>> A = gpuarray.sparse.csr_array([[0, -1], [2, -3]])
    >>> print(A.argmin(axis=1), A.argmin())
    [1 1] 3
    """
    return _place("minimum", a, axis, out, explicit)


def _place(name: str, a: Any, axis: Any, out: Any, explicit: bool) -> Any:
    operation = f"arg{name[:3]}"
    number = _axis(a, axis, operation)
    _no_out(out, operation)
    if 0 in (a.shape if number is None else (a.shape[number],)):
        raise BadValue(f"{operation}: no elements in an array of shape {a.shape}")
    a = canonical(a)
    if explicit and a.nnz == 0:
        raise BadValue(f"{operation}: explicit, of an array without stored values")
    if a.ndim == 1:
        return int(_line_places(name, make(a._values, a._pattern), 1, explicit)[0])
    if number is not None:
        return _line_places(name, a, number, explicit)
    extremes = _dense_extremes(name, a, 1, explicit)
    if explicit:  # rows without values are none of the candidates
        lengths = _line_lengths(a, 1)
        rows = flatnonzero(lengths)
        row = int(rows[int(getattr(extremes[rows], operation)())])
    else:
        row = int(getattr(extremes, operation)())
    columns = _line_places(name, a, 1, explicit)
    return row * a.shape[1] + int(columns[row])


def _line_places(name: str, a: Any, axis: int, explicit: bool) -> Any:
    """Return where the extremes of columns (axis 0) or rows are."""
    by_lines = asformat(a, "csc" if axis == 0 else "csr")
    pattern, values, length = by_lines._pattern, by_lines._values, a.shape[axis]
    row, column = places(by_lines)
    line, minor = (column, row) if axis == 0 else (row, column)
    extremes = _dense_extremes(name, by_lines, axis, explicit)
    found = values == extremes[line]
    if values.dtype.kind in "fc":
        found = found | (values != values)
    stored = _least(by_lines, where(found, minor, minor.dtype.type(length)), axis)
    if explicit:  # a line without values has its first place
        return where(stored < length, stored, 0).astype(np.int64)
    at: Any = arange(a.nnz, dtype=minor.dtype, context=a.context)
    at = at - pattern.indptr[line]
    gaps = _least(by_lines, where(minor == at, minor.dtype.type(length), at), axis)
    gaps = FUNCTIONS["minimum"](gaps, _line_lengths(by_lines, axis))
    missing = where(gaps < length, gaps, gaps.dtype.type(length))
    is_zero = extremes == a.dtype.type(0)
    first = where(is_zero, FUNCTIONS["minimum"](stored, missing), stored)
    return first.astype(np.int64)


def _least(by_lines: Any, numbers: Any, axis: int) -> Array:
    return _folded(lib.GpuSparse_min, make(numbers, by_lines._pattern), axis, "argmin")


# ---- counts ----


def count_nonzero(a: Any, axis: Any = None) -> Any:
    """Return the number of elements that are not zero over an axis; None: of all.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 3]])
    >>> print(A.count_nonzero(axis=0), A.count_nonzero())
    [1 2] 3
    """
    number = _axis(a, axis, "count_nonzero")
    a = canonical(a)
    if number is None:
        return int(_count(a._values))
    ones = (a._values != 0).astype(np.int64)
    return _line_sums(make(ones, a._pattern), number)


def nonzero(a: Any) -> Any:
    """Return the rows and columns of the elements that are not zero, by rows; waits.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> print(*A.nonzero())
    [0 1] [1 0]
    """
    found = without_zeros(canonical(a))
    row, column = places(by_rows(found))
    return (row, column) if a.ndim == 2 else (column,)


def by_rows(a: Any) -> Any:
    """Return a canonical array whose values are in the order of rows."""
    return asformat(a, "csr") if a.format == "csc" else a


# ---- diagonals and triangles ----


def diagonal(a: Any, k: int = 0) -> Any:
    """Return the diagonal with offset ``k``, dense.

    >>> print(gpuarray.sparse.csr_array([[1, 2], [0, 3]]).diagonal())
    [1 3]
    """
    rows, columns = require_matrix(a, "diagonal").shape
    if not -rows <= k <= columns:
        return zeros(0, a.dtype, a.context)
    length = builtins.min(rows + builtins.min(k, 0), columns - builtins.max(k, 0))
    y = empty(length, a.dtype, a.context)
    check(lib.GpuSparse_diagonal(y.struct, struct(a), k), "diagonal")
    return y


def trace(a: Any, offset: int = 0) -> Any:
    """Return the sum of the diagonal with an offset.

    >>> print(gpuarray.sparse.csr_array([[1, 2], [0, 3]]).trace())
    4
    """
    return diagonal(a, offset).sum()


def tril(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Return the elements on and below the diagonal with offset ``k``.

    >>> A = gpuarray.sparse.csr_array([[1, 2], [3, 4]])
    >>> print(gpuarray.sparse.tril(A).toarray())
    [[1 0]
     [3 4]]
    """
    A, row, column = _signed(A, "tril")
    return asformat(kept(A, column - row <= k), format)


def triu(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Return the elements on and above the diagonal with offset ``k``.

    >>> A = gpuarray.sparse.csr_array([[1, 2], [3, 4]])
    >>> print(gpuarray.sparse.triu(A, 1).toarray())
    [[0 2]
     [0 0]]
    """
    A, row, column = _signed(A, "triu")
    return asformat(kept(A, column - row >= k), format)


def _signed(a: Any, operation: str) -> tuple[Any, Any, Any]:
    """Return a matrix, a dense one in COO, and the rows and columns of its values."""
    if isinstance(a, Array) and a.ndim == 2:
        a = coo_of(a)
    return a, *places(require_matrix(a, operation))
