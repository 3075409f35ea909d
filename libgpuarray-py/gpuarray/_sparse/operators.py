"""Linear operators: what iterative methods multiply by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import BaseArray
from gpuarray._manipulation.joining import stack
from gpuarray._sparse.arrays import csr_array
from gpuarray._sparse.base import is_number, is_sparse, require_matrix
from gpuarray.dtypes import as_dtype, result_type
from gpuarray.errors import BadType, BadValue, Unsupported

Product = Callable[[Any], Any]


class LinearOperator:
    """A matrix that is known by its products alone: with vectors, or with matrices.

    ``matvec(x)`` returns A x, ``rmatvec(x)`` the product of the adjoint; ``matmat`` and
    ``rmatmat``, of matrices, are by default products with each column. ``shape`` and
    ``dtype`` are the matrix's. Operators are added, scaled and multiplied without a
    product being computed.

    >>> double = gpuarray.sparse.linalg.LinearOperator((2, 2), lambda x: 2 * x)
    >>> print(double @ gpuarray.asarray([1.0, 2.0]))
    [2. 4.]
    """

    def __init__(
        self,
        shape: tuple[int, int],
        matvec: Product,
        rmatvec: Product | None = None,
        matmat: Product | None = None,
        dtype: npt.DTypeLike | None = None,
        rmatmat: Product | None = None,
    ) -> None:
        self.ndim = 2
        self.shape = (int(shape[0]), int(shape[1]))
        self.dtype = np.dtype(np.float64) if dtype is None else as_dtype(dtype)
        self._products = matvec, rmatvec, matmat, rmatmat

    def matvec(self, x: Any) -> Any:
        """Return A x of a vector.

        >>> I = gpuarray.sparse.linalg.aslinearoperator(gpuarray.eye(2))
        >>> print(I.matvec(gpuarray.asarray([1.0, 2.0])))
        [1. 2.]
        """
        return self._product("matvec", x, self.shape[1], 1, 0, 2)

    def rmatvec(self, x: Any) -> Any:
        """Return the product of the adjoint and a vector.

        >>> A = gpuarray.sparse.csr_array([[0.0, 1.0]])
        >>> A = gpuarray.sparse.linalg.aslinearoperator(A)
        >>> print(A.rmatvec(gpuarray.asarray([2.0])))
        [0. 2.]
        """
        return self._product("rmatvec", x, self.shape[0], 1, 1, 3)

    def matmat(self, X: Any) -> Any:
        """Return A X of a matrix.

        >>> I = gpuarray.sparse.linalg.aslinearoperator(gpuarray.eye(2))
        >>> I.matmat(gpuarray.ones((2, 3))).shape
        (2, 3)
        """
        return self._product("matmat", X, self.shape[1], 2, 0, 2)

    def rmatmat(self, X: Any) -> Any:
        """Return the product of the adjoint and a matrix.

        >>> I = gpuarray.sparse.linalg.aslinearoperator(gpuarray.eye(2))
        >>> I.rmatmat(gpuarray.ones((2, 3))).shape
        (2, 3)
        """
        return self._product("rmatmat", X, self.shape[0], 2, 1, 3)

    def _product(
        self, name: str, x: Any, length: int, ndim: int, of_vector: int, of_matrix: int
    ) -> Any:
        if not isinstance(x, BaseArray):
            raise BadType(
                f"{name}: got {type(x).__name__}, expected a gpuarray array; use "
                "gpuarray.asarray(x)"
            )
        if x.ndim != ndim or x.shape[0] != length:
            raise BadValue(
                f"{name}: an operand of shape {x.shape} for an operator of shape "
                f"{self.shape}"
            )
        vector, matrix = self._products[of_vector], self._products[of_matrix]
        if ndim == 2 and matrix is not None:
            return matrix(x)
        if vector is None:
            raise Unsupported(
                f"{name}: the operator has no rmatvec; give it as an argument of "
                "LinearOperator"
            )
        if ndim == 1:
            return vector(x)
        return stack([vector(column) for column in x.T], axis=1)  # type: ignore[attr-defined]

    def dot(self, x: Any) -> Any:
        """Return the product with a number, an operator, a vector or a matrix.

        >>> I = gpuarray.sparse.linalg.aslinearoperator(gpuarray.eye(2))
        >>> I.dot(3).dot(I).matvec(gpuarray.ones(2)).tolist()
        [3.0, 3.0]
        """
        if isinstance(x, LinearOperator):
            return _composed(self, x)
        if is_number(x):
            return _scaled(self, x)
        return self.matvec(x) if x.ndim == 1 else self.matmat(x)

    __call__ = __mul__ = dot

    def __matmul__(self, x: Any) -> Any:
        if is_number(x):
            raise BadValue("matmul: a number is no operand; use * to multiply by it")
        return self.dot(x)

    def __rmul__(self, number: Any) -> Any:
        return _scaled(self, number) if is_number(number) else NotImplemented

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, LinearOperator):
            return NotImplemented
        return _added(self, other)

    def __neg__(self) -> LinearOperator:
        return _scaled(self, -1)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def adjoint(self) -> LinearOperator:
        """Return the operator of the conjugate transpose; also ``H``.

        >>> A = gpuarray.sparse.csr_array([[0.0, 1.0]])
        >>> gpuarray.sparse.linalg.aslinearoperator(A).adjoint().shape
        (2, 1)
        """
        vector, adjoint, matrix, adjoint_matrix = self._products
        shape = self.shape[::-1]
        if adjoint is None:
            raise Unsupported(
                "adjoint: the operator has no rmatvec; give it as an argument of "
                "LinearOperator"
            )
        return LinearOperator(
            shape, adjoint, vector, adjoint_matrix, self.dtype, matrix
        )

    @property
    def H(self) -> LinearOperator:
        """The operator of the conjugate transpose."""
        return self.adjoint()

    def transpose(self) -> LinearOperator:
        """Return the operator of the transpose; also ``T``.

        >>> A = gpuarray.sparse.csr_array([[0.0, 1.0]])
        >>> gpuarray.sparse.linalg.aslinearoperator(A).T.shape
        (2, 1)
        """
        if self.dtype.kind != "c":
            return self.adjoint()
        a = self.adjoint()
        return LinearOperator(
            a.shape,
            lambda x: a.matvec(x.conj()).conj(),
            lambda x: a.rmatvec(x.conj()).conj(),
            lambda x: a.matmat(x.conj()).conj(),
            a.dtype,
            lambda x: a.rmatmat(x.conj()).conj(),
        )

    @property
    def T(self) -> LinearOperator:
        """The operator of the transpose."""
        return self.transpose()

    def __pow__(self, n: Any) -> LinearOperator:
        if not isinstance(n, int | np.integer) or n < 1:
            raise BadValue(f"power: {n!r}, expected an integer of at least 1")
        product = self
        for _ in range(int(n) - 1):
            product = _composed(product, self)
        return product

    def __repr__(self) -> str:
        return f"<{self.shape[0]}x{self.shape[1]} LinearOperator of {self.dtype}>"


def _scaled(a: LinearOperator, number: Any) -> LinearOperator:
    conjugate = np.conj(number)
    return LinearOperator(
        a.shape,
        lambda x: a.matvec(x) * number,
        lambda x: a.rmatvec(x) * conjugate,
        lambda x: a.matmat(x) * number,
        result_type(a.dtype, type(number)),
        lambda x: a.rmatmat(x) * conjugate,
    )


def _added(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    if a.shape != b.shape:
        raise BadValue(
            f"add: got operators of shapes {a.shape} and {b.shape}, expected one shape"
        )
    return LinearOperator(
        a.shape,
        lambda x: a.matvec(x) + b.matvec(x),
        lambda x: a.rmatvec(x) + b.rmatvec(x),
        lambda x: a.matmat(x) + b.matmat(x),
        result_type(a.dtype, b.dtype),
        lambda x: a.rmatmat(x) + b.rmatmat(x),
    )


def _composed(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    if a.shape[1] != b.shape[0]:
        raise BadValue(
            f"matmul: got operators of shapes {a.shape} and {b.shape}, expected as "
            "many rows of the second as the first has columns"
        )
    return LinearOperator(
        (a.shape[0], b.shape[1]),
        lambda x: a.matvec(b.matvec(x)),
        lambda x: b.rmatvec(a.rmatvec(x)),
        lambda x: a.matmat(b.matmat(x)),
        result_type(a.dtype, b.dtype),
        lambda x: b.rmatmat(a.rmatmat(x)),
    )


def aslinearoperator(A: Any) -> LinearOperator:
    """Return the operator of a sparse array, a dense matrix, or itself.

    Of a sparse array, CSR of itself and of its adjoint are kept, each from its first
    product on.

    >>> gpuarray.sparse.linalg.aslinearoperator(gpuarray.eye(3))
    <3x3 LinearOperator of float64>
    """
    if isinstance(A, LinearOperator):
        return A
    if is_sparse(A):
        return _of_sparse(require_matrix(A, "aslinearoperator"))
    if isinstance(A, BaseArray) and A.ndim == 2:
        matrix: Any = A
        return LinearOperator(
            (matrix.shape[0], matrix.shape[1]),
            lambda x: matrix @ x,
            lambda x: matrix.T.conj() @ x,
            lambda x: matrix @ x,
            matrix.dtype,
            lambda x: matrix.T.conj() @ x,
        )
    if hasattr(A, "matvec") and hasattr(A, "shape"):
        adjoint, matmat, dtype = (
            getattr(A, name, None) for name in ("rmatvec", "matmat", "dtype")
        )
        return LinearOperator(A.shape, A.matvec, adjoint, matmat, dtype)
    raise BadType(
        f"aslinearoperator: got {type(A).__name__}, expected a sparse array, a matrix, "
        "or an object with shape and matvec"
    )


def _of_sparse(a: Any) -> LinearOperator:
    kept: dict[str, Any] = {}

    def forward(x: Any) -> Any:
        if "A" not in kept:
            kept["A"] = csr_array(a)
        return kept["A"] @ x

    def backward(x: Any) -> Any:
        if "H" not in kept:
            kept["H"] = csr_array(a.T.conj())
        return kept["H"] @ x

    return LinearOperator(a.shape, forward, backward, forward, a.dtype, backward)
