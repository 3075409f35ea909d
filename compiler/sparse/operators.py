"""MatrixOperators and methods of sparse variables; importing this file adds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.protocols import operators as _of_arrays
from gpuarray.compiler.ops.sparse import (
    dots,
    elementwise,
    items,
    matrix,
    structure,
    transferring,
)
from gpuarray.compiler.ops.sparse.types import SparseVariable


class MatrixOperators:
    """The attributes and methods of matrices that differ from those of arrays."""

    type: Any

    __array_ufunc__ = None  # an array of NumPy leaves operators to the matrix
    __getitem__ = items.getitem
    __neg__ = elementwise.neg
    __lt__ = elementwise.comparison("lt")
    __le__ = elementwise.comparison("le")
    __gt__ = elementwise.comparison("gt")
    __ge__ = elementwise.comparison("ge")
    __dot__ = dots.structured_dot
    astype = elementwise.cast
    transfer = transferring.transfer

    def __add__(self, other: Any) -> Variable:
        return elementwise.add(self, other)

    def __radd__(self, other: Any) -> Variable:
        return elementwise.add(other, self)

    def __sub__(self, other: Any) -> Variable:
        return elementwise.sub(self, other)

    def __rsub__(self, other: Any) -> Variable:
        return elementwise.sub(other, self)

    def __mul__(self, other: Any) -> Variable:
        return elementwise.mul(self, other)

    def __rmul__(self, other: Any) -> Variable:
        return elementwise.mul(other, self)

    def __truediv__(self, other: Any) -> Variable:
        divisor = matrix.as_either(other)
        if divisor.is_sparse:
            raise GraphTypeError(
                f"x / y: {divisor} is sparse, and has zeros to divide by; make it "
                "dense with sparse.dense_from_sparse(y)"
            )
        return elementwise.mul(self, math.FUNCTIONS["reciprocal"](divisor))

    def __pow__(self, other: Any) -> Variable:
        return elementwise.structured("power")(self, other)

    def __abs__(self) -> Variable:
        return elementwise.structured("abs")(self)

    def __matmul__(self, other: Any) -> Variable:
        return dots.structured_dot(self, other)

    def __rmatmul__(self, other: Any) -> Variable:
        return dots.structured_dot(other, self)

    def __rdot__(self, other: Any) -> Variable:
        return dots.structured_dot(other, self)

    def dot(self, other: Any) -> Variable:
        """Return the product with a dense or a sparse operand."""
        return dots.structured_dot(self, other)

    @property
    def T(self) -> Variable:
        """The transposed matrix: of CSR in CSC."""
        return structure.transpose(self)

    def transpose(self) -> Variable:
        """Return the transposed matrix: of CSR in CSC."""
        return structure.transpose(self)

    @property
    def shape(self) -> Variable:
        """The numbers of rows and columns, a vector of int64."""
        return matrix.parts(self).shape

    def sum(self, axis: int | None = None, sparse_grad: bool = False) -> Variable:
        """Return sums over all elements, the rows (axis 0) or the columns (axis 1)."""
        return structure.sp_sum(self, axis, sparse_grad)

    def arrays(self) -> tuple[Variable, ...]:
        """Return values, indices, indptr, and the numbers of rows and columns."""
        return matrix.parts(self).arrays

    def of_arrays(self, arrays: Sequence[Variable]) -> Variable:
        """Return a matrix of the same format, made of others' arrays."""
        return matrix.MatrixParts(self.type.format, *arrays).matrix

    def has_places_of(self, other: Variable) -> bool:
        """Return True if another matrix is known to have the same indices."""
        return matrix.have_same_places(matrix.parts(self), matrix.parts(other))

    def mean(self, axis: int | None = None) -> Variable:
        """Return means over all elements, the rows (axis 0) or the columns (axis 1)."""
        own = matrix.parts(self)
        lengths = {None: own.rows * own.columns, 0: own.rows, 1: own.columns}
        count = lengths[axis if axis is None else axis % 2]
        total = structure.sp_sum(self, axis, sparse_grad=True)
        return total / math.cast(count, total.type.dtype)

    def toarray(self) -> Variable:
        """Return the matrix as an array; its gradient is that of the stored values."""
        dense: Variable = structure.dense_from_sparse(self)
        return dense

    def todense(self) -> Variable:
        """Return the matrix as an array; its gradient is that of the stored values."""
        return self.toarray()

    def tocsr(self) -> Variable:
        """Return the matrix in CSR."""
        return structure.as_format(self, "csr")

    def tocsc(self) -> Variable:
        """Return the matrix in CSC."""
        return structure.as_format(self, "csc")

    def zeros_like(self: Any, dtype: Any = None) -> Variable:
        """Return zeros at the places of the stored values."""
        return matrix.zeros_like(self, dtype)

    def ones_like(self, dtype: Any = None) -> Variable:
        """Return ones at the places of the stored values."""
        own = matrix.parts(self)
        return own.with_data(math.ones_like(own.data, dtype))

    def __len__(self) -> NoReturn:
        raise GraphTypeError("len: the length of a sparse matrix is x.shape[0]")

    def __iter__(self) -> NoReturn:
        raise GraphTypeError(
            "iter: a sparse matrix has as many rows as its value; x[i] is one of them"
        )


def refused(name: str) -> Callable[..., NoReturn]:
    """Return the method of arrays that matrices have not."""

    def refuse(self: Any, *args: Any, **options: Any) -> NoReturn:
        raise GraphTypeError(
            f"{name}: {self} is a sparse matrix, of which that is not offered; make it "
            f"dense first: sparse.dense_from_sparse(x).{name}(...)"
        )

    return refuse


_OF_ANY_CLASS = {*vars(type("Any", (), {})), "__annotations__"}
_ = _of_arrays  # every variable has those first
OWN = {
    **{name: elementwise.structured(name) for name in elementwise.KEEP_ZERO},
    **{
        name: x
        for name, x in vars(MatrixOperators).items()
        if name not in _OF_ANY_CLASS
    },
}
KEPT = ("copy", "eval", "ndim", "dtype", "broadcastable", "clone")
SparseVariable.gain(
    {
        name: refused(name)
        for name, member in vars(Variable).items()
        if callable(member)
        and not name.startswith("_")
        and name not in {*OWN, *vars(SparseVariable), *KEPT, "get_parents", "learn"}
    }
)
SparseVariable.gain(OWN)
