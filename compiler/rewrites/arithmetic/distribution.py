"""Products with sums: factors move into terms where each has a partner."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.rewrites.arithmetic.products import (
    Tree,
    TreeNode,
    factors_of,
    is_number,
    merge_hyperbolic,
    pair_exponentials,
    partner_of,
    product_of,
    rebuild,
)
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    call,
    constant_of,
    number,
    same,
)
from gpuarray.compiler.rewrites.engine.rows import row_of, row_of_op

_MOST_TERMS = 256
_MOST_MOVED = 16
_OF_SUMS = ("add", "sub", "neg")
_MOVED = ("exp", "sinh")


def distribute(tree: Tree, like: Variable) -> Variable | None:
    """The product with factors moved into a sum where each term merges with them.

    They cancel denominators; exponentials merge with sigmoids, a sinh with a cosh.
    """
    above = [node for node in factors_of(tree) if node.is_above]
    for factor in above:
        others = [other for other in above if other is not factor]
        summed = sum_of(factor.variable) if others else None
        if summed is None or factor.variable is None:
            continue
        gates = [
            g for g in tree if g.gate is not None and same(g.gate, factor.variable)
        ]
        moved = _cancelled(summed, others, like, is_gate=bool(gates))
        if not moved and not gates:
            moved = _merged(summed, others)
        if not moved:
            continue
        for gated in gates:
            gated.gate = None
        factor.variable = rebuilt_sum(summed)
        for part in moved:
            part.variable = None
        return rebuild(tree, like)
    return None


def _cancelled(
    summed: Tree, factors: list[TreeNode], like: Variable, is_gate: bool
) -> list[TreeNode]:
    """Multiply the terms in place; return the factors that cancel all denominators.

    Return none if they do not, or if there are no denominators. If the sum is a gate,
    its terms become the gates of their own products: where all are 0, so is the sum.
    """
    terms = [node for node in summed if not node.operands]
    products = [_product_or_term(node.variable) for node in terms]
    used = [_used(tree, factors) for tree in products]
    moved = [
        factor
        for factor in factors
        if any(factor in cancelling for cancelling in used if cancelling)
    ]
    if not moved or None in used:
        return []
    for term, product, cancelling in zip(terms, products, used, strict=True):
        result = rebuild(product, like)
        for part in moved:
            if (
                cancelling is not None
                and part not in cancelling
                and part.variable is not None
            ):
                result = call("mul", result, part.variable)
        has_gates = any(node.gate is not None for node in product)
        if is_gate and not has_gates and term.variable is not None:
            result = call("where_nonzero", term.variable, result)
        term.variable = result
    return moved


def _merged(summed: Tree, factors: list[TreeNode]) -> list[TreeNode]:
    """Multiply the terms in place by a factor with which all merge; return it.

    ``exp(u)`` merges with the sigmoid of ``-u``, ``sinh(u)`` with a cosh below.
    """
    terms = [node for node in summed if not node.operands]
    if len(terms) > _MOST_MOVED:
        return []
    for factor in factors:
        moved = factor.variable
        if moved is None or row_of(moved) not in _MOVED:
            continue
        products = [_times(node.variable, moved) for node in terms]
        if None in products:
            continue
        for node, product in zip(terms, products, strict=True):
            node.variable = product
        return [factor]
    return []


def _times(term: Variable | None, factor: Variable) -> Variable | None:
    """Return the product with a factor that merges with one of a term; else None."""
    assert term is not None
    whole = call("mul", term, factor)
    tree = product_of(whole) if whole.type == term.type else None
    if tree is None:
        return None
    is_sinh = argument(factor, "sinh") is not None
    (merge_hyperbolic if is_sinh else pair_exponentials)(tree)
    return rebuild(tree, whole) if tree[-1].variable is not factor else None


def _product_or_term(variable: Variable | None) -> Tree:
    assert variable is not None
    return product_of(variable) or [TreeNode(variable)]


def _used(product: Tree, factors: Sequence[TreeNode]) -> list[TreeNode] | None:
    """Cancel a product's denominators; return the factors used, None if some stay."""
    used: list[TreeNode] = []
    for part in factors_of(product):
        if part.is_above or is_number(part):
            continue
        partner = partner_of(part, [factor for factor in factors if factor not in used])
        if partner is None:
            return None
        part.variable = None
        used.append(partner)
    return used


def sum_of(variable: Variable | None) -> Tree | None:
    """Return the terms of a sum, with its nodes; None without a sum, or if too long."""
    assert variable is not None
    tree: Tree = []
    waiting = [TreeNode(variable)]
    while waiting and len(tree) <= 2 * _MOST_TERMS:
        part = waiting.pop()
        tree.append(part)
        part.operands = _terms(part, variable.type.dtype)
        waiting += reversed(part.operands)
    n_terms = sum(not node.operands for node in tree)
    return tree if not waiting and 2 <= n_terms <= _MOST_TERMS else None


def _terms(part: TreeNode, dtype: str) -> list[TreeNode]:
    """Return the operands of a sum, if all have the dtype."""
    node = None if part.variable is None else part.variable.owner
    if node is None or row_of_op(node.op) not in _OF_SUMS:
        return []
    operands = [_in_dtype_of(node.out, operand) for operand in node.inputs]
    if any(operand.type.dtype != dtype for operand in operands):
        return []
    return [TreeNode(operand) for operand in operands]


def _in_dtype_of(total: Variable, operand: Variable) -> Variable:
    """Return a whole number in the dtype of a sum; other variables as they are."""
    is_whole = operand.type.dtype.startswith(("int", "uint"))
    value = constant_of(operand) if is_whole else None
    return operand if value is None else number(value, total)


def rebuilt_sum(tree: Tree) -> Variable:
    """Return the graph of a sum with other terms."""
    graph_of: dict[TreeNode, Variable] = {}
    for part in reversed(tree):
        assert part.variable is not None
        operands = [graph_of[operand] for operand in part.operands]
        row = row_of(part.variable) or ""
        graph_of[part] = call(row, *operands) if operands else part.variable
    return graph_of[tree[0]]
