"""Functions of the elements of sparse matrices.

Structured functions are of the stored values alone: zeros between them stay zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.types import dtype_name, promoted
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import dimshuffle
from gpuarray.compiler.ops.sparse import products
from gpuarray.compiler.ops.sparse.canonical import both_by_rows
from gpuarray.compiler.ops.sparse.matrix import (
    FUNCTIONS,
    MatrixParts,
    SparseOp,
    as_either,
    as_sparse_variable,
    by_rows,
    is_sparse,
    lines_of,
    parts,
    turned_if,
)
from gpuarray.compiler.ops.sparse.steps import ToDense, same_length, sample

Rows = dict[str, Callable[..., Variable]]
ROWS: Rows = math.FUNCTIONS

KEEP_ZERO = (
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "ceil",
    "conjugate",
    "deg2rad",
    "expm1",
    "floor",
    "log1p",
    "rad2deg",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
)
"""Rows of the scalar table with f(0) = 0: functions of matrices, not of values only."""


class Structured(SparseOp):
    """A function of the stored values, and of a scalar for a row of two operands."""

    __props__ = ("row",)
    places_of = 0

    def __init__(self, row: str) -> None:
        self.row = row

    def graph(self, *inputs: Variable) -> Variable:
        """Return the function of the values at their places."""
        x, *scalars = inputs
        own = parts(as_sparse_variable(x))
        for scalar in scalars:
            if is_sparse(scalar) or scalar.type.ndim != 0:
                raise GraphTypeError(
                    f"structured_{self.row}: given {scalar} of {scalar.type}, expected "
                    "a scalar"
                )
        return own.with_data(ROWS[self.row](own.data, *scalars))

    def __str__(self) -> str:
        return f"Structured{{{self.row}}}"


def structured(row: str) -> Callable[..., Variable]:
    """Return the function of matrices that applies a row to the stored values."""
    op = Structured(row)

    def apply(x: Any, *scalar: Any) -> Variable:
        result: Variable = op(as_sparse_variable(x), *scalar)
        return result

    apply.__name__ = apply.__qualname__ = row
    apply.__doc__ = f"`{row}` of each stored value; zeros between them stay zeros."
    return apply


class Cast(SparseOp):
    """The matrix in another dtype."""

    __props__ = ("out_type",)
    places_of = 0

    def __init__(self, out_type: Any) -> None:
        self.out_type = dtype_name(out_type)

    def graph(self, *inputs: Variable) -> Variable:
        """Return the values, cast."""
        own = parts(inputs[0])
        return own.with_data(math.cast(own.data, self.out_type))


def cast(variable: Any, dtype: Any) -> Variable:
    """Return a matrix in another dtype."""
    matrix = as_sparse_variable(variable)
    if matrix.type.dtype == dtype_name(dtype):
        return matrix
    result: Variable = Cast(dtype)(matrix)
    return result


def of_one_dtype(x: Variable, y: Variable) -> tuple[Variable, Variable]:
    """Return two operands, matrices or arrays, in their common dtype."""
    dtype = promoted(x.type.dtype, y.type.dtype)
    return in_dtype(x, dtype), in_dtype(y, dtype)


def in_dtype(x: Variable, dtype: str) -> Variable:
    """Return a matrix or an array in a dtype."""
    return cast(x, dtype) if is_sparse(x) else math.cast(x, dtype)


# ---- sparse with sparse ----


class AddSS(SparseOp):
    """The sum of two sparse matrices, sparse: at the places that either has."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the merged values of both."""
        x, y = of_one_dtype(*map(as_sparse_variable, inputs))
        a, b, is_turned = both_by_rows(x, y)
        return joined(products.sum_of, a, b, is_turned)


class MulSS(SparseOp):
    """The product by elements of two sparse matrices: at the places that both have."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the products of the values that meet."""
        x, y = of_one_dtype(*map(as_sparse_variable, inputs))
        a, b, is_turned = both_by_rows(x, y)
        return joined(products.product_of, a, b, is_turned)


def joined(
    function: Callable[..., products.Arrays],
    a: MatrixParts,
    b: MatrixParts,
    is_turned: bool,
) -> Variable:
    """Return a function of the arrays of two matrices by rows, as a matrix."""
    found = function(same_shape(a, b).storage, b.storage, a.lengths)
    made = lines_of(found, *a.lengths)
    return turned_if(made, is_turned)


def same_shape(a: MatrixParts, b: MatrixParts) -> MatrixParts:
    """Return the first matrix; running fails unless the second has its shape."""
    text = "sparse: the matrices differ in shape: the second's number of {} is"
    data = same_length(a.data, b.rows, a.rows, text.format("rows"))
    data = same_length(data, b.columns, a.columns, text.format("columns"))
    return replace(a, data=data)


class Compared(SparseOp):
    """A comparison of two sparse matrices that is false where both are zero."""

    __props__ = ("row",)

    def __init__(self, row: str) -> None:
        self.row = row

    def graph(self, *inputs: Variable) -> Variable:
        """Return the comparison at the places that either has."""
        x, y = of_one_dtype(*inputs)
        nothing = [structured("mul")(m, _zero(m)) for m in (x, y)]
        left, right = parts(AddSS()(x, nothing[1])), parts(AddSS()(nothing[0], y))
        found = ROWS[self.row](left.data, right.data)
        return left.with_data(math.cast(found, "uint8"))

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Connect nothing."""
        return [[False], [False]]


def _zero(matrix: Variable) -> Variable:
    return as_either(math.cast(0, matrix.type.dtype))


# ---- sparse with dense ----


def row_of(y: Variable, op: Any) -> Variable:
    """Return a vector as a row that broadcasts."""
    if y.type.ndim != 1:
        raise GraphTypeError(f"{op}: given {y} of {y.type}, expected a vector")
    return dimshuffle(y, "x", 0)


def sampled_with(
    function: Callable[..., Variable], x: Variable, dense: Variable
) -> Variable:
    """Return a function of the values and of a dense matrix's elements at them."""
    own, is_turned = by_rows(x)
    at = sample(own.pattern, dense.T if is_turned else dense)
    made = own.with_data(function(own.data, at))
    return parts(made).turned.matrix if is_turned else made


class MulSD(SparseOp):
    """The product by elements of a sparse and a dense matrix, sparse.

    The dense operand broadcasts: a scalar scales, a vector is a row.
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    places_of = 0

    def graph(self, *inputs: Variable) -> Variable:
        """Return the values times the elements at their places."""
        x, y = of_one_dtype(*inputs)
        ndim = y.type.ndim
        if ndim == 0 or all(y.type.broadcastable):
            own = parts(x)
            scalar = dimshuffle(y) if ndim else y
            return own.with_data(own.data * scalar)
        if ndim > 2:
            raise GraphTypeError(
                f"mul_s_d: given {y} of {y.type}, expected at most two axes"
            )
        return sampled_with(ROWS["mul"], x, row_of(y, self) if ndim == 1 else y)


class WithVector(SparseOp):
    """The base of a row of the table of the stored values and of a vector's elements.

    The vector has one element for each column, or for each matrix row if ``by_rows``.
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    places_of = 0
    row: ClassVar[str] = "mul"
    called: ClassVar[str]
    is_by_rows: ClassVar[bool] = False

    def graph(self, *inputs: Variable) -> Variable:
        """Return the row of the values and of the elements of their columns or rows."""
        x, y = of_one_dtype(*inputs)
        dense = row_of(y, self.called)
        return sampled_with(ROWS[self.row], x, dense.T if self.is_by_rows else dense)


class StructuredAddSV(WithVector):
    """A matrix plus a vector, one element for each column, at the stored values."""

    row, called = "add", "StructuredAddSV"


class MulSV(WithVector):
    """A sparse matrix times a vector, one element for each column, sparse."""

    called = "MulSV"


class ScaledColumns(WithVector):
    """A matrix with each column times an element of a vector."""

    called = "col_scale"


class ScaledRows(WithVector):
    """A matrix with each row times an element of a vector."""

    called, is_by_rows = "row_scale", True


class AddSD(SparseOp):
    """The sum of a sparse and a dense matrix, dense.

    The gradient by the sparse matrix is that of its stored values.
    """

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the dense matrix plus the values."""
        x, y = of_one_dtype(*inputs)
        if y.type.ndim != 2:
            raise GraphTypeError(
                f"add: given {y} of {y.type}, expected a matrix: the sum would be "
                "dense; add to the stored values with structured_add(x, scalar) or "
                "structured_add_s_v(x, vector), or to dense_from_sparse(x)"
            )
        return ROWS["add"](to_dense(x), y)


def to_dense(x: Variable) -> Variable:
    """Return a matrix as an array; its gradient is that of the stored values."""
    own, is_turned = by_rows(x)
    made: Variable = ToDense()(*own.arrays)
    return made.T if is_turned else made


add_s_s, add_s_d, structured_add_s_v = AddSS(), AddSD(), StructuredAddSV()
mul_s_s, mul_s_d, mul_s_v = MulSS(), MulSD(), MulSV()


def add(x: Any, y: Any) -> Variable:
    """Return the sum of two matrices, one of them sparse: sparse if both are."""
    a, b = _one_sparse("add", x, y)
    if is_sparse(a) and is_sparse(b):
        result: Variable = add_s_s(a, b)
    elif is_sparse(a):
        result = add_s_d(a, b)
    else:
        result = add_s_d(b, a)
    return result


def sub(x: Any, y: Any) -> Variable:
    """Return the difference of two matrices, one of them sparse."""
    a, b = _one_sparse("sub", x, y)
    return add(a, neg(b) if is_sparse(b) else -b)


def mul(x: Any, y: Any) -> Variable:
    """Return the product by elements of two matrices, one of them sparse: sparse."""
    a, b = _one_sparse("mul", x, y)
    if is_sparse(a) and is_sparse(b):
        result: Variable = mul_s_s(a, b)
    else:
        result = mul_s_d(a, b) if is_sparse(a) else mul_s_d(b, a)
    return result


def _one_sparse(name: str, x: Any, y: Any) -> tuple[Variable, Variable]:
    a, b = as_either(x), as_either(y)
    if not is_sparse(a) and not is_sparse(b):
        raise GraphTypeError(
            f"{name}: given {a} of {a.type} and {b} of {b.type}, expected a sparse "
            "matrix among them"
        )
    return a, b


def neg(x: Any) -> Variable:
    """Return the matrix with the sign of each value changed."""
    return structured("neg")(x)


def col_scale(x: Any, s: Any) -> Variable:
    """Return a matrix with each column times an element of the vector ``s``."""
    result: Variable = ScaledColumns()(as_sparse_variable(x), s)
    return result


def row_scale(x: Any, s: Any) -> Variable:
    """Return a matrix with each row times an element of the vector ``s``."""
    result: Variable = ScaledRows()(as_sparse_variable(x), s)
    return result


DENSE = ("eq", "le", "ge")
"""Comparisons that are true where both operands are zero."""


def comparison(row: str) -> Callable[[Any, Any], Variable]:
    """Return the function that compares two matrices, one of them sparse.

    With a dense operand the result is dense; of two sparse ones it is sparse, uint8.
    """
    name = {"ne": "neq"}.get(row, row)

    def compare(x: Any, y: Any) -> Variable:
        a, b = _one_sparse(name, x, y)
        if is_sparse(a) and is_sparse(b):
            if row in DENSE:
                raise GraphValueError(
                    f"{name}: the result is true wherever both matrices are zero, so "
                    "it is dense; compare with dense_from_sparse(y)"
                )
            sparse: Variable = Compared(row)(a, b)
            return sparse
        sides = [to_dense(side) if is_sparse(side) else side for side in (a, b)]
        return ROWS[row](*sides)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"`{row}` of each element of two matrices, one of them sparse."
    return compare


FUNCTIONS["add"], FUNCTIONS["to_dense"] = add, to_dense
