"""``function``: from expressions to something that is called. The one door to the passes."""

from __future__ import annotations

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
from gpuarray.compiler.graph.types import GpuArrayType, TensorType
from gpuarray.compiler.ops.basic import as_tensor_variable
from gpuarray.compiler.ops.transfer import GpuFromHost
from gpuarray.compiler.placement import place
from gpuarray.compiler.plan import Plan
from gpuarray.compiler.schedule import lower
from gpuarray.compiler.shared import SharedVariable
from gpuarray.compiler.vm import Executable
from gpuarray.context import Context
from gpuarray.creation import asarray


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


Updates = Mapping[Variable, Any] | Iterable[tuple[Variable, Any]]
Unused = Literal["raise", "warn", "ignore"]


@dataclass(frozen=True)
class Maker:
    """How a function was made: its graph as placed, and the log of rewrites."""

    fgraph: FunctionGraph
    log: tuple[Any, ...]


class Function:
    """A compiled function; calling it runs its plan.

    ``maker.fgraph`` is the placed graph, ``plan`` what runs, ``context`` where. A call takes NumPy
    arrays or arrays of the context and gives NumPy arrays, or, for outputs that were
    transferred to the context, arrays of it, without waiting.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Variable],
        names: Sequence[str | None],
        shared: Sequence[SharedVariable],
        updated: Sequence[SharedVariable],
        to_host: Sequence[bool],
        single: bool,
        maker: Maker,
        plan: Plan,
        context: Context,
        allow_downcast: bool | None,
    ) -> None:
        self.name = name
        self.maker = maker
        self.plan = plan
        self.context = context
        self._inputs = tuple(inputs)
        self._names = tuple(names)
        self._shared = tuple(v.container for v in shared)
        self._updated = tuple(v.container for v in updated)
        self._to_host = tuple(to_host)
        self._single = single
        self._allow_downcast = allow_downcast
        self._run = Executable(plan, context)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run on ``args``; inputs that have names may be given by name."""
        if named or len(args) != len(self._inputs):
            args = self._by_name(args, named)
        arrays = [
            arg
            if type(arg) is Array and self._fits(variable, arg)
            else self._bring(variable, arg)
            for variable, arg in zip(self._inputs, args, strict=True)
        ]
        context = self.context
        arrays += [container.device_value(context) for container in self._shared]
        results = self._run(arrays)
        count = len(self._to_host)
        for container, value in zip(self._updated, results[count:], strict=True):
            container.value = value
        outputs = [
            np.asarray(value) if host else value
            for value, host in zip(results, self._to_host, strict=False)
        ]
        return outputs[0] if self._single else outputs

    def _fits(self, variable: Variable, array: Array) -> bool:
        """Whether a device array can be handed over as it is."""
        kind = variable.type
        return (
            array.context is self.context
            and array.dtype == kind.dtype
            and array.ndim == kind.ndim
        )

    def _bring(self, variable: Variable, value: Any) -> Array:
        """A checked value as an array of the context."""
        try:
            if isinstance(value, Array):
                return self._bring_array(variable, value)
            kind = variable.type
            host = kind.host if isinstance(kind, GpuArrayType) else kind
            checked = host.filter(value, allow_downcast=self._allow_downcast)
        except CompilerError as error:
            index = self._inputs.index(variable)
            message = f"{self.name}: input {index} ({variable}): {error}"
            raise type(error)(made_at(message, variable.tag.trace)) from None
        return asarray(checked, context=self.context)

    def _bring_array(self, variable: Variable, array: Array) -> Array:
        if array.context is not self.context:
            raise GraphValueError(
                f"the array lives on {array.context.name}, the function on "
                f"{self.context.name}; move it with gpuarray.asarray(numpy.asarray(x), "
                f"context={self.context.name!r})"
            )
        raise GraphTypeError(
            f"given {array.dtype} of {array.ndim} axes, expected {variable.type}; convert "
            f"it with .astype({variable.type.dtype!r}) or .reshape(...)"
        )

    def _by_name(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments in order. Raises TypeError for a missing, doubled or unknown one."""
        names = self._names
        unknown = [name for name in named if name not in names[len(args) :]]
        missing = [name for name in names[len(args) :] if name not in named]
        if len(args) > len(names) or unknown or missing:
            raise GraphTypeError(
                f"{self.name}: got {len(args)} arguments and {sorted(named)}, expected "
                f"{len(names)}: {', '.join(map(str, self._inputs))}"
            )
        return [*args, *(named[str(name)] for name in names[len(args) :])]

    def info(self) -> dict[str, int]:
        """Counts of the latest call (launches, buffers, bytes) and of the bindings kept."""
        return self._run.info()

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self._inputs))
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
    variables in the graph. Raises TypeError or ValueError for what cannot be compiled, with the user's
    line that made the node.
    """
    names = [each.name if isinstance(each, In) else None for each in inputs]
    inputs = [each.variable if isinstance(each, In) else each for each in inputs]
    check_inputs(inputs)
    single = outputs is not None and not isinstance(outputs, list | tuple)
    wanted = [] if outputs is None else [outputs] if single else list(outputs)
    pairs = update_pairs(updates)
    expressions = [
        *(as_output(v) for v in wanted),
        *(update_value(variable, value) for variable, value in pairs),
    ]
    replacements = dict(update_pairs(givens))
    if replacements:
        expressions = clone_replace(
            expressions, {v: replacement(v, e) for v, e in replacements.items()}
        )
    check_used(inputs, expressions, on_unused_input or config.on_unused_input)
    shared = [v for v in inputs_of(expressions) if isinstance(v, SharedVariable)]
    updated = [variable for variable, _ in pairs]
    context = joint_context(context_names([*inputs, *ancestors(expressions)]))

    fgraph = FunctionGraph([*inputs, *shared], expressions)
    own_update = {v: len(wanted) + i for i, v in enumerate(updated) if v in shared}
    rewrites.optimize(fgraph, destroyable=own_update)
    stay = range(len(wanted), len(expressions))
    placed = place(fgraph, context_name(expressions), resident=shared, stay=stay)
    label = name or "function"
    return Function(
        name=label,
        inputs=inputs,
        names=[name or v.name for name, v in zip(names, inputs, strict=True)],
        shared=shared,
        updated=updated,
        to_host=[isinstance(v.type, TensorType) for v in placed.outputs[: len(wanted)]],
        single=single,
        maker=Maker(placed, tuple(fgraph.log)),
        plan=lower(placed, label),
        context=context,
        allow_downcast=allow_input_downcast,
    )


def check_inputs(inputs: Sequence[Variable]) -> None:
    """Raise TypeError or ValueError for what cannot be an input."""
    for i, variable in enumerate(inputs):
        if not isinstance(variable, Variable):
            raise GraphTypeError(
                f"function: input {i} is {variable!r}, expected a symbolic variable"
            )
        if isinstance(variable, SharedVariable):
            raise GraphTypeError(
                f"function: input {i} is the shared variable {variable}; it is read "
                "without being an input: leave it out"
            )
        if variable in inputs[:i]:
            raise GraphValueError(f"function: {variable} is an input twice")


def as_output(value: Any) -> Variable:
    """An output as a variable; one on a context stays there."""
    if isinstance(value, Out):
        value = value.variable
    if isinstance(value, Variable):
        return value
    variable: Variable = as_tensor_variable(value)
    return variable


def update_pairs(updates: Updates | None) -> list[tuple[Variable, Any]]:
    """Pairs of variable and expression, from a mapping or a list of pairs."""
    if updates is None:
        return []
    pairs = list(updates.items() if isinstance(updates, Mapping) else updates)
    seen: set[Variable] = set()
    for variable, _ in pairs:
        if variable in seen:
            raise GraphValueError(f"function: {variable} is updated or given twice")
        seen.add(variable)
    return pairs


def update_value(variable: Variable, value: Any) -> Variable:
    """The expression of an update, checked to keep the variable's type."""
    if not isinstance(variable, SharedVariable):
        raise GraphTypeError(
            f"function: {variable} is updated but is no shared variable; make it with "
            "shared(value)"
        )
    expression = as_output(value)
    same = (
        expression.type.dtype == variable.type.dtype
        and expression.type.ndim == variable.type.ndim
    )
    if not same:
        raise GraphTypeError(
            made_at(
                f"function: the update of {variable} is {expression.type}, expected "
                f"{variable.type}; cast it with .astype({variable.type.dtype!r})",
                getattr(expression.tag, "trace", None),
            )
        )
    return expression


def replacement(variable: Variable, value: Any) -> Variable:
    """What stands for a given variable, checked to be of its type."""
    expression = as_output(value)
    if expression.type != variable.type:
        raise GraphTypeError(
            f"function: {variable} of {variable.type} is given {expression} of "
            f"{expression.type}; the types must be the same"
        )
    return expression


def check_used(
    inputs: Sequence[Variable], outputs: Sequence[Variable], policy: Unused
) -> None:
    """Raise ValueError for an input that no output needs, unless the policy allows it."""
    if policy != "raise":
        return
    used = set(ancestors(outputs))
    for variable in inputs:
        if variable not in used:
            raise UnusedInputError(
                f"function: the input {variable} is not used by any output or update; "
                "leave it out, or pass on_unused_input='ignore'"
            )


def context_names(variables: Iterable[Variable]) -> set[str | None]:
    """The names of the contexts that variables live on, or None for the default."""
    names = {v.type.context_name for v in variables if isinstance(v.type, GpuArrayType)}
    return names or {None}


def context_name(outputs: Sequence[Variable]) -> str | None:
    """The name that the placed graph shows: the one that the program uses, if it does."""
    names = {
        v.owner.op.context_name
        for v in ancestors(outputs)
        if v.owner is not None and isinstance(v.owner.op, GpuFromHost)
    }
    return min((n for n in names if n is not None), default=None)
