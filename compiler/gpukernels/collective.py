"""Collectives: the plan pauses, and the communicator queues or does the work."""

from __future__ import annotations

from gpuarray.array import Array
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.collective.collectives import COLLECTIVES, Collective


@lowers(*COLLECTIVES)
def lower_collective(op: Collective, node: Apply, k: Lowerer) -> None:
    """Lower to a call at each run, in the order of the plan."""
    label = str(op).partition("{")[0]
    k.call(node, "collective", node.inputs, {"op": op}, recorded=False, label=label)


@step_function("collective")
def collective(x: Array, *, op: Collective) -> Array:
    """Return the result of a collective."""
    if x.context is not op.comm.context:
        raise GraphValueError(
            f"{op}: the array is on {x.context.name!r}, the communicator on "
            f"{op.comm.context.name!r}; compile the function for that context: "
            "config.device"
        )
    return op.run(x)
