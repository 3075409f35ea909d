"""Norms, and the largest singular values, by products with the matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuarray._core.arguments import axis_number
from gpuarray._creation.filled import zeros
from gpuarray._linalg.norms import vector_norm
from gpuarray._manipulation.joining import concatenate
from gpuarray._sparse.base import is_sparse, require_matrix
from gpuarray._sparse.conversion import canonical
from gpuarray._sparse.operators import LinearOperator, aslinearoperator
from gpuarray._sparse.solvers import normalized, orthogonal
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import kind_of, parts_dtype
from gpuarray.errors import BadValue, Unsupported
from gpuarray.random import Generator, default_rng

where = FUNCTIONS["where"]


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
    place = A.context if is_sparse(A) else getattr(v0, "context", None)
    place = getattr(A, "context", place)
    generator = (
        rng
        if isinstance(rng, Generator)
        else default_rng(0 if rng is None else rng, context=place)
    )
    lanczos = _Lanczos(operator, generator, v0)
    limit = most if maxiter is None else min(maxiter, most)
    lanczos.run(k, tol, max(limit, k))
    return _result(lanczos, k, return_singular_vectors)


def _result(lanczos: _Lanczos, k: int, vectors: bool | str) -> Any:
    left, s, right = np.linalg.svd(lanczos.bidiagonal())
    chosen = slice(k - 1, None, -1)
    values = lanczos.on_device(np.ascontiguousarray(s[chosen]), real=True)
    if vectors is False:
        return values
    count = lanczos.count
    rows = lanczos.on_device(np.ascontiguousarray(left.T[chosen]))
    columns = lanczos.on_device(np.ascontiguousarray(right[chosen]))
    u = None if vectors == "vh" else (rows @ lanczos.left[:count]).T
    vt = None if vectors == "u" else (columns @ lanczos.right[:count]).conj()
    return u, values, vt


class _Lanczos:
    """Orthonormal rows ``left`` and ``right`` with A right^T = left^T B.

    B is bidiagonal: ``steps`` has its diagonal, and above it what leads to the next
    step. ``count`` steps are done.
    """

    def __init__(self, operator: LinearOperator, rng: Generator, v0: Any) -> None:
        self.operator, self.rng = operator, rng
        dtype = operator.dtype
        self.dtype = dtype if kind_of(dtype) in "fc" else np.dtype(np.float64)
        self.real = parts_dtype(self.dtype)
        rows, columns = operator.shape
        place = rng.context
        self.left = zeros((0, rows), self.dtype, place)
        self.right = zeros((1, columns), self.dtype, place)
        self.steps = zeros((0, 2), self.real, place)
        self.host = np.zeros((0, 2), self.real)
        self.count = 0
        start = self._random(columns) if v0 is None else v0.astype(self.dtype)
        self.right[0] = normalized(start)[0]

    def on_device(self, host: Any, real: bool = False) -> Any:
        """Return numbers of the host as an array."""
        dtype = self.real if real else self.dtype
        return Array.from_host(host.astype(dtype), self.rng.context)

    def bidiagonal(self) -> Any:
        """Return B on the host."""
        part = self.host[: self.count].astype(np.float64)
        return np.diag(part[:, 0]) + np.diag(part[:-1, 1], 1)

    def run(self, k: int, tol: float, limit: int) -> None:
        """Take steps until the ``k`` largest values are near enough."""
        block = max(2 * k + 1, 20)
        near = max(tol, 4 * float(np.finfo(self.real).eps))
        while self.count < limit:
            stop = min(self.count + block, limit)
            self._grow(stop)
            for j in range(self.count, stop):
                self._take(j)
            self.host, self.count = self.steps._read(), stop
            left, s, _ = np.linalg.svd(self.bidiagonal())
            errors = abs(left[-1, :k]) * self.host[stop - 1, 1]
            if stop >= k and (errors <= near * s[0]).all():
                return

    def _grow(self, count: int) -> None:
        """Make room for as many steps."""
        for name, length in (("left", count), ("right", count + 1), ("steps", count)):
            array = getattr(self, name)
            shape = length - array.shape[0], array.shape[1]
            rest = zeros(shape, array.dtype, array.context)
            setattr(self, name, concatenate([array, rest]))

    def _take(self, j: int) -> None:
        """Take step ``j``: a row of ``left``, then the next one of ``right``.

        Where the vectors so far span all that A maps to, rounding errors would be next,
        or zeros; random numbers as small as these lead on.
        """
        u = self.operator.matvec(self.right[j])
        if j == 0:
            size = vector_norm(u) * np.finfo(self.real).eps
            self.small = where(size == 0, size.dtype.type(1), size)
        self.left[j], self.steps[j, 0] = normalized(self._apart(u, self.left[:j]))
        v = self.operator.rmatvec(self.left[j])
        v = self._apart(v, self.right[: j + 1])
        self.right[j + 1], self.steps[j, 1] = normalized(v)

    def _apart(self, w: Any, basis: Any) -> Any:
        """Return a vector made orthogonal, with random numbers added when it is."""
        noise = self._random(w.size) * (self.small * float(w.size) ** -0.5)
        w = orthogonal(w, basis)[0] + noise
        return w - (basis.conj() @ w) @ basis

    def _random(self, size: int) -> Any:
        numbers: Any = self.rng.random(size, dtype=self.real)
        numbers = numbers - 0.5
        return numbers.astype(self.dtype, copy=False)
