"""The notice about operations that fall back to the host."""

from __future__ import annotations

import warnings

from gpuarray.compiler import plan as p
from gpuarray.compiler.config import config
from gpuarray.compiler.debug.failing import node_text
from gpuarray.compiler.derivatives.batching_fallback import MapRows
from gpuarray.compiler.errors import HostOpError, made_at
from gpuarray.compiler.gpukernels.registry import is_python
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.schedule import Lowered
from gpuarray.errors import HostNotice

told: set[str] = set()
"""The ops that a notice was given for."""


def tell_of_host_steps(lowered: Lowered) -> None:
    """Warn of the nodes of a plan that NumPy or Python computes on the host.

    An op without a device version gives one HostNotice; an op that the program wrote
    in Python gives none. The setting ``assert_no_cpu_op`` may ask for a warning or an
    error for either.
    """
    for body in lowered.bodies.values():
        tell_of_host_steps(body)
    reaction = config.assert_no_cpu_op
    for step, node in zip(lowered.plan.steps, lowered.nodes, strict=True):
        if node is None or not isinstance(step, p.Call) or step.function != "reference":
            continue
        if reaction == "raise":
            raise HostOpError(
                made_at(
                    f"function: {node_text(node)} runs on the host, in Python, and "
                    "assert_no_cpu_op is 'raise'; give the op a device version with "
                    "gpukernels.lowers, or set it to 'ignore'",
                    node.trace,
                )
            )
        if reaction == "warn":
            message = f"function: {node_text(node)} runs on the host, in Python"
            warnings.warn(made_at(message, node.trace), HostNotice, stacklevel=3)
        elif not is_python(op := computed(node)):
            _tell_once(op)


def computed(node: Apply) -> Op:
    """Return the node's op; for a map over rows the op of a row."""
    return node.op.op if isinstance(node.op, MapRows) else node.op


def _tell_once(op: Op) -> None:
    name = type(op).__name__.removeprefix("Gpu")
    if name in told:
        return
    told.add(name)
    warnings.warn(
        f"function: {name} has no device version, so NumPy computes it on the host; "
        "silence this with "
        "warnings.filterwarnings('ignore', category=gpuarray.HostNotice)",
        HostNotice,
        stacklevel=4,
    )
