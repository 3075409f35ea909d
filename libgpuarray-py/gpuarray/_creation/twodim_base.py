"""Triangles, diagonals and their indices, and Vandermonde matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.arguments import as_integer
from gpuarray._core.base import require
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._creation.arguments import Place
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import zeros
from gpuarray._creation.ranges import arange
from gpuarray._indexing.advanced_indexing import INT64
from gpuarray._manipulation.shaping import diagonal
from gpuarray._math.statistics import cumulative_prod
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype, result_type
from gpuarray.errors import BadValue, host_errors

# ---- triangles ----


def _below(rows: int, columns: int, k: int, context: Context) -> Any:
    """Return a mask of the elements of a matrix on or below its k-th diagonal."""
    down: Any = arange(rows, dtype=INT64, context=context).reshape(rows, 1)
    right = arange(-k, columns - k, dtype=INT64, context=context)
    return down >= right


def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: npt.DTypeLike = float,
    context: Place = None,
) -> Any:
    """A matrix of ones on and below the k-th diagonal, and zeros above.

    >>> print(gpuarray.tri(2, 3))
    [[1. 0. 0.]
     [1. 1. 0.]]
    """
    rows = as_integer(N, "N", "tri")
    columns = rows if M is None else as_integer(M, "M", "tri")
    below = _below(rows, columns, as_integer(k, "k", "tri"), find_context(context))
    return below.astype(as_dtype(dtype, "tri"))


def _triangle(operation: str, array: Any, k: int, is_upper: bool) -> Any:
    source = require(array, operation)
    if source.ndim == 0:
        raise BadValue(f"{operation}: got a 0-d array, expected a vector or matrices")
    rows, columns = source.shape[-2:] if source.ndim > 1 else source.shape * 2
    below = _below(
        rows, columns, as_integer(k, "k", operation) - is_upper, source.context
    )
    zero = zeros((), source.dtype, source.context)
    where = FUNCTIONS["where"]
    return where(below, zero, source) if is_upper else where(below, source, zero)


def tril(m: Any, k: int = 0) -> Any:
    """The matrix, or stack of them, with zeros above the k-th diagonal.

    >>> print(gpuarray.tril(gpuarray.ones((2, 2))))
    [[1. 0.]
     [1. 1.]]
    """
    return _triangle("tril", m, k, False)


def triu(m: Any, k: int = 0) -> Any:
    """The matrix, or stack of them, with zeros below the k-th diagonal.

    >>> print(gpuarray.triu(gpuarray.ones((2, 2))))
    [[1. 1.]
     [0. 1.]]
    """
    return _triangle("triu", m, k, True)


# ---- diagonals ----


def diag(v: Any, k: int = 0) -> Any:
    """Return the matrix with a vector on the k-th diagonal, or a matrix's diagonal.

    >>> a = gpuarray.diag(gpuarray.asarray([1, 2]))
    >>> print(a)
    [[1 0]
     [0 2]]
    >>> print(gpuarray.diag(a))
    [1 2]
    """
    source = require(v, "diag")
    if source.ndim == 2:
        return diagonal(source, k)
    if source.ndim != 1:
        raise BadValue(f"diag: shape {source.shape}, expected a vector or a matrix")
    length = source.size + abs(as_integer(k, "k", "diag"))
    result: Array = zeros((length, length), source.dtype, source.context)
    diagonal(result, k)[...] = source
    return result


def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with the raveled array on its k-th diagonal.

    >>> print(gpuarray.diagflat(gpuarray.asarray([[1], [2]])))
    [[1 0]
     [0 2]]
    """
    return diag(require(v, "diagflat").ravel(), k)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of a vector's elements, a row for each, by default decreasing.

    >>> print(gpuarray.vander(gpuarray.asarray([2, 3]), 3))
    [[4 2 1]
     [9 3 1]]
    """
    source = require(x, "vander")
    if source.ndim != 1:
        raise BadValue(f"vander: shape {source.shape}, expected a vector")
    columns = source.size if N is None else as_integer(N, "N", "vander")
    if columns < 0:
        raise BadValue(f"vander: N is {columns}, expected 0 or more")
    wide = source.astype(result_type(source.dtype, np.dtype(np.int64)), copy=False)
    if columns == 0:
        return wide.reshape(-1, 1)[:, :0]
    repeated = wide.reshape(-1, 1).broadcast_to((source.size, columns - 1))
    powers = cumulative_prod(repeated, axis=1, dtype=wide.dtype, include_initial=True)
    return powers if increasing else powers[:, ::-1]


# ---- indices of matrices ----


def _placed(
    operation: str,
    function: Callable[..., Any],
    n: int,
    k: int,
    m: int | None,
    context: Place,
) -> tuple[Any, ...]:
    rows, offset = as_integer(n, "n", operation), as_integer(k, "k", operation)
    columns = rows if m is None else as_integer(m, "m", operation)
    with host_errors(operation):
        places = function(rows, offset, columns)
    return tuple(asarray(indices, context=context) for indices in places)


def tril_indices(
    n: int, k: int = 0, m: int | None = None, context: Place = None
) -> tuple[Any, ...]:
    """Return index arrays of a matrix (n, m) on and below its k-th diagonal.

    >>> rows, columns = gpuarray.tril_indices(2)
    >>> print(rows, columns)
    [0 1 1] [0 0 1]
    """
    return _placed("tril_indices", np.tril_indices, n, k, m, context)


def triu_indices(
    n: int, k: int = 0, m: int | None = None, context: Place = None
) -> tuple[Any, ...]:
    """Return index arrays of a matrix (n, m) on and above its k-th diagonal.

    >>> rows, columns = gpuarray.triu_indices(2)
    >>> print(rows, columns)
    [0 0 1] [0 1 1]
    """
    return _placed("triu_indices", np.triu_indices, n, k, m, context)


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """``tril_indices`` for a matrix, on its context.

    >>> print(gpuarray.tril_indices_from(gpuarray.zeros((2, 2)))[0])
    [0 1 1]
    """
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns, arr.context)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, ...]:
    """``triu_indices`` for a matrix, on its context.

    >>> print(gpuarray.triu_indices_from(gpuarray.zeros((2, 2)))[0])
    [0 0 1]
    """
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns, arr.context)


def _matrix_shape(operation: str, array: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = require(array, operation).shape
    if len(shape) != 2:
        raise BadValue(f"{operation}: got an array of shape {shape}, expected a matrix")
    return shape


def diag_indices(n: int, ndim: int = 2, context: Place = None) -> tuple[Any, ...]:
    """Return the indices of the diagonal of an array of ``ndim`` axes of length ``n``.

    >>> a = gpuarray.zeros((2, 2))
    >>> a[gpuarray.diag_indices(2)] = 1
    >>> print(a.tolist())
    [[1.0, 0.0], [0.0, 1.0]]
    """
    length = as_integer(n, "n", "diag_indices")
    axes = as_integer(ndim, "ndim", "diag_indices")
    return (arange(length, context=context),) * axes


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """``diag_indices`` for an array of two or more axes of one length.

    >>> print(gpuarray.diag_indices_from(gpuarray.zeros((2, 2)))[0])
    [0 1]
    """
    shape = require(arr, "diag_indices_from").shape
    if len(shape) < 2 or len(set(shape)) != 1:
        raise BadValue(
            f"diag_indices_from: got shape {shape}, expected two or more axes of one "
            "length"
        )
    return diag_indices(shape[0], len(shape), arr.context)
