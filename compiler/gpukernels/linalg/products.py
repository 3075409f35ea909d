"""Matrix products: library steps, and step functions for other dtypes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from gpuarray import blas
from gpuarray._kernels.codegen import convert, scalar_expression, self_contained
from gpuarray._products import matmul
from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowered_by_call, lowers
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.fused.row_steps import Fold
from gpuarray.compiler.ops.linalg.linalg import Dot, Gemm, Gemv
from gpuarray.compiler.ops.linalg.products import BatchedDot, BatchedGemm, Ger
from gpuarray.dtypes import work_dtype
from gpuarray.scalars import SCALARS

DTYPES = ("float32", "float64")
"""The dtypes of library steps in plans; others are multiplied by a step function."""


def is_library(node: Apply) -> bool:
    """True if the plan has a step of its own for the dtype."""
    return node.outputs[0].type.dtype in DTYPES


@step_function("matmul")
def multiply(a: Array, b: Array) -> Array:
    """Return the matrix product, of stacks too."""
    product: Array = matmul.matmul(a, b)
    return product


BLAS = frozenset(
    ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
)
"""The dtypes of the library's products; others are folded."""
KINDS = "dot", "gemv", "gemm", "gemmBatch_3d"
"""The products of the library, in the order of its kinds."""


def bits(factor: Any) -> tuple[int, int]:
    """Return the real and imaginary part of a factor as integers of the same bits."""
    value = complex(factor)
    return struct.unpack("<2q", struct.pack("<2d", value.real, value.imag))


def product(
    s: Steps,
    kind: str,
    a: int,
    b: int,
    c: int,
    transposed: Sequence[bool] = (False, False),
    alpha: Any = 1.0,
    beta: Any = 0.0,
) -> int:
    """Add a routine that sets ``c`` to ``alpha * op(a) @ op(b) + beta * c``."""
    params = KINDS.index(kind), *map(int, transposed), *bits(alpha), *bits(beta)
    return s.routines("product", [a, b, c], [s.array(c)], *params)


@body_of("matmul")
def multiply_steps(s: Steps, a: int, b: int) -> int:
    """Add a product of the library, of stacks as one batch; else a reduction."""
    dtype = s.outputs[0].dtype if isinstance(s.outputs[0], plan.ArrayValue) else ""
    if dtype not in BLAS:
        return folded(s, a, b, dtype)
    a, b = s.cast(a, dtype), s.cast(b, dtype)
    ranks = s.array(a).ndim, s.array(b).ndim
    lengths = [s.length(a, 0)] if ranks == (2, 1) else []
    if ranks == (1, 1):
        return product(s, "dot", a, b, s.routine("empty", [], dtype, 0))
    if ranks == (1, 2):
        out = s.routine("empty", [s.length(b, 1)], dtype, 1)
        return product(s, "gemv", b, a, out, (True, False))
    if ranks == (2, 1):
        return product(s, "gemv", a, b, s.routine("empty", lengths, dtype, 1))
    if ranks == (2, 2):
        lengths = [s.length(a, 0), s.length(b, 1)]
        return product(s, "gemm", a, b, s.routine("empty", lengths, dtype, 2))
    if ranks[0] == 1:
        products = stacks(s, s.view(a, (-1, 0)), b, dtype)
        return s.index(products, [*[()] * (ranks[1] - 2), None], [s.integer(0)])
    if ranks[1] == 1:
        products = stacks(s, a, s.view(b, (0, -1)), dtype)
        return s.index(products, [*[()] * (ranks[0] - 1), None], [s.integer(0)])
    return stacks(s, a, b, dtype)


def stacks(s: Steps, a: int, b: int, dtype: str) -> int:
    """Add the batched products of stacks whose leading axes broadcast."""
    ndim = max(s.array(a).ndim, s.array(b).ndim) - 2
    one = s.integer(1)
    batch = [one] * ndim
    for operand in (a, b):
        skipped = ndim + 2 - s.array(operand).ndim
        for axis in range(ndim - skipped):
            at = skipped + axis
            batch[at] = s.wider(batch[at], s.length(operand, axis), one)
    count = one
    for length in batch:
        count = s.arithmetic("mul", count, length)
    wide = []
    for operand in (a, b):
        last = s.array(operand).ndim
        sides = [s.length(operand, last - 2), s.length(operand, last - 1)]
        wide.append(s.reshape(s.broadcast(operand, [*batch, *sides]), [count, *sides]))
    left, right = wide
    rows, columns = s.length(left, 1), s.length(right, 2)
    out = s.routine("empty", [count, rows, columns], dtype, 3)
    products = product(s, "gemmBatch_3d", left, right, out)
    return s.reshape(products, [*batch, rows, columns])


def folded(s: Steps, a: int, b: int, dtype: str) -> int:
    """Add a reduction of products, rows of one with columns of the other."""
    left, right = s.array(a), s.array(b)
    leading, last = range(left.ndim - 1), left.ndim - 1
    fits = s.arithmetic("eq", s.length(a, last), s.length(b, max(right.ndim - 2, 0)))
    s.require(a, [fits], "matmul: shapes that do not fit")
    if right.ndim > 1:
        axes = [*range(right.ndim - 2), right.ndim - 1, right.ndim - 2]
        if left.ndim > 1:
            a = s.view(a, (*leading, -1, last))
            axes = [*axes[:-2], -1, *axes[-2:]]
        b = s.view(b, axes)
    work = work_dtype(np.dtype(dtype))
    pairs = [("x", np.dtype(left.dtype)), ("y", np.dtype(right.dtype))]
    converted = [
        (convert(name, operand_dtype, work), work) for name, operand_dtype in pairs
    ]
    text = scalar_expression(SCALARS["mul"], converted).text
    monoid = "logical_or" if dtype == "bool" else "add"
    fold = Fold(monoid, 0, dtype, str(work), of_none=True)
    axis = max(s.array(a).ndim, s.array(b).ndim) - 1
    return s.reduction([fold], [(text, str(work))], ["x", "y"], [a, b], (axis,))


lowered_by_call(BatchedDot, "matmul")


@lowers(Dot)
def dot(op: Dot, node: Apply, k: Lowerer) -> None:
    """Lower to library calls; a product of vectors is a reduction."""
    if not is_library(node):
        k.call(node, "matmul", node.inputs)
        return
    a, b = node.inputs
    if a.type.ndim == b.type.ndim == 1:
        inner_product(node, k)
        return
    is_left = a.type.ndim == 1  # x . A is the product of A.T and x
    ins = k.inputs([b, a] if is_left else [a, b])
    k.add(
        plan.Library(
            label="gemm" if a.type.ndim == b.type.ndim else "gemv",
            origin=k.origin(node),
            outs=k.outputs(node),
            ins=ins,
            alpha=1.0,
            beta=0.0,
            transpose_a=is_left,
            transpose_b=False,
            inplace=False,
        )
    )


def inner_product(node: Apply, k: Lowerer) -> None:
    """Lower to the sum of products of two vectors, in one launch."""
    dtype = node.outputs[0].type.dtype
    ins = k.inputs(node.inputs)
    k.add(
        plan.ReduceStep(
            label="inner product",
            origin=k.origin(node),
            outs=k.outputs(node),
            ins=ins,
            prologue="",
            map="x * y",
            preamble=self_contained(""),
            names=("x", "y"),
            in_dtypes=(dtype, dtype),
            combine="a + b",
            identity="0",
            acc_dtype=dtype,
            axes=(0,),
        )
    )


@lowers(Gemv)
def gemv(op: Gemv, node: Apply, k: Lowerer) -> None:
    """Lower beta * y + alpha * op(A) . x."""
    y, matrix, x = node.inputs
    scaled_product("gemv", [matrix, x, y], op, (op.transpose, False), node, k)


@lowers(Gemm)
def gemm(op: Gemm, node: Apply, k: Lowerer) -> None:
    """Lower beta * C + alpha * op(A) . op(B)."""
    c, a, b = node.inputs
    scaled_product("gemm", [a, b, c], op, (op.transpose_a, op.transpose_b), node, k)


def scaled_product(
    routine: Literal["gemv", "gemm"],
    operands: list[Variable],
    op: Gemv | Gemm,
    transposed: tuple[bool, bool],
    node: Apply,
    k: Lowerer,
) -> None:
    """Add a library step; the third operand is read only if beta is not 0."""
    if not is_library(node):
        options = {
            "routine": routine,
            "alpha": op.alpha,
            "beta": op.beta,
            "transposed": transposed,
            "overwrite": op.inplace,
        }
        over = (2,) if op.inplace else ()
        k.call(node, "scaled_product", operands, options, inplace=over)
        return
    ins = k.inputs(operands if op.beta != 0 else operands[:2])
    k.add(
        plan.Library(
            label=routine,
            origin=k.origin(node),
            outs=k.outputs(node),
            ins=ins,
            alpha=op.alpha,
            beta=op.beta,
            transpose_a=transposed[0],
            transpose_b=transposed[1],
            inplace=op.inplace and op.beta != 0,
        )
    )


@step_function("scaled_product")
def scaled(
    a: Array,
    b: Array,
    c: Array,
    *,
    routine: str,
    alpha: float,
    beta: float,
    transposed: tuple[bool, bool],
    overwrite: bool,
) -> Any:
    """Return ``beta * c + alpha * op(a) @ op(b)``, in ``c`` itself if ``overwrite``."""
    out = c if overwrite or beta != 0 else None
    if routine == "gemv":
        return blas.gemv(alpha, a, b, beta, out, transposed[0], overwrite)
    function = blas.gemm if routine == "gemm" else blas.gemmBatch_3d
    return function(alpha, a, b, beta, out, *transposed, overwrite)


@body_of("scaled_product")
def scaled_steps(
    s: Steps,
    a: int,
    b: int,
    c: int,
    *,
    routine: str,
    alpha: float,
    beta: float,
    transposed: tuple[bool, bool],
    overwrite: bool,
) -> int:
    """Add a product into a copy of ``c``, a new array, or ``c`` itself."""
    if overwrite or beta != 0:
        out = c if overwrite else s.copy(c)
    else:
        value = s.array(c)
        lengths = [s.length(c, axis) for axis in range(value.ndim)]
        out = s.routine("empty", lengths, value.dtype, value.ndim)
    return product(s, routine, a, b, out, transposed, alpha, beta)


@lowers(BatchedGemm)
def batched_gemm(op: BatchedGemm, node: Apply, k: Lowerer) -> None:
    """Lower beta * C + alpha * op(A) @ op(B) of stacks to one library call."""
    c, a, b = node.inputs
    options = {
        "routine": "gemmBatch_3d",
        "alpha": op.alpha,
        "beta": op.beta,
        "transposed": (op.transpose_a, op.transpose_b),
        "overwrite": op.inplace,
    }
    over = (2,) if op.inplace else ()
    k.call(node, "scaled_product", [a, b, c], options, inplace=over)


@step_function("ger")
def rank_one(a: Array, x: Array, y: Array, *, alpha: float, overwrite: bool) -> Any:
    """Return ``a + alpha * outer(x, y)``, in ``a`` itself with ``overwrite``."""
    return blas.ger(alpha, x, y, a, overwrite)


@body_of("ger")
def ger_steps(
    s: Steps, a: int, x: int, y: int, *, alpha: float, overwrite: bool
) -> int:
    """Add the ger routine, on a copy unless ``a`` is overwritten."""
    out = a if overwrite else s.copy(a)
    return s.routines("ger", [out, x, y], [s.array(a)], *bits(alpha))


@lowers(Ger)
def ger(op: Ger, node: Apply, k: Lowerer) -> None:
    """Lower A + alpha * outer(x, y)."""
    options = {"alpha": op.alpha, "overwrite": op.inplace}
    k.call(node, "ger", node.inputs, options, inplace=(0,) if op.inplace else ())
