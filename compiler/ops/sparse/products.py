"""Products with a matrix, on its arrays by rows: routines of the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.broadcast.broadcast import BroadcastTo
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.shape.shape import (
    DimShuffle,
    dimshuffle,
    shape_i,
    transpose,
)
from gpuarray.compiler.ops.sparse.steps import (
    NARROW,
    Counts,
    Filled,
    OfMatrix,
    host_matrix,
    last,
    sample,
    vector_like,
)
from gpuarray.compiler.ops.sparse.types import INDEX, VECTOR


class SparseMatmul(OfMatrix):
    """The product of a matrix, or its transposed, and a dense vector or matrix."""

    __props__ = ("transposed",)

    def __init__(self, transposed: bool) -> None:
        self.transposed = transposed

    def infer(
        self, data: Any, indices: Any, indptr: Any, x: Any, *lengths: Any
    ) -> TensorType:
        """As many axes as the operand, of one dtype with it."""
        if x.dtype != data.dtype or x.ndim not in (1, 2):
            raise GraphTypeError(
                f"sparse product: values are {data.dtype}, the operand is {x}; "
                "expected one dtype, and one axis or two"
            )
        return TensorType(data.dtype, (False, *x.broadcastable[1:]))

    def reference(
        self,
        data: Any,
        indices: Any,
        indptr: Any,
        x: Any,
        rows: Any,
        columns: Any,
    ) -> Any:
        """The product by scipy."""
        a = host_matrix(data, indices, indptr, rows, columns)
        wide = x.astype(NARROW.get(x.dtype.name, x.dtype), copy=False)
        return np.asarray((a.T if self.transposed else a) @ wide).astype(x.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the sampled product, and the product with the transposed matrix."""
        _, indices, indptr, x, *lengths = inputs
        (g,) = output_gradients
        assert g is not None
        left, right = (x, g) if self.transposed else (g, x)
        of_values = Sampled()(
            indices, indptr, _as_columns(left), transpose(_as_columns(right)), *lengths
        )
        arrays = inputs[0], indices, indptr
        of_operand = SparseMatmul(not self.transposed)(*arrays, g, *lengths)
        return [of_values, None, None, of_operand, None, None]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The number of rows, and of the operand's columns."""
        length = node.inputs[-1 if self.transposed else -2]
        return [(length, *input_shapes[3][1:])]


def _as_columns(x: Variable) -> Variable:
    return x if x.type.ndim == 2 else dimshuffle(x, 0, "x")


class Sampled(OfMatrix):
    """The product of two dense matrices at the places of values, as a vector."""

    def infer(
        self, indices: Any, indptr: Any, x: Any, y: Any, *lengths: Any
    ) -> TensorType:
        """A vector of the matrices' dtype."""
        if x.dtype != y.dtype or (x.ndim, y.ndim) != (2, 2):
            raise GraphTypeError(
                f"sampled product: given {x} and {y}, expected matrices of one dtype"
            )
        return vector_like(x)

    def reference(
        self, indices: Any, indptr: Any, x: Any, y: Any, rows: Any, columns: Any
    ) -> Any:
        """The sums by NumPy."""
        at = np.repeat(np.arange(int(rows)), np.diff(indptr))
        work = NARROW.get(x.dtype.name, x.dtype)
        left, right = x.astype(work)[at], y.astype(work).T[indices]
        return (left * right).sum(1).astype(x.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return products with the matrix of the gradients."""
        indices, indptr, x, y, *lengths = inputs
        (g,) = output_gradients
        assert g is not None
        arrays = g, indices, indptr
        of_x = SparseMatmul(transposed=False)(*arrays, transpose(y), *lengths)
        of_y = transpose(SparseMatmul(transposed=True)(*arrays, x, *lengths))
        return [None, None, of_x, of_y, None, None]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The number of values."""
        return [tuple(input_shapes[0])]


def elements_at(pattern: Sequence[Variable], dense: Variable) -> Variable:
    """Return a dense matrix's elements at places: indices, indptr and lengths.

    Of a product of matrices, and of a sum of such, no other element is computed.
    """
    owner = dense.owner
    factors = factors_of(dense)
    if factors is not None:
        indices, indptr, *lengths = pattern
        left, right = (math.cast(x, dense.type.dtype) for x in factors)
        elements: Variable = Sampled()(indices, indptr, left, right, *lengths)
        return elements
    if owner is not None and isinstance(owner.op, BroadcastTo):
        return elements_at(pattern, owner.inputs[0])
    if owner is not None and is_row(owner.op, "add"):
        terms = [x for x in owner.inputs if x.type.broadcastable == (False, False)]
        if len(terms) == len(owner.inputs):
            first, *rest = (elements_at(pattern, x) for x in terms)
            return sum(rest, first)
    return sample(pattern, dense)


def factors_of(dense: Variable) -> tuple[Variable, Variable] | None:
    """Return the matrices whose product is one, of one column and row for an outer one.

    None for what is no product.
    """
    owner = dense.owner
    if owner is None:
        return None
    if isinstance(owner.op, DimShuffle) and owner.op.is_transpose:
        inner = factors_of(owner.inputs[0])
        return inner and (transpose(inner[1]), transpose(inner[0]))
    flags = [x.type.broadcastable for x in owner.inputs]
    is_outer = is_row(owner.op, "mul") and flags == [(False, True), (True, False)]
    if is_outer or (isinstance(owner.op, Dot) and [*map(len, flags)] == [2, 2]):
        left, right = owner.inputs
        return left, right
    return None


def is_row(op: Any, name: str) -> bool:
    """Return True for an elementwise op of a row of the scalar table."""
    return isinstance(op, Elemwise) and getattr(op.scalar, "name", None) == name


# ---- two matrices ----


class Matches(Counts):
    """Counts of the places that both have; the last is their total.

    Both are sorted and without duplicates. Their merged order is cut into parts. For
    each, and behind the last, there are three numbers: the values of both before it,
    and the rows begun; then the places before each part that both have, and twice the
    total.
    """

    n_merged = 2048  # ga__sparse_merged in c/sparse/sparse_source.h

    def infer(self, *types: Any) -> TensorType:
        """A vector of the dtype of indices."""
        return VECTOR

    def reference(self, *inputs: Any) -> Any:
        """The numbers of the parts, as the library makes them."""
        first, second = places_of(inputs[:3]), places_of(inputs[3:6])
        merged = sorted([*((p, 0) for p in first), *((p, 1) for p in second)])
        count = len(merged)
        words = []
        for part in range(count // self.n_merged + 2):
            at = min(part * self.n_merged, count)
            is_cut = 0 < at < count and merged[at - 1][0] == merged[at][0]
            of_first = sum(1 - which for _, which in merged[:at])
            begun = merged[at - 1][0][0] + 1 if at else 0
            words.append((of_first, at - of_first + is_cut, begun))
        known = set(second)
        shared = np.cumsum([0, *(place in known for place in first)])
        before = [shared[of_first] for of_first, *_ in words]
        return np.array([*np.ravel(words), *before, before[-1]], INDEX)


def places_of(arrays: Any) -> list[tuple[int, int]]:
    """Return the row and column of each value."""
    _, indices, indptr = arrays
    at = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return list(zip(at.tolist(), indices.tolist(), strict=True))


class Merged(Filled):
    """The sum of two matrices, or their product by elements, by their matches."""

    __props__ = ("is_product",)
    is_canonical = True

    def __init__(self, is_product: bool) -> None:
        self.is_product = is_product

    def infer(self, data: Any, *rest: Any) -> list[TensorType]:
        """Values, indices and indptr."""
        if rest[2].dtype != data.dtype:
            raise GraphTypeError(
                f"sparse sum: values are {data.dtype} and {rest[2].dtype}, expected "
                "one dtype"
            )
        return super().infer(data, *rest)

    def reference(self, *inputs: Any) -> Any:
        """The result by scipy."""
        *_, rows, columns, _ = inputs
        a = host_matrix(*inputs[:3], rows, columns)
        b = host_matrix(*inputs[3:6], rows, columns)
        found = set(places_of(inputs[:3]))
        other = set(places_of(inputs[3:6]))
        chosen = sorted(found & other if self.is_product else found | other)
        dense = (a * b if self.is_product else a + b).toarray()
        at, indices = np.array(chosen, INDEX).reshape(-1, 2).T
        indptr = np.searchsorted(at, np.arange(int(rows) + 1)).astype(INDEX)
        return dense[at, indices].astype(inputs[0].dtype), indices, indptr

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient, times the other operand, at each operand's places."""
        g, *_ = output_gradients
        nothing: list[Variable | None] = [None for _ in inputs]
        if g is None:
            return nothing
        lengths = inputs[-3:-1]
        made = (g, outputs[1], outputs[2])
        for first, other in ((0, 3), (3, 0)):
            own = tuple(inputs[first : first + 3])
            if self.is_product:
                factor = tuple(inputs[other : other + 3])
                term = product_of(made, factor, lengths)
                nothing[first] = spread_over(term, own, lengths)
            else:
                nothing[first] = chosen_from(made, own, lengths)
        return nothing


Arrays = tuple[Variable, ...]


def sum_of(a: Arrays, b: Arrays, lengths: Any) -> Arrays:
    """Return the arrays of the sum of two sorted matrices without duplicates."""
    matches = Matches()(*a, *b, *lengths)
    count = shape_i(a[0], 0) + shape_i(b[0], 0) - last(matches)
    made: Any = Merged(is_product=False)(*a, *b, matches, *lengths, count)
    return tuple(made)


def product_of(a: Arrays, b: Arrays, lengths: Any) -> Arrays:
    """Return the arrays of their product by elements."""
    matches = Matches()(*a, *b, *lengths)
    made: Any = Merged(is_product=True)(*a, *b, matches, *lengths, last(matches))
    return tuple(made)


def chosen_from(matrix: Arrays, places: Arrays, lengths: Any) -> Variable:
    """Return the values at the places of a matrix within: of one that has them all."""
    ones = math.ones_like(places[0], matrix[0].type.dtype)
    return merged_into(ones, matrix, places, lengths, is_product=True)


def spread_over(matrix: Arrays, places: Arrays, lengths: Any) -> Variable:
    """Return the values of a matrix at more places: those of the second, else zeros."""
    zeros = math.zeros_like(places[0], matrix[0].type.dtype)
    return merged_into(zeros, matrix, places, lengths, is_product=False)


def merged_into(
    neutral: Variable, matrix: Arrays, places: Arrays, lengths: Any, *, is_product: bool
) -> Variable:
    """Return the values of a merge whose places are those of the second matrix.

    ``neutral`` are that one's values: ones in a product, zeros in a sum.
    """
    own = neutral, *places[1:]
    matches = Matches()(*own, *matrix, *lengths)
    count = shape_i(places[0], 0)
    made: Any = Merged(is_product)(*own, *matrix, matches, *lengths, count)
    values: Variable = made[0]
    return values


def at_places(matrix: Arrays, places: Arrays, lengths: Any) -> Variable:
    """Return the values of a matrix at the places of another, zero where it has none.

    Both are sorted and without duplicates.
    """
    ones = (math.ones_like(places[0], matrix[0].type.dtype), *places[1:])
    return spread_over(product_of(ones, matrix, lengths), places, lengths)
