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
    dtype = node.outputs[0].type.dtype
    if dtype not in DTYPES:
        raise NotOfferedError(
            made_at(
                f"{node.op}: matrix products of {dtype} are not offered on devices; "
                f"cast to one of {', '.join(DTYPES)}",
                node.trace,
            )
        )


@lowers(Dot)
def dot(op: Dot, node: Apply, k: Lowerer) -> None:
    """A product of vectors is a reduction; the others are library calls."""
    check_dtype(node)
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
    check_dtype(node)
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
