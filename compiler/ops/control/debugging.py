"""Ops that print or check values while a function runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray.compiler.errors import (
    AssertError,
    CompilerError,
    GraphArgumentError,
    GraphTypeError,
    GraphValueError,
    made_at,
)
from gpuarray.compiler.graph.core import Apply, SameShapeOp, Variable, as_variable
from gpuarray.compiler.graph.disconnected import disconnected_type
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


def print_value(op: Any, value: Any) -> None:
    """Print a value or its attributes, as the `Print` op says."""
    for name in op.attrs:
        attribute = getattr(value, name)
        text = attribute() if callable(attribute) else attribute
        print(op.message, name, "=", text)  # noqa: T201


class Print(SameShapeOp):
    """The same array, printed each time that it is computed.

    ``Print("x:")(x)`` prints ``x: __str__ = [1. 2.]`` to the standard output. ``attrs``
    are the attributes and methods of the NumPy array to be printed: ``("shape",
    "min")``. ``global_fn(op, value)`` is called instead of printing, where it is given.
    The program must use the result: what nothing uses is not computed. The device
    waits for it.
    """

    __props__ = ("message", "attrs", "global_fn")

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(
        self,
        message: str = "",
        attrs: Sequence[str] = ("__str__",),
        global_fn: Callable[[Any, Any], None] = print_value,
    ) -> None:
        if isinstance(attrs, str):
            raise GraphTypeError(
                f"Print: attrs={attrs!r} is a text; expected names: ({attrs!r},)"
            )
        self.message = message
        self.attrs = tuple(attrs)
        self.global_fn = global_fn

    def infer(self, x: Any) -> Any:
        """The type of ``x``."""
        return x

    def show(self, value: Any) -> None:
        """Print the value of ``x``, an array of NumPy."""
        self.global_fn(self, value)

    def reference(self, x: Any) -> Any:
        """``x``, after printing it."""
        self.show(np.asarray(x))
        return x

    def do_constant_folding(self, node: Apply) -> bool:
        """Return False: it prints when the function runs."""
        return False

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """``g``."""
        return g

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """Return the direction."""
        return list(eval_points)

    def __str__(self) -> str:
        message = f"message={self.message!r}, " if self.message else ""
        return f"{type(self).__name__}{{{message}attrs={self.attrs}}}"


class Assert(SameShapeOp):
    """The first input; raises unless all the other inputs, numbers, are true.

    ``Assert("x is positive")(x, x.min() > 0)`` raises AssertionError with the message
    and the user's line if a condition is 0. The program must use the result. The device
    waits for the conditions; those that are known to hold are dropped.
    """

    __props__ = ("msg",)

    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    error: type[CompilerError] = AssertError

    def __init__(self, msg: str = "Assert failed!") -> None:
        self.msg = msg

    def make_node(self, value: Any, *conditions: Any) -> Apply:
        """A node over a variable and its conditions. Raises TypeError for an array."""
        x = as_variable(value, "Assert")
        numbers = [as_tensor_variable(condition) for condition in conditions]
        for number in numbers:
            if number.type.ndim != 0:
                raise GraphArgumentError(
                    made_at(
                        f"Assert: the condition {number} is {number.type}, expected a "
                        "number; write T.all(...) of it",
                        number.tag.trace,
                    )
                )
        return Apply(self, [x, *numbers], [x.type()])

    def check(self, *conditions: Any) -> None:
        """Raise ``error`` unless all are true."""
        if not all(bool(np.asarray(condition)) for condition in conditions):
            raise self.error(self.msg)

    def reference(self, x: Any, *conditions: Any) -> Any:
        """``x``, after the check."""
        self.check(*conditions)
        return x

    def do_constant_folding(self, node: Apply) -> bool:
        """Return False: it raises when the function runs."""
        return False

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Disconnect the conditions."""
        return [[True], *([False] for _ in node.inputs[1:])]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> list[Any]:
        """Return the output's gradient for the value, nothing for conditions."""
        return [*output_gradients, *(disconnected_type() for _ in inputs[1:])]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        """The direction."""
        return [eval_points[0]]

    def __str__(self) -> str:
        return f"{type(self).__name__}{{msg={self.msg!r}}}"


class Require(Assert):
    """`Assert` of what a function requires of its arguments: raises ValueError."""

    error = GraphValueError


assert_op = Assert()
"""``assert_op(x, condition)``: `Assert` with a general message."""
