"""Sums of exponentials along axes, from which the largest exponent is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.reduce.reduce import Reduce, keep_dims
from gpuarray.compiler.ops.shape.shape import DimShuffle, Order
from gpuarray.compiler.rewrites.engine.patterns import argument, call, match, number


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
    largest = Reduce("maximum", axes, of_none=True)(x)
    return call("where", call("isfinite", largest), largest, number(0, largest))


def logsumexp(x: Variable, axes: Sequence[int]) -> Variable:
    """Return the log of the sum of exponentials over axes, for values of any size."""
    largest = pivot(x, axes)
    shifted = call("exp", call("sub", x, keep_dims(largest, axes, x.type.ndim)))
    total = Reduce("add", axes)(shifted)
    return call("add", call("log", total), largest)
