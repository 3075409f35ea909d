"""From a placed graph to a plan: the nodes in order, each lowered to steps."""

from __future__ import annotations

from gpuarray.compiler.gpukernels import Lowerer, array_value, lower_node
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.broadcast import BroadcastTo
from gpuarray.compiler.plan import Copy, IntValue, Plan


def lower(fgraph: FunctionGraph, name: str) -> Plan:
    """The plan that computes the graph's outputs from its inputs, all on one context.

    Results that the caller keeps on the device never share memory with an input, a
    constant or one another, nor within themselves: where they would, a copy is made.
    """
    lowerer = Lowerer(fgraph.outputs)
    for variable in fgraph.inputs:
        is_int = getattr(variable.tag, "is_host_int", False)
        value = IntValue() if is_int else array_value(variable)
        lowerer.bind(variable, lowerer.new_value(value))
    for node in fgraph.toposort():
        lower_node(node, lowerer)
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
    root = fgraph.view_root(variable)
    if root.owner is None or root in owned or is_repeated(variable):
        copied = lowerer.new_value(lowerer.values[number])
        lowerer.add(Copy("copy", lowerer.origin(variable), (copied,), (number,)))
        return copied
    owned.add(root)
    return number


def is_repeated(variable: Variable) -> bool:
    """Whether the variable is a view in which elements share a place."""
    while variable.owner is not None and variable.owner.op.view_map.get(
        variable.index or 0
    ):
        if isinstance(variable.owner.op, BroadcastTo):
            return True
        variable = variable.owner.inputs[0]
    return False
