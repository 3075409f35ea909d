"""Sparse matrices: routines of the library on their arrays."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.registry import Lowerer, array_value, lowers
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.sparse import products, spgemm, steps

CSR, CSC, COO = range(3)
"""The formats of <gpuarray/sparse.h>; the compiler's matrices are by rows."""
ONE, ZERO = struct.unpack("<2q", struct.pack("<2d", 1.0, 0.0))
FACTORS = ONE, ZERO, ONE, ZERO
"""The numbers of a sum's factors: real and imaginary part of each."""

Params = Callable[[Any], tuple[int, ...]]

ROUTINES: dict[type[steps.OfMatrix], tuple[str, Params]] = {
    products.Matches: ("sparse_match", lambda op: (CSR,)),
    products.Merged: (
        "sparse_merge",
        lambda op: (CSR, int(op.is_product), *FACTORS),
    ),
    spgemm.ProductCounts: ("sparse_spgemm_count", lambda op: (CSR,)),
    spgemm.SparseProduct: ("sparse_spgemm", lambda op: (CSR,)),
    products.Sampled: ("sparse_sampled", lambda op: (CSR,)),
    steps.DistinctCounts: ("sparse_unique_count", lambda op: (CSR,)),
    steps.Sample: ("sparse_sample", lambda op: (CSR,)),
    steps.SortedRows: ("sparse_sort", lambda op: (CSR,)),
    steps.SumAxis: ("sparse_sum", lambda op: (CSR, op.axis)),
    steps.SummedDuplicates: ("sparse_unique", lambda op: (CSR,)),
    steps.TakenCounts: ("sparse_take_count", lambda op: (CSR, 0)),
    steps.TakenRows: ("sparse_take", lambda op: (CSR, 0)),
    steps.ToDense: ("sparse_dense", lambda op: (CSR,)),
    steps.TransposedStorage: ("sparse_convert", lambda op: (CSR, CSC)),
}
"""The routine of each operation, and its parameters."""


def operands(node: Apply, k: Lowerer) -> tuple[int, ...]:
    """Return the values of a node's arrays, and of its integers behind them.

    Vectors are in C order: a fill may be one element that is repeated.
    """
    numbers = []
    for variable in node.inputs:
        if not isinstance(variable.type, GpuArrayType):
            numbers.append(k.integer(variable))
        elif variable.type.ndim == 1:
            numbers.append(contiguous(variable, node, k))
        else:
            numbers.append(k.number(variable))
    return tuple(numbers)


def contiguous(variable: Variable, node: Apply, k: Lowerer) -> int:
    """Return a vector in C order: itself if it is."""
    out, name = k.new_value(array_value(variable)), "contiguous"
    ins = (k.number(variable),)
    k.add(plan.Routine(name, k.origin(node), (out,), ins, name))
    return out


@lowers(*ROUTINES)
def lower_routine(op: steps.OfMatrix, node: Apply, k: Lowerer) -> None:
    """Lower to one routine."""
    cls = next(cls for cls in type(op).__mro__ if cls in ROUTINES)
    name, params_of = ROUTINES[cls]
    ins, outs = operands(node, k), k.outputs(node)
    k.add(plan.Routine(name, k.origin(node), outs, ins, name, params_of(op)))


@lowers(products.SparseMatmul)
def lower_product(op: products.SparseMatmul, node: Apply, k: Lowerer) -> None:
    """Lower to a product; of the transposed matrix, the arrays are of one by columns.

    That has as many rows as the matrix has columns.
    """
    *arrays, rows, columns = operands(node, k)
    format, lengths = (
        (CSC, (columns, rows)) if op.transposed else (CSR, (rows, columns))
    )
    ins, params = (*arrays, *lengths), (format, 0)
    name = "sparse_product"
    k.add(plan.Routine(name, k.origin(node), k.outputs(node), ins, name, params))


@lowers(steps.SameLength)
def lower_same_length(op: steps.SameLength, node: Apply, k: Lowerer) -> None:
    """Lower to a routine that fails."""
    ins, name = operands(node, k), "length"
    step = plan.Routine("sparse", k.origin(node), k.outputs(node), ins, name)
    k.add(replace(step, texts=(op.text,)))


@lowers(steps.RowIndices)
def lower_rows(op: steps.RowIndices, node: Apply, k: Lowerer) -> None:
    """Lower to a conversion to COO, of indices in place of values."""
    indices, indptr, *lengths = operands(node, k)
    kind = plan.ArrayValue(node.outputs[0].type.dtype, (False,))
    rest = k.new_value(kind), k.new_value(kind)
    outs = *rest, *k.outputs(node)
    name = "sparse_convert"
    ins = indices, indices, indptr, *lengths
    k.add(plan.Routine(name, k.origin(node), outs, ins, name, (CSR, COO)))
