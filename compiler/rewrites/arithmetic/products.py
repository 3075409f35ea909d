"""A product of many factors as a tree, in which factors can be replaced.

The remaining factors are multiplied in the order in which they are written: in another
one a product may overflow on the way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.rewrites.arithmetic.exponentials import (
    added_exponents,
    is_positive,
    power_of,
    shifted_terms,
    sum_of_exponentials,
)
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    beside_one,
    call,
    constant_of,
    is_float,
    match,
    number,
    opposite,
    same,
    turned,
)
from gpuarray.compiler.rewrites.engine.rows import row_of, row_of_op

_LONGEST = 24
_MOST_PARTS = 256
_OF_PRODUCTS = ("mul", "true_div", "neg", "reciprocal", "where_nonzero")
_OF_POWERS = ("square", "power")
_MOST_REPEATED = 4


@dataclass(eq=False, slots=True)
class TreeNode:
    """A node of a tree, or one of its leaves: a factor of a product, a term of a sum.

    ``is_below``: it divides the whole. A leaf's ``variable`` may be replaced, also by
    None, which is a 1; a leaf may become one over its variable, ``is_over``. A node
    with a ``gate`` is 0 where the gate is.
    """

    variable: Variable | None
    is_below: bool = False
    operands: list[TreeNode] = field(default_factory=list)
    is_over: bool = False
    gate: Variable | None = None

    @property
    def is_above(self) -> bool:
        """True if the whole is multiplied by the variable, as it is now."""
        return self.is_below == self.is_over


Tree = list[TreeNode]
"""The whole, then its parts from left to right, each before its own parts."""


class Factor(NamedTuple):
    """The result of a part: a variable, or one over it; None is 1."""

    variable: Variable | None
    is_over: bool = False


# ---- products ----


def product_of(variable: Variable) -> Tree | None:
    """Return the factors of a float through products and quotients, if few enough."""
    if not is_float(variable):
        return None
    tree: Tree = []
    n_factors = 1  # a lower bound: all but numbers have some
    waiting = [TreeNode(variable)]
    while waiting:
        part = waiting.pop()
        tree.append(part)
        part.gate, part.operands = _opened(part, variable.type.dtype)
        n_factors += max(
            sum(not is_number(operand) for operand in part.operands) - 1, 0
        )
        if n_factors > _LONGEST or len(tree) > _MOST_PARTS:
            return None
        waiting += reversed(part.operands)
    return tree


def _opened(part: TreeNode, dtype: str) -> tuple[Variable | None, list[TreeNode]]:
    """Return a product's gate and operands, of which some may divide the whole."""
    node = None if part.variable is None else part.variable.owner
    row = None if node is None else row_of_op(node.op)
    is_opened = row in _OF_PRODUCTS or row in _OF_POWERS
    if node is None or not is_opened or node.out.type.dtype != dtype:
        return None, []
    if row in _OF_POWERS:
        base, times = _repeated(node.out) or (node.out, 0)
        is_below = part.is_below != (times < 0)
        return None, [TreeNode(base, is_below) for _ in range(abs(times))]
    if row == "where_nonzero":
        gate, product = node.inputs
        is_open = not part.is_below and product.type.dtype == dtype
        return (gate, [TreeNode(product)]) if is_open else (None, [])
    divides = (row == "reciprocal", row == "true_div")
    return None, [
        TreeNode(operand, part.is_below != divides[place])
        for place, operand in enumerate(node.inputs)
    ]


def _repeated(power: Variable) -> tuple[Variable, int] | None:
    """Return the base of a power, and how often it is a factor; None for others.

    The base is above zero by construction: another one may underflow beside factors
    that are taken out of the product.
    """
    base, exponent = power_of(power) or (power, 0.0)
    is_few = exponent.is_integer() and 0 < abs(exponent) <= _MOST_REPEATED
    if not is_few or base.type != power.type or not is_positive(base):
        return None
    return base, int(exponent)


def factors_of(tree: Tree) -> list[TreeNode]:
    """Return the remaining factors, from left to right."""
    return [node for node in tree if not node.operands and node.variable is not None]


def is_number(part: TreeNode) -> bool:
    """True if a part is a known number."""
    return part.variable is not None and constant_of(part.variable) is not None


def rebuild(tree: Tree, like: Variable) -> Variable:
    """Return the graph of a product; ``like`` has the dtype and rank of a lone 1."""
    factor_of: dict[TreeNode, Factor] = {}
    for part in reversed(tree):
        operands = [factor_of[operand] for operand in part.operands]
        if not operands:
            factor_of[part] = Factor(part.variable, part.is_over)
        elif operands == _as_written(part):
            factor_of[part] = Factor(part.variable)
        else:
            factor_of[part] = _multiplied(part, operands, like)
    return _alone(factor_of[tree[0]], like)


def _as_written(part: TreeNode) -> list[Factor]:
    """Return the operands of a node before any was replaced."""
    assert part.variable is not None and part.variable.owner is not None
    inputs = part.variable.owner.inputs
    if row_of(part.variable) in _OF_POWERS:
        inputs = inputs[:1] * len(part.operands)
    if part.gate is not None:
        inputs = inputs[1:]
    return [Factor(operand) for operand in inputs]


def _alone(factor: Factor, like: Variable) -> Variable:
    """Return the variable of a part's result."""
    one = number(1, like)
    if factor.variable is None:
        return one
    return call("true_div", one, factor.variable) if factor.is_over else factor.variable


def _multiplied(part: TreeNode, operands: Sequence[Factor], like: Variable) -> Factor:
    """Return a node of a product with other operands."""
    assert part.variable is not None
    row, first = row_of(part.variable), operands[0]
    if row == "where_nonzero":
        if part.gate is None:
            return first
        return Factor(call(row, part.gate, _alone(first, like)))
    if row == "reciprocal":
        return Factor(first.variable, not first.is_over)
    if row in _OF_POWERS:
        return _power(part.variable, operands)
    if row == "neg":
        value = number(1, like) if first.variable is None else first.variable
        return Factor(call("neg", value), first.is_over)
    second = operands[1]
    if row == "true_div":
        second = Factor(second.variable, not second.is_over)
    return _product(first, second)


def _power(power: Variable, operands: Sequence[Factor]) -> Factor:
    """Return a power of which factors were replaced; of one factor it stays a power."""
    assert power.owner is not None
    first, *others = operands
    if first.variable is not None and all(other == first for other in others):
        exponent = power.owner.inputs[1:]
        row = row_of(power) or ""
        return Factor(call(row, first.variable, *exponent), first.is_over)
    whole = reduce(_product, others, first)
    repeated = _repeated(power)
    divides = repeated is not None and repeated[1] < 0
    is_over = whole.is_over != divides
    return Factor(whole.variable, is_over)


def _product(first: Factor, second: Factor) -> Factor:
    if first.variable is None or second.variable is None:
        return second if first.variable is None else first
    if first.is_over == second.is_over:
        return Factor(call("mul", first.variable, second.variable), first.is_over)
    above, below = (second, first) if first.is_over else (first, second)
    assert above.variable is not None and below.variable is not None
    return Factor(call("true_div", above.variable, below.variable))


# ---- pairs of factors ----


def pair_exponentials(tree: Tree) -> bool:
    """Merge exponentials into sigmoids; return whether there were any.

    ``/ (1 + exp(u))`` is ``* sigmoid(-u)``; ``exp(u) * sigmoid(-u)`` is ``sigmoid(u)``,
    ``(1 + exp(u)) * sigmoid(-u)`` is 1;
    ``exp(u) / (exp(u) + exp(v))`` is ``sigmoid(u - v)``; ``exp(u) / expm1(u)`` is
    ``1 / -expm1(-u)``; ``sinh(u) / cosh(u)`` is ``tanh(u)``.
    """
    is_changed = False
    for part in factors_of(tree):
        inner = None if part.is_above else _exponent_beside_one(part)
        if inner is not None:
            part.variable = call("sigmoid", turned(inner))
            part.is_over = not part.is_over
            is_changed = True
    for merge in (_merge_one_pair, _merge_share_of_two, _merge_with_expm1):
        while merge(factors_of(tree)):
            is_changed = True
    return merge_hyperbolic(tree) or is_changed


def _merge_one_pair(factors: Sequence[TreeNode]) -> bool:
    """Merge one sigmoid with an exponential in place; return whether there was one."""
    for part in factors:
        inner = _argument(part, "sigmoid") if part.is_above else None
        if inner is None:
            continue
        for power in factors:
            exponent = _argument(power, "exp")
            fits = opposite if power.is_above else same
            if exponent is not None and fits(exponent, inner):
                part.variable = call("sigmoid", turned(inner))
                power.variable = None
                return True
            exponent = _exponent_beside_one(power) if power.is_above else None
            if exponent is not None and opposite(exponent, inner):
                part.variable = power.variable = None
                return True
    return False


def _exponent_beside_one(part: TreeNode) -> Variable | None:
    """Return ``u`` of ``1 + exp(u)``; None of other factors."""
    args = None if part.variable is None else match(part.variable, "add")
    power = None if args is None else beside_one(args)
    return None if power is None else argument(power, "exp")


def _merge_share_of_two(factors: Sequence[TreeNode]) -> bool:
    """Merge one exponential with a sum of two below; return whether there was one."""
    for part in factors:
        if part.is_above or part.variable is None:
            continue
        terms = match(part.variable, "add") or ()
        exponents = [argument(term, "exp") for term in terms]
        for power in factors:
            found = _argument(power, "exp") if power.is_above else None
            for one, other in zip(exponents, reversed(exponents), strict=True):
                if one is None or other is None or found is None:
                    continue
                if same(one, found) and one.type == other.type:
                    power.variable = call("sigmoid", call("sub", one, other))
                    part.variable = None
                    return True
    return False


def _merge_with_expm1(factors: Sequence[TreeNode]) -> bool:
    """Merge one exponential with its expm1 below; return whether there was one."""
    for part in factors:
        inner = None if part.is_above else _argument(part, "expm1")
        for power in factors if inner is not None else ():
            exponent = _argument(power, "exp") if power.is_above else None
            if inner is not None and exponent is not None and same(exponent, inner):
                part.variable = call("neg", call("expm1", turned(inner)))
                power.variable = None
                return True
    return False


def merge_hyperbolic(tree: Tree) -> bool:
    """Make tanh of each sinh with its cosh on the other side; return whether."""
    is_changed = False
    for part in factors_of(tree):
        inner = _argument(part, "sinh")
        for other in factors_of(tree) if inner is not None else ():
            operand = _argument(other, "cosh")
            if inner is None or operand is None or other.is_above == part.is_above:
                continue
            if same(inner, operand):
                part.variable, other.variable = call("tanh", inner), None
                is_changed = True
                break
    return is_changed


def _argument(part: TreeNode, row: str) -> Variable | None:
    return None if part.variable is None else argument(part.variable, row)


def shift_shares(tree: Tree) -> bool:
    """Take the largest exponent out of ``exp(x) / sum(exp(x))``; return whether."""
    is_changed = False
    for part in factors_of(tree):
        if part.is_above or part.variable is None:
            continue
        is_changed |= _shift_added(part, factors_of(tree))
        total = sum_of_exponentials(part.variable)
        if total is None or not total.is_kept or total.is_shifted():
            continue
        for power in factors_of(tree):
            exponent = _argument(power, "exp") if power.is_above else None
            if exponent is not None and same(exponent, total.exponents):
                power.variable, part.variable = total.shifted()
                is_changed = True
                break
    return is_changed


def _shift_added(part: TreeNode, factors: Sequence[TreeNode]) -> bool:
    """Take the largest exponent out of ``exp(x) / (exp(x) + exp(y) + ...)``."""
    assert part.variable is not None
    exponents = added_exponents(part.variable)
    for power in factors if len(exponents) > 1 else ():
        found = _argument(power, "exp") if power.is_above else None
        if found is None:
            continue
        place = next((i for i, x in enumerate(exponents) if same(x, found)), None)
        if place is not None:
            powers, part.variable = shifted_terms(exponents)
            power.variable = powers[place]
            return True
    return False


def cancel_factors(tree: Tree) -> bool:
    """Cancel positive factors above and below; return whether there were any.

    A constant alone stays: without it the product may overflow.
    """
    is_changed = False
    for part in factors_of(tree):
        if part.is_above or is_number(part):
            continue
        above = [factor for factor in factors_of(tree) if factor.is_above]
        partner = partner_of(part, above)
        if partner is not None:
            part.variable = partner.variable = None
            is_changed = True
    return is_changed


def partner_of(part: TreeNode, among: Collection[TreeNode]) -> TreeNode | None:
    """Return the factor that a positive one cancels."""
    assert part.variable is not None
    for other in among:
        if other.variable is not None and same(part.variable, other.variable):
            return other if is_positive(part.variable) else None
    return None
