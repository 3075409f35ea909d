"""Printing and checking values: the plan pauses, and the host looks at them."""

from __future__ import annotations

import numpy as np
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.debugging import Assert, Print


@lowers(Print, Assert)
def lower(op: Print | Assert, node: Apply, k: Lowerer) -> None:
    """A call on real arrays; the plan hands on the array itself."""
    name = "print" if isinstance(op, Print) else "assert"
    k.call(node, name, node.inputs, {"op": op}, recorded=False)


@step_function("print")
def print_array(x: Array, *, op: Print) -> Array:
    """``x``, after printing its value."""
    op.show(np.asarray(x))
    return x


@step_function("assert")
def check(x: Array, *conditions: Array | int, op: Assert) -> Array:
    """``x``. Raises AssertionError unless all conditions are true."""
    op.check(*conditions)
    return x
