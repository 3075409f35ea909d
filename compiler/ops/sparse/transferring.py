"""Sparse matrices on contexts: their arrays, transferred."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.sparse.matrix import (
    MatrixParts,
    SparseOp,
    as_sparse_variable,
    parts,
)
from gpuarray.compiler.ops.variables import transfer as of_arrays


class Transferred(SparseOp):
    """The matrix on a context, or on the host."""

    __props__ = ("target",)

    def __init__(self, target: str | None) -> None:
        self.target = target

    def graph(self, *inputs: Variable) -> Variable:
        """Return the matrix of transferred arrays."""
        own = parts(inputs[0])
        data, indices, indptr = (
            of_arrays.host_from_gpu(of_arrays.transfer(a, self.target))
            for a in own.storage
        )
        return MatrixParts(own.format, data, indices, indptr, *own.lengths).matrix


def transfer(x: Any, target: str | None) -> Variable:
    """Return the matrix computed on a context, by its name."""
    result: Variable = Transferred(target)(as_sparse_variable(x))
    return result
