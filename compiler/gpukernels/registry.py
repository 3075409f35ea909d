"""The registry of lowerings, which make plan steps of ops, and the Lowerer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from gpuarray.compiler import plan
from gpuarray.compiler.errors import NotOfferedError, made_at
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.lazy import ALWAYS, Guard
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.ops.shape.shape import Shape
from gpuarray.compiler.ops.variables.basic import MakeVector

LowerFunction = Callable[[Any, Apply, "Lowerer"], None]
"""Adds the steps of a node, given its op, the node and the Lowerer."""

LOWERINGS: dict[type[Op], LowerFunction] = {}


def lowers(*ops: type[Op]) -> Callable[[LowerFunction], LowerFunction]:
    """Register the lowering of nodes of these op classes."""

    def register(function: LowerFunction) -> LowerFunction:
        for op in ops:
            LOWERINGS[op] = function
        return function

    return register


def lowered_by_call(
    kind: type[Op], function: str, *options: str, recorded: bool = True
) -> None:
    """Lower ops of a class to a step function of the inputs.

    Its options are the op's attributes of these names.
    """

    @lowers(kind)
    def lower(op: Op, node: Apply, k: Lowerer) -> None:
        values = {name: getattr(op, name) for name in options}
        k.call(node, function, node.inputs, values, recorded=recorded)

    lower.__qualname__ = lowered_by_call.__qualname__  # the plan cache knows it as ours


def lowering_of(op: Op) -> LowerFunction | None:
    """Return the lowering of the op's class or the nearest class above it.

    That of `Op` itself is for ops that Python computes: by Theano's methods, or by a
    reference of their own.
    """
    for cls in type(op).__mro__:
        if cls in LOWERINGS and (cls is not Op or is_python(op) or has_reference(op)):
            return LOWERINGS[cls]
    return None


def is_python(op: Op) -> bool:
    """True if the op has Theano's methods for computing in Python."""
    return hasattr(op, "perform") or hasattr(op, "make_thunk")


def has_reference(op: Op) -> bool:
    """True if the op has a NumPy reference."""
    return type(op).reference is not Op.reference


class Lowerer:
    """Numbers the values of a graph and collects the steps of its plan.

    It has state because lowering walks the graph once, in order, and each node adds to
    what the earlier ones made. ``results`` are the graph's outputs, ``guards`` the
    conditions that nodes are needed under. ``home`` names the plan's own context where
    there are others, and ``line`` is the user's that made the node at hand.
    ``lower_body`` gives the plan of the placed body of a loop, of a name; ``clients``
    has the readers of each variable.
    """

    def __init__(
        self,
        results: Collection[Variable] = (),
        guards: Mapping[Apply, Guard] | None = None,
        home: str | None = None,
        lower_body: Callable[[FunctionGraph, str], plan.Plan] | None = None,
        clients: Mapping[Variable, Collection[tuple[Any, int]]] | None = None,
    ) -> None:
        self.home = home
        self._lower_body = lower_body
        self.clients = clients or {}
        self.line = ""
        self._place: str | None = None
        self.results = frozenset(results)
        self.guards = guards or {}
        self._when: tuple[tuple[int, bool], ...] = ()
        self.values: list[plan.Value] = []
        self.steps: list[plan.Step] = []
        self.constants: list[tuple[int, np.ndarray[Any, Any]]] = []
        self._numbers: dict[Variable, int] = {}
        self._integers: dict[int, int] = {}
        self._read: dict[Variable, tuple[int, ...]] = {}

    @property
    def place(self) -> str | None:
        """The name of the context of the steps that are added."""
        return self.home if self._place is None else self._place

    @property
    def numbers(self) -> Mapping[Variable, int]:
        """The value numbers of the variables that have one."""
        return self._numbers

    def new_value(self, value: plan.Value) -> int:
        """Return the number of a new value."""
        self.values.append(value)
        return len(self.values) - 1

    def bind(self, variable: Variable, number: int) -> None:
        """Set the value number of a variable."""
        self._numbers[variable] = number

    def body(self, fgraph: FunctionGraph, name: str) -> plan.Plan:
        """The plan of the placed body of the loop that is the next step."""
        if self._lower_body is None:
            raise AssertionError(
                "the lowerer has been given nothing that lowers bodies"
            )
        return self._lower_body(fgraph, name)

    def has(self, variable: Variable) -> bool:
        """True if the variable has a value already."""
        return variable in self._numbers

    def is_int(self, variable: Variable) -> bool:
        """True if the variable is a host integer in the plan."""
        return self.has(variable) and self.is_int_value(self._numbers[variable])

    def is_int_value(self, number: int) -> bool:
        """True if a value is a host integer."""
        return isinstance(self.values[number], plan.IntValue)

    def on_host(self, node: Apply) -> bool:
        """True if the node computes host integers."""
        return not isinstance(node.outputs[0].type, GpuArrayType)

    def number(self, variable: Variable) -> int:
        """Return a variable's value; a constant joins the plan when first read."""
        if variable not in self._numbers:
            if not isinstance(variable, Constant):
                raise AssertionError(f"{variable} is read before it is computed")
            value = array_value(variable)
            self._numbers[variable] = self.constant(variable.data, value)
        return self._numbers[variable]

    def constant(self, data: np.ndarray[Any, Any], value: plan.ArrayValue) -> int:
        """Return the number of a new constant array."""
        number = self.new_value(replace(value, place=self._place))
        self.constants.append((number, np.asarray(data, order="C")))
        return number

    def integer(self, variable: Variable) -> int:
        """Return the host integer of a variable; a constant joins the plan."""
        if isinstance(variable, Constant):
            return self.host_int(int(variable.data.item()))
        if variable in self._numbers:
            return self._numbers[variable]
        return self.read(variable, 1)[0]  # computed on the device

    def host_int(self, value: int) -> int:
        """Return the value of a constant host integer."""
        if value not in self._integers:
            number = self.new_value(plan.IntValue())
            self.steps.append(plan.HostInt("integer", "", (number,), (), value))
            self._integers[value] = number
        return self._integers[value]

    def origin(self, made: Apply | Variable) -> str:
        """Return the user's line that made the node or variable; "" if unknown."""
        trace = made.trace if isinstance(made, Apply) else made.tag.trace
        return "" if trace is None else str(trace)

    def integers(self, vector: Variable, count: int | None = None) -> tuple[int, ...]:
        """Return the host integers of a vector's elements.

        ``count`` is their number, for a vector that the device computes.
        """
        owner = vector.owner
        if isinstance(vector, Constant):
            return tuple(self.host_int(int(n)) for n in vector.data)
        if owner is not None and isinstance(owner.op, MakeVector):
            return tuple(map(self.integer, owner.inputs))
        if owner is not None and isinstance(owner.op, Shape):
            (array,) = owner.inputs
            return tuple(self.dim(array, axis) for axis in range(array.type.ndim))
        if count is None:
            raise NotOfferedError(
                made_at(
                    f"function: how many lengths {vector} holds is not known before "
                    "the run; write them as a list of integers",
                    vector.tag.trace,
                )
            )
        return self.read(vector, count)

    def read(self, variable: Variable, count: int) -> tuple[int, ...]:
        """Return the elements of a device array as host integers: the plan waits.

        ``variable`` is the array's copy on the host.
        """
        if variable in self._read:
            return self._read[variable]
        numbers = tuple(self.new_value(plan.IntValue()) for _ in range(count))
        assert variable.owner is not None
        ins = self.inputs(variable.owner.inputs)
        with self.under(self.guard(variable.owner)):
            self.add(plan.Read("read", self.origin(variable), numbers, ins))
        self._read[variable] = numbers
        return numbers

    def dim(self, array: Variable, axis: int) -> int:
        """Return the length of an axis as a host integer."""
        number = self.new_value(plan.IntValue())
        with self.at(array):
            self.add(plan.Dim("dim", "", (number,), self.inputs([array]), axis))
        return number

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
        """Lower the node to a step function of ``variables``, some of its inputs.

        It gets device arrays, integers for scalars on the host, and tuples of integers
        for vectors on the host. ``inplace`` has for each output the index among
        ``variables`` of the array that it takes over, or -1. ``label`` names the step
        in listings, by default as the function.
        """
        ins: list[int] = []
        groups: list[int] = []
        places: list[int] = []
        for variable in variables:
            places.append(len(ins))
            if isinstance(variable.type, GpuArrayType):
                ins.append(self.number(variable))
                groups.append(-1)
            elif variable.type.ndim == 0:
                ins.append(self.integer(variable))
                groups.append(-1)
            else:
                numbers = self.integers(variable, node.outputs[0].type.ndim)
                ins += numbers
                groups.append(len(numbers))
        over = [places[i] if i >= 0 else -1 for i in inplace]
        self.add(
            plan.Call(
                label=label or function,
                origin=self.origin(node),
                outs=self.outputs(node),
                ins=tuple(ins),
                function=function,
                options=tuple((options or {}).items()),
                groups=tuple(groups),
                inplace=tuple(over) or (-1,) * len(node.outputs),
                recorded=recorded,
            )
        )

    def outputs(self, node: Apply) -> tuple[int, ...]:
        """Return new array values for all results of a node."""
        numbers = []
        for variable in node.outputs:
            number = self.new_value(array_value(variable))
            self.bind(variable, number)
            numbers.append(number)
        return tuple(numbers)

    def overwritten(
        self, pattern: Mapping[int, int], node: Apply, places: Mapping[int, int]
    ) -> tuple[int, ...]:
        """Return for each output the step input that it takes over, or -1.

        ``pattern`` is the op's; ``places`` maps the op's arrays to the step's inputs.
        """
        numbers = range(len(node.outputs))
        return tuple(places.get(pattern.get(number, -1), -1) for number in numbers)

    def inputs(self, variables: Iterable[Variable]) -> tuple[int, ...]:
        """Return the values of several variables."""
        return tuple(self.number(v) for v in variables)

    def add(self, step: plan.Step) -> None:
        """Add a step, under the conditions of its node and on its context."""
        if self._when or self._place is not None:
            step = replace(step, when=self._when, place=self._place)
        self.steps.append(step)

    def guard(self, node: Apply) -> Guard:
        """Return the conditions under which the node is needed."""
        return self.guards.get(node, ALWAYS)

    @contextmanager
    def under(self, guard: Guard) -> Iterator[None]:
        """Add the steps of the block under the guard's conditions."""
        before = self._when
        # The step that reads a condition has outer conditions of its own.
        self._when = ()
        outer_first = sorted(guard, key=lambda pair: self._depth(pair[0]))
        when = [(self.integer(variable), side) for variable, side in outer_first]
        self._when = tuple(when)
        try:
            yield
        finally:
            self._when = before

    def elsewhere(self, name: str | None) -> str | None:
        """Return the name of a context that is not the plan's own, else None."""
        return None if name == self.home else name

    @contextmanager
    def at(self, *variables: Variable) -> Iterator[None]:
        """Add the steps of the block on the context of the first that has one."""
        kinds = (variable.type for variable in variables)
        names = (kind.context_name for kind in kinds if isinstance(kind, GpuArrayType))
        before, self._place = self._place, self.elsewhere(next(names, self.home))
        try:
            yield
        finally:
            self._place = before

    def _depth(self, variable: Variable) -> tuple[int, int]:
        """Return the nesting depth of a condition, then its number."""
        owner = variable.owner
        depth = 0 if owner is None else len(self.guard(owner))
        return depth, self._numbers.get(variable, len(self.values))


def array_value(variable: Variable) -> plan.ArrayValue:
    """Return the plan's description of an array variable."""
    kind = variable.type
    return plan.ArrayValue(kind.dtype, kind.broadcastable)


def lower_node(node: Apply, k: Lowerer) -> None:
    """Add the steps of a node; placement has made sure of a lowering."""
    lowering = lowering_of(node.op)
    if lowering is None:
        raise AssertionError(f"{node.op} was placed without a lowering")
    k.line = k.origin(node)
    with k.at(*node.outputs, *node.inputs), k.under(k.guard(node)):
        lowering(node.op, node, k)
