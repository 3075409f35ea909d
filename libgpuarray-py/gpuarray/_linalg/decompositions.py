"""Factorizations of stacks of matrices, and linear systems, as ``numpy.linalg``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from gpuarray._core.base import require, require_all
from gpuarray._linalg import solvers
from gpuarray._linalg.solvers import factorizes, on_host, where
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.dtypes import kind_of, parts_dtype
from gpuarray.errors import BadType, BadValue, LinAlgError


class EigResult(NamedTuple):
    """The result of ``eig``: ``eigenvalues`` (..., n), ``eigenvectors`` as columns.

    >>> gpuarray.linalg.eig(gpuarray.eye(2)).eigenvectors.shape
    (2, 2)
    """

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """The result of ``eigh``: ascending ``eigenvalues``, ``eigenvectors`` as columns.

    >>> print(gpuarray.linalg.eigh(gpuarray.eye(2)).eigenvalues)
    [1. 1.]
    """

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """The result of ``qr``: orthonormal columns ``Q``, an upper triangular ``R``.

    >>> gpuarray.linalg.qr(gpuarray.ones((3, 2))).R.shape
    (2, 2)
    """

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """The result of ``slogdet``: ``sign``, on the unit circle, and ``logabsdet``.

    >>> print(gpuarray.linalg.slogdet(gpuarray.eye(2)).sign)
    1.0
    """

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """The result of ``svd``: columns ``U``, descending ``S``, rows ``Vh``.

    >>> print(gpuarray.linalg.svd(gpuarray.eye(2)).S)
    [1. 1.]
    """

    U: Any
    S: Any
    Vh: Any


# ---- operands ----


def as_floats(operation: str, x: Any) -> Any:
    """Return an array of a dtype that is factorized: integers as float64.

    Raises BadType for float16 and bfloat16, as NumPy.
    """
    require(x, operation)
    kind = kind_of(x.dtype)
    if kind in "biu":
        return x.astype(np.float64)
    if x.dtype.itemsize == 2:
        raise BadType(
            f"{operation}: {x.dtype} is unsupported in linalg; convert it: "
            "x.astype('float32')"
        )
    return x


def as_matrices(operation: str, x: Any, square: bool = False) -> Any:
    """As ``as_floats``; raises LinAlgError unless it has (square) matrices."""
    if require(x, operation).ndim < 2:
        raise LinAlgError(
            f"{operation}: an array of shape {x.shape}, expected matrices in the last "
            "two axes"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise LinAlgError(
            f"{operation}: matrices of {x.shape[-2:]}, expected square ones"
        )
    return as_floats(operation, x)


def _is_upper(operation: str, uplo: str) -> bool:
    if not isinstance(uplo, str) or uplo.upper() not in ("L", "U"):
        raise BadValue(f"{operation}: UPLO is {uplo!r}, expected 'L' or 'U'")
    return uplo.upper() == "U"


# ---- factorizations ----


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Return the lower triangular L with ``L @ L.mT.conj()`` equal to ``a``.

    ``upper``: its adjoint. One triangle is read. LinAlgError if not positive definite.

    >>> print(gpuarray.linalg.cholesky(gpuarray.asarray([[4.0, 2.0], [2.0, 10.0]])))
    [[2. 0.]
     [1. 3.]]
    """
    a = as_matrices("cholesky", a, square=True)
    if not factorizes(a.context):
        return on_host("cholesky", a, upper=upper)
    return solvers.cholesky(a, upper)


def qr(a: Any, mode: Literal["reduced", "complete", "r", "raw"] = "reduced") -> Any:
    """Return Q of orthonormal columns and upper triangular R, whose product is ``a``.

    "reduced" gives as many columns as the smaller side has, "complete" all, "r" only R,
    "raw" LAPACK's reflectors h and tau.

    >>> a = gpuarray.asarray([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = gpuarray.linalg.qr(a)
    >>> bool(gpuarray.allclose(q @ r, a)), abs(float(r[0, 0].round(6)))
    (True, 5.0)
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        raise BadValue(
            f"qr: mode is {mode!r}, expected 'reduced', 'complete', 'r' or 'raw'"
        )
    a = as_matrices("qr", a)
    if factorizes(a.context):
        factors = solvers.qr(a, mode)
    else:
        factors = on_host("qr", a, mode=mode)
    return QRResult(*factors) if mode in ("reduced", "complete") else factors


def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Any:
    """Return U, descending singular values S and Vh: ``(U * S) @ Vh`` equals ``a``.

    Without ``compute_uv``, S alone. ``hermitian`` says that ``a`` is Hermitian, and
    lets NumPy take a shorter way on the host.

    >>> a = gpuarray.asarray([[3.0, 0.0], [0.0, -2.0]])
    >>> u, s, vh = gpuarray.linalg.svd(a)
    >>> print(s.round(6), gpuarray.allclose((u * s) @ vh, a))
    [3. 2.] True
    """
    a = as_matrices("svd", a, square=hermitian)
    if factorizes(a.context):
        factors = solvers.svd(a, full_matrices, compute_uv)
    else:
        factors = on_host(
            "svd",
            a,
            full_matrices=full_matrices,
            compute_uv=compute_uv,
            hermitian=hermitian,
        )
    return SVDResult(*factors) if compute_uv else factors


def svdvals(x: Any, /) -> Any:
    """Return the singular values, in descending order.

    Matrices (..., m, n) give real numbers (..., min(m, n)).

    >>> a = gpuarray.asarray([[3.0, 0.0], [0.0, -2.0]])
    >>> print(gpuarray.linalg.svdvals(a).round(6))
    [3. 2.]
    """
    return svd(x, compute_uv=False)


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Return the eigenvalues and eigenvectors of Hermitian matrices.

    One triangle is read: the lower one, or the upper with ``UPLO="U"``.

    >>> found = gpuarray.linalg.eigh(gpuarray.asarray([[2.0, 1.0], [1.0, 2.0]]))
    >>> print(found.eigenvalues.round(6), abs(found.eigenvectors[0]).round(6))
    [1. 3.] [0.707107 0.707107]
    """
    upper = _is_upper("eigh", UPLO)
    a = as_matrices("eigh", a, square=True)
    if factorizes(a.context):
        return EighResult(*solvers.eigh(a, upper, True))
    return EighResult(*on_host("eigh", a, UPLO=UPLO))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues of Hermitian matrices, in ascending order.

    Matrices (..., n, n) give real numbers (..., n); ``UPLO`` as for ``eigh``.

    >>> a = gpuarray.asarray([[2.0, 1.0], [1.0, 2.0]])
    >>> print(gpuarray.linalg.eigvalsh(a).round(6))
    [1. 3.]
    """
    upper = _is_upper("eigvalsh", UPLO)
    a = as_matrices("eigvalsh", a, square=True)
    if factorizes(a.context):
        return solvers.eigh(a, upper, False)
    return on_host("eigvalsh", a, UPLO=UPLO)


def _as_complex(x: Any) -> Any:
    return x if x.dtype.kind == "c" else x.astype(np.result_type(x.dtype, np.complex64))


def eig(a: Any) -> EigResult:
    """Return eigenvalues and eigenvectors, complex whatever their values are.

    Matrices (..., n, n) give eigenvalues (..., n), and eigenvectors (..., n, n) as
    columns, in no order that is promised. Waits. LinAlgError unless they are square.

    >>> found = gpuarray.linalg.eig(gpuarray.asarray([[0.0, -1.0], [1.0, 0.0]]))
    >>> sorted(found.eigenvalues.imag.round(6).tolist())
    [-1.0, 1.0]
    """
    a = as_matrices("eig", a, square=True)
    if factorizes(a.context):
        return EigResult(*solvers.eig(_as_complex(a), True))
    return EigResult(*(_as_complex(part) for part in on_host("eig", a)))


def eigvals(a: Any) -> Any:
    """Return the eigenvalues, complex whatever their values are.

    Matrices (..., n, n) give an array (..., n), in no order that is promised. Waits.

    >>> found = gpuarray.linalg.eigvals(gpuarray.asarray([[2.0, 1.0], [0.0, 3.0]]))
    >>> sorted(found.real.round(6).tolist())
    [2.0, 3.0]
    """
    a = as_matrices("eigvals", a, square=True)
    if factorizes(a.context):
        return solvers.eig(_as_complex(a), False)
    return _as_complex(on_host("eigvals", a))


# ---- linear systems ----


def solve(a: Any, b: Any) -> Any:
    """The ``x`` with ``a @ x`` equal to ``b``, vectors or matrices that broadcast.

    Raises LinAlgError if a matrix is singular.

    >>> a = gpuarray.asarray([[2.0, 0.0], [0.0, 4.0]])
    >>> print(gpuarray.linalg.solve(a, gpuarray.asarray([2.0, 2.0])))
    [1.  0.5]
    """
    return _solve("solve", a, b, solvers.solve, lambda a, b: on_host("solve", a, b))


def solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    """As ``solve``, for the upper or ``lower`` triangle: the other one is not read.

    Where the vendor has a library, a zero on the diagonal gives infinities and nan;
    elsewhere LinAlgError.

    >>> a = gpuarray.asarray([[2.0, 9.0], [1.0, 4.0]])
    >>> print(gpuarray.linalg.solve_triangular(a, gpuarray.ones(2), lower=True))
    [0.5   0.125]
    """

    def by_host(a: Any, b: Any) -> Any:
        return on_host("solve", solvers.triangle(a, not lower), b)

    def by_library(a: Any, b: Any) -> Any:
        return solvers.solve_triangular(a, b, lower)

    return _solve("solve_triangular", a, b, by_library, by_host)


def _solve(
    operation: str,
    a: Any,
    b: Any,
    by_library: Callable[[Any, Any], Any],
    by_host: Callable[[Any, Any], Any],
) -> Any:
    """Return the solution for operands of one dtype, which are checked here."""
    a, b = require_all(operation, a, b)
    a = as_matrices(operation, a, square=True)
    b = as_floats(operation, b)
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    is_vector = b.ndim == 1
    if b.ndim == 0:
        raise LinAlgError(f"{operation}: b is 0-d, expected a vector or matrices")
    right = b[:, None] if is_vector else b
    if right.shape[-2] != a.shape[-1]:
        raise BadValue(
            f"{operation}: {a.shape[-1]} unknowns, but b has shape {b.shape}; expected "
            "as many rows"
        )
    if not factorizes(a.context):
        return by_host(a, b)
    batch = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
    x = by_library(
        a.broadcast_to((*batch, *a.shape[-2:])),
        right.broadcast_to((*batch, *right.shape[-2:])),
    )
    return x[..., 0] if is_vector else x


def inv(a: Any) -> Any:
    """Return the inverses of matrices (..., n, n), in their dtype.

    Raises LinAlgError if a matrix is singular.

    >>> print(gpuarray.linalg.inv(gpuarray.asarray([[2.0, 0.0], [0.0, 4.0]])))
    [[0.5  0.  ]
     [0.   0.25]]
    """
    a = as_matrices("inv", a, square=True)
    return solvers.inverse(a) if factorizes(a.context) else on_host("inv", a)


def det(a: Any) -> Any:
    """Return the determinants of matrices (..., n, n): an array (...).

    Raises LinAlgError unless they are square.

    >>> a = gpuarray.asarray([[2.0, 0.0], [0.0, 3.0]])
    >>> print(gpuarray.linalg.det(a).round(6))
    6.0
    """
    a = as_matrices("det", a, square=True)
    if not factorizes(a.context):
        return on_host("det", a)
    diagonal, sign, is_zero = solvers.determinant_parts(a)
    product = diagonal.prod(axis=-1) * sign
    return where(is_zero, a.dtype.type(0), product)


def slogdet(a: Any) -> SlogdetResult:
    """Return the determinants' signs and the logarithms of their absolute values.

    A singular matrix has 0 and -inf.

    >>> found = gpuarray.linalg.slogdet(gpuarray.asarray([[0.0, 1.0], [1.0, 0.0]]))
    >>> float(found.sign), abs(float(found.logabsdet))
    (-1.0, 0.0)
    """
    a = as_matrices("slogdet", a, square=True)
    if not factorizes(a.context):
        return SlogdetResult(*on_host("slogdet", a))
    diagonal, sign, is_zero = solvers.determinant_parts(a)
    size = abs(diagonal)
    real = parts_dtype(a.dtype).type
    log = where(is_zero, real(-np.inf), FUNCTIONS["log"](size).sum(axis=-1))
    phases = diagonal / size if a.dtype.kind == "c" else FUNCTIONS["sign"](diagonal)
    phase = where(is_zero, a.dtype.type(0), phases.prod(axis=-1) * sign)
    return SlogdetResult(phase, log)
