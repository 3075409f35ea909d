"""Products of chosen blocks of a matrix and vectors: gathers and batched products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpuarray.compiler.errors import GraphArgumentError
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.creation.creation import counted
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import inc_subtensor
from gpuarray.compiler.ops.linalg.products import batched_dot
from gpuarray.compiler.ops.shape.shape import dimshuffle, reshape, shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


@dataclass(frozen=True)
class SparseBlockGemv:
    """Products of vectors and the blocks of a matrix that are chosen for each.

    ``inplace`` is accepted as in Theano; the rewrites decide what is overwritten.
    """

    inplace: bool = False

    def __call__(
        self, o: Any, W: Any, h: Any, inputIdx: Any, outputIdx: Any
    ) -> Variable:
        """Return ``o[b, j] + sum of h[b, i] @ W[inputIdx[b, i], outputIdx[b, j]]``.

        ``o`` is (batch, blocks out, size out), ``W`` (all blocks in, all blocks out,
        size in, size out), ``h`` (batch, blocks in, size in); the indices are (batch,
        blocks in) and (batch, blocks out).
        """
        name = "SparseBlockGemv"
        out, blocks, vectors = (
            _of_axes(name, *each) for each in (("o", o, 3), ("W", W, 4), ("h", h, 3))
        )
        ins = _of_axes(name, "inputIdx", inputIdx, 2, "iu")
        outs = _of_axes(name, "outputIdx", outputIdx, 2, "iu")
        rows = counted(shape_i(blocks, 2))
        # All three index the first axes: so the result has the order of a product.
        chosen = blocks[
            dimshuffle(ins, 0, 1, "x", "x"),
            dimshuffle(outs, 0, "x", "x", 1),
            dimshuffle(rows, "x", "x", 0, "x"),
        ]
        batch = shape_i(vectors, 0)
        inner = shape_i(ins, 1) * shape_i(blocks, 2)
        outer = shape_i(outs, 1) * shape_i(blocks, 3)
        left = reshape(vectors, (batch, 1, inner), ndim=3)
        right = reshape(chosen, (batch, inner, outer), ndim=3)
        product = reshape(batched_dot(left, right), out.shape, ndim=3)
        return math.cast(out + product, out.type.dtype)


@dataclass(frozen=True)
class SparseBlockOuter:
    """Outer products of vectors, added to chosen blocks of a matrix."""

    inplace: bool = False

    def __call__(
        self, o: Any, x: Any, y: Any, xIdx: Any, yIdx: Any, alpha: Any = None
    ) -> Variable:
        """Return ``o``, with ``o[xIdx[b, i], yIdx[b, j]] += outer(x[b, i], y[b, j])``.

        ``o`` is (all blocks of x, all of y, size of x, size of y), ``x`` and ``y``
        (batch, blocks, size) and the indices (batch, blocks). ``alpha`` is a factor.
        """
        name = "SparseBlockOuter"
        matrix, left, right = (
            _of_axes(name, *each) for each in (("o", o, 4), ("x", x, 3), ("y", y, 3))
        )
        rows = _of_axes(name, "xIdx", xIdx, 2, "iu")
        columns = _of_axes(name, "yIdx", yIdx, 2, "iu")
        outer = dimshuffle(left, 0, 1, "x", 2, "x") * dimshuffle(
            right, 0, "x", 1, "x", 2
        )
        if alpha is not None:
            outer = outer * alpha
        chosen = matrix[dimshuffle(rows, 0, 1, "x"), dimshuffle(columns, 0, "x", 1)]
        return inc_subtensor(chosen, math.cast(outer, matrix.type.dtype))


sparse_block_gemv = SparseBlockGemv(False)
sparse_block_gemv_inplace = SparseBlockGemv(True)
sparse_block_outer = SparseBlockOuter(False)
sparse_block_outer_inplace = SparseBlockOuter(True)


def sparse_block_dot(W: Any, h: Any, inputIdx: Any, b: Any, outputIdx: Any) -> Variable:
    """Return the products of vectors and chosen blocks of ``W``, plus biases.

    The result is ``b[outputIdx[n, j]] + sum of h[n, i] @ W[inputIdx[n, i],
    outputIdx[n, j]]``, see `SparseBlockGemv`; ``b`` is (all blocks out, size out).
    Without the axis of the batch in ``h`` and the indices it is a batch of one.
    """
    vectors, ins, outs = map(as_tensor_variable, (h, inputIdx, outputIdx))
    if vectors.type.ndim == 2:
        vectors = dimshuffle(vectors, "x", 0, 1)
        ins, outs = (
            dimshuffle(each, "x", 0) if each.type.ndim == 1 else each
            for each in (ins, outs)
        )
    bias = _of_axes("sparse_block_dot", "b", b, 2)
    places = _of_axes("sparse_block_dot", "outputIdx", outs, 2, "iu")
    return sparse_block_gemv(bias[places], W, vectors, ins, places)


def _of_axes(op: str, name: str, value: Any, ndim: int, kinds: str = "") -> Variable:
    """Return an array. Raises GraphArgumentError for another rank or kind."""
    variable = as_tensor_variable(value)
    is_kind = not kinds or variable.type.dtype[0] in kinds
    if variable.type.ndim != ndim or not is_kind:
        what = "integers of " if kinds else ""
        raise GraphArgumentError(
            f"{op}: given {name} {variable} of {variable.type}, expected {what}{ndim} "
            "axes"
        )
    return variable
