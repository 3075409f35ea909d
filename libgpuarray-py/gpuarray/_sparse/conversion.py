"""Formats, dense arrays, sorted indices and summed duplicates."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._core.arguments import Order
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray._sparse.base import (
    flags,
    is_canonical,
    make,
    require,
    require_matrix,
    struct,
)
from gpuarray._sparse.pattern import (
    CANONICAL,
    FORMATS,
    INT64,
    SORTED,
    made,
    struct_of,
)
from gpuarray.array import Array
from gpuarray.dtypes import dtype_to_typecode
from gpuarray.errors import BadValue, TooLarge, Unsupported

# ---- formats ----


def converted(a: Any, format: str) -> Any:
    """Return the array in a format, its values as they are stored; itself if in it."""
    if a.format == format:
        return a
    require_matrix(a, f"to{format}")
    call = lib.GpuSparse_convert
    operation = f"to{format}"
    values, pattern = made(operation, a.context, call, struct(a), FORMATS[format])
    if format == "coo":  # the indices are those of `a`
        known = a._pattern.knowledge
        pattern.knowledge.flags = known.sure_flags if a.format == "csr" else None
        pattern.knowledge.loan = known.loan
    return make(values, pattern, a.shape)


def of_pair(
    call: Any, a: Any, b: Any, dtype: np.dtype[Any], operation: str, *more: Any
) -> Any:
    """Return what a function of the library makes of two matrices of a dtype.

    Both are taken by rows, or by columns as the first; the result has its format.
    Waits.
    """
    format = "csc" if a.format == "csc" else "csr"
    pair = [converted(x, format) for x in (a, b)]
    is_wide = INT64 in [x._pattern.indices.dtype for x in pair]
    structs = []
    for x in pair:
        pattern = x._pattern.widened() if is_wide else x._pattern
        structs.append(struct_of(pattern, x._values.astype(dtype, copy=False)))
    values, pattern = made(operation, a.context, call, *structs, *more)
    pattern.knowledge.flags = CANONICAL
    return converted(make(values, pattern), a.format)


def asformat(a: Any, format: str | None, copy: bool = False) -> Any:
    """Return the array in the format "csr", "csc" or "coo"; None: in its own.

    From COO to others, duplicates are summed and indices sorted, which waits.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> A.asformat("coo").format
    'coo'
    """
    require(a, "asformat")
    if format is None or format == a.format:
        return copied(a) if copy else a
    if not isinstance(format, str) or format not in FORMATS:
        raise Unsupported(
            f"asformat: format {format!r} is not offered, expected 'csr', 'csc' or "
            "'coo'; for others: A.get().asformat(format), by scipy"
        )
    other = converted(a, format)
    if a.format == "coo":
        return canonical(other)
    return copied(other) if copy and format == "coo" else other


def tocsr(a: Any, copy: bool = False) -> Any:
    """Return the array by rows.

    >>> gpuarray.sparse.coo_array([[0, 1], [2, 0]]).tocsr().indptr.tolist()
    [0, 1, 2]
    """
    return asformat(a, "csr", copy)


def tocsc(a: Any, copy: bool = False) -> Any:
    """Return the array by columns.

    >>> gpuarray.sparse.csr_array([[0, 1], [2, 0]]).tocsc().data.tolist()
    [2, 1]
    """
    return asformat(a, "csc", copy)


def tocoo(a: Any, copy: bool = False) -> Any:
    """Return the array as a list of rows, columns and values.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]]).tocoo()
    >>> A.row.tolist(), A.col.tolist(), A.data.tolist()
    ([0, 1], [1, 0], [1, 2])
    """
    return asformat(a, "coo", copy)


def copied(a: Any) -> Any:
    """Return a copy of the array; named ``copy`` as a method.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> B = A.copy()
    >>> B.data *= 2
    >>> A.data.tolist(), B.data.tolist()
    ([1, 2], [2, 4])
    """
    require(a, "copy")
    return make(a._values.copy(), a._pattern.copy(), a.shape)


copied.__name__ = "copy"


# ---- dense arrays ----


def toarray(a: Any, order: Order | None = None) -> Array:
    """Return a dense array, in C or Fortran order; duplicates are summed.

    >>> print(gpuarray.sparse.coo_array(([1, 2], ([0, 0], [1, 1])), (2, 2)).toarray())
    [[0 3]
     [0 0]]
    """
    require(a, "toarray")
    if order not in (None, "C", "F"):
        raise BadValue(f"toarray: order is {order!r}, expected 'C', 'F' or None")
    place = ffi.new(ARRAY)
    code = lib.GA_F_ORDER if order == "F" else lib.GA_C_ORDER
    check(lib.GpuSparse_to_dense(place, struct(a), code), "toarray")
    dtype = a.dtype
    dense = Array.wrap(place, a.context, dtype, dtype_to_typecode(dtype))
    return dense if a.ndim == 2 else dense.reshape(a.shape)


def from_dense(dense: Array, format: str, index: np.dtype[Any]) -> Any:
    """Return the elements of a dense array that are not zero; waits."""
    matrix = dense if dense.ndim == 2 else dense.reshape(1, -1)
    typecode = dtype_to_typecode(index)
    args = matrix.struct, FORMATS[format], typecode
    call = lib.GpuSparse_from_dense
    values, pattern = made(f"{format}_array", dense.context, call, *args)
    pattern.knowledge.flags = CANONICAL
    return make(values, pattern, dense.shape)


# ---- places ----


def places(a: Any) -> tuple[Any, Any]:
    """Return the row and the column of each value, in the order of the values."""
    pattern = a._pattern
    if a.format != "coo":
        args = struct(a), FORMATS["coo"]
        call = lib.GpuSparse_convert
        pattern = made("tocoo", a.context, call, *args)[1]
    return pattern.indptr, pattern.indices


def major_lengths(a: Any) -> tuple[int, int]:
    """Return the number of compressed lines and their length: of COO, of rows."""
    rows, columns = a._pattern.lengths
    return (columns, rows) if a.format == "csc" else (rows, columns)


def keys(a: Any) -> Any:
    """Return one number for the place of each value, in the order of storage."""
    count, length = major_lengths(a)
    if count * length >= 2**63:
        raise TooLarge(
            f"a sparse array of {count} by {length} has more places than int64 can "
            "number, as this function needs"
        )
    row, column = places(a)
    major, minor = (column, row) if a.format == "csc" else (row, column)
    return major.astype(INT64) * length + minor


def kept(a: Any, mask: Any = None) -> Any:
    """Return the array with the values where a mask is true, or with those not 0.

    Waits for their number.
    """
    chosen = ffi.NULL if mask is None else mask.struct
    values, pattern = made("kept", a.context, lib.GpuSparse_keep, struct(a), chosen)
    is_known = a._pattern.knowledge.sure_flags == CANONICAL
    pattern.knowledge.flags = CANONICAL if is_known else None
    return make(values, pattern, a.shape)


# ---- sorted indices, duplicates, zeros ----


def sorted_indices(a: Any) -> Any:
    """Return the array with sorted indices; duplicates stay.

    >>> A = gpuarray.sparse.csr_array(([1, 2], [1, 0], [0, 2]), shape=(1, 2))
    >>> A.sorted_indices().indices.tolist()
    [0, 1]
    """
    require(a, "sorted_indices")
    found = flags(a)
    if found & SORTED:
        return copied(a)
    return _sorted(a)


def _sorted(a: Any) -> Any:
    call = lib.GpuSparse_sort
    values, pattern = made("sort_indices", a.context, call, struct(a))
    return make(values, pattern, a.shape)


def canonical(a: Any) -> Any:
    """Return the array with sorted indices and no duplicates: itself, if it has them.

    May wait.
    """
    if is_canonical(a):
        return a
    call = lib.GpuSparse_sum_duplicates
    values, pattern = made("sum_duplicates", a.context, call, struct(a))
    pattern.knowledge.flags = CANONICAL
    return make(values, pattern, a.shape)


def _become(a: Any, other: Any) -> None:
    a._set(other._values, other._pattern, a.shape)


def sort_indices(a: Any) -> None:
    """Sort the indices of the array itself; duplicates stay.

    >>> A = gpuarray.sparse.csr_array(([1, 2], [1, 0], [0, 2]), shape=(1, 2))
    >>> A.sort_indices()
    >>> A.indices.tolist(), A.data.tolist()
    ([0, 1], [2, 1])
    """
    if not flags(a) & SORTED:
        _become(a, _sorted(a))


def sum_duplicates(a: Any) -> None:
    """Add the values of the array itself that are at one place, and sort its indices.

    >>> A = gpuarray.sparse.csr_array(([1, 2], [1, 1], [0, 2]), shape=(1, 2))
    >>> A.sum_duplicates()
    >>> A.indices.tolist(), A.data.tolist()
    ([1], [3])
    """
    _become(a, canonical(a))


def eliminate_zeros(a: Any) -> None:
    """Remove stored zeros from the array itself; waits for the number of the others.

    >>> A = gpuarray.sparse.csr_array(([0, 2], [0, 1], [0, 2]), shape=(1, 2))
    >>> A.eliminate_zeros()
    >>> A.nnz
    1
    """
    _become(a, without_zeros(a))


def without_zeros(a: Any) -> Any:
    """Return the array without stored zeros: itself, if it has none. Waits."""
    rest = kept(a)
    return a if rest.nnz == a.nnz else rest
