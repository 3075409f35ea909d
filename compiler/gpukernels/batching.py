"""An op mapped over rows: its step function is called row by row.

The launches are recorded, so a run of the plan does not come back to Python for each
row. An op that is no step function runs on the host. A file has a loop, whose body is
the step function's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from gpuarray._core.opening import current_context
from gpuarray._creation.filled import empty, zeros
from gpuarray._manipulation.joining import stack
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.derivatives.batching_fallback import MapRows, row_type
from gpuarray.compiler.gpukernels.bodies import WRITERS, Steps, body_of
from gpuarray.compiler.gpukernels.calls import STEP_FUNCTIONS, step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowering_of, lowers
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType


class NoStepFunction(Exception):
    """A lowering does more than to add one step function."""


class CallRecorder:
    """Stands in for a Lowerer and records the step function that is called."""

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
        """Record the function, its arguments, and whether it can be recorded."""
        self.calls.append((function, list(variables), dict(options or {}), recorded))

    def __getattr__(self, name: str) -> Any:
        raise NoStepFunction(name)


@lowers(MapRows)
def lower_map_rows(op: MapRows, node: Apply, k: Lowerer) -> None:
    """Lower to the op's step function for each row, or the reference of all rows."""
    inner = Apply(
        op.op,
        [
            row_type(variable.type)() if flag else variable
            for variable, flag in zip(node.inputs, op.by_row, strict=True)
        ],
        [row_type(variable.type)() for variable in node.outputs],
    )
    recorder = CallRecorder()
    lowering = lowering_of(op.op)
    try:
        if lowering is not None:
            lowering(op.op, inner, recorder)  # type: ignore[arg-type]
    except NoStepFunction:
        recorder.calls.clear()
    if len(recorder.calls) != 1 or recorder.calls[0][0] == "reference":
        types = tuple(
            on_host(variable.type) for variable in (*node.inputs, *node.outputs)
        )
        options = {"op": MapRows(op.op, op.by_row), "types": types}
        k.call(node, "reference", node.inputs, options, recorded=False)
        return
    ((function, variables, options, recorded),) = recorder.calls
    places = [inner.inputs.index(variable) for variable in variables]
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
    """Return the host type."""
    return kind.host if isinstance(kind, GpuArrayType) else kind


@step_function("map_rows")
def map_rows(
    *arrays: Any,
    function: str,
    by_row: tuple[bool, ...],
    options: tuple[tuple[str, Any], ...],
) -> tuple[Array, ...]:
    """Return the results of a step function called for each row."""
    count = arrays[by_row.index(True)].shape[0]
    context = current_context()
    results = []
    for row in range(max(count, 1)):
        operands = [
            array
            if not flag
            else array[row]
            if count
            else zeros(array.shape[1:], array.dtype, context=context)
            for array, flag in zip(arrays, by_row, strict=True)
        ]
        result = STEP_FUNCTIONS[function](*operands, **dict(options))
        results.append(result if isinstance(result, tuple) else (result,))
    if count == 0:
        return tuple(
            empty((0, *value.shape), value.dtype, context=context)
            for value in results[0]
        )
    return tuple(stack(values) for values in zip(*results, strict=True))


@body_of("map_rows")
def map_rows_steps(
    s: Steps,
    *arguments: int | Sequence[int],
    function: str,
    by_row: tuple[bool, ...],
    options: tuple[tuple[str, Any], ...],
) -> Sequence[int] | None:
    """Add a loop over the rows; None if the function has no body."""
    writer = WRITERS.get(function)
    if writer is None:
        return None
    ins, flags = flattened(arguments, by_row)
    pairs = zip(ins, flags, strict=True)
    values = [row_of(s.values[x]) if flag else s.values[x] for x, flag in pairs]
    row = Steps(values, list(map(row_of, s.outputs)))
    numbers = iter(range(len(ins)))
    operands = [
        next(numbers)
        if isinstance(argument, int)
        else tuple(islice(numbers, len(argument)))
        for argument in arguments
    ]
    outputs = writer(row, *operands, **dict(options))
    if outputs is None or any(isinstance(step, p.Read) for step in row.steps):
        return None
    results = (outputs,) if isinstance(outputs, int) else tuple(outputs)
    kinds = [rows_of(row.array(result)) for result in results]
    turns = s.length(ins[flags.index(True)], 0)
    takes = "".join("r" if flag else "s" for flag in flags)
    body = p.BodyPlan(row.plan(function, results))
    first = s.loop(turns, ins, takes, body, kinds, "map_rows")
    return range(first, first + len(kinds))


def flattened(
    arguments: Sequence[int | Sequence[int]], by_row: Sequence[bool]
) -> tuple[list[int], list[bool]]:
    """Return arguments without their grouping in tuples, and which have rows."""
    groups = [
        [argument] if isinstance(argument, int) else list(argument)
        for argument in arguments
    ]
    flags = [[flag] * len(g) for g, flag in zip(groups, by_row, strict=True)]
    return [x for g in groups for x in g], [flag for g in flags for flag in g]


def row_of(value: p.Value) -> p.ArrayValue:
    """Return the type of a row of an array."""
    assert isinstance(value, p.ArrayValue)
    return replace(value, broadcastable=value.broadcastable[1:])


def rows_of(value: p.ArrayValue) -> p.ArrayValue:
    """Return the type of a row's result for all rows."""
    return replace(value, broadcastable=(False, *value.broadcastable))
