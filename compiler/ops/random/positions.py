"""The numbers of the elements of an array, of which random numbers are functions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.shape.shape import elements, lengths_of_result

DTYPE = "uint64"


def positions_in(shape: Sequence[int]) -> Any:
    """Return the numbers of the elements of a shape, with NumPy."""
    return np.arange(np.prod(shape, dtype="int64"), dtype=DTYPE).reshape(shape)


class Positions(Op):
    """The number of each element of an array of these lengths, in C order."""

    __props__ = ()

    def make_node(self, *shape: Any) -> Apply:
        """Return a node over the lengths, scalars or one vector."""
        vector, pattern = lengths_of_result("Positions", shape)
        return Apply(self, [vector], [TensorType(DTYPE, pattern)()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return (0,)

    def reference(self, lengths: Any) -> Any:
        """The numbers with NumPy."""
        return positions_in(tuple(int(length) for length in lengths))

    def do_constant_folding(self, node: Apply) -> bool:
        """Return False: a constant would take memory."""
        return False

    def grad(self, m: Any, g: Variable, y: Variable, lengths: Variable) -> None:
        """Nothing: lengths are integers."""

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the lengths."""
        return [tuple(elements(node.inputs[0]) or ())]


class ImpliedPositions(Positions):
    """Positions that kernels compute of the place they are at: no array has them.

    Elementwise kernels, reductions and row programs alone may read them. The step makes
    an array of the shape.
    """


def are_positions(variable: Variable) -> bool:
    """True for positions, implied or in memory."""
    owner = variable.owner
    return owner is not None and isinstance(owner.op, Positions)


def reads_positions(node: Apply) -> bool:
    """True for a node that computes by the place of its elements."""
    return any(map(are_positions, node.inputs))


def is_implied(variable: Variable) -> bool:
    """True for positions that take no memory."""
    owner = variable.owner
    return owner is not None and isinstance(owner.op, ImpliedPositions)
