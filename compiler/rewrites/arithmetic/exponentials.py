"""Sums of exponentials, from which the largest exponent is taken, and logarithms.

The largest exponent is a constant to derivatives: it cancels in every one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.control.gradient_markers import (
    DisconnectedGrad,
    disconnected_grad,
)
from gpuarray.compiler.ops.index.advanced import AdvancedSubtensor
from gpuarray.compiler.ops.nnet.nnet import FirstOf, Pick, Softmax
from gpuarray.compiler.ops.reduce.reduce import Reduce, keep_dims
from gpuarray.compiler.ops.shape.shape import DimShuffle, Order, Reshape
from gpuarray.compiler.ops.slicing.subtensor import Subtensor
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    beside_one,
    call,
    constant_of,
    is_constant,
    is_float,
    limits_of,
    match,
    number,
    same,
    turned,
)
from gpuarray.compiler.rewrites.engine.rows import row_of_op

PARTS = (AdvancedSubtensor, DimShuffle, FirstOf, Pick, Reshape, Subtensor)
"""Ops whose result has elements of their first input, by what further ones say."""
MOST_TERMS = 16
"""Exponentials of a sum that are looked at, and products within products."""
_POSITIVE = ("exp", "exp2", "sigmoid", "softplus", "cosh")
JOINED = {"add": "logaddexp", "mul": "add", "true_div": "sub"}
"""The row that joins logarithms of the operands of a row."""
_POWERS = {"square": 2.0, "sqrt": 0.5, "reciprocal": -1.0}
"""The exponents of rows that are powers."""


class SumOfExponentials(NamedTuple):
    """``op(weights * exp(exponents))``, a sum; ``is_kept``: the axes are put back.

    No weights are ones. A term whose weight is 0 is 0, however large its exponential.
    """

    exponents: Variable
    op: Reduce
    is_kept: bool = False
    weights: Variable | None = None

    def kept(self, reduced: Variable) -> Variable:
        """Return a value of each sum, with the axes of the exponents."""
        return keep_dims(reduced, self.op.axes, self.exponents.type.ndim)

    def is_shifted(self) -> bool:
        """True if the exponents are ``y - u`` or ``-(y + u)``, with one ``u`` a sum.

        No number is: it is no largest exponent.
        """
        x = self.exponents
        shift, negated_sum = match(x, "sub"), argument(x, "neg")
        shifts = list(shift[1:]) if shift is not None else []
        if negated_sum is not None:
            shifts += match(negated_sum, "add") or ()
        patterns = [u.type.broadcastable for u in shifts if constant_of(u) is None]
        return any(all(pattern[i] for i in self.op.axes) for pattern in patterns)

    def largest(self) -> Variable:
        """Return the largest exponent along the axes where it is finite, else 0."""
        return pivot(weighed(self.exponents, self.weights), self.op.axes)

    def shifted(self) -> tuple[Variable, Variable]:
        """Return the exponentials and their sum, both divided by the largest one."""
        largest = self.kept(self.largest())
        power, term = shifted_term(self.exponents, self.weights, largest)
        total = self.op(term)
        return power, self.kept(total) if self.is_kept else total


Opened = Callable[[Variable], tuple[Variable, Variable | None] | None]
"""Returns the exponents and the weights of exponentials; None for other variables."""


def _exponential(variable: Variable) -> tuple[Variable, None] | None:
    exponent = argument(variable, "exp")
    return None if exponent is None else (exponent, None)


def sum_of_exponentials(
    variable: Variable, opened: Opened = _exponential
) -> SumOfExponentials | None:
    """Return what a variable sums, if it is a sum of exponentials in their dtype."""
    owner = variable.owner
    if owner is not None and isinstance(owner.op, DimShuffle):
        total = sum_of_exponentials(owner.inputs[0], opened)
        if total is None or not _puts_back(owner.op.new_order, owner.inputs[0], total):
            return None
        return total._replace(is_kept=True)
    if owner is None or not isinstance(owner.op, Reduce) or owner.op.monoid != "add":
        return None
    term = opened(owner.inputs[0])
    if term is None or owner.inputs[0].type.dtype != variable.type.dtype:
        return None
    return SumOfExponentials(term[0], owner.op, weights=term[1])


def puts_back(order: Order, reduced: Variable) -> bool:
    """True if a dimshuffle puts the axes back that a sum of exponentials reduced."""
    total = sum_of_exponentials(reduced)
    return total is not None and _puts_back(order, reduced, total)


def _puts_back(order: Order, reduced: Variable, total: SumOfExponentials) -> bool:
    if total.is_kept:
        return False
    kept = total.kept(reduced).owner
    return (
        kept is not None
        and isinstance(kept.op, DimShuffle)
        and kept.op.new_order == order
    )


def pivot(x: Variable, axes: Sequence[int]) -> Variable:
    """Return the largest element along axes where it is finite, else 0."""
    return finite(Reduce("maximum", axes, of_none=True)(x))


def weighed(exponent: Variable, weight: Variable | None) -> Variable:
    """Return the exponents of terms; -inf of those that are 0, inf of infinite weights.

    No largest exponent is taken out of sums that are infinite by a weight.
    """
    if weight is None:
        return exponent
    none, infinite = number(-np.inf, exponent), number(np.inf, exponent)
    known = call("where", call("ne", weight, number(0, weight)), exponent, none)
    return call("where", call("isinf", weight), infinite, known)


def shifted_term(
    exponent: Variable, weight: Variable | None, largest: Variable
) -> tuple[Variable, Variable]:
    """Return an exponential divided by the largest one, and its multiple.

    Where the weight is 0 the exponential may be larger: it is at most a finite number.
    """
    if weight is None:
        power = call("exp", call("sub", exponent, largest))
        return power, power
    most = call("add", largest, _most_exponent(largest))
    known = _finite_beside(weight, exponent, most)
    power = call("exp", call("sub", known, largest))
    return power, call("mul", weight, power)


def multiple(exponent: Variable, weight: Variable) -> Variable:
    """Return a multiple of an exponential: 0 where the weight is, whatever it is of."""
    known = _finite_beside(weight, exponent, _most_exponent(exponent))
    return call("mul", weight, call("exp", known))


def _finite_beside(weight: Variable, exponent: Variable, most: Variable) -> Variable:
    """Return an exponent, at most ``most`` where the weight is 0."""
    is_nothing = call("eq", weight, number(0, weight))
    return call("where", is_nothing, call("minimum", exponent, most), exponent)


def _most_exponent(like: Variable) -> Variable:
    """Return an exponent whose exponential is finite in a dtype."""
    return number(np.floor(np.log(float(limits_of(like.type.dtype).max))), like)


def finite(largest: Variable) -> Variable:
    """Return the largest exponents where they are finite, else 0: a constant."""
    found = call("where", call("isfinite", largest), largest, number(0, largest))
    return disconnected_grad(found)


def shifted_terms(terms: Sequence[Variable]) -> tuple[list[Variable], Variable]:
    """Return the exponentials of several variables, and the sum, less the largest."""
    largest = finite(reduce(partial(call, "maximum"), terms))
    powers = [call("exp", call("sub", term, largest)) for term in terms]
    return powers, reduce(partial(call, "add"), powers)


def added_exponents(variable: Variable) -> list[Variable]:
    """Return the exponents of a sum of exponentials one by one; none for others.

    Terms may be positive numbers; a one beside one exponential is left to sigmoids.
    """
    exponents: list[Variable] = []
    waiting = [variable]
    while waiting:
        current = waiting.pop()
        terms, exponent = match(current, "add"), argument(current, "exp")
        value = constant_of(current)
        if value is not None and np.isrealobj(value) and 0 < value < np.inf:
            exponent = number(np.log(float(value)), variable)
        if (terms is None and exponent is None) or len(exponents) == MOST_TERMS:
            return []
        exponents += [] if exponent is None else [exponent]
        waiting += reversed(terms or ())
    if len(exponents) == 2 and any(is_constant(exponent, 0) for exponent in exponents):
        return []
    return [] if are_shifted(exponents) else exponents


def are_shifted(exponents: Sequence[Variable]) -> bool:
    """True if one variable is subtracted from each exponent."""
    shifts = [_shift_of(exponent) for exponent in exponents]
    return all(shift is not None and shift is shifts[0] for shift in shifts)


def _shift_of(exponent: Variable) -> Variable | None:
    """Return ``u`` of ``y - u``, and of ``-(y + u)`` a largest exponent; else None."""
    difference, negative = match(exponent, "sub"), argument(exponent, "neg")
    if difference is not None:
        return difference[1] if constant_of(difference[1]) is None else None
    if negative is None:
        return None
    terms = match(negative, "add") or (negative,)
    return next((term for term in terms if _is_largest(term)), None)


def _is_largest(variable: Variable) -> bool:
    """True if a variable is a largest exponent, as `finite` returns it."""
    owner = variable.owner
    if owner is not None and isinstance(owner.op, DisconnectedGrad):
        variable = owner.inputs[0]
    args = match(variable, "where")
    return args is not None and match(args[0], "isfinite") is not None


def exponent_of_share(variable: Variable) -> Variable | None:
    """Return ``x`` if a variable is ``exp(x)`` divided by its sum; None for others."""
    args = match(variable, "true_div")
    total = None if args is None else sum_of_exponentials(args[1])
    if args is None or total is None or not total.is_kept:
        return None
    exponent = argument(args[0], "exp")
    is_one = exponent is not None and same(exponent, total.exponents)
    return exponent if is_one else None


def known_log(variable: Variable, depth: int = MOST_TERMS) -> Variable | None:
    """Return the logarithm of exponentials, of their sums, products and powers.

    Factors and terms that are numbers must be positive. None for other variables.
    """
    if depth == 0 or not is_float(variable):
        return None
    exponent, total = argument(variable, "exp"), sum_of_exponentials(variable)
    if exponent is not None:
        return exponent
    if total is not None:
        if total.is_shifted():
            return None
        result = logsumexp(total.exponents, total.op.axes)
        return total.kept(result) if total.is_kept else result
    for log_of in (_log_of_part, _log_of_power, _log_of_joined):
        found = log_of(variable, depth)
        if found is not None:
            return found
    return _log_of_hyperbolic(variable)


def _log_of_part(variable: Variable, depth: int) -> Variable | None:
    """Return the logarithm of elements, or of moved axes."""
    owner = variable.owner
    if owner is None or not isinstance(owner.op, PARTS):
        return None
    x, *index = owner.inputs
    whole = known_log(x, depth - 1)
    return None if whole is None else owner.op.make_node(whole, *index).out


def _log_of_power(variable: Variable, depth: int) -> Variable | None:
    power = power_of(variable)
    base = None if power is None else known_log(power[0], depth - 1)
    if base is None or power is None:
        return None
    return call("mul", number(power[1], base), base)


def _log_of_joined(variable: Variable, depth: int) -> Variable | None:
    """Return the logarithm of a sum, a product or a quotient of two."""
    for row, joined in JOINED.items():
        args = match(variable, row)
        if args is not None:
            one = beside_one(args) if row == "add" else None
            terms = args if one is None else [one]
            logs = [_known_log(term, variable, depth - 1) for term in terms]
            found = [log for log in logs if log is not None]
            if len(found) < len(logs):
                return None
            return call(joined, *found) if one is None else call("softplus", *found)
    return None


def power_of(variable: Variable) -> tuple[Variable, float] | None:
    """Return base and exponent of a power of the base's type by a number, not 0."""
    for row, exponent in _POWERS.items():
        base = argument(variable, row)
        if base is not None:
            return base, exponent
    args = match(variable, "power")
    known = None if args is None else constant_of(args[1])
    if args is None or known is None or args[0].type != variable.type:
        return None
    is_usable = not np.iscomplexobj(known) and np.isfinite(known) and known != 0
    return (args[0], float(known)) if is_usable else None


def _log_of_hyperbolic(variable: Variable) -> Variable | None:
    """Return the logarithm of cosh(x), 1 + tanh(x) or 1 - tanh(x)."""
    operand = argument(variable, "cosh")
    if operand is not None:
        two = number(np.log(2.0), operand)
        return call("sub", call("logaddexp", operand, turned(operand)), two)
    operand = tanh_beside_one(variable)
    if operand is None:
        return None
    double = call("mul", number(-2, operand), operand)
    return call("sub", number(np.log(2.0), operand), call("softplus", double))


def tanh_beside_one(variable: Variable) -> Variable | None:
    """Return ``x`` of ``1 + tanh(x)``, ``-x`` of ``1 - tanh(x)``; None for others."""
    terms = match(variable, "add")
    operand = None if terms is None else beside_one(terms)
    inner = None if operand is None else argument(operand, "tanh")
    terms = match(variable, "sub")
    if terms is not None and is_constant(terms[0], 1):
        inner = argument(terms[1], "tanh")
        inner = None if inner is None else turned(inner)
    return inner if inner is not None and inner.type == variable.type else None


def whole_of(variable: Variable) -> Variable:
    """Return the array of which a variable has parts, or moved axes."""
    while variable.owner is not None and isinstance(variable.owner.op, PARTS):
        variable = variable.owner.inputs[0]
    return variable


def _is_shifted(variable: Variable) -> bool:
    """Return True for parts of a sum of exponentials without the largest exponent."""
    total = sum_of_exponentials(whole_of(variable))
    return total is not None and total.is_shifted()


def _known_log(term: Variable, like: Variable, depth: int) -> Variable | None:
    value = constant_of(term)
    if value is None:
        if term.type.dtype != like.type.dtype:
            return None
        return call("log", term) if _is_shifted(term) else known_log(term, depth)
    is_positive = not np.iscomplexobj(value) and 0 < value < np.inf
    return number(np.log(float(value)), like) if is_positive else None


def logsumexp(
    x: Variable, axes: Sequence[int], weights: Variable | None = None
) -> Variable:
    """Return the log of the sum of exponentials over axes, for values of any size."""
    terms = SumOfExponentials(x, Reduce("add", axes), weights=weights)
    _, total = terms.shifted()
    return call("add", call("log", total), terms.largest())


def is_positive(variable: Variable) -> bool:
    """True if the variable is above zero by construction (it may underflow to it)."""
    met = {variable}
    waiting = [variable]
    while waiting:
        current = waiting.pop()
        terms = match(current, "add")
        if terms is None and not _is_positive_itself(current):
            return False
        new = [term for term in terms or () if term not in met]
        met.update(new)
        waiting += reversed(new)
    return True


def _is_positive_itself(variable: Variable) -> bool:
    value, owner = constant_of(variable), variable.owner
    if value is not None:
        return not np.iscomplexobj(value) and bool(value > 0)
    if owner is None:
        return False
    return isinstance(owner.op, Softmax) or row_of_op(owner.op) in _POSITIVE
