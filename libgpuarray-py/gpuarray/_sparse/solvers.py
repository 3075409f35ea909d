"""Systems of equations, by products with their matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpuarray._core.base import require as require_array
from gpuarray._creation.filled import empty, zeros
from gpuarray._linalg.norms import vector_norm
from gpuarray._native import check, lib
from gpuarray._products.matmul import vdot
from gpuarray._sparse.base import check_context, require_matrix, struct
from gpuarray._sparse.operators import LinearOperator, aslinearoperator
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import kind_of, result_type
from gpuarray.errors import BadValue, Unsupported

where = FUNCTIONS["where"]
_BETWEEN_LOOKS = 10  # iterations that are queued before the host asks whether to go on


class _System(NamedTuple):
    product: Callable[[Any], Any]
    precondition: Callable[[Any], Any] | None
    b: Any
    x: Any
    has_start: bool


def right_side_and_start(
    operation: str, operator: LinearOperator, b: Any, x0: Any
) -> tuple[Any, Any]:
    """Return b and the start, zeros by default, as vectors of one inexact dtype."""
    rows, columns = operator.shape
    require_array(b, operation)
    if b.shape not in ((rows,), (rows, 1)):
        raise BadValue(f"{operation}: b has shape {b.shape}, expected ({rows},)")
    dtype = result_type(operator.dtype, b.dtype)
    if kind_of(dtype) not in "fc":
        dtype = np.dtype(np.float64)
    b = b.reshape(-1).astype(dtype, copy=False)
    if x0 is None:
        return b, zeros(columns, dtype, b.context)
    x = require_array(x0, operation).reshape(-1).astype(dtype)
    if x.shape != (columns,):
        raise BadValue(f"{operation}: x0 has shape {x0.shape}, expected ({columns},)")
    return b, x


def _system(operation: str, A: Any, b: Any, x0: Any, M: Any) -> _System:
    operator = aslinearoperator(A)
    n = operator.shape[0]
    if operator.shape[1] != n:
        raise BadValue(f"{operation}: a matrix of {operator.shape}, expected a square")
    b, x = right_side_and_start(operation, operator, b, x0)
    inverse = None if M is None else _inverse(operation, M, n)
    return _System(operator.matvec, inverse, b, x, x0 is not None)


def _inverse(operation: str, M: Any, n: int) -> Callable[[Any], Any]:
    operator: LinearOperator = aslinearoperator(M)
    if operator.shape != (n, n):
        raise BadValue(f"{operation}: M has shape {operator.shape}, expected {(n, n)}")
    return operator.matvec


def _quotient(a: Any, b: Any, is_done: Any) -> Any:
    """Return a / b, but 0 once the method has come to its end."""
    return where(is_done, a.dtype.type(0), a / b)


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
) -> tuple[Array, int]:
    """Solve A x = b by conjugate gradients, for a Hermitian, positive definite matrix.

    Returns ``x`` and 0, or ``maxiter`` where the residual did not come below ``rtol``
    times the norm of b, or ``atol``. ``M`` is about the inverse of A. Nothing leaves
    the device but, after each ten iterations, whether to go on: those beyond the end
    change nothing. With a ``callback`` of x the host looks after each one.

    >>> A = gpuarray.sparse.csr_array([[4.0, 1.0], [1.0, 3.0]])
    >>> x, info = gpuarray.sparse.linalg.cg(A, gpuarray.asarray([1.0, 2.0]))
    >>> print(x.round(4), info)
    [0.0909 0.6364] 0
    """
    product, precondition, b, x, has_start = _system("cg", A, b, x0, M)
    limit = _limit(b, rtol, atol)
    r = b - product(x) if has_start else b
    z = r if precondition is None else precondition(r)
    p, rho, square = z, vdot(r, z), vdot(r, r).real
    total = 10 * b.size if maxiter is None else maxiter
    look = 1 if callback is not None else _BETWEEN_LOOKS
    for i in range(total):
        is_done = square <= limit
        if i % look == 0 and bool(is_done):
            return x, 0
        q = product(p)
        alpha = _quotient(rho, vdot(p, q), is_done)
        x, r = x + alpha * p, r - alpha * q
        z = r if precondition is None else precondition(r)
        before, rho = rho, vdot(r, z)
        p, square = z + _quotient(rho, before, is_done) * p, vdot(r, r).real
        if callback is not None:
            callback(x)
    return x, 0 if bool(square <= limit) else total


def _limit(b: Array, rtol: float, atol: float) -> Any:
    """Return the square of the residual's norm that is small enough."""
    norm = FUNCTIONS["maximum"](vector_norm(b) * rtol, atol)
    return norm * norm


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
) -> tuple[Array, int]:
    """Solve A x = b by stabilized biconjugate gradients, for any square matrix.

    Arguments, results and waiting as of ``cg``.

    >>> A = gpuarray.sparse.csr_array([[4.0, 1.0], [0.0, 3.0]])
    >>> x, info = gpuarray.sparse.linalg.bicgstab(A, gpuarray.asarray([6.0, 6.0]))
    >>> print(x.round(4), info)
    [1. 2.] 0
    """
    product, precondition, b, x, has_start = _system("bicgstab", A, b, x0, M)
    limit = _limit(b, rtol, atol)
    r = b - product(x) if has_start else b
    shadow, p, rho, square = r, r, vdot(r, r), vdot(r, r).real
    total = 10 * b.size if maxiter is None else maxiter
    look = 1 if callback is not None else _BETWEEN_LOOKS
    for i in range(total):
        is_done = square <= limit
        if i % look == 0 and bool(is_done):
            return x, 0
        near = p if precondition is None else precondition(p)
        v = product(near)
        alpha = _quotient(rho, vdot(shadow, v), is_done)
        s = r - alpha * v
        close = s if precondition is None else precondition(s)
        t = product(close)
        size = vdot(t, t)
        omega = _quotient(vdot(t, s), size, is_done | (size == 0))
        x, r = x + alpha * near + omega * close, s - omega * t
        before, rho = rho, vdot(shadow, r)
        is_last = is_done | (omega == 0)
        beta = _quotient(rho, before, is_last) * _quotient(alpha, omega, is_last)
        p, square = r + beta * (p - omega * v), vdot(r, r).real
        if callback is not None:
            callback(x)
    return x, 0 if bool(square <= limit) else total


# ---- minimal residuals ----


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[Any], Any] | None = None,
    callback_type: str | None = None,
) -> tuple[Array, int]:
    """Solve A x = b by generalized minimal residuals, for any square matrix.

    Returns ``x`` and 0, or ``maxiter``, the number of cycles, where the residual did
    not come below ``rtol`` times the norm of b, or ``atol``. A cycle has ``restart``
    products (20), after which the host reads their coefficients and solves a small
    system: one wait a cycle. ``M`` is about the inverse of A, applied from the right.
    ``callback`` is called with x after each cycle.

    >>> A = gpuarray.sparse.csr_array([[4.0, 1.0], [0.0, 3.0]])
    >>> x, info = gpuarray.sparse.linalg.gmres(A, gpuarray.asarray([6.0, 6.0]))
    >>> print(x.round(4), info)
    [1. 2.] 0
    """
    if callback_type not in (None, "x"):
        raise Unsupported(
            f"gmres: callback_type {callback_type!r} is not offered, expected 'x'"
        )
    product, precondition, b, x, has_start = _system("gmres", A, b, x0, M)
    cycles = 10 * b.size if maxiter is None else maxiter
    steps = min(20 if restart is None else restart, b.size)
    limit = max(rtol * float(vector_norm(b)), atol)
    for _ in range(cycles):
        r = b - product(x) if has_start else b
        has_start = True
        basis, coefficients, norm = _arnoldi(product, precondition, r, steps)
        if norm <= limit:
            return x, 0
        y, is_small = _least_squares(coefficients, norm, limit)
        change = y.astype(b.dtype)
        step = Array.from_host(change, b.context) @ basis[: len(y)]
        x = x + (step if precondition is None else precondition(step))
        if callback is not None:
            callback(x)
        if is_small:
            return x, 0
    return x, cycles


def orthogonal(w: Any, basis: Any) -> tuple[Any, Any]:
    """Return a vector without its parts along orthonormal rows, and these parts.

    Twice, so that what is left is orthogonal to rounding.
    """
    parts = basis.conj() @ w
    w = w - parts @ basis
    more = basis.conj() @ w
    return w - more @ basis, parts + more


def normalized(w: Any) -> tuple[Any, Any]:
    """Return a vector of norm 1, or zeros of zeros, and its former norm."""
    norm = vector_norm(w)
    one = norm.dtype.type(1)
    return w / where(norm == 0, one, norm), norm


def _arnoldi(
    product: Callable[[Any], Any],
    precondition: Callable[[Any], Any] | None,
    r: Any,
    steps: int,
) -> tuple[Any, Any, float]:
    """Return a basis, the products' parts on it, and the norm of ``r``; waits."""
    basis = empty((steps + 1, r.size), r.dtype, r.context)
    table = zeros((steps + 1, steps + 1), r.dtype, r.context)
    basis[0], norm = normalized(r)
    table[0, steps] = norm
    for j in range(steps):
        near = basis[j] if precondition is None else precondition(basis[j])
        w, parts = orthogonal(product(near), basis[: j + 1])
        basis[j + 1], length = normalized(w)
        table[: j + 1, j] = parts
        table[j + 1, j] = length
    host = table._read()
    return basis, host[:, :steps], float(host[0, steps].real)


def _least_squares(table: Any, norm: float, limit: float) -> tuple[Any, bool]:
    """Return the coefficients of the first step whose residual is below the limit."""
    best = np.zeros(0, table.dtype)
    for count in range(1, table.shape[1] + 1):
        part = table[: count + 1, :count]
        right = np.zeros(count + 1, table.dtype)
        right[0] = norm
        best = np.linalg.lstsq(part, right, rcond=None)[0]
        if np.linalg.norm(right - part @ best) <= limit:
            return best, True
    return best, False


# ---- triangular systems ----


def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Return the solution of A x = b, of a vector or the columns of a matrix.

    A is lower triangular, or upper with ``lower=False``: values of the other triangle
    are ignored, with ``unit_diagonal`` those of the diagonal, too. Nothing waits; a
    diagonal of 0 gives infinities and nans. ``overwrite_b`` writes x into b.

    >>> A = gpuarray.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]])
    >>> b = gpuarray.asarray([2.0, 5.0])
    >>> print(gpuarray.sparse.linalg.spsolve_triangular(A, b))
    [1. 1.]
    """
    operation = "spsolve_triangular"
    rows, columns = require_matrix(A, operation).shape
    require_array(b, operation)
    if rows != columns:
        raise BadValue(f"{operation}: a matrix of {A.shape}, expected a square")
    if b.ndim not in (1, 2) or b.shape[0] != rows:
        raise BadValue(f"{operation}: b has shape {b.shape}, expected {rows} rows")
    check_context(A, b, operation)
    dtype = result_type(A.dtype, b.dtype)
    if kind_of(dtype) not in "fc":
        dtype = np.dtype(np.float64)
    x: Array = b.astype(dtype, copy=not (overwrite_b and b.dtype == dtype))
    flags = (0 if lower else lib.GA_SPARSE_UPPER) | (
        lib.GA_SPARSE_UNIT if unit_diagonal else 0
    )
    a = A.astype(dtype, copy=False)
    check(lib.GpuSparse_solve(x.struct, struct(a), flags), operation)
    return x
