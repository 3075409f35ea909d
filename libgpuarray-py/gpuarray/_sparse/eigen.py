"""Eigenvalues of Hermitian matrices, by products with the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._creation.filled import zeros
from gpuarray._linalg.norms import vector_norm
from gpuarray._manipulation.joining import concatenate
from gpuarray._products.matmul import vdot
from gpuarray._sparse.base import is_sparse
from gpuarray._sparse.operators import LinearOperator, aslinearoperator
from gpuarray._sparse.solvers import normalized, orthogonal
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import kind_of, parts_dtype
from gpuarray.errors import BadValue, Unsupported
from gpuarray.random import Generator, default_rng

where = FUNCTIONS["where"]
_ORDERS = {
    "LA": lambda values: -values,
    "SA": lambda values: values,
    "LM": lambda values: -abs(values),
    "SM": abs,
}


def eigsh(
    A: Any,
    k: int = 6,
    M: Any = None,
    sigma: float | None = None,
    which: str = "LM",
    v0: Any = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float = 0,
    return_eigenvectors: bool = True,
    *,
    rng: Generator | int | None = None,
) -> Any:
    """Return ``k`` eigenvalues of a Hermitian matrix, in ascending order, and vectors.

    ``(w, v)``, as scipy's, the vectors as columns, or ``w`` alone. ``which`` is "LM",
    "SM" (largest, smallest magnitude), "LA" or "SA" (largest, smallest). Lanczos: a
    product a step, made orthogonal to all vectors before, which are kept; after each
    block of some 20 steps, or 2 k + 1, the host reads two numbers a step and looks how
    near the values are, relative to ``tol`` (0: to rounding). ``maxiter`` limits the
    steps, by default to the length, where it is exact; small eigenvalues beside large
    ones take many. ``v0`` is where it begins, else ``rng`` draws it. ``ncv`` is not
    needed.

    >>> A = gpuarray.sparse.diags_array([4.0, 3.0, 2.0, 1.0])
    >>> w, v = gpuarray.sparse.linalg.eigsh(A, 2, which="SA")
    >>> print(w.round(6), v.shape)
    [1. 2.] (4, 2)
    """
    operator = aslinearoperator(A)
    n = operator.shape[0]
    if operator.shape[1] != n:
        raise BadValue(f"eigsh: a matrix of {operator.shape}, expected a square")
    if M is not None or sigma is not None:
        raise Unsupported(
            "eigsh: M and sigma need systems to be solved; scale the matrix by the "
            "roots of a diagonal M, or use gpuarray.linalg.eigh(A.toarray())"
        )
    if which not in _ORDERS:
        raise BadValue(f"eigsh: which is {which!r}, expected 'LM', 'SM', 'LA' or 'SA'")
    if not 0 < k <= n:
        raise BadValue(f"eigsh: k is {k}, expected 1 to {n}, the length")
    place = A.context if is_sparse(A) else getattr(v0, "context", None)
    place = getattr(A, "context", place)
    is_drawn = isinstance(rng, Generator)
    generator: Any = rng if is_drawn else default_rng(rng or 0, context=place)
    lanczos = _Krylov(operator, generator, v0)
    limit = n if maxiter is None else min(maxiter, n)
    values, vectors = lanczos.run(k, which, tol, max(limit, k))
    w = lanczos.on_device(values, lanczos.real)
    if not return_eigenvectors:
        return w
    rows = lanczos.on_device(np.ascontiguousarray(vectors.T), lanczos.dtype)
    return w, (rows @ lanczos.basis[: lanczos.count]).T


class _Krylov:
    """Orthonormal rows ``basis`` with A basis^T = basis^T T.

    T is tridiagonal: ``steps`` has its diagonal, and beside it what leads to the next
    step. ``count`` steps are done.
    """

    def __init__(self, operator: LinearOperator, rng: Generator, v0: Any) -> None:
        self.operator, self.rng = operator, rng
        dtype = operator.dtype
        self.dtype = dtype if kind_of(dtype) in "fc" else np.dtype(np.float64)
        self.real = parts_dtype(self.dtype)
        self.n = operator.shape[0]
        self.basis = zeros((1, self.n), self.dtype, rng.context)
        self.steps = zeros((0, 2), self.real, rng.context)
        self.count = 0
        start = self._random() if v0 is None else v0.astype(self.dtype)
        self.basis[0] = normalized(start)[0]

    def on_device(self, host: Any, dtype: np.dtype[Any]) -> Any:
        """Return numbers of the host as an array."""
        return Array.from_host(host.astype(dtype), self.rng.context)

    def run(self, k: int, which: str, tol: float, limit: int) -> tuple[Any, Any]:
        """Return ``k`` eigenvalues of T that are near enough, and its vectors."""
        block = max(2 * k + 1, 20)
        near = max(tol, 4 * float(np.finfo(self.real).eps))
        while True:
            stop = min(self.count + block, limit)
            self._grow(stop)
            for j in range(self.count, stop):
                self._take(j)
            self.count = stop
            host = self.steps._read().astype(np.float64)
            beside = host[:-1, 1]
            tridiagonal = np.diag(host[:, 0]) + np.diag(beside, 1) + np.diag(beside, -1)
            values, vectors = np.linalg.eigh(tridiagonal)
            chosen = np.sort(np.argsort(_ORDERS[which](values), kind="stable")[:k])
            errors = abs(vectors[-1, chosen]) * host[-1, 1]
            is_near = bool((errors <= near * abs(values).max()).all())
            if stop == limit or is_near:
                return values[chosen], vectors[:, chosen]

    def _grow(self, count: int) -> None:
        """Make room for as many steps."""
        for name, length in (("basis", count + 1), ("steps", count)):
            array = getattr(self, name)
            shape = length - array.shape[0], array.shape[1]
            rest = zeros(shape, array.dtype, array.context)
            setattr(self, name, concatenate([array, rest]))

    def _take(self, j: int) -> None:
        """Take step ``j``: an element of the diagonal, then the next row of ``basis``.

        Where the rows so far span all that A maps to, rounding errors would be next, or
        zeros; random numbers as small as these lead on.
        """
        w = self.operator.matvec(self.basis[j])
        if j == 0:
            size = vector_norm(w) * np.finfo(self.real).eps
            self.small = where(size == 0, size.dtype.type(1), size)
        self.steps[j, 0] = vdot(self.basis[j], w).real
        w = orthogonal(w, self.basis[: j + 1])[0]
        w = w + self._random() * (self.small * float(self.n) ** -0.5)
        rows = self.basis[: j + 1]
        w = w - (rows.conj() @ w) @ rows
        self.basis[j + 1], self.steps[j, 1] = normalized(w)

    def _random(self) -> Any:
        numbers: Any = self.rng.random(self.n, dtype=self.real)
        numbers = numbers - 0.5
        return numbers.astype(self.dtype, copy=False)
