"""Construction of sparse arrays: from dense and sparse arrays, lists, three arrays."""

from __future__ import annotations

import operator
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._creation.arguments import Place, float_dtype
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import zeros
from gpuarray._sparse.base import Shape, is_sparse, make
from gpuarray._sparse.conversion import asformat, copied, from_dense
from gpuarray._sparse.pattern import (
    INT32,
    INT64,
    Knowledge,
    Loan,
    Pattern,
    flags_of,
    index_dtype,
)
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue, Unsupported

_NAMES = {
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
}


def build(
    format: str,
    source: Any,
    shape: Any,
    dtype: npt.DTypeLike | None,
    copy: bool,
    context: Place,
) -> Any:
    """Return the sparse array of a format that a class is called for."""
    name = f"{format}_array"
    target = None if dtype is None else as_dtype(dtype, name)
    lengths = None if shape is None else as_lengths(name, shape)
    array = _found(name, format, source, lengths, target, context)
    array = asformat(array, format)
    if lengths is not None and array.shape != lengths:
        raise BadValue(
            f"{name}: shape {lengths} was asked for an array of shape {array.shape}"
        )
    if target is not None and array.dtype != target:
        return array._with_values(array._values.astype(target))
    return copied(array) if copy else array


def as_lengths(name: str, shape: Any) -> Shape:
    """Return a shape of one axis or two."""
    try:
        lengths = tuple(operator.index(length) for length in shape)
    except TypeError:
        raise BadType(f"{name}: shape {shape!r}, expected (rows, columns)") from None
    if len(lengths) not in (1, 2) or min(lengths) < 0:
        raise BadValue(
            f"{name}: shape {lengths}, expected two lengths that are not negative"
        )
    if len(lengths) == 1 and name != "coo_array":
        raise Unsupported(
            f"{name}: one axis is offered by coo_array alone; use "
            "coo_array(x), or x.reshape(1, -1)"
        )
    return lengths


def as_matrix(shape: Shape) -> tuple[int, int]:
    """Return the lengths of a matrix: a vector is one row."""
    return (shape[0], shape[1]) if len(shape) == 2 else (1, shape[0])


def _found(
    name: str,
    format: str,
    source: Any,
    lengths: Shape | None,
    dtype: np.dtype[Any] | None,
    context: Place,
) -> Any:
    if is_sparse(source):
        return _moved(source, context)
    if isinstance(source, tuple):
        return _of_tuple(name, format, source, lengths, dtype, context)
    if _is_foreign(source):
        return of_scipy(source, context)
    if str(getattr(source, "layout", "")).startswith("torch.sparse"):
        return _of_torch(source, context)
    dense = asarray(source, dtype, context)
    if dense.ndim not in (1, 2):
        raise BadValue(
            f"{name}: a dense array of shape {dense.shape}, expected two axes"
        )
    as_lengths(name, dense.shape)
    return from_dense(dense, format, index_dtype(*dense.shape, dense.size))


def _moved(a: Any, context: Place) -> Any:
    """Return an array on a context: itself, if it is there."""
    place = a.context if context is None else find_context(context)
    if place is a.context:
        return a
    pattern = a._pattern
    arrays = (pattern.indices.transfer(place), pattern.indptr.transfer(place))
    known = Knowledge(pattern.knowledge.sure_flags)
    moved = Pattern(a.format, pattern.lengths, *arrays, known)
    return make(a._values.transfer(place), moved, a.shape)


# ---- other libraries ----


def _is_foreign(source: Any) -> bool:
    """Return True for a sparse array or matrix of scipy or CuPy."""
    return hasattr(source, "format") and hasattr(source, "tocsr")


def of_scipy(source: Any, context: Place) -> Any:
    """Return a sparse array or matrix of scipy, or of CuPy on its own memory.

    In its own format, if that is offered, else in CSR.
    """
    if source.format not in ("csr", "csc", "coo"):
        source = source.tocsr()
    format, shape = source.format, tuple(source.shape)
    if format == "coo":
        places = source.coords if len(shape) == 1 else (source.row, source.col)
        return _of_coordinates("coo_array", source.data, places, shape, None, context)
    parts = source.data, source.indices, source.indptr
    return _of_three(f"{format}_array", format, parts, shape, None, context)


def _of_torch(source: Any, context: Place) -> Any:
    """Return a tensor of PyTorch in one of its sparse layouts, on its own memory."""
    layout = str(source.layout).removeprefix("torch.")
    shape = tuple(source.shape)
    if layout == "sparse_coo":
        listed = source.coalesce()
        parts = listed.values(), tuple(listed.indices())
        return _of_coordinates("coo_array", *parts, shape, None, context)
    if layout not in _NAMES:
        raise Unsupported(
            f"csr_array: PyTorch's layout {layout} is not offered; use "
            "x.to_sparse_csr()"
        )
    format = layout.removeprefix("sparse_")
    indptr, indices = (getattr(source, part)() for part in _NAMES[layout])
    three = source.values(), indices, indptr
    return _of_three(f"{format}_array", format, three, shape, None, context)


# ---- tuples ----


def _of_tuple(
    name: str,
    format: str,
    source: tuple[Any, ...],
    lengths: Shape | None,
    dtype: np.dtype[Any] | None,
    context: Place,
) -> Any:
    if source and all(isinstance(part, int | np.integer) for part in source):
        return zero(format, as_lengths(name, source), dtype, context)
    if len(source) == 2 and isinstance(source[1], tuple | list | np.ndarray):
        return _of_coordinates(name, source[0], source[1], lengths, dtype, context)
    if len(source) == 3 and format != "coo":
        return _of_three(name, format, source, lengths, dtype, context)
    raise BadType(
        f"{name}: got a tuple of {len(source)}, expected (rows, columns), (data, (row, "
        "col))" + ("" if format == "coo" else " or (data, indices, indptr)")
    )


def zero(format: str, shape: Shape, dtype: np.dtype[Any] | None, context: Place) -> Any:
    """Return an array of a shape without any value."""
    place = find_context(context)
    matrix = as_matrix(shape)
    index = index_dtype(*shape)
    count = {"csr": matrix[0] + 1, "csc": matrix[1] + 1, "coo": 0}[format]
    values = zeros(0, float_dtype(f"{format}_array", dtype, place), place)
    arrays = zeros(0, index, place), zeros(count, index, place)
    return make(values, Pattern(format, matrix, *arrays), shape)


def _values(name: str, data: Any, dtype: np.dtype[Any] | None, context: Place) -> Array:
    values = asarray(data, dtype, context)
    if values.ndim != 1:
        raise BadValue(f"{name}: data of shape {values.shape}, expected a vector")
    return values if values.flags.c_contiguous else values.copy("C")


def _indices(
    name: str, what: str, indices: Any, place: Context, dtype: np.dtype[Any]
) -> Array:
    """Return index arrays; those of the host in ``dtype``, if it has their numbers."""
    if not isinstance(indices, BaseArray) and _is_host(indices):
        host = np.asarray(indices)
        if host.size == 0:
            host = host.astype(INT64)
        _require_integers(name, what, host)
        if (
            dtype == INT32
            and host.size
            and not -(2**31) <= host.min() <= host.max() < 2**31
        ):
            dtype = INT64  # which the check of indices then names
        found: Array = Array.from_host(host.astype(dtype, copy=False), place)
    else:
        found = asarray(indices, None, place)
        _require_integers(name, what, found)
        if found.dtype not in (INT32, INT64):
            found = found.astype(INT64)
    if found.ndim != 1:
        raise BadValue(f"{name}: {what} of shape {found.shape}, expected a vector")
    return found if found.flags.c_contiguous else found.copy("C")


def _is_host(x: Any) -> bool:
    return isinstance(x, np.ndarray | list | tuple | range)


def _require_integers(name: str, what: str, array: Any) -> None:
    if array.dtype.kind not in "iu":
        raise BadType(f"{name}: {what} of {array.dtype}, expected integers")


def _one_dtype(first: Array, second: Array) -> tuple[Array, Array]:
    dtype = INT32 if first.dtype == second.dtype == INT32 else INT64
    return first.astype(dtype, copy=False), second.astype(dtype, copy=False)


def _of_three(
    name: str,
    format: str,
    parts: tuple[Any, ...],
    lengths: Shape | None,
    dtype: np.dtype[Any] | None,
    context: Place,
) -> Any:
    """Return the array of (data, indices, indptr), which are checked; waits."""
    values = _values(name, parts[0], dtype, context)
    place = values.context
    index = index_dtype(values.size, *(lengths or ()))
    indices = _indices(name, "indices", parts[1], place, index)
    indptr = _indices(name, "indptr", parts[2], place, index)
    indices, indptr = _one_dtype(indices, indptr)
    if indices.size != values.size:
        raise BadValue(
            f"{name}: {values.size} data, but {indices.size} indices; expected as many"
        )
    if indptr.size == 0:
        raise BadValue(f"{name}: indptr is empty, expected one more than lines")
    values, indices = values[: _count(parts[2])], indices[: _count(parts[2])]
    if lengths is None:
        count, length = indptr.size - 1, _extent(indices)
        lengths = (count, length) if format == "csr" else (length, count)
    count = lengths[0] if format == "csr" else lengths[1]
    if indptr.size != count + 1:
        line = "rows" if format == "csr" else "columns"
        raise BadValue(
            f"{name}: indptr has {indptr.size} numbers, expected {count + 1}: one more "
            f"than {line}"
        )
    given = (parts[1], parts[2])
    knowledge = Knowledge(None, Loan(not all(_is_host(part) for part in given)))
    pattern = Pattern(format, as_matrix(lengths), indices, indptr, knowledge)
    flags_of(pattern, values)
    return make(values, pattern, lengths)


def _count(indptr: Any) -> int | None:
    """Return the number of values, after which scipy's arrays may have room, by an
    ``indptr`` of the host; None if it says none.
    """
    if not _is_host(indptr) or len(indptr) == 0:
        return None
    last = np.asarray(indptr).reshape(-1)[-1]
    return int(last) if last.dtype.kind in "iu" and last >= 0 else None


def _extent(indices: Array) -> int:
    """Return the length of the shortest axis that has all indices; waits."""
    return int(indices.max()) + 1 if indices.size else 0


def _of_coordinates(
    name: str,
    data: Any,
    coords: Any,
    lengths: Shape | None,
    dtype: np.dtype[Any] | None,
    context: Place,
) -> Any:
    """Return the COO array of (data, (row, col)), which is checked; waits."""
    values = _values(name, data, dtype, context)
    place = values.context
    if len(coords) not in (1, 2):
        raise BadValue(f"{name}: {len(coords)} index arrays, expected (row, col)")
    index = index_dtype(values.size, *(lengths or ()))
    words = ("row", "col") if len(coords) == 2 else ("col",)
    found = [
        _indices(name, word, part, place, index)
        for word, part in zip(words, coords, strict=True)
    ]
    for word, part in zip(words, found, strict=True):
        if part.size != values.size:
            raise BadValue(
                f"{name}: {values.size} data, but {part.size} numbers in {word}; "
                "expected as many"
            )
    if lengths is None:
        lengths = as_lengths(name, [_extent(part) for part in found])
    if len(lengths) != len(found):
        raise BadValue(f"{name}: {len(found)} index arrays for shape {lengths}")
    if len(found) == 1:
        found.insert(0, zeros(values.size, found[0].dtype, place))
    row, column = _one_dtype(*found)
    matrix = as_matrix(lengths)
    knowledge = Knowledge(None, Loan(not all(_is_host(part) for part in coords)))
    pattern = Pattern("coo", matrix, column, row, knowledge)
    flags_of(pattern, values)
    return make(values, pattern, lengths)


# ---- to other libraries ----


def get(a: Any) -> Any:
    """Return scipy's sparse array of the same format, copied to the host; waits.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> A.get().toarray()
    array([[0, 1],
           [2, 0]])
    """
    cls = getattr(import_module("scipy.sparse"), f"{a.format}_array")
    pattern = a._pattern
    data, indices, indptr = (
        part._read() for part in (a._values, pattern.indices, pattern.indptr)
    )
    if a.format == "coo":
        coords = (indptr, indices) if a.ndim == 2 else (indices,)
        return cls((data, coords), shape=a.shape)
    return cls((data, indices, indptr), shape=a.shape)


def restore(parts: tuple[Any, ...], format: str, shape: Shape, place: Context) -> Any:
    """Return the array of host arrays of values and indices, as ``get`` has them."""
    values, indices, indptr = (Array.from_host(part, place) for part in parts)
    pattern = Pattern(format, as_matrix(shape), indices, indptr)
    return make(values, pattern, shape)
