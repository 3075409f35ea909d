"""Branches: the plan computes one side of a conditional and chooses it."""

from __future__ import annotations

from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.control.ifelse import IfElse
from gpuarray.compiler.plan import Choose


@lowers(IfElse)
def lower_ifelse(op: IfElse, node: Apply, k: Lowerer) -> None:
    """Lower to a choice for each output; the sides' own steps run conditionally."""
    condition = k.integer(node.inputs[0])
    for index, out in enumerate(k.outputs(node)):
        sides = k.inputs(node.inputs[place] for place in op.places(index))
        k.add(Choose("if", k.origin(node), (out,), (condition, *sides)))
