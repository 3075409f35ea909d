"""Positions of elements: implied by a kernel's place, or an array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.creation import counted
from gpuarray.compiler.gpukernels.registry import Lowerer, lowered_by_call, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.random.positions import DTYPE, ImpliedPositions, Positions


@step_function("positions")
def positions(lengths: Sequence[int]) -> Array:
    """Return the numbers of the elements of a shape."""
    total = int(np.prod([max(length, 0) for length in lengths], dtype="int64"))
    numbers: Array = counted(total, DTYPE).reshape(tuple(lengths))
    return numbers


@body_of("positions")
def positions_steps(s: Steps, lengths: Sequence[int]) -> int:
    """Add a range and a reshape."""
    total = s.integer(1)
    for length in lengths:
        total = s.arithmetic("mul", total, length)
    numbers = s.routine("arange", [total], DTYPE, 1)
    return s.reshape(numbers, lengths)


lowered_by_call(Positions, "positions")


@lowers(ImpliedPositions)
def lower_implied(op: ImpliedPositions, node: Apply, k: Lowerer) -> None:
    """Lower to a view of one byte in the shape, which no kernel reads."""
    one = k.constant(np.zeros((), "int8"), plan.ArrayValue("int8", ()))
    ndim = node.outputs[0].type.ndim
    ins = (one, *k.integers(node.inputs[0], ndim))
    value = plan.ArrayValue("int8", node.outputs[0].type.broadcastable)
    number = k.new_value(value)
    k.bind(node.outputs[0], number)
    k.add(plan.Broadcast("positions", k.origin(node), (number,), ins))
