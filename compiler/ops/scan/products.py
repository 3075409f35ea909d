"""Further derivatives of products, exact where elements are 0.

The slope of a product, of `prod` or of running ones, is made of quotients, and of
choices where elements are 0. They have its values, but not its derivatives: where one
element is 0, the slopes at the others depend on it. A product's derivative in a
direction is a recurrence without quotients, and what is taken of a slope again is taken
of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as product
from typing import Any

from gpuarray.compiler.graph.core import Apply, Variable, as_variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.control.gradient_markers import Mark
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.scan.body import Body
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.ops.shape.shape import dimshuffle, reshape, shape_i


class SlopeOfProduct(Mark):
    """The slope of products of ``x`` over ``axes``, with the gradient of a recurrence.

    Its inputs are the slope, ``x``, and for running products the gradients of these,
    which the slope is linear in. ``reverse`` is for products from the end.
    """

    __props__ = ("axes", "reverse")

    def __init__(self, axes: Sequence[int], reverse: bool = False) -> None:
        self.axes = tuple(axes)
        self.reverse = reverse

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node of the slope and of what it is computed from."""
        variables = [as_variable(v, str(self)) for v in inputs]
        return Apply(self, variables, [variables[0].type()])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Disconnect the slope itself."""
        return [[place > 0] for place in range(len(node.inputs))]

    def reference(self, slope: Any, *inputs: Any) -> Any:
        """The slope."""
        return slope

    def grad(self, m: Any, g: Variable, y: Variable, *inputs: Variable) -> list[Any]:
        """Return the gradients of the products' derivative in direction ``g``."""

        def along(variables: Sequence[Variable]) -> list[Variable]:
            return [self._derivative(g, *variables)]

        one = math.ones_like(reduce.sum(g))
        return [None, *m.gradients_within(along, [one], inputs[1:])]

    def _derivative(self, direction: Variable, x: Variable, *weights: Any) -> Variable:
        """Return the sum of the products' derivatives in a direction, weighted."""
        rows = self._rows(x)
        final, trace = derivatives_along(rows, self._rows(direction))
        if not weights:
            return reduce.sum(final)
        return reduce.sum(trace * self._rows(weights[0]))

    def _rows(self, x: Variable) -> Variable:
        """Return the factors of all products as rows, the first ones in row 0."""
        rest = [axis for axis in range(x.type.ndim) if axis not in self.axes]
        rows = dimshuffle(x, *self.axes, *rest)
        if len(self.axes) != 1:
            count: Any = product(shape_i(x, axis) for axis in self.axes)
            lengths = [shape_i(x, axis) for axis in rest]
            rows = reshape(rows, [count, *lengths], 1 + len(rest))
        return index(rows, (slice(None, None, -1),)) if self.reverse else rows


def derivatives_along(rows: Variable, direction: Variable) -> tuple[Variable, Variable]:
    """Return the derivative of the product of all rows in a direction.

    And those of the products of the first rows, one after the other.
    """
    kind = TensorType(rows.type.dtype, rows.type.broadcastable[1:])
    factor, change, before, slope = (kind() for _ in range(4))
    after = slope * factor + before * change
    body = Body([factor, change, before, slope], [before * factor, after, after])
    zeros = math.zeros_like(reduce.sum(rows, axis=0))
    loop = Scan(body, 2, 2, name="derivative_of_product")
    count = shape_i(rows, 0)
    _, final, trace = loop(count, rows, direction, math.ones_like(zeros), zeros)
    return final, trace


def slope_of_product(
    slope: Variable,
    x: Variable,
    axes: Sequence[int],
    *weights: Any,
    reverse: bool = False,
) -> Variable:
    """Return the slope of products of ``x`` with derivatives that are exact at zeros.

    ``weights`` are the gradients of running products.
    """
    marked: Variable = SlopeOfProduct(axes, reverse)(slope, x, *weights)
    return marked
