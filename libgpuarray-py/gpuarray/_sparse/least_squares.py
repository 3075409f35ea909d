"""Least squares of rectangular systems, by products with a matrix and its adjoint."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuarray._creation.filled import zeros
from gpuarray._linalg.norms import vector_norm
from gpuarray._sparse.operators import aslinearoperator
from gpuarray._sparse.solvers import normalized, right_side_and_start

_ROUNDING = float(np.finfo(np.float64).eps)


def lsqr(
    A: Any,
    b: Any,
    damp: float = 0.0,
    atol: float = 1e-6,
    btol: float = 1e-6,
    conlim: float = 1e8,
    iter_lim: int | None = None,
    show: bool = False,
    calc_var: bool = False,
    x0: Any = None,
) -> tuple[Any, ...]:
    """Minimize the norm of A x - b, for a matrix of any shape, by bidiagonalization.

    With ``damp`` the square of the norm of ``damp * (x - x0)`` is added to that of the
    residual. Returns x, why it stopped, the number of iterations, the norms of the
    residual alone and with the damping, of A, its condition, the norms of the normal
    equations' residual and of x, and with ``calc_var`` the diagonal of the inverse of
    A* A, else zeros.

    It stops for 0: the start is exact; 1: A x = b by ``atol`` and ``btol``; 2: least
    squares by ``atol``; 3: the condition is above ``conlim``; 4, 5, 6: the same, to
    rounding; 7: ``iter_lim``, by default twice the number of columns. The host waits
    for three numbers in each iteration. ``show`` is not looked at.

    >>> A = gpuarray.sparse.csr_array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> b = gpuarray.asarray([1.0, 3.0, 2.0])
    >>> x, reason, *_ = gpuarray.sparse.linalg.lsqr(A, b)
    >>> print(x.round(4), reason)
    [1. 2.] 1
    """
    operator = aslinearoperator(A)
    b, x = right_side_and_start("lsqr", operator, b, x0)
    limit = 2 * x.size if iter_lim is None else iter_lim
    u, beta = normalized(b if x0 is None else b - operator.matvec(x))
    v, alpha = normalized(operator.rmatvec(u))
    w, variances = v, abs(zeros(x.size, x.dtype, x.context))
    state = _Bidiagonal(float(beta), float(alpha), damp, float(vector_norm(b)))
    reason = 0
    while state.of_normal > 0 and not reason:
        u, beta = normalized(operator.matvec(v) - u * x.dtype.type(state.alpha))
        new, alpha = normalized(operator.rmatvec(u) - v * beta)
        size = vector_norm(w)
        step, turn, rho = state.turn(float(beta), float(alpha), float(size))
        x = x + w * x.dtype.type(step)
        if calc_var:
            variances = variances + abs(w / x.dtype.type(rho)) ** 2
        v, w = new, new - w * x.dtype.type(turn)
        reason = state.reason(atol, btol, 1 / conlim if conlim > 0 else 0)
        if not reason and state.iterations >= limit:
            reason = 7
    return x, reason, state.iterations, *state.norms, variances


class _Bidiagonal:
    """The bidiagonal matrix that A became so far, turned to a triangle by rotations.

    ``alpha`` is its last diagonal element, ``_corner`` that of the triangle before its
    rotation, ``_rest`` what is left of the right side.
    """

    def __init__(
        self, beta: float, alpha: float, damp: float, size_of_b: float
    ) -> None:
        self.alpha, self.iterations = alpha, 0
        self._corner, self._rest, self._damp = alpha, beta, damp
        self._size_of_b = size_of_b or _ROUNDING
        self._of_damping = self._of_directions = self._of_matrix = 0.0
        self._cosine, self._sine, self._last, self._of_x = -1.0, 0.0, 0.0, 0.0
        self.size_of_x = 0.0
        self.residual = self.apart = beta
        self.of_normal = alpha * beta

    def turn(self, beta: float, alpha: float, size: float) -> tuple[float, ...]:
        """Take one more column; return the step, the next direction's part along this
        one, and the triangle's diagonal element.

        ``size`` is the norm of the direction.
        """
        self.iterations += 1
        self._of_matrix += self.alpha**2 + beta**2 + self._damp**2
        corner = math.hypot(self._corner, self._damp)
        damped = self._damp / corner * self._rest
        self._rest *= self._corner / corner
        rho = math.hypot(corner, beta)
        cosine, sine = corner / rho, beta / rho
        theta, self._corner = sine * alpha, -cosine * alpha
        phi, self._rest = cosine * self._rest, sine * self._rest
        self._of_directions += (size / rho) ** 2
        self._of_damping += damped**2
        self._measure(rho, theta, phi)
        self.residual = math.sqrt(self._rest**2 + self._of_damping)
        square = self.residual**2 - self._damp**2 * self._of_x
        self.apart = math.copysign(math.sqrt(abs(square)), square)
        self.of_normal = alpha * abs(sine * phi)
        self.alpha = alpha
        return phi / rho, theta / rho, rho

    def _measure(self, rho: float, theta: float, phi: float) -> None:
        """Follow the norm of x, by rotations from the right."""
        below, corner = self._sine * rho, -self._cosine * rho
        right = phi - below * self._last
        self.size_of_x = math.sqrt(self._of_x + (right / corner) ** 2)
        diagonal = math.hypot(corner, theta)
        self._cosine, self._sine = corner / diagonal, theta / diagonal
        self._last = right / diagonal
        self._of_x += self._last**2

    @property
    def size_of_matrix(self) -> float:
        """About the Frobenius norm of A, with damping."""
        return math.sqrt(self._of_matrix)

    @property
    def norms(self) -> tuple[float, ...]:
        """Of the residual, without and with damping; of A; its condition; A* r; x."""
        size = self.size_of_matrix
        condition = size * math.sqrt(self._of_directions)
        sizes = self.apart, self.residual, size, condition
        return *sizes, self.of_normal, self.size_of_x

    def reason(self, atol: float, btol: float, inverse_limit: float) -> int:
        """Return why to stop, as ``lsqr`` says it; 0: go on."""
        size, of_b = self.size_of_matrix, self._size_of_b
        share = size * self.size_of_x / of_b
        fits = self.residual / of_b
        least = self.of_normal / (size * self.residual + _ROUNDING)
        condition = 1 / (size * math.sqrt(self._of_directions) + _ROUNDING)
        for number, is_met in (
            (1, fits <= btol + atol * share),
            (2, least <= atol),
            (3, condition <= inverse_limit),
            (4, 1 + fits / (1 + share) <= 1),
            (5, 1 + least <= 1),
            (6, 1 + condition <= 1),
        ):
            if is_met:
                return number
        return 0
