"""Storage, rows, columns and diagonals of sparse matrices."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Constant, Variable, is_float
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.index.picking import flatnonzero, nonzero
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.sorting.extra_ops import searchsorted
from gpuarray.compiler.ops.sorting.scanning import cumsum
from gpuarray.compiler.ops.sparse.canonical import (
    at_matrix,
    by_columns,
    is_known,
)
from gpuarray.compiler.ops.sparse.elementwise import to_dense
from gpuarray.compiler.ops.sparse.matrix import (
    CSM,
    CSMProperties,
    MatrixParts,
    SparseOp,
    as_sparse_variable,
    by_rows,
    is_sparse,
    lines_of,
    parts,
    turned_if,
)
from gpuarray.compiler.ops.sparse.steps import (
    RowIndices,
    SortedRows,
    SumAxis,
    TransposedStorage,
)
from gpuarray.compiler.ops.sparse.types import INDEX, check_format


def as_index(x: Variable) -> Variable:
    """Return integers in the dtype of indices."""
    return math.cast(x, INDEX)


def row_indices(own: MatrixParts) -> Variable:
    """Return the row of each value of a matrix by rows."""
    rows: Variable = RowIndices()(*own.pattern)
    return rows


# ---- storage ----


class Transpose(SparseOp):
    """The transposed matrix: the same arrays, in the other format."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the same arrays."""
        return parts(inputs[0]).turned.matrix


transpose_op = Transpose()


def transpose(x: Any) -> Variable:
    """Return the transposed matrix, of CSR in CSC: nothing is computed."""
    result: Variable = transpose_op(as_sparse_variable(x))
    return result


class AsFormat(SparseOp):
    """The matrix in a format; another one is sorted."""

    __props__ = ("format",)

    def __init__(self, format: str) -> None:
        self.format = check_format(format)

    def graph(self, *inputs: Variable) -> Variable:
        """Return the matrix, its storage transposed if it has the other format."""
        own = parts(inputs[0])
        return own.matrix if own.format == self.format else stored(own).matrix


def stored(own: MatrixParts) -> MatrixParts:
    """Return a matrix in the other format."""
    if own.format == "csr":
        return by_columns(own).turned
    return by_columns(own.turned)


def as_format(x: Any, format: str) -> Variable:
    """Return a matrix in a format: itself if it has it."""
    matrix = as_sparse_variable(x)
    if matrix.type.format == check_format(format):
        return matrix
    result: Variable = AsFormat(format)(matrix)
    return result


class EnsureSortedIndices(SparseOp):
    """The matrix with the indices of each row (of CSC: column) in order."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the matrix, sorted unless it is known to be."""
        own, is_turned = by_rows(inputs[0])
        if is_known_order(own.indices):
            return inputs[0]
        made: Any = SortedRows()(*own.arrays)
        return turned_if(lines_of(made, *own.lengths), is_turned)


def is_known_order(indices: Variable) -> bool:
    """Return True for indices that are in order, those of no input."""
    owner = indices.owner
    if owner is None or isinstance(owner.op, CSMProperties):
        return False
    return isinstance(owner.op, SortedRows | TransposedStorage) or bool(
        is_known(indices)
    )


class Remove0(SparseOp):
    """The matrix without stored zeros."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the values that are not zero."""
        own, is_turned = by_rows(inputs[0])
        chosen = flatnonzero(own.data)
        counts = cumsum(math.cast(math.FUNCTIONS["ne"](own.data, 0), "int64"))
        before = join(0, np.zeros(1, "int64"), counts)
        indptr = as_index(index(before, own.indptr))
        arrays = [index(own.data, chosen), index(own.indices, chosen), indptr]
        return turned_if(lines_of(arrays, *own.lengths), is_turned)


def ensure_sorted_indices(x: Any) -> Variable:
    """Return the matrix with the indices of each row (of CSC: column) in order."""
    result: Variable = EnsureSortedIndices()(as_sparse_variable(x))
    return result


def remove0(x: Any) -> Variable:
    """Return the matrix without stored zeros: the call waits for their number."""
    result: Variable = Remove0()(as_sparse_variable(x))
    return result


def clean(x: Any) -> Variable:
    """Return the matrix in order and without stored zeros."""
    return ensure_sorted_indices(remove0(x))


# ---- dense and back ----


class DenseFromSparse(SparseOp):
    """The matrix as an array.

    Its gradient is that of the stored values if ``structured``, else that of all
    elements, a dense matrix.
    """

    __props__ = ("structured",)

    def __init__(self, structured: bool = True) -> None:
        self.sparse_grad = self.structured = structured

    def graph(self, *inputs: Variable) -> Variable:
        """Return the array."""
        return to_dense(inputs[0])

    def pull_back(
        self, m: Any, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradient itself, or at the places of the values."""
        (x,), (g,) = inputs, output_gradients
        if g is None or not self.structured:
            return [g]
        return [parts(x).with_data(at_matrix(g, x))]


class SparseFromDense(SparseOp):
    """The elements that are not zero, in a format; the call waits for their number."""

    __props__ = ("format",)
    needs_all_elements = True

    def __init__(self, format: str) -> None:
        self.format = check_format(format)

    def graph(self, *inputs: Variable) -> Variable:
        """Return the elements at their places."""
        (x,) = inputs
        if is_sparse(x) or x.type.ndim != 2:
            raise GraphTypeError(
                f"{self.format}_from_dense: given {x} of {x.type}, expected a matrix"
            )
        lines = x if self.format == "csr" else x.T
        rows, columns = nonzero(lines)
        count = shape_i(lines, 0)
        indices = as_index(columns)
        indices.tag.is_canonical = True
        values = index(lines, (rows, columns))
        indptr = as_index(searchsorted(rows, arange(count + 1)))
        own = MatrixParts("csr", values, indices, indptr, count, shape_i(lines, 1))
        return turned_if(own, self.format == "csc")

    def pull_back(
        self, m: Any, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradient as an array: a dense one is of all elements."""
        (g,) = output_gradients
        return [to_dense(g) if g is not None and is_sparse(g) else g]


dense_from_sparse = DenseFromSparse()
csr_from_dense, csc_from_dense = SparseFromDense("csr"), SparseFromDense("csc")


# ---- sums and diagonals ----


class SpSum(SparseOp):
    """Sums over all elements, the rows (axis 0) or the columns (axis 1).

    The gradient is that of the stored values if ``sparse_grad``, else of all elements.
    """

    __props__ = ("axis", "sparse_grad")

    def __init__(self, axis: int | None = None, sparse_grad: bool = True) -> None:
        if axis not in (None, 0, 1, -1, -2):
            raise GraphValueError(f"sp_sum: axis is {axis!r}, expected None, 0 or 1")
        self.axis = axis if axis is None else axis % 2
        self.sparse_grad = sparse_grad

    def graph(self, *inputs: Variable) -> Variable:
        """Return the sums; of small integers in the dtype of such sums of arrays."""
        own, is_turned = by_rows(inputs[0])
        total = reduce.sum(own.data)
        if not (is_float(own.data) or own.data.type.is_complex):
            own = parts(own.with_data(math.cast(own.data, total.type.dtype)))
        if self.axis is None:
            return reduce.sum(own.data, dtype=own.data.type.dtype)
        axis = 1 - self.axis if is_turned else self.axis
        result: Variable = SumAxis(axis)(*own.arrays)
        return result

    def pull_back(
        self, m: Any, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradients of the values, or of all elements."""
        (x,), (g,) = inputs, output_gradients
        if g is None:
            return [None]
        own = parts(x)
        if self.axis is None:
            wide = dimshuffle(g, "x", "x")
        else:
            wide = dimshuffle(g, *(("x", 0) if self.axis == 0 else (0, "x")))
        if self.sparse_grad:
            return [own.with_data(at_matrix(wide, x))]
        return [BroadcastTo(2)(wide, own.shape)]


def sp_sum(x: Any, axis: int | None = None, sparse_grad: bool = False) -> Variable:
    """Return sums over all elements, the rows (axis 0) or the columns (axis 1).

    With ``sparse_grad`` the gradient is sparse, that of the stored values.
    """
    result: Variable = SpSum(axis, sparse_grad)(as_sparse_variable(x))
    return result


class Diag(SparseOp):
    """The diagonal of a matrix, a vector."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the sums of the values on the diagonal."""
        own, _ = by_rows(inputs[0])
        is_on = math.FUNCTIONS["eq"](row_indices(own), own.indices)
        data = own.data * math.cast(is_on, own.data.type.dtype)
        sums = SumAxis(1)(data, *own.pattern)
        return index(sums, slice(math.FUNCTIONS["minimum"](*own.lengths)))


class SquareDiagonal(SparseOp):
    """The square matrix, in CSC, with a vector on its diagonal."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the matrix."""
        (d,) = inputs
        if is_sparse(d) or d.type.ndim != 1:
            raise GraphTypeError(
                f"square_diagonal: given {d} of {d.type}, expected a vector"
            )
        count = shape_i(d, 0)
        indices = as_index(arange(count))
        indices.tag.is_canonical = True
        return MatrixParts(
            "csc", d, indices, as_index(arange(count + 1)), count, count
        ).matrix


diag, square_diagonal = Diag(), SquareDiagonal()


def sp_ones_like(x: Any) -> Variable:
    """Return ones at the places of the stored values."""
    own = parts(as_sparse_variable(x))
    return own.with_data(math.ones_like(own.data))


def sp_zeros_like(x: Any) -> Variable:
    """Return a matrix of the same shape, format and dtype, without values."""
    own = parts(as_sparse_variable(x))
    nothing = Constant(own.data.type, np.zeros(0, own.data.type.dtype))
    indices = Constant(own.indices.type, np.zeros(0, INDEX))
    indices.tag.is_canonical = True
    starts = math.zeros_like(own.indptr)
    made: Variable = CSM(own.format)(nothing, indices, starts, *own.lengths)
    return made
