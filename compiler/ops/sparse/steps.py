"""Operations on the arrays of one matrix, by its rows: routines of the library.

The arrays of a matrix by rows are values, indices (of columns) and indptr; numbers of
rows and columns, integers of the host, are the last inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import inc_subtensor, index, set_subtensor
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.slicing.requirements import OfIntegers
from gpuarray.compiler.ops.sparse.types import INDEX, VECTOR

NARROW = {"float16": "float32", "bfloat16": "float32"}
"""Dtypes that scipy lacks, and those that references compute in."""


def host_matrix(*arrays: Any) -> Any:
    """Return the matrix of scipy of values, indices, indptr, rows and columns.

    In a dtype that scipy has.
    """
    sparse: Any = import_module("scipy.sparse")
    data, indices, indptr, rows, columns = arrays
    values = np.asarray(data)
    values = values.astype(NARROW.get(values.dtype.name, values.dtype), copy=False)
    shape = int(rows), int(columns)
    return sparse.csr_array((values, indices, indptr), shape=shape)


class OfMatrix(Op):
    """The base of operations on the arrays of a matrix."""

    __props__: ClassVar[tuple[str, ...]] = ()
    n_integers: ClassVar[int] = 2
    is_canonical: ClassVar[bool] = False
    """True if the result's indices are in order, and none is twice in a row."""
    keeps_canonical: ClassVar[bool] = False
    """True if it is so for a matrix of which it is so."""

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The last inputs: integers."""
        count = len(node.inputs)
        return range(count - self.n_integers, count)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Connect inputs of floats with the first output."""
        rest = [False] * (len(node.outputs) - 1)
        return [[v.type.dtype not in (INDEX, "int64"), *rest] for v in node.inputs]


class SameLength(OfIntegers):
    """An array; running fails, with a text, unless two lengths are equal."""

    __props__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def reference(self, x: Any, found: Any, expected: Any) -> Any:
        """The array. Raises ValueError."""
        if int(found) != int(expected):
            text = f"{self.text} {int(found)}, expected {int(expected)}"
            raise GraphValueError(text)
        return x


def same_length(
    x: Variable, found: Variable, expected: Variable, text: str
) -> Variable:
    """Return an array that fails with a text, and both lengths, where they differ."""
    if found is expected:
        return x
    checked: Variable = SameLength(text)(x, found, expected)
    return checked


def vector_like(kind: Any) -> TensorType:
    """Return the type of a vector of another's dtype."""
    return TensorType(kind.dtype, (False,))


class ToDense(OfMatrix):
    """The matrix as an array; duplicates are summed."""

    def infer(self, data: Any, *rest: Any) -> TensorType:
        """A matrix of the values' dtype."""
        return TensorType(data.dtype, (False, False))

    def reference(self, data: Any, *rest: Any) -> Any:
        """The array by scipy."""
        return host_matrix(data, *rest).toarray().astype(data.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient's elements at the places of the values."""
        _, *pattern = inputs
        (g,) = output_gradients
        assert g is not None
        return [sample(pattern, g), *(None for _ in pattern)]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The numbers of rows and columns."""
        return [tuple(node.inputs[-2:])]


class SumAxis(OfMatrix):
    """Sums over the rows (axis 0) or the columns (axis 1)."""

    __props__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def infer(self, data: Any, *rest: Any) -> TensorType:
        """A vector of the values' dtype."""
        return vector_like(data)

    def reference(self, data: Any, *rest: Any) -> Any:
        """The sums by scipy."""
        dense = host_matrix(data, *rest).toarray()
        return dense.sum(self.axis).astype(data.dtype)

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradient of each value's row or column."""
        _, *pattern = inputs
        (g,) = output_gradients
        assert g is not None
        order = ("x", 0) if self.axis == 0 else (0, "x")
        return [sample(pattern, dimshuffle(g, *order)), *(None for _ in pattern)]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The number of columns or rows."""
        return [(node.inputs[-1 if self.axis == 0 else -2],)]


class Sample(OfMatrix):
    """The elements of a dense matrix at the places of values, as a vector."""

    def infer(self, indices: Any, indptr: Any, dense: Any, *rest: Any) -> TensorType:
        """A vector of the matrix's dtype."""
        return vector_like(dense)

    def reference(
        self, indices: Any, indptr: Any, dense: Any, rows: Any, columns: Any
    ) -> Any:
        """The elements by NumPy."""
        at = np.repeat(np.arange(int(rows)), np.diff(indptr))
        return np.broadcast_to(dense, (int(rows), int(columns)))[at, indices]

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the matrix of the gradients; its sums where the operand broadcasts."""
        indices, indptr, dense, *lengths = inputs
        (g,) = output_gradients
        assert g is not None
        arrays = g, indices, indptr, *lengths
        flags = dense.type.broadcastable
        if flags == (True, True):
            back = dimshuffle(reduce.sum(g), "x", "x")
        elif flags == (True, False):
            back = dimshuffle(SumAxis(0)(*arrays), "x", 0)
        elif flags == (False, True):
            back = dimshuffle(SumAxis(1)(*arrays), 0, "x")
        else:
            back = ToDense()(*arrays)
        return [None, None, back, *(None for _ in lengths)]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The number of values."""
        return [tuple(input_shapes[0])]


def sample(pattern: Sequence[Variable], dense: Variable) -> Variable:
    """Return a dense matrix's elements at places: indices, indptr and lengths."""
    indices, indptr, rows, columns = pattern
    elements: Variable = Sample()(indices, indptr, dense, rows, columns)
    return elements


class RowIndices(OfMatrix):
    """The row of each value."""

    def infer(self, indices: Any, *rest: Any) -> TensorType:
        """A vector of the dtype of indices."""
        return vector_like(indices)

    def reference(self, indices: Any, indptr: Any, *lengths: Any) -> Any:
        """The rows by NumPy."""
        counts = np.diff(indptr)
        return np.repeat(np.arange(counts.size, dtype=indices.dtype), counts)

    def grad(self, m: Any, g: Variable, y: Variable, *inputs: Variable) -> list[None]:
        """Return None: indices are integers."""
        return [None] * len(inputs)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The number of values."""
        return [tuple(input_shapes[0])]


class MadeMatrix(OfMatrix):
    """The base of operations whose results are values, indices and indptr."""

    def infer(self, data: Any, *rest: Any) -> list[TensorType]:
        """Values, indices and indptr."""
        return [vector_like(data), VECTOR, VECTOR]


class Rearranged(MadeMatrix):
    """The base of operations that put all values in another order."""

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradients in the former order."""
        data, *pattern = inputs
        g, *_ = output_gradients
        if g is None:
            return [None for _ in inputs]
        numbers = math.cast(arange(shape_i(data, 0)), INDEX)
        order, *_ = self(numbers, *pattern)
        zeros = math.zeros_like(data, g.type.dtype)
        back = set_subtensor(index(zeros, order), g)
        return [back, *(None for _ in pattern)]


class TransposedStorage(Rearranged):
    """The same matrix by its columns: values, indices of rows, and indptr."""

    keeps_canonical = True

    def reference(self, data: Any, *rest: Any) -> Any:
        """The conversion by scipy, of the values' numbers."""
        numbers = np.arange(len(data))
        turned = host_matrix(numbers, *rest).tocsc()
        kinds = (turned.indices.astype(INDEX), turned.indptr.astype(INDEX))
        return data[turned.data], *kinds

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """As many values, and one more than columns."""
        count = tuple(input_shapes[0])
        return [count, count, (node.inputs[-1] + 1,)]


class SortedRows(Rearranged):
    """The matrix with the indices of each row in order."""

    def reference(self, data: Any, *rest: Any) -> Any:
        """The values by row and column, in a stable order."""
        indices, indptr, *_ = rest
        at = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        order = np.lexsort((indices, at))
        return data[order], indices[order], np.array(indptr)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """As many values."""
        count = tuple(input_shapes[0])
        return [count, count, tuple(input_shapes[2])]


# ---- counts, and what they make ----


def last(counts: Variable) -> Variable:
    """Return the number of values that counts end with, an int64."""
    return math.cast(index(counts, -1), "int64")


class Counts(OfMatrix):
    """The base of counts of values, which have no gradient."""

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return None: counts are integers."""
        return [None for _ in inputs]


class Filled(MadeMatrix):
    """The base of matrices whose number of values is the last input."""

    n_integers = 3
    starts_like: ClassVar[int] = 2
    """The input that is as long as the result's indptr."""

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The number of values: the last input."""
        count = (node.inputs[-1],)
        return [count, count, tuple(input_shapes[self.starts_like])]


class DistinctCounts(Counts):
    """For each value of a sorted matrix the number of places before it; their total."""

    def infer(self, data: Any, *rest: Any) -> TensorType:
        """A vector of the dtype of indices."""
        return VECTOR

    def reference(self, data: Any, indices: Any, indptr: Any, *rest: Any) -> Any:
        """The counts by NumPy."""
        at = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        is_new = np.ones(len(indices), bool)
        is_new[1:] = (np.diff(at) != 0) | (np.diff(indices) != 0)
        return np.concatenate([[0], np.cumsum(is_new)]).astype(INDEX)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """One more than values."""
        return [(input_shapes[0][0] + 1,)]


class SummedDuplicates(Filled):
    """A sorted matrix with one value at each place: values, indices and indptr."""

    is_canonical = True

    def reference(
        self, data: Any, indices: Any, indptr: Any, counts: Any, *lengths: Any
    ) -> Any:
        """The sums by scipy."""
        rows, columns, _ = lengths
        made = host_matrix(data, np.array(indices), np.array(indptr), rows, columns)
        made = made.copy()
        made.sum_duplicates()
        kinds = made.indices.astype(INDEX), made.indptr.astype(INDEX)
        return made.data.astype(data.dtype), *kinds

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return for each value the gradient of its sum."""
        counts = inputs[3]
        g, *_ = output_gradients
        place = index(counts, slice(1, None)) - 1
        first = None if g is None else index(g, place)
        return [first, *(None for _ in inputs[1:])]


class TakenCounts(Counts):
    """Row pointers of some rows among the values taken, and their total."""

    def infer(self, data: Any, *rest: Any) -> TensorType:
        """A vector of int64."""
        return TensorType("int64", (False,))

    def reference(
        self, data: Any, indices: Any, indptr: Any, chosen: Any, *lengths: Any
    ) -> Any:
        """The counts by NumPy."""
        counts = np.diff(indptr)[chosen]
        return np.concatenate([[0], np.cumsum(counts)]).astype("int64")

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The length of the row pointers: one more than rows taken."""
        return [(input_shapes[3][0] + 1,)]


class TakenRows(Filled):
    """Some rows of a matrix: values, indices and indptr."""

    starts_like = 4
    keeps_canonical = True

    def reference(
        self,
        data: Any,
        indices: Any,
        indptr: Any,
        chosen: Any,
        counts: Any,
        *lengths: Any,
    ) -> Any:
        """The rows by scipy, of the values' numbers."""
        rows, columns, _ = lengths
        numbers = np.arange(len(data))
        made = host_matrix(numbers, indices, indptr, rows, columns)[np.asarray(chosen)]
        kinds = made.indices.astype(INDEX), made.indptr.astype(INDEX)
        return data[made.data], *kinds

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the gradients added at the places that were taken."""
        data, indices, *rest = inputs
        g, *_ = output_gradients
        if g is None:
            return [None for _ in inputs]
        numbers = math.cast(arange(shape_i(data, 0)), INDEX)
        taken, *_ = self(numbers, indices, *rest)
        return [scattered(g, taken, data), *(None for _ in inputs[1:])]


def scattered(g: Variable, places: Variable, shaped: Variable) -> Variable:
    """Return zeros of a vector's length with gradients added at places."""
    zeros = math.zeros_like(shaped, g.type.dtype)
    added: Variable = inc_subtensor(index(zeros, places), g)
    return added
