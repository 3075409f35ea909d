"""Requirements of lengths: views that fail when the plan is bound."""

from __future__ import annotations

import numpy as np
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.slicing.requirements import Requires

ONE = plan.ArrayValue("int8", (True,))
SOME = plan.ArrayValue("int8", (False,))


@lowers(Requires)
def requires(op: Requires, node: Apply, k: Lowerer) -> None:
    """Lower to the array itself, and a view that fails unless the lengths fit."""
    x, *integers = node.inputs
    left, right = map(k.integer, integers)
    number, origin = k.constant(np.zeros(1, "int8"), ONE), k.origin(node)
    repeated = k.new_value(SOME)
    length = right if op.relation == "within" else left
    k.add(plan.Broadcast(op.called, origin, (repeated,), (number, length)))
    if op.relation == "within":
        view = k.new_value(plan.ArrayValue("int8", ()))
        k.add(plan.Index(op.called, origin, (view,), (repeated, left), (None,)))
    else:
        view = k.new_value(SOME)
        k.add(plan.ReshapeStep(op.called, origin, (view,), (repeated, right)))
    k.bind(node.outputs[0], k.number(x))
