"""Norms, ranks, powers and least squares, made of products and factorizations."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.arguments import (
    as_integer,
    as_list,
    as_real,
    axes_numbers,
    axis_number,
)
from gpuarray._core.base import BaseArray, require, require_all
from gpuarray._linalg.decompositions import (
    as_floats,
    as_matrices,
    inv,
    slogdet,
    solve,
    svd,
    svdvals,
)
from gpuarray._linalg.solvers import identity, turned, where
from gpuarray._manipulation.shaping import moveaxis
from gpuarray._products.matmul import matmul
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray._ufunc.reduction import sum as add_up
from gpuarray.dtypes import kind_of, parts_dtype
from gpuarray.errors import BadType, BadValue, LinAlgError

Axis = int | tuple[int, ...] | None


# ---- norms ----


def _inexact(operation: str, x: Any) -> Any:
    """Return the array; integers as float64, as for NumPy's norms."""
    require(x, operation)
    return x.astype(np.float64) if kind_of(x.dtype) in "biu" else x


def _squares(x: Any) -> Any:
    """Return the squares of the absolute values, real."""
    if x.dtype.kind != "c":
        return x * x
    return FUNCTIONS["square"](x.real) + FUNCTIONS["square"](x.imag)


def _largest(x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the maximum of elements that are not negative; 0 of no elements."""
    axes = range(x.ndim) if axis is None else axes_numbers(axis, x.ndim, "norm")
    if any(x.shape[i] == 0 for i in axes):
        return x.sum(axis=axis, keepdims=keepdims)
    return x.max(axis=axis, keepdims=keepdims)


def _vector_norm(x: Any, ord: Any, axis: Axis, keepdims: bool) -> Any:
    if ord is None or ord == 2:
        total = add_up(_squares(x), axis=axis, keepdims=keepdims)
        return FUNCTIONS["sqrt"](total)
    if ord == 0:
        return (x != 0).sum(axis=axis, dtype=parts_dtype(x.dtype), keepdims=keepdims)
    size = abs(x)
    if ord == math.inf:
        return _largest(size, axis, keepdims)
    if ord == -math.inf:
        return size.min(axis=axis, keepdims=keepdims)
    if ord == 1:
        return size.sum(axis=axis, keepdims=keepdims)
    if isinstance(ord, str) or not isinstance(ord, int | float | np.number):
        raise BadValue(f"norm: order {ord!r} is none of a vector's; expected a number")
    order = float(ord)
    total = (size**order).sum(axis=axis, keepdims=keepdims)
    return total ** (1.0 / order)


def vector_norm(
    x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2
) -> Any:
    """Return the norm over ``axis`` (None: all), as of one vector.

    ``ord`` is any number, also 0 (the number of nonzeros), inf and -inf.

    >>> print(gpuarray.linalg.vector_norm(gpuarray.asarray([3.0, 4.0])))
    5.0
    """
    x = _inexact("vector_norm", x)
    if axis is not None:
        axis = axes_numbers(axis, x.ndim, "vector_norm")
    return _vector_norm(x, ord, axis, keepdims)


def _spectral(x: Any, axes: tuple[int, int], ord: Any) -> Any:
    """The largest, the smallest or the sum of the singular values in two axes."""
    s = svdvals(moveaxis(x, axes, (-2, -1)))
    if ord == 2:
        return _largest(s, -1, False)
    return s.min(axis=-1) if ord == -2 else s.sum(axis=-1)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    row, column = axes
    if ord is None or ord in ("f", "fro"):
        return _vector_norm(x, 2, axes, keepdims)
    if ord in (2, -2, "nuc"):
        norms = _spectral(x, axes, ord)
    elif ord in (1, -1, math.inf, -math.inf):
        over, then = (row, column) if abs(ord) == 1 else (column, row)
        sums = abs(x).sum(axis=over, keepdims=True)
        norms = _largest(sums, then, True) if ord > 0 else sums.min(axis=then)
        shape = [n for i, n in enumerate(x.shape) if i not in axes]
        norms = norms.reshape(shape)
    else:
        raise BadValue(
            f"norm: order {ord!r} is none of a matrix's; expected 1, -1, 2, -2, inf, "
            "-inf, 'fro' or 'nuc'"
        )
    if keepdims:
        return norms.reshape([1 if i in axes else n for i, n in enumerate(x.shape)])
    return norms


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norms of the matrices in the last two axes.

    ``ord`` is 1, -1, 2, -2, inf, -inf, "fro" or "nuc".

    >>> a = gpuarray.asarray([[3.0, 0.0], [4.0, 0.0]])
    >>> print(gpuarray.linalg.matrix_norm(a))
    5.0
    """
    x = _inexact("matrix_norm", x)
    if x.ndim < 2:
        raise BadValue(
            f"matrix_norm: got an array of shape {x.shape}, expected 2 axes or more"
        )
    return _matrix_norm(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


def norm(
    x: Any,
    ord: Any = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Any:
    """Return NumPy's norm: of vectors along one axis, of matrices in two, else of all.

    Without ``axis`` and ``ord``, that of all elements as one vector.

    >>> a = gpuarray.asarray([[3.0, 4.0], [6.0, 8.0]])
    >>> print(gpuarray.linalg.norm(a, axis=1))
    [ 5. 10.]
    """
    x = _inexact("norm", x)
    if axis is None:
        if ord is None or (
            (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)
        ):
            return _vector_norm(x, 2, None, keepdims)
        axes = tuple(range(x.ndim))
    else:
        axes = axes_numbers(
            tuple(axis) if isinstance(axis, Sequence) else axis, x.ndim, "norm"
        )
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, (axes[0], axes[1]), keepdims)
    raise BadValue(f"norm: over {len(axes)} axes, expected 1 (vectors) or 2 (matrices)")


def cond(x: Any, p: Any = None) -> Any:
    """Return the condition numbers by a norm; None and 2: the spectral one.

    Matrices (..., m, n) give real numbers (...); singular ones inf.

    >>> a = gpuarray.asarray([[4.0, 0.0], [0.0, 2.0]])
    >>> print(gpuarray.linalg.cond(a).round(6))
    2.0
    """
    x = as_matrices("cond", x)
    if x.shape[-1] == 0 or x.shape[-2] == 0:
        raise LinAlgError("cond: it is not defined for matrices without elements")
    if p in (None, 2, -2):
        s = svdvals(x)
        largest, smallest = s[..., 0], s[..., -1]
        numbers = smallest / largest if p == -2 else largest / smallest
    else:
        x = as_matrices("cond", x, square=True)
        axes = x.ndim - 2, x.ndim - 1
        is_singular = slogdet(x).sign == 0
        inverse = inv(where(is_singular[..., None, None], identity(x, x.shape[-1]), x))
        numbers = _matrix_norm(x, p, axes, False)
        numbers *= _matrix_norm(inverse, p, axes, False)
        numbers = where(is_singular, numbers.dtype.type(np.inf), numbers)
    has_nan = FUNCTIONS["isnan"](x).any(axis=(-2, -1))
    lost = FUNCTIONS["logical_and"](FUNCTIONS["isnan"](numbers), ~has_nan)
    return where(lost, numbers.dtype.type(np.inf), numbers)


# ---- ranks, pseudo-inverses and least squares ----


def _cutoff(s: Any, tolerance: Any, shape: tuple[int, ...]) -> Any:
    """Return the singular value below which one counts as 0; None: by rounding."""
    largest = s.max(axis=-1, keepdims=True)
    if tolerance is None:
        return largest * float(max(shape[-2:]) * np.finfo(s.dtype).eps)
    if getattr(tolerance, "ndim", 0) > 0:
        tolerance = tolerance[..., None]
    return largest * tolerance


def matrix_rank(
    A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None
) -> Any:
    """The number of singular values above ``tol``, or ``rtol`` times the largest.

    By default rounding errors of a 0 do not count.

    >>> print(gpuarray.linalg.matrix_rank(gpuarray.ones((3, 3))))
    1
    """
    if tol is not None and rtol is not None:
        raise BadValue("matrix_rank: give one of tol and rtol")
    if require(A, "matrix_rank").ndim < 2:
        return (A != 0).any().astype(np.int64)
    A = as_floats("matrix_rank", A)
    if tol is not None and not isinstance(tol, BaseArray):
        as_real(tol, "tol", "matrix_rank")
    if A.shape[-1] == 0 or A.shape[-2] == 0:
        return A.allocate(A.shape[:-2], np.dtype(np.int64), A.context, zeroed=True)
    s = svd(A, compute_uv=False, hermitian=hermitian)
    if tol is None:
        limit = _cutoff(s, rtol, A.shape)
    else:
        limit = tol[..., None] if getattr(tol, "ndim", 0) > 0 else tol
    return (s > limit).sum(axis=-1)


def pinv(
    a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None
) -> Any:
    """Return the Moore-Penrose pseudo-inverses.

    Singular values up to ``rtol`` (or ``rcond``) times the largest count as 0; by
    default as for ``matrix_rank``, but ``rcond`` as NumPy's.

    >>> print(gpuarray.linalg.pinv(gpuarray.asarray([[2.0], [0.0]])).round(6))
    [[0.5 0. ]]
    """
    if rcond is not None and rtol is not None:
        raise BadValue("pinv: give one of rcond and rtol")
    for name, value in (("rcond", rcond), ("rtol", rtol)):
        if value is not None and not hasattr(value, "ndim"):
            as_real(value, name, "pinv")
    a = as_matrices("pinv", a)
    tolerance = rtol if rtol is not None else rcond
    if a.shape[-1] == 0 or a.shape[-2] == 0:
        shape = (*a.shape[:-2], a.shape[-1], a.shape[-2])
        return a.allocate(shape, a.dtype, a.context)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    is_used = s > _cutoff(s, tolerance, a.shape)
    safe = where(is_used, s, s.dtype.type(1))
    inverse = where(is_used, 1 / safe, s.dtype.type(0))
    return matmul(_adjoint(vh) * inverse[..., None, :], _adjoint(u))


def _adjoint(x: Any) -> Any:
    return turned(x).conj() if x.dtype.kind == "c" else turned(x)


def lstsq(a: Any, b: Any, rcond: float | None = None) -> tuple[Any, Any, int, Any]:
    """Return the least-squares solution ``x`` of ``a @ x = b`` that has the least norm.

    With the sums of squared residuals (none unless ``a`` has full rank and more rows
    than columns), the rank, and the singular values. Waits for the rank, which decides
    the shape of the second.

    >>> a = gpuarray.asarray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> b = gpuarray.asarray([1.0, 3.0, 5.0])
    >>> x, rest, rank, values = gpuarray.linalg.lstsq(a, b)
    >>> print(x.round(6), rank)
    [1. 2.] 2
    """
    a, b = require_all("lstsq", a, b)
    a, b = as_matrices("lstsq", a), as_floats("lstsq", b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise LinAlgError(
            f"lstsq: shapes {a.shape} and {b.shape}, expected a matrix, and a vector "
            "or a matrix"
        )
    m, n = a.shape
    if b.shape[0] != m:
        raise LinAlgError(f"lstsq: {m} equations, but b has shape {b.shape}")
    if rcond is not None:
        rcond = as_real(rcond, "rcond", "lstsq")
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    right = b[:, None] if b.ndim == 1 else b
    u, s, vh = svd(a, full_matrices=False)
    if s.size:
        rounding = np.finfo(dtype).eps * max(m, n)
        limit = s[0] * (float(rounding) if rcond is None else rcond)
        is_used = s > limit
        safe = where(is_used, s, s.dtype.type(1))
        inverse = where(is_used, 1 / safe, s.dtype.type(0))
        rank = int(is_used.sum())
        x = matmul(_adjoint(vh), matmul(_adjoint(u), right) * inverse[:, None])
    else:
        rank = 0
        x = a.allocate((n, right.shape[1]), dtype, a.context, zeroed=True)
    left = s[:0]
    if rank == n and m > n:
        left = add_up(_squares(right - matmul(a, x)), axis=0)
    return (x[:, 0] if b.ndim == 1 else x), left, rank, s


# ---- powers and tensors ----


def matrix_power(x: Any, n: int, /) -> Any:
    """The n-th powers of square matrices, of their inverses for a negative ``n``.

    LinAlgError unless they are square, and for a negative ``n`` if one is singular.

    >>> a = gpuarray.asarray([[1.0, 1.0], [0.0, 1.0]])
    >>> print(gpuarray.linalg.matrix_power(a, 5))
    [[1. 5.]
     [0. 1.]]
    """
    require(x, "matrix_power")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise LinAlgError(
            f"matrix_power: an array of shape {x.shape}, expected square matrices"
        )
    try:
        n = operator.index(n)
    except TypeError:
        raise BadType(f"matrix_power: n is {n!r}, expected an integer") from None
    if n == 0:
        return identity(x, x.shape[-1]).copy("C")
    if n < 0:
        x, n = inv(x), -n
    result = None
    while True:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        if n == 0:
            return result.copy() if result is x else result
        x = matmul(x, x)


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """Return the ``x`` with ``tensordot(a, x, x.ndim)`` equal to ``b``.

    ``axes`` of ``a`` are moved to its end first.

    >>> a = gpuarray.reshape(2 * gpuarray.eye(4), (2, 2, 4))
    >>> print(gpuarray.linalg.tensorsolve(a, gpuarray.ones((2, 2))))
    [0.5 0.5 0.5 0.5]
    """
    a, b = require_all("tensorsolve", a, b)
    if axes is not None:
        moved = [
            axis_number(axis, a.ndim, "tensorsolve")
            for axis in as_list(axes, "axes", "tensorsolve")
        ]
        rest = [axis for axis in range(a.ndim) if axis not in moved]
        a = a.transpose(*rest, *moved)
    shape = a.shape[b.ndim :]
    unknowns = math.prod(shape)
    if a.size != unknowns**2:
        raise LinAlgError(
            f"tensorsolve: {a.size // max(unknowns, 1)} equations for {unknowns} "
            "unknowns, expected as many"
        )
    return solve(a.reshape(unknowns, unknowns), b.reshape(b.size)).reshape(shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """Return the inverse for ``tensordot`` over the first ``ind`` axes.

    >>> a = gpuarray.reshape(2 * gpuarray.eye(4), (2, 2, 4))
    >>> gpuarray.linalg.tensorinv(a, ind=2).shape
    (4, 2, 2)
    """
    require(a, "tensorinv")
    if as_integer(ind, "ind", "tensorinv") <= 0:
        raise BadValue(f"tensorinv: ind is {ind}, expected a positive number")
    rows = math.prod(a.shape[:ind])
    if a.size != rows**2:
        raise LinAlgError(
            f"tensorinv: shape {a.shape} is no square matrix where the first {ind} "
            "axes are rows"
        )
    return inv(a.reshape(rows, rows)).reshape((*a.shape[ind:], *a.shape[:ind]))
