"""Gradient markers are dropped once gradients are taken."""

from __future__ import annotations

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.control.gradient_markers import Mark
from gpuarray.compiler.rewrites.engine.engine import rewrite


@rewrite(phase="canonicalize", ops=[Mark])
def drop_mark(node: Apply) -> Variable:
    """Drop a marker, which changes no value.

    zero_grad(x) -> x
    grad_clip(x, -1, 1) + y -> x + y
    """
    return node.inputs[0]
