"""How an op becomes plan steps: a registry of lowerings, and the builder they write to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from gpuarray.compiler import plan
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.types import GpuArrayType

LowerFunction = Callable[[Apply, "Lowerer"], None]

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

    It has state because lowering walks the graph once, in order, and each node adds to what the
    earlier ones made.
    """

    def __init__(self, origin: Callable[[Apply], str]) -> None:
        self.values: list[plan.Value] = []
        self.steps: list[plan.Step] = []
        self.constants: list[tuple[int, np.ndarray]] = []
        self._numbers: dict[Variable, int] = {}
        self._integers: dict[int, int] = {}
        self._origin = origin

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
        number = self._numbers.get(variable)
        return number is not None and isinstance(self.values[number], plan.IntValue)

    def on_host(self, node: Apply) -> bool:
        """Whether the node computes host integers."""
        return not isinstance(node.outputs[0].type, GpuArrayType)

    def number(self, variable: Variable) -> int:
        """The value of a variable; a constant's array joins the plan when it is first read."""
        if variable not in self._numbers:
            if not isinstance(variable, Constant):
                raise AssertionError(f"{variable} is read before it is computed")
            number = self.new_value(array_value(variable))
            self.constants.append((number, np.ascontiguousarray(variable.data)))
            self._numbers[variable] = number
        return self._numbers[variable]

    def integer(self, variable: Variable) -> int:
        """The host integer that a variable is; a constant joins the plan."""
        if isinstance(variable, Constant):
            return self.host_int(int(variable.data))
        return self._numbers[variable]

    def host_int(self, value: int) -> int:
        """The value of a constant host integer."""
        if value not in self._integers:
            number = self.new_value(plan.IntValue())
            self.steps.append(plan.HostInt("integer", "", (number,), (), value))
            self._integers[value] = number
        return self._integers[value]

    def origin(self, node: Apply) -> str:
        """The user's line that made the node."""
        return self._origin(node)

    def outputs(self, node: Apply) -> tuple[int, ...]:
        """New array values for all results of a node."""
        numbers = []
        for variable in node.outputs:
            number = self.new_value(array_value(variable))
            self.bind(variable, number)
            numbers.append(number)
        return tuple(numbers)

    def inputs(self, variables: Sequence[Variable]) -> tuple[int, ...]:
        """The values of several variables."""
        return tuple(self.number(v) for v in variables)

    def add(self, step: plan.Step) -> None:
        """The next step."""
        self.steps.append(step)


def array_value(variable: Variable) -> plan.ArrayValue:
    """The plan's description of an array variable."""
    kind = variable.type
    return plan.ArrayValue(str(kind.dtype), tuple(kind.broadcastable))


def lower_node(node: Apply, lowerer: Lowerer) -> None:
    """Add the steps of a node whose op has a lowering, as placement has made sure."""
    lowering = lowering_of(node.op)
    if lowering is None:
        raise AssertionError(f"{node.op} was placed without a lowering")
    lowering(node, lowerer)
