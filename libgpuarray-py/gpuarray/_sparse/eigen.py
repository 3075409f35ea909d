"""Eigenvalues of Hermitian matrices, by products with the matrix."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gpuarray._creation.filled import zeros
from gpuarray._products.matmul import vdot
from gpuarray._sparse.krylov import Lanczos, generator_of
from gpuarray._sparse.operators import LinearOperator, aslinearoperator
from gpuarray._sparse.solvers import normalized
from gpuarray.errors import BadValue, Unsupported
from gpuarray.random import Generator

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
    lanczos = _Krylov(operator, generator_of(rng, A, v0), v0)
    limit = n if maxiter is None else min(maxiter, n)
    values, vectors = lanczos.run(k, which, tol, max(limit, k))
    w = lanczos.on_device(values, lanczos.real)
    if not return_eigenvectors:
        return w
    rows = lanczos.on_device(np.ascontiguousarray(vectors.T), lanczos.dtype)
    return w, (rows @ lanczos.basis[: lanczos.count]).T


class _Krylov(Lanczos):
    """Orthonormal rows ``basis`` with A basis^T = basis^T T.

    T is tridiagonal: ``steps`` has its diagonal, and beside it what leads to the next
    step.
    """

    grows: ClassVar[dict[str, int]] = {"basis": 1}

    def __init__(self, operator: LinearOperator, rng: Generator, v0: Any) -> None:
        super().__init__(operator, rng)
        n = operator.shape[0]
        self.basis = zeros((1, n), self.dtype, rng.context)
        start = self.random(n) if v0 is None else v0.astype(self.dtype)
        self.basis[0] = normalized(start)[0]

    def run(self, k: int, which: str, tol: float, limit: int) -> tuple[Any, Any]:
        """Return ``k`` eigenvalues of T that are near enough, and its vectors."""
        near = self.near(tol)
        for host in self.blocks(k, limit):
            beside = host[:-1, 1]
            tridiagonal = np.diag(host[:, 0]) + np.diag(beside, 1) + np.diag(beside, -1)
            values, vectors = np.linalg.eigh(tridiagonal)
            chosen = np.sort(np.argsort(_ORDERS[which](values), kind="stable")[:k])
            errors = abs(vectors[-1, chosen]) * host[-1, 1]
            if (errors <= near * abs(values).max()).all():
                break
        return values[chosen], vectors[:, chosen]

    def take(self, j: int) -> None:
        """Take step ``j``: a diagonal element, then the next row of ``basis``."""
        w = self.operator.matvec(self.basis[j])
        if j == 0:
            self.measure(w)
        self.steps[j, 0] = vdot(self.basis[j], w).real
        w = self.apart(w, self.basis[: j + 1])
        self.basis[j + 1], self.steps[j, 1] = normalized(w)
