"""The product of two sparse matrices, on their arrays by rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.sparse.canonical import both_by_rows
from gpuarray.compiler.ops.sparse.matrix import lines_of, turned_if
from gpuarray.compiler.ops.sparse.products import Arrays, at_places
from gpuarray.compiler.ops.sparse.steps import (
    Counts,
    Filled,
    TransposedStorage,
    host_matrix,
    last,
    same_length,
)


class ProductCounts(Counts):
    """Row pointers of a product of two matrices, and its number of values."""

    n_integers = 3

    def infer(self, *types: Any) -> TensorType:
        """A vector of int64."""
        return TensorType("int64", (False,))

    def reference(self, *inputs: Any) -> Any:
        """The starts by scipy."""
        return host_product(inputs[:3], inputs[3:6], *inputs[6:9]).indptr.astype(
            "int64"
        )

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The length of the row pointers: one more than rows."""
        return [tuple(input_shapes[2])]


class SparseProduct(Filled):
    """The product of two matrices by rows, canonical: values, indices and indptr."""

    n_integers = 4
    is_canonical = True

    def reference(self, *inputs: Any) -> Any:
        """The product by scipy."""
        made = host_product(inputs[:3], inputs[3:6], *inputs[7:10])
        indices, indptr = made.indices.astype("int32"), made.indptr.astype("int32")
        return made.data.astype(inputs[0].dtype), indices, indptr

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return products with the transposed matrices, at each operand's places."""
        g, *_ = output_gradients
        nothing: list[Variable | None] = [None for _ in inputs]
        if g is None:
            return nothing
        a, b = tuple(inputs[:3]), tuple(inputs[3:6])
        m, k, n, _ = inputs[7:]
        made = (g, outputs[1], outputs[2])
        by_columns = arrays(made, turned(b, k, n), (m, n, k))
        nothing[0] = at_places(by_columns, a, (m, k))
        by_rows = arrays(turned(a, m, k), made, (k, m, n))
        nothing[3] = at_places(by_rows, b, (k, n))
        return nothing


def host_product(a: Any, b: Any, m: Any, k: Any, n: Any) -> Any:
    """Return the product of scipy, with all places that it has by structure."""
    first, second = host_matrix(*a, m, k), host_matrix(*b, k, n)
    values = (first @ second).tocsr()
    ones = [np.ones_like(part.data, dtype="int64") for part in (first, second)]
    places = host_matrix(ones[0], *a[1:], m, k) @ host_matrix(ones[1], *b[1:], k, n)
    places.sort_indices()
    dense = values.toarray()
    at = np.repeat(np.arange(int(m)), np.diff(places.indptr))
    places = places.astype(values.dtype)
    places.data = dense[at, places.indices]
    return places


def turned(a: Arrays, rows: Variable, columns: Variable) -> Arrays:
    """Return the arrays of the transposed matrix, by its rows."""
    made: Any = TransposedStorage()(*a, rows, columns)
    return tuple(made)


def arrays(a: Arrays, b: Arrays, lengths: Any) -> Arrays:
    """Return the arrays of the product of two matrices by rows."""
    counts = ProductCounts()(*a, *b, *lengths)
    made: Any = SparseProduct()(*a, *b, counts, *lengths, last(counts))
    return tuple(made)


def multiplied(x: Variable, y: Variable) -> Variable:
    """Return the product of two sparse matrices, in the format of the first.

    Of matrices by columns it is the transposed product of the transposed matrices.
    """
    a, b, is_turned = both_by_rows(x, y)
    if is_turned:
        a, b = b, a
    text = "sparse product: the shapes do not fit: the second's number of rows is"
    data = same_length(a.data, b.rows, a.columns, text)
    first = data, a.indices, a.indptr
    lengths = a.rows, a.columns, b.columns
    made = lines_of(arrays(first, b.storage, lengths), a.rows, b.columns)
    return turned_if(made, is_turned)
