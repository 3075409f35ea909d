"""Products of a loop's iterations that its gradient reads instead of computing them."""

from __future__ import annotations

from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.scan.scan import ALL, Scan


def kept_products(op: Scan) -> list[Variable]:
    """Return the products of a body by loop invariants, of what iterations change.

    Their traces take as much memory as the gradient would for all of them at once. None
    of a loop of segments, which is there to save memory, and of one whose gradient goes
    back a few iterations only.
    """
    if op.is_of_segments or op.checkpoint is not None or op.truncate_gradient != ALL:
        return []
    body = op.body
    moving = set(body.inputs[: op.n_sequences + op.n_states])
    products = []
    for node in body.nodes:
        sides = [x in moving for x in node.inputs]
        if any(sides):
            moving.update(node.outputs)
        if isinstance(node.op, Dot) and sides[0] != sides[1]:
            products.append(node.outputs[0])
    return products
