"""Norms, and the largest singular values, by products with the matrix."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from gpuarray._core.arguments import axis_number
from gpuarray._creation.filled import zeros
from gpuarray._linalg.norms import vector_norm
from gpuarray._sparse.base import require_matrix
from gpuarray._sparse.conversion import canonical
from gpuarray._sparse.krylov import Lanczos, generator_of
from gpuarray._sparse.operators import LinearOperator, aslinearoperator
from gpuarray._sparse.solvers import normalized
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.dtypes import kind_of
from gpuarray.errors import BadValue, Unsupported
from gpuarray.random import Generator


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """Return a norm of a sparse matrix, or with an axis those of its rows or columns.

    ``ord`` of a matrix is None or "fro", 1, -1, inf, -inf, or 2, the largest singular
    value; of rows and columns None, 1, 2, inf.

    >>> A = gpuarray.sparse.csr_array([[3.0, 0.0], [4.0, 0.0]])
    >>> print(gpuarray.sparse.linalg.norm(A), gpuarray.sparse.linalg.norm(A, axis=1))
    5.0 [3. 4.]
    """
    a = canonical(require_matrix(x, "norm"))
    if kind_of(a.dtype) in "biu":
        a = a.astype(np.float64)
    if axis is not None and not isinstance(axis, tuple):
        return _line_norms(a, ord, axis_number(axis, 2, "norm"))
    if ord in (None, "fro", "f"):
        return vector_norm(a._values)
    if ord == 2:
        return svds(a, 1, return_singular_vectors=False)[0]
    if ord in (1, -1, math.inf, -math.inf):
        sums = abs(a).sum(axis=0 if abs(ord) == 1 else 1)
        return sums.max() if ord > 0 else sums.min()
    raise BadValue(
        f"norm: order {ord!r} is not offered for sparse matrices; expected 'fro', 1, "
        "-1, 2, inf or -inf"
    )


def _line_norms(a: Any, ord: Any, axis: int) -> Any:
    size = abs(a)
    if ord in (None, 2):
        return FUNCTIONS["sqrt"](size.power(2).sum(axis=axis))
    if ord == 1:
        return size.sum(axis=axis)
    if ord == math.inf:
        return size.max(axis=axis).toarray()
    raise BadValue(f"norm: order {ord!r} of rows or columns, expected 1, 2 or inf")


# ---- singular values ----


def svds(
    A: Any,
    k: int = 6,
    *,
    tol: float = 0,
    which: str = "LM",
    v0: Any = None,
    maxiter: int | None = None,
    return_singular_vectors: bool | str = True,
    rng: Generator | int | None = None,
) -> Any:
    """Return the ``k`` largest singular values in ascending order, and their vectors.

    ``(u, s, vt)``, as scipy's, or ``s`` alone. Lanczos bidiagonalization: a product
    with A and one with its adjoint a step, made orthogonal to all before. All vectors
    are kept: after each block of some 20 steps, or 2 k + 1, the host reads two numbers
    a step and looks how near the values are, relative to ``tol`` (0: to rounding).
    ``maxiter`` limits the steps, by default to the shorter side, where it is exact.
    ``v0`` is where it begins, else ``rng``, a seed or a generator, draws it.

    >>> A = gpuarray.sparse.diags_array([1.0, 2.0, 3.0, 4.0])
    >>> u, s, vt = gpuarray.sparse.linalg.svds(A, 2)
    >>> print(s.round(6), u.shape, vt.shape)
    [3. 4.] (4, 2) (2, 4)
    """
    operator = aslinearoperator(A)
    most = min(operator.shape)
    if which != "LM":
        raise Unsupported(
            f"svds: which is {which!r}; the largest are offered, 'LM'; for small ones "
            "use gpuarray.linalg.svd(A.toarray())"
        )
    if not 0 < k <= most:
        raise BadValue(f"svds: k is {k}, expected 1 to {most}, the shorter side")
    lanczos = _Lanczos(operator, generator_of(rng, A, v0), v0)
    limit = most if maxiter is None else min(maxiter, most)
    lanczos.run(k, tol, max(limit, k))
    return _result(lanczos, k, return_singular_vectors)


def _result(lanczos: _Lanczos, k: int, vectors: bool | str) -> Any:
    left, s, right = np.linalg.svd(lanczos.bidiagonal())
    chosen = slice(k - 1, None, -1)
    values = lanczos.on_device(np.ascontiguousarray(s[chosen]), lanczos.real)
    if vectors is False:
        return values
    count = lanczos.count
    rows = lanczos.on_device(np.ascontiguousarray(left.T[chosen]), lanczos.dtype)
    columns = lanczos.on_device(np.ascontiguousarray(right[chosen]), lanczos.dtype)
    u = None if vectors == "vh" else (rows @ lanczos.left[:count]).T
    vt = None if vectors == "u" else (columns @ lanczos.right[:count]).conj()
    return u, values, vt


class _Lanczos(Lanczos):
    """Orthonormal rows ``left`` and ``right`` with A right^T = left^T B.

    B is bidiagonal: ``steps`` has its diagonal, and above it what leads to the next
    step.
    """

    grows: ClassVar[dict[str, int]] = {"left": 0, "right": 1}

    def __init__(self, operator: LinearOperator, rng: Generator, v0: Any) -> None:
        super().__init__(operator, rng)
        rows, columns = operator.shape
        self.left = zeros((0, rows), self.dtype, rng.context)
        self.right = zeros((1, columns), self.dtype, rng.context)
        self.host = np.zeros((0, 2))
        start = self.random(columns) if v0 is None else v0.astype(self.dtype)
        self.right[0] = normalized(start)[0]

    def bidiagonal(self) -> Any:
        """Return B on the host."""
        return np.diag(self.host[:, 0]) + np.diag(self.host[:-1, 1], 1)

    def run(self, k: int, tol: float, limit: int) -> None:
        """Take steps until the ``k`` largest values are near enough."""
        near = self.near(tol)
        for host in self.blocks(k, limit):
            self.host = host
            left, s, _ = np.linalg.svd(self.bidiagonal())
            errors = abs(left[-1, :k]) * self.host[-1, 1]
            if self.count >= k and (errors <= near * s[0]).all():
                return

    def take(self, j: int) -> None:
        """Take step ``j``: a row of ``left``, then the next one of ``right``."""
        u = self.operator.matvec(self.right[j])
        if j == 0:
            self.measure(u)
        self.left[j], self.steps[j, 0] = normalized(self.apart(u, self.left[:j]))
        v = self.apart(self.operator.rmatvec(self.left[j]), self.right[: j + 1])
        self.right[j + 1], self.steps[j, 1] = normalized(v)
