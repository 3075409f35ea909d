"""Factorizations, eigenvalues and determinants of matrices, as NumPy's linalg.

The gradients are those of real matrices, composed of ops with gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphValueError, NoGradientError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.control.gradient_markers import disconnected_grad
from gpuarray.compiler.ops.creation.diagonals import tril
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.products import matmul
from gpuarray.compiler.ops.linalg.solving import (
    as_matrices,
    folded,
    lengths_of,
    matrix_inverse,
    solve_triangular,
    turned,
    with_diagonal,
)
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import dimshuffle

LINALG: Any = np.linalg
COMPLEX = {"float32": "complex64", "float64": "complex128"}
REAL = {complex_: real for real, complex_ in COMPLEX.items()}


def _batch(x: Variable) -> tuple[bool, ...]:
    return tuple(x.type.broadcastable[:-2])


def _known_where_given(gradients: Gradients, outputs: Sequence[Variable]) -> Any:
    """Return the gradients, zeros in place of None."""
    return [
        math.zeros_like(output) if gradient is None else gradient
        for gradient, output in zip(gradients, outputs, strict=True)
    ]


class Det(Op):
    """The determinants of square matrices."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("det", x)
        out = TensorType(variable.type.dtype, _batch(variable))()
        return Apply(self, [variable], [out])

    def reference(self, x: Any) -> Any:
        """The determinants with NumPy."""
        return np.asarray(np.linalg.det(x))

    def grad(self, m: Any, g: Any, y: Any, x: Variable) -> Variable:
        """``g`` times the determinant times the inverse, transposed: the adjugate."""
        regular = _regular(x, y)
        scale = m.shape_padright(m.times(g, det(regular)), 2)
        slope: Variable = m.times(scale, turned(matrix_inverse(regular)))
        return slope

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The batch."""
        return [tuple(input_shapes[0][:-2])]


def _regular(x: Variable, determinants: Variable) -> Variable:
    """Return the matrices, those whose determinant is 0 with more on the diagonal.

    A few roundings of the largest element are added: the adjugate is continuous, so it
    is that of the singular matrix to rounding.
    """
    size = reduce.Reduce("maximum", [x.type.ndim - 2, x.type.ndim - 1], of_none=True)
    largest = size(abs(x))
    roundings = 4 * np.finfo(x.type.dtype).eps
    step = math.where(math.eq(largest, 0), roundings, largest * roundings)
    shift = disconnected_grad(math.where(math.eq(determinants, 0), step, 0))
    entries = dimshuffle(math.cast(shift, x.type.dtype), *range(shift.type.ndim), "x")
    return x + with_diagonal(math.zeros_like(x), entries)


class Eigh(Op):
    """Ascending eigenvalues and eigenvectors of symmetric (Hermitian) matrices.

    One triangle is read: the lower one, or the upper with ``UPLO="U"``.
    """

    reports = True

    __props__ = ("UPLO",)

    is_holomorphic = False

    undetermined = (1,)

    def __init__(self, UPLO: str = "L") -> None:
        self.UPLO = _triangle_name("eigh", UPLO)

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("eigh", x)
        return Apply(self, [variable], [_eigenvalues(variable), variable.type()])

    def reference(self, x: Any) -> Any:
        """Both with NumPy."""
        return tuple(LINALG.eigh(x, self.UPLO))

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient by perturbation theory, for eigenvalues that differ."""
        w, v = outputs
        of_w, of_v = _known_where_given(output_gradients, outputs)
        if output_gradients[1] is None:
            inner = matmul(v * _row(of_w), turned(v))
            return [folded(inner, self.UPLO == "L")]
        gaps = _row(w) - _column(w)
        safe = with_diagonal(gaps, core.constant(1, w.type.dtype))
        inner = with_diagonal(matmul(turned(v), of_v) / safe, of_w)
        full = matmul(v, matmul(inner, turned(v)))
        return [folded(full, self.UPLO == "L")]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The batch with the number of rows, and the matrices' shape."""
        (lengths,) = input_shapes
        return [tuple(lengths[:-1]), tuple(lengths)]


def _row(x: Variable) -> Variable:
    """Vectors as matrices of one row."""
    last = x.type.ndim - 1
    return dimshuffle(x, *range(last), "x", last)


def _column(x: Variable) -> Variable:
    """Vectors as matrices of one column."""
    return dimshuffle(x, *range(x.type.ndim), "x")


class Eigvalsh(Op):
    """The eigenvalues of symmetric (Hermitian) matrices, ascending."""

    reports = True

    __props__ = ("UPLO",)

    is_holomorphic = False

    def __init__(self, UPLO: str = "L") -> None:
        self.UPLO = _triangle_name("eigvalsh", UPLO)

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("eigvalsh", x)
        return Apply(self, [variable], [_eigenvalues(variable)])

    def reference(self, x: Any) -> Any:
        """The eigenvalues with NumPy."""
        return LINALG.eigvalsh(x, self.UPLO)

    def grad(self, m: Any, g: Any, y: Variable, x: Variable) -> Variable:
        """``g`` in the basis of the eigenvectors."""
        _, v = Eigh(self.UPLO)(x)
        return folded(matmul(v * _row(g), turned(v)), self.UPLO == "L")

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The batch with the number of rows."""
        return [tuple(input_shapes[0][:-1])]


def _eigenvalues(x: Variable) -> Variable:
    """The vectors of real eigenvalues of matrices."""
    real = REAL.get(x.type.dtype, x.type.dtype)
    return TensorType(real, (*_batch(x), False))()


def _triangle_name(name: str, uplo: Any) -> str:
    if uplo not in ("L", "U"):
        raise GraphValueError(f"{name}: UPLO is {uplo!r}, expected 'L' or 'U'")
    return str(uplo)


class Eig(Op):
    """Eigenvalues and eigenvectors of square matrices, complex; without a gradient."""

    reports = True

    __props__ = ()

    undetermined = (0, 1)  # the eigenvalues are in no order

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("eig", x)
        dtype = COMPLEX.get(variable.type.dtype, variable.type.dtype)
        values = TensorType(dtype, (*_batch(variable), False))()
        return Apply(self, [variable], [values, variable.type.clone(dtype=dtype)()])

    def reference(self, x: Any) -> Any:
        """Both with NumPy."""
        dtype = COMPLEX.get(x.dtype.name, x.dtype.name)
        return tuple(part.astype(dtype) for part in np.linalg.eig(x))

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The batch with the number of rows, and the matrices' shape."""
        (lengths,) = input_shapes
        return [tuple(lengths[:-1]), tuple(lengths)]


class QR(Op):
    """Q of orthonormal columns and the upper triangle R, whose product is ``x``.

    ``mode`` is "reduced", "complete" (all columns), "r" (only R) or "raw" (LAPACK's
    reflectors, transposed, and their factors). "reduced" and "r" have a gradient.
    """

    __props__ = ("mode",)

    is_holomorphic = False

    undetermined = (0, 1)

    MODES = ("reduced", "complete", "r", "raw")

    def __init__(self, mode: str = "reduced") -> None:
        if mode not in self.MODES:
            raise GraphValueError(
                f"qr: mode is {mode!r}, expected one of {', '.join(self.MODES)}"
            )
        self.mode = mode

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("qr", x)
        dtype, batch = variable.type.dtype, _batch(variable)
        matrix = TensorType(dtype, (*batch, False, False))
        outputs = [matrix()] if self.mode == "r" else [matrix(), matrix()]
        if self.mode == "raw":
            outputs[1] = TensorType(dtype, (*batch, False))()
        return Apply(self, [variable], outputs)

    def reference(self, x: Any) -> Any:
        """The factors with NumPy."""
        factors = LINALG.qr(x, self.mode)
        return factors if self.mode == "r" else tuple(factors)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """The gradient by the square part, and through it of the other columns."""
        (x,) = inputs
        if self.mode not in ("reduced", "r"):
            raise NoGradientError(
                f"{self}: only the modes 'reduced' and 'r' have a gradient"
            )
        if self.mode == "r":
            (r,) = outputs
            q, _ = QR("reduced")(x)
            of_q, of_r = None, output_gradients[0]
        else:
            (q, r), (of_q, of_r) = outputs, output_gradients
        of_q, of_r = _known_where_given([of_q, of_r], [q, r])
        k = q.shape[-1]
        left, right = of_r[..., :k], of_r[..., k:]
        beside = x[..., k:]
        of_q = of_q + matmul(beside, turned(right))
        triangle = r[..., :k]
        inner = matmul(triangle, turned(left)) - matmul(turned(of_q), q)
        symmetric = tril(inner) + turned(tril(inner, -1))
        solved = solve_triangular(triangle, turned(of_q + matmul(q, symmetric)))
        return [join(x.type.ndim - 1, turned(solved), matmul(q, right))]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the batch, and the sides for the mode."""
        (lengths,) = input_shapes
        batch = lengths[:-2]
        m, n, k = lengths_of(lengths)
        sides: dict[str, list[tuple[Any, ...]]] = {
            "reduced": [(m, k), (k, n)],
            "complete": [(m, m), (m, n)],
            "r": [(k, n)],
            "raw": [(n, m), (k,)],
        }
        return [(*batch, *side) for side in sides[self.mode]]


class SVD(Op):
    """U, descending singular values and Vh, with ``(U * S) @ Vh`` equal to ``x``.

    U and Vh are square with ``full_matrices``; without ``compute_uv`` there is S alone.
    The singular values always have a gradient; U and Vh without ``full_matrices``.
    """

    reports = True

    __props__ = ("full_matrices", "compute_uv")

    is_holomorphic = False

    def __init__(self, full_matrices: bool = True, compute_uv: bool = True) -> None:
        self.full_matrices, self.compute_uv = bool(full_matrices), bool(compute_uv)
        self.undetermined = (0, 2) if self.compute_uv else ()

    def make_node(self, x: Any) -> Apply:
        """A node over the matrices."""
        variable = as_matrices("svd", x)
        dtype, batch = variable.type.dtype, _batch(variable)
        matrix = TensorType(dtype, (*batch, False, False))
        values = TensorType(REAL.get(dtype, dtype), (*batch, False))()
        outputs = [matrix(), values, matrix()] if self.compute_uv else [values]
        return Apply(self, [variable], outputs)

    def reference(self, x: Any) -> Any:
        """The factors with NumPy."""
        factors = LINALG.svd(x, self.full_matrices, self.compute_uv)
        return tuple(factors) if self.compute_uv else factors

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient by perturbation theory; singular values must differ."""
        of_u, of_s, of_vh = (
            output_gradients
            if self.compute_uv
            else (
                None,
                output_gradients[0],
                None,
            )
        )
        if of_u is None and of_vh is None:
            assert of_s is not None
            u, _, vh = SVD(full_matrices=False)(*inputs)
            return [matmul(u * _row(of_s), vh)]
        if self.full_matrices:
            raise NoGradientError(
                f"{self}: U and Vh have a gradient with full_matrices=False only"
            )
        u, s, vh = outputs
        of_u, of_s, of_vh = _known_where_given([of_u, of_s, of_vh], outputs)
        return [_of_factors(u, s, vh, of_u, of_s, turned(of_vh))]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """Return the batch, and the sides for the flags."""
        (lengths,) = input_shapes
        batch = lengths[:-2]
        m, n, k = lengths_of(lengths)
        if not self.compute_uv:
            return [(*batch, k)]
        wide = (m, n) if self.full_matrices else (k, k)
        return [(*batch, m, wide[0]), (*batch, k), (*batch, wide[1], n)]


def _of_factors(u: Any, s: Any, vh: Any, of_u: Any, of_s: Any, of_v: Any) -> Variable:
    """The gradient of a matrix, given those of its thin singular vectors and values."""
    v = turned(vh)
    one = core.constant(1, s.type.dtype)
    gaps = with_diagonal(math.square(_row(s)) - math.square(_column(s)), one)
    left, right = matmul(turned(u), of_u), matmul(turned(v), of_v)
    inner = (left - turned(left)) / gaps * _row(s)
    inner = inner + _column(s) * ((right - turned(right)) / gaps)
    inner = with_diagonal(inner, of_s)
    outside_u = (of_u - matmul(u, left)) / _row(s)
    outside_v = (of_v - matmul(v, right)) / _row(s)
    return matmul(matmul(u, inner) + outside_u, vh) + matmul(u, turned(outside_v))


def det(x: Any) -> Variable:
    """The determinants of square matrices.

    The gradient is the adjugate, of singular matrices as well, to rounding.
    """
    result: Variable = Det()(x)
    return result


def eigh(a: Any, UPLO: str = "L") -> list[Variable]:
    """Ascending eigenvalues and eigenvectors of symmetric (Hermitian) matrices.

    One triangle is read: the lower one, or the upper with ``UPLO="U"``.
    """
    pair: list[Variable] = Eigh(UPLO)(a)
    return pair


def eig(a: Any) -> list[Variable]:
    """Return eigenvalues and eigenvectors of square matrices, always complex."""
    pair: list[Variable] = Eig()(a)
    return pair


def qr(a: Any, mode: str = "reduced") -> Any:
    """Q of orthonormal columns and the upper triangle R, whose product is ``a``.

    ``mode`` is "reduced", "complete" (all columns), "r" (only R) or "raw" (LAPACK's
    reflectors and their factors).
    """
    return QR(mode)(a)


def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True) -> Any:
    """U, descending singular values and Vh, with ``(U * S) @ Vh`` equal to ``a``.

    U and Vh are square with ``full_matrices``; without ``compute_uv``, S alone.
    """
    return SVD(full_matrices, compute_uv)(a)
