"""Assertions that hold are dropped."""

from __future__ import annotations

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.control.debugging import Assert, Require
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import constant_of


@rewrite(phase="canonicalize", ops=[Assert, Require])
def drop_true_conditions(node: Apply) -> Variable | None:
    """Drop conditions that hold, and repeated ones.

    assert_op(x, constant(1)) -> x
    assert_op(x, a, constant(True), a) -> assert_op(x, a)
    """
    x, *conditions = node.inputs
    # nan counts as true, for it is not 0.
    remaining = [
        condition
        for condition in dict.fromkeys(conditions)
        if constant_of(condition) is None or constant_of(condition) == 0
    ]
    if len(remaining) == len(conditions):
        return None
    checked: Variable = node.op(x, *remaining) if remaining else x
    return checked
