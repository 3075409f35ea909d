"""Matrix products: library steps, and functions for what has none."""

from __future__ import annotations

from typing import Any, Literal

from gpuarray import blas, products
from gpuarray.array import Array
from gpuarray.codegen import self_contained
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.linalg import Dot, Gemm, Gemv
from gpuarray.compiler.ops.products import BatchedDot, BatchedGemm, Ger

DTYPES = ("float32", "float64")
"""What plans have library steps for; other dtypes are multiplied by a function."""


def is_library(node: Apply) -> bool:
    """Whether the plan has a step of its own for the dtype."""
    return node.outputs[0].type.dtype in DTYPES


@step_function("matmul")
def multiply(a: Array, b: Array) -> Array:
    """The matrix product, of stacks too."""
    product: Array = products.matmul(a, b)
    return product


@lowers(BatchedDot)
def batched_dot(op: BatchedDot, node: Apply, k: Lowerer) -> None:
    """One library call, or as many as there are stacks that no stride joins."""
    k.call(node, "matmul", node.inputs)


@lowers(Dot)
def dot(op: Dot, node: Apply, k: Lowerer) -> None:
    """A product of vectors is a reduction; the others are library calls."""
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
    """The sum of products of two vectors, in one launch."""
    dtype = node.outputs[0].type.dtype
    ins = k.inputs(node.inputs)
    k.add(
        plan.Reduce(
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
    """beta * y + alpha * op(A) . x."""
    y, matrix, x = node.inputs
    scaled_product("gemv", [matrix, x, y], op, (op.transpose, False), node, k)


@lowers(Gemm)
def gemm(op: Gemm, node: Apply, k: Lowerer) -> None:
    """beta * C + alpha * op(A) . op(B)."""
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
    """A library step; the third operand is read only if beta is not 0."""
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
    """``beta * c + alpha * op(a) @ op(b)``, into ``c`` itself with ``overwrite``."""
    out = c if overwrite or beta != 0 else None
    if routine == "gemv":
        return blas.gemv(alpha, a, b, beta, out, transposed[0], overwrite)
    function = blas.gemm if routine == "gemm" else blas.gemmBatch_3d
    return function(alpha, a, b, beta, out, *transposed, overwrite)


@lowers(BatchedGemm)
def batched_gemm(op: BatchedGemm, node: Apply, k: Lowerer) -> None:
    """beta * C + alpha * op(A) @ op(B) of stacks, by one library call."""
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
    """``a + alpha * outer(x, y)``, into ``a`` itself with ``overwrite``."""
    return blas.ger(alpha, x, y, a, overwrite)


@lowers(Ger)
def ger(op: Ger, node: Apply, k: Lowerer) -> None:
    """A + alpha * outer(x, y)."""
    options = {"alpha": op.alpha, "overwrite": op.inplace}
    k.call(node, "ger", node.inputs, options, inplace=(0,) if op.inplace else ())
