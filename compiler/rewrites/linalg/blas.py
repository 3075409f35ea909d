"""Matrix products absorb the array added to them and their scale: gemv and gemm.

A sum of one array and matrix products is a chain of ``beta * y + alpha * A.x``; numbers
of the sum become alpha and beta. Only products with no other reader are absorbed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.linalg.linalg import Blas, Dot, Gemm, Gemv, MatrixProduct
from gpuarray.compiler.ops.linalg.products import BatchedDot, BatchedGemm, Ger
from gpuarray.compiler.ops.shape.shape import DimShuffle, swapaxes
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import (
    call,
    constant_of,
    is_float,
    keeps_digits,
    match,
    split_constant,
)

_LONGEST = 16
_DEEPEST = 8

Inside = Callable[[Variable, float], "list[Term]"]


class Term(NamedTuple):
    """``scale * a`` where there is no ``b``, else ``scale * op(a).op(b)``."""

    scale: float
    a: Variable
    b: Variable | None = None
    transpose_a: bool = False
    transpose_b: bool = False


@rewrite(phase="blas", ops=["add", "sub", "mul", "true_div", "neg"])
def merge_sum_into_product(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Merge a matrix product with the array added to it, and with all factors.

    v + dot(A, u) -> gemv(v, A, u, 1, 1)
    v - dot(A, u) -> gemv(v, A, u, -1, 1)
    v + dot(u, A) -> gemv(v, A, u, 1, 1, True)
    v - 0.1 * (dot(A, u) + 0.02 * v) -> gemv(v, A, u, -0.1, 0.998)
    C - dot(A, B) / 4 -> gemm(C, A, B, -0.25, 1)
    dot(A, B) + dot(B, A) -> gemm(dot(A, B), B, A, 1, 1)
    exp(C) + dot(A, B) + row(v) -> gemm(exp(C), A, B, 1, 1) + row(v)
    (C + exp(C)) + dot(A, B) -> gemm(C + exp(C), A, B, 1, 1)
    C + dot(A, B) + row(v) -> C + dot(A, B) + row(v)  # no copy of C
    Q - 2 * batched_dot(Q, R) -> batched_gemm(Q, Q, R, -2, 1)
    2 * dot(A, u) -> 2 * dot(A, u)
    0 * (v + dot(A, u)) -> 0 * gemv(v, A, u, 1, 1)  # nan stays
    v + dot(A, u) * 1e300 * 1e300 -> v + dot(A, u) * 1e300 * 1e300  # no such number
    """
    out = node.outputs[0]
    if out.type.ndim not in (1, 2, 3) or not is_float(out):
        return None
    terms = _terms(out, 1.0, fgraph, is_root=True)
    others = _gather([term for term in terms if term.b is None])
    if len(others) > 1:
        terms = _terms(out, 1.0, fgraph, is_root=True, opens_sums=False)
        others = _gather([term for term in terms if term.b is None])
    products = [term for term in terms if term.b is not None]
    if not products or len(terms) > _LONGEST or len(others) > 1:
        return None
    if not all(keeps_digits(term.scale, out.type.dtype) for term in terms + others):
        return None  # a routine does not read an operand times 0: nan would be lost
    if others:
        (start,) = others
        if start.a.type != out.type or _is_cheaper_apart(start.a, out, fgraph):
            return None
    elif len(products) > 1:
        first = products.pop(0)
        start = Term(first.scale, _dot(first))
    else:
        return None
    result = start.a
    beta = start.scale
    for term in products:
        result = _accumulate(result, beta, term)
        beta = 1.0
    return result if result.type == out.type else None


@rewrite(phase="specialize", ops=[Dot])
def product_of_column_and_row(node: Apply) -> Variable | None:
    """Write a product over one element as elementwise: it fuses, and needs no gemm.

    dot(col(u), row(v)) -> col(u) * row(v)
    A - 2 * dot(col(u), row(v)) -> A - 2 * (col(u) * row(v))
    """
    a, b = node.inputs
    if a.type.ndim != 2 or b.type.ndim != 2 or a.type.dtype == "bool":
        return None
    if not (a.type.broadcastable[1] and b.type.broadcastable[0]):
        return None
    out = call("mul", a, b)
    return out if out.type == node.outputs[0].type else None


@rewrite(phase="blas", ops=[DimShuffle])
def transpose_before_multiplying(node: Apply, fgraph: FunctionGraph) -> Variable | None:
    """Transpose operands, which costs nothing, instead of the product.

    dot(A, B).T -> dot(B.T, A.T)
    dot(A, B.T).T -> dot(B, A.T)
    """
    (product,) = node.inputs
    owner, op = product.owner, node.op
    assert isinstance(op, DimShuffle)
    if owner is None or not isinstance(owner.op, Dot) or not op.is_transpose:
        return None
    if len(fgraph.clients[product]) > 1:
        return None
    left, right = (
        matrix if is_turned else swapaxes(matrix, 0, 1)
        for matrix, is_turned in map(_without_transposition, owner.inputs[::-1])
    )
    result: Variable = Dot()(left, right)
    return result


def _is_cheaper_apart(addend: Variable, out: Variable, fgraph: FunctionGraph) -> bool:
    """True if a routine would copy what it adds to, and a computation reads the sum.

    That adds it at no cost: an input of the graph that may not be overwritten, or the
    state of a loop, of matrices, whose sum has one reader.
    """
    if addend.owner is not None or out.type.ndim == 1:
        return False
    if len(fgraph.clients[out]) != 1:
        return False
    if addend in fgraph.destroyable and not fgraph.owns_inputs:
        return False
    ((reader, _),) = fgraph.clients[out]
    return isinstance(reader, Apply) and isinstance(reader.op, Elemwise)


def _terms(
    variable: Variable,
    scale: float,
    fgraph: FunctionGraph,
    *,
    is_root: bool = False,
    depth: int = _DEEPEST,
    opens_sums: bool = True,
) -> list[Term]:
    """Return the terms of a sum; shared or deep ones are not expanded.

    With ``opens_sums=False`` a sum without products is one term.
    """
    leaf = [Term(scale, variable)]
    owner = variable.owner
    is_own = is_root or len(fgraph.clients[variable]) == 1
    if owner is None or depth == 0 or not is_own:
        return leaf

    def inside(inner: Variable, factor: float) -> list[Term]:
        if inner.type != variable.type:
            return []
        return _terms(inner, factor, fgraph, depth=depth - 1, opens_sums=opens_sums)

    if isinstance(owner.op, Dot | BatchedDot):
        return [_product(scale, *owner.inputs)] if _is_offered(*owner.inputs) else leaf
    if isinstance(owner.op, Blas):
        return _opened(owner, scale, inside)
    for row, sign in (("add", scale), ("sub", -scale)):
        args = match(variable, row)
        if args is not None:
            parts = [inside(args[0], scale), inside(args[1], sign)]
            terms = parts[0] + parts[1]
            is_open = opens_sums or any(term.b is not None for term in terms)
            return terms if all(parts) and is_open else leaf
    scaled = _scaled(variable, scale)
    return leaf if scaled is None else inside(*scaled) or leaf


def _scaled(variable: Variable, scale: float) -> tuple[Variable, float] | None:
    """Return the variable that is scaled, and its factor."""
    args = match(variable, "neg")
    if args is not None:
        return args[0], -scale
    args = match(variable, "mul")
    factor = None if args is None else split_constant(args)
    if factor is not None:
        return factor[1], scale * float(factor[0])
    args = match(variable, "true_div")
    divisor = None if args is None else constant_of(args[1])
    if args is not None and divisor is not None and divisor != 0:
        return args[0], scale / float(divisor)
    return None


def _is_offered(a: Variable, b: Variable) -> bool:
    """True if a routine multiplies these: matrices, a matrix and a vector, stacks."""
    ranks = sorted((a.type.ndim, b.type.ndim))
    if ranks == [3, 3] and a.type.broadcastable[0] != b.type.broadcastable[0]:
        return False
    return ranks in ([1, 2], [2, 2], [3, 3]) and a.type.dtype == b.type.dtype


def _product(scale: float, a: Variable, b: Variable) -> Term:
    """Return the term of a dot: the matrix first, transpositions removed."""
    if a.type.ndim == 1:
        matrix, is_transposed = _without_transposition(b)
        return Term(scale, matrix, a, not is_transposed)
    a, transpose_a = _without_transposition(a)
    b, transpose_b = _without_transposition(b)
    return Term(scale, a, b, transpose_a, transpose_b)


def _without_transposition(matrix: Variable) -> tuple[Variable, bool]:
    """Return a transposed view's array and True; else the matrix and False."""
    owner, axes = matrix.owner, list(range(matrix.type.ndim))
    if owner is None or not isinstance(owner.op, DimShuffle) or owner.op.dropped:
        return matrix, False
    is_turned = list(owner.op.new_order) == [*axes[:-2], *axes[-2:][::-1]]
    return (owner.inputs[0], True) if is_turned and axes[1:] else (matrix, False)


def _opened(owner: Apply, scale: float, inside: Inside) -> list[Term]:
    """Return a product that absorbed its sum as the terms of that sum."""
    op = owner.op
    y, a, b = owner.inputs
    assert isinstance(op, Blas)
    if isinstance(op, Ger):
        return [Term(scale, owner.out)]
    if isinstance(op, Gemv):
        term = Term(scale * op.alpha, a, b, op.transpose)
    else:
        assert isinstance(op, MatrixProduct)
        term = Term(scale * op.alpha, a, b, op.transpose_a, op.transpose_b)
    return [*(inside(y, scale * op.beta) or [Term(scale * op.beta, y)]), term]


def _gather(terms: Sequence[Term]) -> list[Term]:
    """Return the terms with those of one variable added up."""
    scales: dict[Variable, float] = {}
    for term in terms:
        scales[term.a] = scales.get(term.a, 0.0) + term.scale
    return [Term(scale, variable) for variable, scale in scales.items()]


def _dot(term: Term) -> Variable:
    """Return the plain product of a term."""
    assert term.b is not None
    a = _transposed(term.a) if term.transpose_a else term.a
    b = _transposed(term.b) if term.transpose_b else term.b
    out = (BatchedDot() if a.type.ndim == 3 else Dot())(a, b)
    assert isinstance(out, Variable)
    return out


def _transposed(matrix: Variable) -> Variable:
    return swapaxes(matrix, -2, -1)


def _accumulate(y: Variable, beta: float, term: Term) -> Variable:
    """Return ``beta * y`` plus the term."""
    assert term.b is not None
    op: Blas
    if term.b.type.ndim == 1:
        op = Gemv(term.scale, beta, term.transpose_a, False)
    else:
        routine = Gemm if term.b.type.ndim == 2 else BatchedGemm
        op = routine(term.scale, beta, term.transpose_a, term.transpose_b, False)
    out = op(y, term.a, term.b)
    assert isinstance(out, Variable)
    return out
