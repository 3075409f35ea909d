"""Sums and products of sparse matrices of the same places: of their values alone."""

from __future__ import annotations

from collections.abc import Sequence

from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.sparse.products import Matches, Merged
from gpuarray.compiler.ops.sparse.steps import SameLength
from gpuarray.compiler.ops.sparse.types import INDEX
from gpuarray.compiler.rewrites.engine.engine import Log, graph_pass


@graph_pass(phase="specialize")
def merge_values_of_same_places(fgraph: FunctionGraph, log: Log) -> bool:
    """Add or multiply the values of matrices of the same places, without a merge."""
    changed = False
    for node in fgraph.toposort():
        for before, after in zip(node.outputs, without_merge(node), strict=False):
            if before is not after and before.type == after.type:
                log.note("merge_values_of_same_places", before, after)
                fgraph.replace(before, after, reason="merge_values_of_same_places")
                changed = True
    return changed


def without_merge(node: Apply) -> Sequence[Variable]:
    """Return what a node gives of matrices of the same places; nothing if they differ.

    Their rows are in order without duplicates, so each value meets one.
    """
    op = node.op
    if isinstance(op, SameLength) and node.inputs[1] is node.inputs[2]:
        return node.inputs[:1]
    if not isinstance(op, Matches | Merged):
        return []
    a, indices, indptr, b, *others = node.inputs[:6]
    if others[0] is not indices or others[1] is not indptr:
        return []
    if isinstance(op, Matches):
        return [math.cast(arange(shape_i(a, 0) + 1), INDEX)]
    values = math.FUNCTIONS["mul" if op.is_product else "add"](a, b)
    return [values, indices, indptr]
