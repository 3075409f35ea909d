"""From a placed graph to a plan: the nodes in order, each lowered to steps."""

from __future__ import annotations

from gpuarray.compiler import gpukernels
from gpuarray.compiler.graph.core import Apply, Constant, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.transfer import GpuFromHost, HostFromGpu
from gpuarray.compiler.plan import Copy, Plan

Lowerer = gpukernels.Lowerer


def origin(node: Apply) -> str:
    """The user's line that made a node, or nothing."""
    return "" if node.trace is None else str(node.trace)


def lower(fgraph: FunctionGraph, name: str) -> Plan:
    """The plan that computes the graph's outputs from its inputs, all on one context.

    Results that the caller keeps on the device never share memory with an input, a constant or one another:
    where they would, a copy is made.
    """
    lowerer = Lowerer(origin)
    for variable in fgraph.inputs:
        lowerer.bind(variable, lowerer.new_value(gpukernels.array_value(variable)))
    for node in fgraph.toposort():
        gpukernels.lower_node(node, lowerer)
    owned: set[Variable] = set()
    outputs = tuple(result(v, fgraph, lowerer, owned) for v in fgraph.outputs)
    return Plan(
        name=name,
        values=tuple(lowerer.values),
        n_inputs=len(fgraph.inputs),
        constants=tuple(lowerer.constants),
        steps=tuple(lowerer.steps),
        outputs=outputs,
    )


def result(
    variable: Variable, fgraph: FunctionGraph, lowerer: Lowerer, owned: set[Variable]
) -> int:
    """The value of an output, copied if its memory belongs to something else."""
    number = lowerer.number(variable)
    if not isinstance(variable.type, GpuArrayType):
        return number
    root = memory_root(variable, fgraph)
    if root.owner is None or isinstance(root, Constant) or root in owned:
        copied = lowerer.new_value(lowerer.values[number])
        lowerer.add(Copy("copy", "", (copied,), (number,)))
        return copied
    owned.add(root)
    return number


def memory_root(variable: Variable, fgraph: FunctionGraph) -> Variable:
    """The variable whose memory ``variable`` lies in; transfers at the edges share it."""
    while True:
        root = fgraph.view_root(variable)
        if root.owner is None or not isinstance(
            root.owner.op, GpuFromHost | HostFromGpu
        ):
            return root
        variable = root.owner.inputs[0]
