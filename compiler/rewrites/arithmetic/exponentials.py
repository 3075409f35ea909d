"""Sums of exponentials, from which the largest exponent is taken, and logarithms.

The largest exponent is a constant to derivatives: it cancels in every one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.control.gradient_markers import disconnected_grad
from gpuarray.compiler.ops.index.advanced import AdvancedSubtensor
from gpuarray.compiler.ops.nnet.nnet import FirstOf, Pick
from gpuarray.compiler.ops.reduce.reduce import Reduce, keep_dims
from gpuarray.compiler.ops.shape.shape import DimShuffle, Order, Reshape
from gpuarray.compiler.ops.slicing.subtensor import Subtensor
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    call,
    constant_of,
    is_float,
    match,
    number,
    same,
    with_constant,
)

PARTS = (AdvancedSubtensor, DimShuffle, FirstOf, Pick, Reshape, Subtensor)
"""Ops whose result has elements of their first input, by what further ones say."""
_MOST_TERMS = 16
_JOINED = {"add": "logaddexp", "mul": "add", "true_div": "sub"}
"""The row that joins logarithms of the operands of a row."""


class SumOfExponentials(NamedTuple):
    """``op(exp(exponents))``, a sum; ``is_kept``: the axes are put back."""

    exponents: Variable
    op: Reduce
    is_kept: bool = False

    def kept(self, reduced: Variable) -> Variable:
        """Return a value of each sum, with the axes of the exponents."""
        return keep_dims(reduced, self.op.axes, self.exponents.type.ndim)

    def is_shifted(self) -> bool:
        """True if the exponents are ``y - u`` or ``-(y + u)``, with one ``u`` a sum."""
        x = self.exponents
        shift, negated_sum = match(x, "sub"), argument(x, "neg")
        shifts = list(shift[1:]) if shift is not None else []
        if negated_sum is not None:
            shifts += match(negated_sum, "add") or ()
        patterns = [shift_by.type.broadcastable for shift_by in shifts]
        return any(all(pattern[i] for i in self.op.axes) for pattern in patterns)

    def shifted(self) -> tuple[Variable, Variable]:
        """Return the exponentials and their sum, both divided by the largest one."""
        largest = self.kept(pivot(self.exponents, self.op.axes))
        power = call("exp", call("sub", self.exponents, largest))
        total = self.op(power)
        return power, self.kept(total) if self.is_kept else total


def sum_of_exponentials(variable: Variable) -> SumOfExponentials | None:
    """Return what a variable sums, if it is a sum of exponentials in their dtype."""
    owner = variable.owner
    if owner is not None and isinstance(owner.op, DimShuffle):
        (reduced,) = owner.inputs
        if not puts_back(owner.op.new_order, reduced):
            return None
        total = sum_of_exponentials(reduced)
        return None if total is None else total._replace(is_kept=True)
    if owner is None or not isinstance(owner.op, Reduce) or owner.op.monoid != "add":
        return None
    x = argument(owner.inputs[0], "exp")
    if x is None or x.type.dtype != variable.type.dtype:
        return None
    return SumOfExponentials(x, owner.op)


def puts_back(order: Order, reduced: Variable) -> bool:
    """True if a dimshuffle puts the axes back that a sum of exponentials reduced."""
    total = sum_of_exponentials(reduced)
    if total is None or total.is_kept:
        return False
    kept = total.kept(reduced).owner
    return (
        kept is not None
        and isinstance(kept.op, DimShuffle)
        and kept.op.new_order == order
    )


def pivot(x: Variable, axes: Sequence[int]) -> Variable:
    """Return the largest element along axes where it is finite, else 0."""
    return _finite(Reduce("maximum", axes, of_none=True)(x))


def _finite(largest: Variable) -> Variable:
    found = call("where", call("isfinite", largest), largest, number(0, largest))
    return disconnected_grad(found)


def shifted_terms(terms: Sequence[Variable]) -> tuple[list[Variable], Variable]:
    """Return the exponentials of several variables, and the sum, less the largest."""
    largest = _finite(reduce(partial(call, "maximum"), terms))
    powers = [call("exp", call("sub", term, largest)) for term in terms]
    return powers, reduce(partial(call, "add"), powers)


def added_exponents(variable: Variable) -> list[Variable]:
    """Return the exponents of a sum of exponentials one by one; none for others."""
    exponents: list[Variable] = []
    waiting = [variable]
    while waiting:
        current = waiting.pop()
        terms, exponent = match(current, "add"), argument(current, "exp")
        if (terms is None and exponent is None) or len(exponents) == _MOST_TERMS:
            return []
        exponents += [] if exponent is None else [exponent]
        waiting += reversed(terms or ())
    shifts = [match(exponent, "sub") for exponent in exponents]
    is_shifted = all(shift and shift[1] is shifts[0][1] for shift in shifts)  # type: ignore[index]
    return [] if is_shifted else exponents


def exponent_of_share(variable: Variable) -> Variable | None:
    """Return ``x`` if a variable is ``exp(x)`` divided by its sum; None for others."""
    args = match(variable, "true_div")
    total = None if args is None else sum_of_exponentials(args[1])
    if args is None or total is None or not total.is_kept:
        return None
    exponent = argument(args[0], "exp")
    is_one = exponent is not None and same(exponent, total.exponents)
    return exponent if is_one else None


def known_log(variable: Variable, depth: int = _MOST_TERMS) -> Variable | None:
    """Return the logarithm of exponentials, of their sums, products and multiples.

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
    owner = variable.owner
    if owner is not None and isinstance(owner.op, PARTS):
        x, *index = owner.inputs
        whole = known_log(x, depth - 1)
        return None if whole is None else owner.op.make_node(whole, *index).out
    for row, joined in _JOINED.items():
        args = match(variable, row)
        if args is not None:
            one = with_constant(args, 1) if row == "add" else None
            terms = args if one is None else [one]
            logs = [_known_log(term, variable, depth - 1) for term in terms]
            found = [log for log in logs if log is not None]
            if len(found) < len(logs):
                return None
            return call(joined, *found) if one is None else call("softplus", *found)
    return None


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


def logsumexp(x: Variable, axes: Sequence[int]) -> Variable:
    """Return the log of the sum of exponentials over axes, for values of any size."""
    largest = pivot(x, axes)
    shifted = call("exp", call("sub", x, keep_dims(largest, axes, x.type.ndim)))
    total = Reduce("add", axes)(shifted)
    return call("add", call("log", total), largest)
