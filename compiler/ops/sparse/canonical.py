"""Canonical matrices: indices in order within each row, and none twice.

Sums and products by elements need them. A function makes its arguments canonical where
it needs that; of what a program computes, the order is known or the graph sorts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index, set_subtensor
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.sparse import products
from gpuarray.compiler.ops.sparse.matrix import (
    CSM,
    FUNCTIONS,
    CSMProperties,
    MatrixParts,
    SparseOp,
    by_rows,
    have_same_places,
    is_sparse,
    lines_of,
    parts,
    turned_if,
)
from gpuarray.compiler.ops.sparse.steps import (
    DistinctCounts,
    SortedRows,
    SummedDuplicates,
    TransposedStorage,
    last,
)
from gpuarray.compiler.ops.sparse.types import INDEX, SparseConstant, SparseType


def is_known(indices: Variable) -> bool | None:
    """Return True for the indices of a canonical matrix, None if that is not known yet.

    Those of an input are: a function that asks is given canonical values. Of a matrix
    whose operation is not yet replaced it is known when that has been; what a graph of
    another kind gives is sorted.
    """
    while True:
        if getattr(indices.tag, "is_canonical", False):
            return True
        leaf = getattr(indices.tag, "part_of", None)
        if leaf is not None:
            return is_canonical_leaf(leaf)
        owner = indices.owner
        if owner is None:
            return False
        if isinstance(owner.op, CSMProperties):
            (matrix,) = owner.inputs
            if matrix.owner is None:
                return is_canonical_leaf(matrix)
            owner = matrix.owner
            if not isinstance(owner.op, CSM):
                return None if isinstance(owner.op, SparseOp) else False
        elif getattr(owner.op, "is_canonical", False):
            return True
        elif not getattr(owner.op, "keeps_canonical", False):
            return False
        indices = owner.inputs[1]


def is_canonical_leaf(matrix: Variable) -> bool:
    """Return True for a matrix that no operation made, but for a constant in disorder.

    An input is tagged: the call makes its argument canonical.
    """
    if isinstance(matrix, SparseConstant):
        return bool(matrix.data.has_canonical_format)
    matrix.tag.is_canonical = True
    return True


class Canonical(SparseOp):
    """The same matrix in canonical form."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node over a matrix: what it stands for is not asked yet."""
        (x,) = inputs
        return Apply(self, [x], [x.type()])

    def graph(self, *inputs: Variable) -> Variable:
        """Return the matrix, sorted and summed where it is not known to be canonical.

        That is known when a function is made: then inputs are made of arrays.
        """
        (x,) = inputs
        if x.owner is None and is_canonical_leaf(x):
            return x
        if isinstance(x, SparseConstant):
            data = x.data.copy()
            data.sum_duplicates()
            return SparseConstant(x.type, data, x.name)
        own, is_turned = by_rows(x)
        known = is_known(own.indices)
        if known is None:
            later: Variable = canonical(x)
            return later
        if known:
            return x
        ordered: Any = SortedRows()(*own.arrays)
        counts = DistinctCounts()(*ordered, *own.lengths)
        made: Any = SummedDuplicates()(*ordered, counts, *own.lengths, last(counts))
        return turned_if(lines_of(made, *own.lengths), is_turned)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return for each value the gradient of its place."""
        (x,), (g,) = inputs, output_gradients
        if g is None:
            return [None]
        if not is_sparse(g):
            return [parts(x).with_data(at_matrix(g, x))]
        own = canonical(x)
        return [from_canonical(parts(own).with_data(at_matrix(g, own)), x)]

    unfold = None  # type: ignore[assignment]


canonical = Canonical()


class FromCanonical(SparseOp):
    """The values of a canonical matrix at the places of another, which may repeat.

    The first has the places of the second in canonical form.
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    places_of = 1

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node over two matrices, of the type of the first."""
        g, x = inputs
        return Apply(self, [g, x], [SparseType(x.type.format, g.type.dtype)()])

    def graph(self, *inputs: Variable) -> Variable:
        """Return the matrix; the first one's values where the second is canonical."""
        g, x = inputs
        given, own = parts(g), parts(x)
        same = own.with_data(given.data)
        known = is_known(own.indices)
        if known is None:
            later: Variable = from_canonical(g, x)
            return later
        return same if known else self.back(given, own)

    @staticmethod
    def back(given: MatrixParts, own: MatrixParts) -> Variable:
        """Return the sum's value for each of the values that were summed."""
        lines = own if own.format == "csr" else own.turned
        numbers = math.cast(arange(shape_i(own.data, 0)), INDEX)
        order, *ordered = SortedRows()(numbers, *lines.pattern)
        counts = DistinctCounts()(order, *ordered, *lines.lengths)
        values = index(given.data, index(counts, slice(1, None)) - 1)
        zeros = math.zeros_like(own.data, given.data.type.dtype)
        return own.with_data(set_subtensor(index(zeros, order), values))

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the sums of the gradients at each place."""
        return sums_at_places(inputs, output_gradients)

    unfold = None  # type: ignore[assignment]


def sums_at_places(inputs: Variables, output_gradients: Gradients) -> Gradients:
    """Return the gradient by the first of two matrices, chosen by the second."""
    (_, x), (g,) = inputs, output_gradients
    if g is None:
        return [None, None]
    return [canonical(parts(x).with_data(at_matrix(g, x))), None]


from_canonical = FromCanonical()


def at_matrix(g: Variable, matrix: Variable) -> Variable:
    """Return the elements of a gradient, sparse or dense, at a matrix's places."""
    own = parts(matrix)
    if not is_sparse(g):
        lines, is_turned = by_rows(matrix)
        return products.elements_at(lines.pattern, g.T if is_turned else g)
    given = parts(g)
    if have_same_places(given, own):
        return given.data
    result: Variable = parts(PlacesOf()(g, matrix)).data
    return result


class PlacesOf(SparseOp):
    """The values of a sparse matrix at the places of another, zero where it has none.

    The result has the places of the second, in their order.
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    places_of = 1

    def graph(self, *inputs: Variable) -> Variable:
        """Return the matrix, by way of canonical ones."""
        g, x = inputs
        wanted, found, is_turned = both_by_rows(x, g)
        values = products.at_places(found.storage, wanted.storage, wanted.lengths)
        made = replace(wanted, data=values)
        result: Variable = from_canonical(turned_if(made, is_turned), x)
        return result

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the sums of the gradients at each place."""
        return sums_at_places(inputs, output_gradients)

    unfold = None  # type: ignore[assignment]


FUNCTIONS["at_places"], FUNCTIONS["canonical"] = at_matrix, canonical


def both_by_rows(x: Any, y: Any) -> tuple[MatrixParts, MatrixParts, bool]:
    """Return two canonical matrices by the first one's rows, and if it is by columns.

    Their storage is transposed where the formats differ.
    """
    (a, is_turned), (b, is_other) = by_rows(canonical(x)), by_rows(canonical(y))
    return a, b if is_other == is_turned else by_columns(b), is_turned


def by_columns(own: MatrixParts) -> MatrixParts:
    """Return the transposed of a matrix by rows, by its own rows: all values move."""
    arrays: Any = TransposedStorage()(*own.arrays)
    return lines_of(arrays, own.columns, own.rows)
