"""Test values: expressions computed while they are built (`compute_test_value`)."""

from __future__ import annotations

import warnings
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphTypeError, TestValueError, made_at
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable


def get_test_value(variable: Any) -> Any:
    """Return the value that a variable has while expressions are built.

    That of a constant or a shared variable, or ``variable.tag.test_value``, checked to
    be of the variable's type. Raises AttributeError if there is none.
    """
    if isinstance(variable, Constant):
        return variable.data
    if hasattr(variable, "get_value"):
        return variable.get_value(borrow=True)
    if not isinstance(variable, Variable):
        return variable
    try:
        value = variable.tag.test_value
    except AttributeError:
        raise TestValueError(
            made_at(
                f"test value: {variable} of {variable.type} has none; give it one, "
                f"{variable.name or 'x'}.tag.test_value = an array",
                getattr(variable.tag, "trace", None),
            )
        ) from None
    try:
        return variable.type.filter(value)
    except GraphTypeError as error:
        raise GraphTypeError(f"test value of {variable}: {error}") from None


def compute(node: Apply) -> None:
    """Set the test values of the node's outputs, as the setting asks."""
    setting = config.compute_test_value
    try:
        values = [get_test_value(variable) for variable in node.inputs]
    except TestValueError as error:
        if setting == "raise":
            raise
        if setting == "warn":
            warnings.warn(str(error), stacklevel=4)
        return
    try:
        results = node.op.evaluate(node, values)
    except Exception as error:
        shapes = ", ".join(str(getattr(value, "shape", "")) for value in values)
        error.add_note(
            made_at(f"test values of {node}, of shapes {shapes}", node.trace)
        )
        raise
    for output, result in zip(node.outputs, results, strict=True):
        output.tag.test_value = output.type.filter(result)


Op.learn_test_values(compute)
