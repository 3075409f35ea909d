"""A product of many factors as data: what is above and below the line, and a number."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.nnet import Softmax
from gpuarray.compiler.rewrites.patterns import (
    argument,
    call,
    constant_of,
    is_float,
    match,
    negated,
    number,
    opposite,
    same,
    with_constant,
)
from gpuarray.compiler.rewrites.rows import row_of_op

_POSITIVE = ("exp", "exp2", "sigmoid", "softplus", "cosh")
_LONGEST = 24
_MOST_TERMS = 256


class Product(NamedTuple):
    """``number * above[0] * ... / below[0] / ...``; 0 where one of ``gates`` is 0."""

    number: float
    above: tuple[Variable, ...]
    below: tuple[Variable, ...]
    gates: tuple[Variable, ...] = ()


def product_of(variable: Variable) -> Product | None:
    """The factors of a float through products, signs and quotients, if not too many."""
    if not is_float(variable):
        return None
    found = _factors(variable)
    is_usual = found is not None and isfinite(found.number) and found.number != 0
    return found if is_usual else None


def _factors(variable: Variable) -> Product | None:
    """The factors from left to right; None as soon as there are too many of them."""
    dtype, scale = variable.type.dtype, 1.0
    above: list[Variable] = []
    below: list[Variable] = []
    gates: list[Variable] = []
    waiting = [(_opened(variable, dtype), False)]
    n_factors = 1  # at least, also of what waits: all but numbers have some
    while waiting and n_factors <= _LONGEST:
        current, is_below = waiting.pop()
        if isinstance(current, float):
            scale *= 1.0 / current if is_below else current
        elif isinstance(current, Variable):
            gated = None if is_below else match(current, "where_nonzero")
            if gated is None or gated[1].type.dtype != dtype:
                (below if is_below else above).append(current)
            else:
                gates.append(gated[0])
                waiting.append((_opened(gated[1], dtype), False))
        else:
            parts = [(_opened(each, dtype), turn != is_below) for each, turn in current]
            n_factors += sum(not isinstance(each, float) for each, _ in parts) - 1
            waiting += reversed(parts)
    if waiting:
        return None
    return Product(scale, tuple(above), tuple(below), tuple(dict.fromkeys(gates)))


def _opened(
    part: Variable | float, dtype: str
) -> Variable | float | Sequence[tuple[Variable | float, bool]]:
    """A number, or a product's inputs and whether each divides, or a factor itself."""
    if isinstance(part, float) or part.type.dtype != dtype:
        return part
    value = constant_of(part)
    if value is not None and isfinite(value) and value != 0:
        return float(value)
    args = match(part, "mul")
    if args is not None:
        return [(args[0], False), (args[1], False)]
    args = match(part, "true_div")
    if args is not None:
        return [(args[0], False), (args[1], True)]
    inner = argument(part, "neg")
    if inner is not None:
        return [(-1.0, False), (inner, False)]
    inner = argument(part, "reciprocal")
    return part if inner is None else [(inner, True)]


def _times(a: Product, b: Product) -> Product:
    return Product(
        a.number * b.number, a.above + b.above, a.below + b.below, a.gates + b.gates
    )


def is_positive(variable: Variable) -> bool:
    """Whether the variable is above zero by construction (it may underflow to it)."""
    met = {variable}
    waiting = [variable]
    while waiting:
        current = waiting.pop()
        terms = match(current, "add")
        if terms is None and not _is_positive_itself(current):
            return False
        new = [each for each in terms or () if each not in met]
        met.update(new)
        waiting += reversed(new)
    return True


def _is_positive_itself(variable: Variable) -> bool:
    owner = variable.owner
    if owner is None:
        value = constant_of(variable)
        return value is not None and bool(value > 0)
    return isinstance(owner.op, Softmax) or row_of_op(owner.op) in _POSITIVE


def pair_exponentials(product: Product) -> Product:
    """Exponentials become sigmoids where they meet them, or one plus themselves below.

    ``/ (1 + exp(u))`` is ``* sigmoid(-u)``; ``exp(u) * sigmoid(-u)`` is ``sigmoid(u)``.
    """
    above, below = list(product.above), []
    for factor in product.below:
        args = match(factor, "add")
        power = None if args is None else with_constant(args, 1)
        inner = None if power is None else argument(power, "exp")
        if inner is None:
            below.append(factor)
        else:
            above.append(call("sigmoid", negated(inner)))
    while _merge_one_pair(above, below):
        pass
    return product._replace(above=tuple(above), below=tuple(below))


def _merge_one_pair(above: list[Variable], below: list[Variable]) -> bool:
    """Merge one sigmoid with an exponential in place; whether there was such a pair."""
    for i, factor in enumerate(above):
        inner = argument(factor, "sigmoid")
        if inner is None:
            continue
        for powers, fits in ((above, opposite), (below, same)):
            for j, power in enumerate(powers):
                exponent = argument(power, "exp")
                if exponent is not None and fits(exponent, inner):
                    above[i] = call("sigmoid", negated(inner))
                    del powers[j]
                    return True
    return False


def cancel_factors(product: Product) -> Product:
    """Positive factors that stand above and below go away.

    Not for a constant alone: in another order the product may overflow.
    """
    above, below = list(product.above), []
    for factor in product.below:
        found = _find(factor, above) if factor.owner is not None else None
        if found is None or not is_positive(factor):
            below.append(factor)
        else:
            del above[found]
    if len(below) == len(product.below):
        return product
    return product._replace(above=tuple(above), below=tuple(below))


def _find(factor: Variable, among: Sequence[Variable]) -> int | None:
    return next((i for i, other in enumerate(among) if same(factor, other)), None)


def distribute(product: Product, like: Variable) -> Variable | None:
    """The product with its factors put into a sum whose denominators they cancel."""
    for i, factor in enumerate(product.above):
        others = product.above[:i] + product.above[i + 1 :]
        terms = _terms(factor) if others else []
        if len(terms) < 2:
            continue
        if any(same(gate, factor) for gate in product.gates):
            terms = [_gated_by_itself(term, product) for term in terms]
        products = [_times(term, Product(1.0, others, ())) for term in terms]
        cancelled = [cancel_factors(term) for term in products]
        if any(term.below for term in cancelled) or not any(t.below for t in products):
            continue
        gates = tuple(gate for gate in product.gates if not same(gate, factor))
        outer = product._replace(gates=gates)
        return _sum([_scaled(term, outer) for term in cancelled], like)
    return None


def _gated_by_itself(term: Product, product: Product) -> Product:
    """A term of a sum that gates its product: where both terms are 0, so is the sum."""
    if term.gates or not term.above:
        return term
    return term._replace(gates=(rebuild(term, product.gates[0]),))


def _scaled(term: Product, outer: Product) -> Product:
    return Product(
        term.number * outer.number, term.above, outer.below, outer.gates + term.gates
    )


def _terms(variable: Variable) -> list[Product]:
    """The terms of a sum as products, with their signs; none if there are too many."""
    found: list[Product] = []
    waiting = [(variable, 1.0)]
    while waiting and len(found) <= _MOST_TERMS:
        current, sign = waiting.pop()
        parts = _signed_parts(current)
        waiting += [(each, sign * its) for each, its in reversed(parts)]
        if not parts:
            term = product_of(current) or Product(1.0, (current,), ())
            found.append(term._replace(number=sign * term.number))
    return found if len(found) <= _MOST_TERMS else []


def _signed_parts(variable: Variable) -> Sequence[tuple[Variable, float]]:
    """What a variable is the sum of, with signs; nothing of a term."""
    for row, second in (("add", 1.0), ("sub", -1.0)):
        args = match(variable, row)
        if args is not None and all(a.type.dtype == variable.type.dtype for a in args):
            return [(args[0], 1.0), (args[1], second)]
    inner = argument(variable, "neg")
    return () if inner is None else [(inner, -1.0)]


def _sum(terms: Sequence[Product], like: Variable) -> Variable:
    """The terms added up, negative ones subtracted."""
    total: Variable | None = None
    for term in sorted(terms, key=lambda term: term.number < 0):
        if total is None:
            total = rebuild(term, like)
        elif term.number < 0:
            total = call(
                "sub", total, rebuild(term._replace(number=-term.number), like)
            )
        else:
            total = call("add", total, rebuild(term, like))
    assert total is not None
    return total


def rebuild(product: Product, like: Variable) -> Variable:
    """The graph of a product; `like` gives dtype and rank of its number."""
    top = _chain(product.above)
    if product.number != 1 and (product.number != -1 or top is None):
        scale = number(product.number, like)
        top = scale if top is None else call("mul", top, scale)
    if top is None:
        top = number(1, like)
    bottom = _chain(product.below)
    result = top if bottom is None else call("true_div", top, bottom)
    if product.number == -1 and product.above:
        result = call("neg", result)
    for gate in product.gates:
        result = call("where_nonzero", gate, result)
    return result


def _chain(factors: Sequence[Variable]) -> Variable | None:
    """The factors multiplied from the left; None if there are none."""
    result: Variable | None = None
    for factor in factors:
        result = factor if result is None else call("mul", result, factor)
    return result
