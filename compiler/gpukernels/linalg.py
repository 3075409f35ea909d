"""Matrix products: library steps."""

from __future__ import annotations

from typing import Literal

from gpuarray.compiler import plan
from gpuarray.compiler.errors import NotOfferedError, made_at
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.linalg import Dot, Gemm, Gemv

DTYPES = ("float32", "float64")


def check_dtype(node: Apply) -> None:
    """Raise NotImplementedError for a dtype that no library routine has."""
    dtype = str(node.outputs[0].type.dtype)
    if dtype not in DTYPES:
        raise NotOfferedError(
            made_at(
                f"{node.op}: matrix products of {dtype} are not offered on devices; cast "
                f"to one of {', '.join(DTYPES)}",
                node.trace,
            )
        )


@lowers(Dot)
def dot(node: Apply, k: Lowerer) -> None:
    """A product of vectors is a reduction; the others are library calls."""
    check_dtype(node)
    a, b = node.inputs
    if a.type.ndim == 1 and b.type.ndim == 1:
        inner_product(node, k)
        return
    numbers = k.inputs([a, b] if a.type.ndim == 2 else [b, a])
    matrices = a.type.ndim == b.type.ndim == 2
    outs = k.outputs(node)
    k.add(
        plan.Library(
            label="gemm" if matrices else "gemv",
            origin=k.origin(node),
            outs=outs,
            ins=numbers,
            routine="gemm" if matrices else "gemv",
            alpha=1.0,
            beta=0.0,
            transpose_a=a.type.ndim == 1,
            transpose_b=False,
            inplace=False,
        )
    )


def inner_product(node: Apply, k: Lowerer) -> None:
    """The sum of products of two vectors, in one launch."""
    dtype = str(node.outputs[0].type.dtype)
    ins = k.inputs(node.inputs)
    outs = k.outputs(node)
    k.add(
        plan.Reduce(
            label="inner product",
            origin=k.origin(node),
            outs=outs,
            ins=ins,
            prologue="",
            map="x * y",
            preamble="",
            names=("x", "y"),
            in_dtypes=(dtype, dtype),
            combine="a + b",
            identity="0",
            acc_dtype=dtype,
            axes=(0,),
        )
    )


@lowers(Gemv)
def gemv(node: Apply, k: Lowerer) -> None:
    """beta * y + alpha * op(A) . x."""
    check_dtype(node)
    op, (y, matrix, x) = node.op, node.inputs
    product(node, "gemv", [matrix, x, y], op.transpose, False, k)


@lowers(Gemm)
def gemm(node: Apply, k: Lowerer) -> None:
    """beta * C + alpha * op(A) . op(B)."""
    check_dtype(node)
    op, (c, a, b) = node.op, node.inputs
    product(node, "gemm", [a, b, c], op.transpose_a, op.transpose_b, k)


def product(
    node: Apply,
    routine: Literal["gemv", "gemm"],
    operands: list[Variable],
    transpose_a: bool,
    transpose_b: bool,
    k: Lowerer,
) -> None:
    """A scaled product; the third operand is read only if beta is not 0."""
    op = node.op
    ins = k.inputs(operands if op.beta != 0 else operands[:2])
    outs = k.outputs(node)
    k.add(
        plan.Library(
            label=routine,
            origin=k.origin(node),
            outs=outs,
            ins=ins,
            routine=routine,
            alpha=op.alpha,
            beta=op.beta,
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            inplace=op.inplace and op.beta != 0,
        )
    )
