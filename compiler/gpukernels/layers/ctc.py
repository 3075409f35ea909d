"""Connectionist temporal classification: a function of the library."""

from __future__ import annotations

from typing import Any

from gpuarray._nn import classification
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.nnet.ctc import ConnectionistTemporalClassification


@step_function("ctc")
def ctc(x: Array, labels: Array, lengths: Array, has_gradient: bool) -> Any:
    """Return the costs of sequences, and their gradients if wanted."""
    found = classification.ctc(x, labels, lengths, has_gradient)
    return found if has_gradient else found[0]


@lowers(ConnectionistTemporalClassification)
def lower_ctc(op: ConnectionistTemporalClassification, node: Apply, k: Lowerer) -> None:
    """Lower to a library step."""
    k.call(node, "ctc", node.inputs, {"has_gradient": op.compute_grad})


@body_of("ctc")
def ctc_steps(
    s: Steps, x: int, labels: int, lengths: int, *, has_gradient: bool
) -> tuple[int, ...]:
    """Add the routine."""
    results = s.outputs[: 1 + has_gradient]
    first = s.routines("ctc", [x, labels, lengths], results)
    return tuple(first + i for i in range(len(results)))
