"""A matrix made of arrays, and the arrays of a matrix.

A function computes with the arrays alone: operations on matrices stand for graphs of
operations on their arrays, which replace them before any rewrite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.traverse import evaluated, replace_nodes, toposort
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.sparse.types import (
    FORMATS,
    INDEX,
    LENGTH,
    VECTOR,
    SparseConstant,
    SparseType,
    SparseVariable,
    check_format,
    is_sparse_value,
    parts_of_value,
)
from gpuarray.compiler.ops.sparse.values import scipy_matrix
from gpuarray.compiler.ops.variables.basic import MakeVector, as_tensor_variable


def is_sparse(variable: Any) -> bool:
    """Return True for a variable that is a sparse matrix."""
    return isinstance(getattr(variable, "type", None), SparseType)


def as_sparse_variable(value: Any, name: str | None = None) -> SparseVariable:
    """Return a sparse matrix as a variable: a matrix of scipy becomes a constant.

    Raises TypeError for anything else; `csr_from_dense` converts arrays.
    """
    if isinstance(value, Apply):
        value = value.out
    if is_sparse(value):
        variable: SparseVariable = value
        return variable
    if is_sparse_value(value):
        wanted = value.format if value.format in FORMATS else "csr"
        kind = SparseType(wanted, value.dtype)
        return SparseConstant(kind, kind.filter(value), name)
    what = value.type if isinstance(value, Variable) else type(value).__name__
    raise GraphTypeError(
        f"as_sparse: given {value!s} of {what}, expected a sparse matrix; convert an "
        "array with sparse.csr_from_dense(x)"
    )


def as_either(value: Any) -> Variable:
    """Return a sparse matrix or an array as a variable."""
    if is_sparse(value) or is_sparse_value(value):
        return as_sparse_variable(value)
    return as_tensor_variable(value)


class CSMProperties(Op):
    """The arrays of a matrix: values, indices, indptr, numbers of rows and columns."""

    __props__: ClassVar[tuple[str, ...]] = ()
    is_graph = True

    def make_node(self, csm: Any) -> Apply:
        """Return a node over a matrix."""
        matrix = as_sparse_variable(csm)
        data, *_ = matrix.type.part_types
        kinds = [data, VECTOR, VECTOR, LENGTH, LENGTH]
        return Apply(self, [matrix], [kind() for kind in kinds])

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the variables of which the matrix is made."""
        (matrix,) = inputs
        owner = matrix.owner
        if owner is not None and isinstance(owner.op, CSM):
            return list(owner.inputs)
        if owner is not None and owner.op.is_graph:  # it is replaced first
            return list(CSMProperties()(matrix))
        if owner is not None:
            raise GraphTypeError(
                f"function: {matrix} of {matrix.type}, the result of {owner.op}, is no "
                "sparse matrix made of arrays; return CSM(...) of its arrays"
            )
        data, indices, indptr, minor = matrix.parts  # type: ignore[attr-defined]
        major = shape_i(indptr, 0) - 1
        lengths = [major, minor] if matrix.type.format == "csr" else [minor, major]
        return [data, indices, indptr, *lengths]

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return a matrix's arrays and lengths."""
        (matrix,) = arrays
        data, indices, indptr, _ = parts_of_value(matrix)
        lengths = [np.asarray(length, "int64") for length in matrix.shape]
        return [data, indices, indptr, *lengths]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Connect the values alone."""
        return [[True, False, False, False, False]]

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient of the values, at their places."""
        (matrix,), (g, *_) = inputs, output_gradients
        return [None if g is None else parts(matrix).with_data(g)]


class CSM(Op):
    """A matrix of values, indices, indptr and shape, in the format ``format``.

    The gradient of the values is structured: that of the matrix at their places.
    """

    __props__ = ("format", "kmap")

    def __init__(self, format: str, kmap: None = None) -> None:
        if kmap is not None:
            raise GraphValueError(
                "CSM: kmap is of former versions of Theano; give the values in order"
            )
        self.format = check_format(format)
        self.kmap = kmap

    def make_node(
        self, data: Any, indices: Any, indptr: Any, shape: Any, columns: Any = None
    ) -> Apply:
        """Return a node; the shape is a vector, a pair, or two scalars."""
        values = as_tensor_variable(data)
        if values.type.ndim != 1:
            raise GraphTypeError(f"CSM: data are {values.type}, expected a vector")
        arrays = [_indices(indices, "indices"), _indices(indptr, "indptr")]
        lengths = _lengths(shape) if columns is None else [shape, columns]
        numbers = [math.cast(as_tensor_variable(n), "int64") for n in lengths]
        kind = SparseType(self.format, values.type.dtype)
        return Apply(self, [values, *arrays, *numbers], [kind()])

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the matrix, of scipy."""
        data, indices, indptr, rows, columns = arrays
        shape = int(rows), int(columns)
        return [scipy_matrix(self.format, (data, indices, indptr), shape)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Connect the values alone."""
        return [[True], *([False] for _ in node.inputs[1:])]

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient of the matrix at the places of the values."""
        (matrix,), (g,) = outputs, output_gradients
        rest: list[Variable | None] = [None] * 4
        return [None if g is None else FUNCTIONS["at_places"](g, matrix), *rest]

    def __str__(self) -> str:
        return f"CSM{{{self.format}}}"


FUNCTIONS: dict[str, Any] = {}
"""Functions of modules that build on this one, by name."""


def _indices(value: Any, what: str) -> Variable:
    variable = as_tensor_variable(value)
    kind = variable.type
    if kind.ndim != 1 or not kind.dtype.startswith(("int", "uint")):
        raise GraphTypeError(
            f"CSM: {what} are {kind}, expected a vector of integers, {INDEX}"
        )
    return math.cast(variable, INDEX)


def _lengths(shape: Any) -> list[Any]:
    if isinstance(shape, list | tuple):
        if len(shape) != 2:
            raise GraphValueError(f"CSM: the shape is {shape}, expected two lengths")
        known = [n for n in shape if isinstance(n, int | np.integer)]
        if any(n < 0 for n in known):
            raise GraphValueError(f"CSM: the shape is {shape}, expected no length < 0")
        return list(shape)
    vector = as_tensor_variable(shape)
    if vector.type.ndim != 1:
        raise GraphTypeError(f"CSM: the shape is {vector.type}, expected two lengths")
    if isinstance(vector, Constant):
        return [int(length) for length in vector.data]
    owner = vector.owner
    if owner is not None and isinstance(owner.op, MakeVector):
        return list(owner.inputs)
    return [index(vector, 0), index(vector, 1)]


@dataclass(frozen=True)
class MatrixParts:
    """The variables of a matrix: its arrays, and its numbers of rows and columns."""

    format: str
    data: Variable
    indices: Variable
    indptr: Variable
    rows: Variable
    columns: Variable

    @property
    def matrix(self) -> SparseVariable:
        """The matrix."""
        return self.with_data(self.data)

    @property
    def lengths(self) -> tuple[Variable, Variable]:
        """The numbers of rows and columns."""
        return self.rows, self.columns

    @property
    def shape(self) -> Variable:
        """The numbers of rows and columns, a vector of int64."""
        vector: Variable = MakeVector("int64")(*self.lengths)
        return vector

    @property
    def minor(self) -> Variable:
        """The length of the axis that is not compressed."""
        return self.columns if self.format == "csr" else self.rows

    @property
    def pattern(self) -> tuple[Variable, ...]:
        """The places of the values: indices, indptr, and the lengths."""
        return self.indices, self.indptr, *self.lengths

    @property
    def storage(self) -> tuple[Variable, Variable, Variable]:
        """Values, indices and indptr."""
        return self.data, self.indices, self.indptr

    @property
    def arrays(self) -> tuple[Variable, ...]:
        """The values and their places."""
        return self.data, *self.pattern

    def with_data(self, data: Variable) -> SparseVariable:
        """Return the matrix of other values at the same places."""
        made: SparseVariable = CSM(self.format)(data, *self.pattern)
        return made

    @property
    def turned(self) -> MatrixParts:
        """The transposed matrix: the same arrays, in the other format."""
        format = "csc" if self.format == "csr" else "csr"
        return MatrixParts(format, *self.storage, self.columns, self.rows)


def lines_of(
    arrays: Sequence[Variable], rows: Variable, columns: Variable
) -> MatrixParts:
    """Return the matrix by rows of values, indices and indptr."""
    data, indices, indptr = arrays
    return MatrixParts("csr", data, indices, indptr, rows, columns)


def parts(value: Any) -> MatrixParts:
    """Return the variables of a matrix; of a computed one, as it was made."""
    matrix = as_sparse_variable(value)
    owner = matrix.owner
    if owner is not None and isinstance(owner.op, CSM):
        return MatrixParts(matrix.type.format, *owner.inputs)
    made = matrix.__dict__.get("_properties")
    if made is None:
        made = matrix.__dict__["_properties"] = CSMProperties()(matrix)
    return MatrixParts(matrix.type.format, *made)


def by_rows(value: Any) -> tuple[MatrixParts, bool]:
    """Return a matrix by its rows, and True if that is the transposed one: of CSC."""
    own = parts(value)
    return (own, False) if own.format == "csr" else (own.turned, True)


def turned_if(own: MatrixParts, is_turned: bool) -> Variable:
    """Return the matrix, transposed for one that is by columns."""
    return (own.turned if is_turned else own).matrix


def opened(outputs: Sequence[Variable]) -> list[Variable]:
    """Return expressions of the arrays of matrices, in place of ones of matrices.

    The matrices that are left are those that no operation made.
    """
    order = toposort(outputs)
    if not any(isinstance(node.op, SparseOp) for node in order):
        return list(outputs)
    return opened(replace_nodes(outputs, order, _expanded))


def _expanded(node: Apply, inputs: list[Variable]) -> list[Variable] | None:
    """Return the arrays of an operation on matrices; None for other operations."""
    if isinstance(node.op, CSMProperties):
        return list(parts(inputs[0]).arrays)
    return node.op.expand(inputs) if isinstance(node.op, SparseOp) else None


class SparseOp(Op):
    """The base of operations on matrices, which stand for graphs of their arrays.

    ``graph(*inputs)`` returns the result. Gradients go through that graph.
    """

    is_graph = True
    places_of: ClassVar[int | None] = None
    """The input at whose places the result has values, in their order."""
    needs_all_elements: ClassVar[bool] = False
    """True if a gradient of the result counts at all places, not at its values' alone.
    """

    def graph(self, *inputs: Variable) -> Variable:
        """Return the result as an expression of the matrices' arrays."""
        raise NotImplementedError

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node over matrices and arrays."""
        variables = [as_either(value) for value in inputs]
        return Apply(self, variables, [self.graph(*variables).type()])

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the result as an expression of the matrices' arrays."""
        return [self.graph(*inputs)]

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the expression whose gradients are the op's."""
        return self.expand(inputs)

    def pull_back(
        self, m: Any, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> list[Variable | None]:
        """Return the gradients by the expression, of a matrix by its values."""
        (result,), (g,) = outputs, output_gradients
        if g is None or not is_sparse(result) or getattr(self, "unfold", None) is None:
            return super().pull_back(m, inputs, outputs, output_gradients)

        def values(places: Sequence[Variable]) -> list[Variable]:
            return [parts(self.graph(*places)).data]

        of_values = FUNCTIONS["at_places"](g, result)
        return list(m.gradients_within(values, [of_values], inputs))

    def evaluate(self, node: Apply, arrays: Sequence[Any]) -> list[Any]:
        """Return the expression's value, computed with NumPy and scipy."""
        known = dict(zip(node.inputs, arrays, strict=True))
        return evaluated(self.expand(node.inputs), known)


# ---- gradients ----


def have_same_places(a: MatrixParts, b: MatrixParts) -> bool:
    """Return True for matrices that are made of the same index variables."""
    pairs = ((a.indices, b.indices), (a.indptr, b.indptr))
    return a.format == b.format and all(_source(x) is _source(y) for x, y in pairs)


def _source(indices: Variable) -> Any:
    """Return what index variables are compared by: of one matrix they are the same."""
    owner = indices.owner
    if owner is None or not isinstance(owner.op, CSMProperties):
        return indices
    (matrix,) = owner.inputs
    made = matrix.owner
    if made is None:
        return matrix.parts[indices.index or 0]  # type: ignore[attr-defined]
    if isinstance(made.op, CSM):
        return _source(made.inputs[indices.index or 0])
    place = getattr(made.op, "places_of", None)
    if place is not None:
        own = parts(made.inputs[place])
        return _source(own.indices if indices.index == 1 else own.indptr)
    return parts(matrix).indices if indices.index == 1 else parts(matrix).indptr


def gradient_of_kind(term: Any, matrix: Variable) -> Variable:
    """Return a gradient of a matrix, sparse or dense, in its dtype."""
    if is_sparse(term):
        own = parts(term)
        if own.data.type.dtype == matrix.type.dtype:
            sparse: Variable = term
            return sparse
        return own.with_data(math.cast(_of_kind(own.data, matrix), matrix.type.dtype))
    dense = as_tensor_variable(term)
    if dense.type.ndim != 2:
        raise GraphTypeError(
            f"the gradient of {matrix} of {matrix.type} has {dense.type.ndim} axes, "
            "expected a sparse or a dense matrix"
        )
    return math.cast(_of_kind(dense, matrix), matrix.type.dtype)


def _of_kind(g: Variable, matrix: Variable) -> Variable:
    is_complex = g.type.dtype.startswith("complex") and not matrix.type.is_complex
    return math.FUNCTIONS["real"](g) if is_complex else g


def summed(a: Variable, b: Variable) -> Variable:
    """Return the sum of two matrices: dense if one of them is."""
    if is_sparse(a) and is_sparse(b):
        first, second = parts(a), parts(b)
        if have_same_places(first, second):
            return first.with_data(first.data + second.data)
    if not is_sparse(a) and not is_sparse(b):
        return math.FUNCTIONS["add"](a, b)
    result: Variable = FUNCTIONS["add"](a, b)
    return result


def gradient_sum(a: Variable, b: Variable, matrix: Variable) -> Variable:
    """Return the sum of two gradients of a matrix.

    A gradient at the matrix's own places is one of each value, where places repeat,
    too; another one is of places, and is taken at them. Of what no operation made a
    dense term makes a dense sum: its values are canonical then.
    """
    terms = (a, b)
    if is_sparse(a) == is_sparse(b) and (
        not is_sparse(a) or have_same_places(parts(a), parts(b))
    ):
        return summed(a, b)
    if matrix.owner is None:
        ordered = FUNCTIONS["canonical"]
        return summed(*(ordered(x) if is_sparse(x) else x for x in terms))
    own = parts(matrix)
    is_own = [is_sparse(x) and have_same_places(parts(x), own) for x in terms]
    if not any(is_own) or getattr(matrix.owner.op, "needs_all_elements", False):
        return summed(a, b)
    left, right = (FUNCTIONS["at_places"](x, matrix) for x in terms)
    return own.with_data(left + right)


def stored_as(x: Variable, like: Variable) -> Variable:
    """Return a matrix dense or sparse, as another is, in the dtype of that one."""
    if is_sparse(x) == is_sparse(like):
        return x
    if is_sparse(x):
        dense: Variable = FUNCTIONS["to_dense"](x)
        return dense
    return parts(like).with_data(FUNCTIONS["at_places"](x, like))


def zeros_like(matrix: Variable, dtype: Any = None) -> Variable:
    """Return zeros at the places of a matrix's values."""
    own = parts(matrix)
    return own.with_data(math.zeros_like(own.data, dtype))


def number(value: Variable) -> Variable:
    """Return a length as an int64."""
    return math.cast(value, "int64")


def integer(value: int) -> Variable:
    """Return a constant length."""
    return as_tensor_variable(np.asarray(value, "int64"))
