"""Cholesky factors, generalized eigenvalues and matrix exponentials."""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, SameShapeOp, Variable
from gpuarray.compiler.ops.creation.diagonals import diagonal, tril
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.nlinalg import Eigvalsh
from gpuarray.compiler.ops.linalg.products import matmul
from gpuarray.compiler.ops.linalg.solving import (
    as_matrices,
    folded,
    solve_triangular,
    turned,
    with_diagonal,
)
from gpuarray.compiler.ops.shape.shape import shape_i


class Cholesky(SameShapeOp):
    """The triangle L with ``L @ L.T`` equal to ``x``, which is positive definite.

    Only the lower triangle of ``x`` is read; without ``lower`` only the upper one, and
    the result is the upper triangle U with ``U.T @ U`` equal to ``x``. ``on_error`` is
    for a matrix that is not positive definite: "raise" or "nan".
    """

    reports = True

    __props__ = ("lower", "on_error")

    is_holomorphic = False

    def __init__(self, lower: bool = True, on_error: str = "raise") -> None:
        if on_error not in ("raise", "nan"):
            raise GraphValueError(
                f"Cholesky: on_error is {on_error!r}, expected 'raise' or 'nan'"
            )
        self.lower, self.on_error = bool(lower), on_error

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("cholesky", x)
        return Apply(self, [variable], [variable.type()])

    def reference(self, x: Any) -> Any:
        """The triangles with NumPy. Raises LinAlgError unless ``on_error`` is "nan"."""
        try:
            factor = np.linalg.cholesky(x if self.lower else np.swapaxes(x, -1, -2))
        except np.linalg.LinAlgError:
            if self.on_error == "raise":
                raise
            return np.full_like(x, np.nan)
        return factor if self.lower else np.swapaxes(factor, -1, -2)

    def grad(self, m: Any, g: Any, y: Variable, x: Variable) -> Variable:
        """Return the gradient by Murray's formula."""
        L, of_L = (y, g) if self.lower else (turned(y), turned(g))
        inner = matmul(turned(L), of_L)
        half = core.constant(0.5, x.type.dtype)
        halved = with_diagonal(tril(inner), diagonal(inner, 0, -2, -1) * half)
        left = solve_triangular(turned(L), halved)
        full = solve_triangular(turned(L), turned(left))
        gradient = folded(full, lower=True)
        return gradient if self.lower else turned(gradient)


def cholesky(x: Any, lower: bool = True, on_error: str = "raise") -> Variable:
    """The triangle L with ``L @ L.T`` equal to ``x``; or U, with ``U.T @ U``.

    One triangle of ``x`` is read, the lower one, or the upper one for U. Raises
    LinAlgError for a matrix that is not positive definite; with ``on_error="nan"`` all
    is nan then.
    """
    triangle: Variable = Cholesky(lower, on_error)(x)
    return triangle


def eigvalsh(a: Any, b: Any = None, lower: bool = True) -> Variable:
    """The ascending eigenvalues of symmetric matrices ``a``.

    With ``b``, positive definite, the numbers for which ``a - w b`` is singular. One
    triangle of both is read.
    """
    op = Eigvalsh("L" if lower else "U")
    if b is None:
        values: Variable = op(a)
        return values
    x = as_matrices("eigvalsh", a)
    triangle = tril(x) if lower else turned(tril(turned(x)))
    whole = triangle + with_diagonal(turned(triangle), core.constant(0, x.type.dtype))
    factor = cholesky(b, lower)
    L = factor if lower else turned(factor)
    left = solve_triangular(L, whole, lower=True)
    reduced = solve_triangular(L, turned(left), lower=True)
    spectrum: Variable = Eigvalsh("L")(reduced)
    return spectrum


PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
"""The coefficients of the Pade approximant of degree 13."""

_REACH = 5.371920351148152


def exponential(
    a: Any,
    norm: float,
    identity: Any,
    matmul: Callable[[Any, Any], Any],
    solve: Callable[[Any, Any], Any],
) -> Any:
    """Return the exponential of NumPy or device matrices, by scaling and squaring.

    ``norm`` is the largest 1-norm among them (Higham, 2005).
    """
    count = 0
    if numbers.isfinite(norm) and norm > _REACH:
        count = numbers.ceil(numbers.log2(norm / _REACH))
    kind = a.dtype.type
    scaled = a * kind(2.0**-count)
    c = [kind(coefficient / PADE[0]) for coefficient in PADE]
    x2 = matmul(scaled, scaled)
    x4 = matmul(x2, x2)
    x6 = matmul(x4, x2)
    high = matmul(x6, c[13] * x6 + c[11] * x4 + c[9] * x2)
    odd = matmul(scaled, high + c[7] * x6 + c[5] * x4 + c[3] * x2 + c[1] * identity)
    high = matmul(x6, c[12] * x6 + c[10] * x4 + c[8] * x2)
    even = high + c[6] * x6 + c[4] * x4 + c[2] * x2 + c[0] * identity
    power = solve(even - odd, even + odd)
    for _ in range(count):
        power = matmul(power, power)
    return power


class Expm(SameShapeOp):
    """The exponentials of square matrices."""

    reports = True

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("expm", x)
        return Apply(self, [variable], [variable.type()])

    def reference(self, x: Any) -> Any:
        """The exponentials with NumPy."""
        identity = np.eye(x.shape[-1], dtype=x.dtype)
        norm = float(np.abs(x).sum(axis=-2).max(initial=0))
        with np.errstate(all="ignore"):
            return exponential(x, norm, identity, np.matmul, np.linalg.solve)

    def grad(self, m: Any, g: Any, y: Variable, x: Variable) -> Variable:
        """The derivative in direction ``g`` at the transpose: a block of ``expm``."""
        A, n = turned(x), shape_i(x, -1)
        last = x.type.ndim - 1
        top = join(last, A, g)
        bottom = join(last, math.zeros_like(A), A)
        whole: Variable = Expm()(join(last - 1, top, bottom))
        block: Variable = whole[..., :n, n:]
        return block


def expm(a: Any) -> Variable:
    """The exponentials of square matrices."""
    result: Variable = Expm()(a)
    return result
