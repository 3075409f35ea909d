"""Groups: the graphs inside nodes: fused operations, bodies of loops, ops of graphs."""

from __future__ import annotations

from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.custom.fromgraph import OpFromGraph
from gpuarray.compiler.ops.elemwise.elemwise import Composite, Elemwise
from gpuarray.compiler.ops.fused.mapreduce import MapReduce
from gpuarray.compiler.ops.fused.rowwise import Rowwise
from gpuarray.compiler.ops.scan.scan import Scan


def inner_graph(node: Apply) -> FunctionGraph | None:
    """Return the graph inside a node, None for nodes without one.

    It is that of the fused operations, of an iteration of a loop, or of an
    `OpFromGraph`.
    """
    if isinstance(node.op, Scan):
        return body_graph(node.op)
    if isinstance(node.op, OpFromGraph):
        op = node.op
        return FunctionGraph([*op.inner_inputs, *op.captured], op.inner_outputs)
    return fused_graph(node)


def body_graph(loop: Scan) -> FunctionGraph:
    """Return the graph of an iteration, as placed on a context if it was."""
    graph: FunctionGraph = loop.placed_body or loop.body.graph
    return graph


def fused_graph(node: Apply) -> FunctionGraph | None:
    """Return the operations that a node was fused from, None for other nodes.

    The inputs are named ``i0``, ``i1``, ... in the order of the node's.
    """
    op = node.op
    if isinstance(op, Rowwise):
        inputs = [
            variable.type(f"i{index}") for index, variable in enumerate(node.inputs)
        ]
        return FunctionGraph(inputs, op.program.unfold(inputs))
    if not isinstance(op, Elemwise | MapReduce):
        return None
    scalar = op.scalar if isinstance(op, Elemwise) else op.composite
    if not isinstance(scalar, Composite) and isinstance(op, Elemwise):
        return None
    ndim = max((variable.type.ndim for variable in node.inputs), default=0)
    inputs = []
    for index, variable in enumerate(node.inputs):
        pattern = (True,) * (ndim - variable.type.ndim) + variable.type.broadcastable
        inputs.append(TensorType(variable.type.dtype, pattern)(f"i{index}"))
    if isinstance(scalar, Composite):
        outputs = scalar.unfold(inputs)
    else:
        outputs = [Elemwise(scalar)(*inputs)]
    if isinstance(op, MapReduce):
        outputs = [op.reduce(outputs[0])]
    return FunctionGraph(inputs, outputs)
