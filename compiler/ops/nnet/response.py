"""Local response normalisation: over the sum of squares of neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError, GraphValueError
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Op, Variable, is_float
from gpuarray.compiler.graph.op import Gradients, Variables
from gpuarray.compiler.ops.creation.creation import alloc
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.nnet.normalisation import work_of
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


class SumOfNeighbours(Op):
    """The sums over each channel, ``before`` channels before it and ``after`` behind.

    Channels are axis 1; beyond the first and the last there are zeros.
    """

    __props__ = ("before", "after")

    is_graph = True

    def __init__(self, before: int, after: int) -> None:
        self.before = before
        self.after = after

    def infer(self, x: Any) -> Any:
        """The type of ``x``."""
        return x.clone(broadcastable=self._pattern(x.broadcastable))

    def _pattern(self, flags: Sequence[bool]) -> tuple[bool, ...]:
        return (flags[0], False, *flags[2:])

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the sum of shifted views of the array with zeros around."""
        (x,) = inputs
        zero = core.constant(0, x.type.dtype)
        lengths = [shape_i(x, axis) for axis in range(x.type.ndim)]
        ends = [
            alloc(zero, lengths[0], count, *lengths[2:])
            for count in (self.before, self.after)
        ]
        whole = join(1, ends[0], x, ends[1])
        views = [
            whole[:, first : first + lengths[1]]
            for first in range(self.before + self.after + 1)
        ]
        return [math.add(*views) if views[1:] else views[0]]

    def reference(self, x: Any) -> Any:
        """Return the sums with NumPy."""
        ends = [(0, 0)] * x.ndim
        ends[1] = self.before, self.after
        whole = np.pad(x, ends)
        total = np.zeros_like(x)
        for first in range(self.before + self.after + 1):
            total += whole[:, first : first + x.shape[1]]
        return total

    def lop(
        self, inputs: Variables, outputs: Variables, output_gradients: Gradients
    ) -> Gradients:
        """Return the sums over the channels that an element is in the sum of."""
        return [SumOfNeighbours(self.after, self.before)(output_gradients[0])]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the shape of the array."""
        return [tuple(input_shapes[0])]


def local_response_normalization(
    x: Any, n: int = 5, k: Any = 2, alpha: Any = 1e-4, beta: Any = 0.75
) -> Variable:
    """Return ``x / (k + alpha / n * squares) ** beta``.

    ``squares`` are the sum of the squares of ``n`` channels, axis 1, around each, of
    which zeros are beyond the first and the last; one more before it where ``n`` is
    even. The result has the dtype of ``x``; 16-bit floats are computed in float32.
    """
    name = "local_response_normalization"
    array = as_tensor_variable(x)
    if array.type.ndim < 2 or not is_float(array):
        raise GraphArgumentError(
            f"{name}: given x {array} of {array.type}, expected floats of at least 2 "
            "axes: batch and channels"
        )
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise GraphValueError(
            f"{name}: given n {n!r}, expected a number of channels, 1 or more"
        )
    work = work_of(array)
    wide = math.cast(array, work)
    numbers = [math.cast(as_tensor_variable(value), work) for value in (k, alpha, beta)]
    squares = SumOfNeighbours(n // 2, (n - 1) // 2)(math.square(wide))
    base = numbers[0] + numbers[1] / core.constant(n, work) * squares
    return math.cast(wide * math.power(base, -numbers[2]), array.type.dtype)
