"""Collectives: recorded where the communicator's engine queues; else called in runs."""

from __future__ import annotations

from typing import Any

from gpuarray import dtypes
from gpuarray._core.context import Context
from gpuarray._distributed.calls import recorded_at
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.calls import FAILURES, step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.collective.collectives import COLLECTIVES, Collective
from gpuarray.compiler.ops.collective.messages import MESSAGES


@lowers(*COLLECTIVES, *MESSAGES)
def lower_collective(op: Collective, node: Apply, k: Lowerer) -> None:
    """Lower to a call in the order of the plan."""
    label = str(op).partition("{")[0]
    options = {"op": op, "line": k.line}
    k.call(node, "collective", node.inputs, options, recorded=True, label=label)


@step_function("collective")
def collective(x: Array, *after: Array, op: Collective, line: str) -> Array:
    """Record a collective, or a call of it in each run, and return its result.

    It runs after what has made ``after``, which is not read. Where a failed run is
    explained, on a device that computes nothing, only its result's shape is wanted.
    """
    if x.context.kind == "null" and x.context.runs_dry:
        return Array.allocate(op.result_shape(x.shape), x.dtype, x.context)
    if x.context is not op.comm.context:
        raise GraphValueError(
            f"{op}: the array is on {x.context.name!r}, the communicator on "
            f"{op.comm.context.name!r}; compile the function for that context: "
            "config.device"
        )
    out = Array.allocate(op.result_shape(x.shape), x.dtype, x.context)
    if op.comm.records:
        with recorded_at(line):
            op.run(x, out)
    else:
        DeferredCollective.of(op).defer(x, out)
    return out


class DeferredCollective:
    """A collective that each run of a plan calls, by way of the communicator.

    Its op holds it, and the plan the op. ``error`` is the exception of the latest call.
    """

    def __init__(self, op: Collective) -> None:
        self.op = op
        self.error: Exception | None = None
        self._handle = ffi.new_handle(self)

    @classmethod
    def of(cls, op: Collective) -> DeferredCollective:
        """Return that of an op."""
        if op.deferred is None:
            op.deferred = cls(op)
        made: DeferredCollective = op.deferred
        return made

    def defer(self, x: Array, out: Array) -> None:
        """Have each run of the plan that is recorded call it."""
        outs, ins = ffi.new("GpuArray *[1]"), ffi.new("const GpuArray *[1]")
        outs[0], ins[0] = out.struct, x.struct
        ints = ffi.new("long long[1]")
        check(lib.GpuPlan_defer(lib.plan_function, self._handle, 1, outs, 1, ins, ints))

    def record(self, outs: Any, ins: Any, ints: Any) -> None:
        """Run it, from C."""
        self.error = None
        self.op.run(self._view(ins[0]), self._view(outs[0]))

    def _view(self, source: Any) -> Array:
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_view(struct, source))
        dtype = dtypes.OF_TYPECODE[struct.typecode]
        return Array.wrap(struct, self.op.comm.context, dtype, struct.typecode)


def failure_of(context: Context, *, op: Collective, line: str) -> Exception | None:
    """Return the error of a collective that ended a run."""
    if op.deferred is not None and op.deferred.error is not None:
        error: Exception = op.deferred.error
        op.deferred.error = None
        return error
    return op.comm.failure(str(op), line)


FAILURES["collective"] = failure_of
