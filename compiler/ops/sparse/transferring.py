"""Sparse matrices on contexts: their arrays, transferred, and their other length."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.creation.creation import alloc
from gpuarray.compiler.ops.shape.shape import Shape_i
from gpuarray.compiler.ops.sparse.matrix import (
    CSMProperties,
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


class Extent(SparseOp):
    """An array as long as a number says: a length that is known without waiting.

    Of the length of a shared matrix's own such array it is that array.
    """

    __props__: ClassVar[tuple[str, ...]] = ()

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node over a length: what that is of is not asked yet."""
        return Apply(self, list(inputs), [TensorType("int8", (False,))()])

    def graph(self, *inputs: Variable) -> Variable:
        """Return the array, when all matrices are made of arrays."""
        (length,) = inputs
        owner = length.owner
        if owner is not None and isinstance(owner.op, CSMProperties):
            later: Variable = Extent()(length)
            return later
        if owner is not None and isinstance(owner.op, Shape_i):
            (measured,) = owner.inputs
            if getattr(measured.tag, "is_extent", False):
                return measured
        return alloc(np.zeros((), "int8"), length)
