"""Marks that matter to gradients only: on a device they are not there."""

from __future__ import annotations

from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.control.gradient_markers import Mark


@lowers(Mark)
def mark(op: Mark, node: Apply, k: Lowerer) -> None:
    """The array itself."""
    k.bind(node.outputs[0], k.number(node.inputs[0]))
