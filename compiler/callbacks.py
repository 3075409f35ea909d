"""Functions of steps, which the executor calls back while it records a plan."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from gpuarray import dtypes
from gpuarray._core.context import Context
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels import STEP_FUNCTIONS


class FunctionRecorder:
    """The callback by which the executor records a function's step.

    ``error`` is the exception that ended the latest call, if one did.
    """

    def __init__(self, step: p.Call, plan: p.Plan, context: Context) -> None:
        self.step = step
        self.context = context
        self.is_int = [isinstance(plan.values[n], p.IntValue) for n in step.ins]
        self.handle = ffi.new_handle(self)
        self.error: BaseException | None = None

    def record(self, outs: Any, ins: Any, ints: Any) -> None:
        """Run the function on arrays without memory."""
        values = [
            ints[i] if is_int else self._view(ins[i])
            for i, is_int in enumerate(self.is_int)
        ]
        for i, result in enumerate(call(self.step, values, self.context)):
            check(lib.GpuArray_view(outs[i], result.struct))

    def _view(self, source: Any) -> Array:
        struct = ffi.new(ARRAY)
        check(lib.GpuArray_view(struct, source))
        dtype = dtypes.OF_TYPECODE[struct.typecode]
        return Array.wrap(struct, self.context, dtype, struct.typecode)


def _keep_error(_kind: Any, error: BaseException, trace: Any) -> None:
    """Save the exception of `plan_function`, also an interrupt, for the caller."""
    if trace is not None:
        recorder: FunctionRecorder = ffi.from_handle(trace.tb_frame.f_locals["data"])
        # The frames hold arrays without memory, which end with the recording.
        recorder.error = error.with_traceback(None)
        error.__context__ = None


@ffi.def_extern(error=int(lib.GA_VALUE_ERROR), onerror=_keep_error)  # type: ignore[untyped-decorator]
def plan_function(data: Any, outs: Any, ins: Any, ints: Any) -> int:
    """Call a step's function, from C while a plan is bound; return a status.

    Its exception is saved.
    """
    ffi.from_handle(data).record(outs, ins, ints)
    return 0


def call(step: p.Call, values: Sequence[Any], context: Context) -> tuple[Array, ...]:
    """Return the results of a step's function, with ``context`` the current one."""
    arguments = grouped(step, values)
    with context:
        results = STEP_FUNCTIONS[step.function](*arguments, **dict(step.options))
    return results if isinstance(results, tuple) else (results,)


def grouped(step: p.Call, values: Sequence[Any]) -> Sequence[Any]:
    """Return the arguments of a step's function: the values, some of them as tuples."""
    if all(count < 0 for count in step.groups):
        return values
    rest = iter(values)
    return [
        next(rest) if count < 0 else tuple(islice(rest, count)) for count in step.groups
    ]
