"""How an op becomes plan steps: a registry of lowerings, and what they write to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from gpuarray.compiler import plan
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.types import GpuArrayType

LowerFunction = Callable[[Any, Apply, "Lowerer"], None]
"""Adds the steps of a node; its op, whose class the lowering is for, comes first."""

LOWERINGS: dict[type[Op], LowerFunction] = {}


def lowers(*ops: type[Op]) -> Callable[[LowerFunction], LowerFunction]:
    """Register how a node of these op classes becomes steps."""

    def register(function: LowerFunction) -> LowerFunction:
        for op in ops:
            LOWERINGS[op] = function
        return function

    return register


def lowering_of(op: Op) -> LowerFunction | None:
    """The lowering registered for the op's class or the nearest class above it."""
    for cls in type(op).__mro__:
        if cls in LOWERINGS:
            return LOWERINGS[cls]
    return None


class Lowerer:
    """Numbers the values of a graph and collects the steps of its plan.

    It has state because lowering walks the graph once, in order, and each node adds to
    what the earlier ones made.
    """

    def __init__(self) -> None:
        self.values: list[plan.Value] = []
        self.steps: list[plan.Step] = []
        self.constants: list[tuple[int, np.ndarray[Any, Any]]] = []
        self._numbers: dict[Variable, int] = {}
        self._integers: dict[int, int] = {}

    def new_value(self, value: plan.Value) -> int:
        """The number of a new value."""
        self.values.append(value)
        return len(self.values) - 1

    def bind(self, variable: Variable, number: int) -> None:
        """Say which value a variable is."""
        self._numbers[variable] = number

    def has(self, variable: Variable) -> bool:
        """Whether the variable has a value already."""
        return variable in self._numbers

    def is_int(self, variable: Variable) -> bool:
        """Whether the variable is a host integer in the plan."""
        return self.has(variable) and self.is_int_value(self._numbers[variable])

    def is_int_value(self, number: int) -> bool:
        """Whether a value is a host integer."""
        return isinstance(self.values[number], plan.IntValue)

    def on_host(self, node: Apply) -> bool:
        """Whether the node computes host integers."""
        return not isinstance(node.outputs[0].type, GpuArrayType)

    def number(self, variable: Variable) -> int:
        """The value of a variable; a constant joins the plan when it is first read."""
        if variable not in self._numbers:
            if not isinstance(variable, Constant):
                raise AssertionError(f"{variable} is read before it is computed")
            value = array_value(variable)
            self._numbers[variable] = self.constant(variable.data, value)
        return self._numbers[variable]

    def constant(self, data: np.ndarray[Any, Any], value: plan.ArrayValue) -> int:
        """The number of a new constant array."""
        number = self.new_value(value)
        self.constants.append((number, np.asarray(data, order="C")))
        return number

    def integer(self, variable: Variable) -> int:
        """The host integer that a variable is; a constant joins the plan."""
        if isinstance(variable, Constant):
            return self.host_int(int(variable.data.item()))
        return self._numbers[variable]

    def host_int(self, value: int) -> int:
        """The value of a constant host integer."""
        if value not in self._integers:
            number = self.new_value(plan.IntValue())
            self.steps.append(plan.HostInt("integer", "", (number,), (), value))
            self._integers[value] = number
        return self._integers[value]

    def origin(self, made: Apply | Variable) -> str:
        """The user's line that made the node or variable; empty if it is not known."""
        trace = made.trace if isinstance(made, Apply) else made.tag.trace
        return "" if trace is None else str(trace)

    def outputs(self, node: Apply) -> tuple[int, ...]:
        """New array values for all results of a node."""
        numbers = []
        for variable in node.outputs:
            number = self.new_value(array_value(variable))
            self.bind(variable, number)
            numbers.append(number)
        return tuple(numbers)

    def inputs(self, variables: Iterable[Variable]) -> tuple[int, ...]:
        """The values of several variables."""
        return tuple(self.number(v) for v in variables)

    def add(self, step: plan.Step) -> None:
        """The next step."""
        self.steps.append(step)


def array_value(variable: Variable) -> plan.ArrayValue:
    """The plan's description of an array variable."""
    kind = variable.type
    return plan.ArrayValue(kind.dtype, kind.broadcastable)


def lower_node(node: Apply, k: Lowerer) -> None:
    """Add the steps of a node whose op has a lowering, as placement has made sure."""
    lowering = lowering_of(node.op)
    if lowering is None:
        raise AssertionError(f"{node.op} was placed without a lowering")
    lowering(node.op, node, k)
