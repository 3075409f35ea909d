"""Running sums and products, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError, GraphValueError
from gpuarray.compiler.graph.core import Apply, SameShapeOp, Variable
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.shape.shape import flatten
from gpuarray.compiler.ops.variables.basic import (
    as_tensor_variable,
    known_integer,
    normalise_axis,
)

FUNCTIONS = {"add": "cumsum", "mul": "cumprod"}


class CumOp(SameShapeOp):
    """The running fold along ``axis``: sums or products of the elements so far.

    Without an axis the elements are read as a vector. ``mode`` is ``"add"`` or
    ``"mul"``; ``reverse`` folds from the end.
    """

    __props__ = ("axis", "mode", "reverse")

    def __init__(
        self, axis: int | None = None, mode: str = "add", reverse: bool = False
    ) -> None:
        if mode not in FUNCTIONS:
            raise GraphValueError(
                f"CumOp: mode is {mode!r}, expected one of {sorted(FUNCTIONS)}"
            )
        self.axis: Any = axis
        self.mode = mode
        self.reverse = reverse

    def make_node(self, x: Any) -> Apply:
        """A node over an array of numbers with one axis or more."""
        variable = as_tensor_variable(x)
        if self.axis is None:
            variable = flatten(variable)
        along = 0 if self.axis is None else self.axis
        axis = normalise_axis(FUNCTIONS[self.mode], along, variable.type.ndim)
        if variable.type.dtype == "bool":
            variable = math.cast(variable, "int64")
        op = type(self)(axis, self.mode, self.reverse)
        return Apply(op, [variable], [variable.type.clone()()])

    def reference(self, x: Any) -> Any:
        """The running fold with NumPy; float16 is folded in float32."""
        is_narrow = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        wide = x.astype(np.float32) if is_narrow else x
        ordered = np.flip(wide, self.axis) if self.reverse else wide
        fold = np.cumsum if self.mode == "add" else np.cumprod
        with np.errstate(all="ignore"):
            result = fold(ordered, axis=self.axis, dtype=wide.dtype)
            result = np.flip(result, self.axis) if self.reverse else result
            return np.ascontiguousarray(result).reshape(x.shape).astype(x.dtype)

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """The fold of gradients from each element on, to which it contributes."""
        back = type(self)(self.axis, "add", not self.reverse)
        if self.mode == "add":
            flowing: Variable = back(g)
            return flowing
        return self._grad_of_product(m, g, y, x, back)

    def _grad_of_product(self, m: Any, g: Any, y: Any, x: Any, back: CumOp) -> Variable:
        """Return the gradient, exact also for elements that are 0.

        Before the first 0 the product of the others is the quotient; for the first 0 it
        is the product without it; after it, it is 0.
        """
        is_zero = m.eq(x, 0)
        zeros = type(self)(self.axis, "add", self.reverse)(m.cast(is_zero, "int64"))
        is_first = m.and_(is_zero, m.eq(zeros, 1))
        without = m.where(is_first, m.ones_like(x), x)
        divisor = m.where(is_zero, m.ones_like(x), x)
        at_first = back(m.times(g, self(without)))
        slope = m.where(
            m.eq(zeros, 0),
            m.over(back(m.times(g, y)), divisor),
            m.where(is_first, at_first, m.zeros_like(x)),
        )
        marked: Variable = m.slope_of_product(
            slope, x, (self.axis,), g, reverse=self.reverse
        )
        return marked

    def __str__(self) -> str:
        way = ", reverse" if self.reverse else ""
        return f"CumOp{{{self.axis}, {self.mode}{way}}}"


def _cumulated(x: Any, axis: Any, mode: str) -> Variable:
    along = None if axis is None else known_integer(FUNCTIONS[mode], "axis", axis)
    result: Variable = CumOp(along, mode)(x)
    return result


def cumsum(x: Any, axis: Any = None) -> Variable:
    """Return the running sums along ``axis`` (None: of all elements).

    They have the dtype of ``x``; bools are summed as int64.
    """
    return _cumulated(x, axis, "add")


def cumprod(x: Any, axis: Any = None) -> Variable:
    """Return the running products along ``axis``, as ``cumsum``."""
    return _cumulated(x, axis, "mul")


def diff(x: Any, n: Any = 1, axis: Any = -1) -> Variable:
    """Return the differences of neighbours along ``axis``, taken ``n`` times.

    Each time the axis gets shorter by one. For bools it is whether they differ.
    """
    variable = as_tensor_variable(x)
    times = known_integer("diff", "n", n)
    if times < 0:
        raise GraphValueError(f"diff: n is {times}, expected 0 or more")
    if variable.type.ndim == 0:
        raise GraphArgumentError(f"diff: given {variable}, a scalar; expected an axis")
    along = known_integer("diff", "axis", axis)
    before = (slice(None),) * normalise_axis("diff", along, variable.type.ndim)
    for _ in range(times):
        later = index(variable, (*before, slice(1, None)))
        earlier = index(variable, (*before, slice(None, -1)))
        differ = math.ne if variable.type.dtype == "bool" else math.sub
        variable = differ(later, earlier)
    return variable
