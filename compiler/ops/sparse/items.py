"""Rows, columns and elements of sparse matrices, and matrices joined."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, ClassVar

from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import dtype_name, promoted
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.index.picking import flatnonzero
from gpuarray.compiler.ops.shape.shape import dimshuffle, reshape, shape_i
from gpuarray.compiler.ops.sorting.extra_ops import searchsorted
from gpuarray.compiler.ops.sorting.sorting import argsort
from gpuarray.compiler.ops.sparse.elementwise import in_dtype
from gpuarray.compiler.ops.sparse.matrix import (
    MatrixParts,
    SparseOp,
    as_either,
    as_sparse_variable,
    by_rows,
    integer,
    is_sparse,
    lines_of,
    number,
    parts,
)
from gpuarray.compiler.ops.sparse.steps import SumAxis, TakenCounts, TakenRows, last
from gpuarray.compiler.ops.sparse.structure import (
    as_format,
    as_index,
    row_indices,
    stored,
)
from gpuarray.compiler.ops.sparse.types import check_format
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


def taken(own: MatrixParts, chosen: Variable) -> MatrixParts:
    """Return some rows of a matrix by rows: the call waits for the number of values."""
    counts = TakenCounts()(*own.storage, chosen, *own.lengths)
    made: Any = TakenRows()(*own.storage, chosen, counts, *own.lengths, last(counts))
    return lines_of(made, shape_i(chosen, 0), own.columns)


class TakenLines(SparseOp):
    """Rows (axis 0) or columns (axis 1) of a matrix by a vector of integers."""

    __props__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def graph(self, *inputs: Variable) -> Variable:
        """Return the lines, of the other axis by way of transposed storage."""
        x, chosen = inputs
        own = parts(x)
        is_along = self.axis == (0 if own.format == "csr" else 1)
        lines = own if is_along else stored(own)
        made = taken(lines if lines.format == "csr" else lines.turned, chosen)
        found = made if lines.format == "csr" else made.turned
        return (found if is_along else stored(found)).matrix


class GetItem2Lists(SparseOp):
    """The elements at pairs of rows and columns, a vector."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the sums of the values at each pair."""
        x, rows, columns = inputs
        own, is_turned = by_rows(x)
        line, other = (columns, rows) if is_turned else (rows, columns)
        some = taken(own, line)
        width = number(some.columns)
        places = math.switch(other < 0, other + width, other)
        wanted = index(places, row_indices(some))
        is_at = math.FUNCTIONS["eq"](math.cast(some.indices, wanted.type.dtype), wanted)
        data = some.data * math.cast(is_at, some.data.type.dtype)
        result: Variable = SumAxis(1)(data, *some.pattern)
        return result


def _positions(key: slice, length: Variable) -> Variable | None:
    """Return the integers of a slice, as a vector; None for all of an axis."""
    if key == slice(None):
        return None
    return index(arange(length), key)


def getitem(x: Any, key: Any) -> Variable:
    """Return rows, columns or elements: by integers, slices, vectors, masks.

    An integer for one axis alone keeps it, as a matrix of one row or column; two
    integers give a scalar, two vectors the elements at their pairs, a vector.
    """
    matrix = as_sparse_variable(x)
    entries = [_entry(entry) for entry in _for_both_axes(key)]
    kinds = [
        "slice" if isinstance(entry, slice) else entry.type.ndim for entry in entries
    ]
    if kinds == [0, 0]:
        pair = [reshape(entry, [1]) for entry in entries]
        found: Variable = GetItem2Lists()(matrix, *pair)
        return index(found, 0)
    if kinds == [1, 1]:
        result: Variable = GetItem2Lists()(matrix, *entries)
        return result
    for axis, entry in enumerate(entries):
        if isinstance(entry, slice):
            length = parts(matrix).rows if axis == 0 else parts(matrix).columns
            chosen = _positions(entry, length)
        else:
            chosen = reshape(entry, [1]) if entry.type.ndim == 0 else entry
        if chosen is not None:
            matrix = TakenLines(axis)(matrix, chosen)
    return matrix


def _for_both_axes(key: Any) -> list[Any]:
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, entry in enumerate(keys) if isinstance(entry, EllipsisType)]
    missing = 2 - len(keys) + len(dots)
    if missing < 0 or len(dots) > 1:
        raise GraphValueError(f"x[...]: {len(keys)} indices of a matrix of 2 axes")
    at = dots[0] if dots else len(keys)
    return [*keys[:at], *[slice(None)] * missing, *keys[at + 1 :]]


def _entry(entry: Any) -> Any:
    if isinstance(entry, slice):
        return entry
    if entry is None:
        raise GraphTypeError(
            "x[...]: None makes a new axis, and a sparse matrix has two; make it dense "
            "with sparse.dense_from_sparse(x)"
        )
    variable = as_tensor_variable(entry)
    if variable.type.ndim == 1 and variable.type.dtype == "bool":
        return flatnonzero(variable)
    if variable.type.ndim > 1 or not variable.type.dtype.startswith(("int", "uint")):
        raise GraphTypeError(
            f"x[...]: given {variable} of {variable.type}, expected an integer, a "
            "slice or a vector of integers or bools"
        )
    return variable


# ---- joined ----


class VStack(SparseOp):
    """Matrices one below the other, in a format and dtype."""

    __props__ = ("format", "dtype")

    def __init__(self, format: str = "csr", dtype: Any = None) -> None:
        self.format = check_format(format)
        self.dtype = None if dtype is None else dtype_name(dtype)

    def graph(self, *inputs: Variable) -> Variable:
        """Return the rows of all, in the format."""
        dtype = self.dtype or _common(inputs)
        blocks = [parts(as_format(in_dtype(x, dtype), "csr")) for x in inputs]
        return as_format(stacked(blocks).matrix, self.format)


class HStack(VStack):
    """Matrices side by side, in a format and dtype."""

    def graph(self, *inputs: Variable) -> Variable:
        """Return the columns of all, in the format."""
        dtype = self.dtype or _common(inputs)
        blocks = [parts(as_format(in_dtype(x, dtype), "csc")).turned for x in inputs]
        return as_format(stacked(blocks).turned.matrix, self.format)


def _common(inputs: Sequence[Variable]) -> str:
    return promoted(*(x.type.dtype for x in inputs))


def stacked(blocks: Sequence[MatrixParts]) -> MatrixParts:
    """Return matrices by rows one below the other."""
    rows, count = integer(0), integer(0)
    starts: list[Variable] = []
    for block in blocks:
        own = block.indptr if not starts else index(block.indptr, slice(1, None))
        starts.append(as_index(math.cast(own, "int64") + count))
        rows = rows + block.rows
        count = count + shape_i(block.data, 0)
    data = join(0, *(block.data for block in blocks))
    indices = join(0, *(block.indices for block in blocks))
    return MatrixParts("csr", data, indices, join(0, *starts), rows, blocks[0].columns)


def _blocks(name: str, blocks: Any, format: str | None, dtype: Any) -> Any:
    if not isinstance(blocks, list | tuple):
        raise GraphTypeError(f"{name}: given {blocks}, expected a list of matrices")
    listed = [as_sparse_variable(block) for block in blocks]
    if not listed:
        raise GraphValueError(f"{name}: given no matrix")
    return listed, format or "csc", dtype


def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Variable:
    """Return matrices side by side, by default in CSC."""
    listed, *options = _blocks("hstack", blocks, format, dtype)
    result: Variable = HStack(*options)(*listed)
    return result


def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> Variable:
    """Return matrices one below the other, by default in CSC."""
    listed, *options = _blocks("vstack", blocks, format, dtype)
    result: Variable = VStack(*options)(*listed)
    return result


class ConstructSparseFromList(SparseOp):
    """A matrix of the shape of ``x`` whose rows are those of a dense one, at places."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def graph(self, *inputs: Variable) -> Variable:
        """Return the rows in order, in CSR; rows at one place count together."""
        x, values, places = inputs
        is_list = places.type.dtype.startswith(("int", "uint"))
        if (values.type.ndim, places.type.ndim) != (2, 1) or not is_list:
            raise GraphTypeError(
                f"construct_sparse_from_list: given values {values} of {values.type} "
                f"and rows {places} of {places.type}, expected a matrix and a vector "
                "of integers"
            )
        own = as_either(x)
        rows = parts(own).rows if is_sparse(own) else shape_i(own, 0)
        order = argsort(places)
        width = shape_i(values, 1)
        data = reshape(index(values, order), [-1])
        zeros = math.zeros_like(places, "int64")
        columns = dimshuffle(zeros, 0, "x") + dimshuffle(arange(width), "x", 0)
        starts = searchsorted(index(places, order), arange(rows + 1))
        indptr = as_index(math.cast(starts, "int64") * width)
        indices = as_index(reshape(columns, [-1]))
        return MatrixParts("csr", data, indices, indptr, rows, width).matrix


construct_sparse_from_list = ConstructSparseFromList()
