"""Step functions: steps of a plan that are functions of the array package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gpuarray.array import Array
from gpuarray.compiler.errors import (
    CompilerError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph.core import Apply, Op, Variable
from gpuarray.context import current_context
from gpuarray.creation import asarray

StepFunction = Callable[..., Any]

STEP_FUNCTIONS: dict[str, StepFunction] = {}


def step_function(name: str) -> Callable[[StepFunction], StepFunction]:
    """Register the decorated function, so that a plan can name it.

    It takes arrays and integers, and the step's options by name; it gives an array or
    a tuple of them. The plan's context is the current one while it runs. A function
    that is recorded runs on arrays that have no elements.
    """

    def register(function: StepFunction) -> StepFunction:
        if name in STEP_FUNCTIONS:
            raise GraphValueError(f"step_function: {name!r} is registered already")
        STEP_FUNCTIONS[name] = function
        return function

    return register


@step_function("reference")
def reference(*arrays: Any, op: Op, types: tuple[Any, ...]) -> tuple[Array, ...]:
    """What the op computes with NumPy, on the host: arrays are read and brought back.

    ``types`` are those of the inputs and then of the outputs, on the host.
    """
    inputs = [kind() for kind in types[: len(arrays)]]
    node = Apply(op, inputs, [kind() for kind in types[len(arrays) :]])
    values = [
        kind.filter(np.asarray(array))
        for kind, array in zip(types, arrays, strict=False)
    ]
    results = op.evaluate(node, values)
    if len(results) != len(node.outputs):
        raise GraphValueError(
            f"{op}: computed {len(results)} results, its node announces "
            f"{len(node.outputs)}"
        )
    context = current_context()
    return tuple(
        asarray(result_of(op, variable, result), context=context)
        for variable, result in zip(node.outputs, results, strict=True)
    )


def result_of(op: Op, variable: Variable, result: Any) -> np.ndarray[Any, Any]:
    """What an op computed, as the output's type holds it.

    Raises TypeError for what is of another type.
    """
    if result is None:
        raise GraphTypeError(
            f"{op}: output {variable.index} was not computed; put it in "
            f"output_storage[{variable.index}][0]"
        )
    try:
        return np.asarray(variable.type.filter(result))
    except CompilerError as error:
        message = f"{op}: output {variable.index}, as computed: {error}"
        raise type(error)(message) from None
