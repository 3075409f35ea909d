"""Factorizations, by the vendor's library on the device or by NumPy on the host.

The vendor's routines take column-major matrices, which they overwrite. The transposed
view of a new C-contiguous array is such a matrix, so a copy in C order gives the
transposed matrices at once, and often those serve as well.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._creation.ranges import arange
from gpuarray._native import check, ffi, lib
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.dtypes import callers_level, parts_dtype
from gpuarray.errors import HostNotice, LinAlgError

where: Callable[..., Any] = FUNCTIONS["where"]

_INT, _LONG = np.dtype(np.int32), np.dtype(np.int64)
_told: set[str] = set()
_lock = threading.Lock()


def factorizes(context: Context) -> bool:
    """Return True if the context's vendor has a library of factorizations."""
    if "solver" not in context._kernels:
        context._kernels["solver"] = bool(lib.gpuarray_solves(context.pointer))
    return bool(context._kernels["solver"])


# ---- on the host ----


def tell(operation: str, context: Context, by: str = "NumPy") -> None:
    """Warn, once for each operation, that it is computed on the host."""
    with _lock:
        if operation in _told:
            return
        _told.add(operation)
    warnings.warn(
        f"{operation}: the vendor of {context.name} has no library for it here, so "
        f"{by} computes it on the host; silence this with "
        "warnings.filterwarnings('ignore', category=gpuarray.HostNotice)",
        HostNotice,
        stacklevel=callers_level(),
    )


def on_host(name: str, *operands: Any, **options: Any) -> Any:
    """Return the result of ``numpy.linalg``'s function of this name, on the device."""
    like = operands[0]
    tell(name, like.context)
    hosts = [operand._read() for operand in operands]
    try:
        with np.errstate(all="ignore"):
            result = getattr(np.linalg, name)(*hosts, **options)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"{name}: {error}") from None
    if isinstance(result, tuple):
        return tuple(_back(part, like) for part in result)
    return _back(result, like)


def _back(result: Any, like: Any) -> Any:
    return like.from_host(np.asarray(result), like.context)


# ---- on the device ----


def turned(x: Any) -> Any:
    """Return a view with the last two axes exchanged."""
    return x.transpose(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)


def columns(x: Any) -> Any:
    """Return a copy whose matrices are column-major."""
    return turned(turned(x).copy("C"))


def _call(operation: str, function: Any, *arguments: Any) -> None:
    """Call the library; arrays pass their structs and None passes NULL."""
    passed = [
        ffi.NULL if x is None else x.struct if isinstance(x, BaseArray) else x
        for x in arguments
    ]
    check(function(*passed), operation)


def _new(like: Any, shape: Any, dtype: Any = None) -> Any:
    dtype = like.dtype if dtype is None else dtype
    return like.allocate(tuple(shape), dtype, like.context, operation="linalg")


def _new_columns(like: Any, rows: int, count: int) -> Any:
    """Return new column-major matrices of (rows, count), as many as ``like`` has."""
    return turned(_new(like, (*like.shape[:-2], count, rows)))


def triangle(x: Any, upper: bool) -> Any:
    """Return the matrices with zeros below, or above, the diagonal."""
    rows: Any = arange(x.shape[-2], context=x.context)[:, None]
    steps: Any = arange(x.shape[-1], context=x.context)[None, :]
    zero = x.dtype.type(0)
    return where(rows <= steps if upper else rows >= steps, x, zero)


def identity(like: Any, n: int) -> Any:
    """Return identity matrices, as many as ``like`` has and of its dtype."""
    rows: Any = arange(n, context=like.context)
    unit = (rows[:, None] == rows[None, :]).astype(like.dtype)
    return unit.broadcast_to((*like.shape[:-2], n, n))


def cholesky(x: Any, upper: bool) -> Any:
    """Return the Cholesky factor of matrices of which one triangle is read.

    In column-major order a C-ordered Hermitian matrix is its conjugate, and the
    transpose of its other factor is the one asked for.
    """
    factor = x.copy("C")
    uplo = lib.cb_lower if upper else lib.cb_upper
    _call("cholesky", lib.GpuArray_cholesky, turned(factor), uplo, None)
    return triangle(factor, upper)


def lu(x: Any, info: Any = None) -> tuple[Any, Any]:
    """Return LU factors of the transposed matrices, column-major, and pivots."""
    factors = turned(x.copy("C"))
    pivots = _new(x, (*x.shape[:-2], x.shape[-1]), _LONG)
    _call("lu", lib.GpuArray_lu, factors, pivots, info)
    return factors, pivots


def lu_with_order(x: Any) -> tuple[Any, Any]:
    """Return L and U of a tall matrix in one, and the row of ``x`` each row comes from.

    A pivot of 0 is no error. Where the vendor has no library SciPy computes them.
    """
    m, n = x.shape
    if factorizes(x.context):
        factors, info = columns(x), _new(x, (), _INT)
        pivots = _new(x, (n,), _LONG)
        _call("lu", lib.GpuArray_lu, factors, pivots, info)
        exchanged = pivots._read() - 1
    else:
        tell("lu", x.context, "SciPy")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pivots of 0
            host, exchanged = import_module("scipy.linalg").lu_factor(x._read())
        factors = _back(host, x)
    order = np.arange(m)
    for row, other in enumerate(exchanged):
        order[[row, other]] = order[[other, row]]
    return factors, _back(order, x)


def solve(a: Any, b: Any) -> Any:
    """Return the solution of ``a @ x = b``, stacks of one shape."""
    factors, pivots = lu(a)
    x = columns(b)
    _call("solve", lib.GpuArray_lu_solve, lib.cb_trans, factors, pivots, x)
    return x


def solve_triangular(a: Any, b: Any, lower: bool) -> Any:
    """Return the solution for a triangle of ``a``, stacks of one shape.

    It is its own factor U: a lower one is read by rows as the transposed system's.
    """
    factor = triangle(a, not lower)
    factors = turned(factor.copy("C")) if lower else columns(factor)
    n = a.shape[-1]
    pivots = _new(a, (*a.shape[:-2], n), _LONG)
    pivots[...] = arange(1, n + 1, context=a.context)
    x = columns(b)
    how = lib.cb_trans if lower else lib.cb_no_trans
    _call("solve_triangular", lib.GpuArray_lu_solve, how, factors, pivots, x)
    return x


def inverse(a: Any) -> Any:
    """Return the inverses, in C order."""
    factors, pivots = lu(a)
    out = identity(a, a.shape[-1]).copy("C")
    how = lib.cb_no_trans
    _call("inv", lib.GpuArray_lu_solve, how, factors, pivots, turned(out))
    return out


def determinant_parts(a: Any) -> tuple[Any, Any, Any]:
    """Return pivots' diagonal, exchanges' sign (of the real dtype), where it is 0."""
    info = _new(a, a.shape[:-2], _INT)
    factors, pivots = lu(a, info)
    n = a.shape[-1]
    exchanged = pivots != arange(1, n + 1, context=a.context)
    odd = exchanged.sum(axis=-1) % 2
    sign = (1 - 2 * odd).astype(parts_dtype(a.dtype))
    strides = factors.strides
    diagonal = factors.strided(
        (*a.shape[:-2], n), (*strides[:-2], strides[-2] + strides[-1])
    )
    return diagonal, sign, info != 0


def qr(x: Any, mode: str) -> Any:
    """Return (Q, R), R alone, or (h, tau) for the mode "raw"."""
    m, n = x.shape[-2:]
    k = min(m, n)
    a = columns(x)
    tau = _new(x, (*x.shape[:-2], k))
    _call("qr", lib.GpuArray_qr, a, tau)
    if mode == "raw":
        return turned(a), tau
    rows = m if mode == "complete" else k
    r = triangle(a[..., :rows, :], True)
    if mode == "r":
        return r
    q = a[..., :, :k]
    if rows > k:
        q = _new_columns(x, m, m)
        q[..., :, :k] = a
    _call("qr", lib.GpuArray_qr_vectors, q, tau)
    return q, r


def svd(x: Any, full: bool, vectors: bool) -> Any:
    """Return (U, S, Vh), or S alone. A wide matrix is decomposed by its transpose."""
    is_wide = x.shape[-2] < x.shape[-1]
    a = turned(x.copy("C")) if is_wide else columns(x)
    m, n = a.shape[-2:]
    s = _new(x, (*x.shape[:-2], n), parts_dtype(x.dtype))
    if not vectors:
        _call("svd", lib.GpuArray_svd, a, s, None, None, None)
        return s
    u = _new_columns(x, m, m if full else n)
    vh = _new_columns(x, n, n)
    if m == 0 or n == 0:
        u[...] = identity(x, m)[..., :, : u.shape[-1]]
    _call("svd", lib.GpuArray_svd, a, s, u, vh, None)
    return (turned(vh), s, turned(u)) if is_wide else (u, s, vh)


def eigh(x: Any, upper: bool, vectors: bool) -> Any:
    """Return (eigenvalues, eigenvectors), or the values alone; one triangle is read."""
    a = turned(x.copy("C"))
    w = _new(x, x.shape[:-1], parts_dtype(x.dtype))
    uplo = lib.cb_lower if upper else lib.cb_upper
    _call("eigh", lib.GpuArray_eigh, a, uplo, vectors, w, None)
    if not vectors:
        return w
    return w, a.conj() if x.dtype.kind == "c" else a


def eig(x: Any, vectors: bool) -> Any:
    """Return (eigenvalues, eigenvectors), or the values alone, of complex matrices."""
    a = columns(x)
    w = _new(x, x.shape[:-1])
    v = _new_columns(x, x.shape[-1], x.shape[-1]) if vectors else None
    _call("eig", lib.GpuArray_eig, a, w, v, None)
    return w if v is None else (w, v)
