"""``function``: from expressions to something to call; the one door to the passes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gpuarray.array import Array
from gpuarray.compiler import rewrites
from gpuarray.compiler.config import config
from gpuarray.compiler.contexts import joint_context
from gpuarray.compiler.errors import (
    CompilerError,
    GraphTypeError,
    GraphValueError,
    UnusedInputError,
    made_at,
)
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import ancestors, clone_replace, inputs_of
from gpuarray.compiler.graph.types import ArrayType, GpuArrayType, TensorType
from gpuarray.compiler.ops.basic import as_tensor_variable
from gpuarray.compiler.ops.transfer import GpuFromHost
from gpuarray.compiler.placement import place
from gpuarray.compiler.plan import IntValue, Plan
from gpuarray.compiler.schedule import lower
from gpuarray.compiler.shared import SharedVariable
from gpuarray.compiler.vm import Executable
from gpuarray.context import Context
from gpuarray.creation import asarray
from gpuarray.errors import GpuArrayError


@dataclass(frozen=True, eq=False)
class In:
    """An input with a name to give it by; ``variable`` is the symbolic input itself."""

    variable: Variable
    name: str | None = None
    borrow: bool = True


@dataclass(frozen=True, eq=False)
class Out:
    """An output; results are always the caller's own, so ``borrow`` changes nothing."""

    variable: Variable
    borrow: bool = False


Updates = Mapping[Any, Any] | Iterable[tuple[Any, Any]]
Unused = Literal["raise", "warn", "ignore"]


@dataclass(frozen=True)
class Maker:
    """How a function was made: its graph as placed, and the log of rewrites."""

    fgraph: FunctionGraph
    log: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Interface:
    """How a function is called: what it takes, keeps and gives.

    The plan takes the inputs and then the values of ``shared``; it gives the outputs
    and then the new values of ``updated``. ``to_host`` says which outputs are read.
    """

    inputs: tuple[Variable, ...]
    names: tuple[str | None, ...]
    shared: tuple[SharedVariable, ...]
    updated: tuple[SharedVariable, ...]
    to_host: tuple[bool, ...]
    single: bool
    allow_downcast: bool | None


class Function:
    """A compiled function; calling it runs its plan.

    ``maker.fgraph`` is the placed graph, ``plan`` what runs, ``context`` where. A call
    takes NumPy arrays or arrays of the context and gives NumPy arrays, or, for outputs
    that were transferred to the context, arrays of it, without waiting.
    """

    def __init__(
        self, interface: Interface, maker: Maker, plan: Plan, context: Context
    ) -> None:
        self.name = plan.name
        self.maker = maker
        self.plan = plan
        self.context = context
        self._interface = interface
        self._executable = Executable(plan, context)
        # What each call needs, in the form that costs it least.
        count = len(interface.to_host)
        self._n_inputs = len(interface.inputs)
        self._n_outputs = count
        self._shared = [v.container for v in interface.shared]
        self._updated = [
            (v.container, count + i) for i, v in enumerate(interface.updated)
        ]
        self._read = [i for i, is_read in enumerate(interface.to_host) if is_read]
        self._single = interface.single

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run on ``args``; inputs that have names may be given by name."""
        if named or len(args) != self._n_inputs:
            args = self._by_name(args, named)
        context = self.context
        arrays = list(args)
        for i, arg in enumerate(args):
            if type(arg) is not Array:
                arrays[i] = self._bring(i, arg)
        for container in self._shared:
            value = container.value
            if type(value) is not Array or value.context is not context:
                value = container.device_value(context)
            arrays.append(value)
        try:
            results: list[Any] = self._executable.run(arrays)
        except GpuArrayError:
            self._check_arrays(args)  # says more than the executor where it can
            raise
        for container, i in self._updated:
            container.value = results[i]
        del results[self._n_outputs :]
        for i in self._read:
            results[i] = np.asarray(results[i])
        return results[0] if self._single else results

    def _bring(self, index: int, value: Any) -> Array | int:
        """A host value, checked to be of the input's type, as the plan takes it."""
        kind = self._interface.inputs[index].type
        host = kind.host if isinstance(kind, GpuArrayType) else kind
        try:
            checked = host.filter(value, self._interface.allow_downcast)
        except CompilerError as error:
            raise self._input_error(index, error) from None
        if isinstance(self.plan.values[index], IntValue):
            return int(checked)
        return asarray(checked, context=self.context)

    def _input_error(self, index: int, error: CompilerError) -> CompilerError:
        """The error with the input that it is about, and the line that made that."""
        variable = self._interface.inputs[index]
        message = f"{self.name}: input {index} ({variable}): {error}"
        return type(error)(made_at(message, variable.tag.trace))

    def _check_arrays(self, args: Sequence[Any]) -> None:
        """Raise TypeError or ValueError for a device array that does not fit."""
        for index, (variable, arg) in enumerate(
            zip(self._interface.inputs, args, strict=True)
        ):
            if isinstance(arg, Array):
                try:
                    self._check_array(variable.type, arg)
                except CompilerError as error:
                    raise self._input_error(index, error) from None

    def _check_array(self, kind: ArrayType, array: Array) -> None:
        if array.context is not self.context:
            raise GraphValueError(
                f"the array lives on {array.context.name}, the function on "
                f"{self.context.name}; move it with gpuarray.asarray(numpy.asarray(x), "
                f"context={self.context.name!r})"
            )
        if array.dtype != kind.numpy_dtype or array.ndim != kind.ndim:
            raise GraphTypeError(
                f"given {array.dtype} of {array.ndim} axes, expected {kind}; convert "
                f"it with .astype({kind.dtype!r}) or .reshape(...)"
            )

    def _by_name(self, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """The arguments in order. Raises TypeError for a missing or unknown one."""
        names = self._interface.names
        rest = names[len(args) :]
        if len(args) > len(names) or set(named) != set(rest) or len(named) != len(rest):
            expected = ", ".join(map(str, self._interface.inputs))
            by_name = f" and {', '.join(sorted(named))} by name" if named else ""
            raise GraphTypeError(
                f"{self.name}: given {len(args)} inputs by position{by_name}, expected "
                f"{len(names)}: {expected}"
            )
        return (*args, *(named[str(name)] for name in rest))

    def info(self) -> dict[str, int]:
        """Counts of the latest call (launches, buffers, bytes) and of bindings kept."""
        return self._executable.info()

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self._interface.inputs))
        return f"<function {self.name}({inputs}) on {self.context.name}>"


def function(
    inputs: Sequence[Variable | In],
    outputs: Any = None,
    updates: Updates | None = None,
    givens: Updates | None = None,
    name: str | None = None,
    on_unused_input: Unused | None = None,
    allow_input_downcast: bool | None = None,
) -> Function:
    """Compile ``outputs`` (one, a list or none) of ``inputs`` into a Function.

    ``updates`` gives shared variables new values after each call; ``givens`` replaces
    variables in the graph. Raises TypeError or ValueError for what cannot be compiled,
    with the user's line that made the node.
    """
    given = checked_inputs(inputs)
    variables = [each.variable for each in given]
    single = outputs is not None and not isinstance(outputs, list | tuple)
    wanted = [] if outputs is None else [outputs] if single else list(outputs)
    n_wanted = len(wanted)
    pairs = [(v, update_value(v, e)) for v, e in variable_pairs(updates)]
    expressions = [*map(as_output, wanted), *(e for _, e in pairs)]
    replacements = {v: replacement(v, e) for v, e in variable_pairs(givens)}
    if replacements:
        expressions = clone_replace(expressions, replacements)
    check_used(variables, expressions, on_unused_input or config.on_unused_input)
    shared = [v for v in inputs_of(expressions) if isinstance(v, SharedVariable)]
    everything = [*variables, *(v for v, _ in pairs), *ancestors(expressions)]
    context = joint_context(context_names(everything))

    fgraph = FunctionGraph([*variables, *shared], expressions)
    new_values = {v: n_wanted + i for i, (v, _) in enumerate(pairs) if v in shared}
    rewrites.optimize(fgraph, destroyable=new_values)
    stay = range(n_wanted, len(expressions))
    placed = place(fgraph, context_name(expressions), resident=shared, stay=stay)
    interface = Interface(
        inputs=tuple(variables),
        names=tuple(each.name or each.variable.name for each in given),
        shared=tuple(shared),
        updated=tuple(v for v, _ in pairs),
        to_host=tuple(
            isinstance(v.type, TensorType) for v in placed.outputs[:n_wanted]
        ),
        single=single,
        allow_downcast=allow_input_downcast,
    )
    plan = lower(placed, name or "function")
    return Function(interface, Maker(placed, tuple(fgraph.log)), plan, context)


def checked_inputs(inputs: Sequence[Variable | In]) -> list[In]:
    """The inputs with their names. Raises TypeError or ValueError for what is none."""
    if not isinstance(inputs, list | tuple):
        raise GraphTypeError(
            f"function: the inputs are {inputs!r}, expected a list of variables"
        )
    given = [each if isinstance(each, In) else In(each) for each in inputs]
    seen: set[Variable] = set()
    for i, variable in enumerate(each.variable for each in given):
        if not isinstance(variable, Variable):
            raise GraphTypeError(
                f"function: input {i} is {variable!r}, expected a symbolic variable"
            )
        if isinstance(variable, SharedVariable):
            raise GraphTypeError(
                f"function: input {i} is the shared variable {variable}; it is read "
                "without being an input: leave it out"
            )
        if variable in seen:
            raise GraphValueError(f"function: {variable} is an input twice")
        seen.add(variable)
    return given


def as_output(value: Any) -> Variable:
    """An output as a variable; one on a context stays there."""
    if isinstance(value, Out):
        value = value.variable
    if isinstance(value, Variable):
        return value
    variable: Variable = as_tensor_variable(value)
    return variable


def variable_pairs(pairs: Updates | None) -> list[tuple[Any, Any]]:
    """Pairs of variable and expression, from a mapping or a list of pairs."""
    listed = list(pairs.items() if isinstance(pairs, Mapping) else pairs or ())
    seen: set[Any] = set()
    for variable, _ in listed:
        if variable in seen:
            raise GraphValueError(f"function: {variable} is updated or given twice")
        seen.add(variable)
    return listed


def update_value(variable: Variable, value: Any) -> Variable:
    """The expression of an update, checked to keep the variable's type."""
    if not isinstance(variable, SharedVariable):
        raise GraphTypeError(
            f"function: {variable} is updated but is no shared variable; make it with "
            "shared(value)"
        )
    expression = as_output(value)
    kind = variable.type
    if not fits(expression.type, kind):
        remedy = (
            f"cast it with .astype({kind.dtype!r})"
            if expression.type.dtype != kind.dtype
            else "the axes that broadcast must do so in the update too"
        )
        raise GraphTypeError(
            made_at(
                f"function: the update of {variable} is {expression.type}, expected "
                f"{kind}; {remedy}",
                expression.tag.trace,
            )
        )
    return expression


def replacement(variable: Variable, value: Any) -> Variable:
    """What stands for a given variable, checked to be of its type."""
    expression = as_output(value)
    if not fits(expression.type, variable.type):
        raise GraphTypeError(
            f"function: {variable} of {variable.type} is given {expression} of "
            f"{expression.type}, which does not fit"
        )
    return expression


def fits(kind: ArrayType, place: ArrayType) -> bool:
    """Whether each value of a type is one of the type ``place``, wherever it lies."""
    return (
        kind.dtype == place.dtype
        and kind.ndim == place.ndim
        and all(
            is_one or not must_be_one
            for is_one, must_be_one in zip(
                kind.broadcastable, place.broadcastable, strict=True
            )
        )
    )


def check_used(
    inputs: Sequence[Variable], outputs: Sequence[Variable], policy: Unused
) -> None:
    """Raise ValueError for an input that nothing needs, or warn, as the policy says."""
    if policy == "ignore":
        return
    used = set(ancestors(outputs))
    for variable in inputs:
        if variable in used:
            continue
        message = (
            f"function: the input {variable} is not used by any output or update; "
            "leave it out, or pass on_unused_input='ignore'"
        )
        if policy == "raise":
            raise UnusedInputError(message)
        warnings.warn(message, stacklevel=3)


def context_names(variables: Iterable[Variable]) -> set[str | None]:
    """The names of the contexts that variables live on or are meant for."""
    names: set[str | None] = set()
    for variable in variables:
        if isinstance(variable.type, GpuArrayType):
            names.add(variable.type.context_name)
        elif isinstance(variable, SharedVariable):
            target = variable.container.context_name
            names |= {target} - {None, "cpu"}
    return names


def context_name(outputs: Sequence[Variable]) -> str | None:
    """The name that the placed graph shows: the one that the program uses, if any."""
    names = {
        v.owner.op.context_name
        for v in ancestors(outputs)
        if v.owner is not None and isinstance(v.owner.op, GpuFromHost)
    }
    return min((n for n in names if n is not None), default=None)
