"""One operation for each row: the step function that the operation has, row by row.

It is recorded with what it launches, so a run of the plan does not come back to Python
for each row. What is no step function runs on the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuarray.array import Array
from gpuarray.compiler.derivatives.maprows import MapRows, row_type
from gpuarray.compiler.gpukernels.calls import STEP_FUNCTIONS, step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowering_of, lowers
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType
from gpuarray.context import current_context
from gpuarray.creation import empty, zeros
from gpuarray.joining import stack


class NoStepFunction(Exception):
    """A lowering does more than to name a step function."""


class Recorder:
    """Takes the place of a Lowerer and notes the step function that is named."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[Variable], dict[str, Any], bool]] = []

    def call(
        self,
        node: Apply,
        function: str,
        variables: Sequence[Variable],
        options: Mapping[str, Any] | None = None,
        *,
        recorded: bool = True,
        inplace: Sequence[int] = (),
        label: str = "",
    ) -> None:
        """Note the function, what it takes, and whether it can be recorded."""
        self.calls.append((function, list(variables), dict(options or {}), recorded))

    def __getattr__(self, name: str) -> Any:
        raise NoStepFunction(name)


@lowers(MapRows)
def lower_map_rows(op: MapRows, node: Apply, k: Lowerer) -> None:
    """The op's own step function for each row, or the reference of all rows."""
    inner = Apply(
        op.op,
        [
            row_type(each.type)() if flag else each
            for each, flag in zip(node.inputs, op.by_row, strict=True)
        ],
        [row_type(each.type)() for each in node.outputs],
    )
    recorder = Recorder()
    lowering = lowering_of(op.op)
    try:
        if lowering is not None:
            lowering(op.op, inner, recorder)  # type: ignore[arg-type]
    except NoStepFunction:
        recorder.calls.clear()
    if len(recorder.calls) != 1 or recorder.calls[0][0] == "reference":
        types = tuple(on_host(each.type) for each in (*node.inputs, *node.outputs))
        options = {"op": MapRows(op.op, op.by_row), "types": types}
        k.call(node, "reference", node.inputs, options, recorded=False)
        return
    ((function, variables, options, recorded),) = recorder.calls
    places = [inner.inputs.index(each) for each in variables]
    k.call(
        node,
        "map_rows",
        [node.inputs[place] for place in places],
        {
            "function": function,
            "by_row": tuple(op.by_row[place] for place in places),
            "options": tuple(options.items()),
        },
        recorded=recorded,
    )


def on_host(kind: ArrayType) -> Any:
    """The type as one of the host."""
    return kind.host if isinstance(kind, GpuArrayType) else kind


@step_function("map_rows")
def map_rows(
    *arrays: Any,
    function: str,
    by_row: tuple[bool, ...],
    options: tuple[tuple[str, Any], ...],
) -> tuple[Array, ...]:
    """What a step function gives for each row, one after the other."""
    count = arrays[by_row.index(True)].shape[0]
    context = current_context()
    results = []
    for row in range(max(count, 1)):
        given = [
            each
            if not flag
            else each[row]
            if count
            else zeros(each.shape[1:], each.dtype, context=context)
            for each, flag in zip(arrays, by_row, strict=True)
        ]
        result = STEP_FUNCTIONS[function](*given, **dict(options))
        results.append(result if isinstance(result, tuple) else (result,))
    if count == 0:
        return tuple(
            empty((0, *each.shape), each.dtype, context=context) for each in results[0]
        )
    return tuple(stack(each) for each in zip(*results, strict=True))
