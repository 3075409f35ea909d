"""Exponentials with weights, of any sign or 0, and their sums and products.

The largest exponent that is taken out of a sum is that of a term whose weight is not 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.rewrites.arithmetic.distribution import rebuilt_sum, sum_of
from gpuarray.compiler.rewrites.arithmetic.exponentials import (
    MOST_TERMS,
    are_shifted,
    finite,
    known_log,
    shifted_term,
    sum_of_exponentials,
    weighed,
)
from gpuarray.compiler.rewrites.arithmetic.products import (
    Tree,
    TreeNode,
    factors_of,
    product_of,
    rebuild,
)
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    beside_one,
    call,
    match,
    number,
    same,
)

Joined = Callable[[Variable, Variable], Variable]
_WITH_STABLE_LOG = ("erfc", "sigmoid")


def take_logarithms(tree: Tree) -> list[tuple[Variable, bool]]:
    """Take logarithms out of factors that may underflow, or overflow.

    Return each, and True if the product was multiplied by its exponential. It is the
    whole one of factors that are positive, the largest exponent of sums.
    """
    taken: list[tuple[Variable, bool]] = []
    is_product = len(factors_of(tree)) > 1
    for part in factors_of(tree):
        if part.variable is None:
            continue
        total = sum_of_exponentials(part.variable, weighted_exponential)
        log = None
        if total is None and is_product:
            log = _log_of_factor(part.variable)
            part.variable = part.variable if log is None else None
        elif total is not None and not total.is_shifted():
            if not is_product and total.weights is None:
                continue
            largest = total.largest()
            log = total.kept(largest) if total.is_kept else largest
            _, part.variable = total.shifted()
        if log is not None:
            taken.append((log, part.is_above))
    return taken


def _log_of_factor(variable: Variable) -> Variable | None:
    """Return the logarithm of a factor that is positive and has a stable one."""
    if any(argument(variable, row) is not None for row in _WITH_STABLE_LOG):
        return call("log", variable)
    return known_log(variable)


def weighted_exponential(variable: Variable) -> tuple[Variable, Variable | None] | None:
    """Return the exponent of a product, and its other factors; None without one."""
    exponent = argument(variable, "exp")
    if exponent is not None:
        return exponent, None
    tree = product_of(variable)
    found: list[Variable] = []
    for part in factors_of(tree or []):
        power = None if part.variable is None else argument(part.variable, "exp")
        if power is not None:
            found.append(power if part.is_above else call("neg", power))
            part.variable = None
    if tree is None or not found:
        return None
    weight = rebuild(tree, variable) if factors_of(tree) else None
    return reduce(partial(call, "add"), found), weight


def shifted_sum(variable: Variable) -> tuple[Variable, Variable] | None:
    """Return a sum of few terms divided by its largest exponential, and the exponent.

    None if no term has an exponential, or if all exponents have one variable subtracted
    already. A term without one has the exponent 0.
    """
    tree = sum_of(variable) or []
    terms = [node for node in tree if not node.operands]
    opened = [weighted_exponential(_value(node.variable)) for node in terms]
    known = [exponent for exponent, _ in filter(None, opened)]
    if not 1 < len(terms) <= MOST_TERMS or not known or are_shifted(known):
        return None
    parts = [
        (number(0, _value(node.variable)), node.variable) if pair is None else pair
        for node, pair in zip(terms, opened, strict=True)
    ]
    largest = finite(reduce(partial(call, "maximum"), [weighed(*p) for p in parts]))
    for node, (exponent, weight) in zip(terms, parts, strict=True):
        _, node.variable = shifted_term(exponent, weight, largest)
    return rebuilt_sum(tree), largest


def shift_weighted(tree: Tree) -> bool:
    """Take the largest exponent out of ``exp(x) / (u * exp(x) + w)``; return whether.

    A one beside one exponential is left to sigmoids.
    """
    is_changed = False
    for part in factors_of(tree):
        if part.is_above or part.variable is None:
            continue
        for power in factors_of(tree):
            exponent = _exponent_above(power)
            if exponent is None or not _has_term_of(part.variable, exponent):
                continue
            found = shifted_sum(part.variable)
            if found is not None:
                part.variable, largest = found
                power.variable = call("exp", call("sub", exponent, largest))
                is_changed = True
            break
    return is_changed


def _exponent_above(part: TreeNode) -> Variable | None:
    is_above = part.is_above and part.variable is not None
    return argument(_value(part.variable), "exp") if is_above else None


def _has_term_of(total: Variable, exponent: Variable) -> bool:
    """Return True if a term has this exponential; not for one beside a one."""
    terms = match(total, "add") or ()
    if len(terms) == 2 and beside_one(terms) is not None:
        return False
    opened = [weighted_exponential(term) for term in terms]
    return any(pair is not None and same(pair[0], exponent) for pair in opened)


def softplus_or(weight: Variable, exponent: Variable, near: Joined) -> Variable:
    """Return ``log1p(weight * exp(exponent))``, by softplus of products over 1.

    ``near`` returns it for other weights and exponents, given 0 where it is not chosen.
    """
    none = number(0, weight)
    is_above = call("gt", weight, none)
    log = call("log", call("where", is_above, weight, number(1, weight)))
    total = call("add", exponent, log)
    is_far = call("logical_and", is_above, call("gt", total, number(0, total)))
    far = call("softplus", call("where", is_far, total, number(0, total)))
    rest = near(
        call("where", is_far, none, weight),
        call("where", is_far, number(0, exponent), exponent),
    )
    return call("where", is_far, far, rest)


def _value(variable: Variable | None) -> Variable:
    assert variable is not None
    return variable
