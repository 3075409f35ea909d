"""The interface of a function: its inputs and the form of its outputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpuarray.compiler.errors import (
    CompilerError,
    GraphTypeError,
    GraphValueError,
    UnusedInputError,
    made_at,
)
from gpuarray.compiler.graph.core import Constant, Variable, sources_of
from gpuarray.compiler.graph.traverse import ancestors
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.printing import pp
from gpuarray.compiler.shared import SharedVariable

Unused = Literal["raise", "warn", "ignore"]


@dataclass(frozen=True, eq=False)
class In:
    """An input: the variable, and how a call gives it a value.

    ``name`` is its keyword in a call, by default the variable's name (none with
    ``autoname=False``). ``value`` is its default, which makes it optional. ``update``,
    an expression, is its next value after each call. An ``implicit`` input has a value
    and is never given. ``strict`` takes only arrays of exactly its dtype;
    ``allow_downcast`` is ``allow_input_downcast`` of `function` for this input.

    ``mutable`` and ``borrow`` permit the function to overwrite its argument; it never
    needs to.
    """

    variable: Any
    name: str | None = None
    value: Any = None
    update: Any = None
    mutable: bool | None = None
    strict: bool = False
    allow_downcast: bool | None = None
    autoname: bool = True
    implicit: bool | None = None
    borrow: bool | None = None
    shared: bool = False
    part_of: In | None = None
    """The input of a sparse matrix of which it is an array."""

    @property
    def called(self) -> str | None:
        """The input's keyword in a call; None if it has none."""
        if self.name is not None or not self.autoname:
            return self.name
        name: str | None = self.variable.name
        return name

    def __str__(self) -> str:
        return self.called or str(self.variable)


def Param(
    variable: Variable,
    default: Any = None,
    name: str | None = None,
    mutable: bool = False,
    strict: bool = False,
    allow_downcast: bool | None = None,
    implicit: bool | None = None,
    borrow: bool | None = None,
) -> In:
    """Return ``In(variable, value=default)``, by an older name."""
    return In(
        variable,
        name,
        default,
        mutable=mutable,
        strict=strict,
        allow_downcast=allow_downcast,
        implicit=implicit,
        borrow=borrow,
    )


@dataclass(frozen=True, eq=False)
class Out:
    """An output; with ``on_device`` the result is an array of the context.

    Results are always the caller's own, so ``borrow`` changes nothing.
    """

    variable: Any
    borrow: bool = False
    on_device: bool = False


@dataclass(frozen=True, eq=False)
class Interface:
    """The calling convention of a function: inputs, state values and outputs.

    The plan takes the inputs and then the values of ``shared``. It gives the outputs,
    the new values of ``updated``, and those of the inputs whose indices are in
    ``carried``. ``to_host`` marks the outputs that are copied to the host. ``form`` is
    None for a single output, ``"list"``, or the keys of a dictionary. The function runs
    on copies of the values of ``guarded``, because its plan overwrites them. It
    ``is_part`` where its plan computes only some outputs of its graph. With a
    ``packing`` arguments or results are sparse matrices, made of the plan's arrays.
    """

    inputs: tuple[In, ...]
    shared: tuple[SharedVariable, ...]
    updated: tuple[SharedVariable, ...]
    carried: tuple[int, ...]
    to_host: tuple[bool, ...]
    form: str | tuple[str, ...] | None
    allow_downcast: bool | None
    guarded: tuple[SharedVariable, ...] = ()
    is_part: bool = False
    packing: Any = None


def checked_inputs(inputs: Sequence[Variable | In]) -> list[In]:
    """Return the inputs as `In`. Raises TypeError or ValueError for a wrong one."""
    if not isinstance(inputs, list | tuple):
        raise GraphTypeError(
            f"function: the inputs are {inputs!r}, expected a list of variables"
        )
    checked = [spec if isinstance(spec, In) else In(spec) for spec in inputs]
    variables: set[Variable] = set()
    for i, spec in enumerate(checked):
        _check_input(i, spec)
        if spec.variable in variables:
            raise GraphValueError(f"function: {spec.variable} is an input twice")
        variables.add(spec.variable)
    return checked


def _check_input(i: int, spec: In) -> None:
    variable = spec.variable
    if not isinstance(variable, Variable):
        raise GraphTypeError(
            f"function: input {i} is {variable!r}, expected a symbolic variable"
        )
    if isinstance(variable, SharedVariable):
        raise GraphTypeError(
            f"function: input {i} is the shared variable {variable}; it is read "
            "without being an input: leave it out"
        )
    if isinstance(variable, Constant):
        raise GraphTypeError(
            f"function: input {i} is the constant {variable}, which has a value: leave "
            "it out"
        )
    if spec.value is None and (spec.implicit or spec.update is not None):
        what = "implicit" if spec.implicit else "updated"
        raise GraphTypeError(
            f"function: the input {spec} is {what}, so it needs a value to start "
            "with: In(..., value=...)"
        )


@dataclass(frozen=True)
class Wanted:
    """The outputs, their form, and the indices of those that stay on the device."""

    variables: list[Variable]
    form: str | tuple[str, ...] | None
    on_device: frozenset[int]


def wanted_outputs(outputs: Any, on_device: bool) -> Wanted:
    """Return the outputs of `function`: one, a list, a dictionary by name, or none."""
    form: str | tuple[str, ...] | None = "list"
    if outputs is None:
        listed = []
    elif isinstance(outputs, Mapping):
        for key in outputs:
            if not isinstance(key, str):
                raise GraphTypeError(
                    f"function: the outputs have the key {key!r}; expected texts"
                )
        form, listed = tuple(outputs), list(outputs.values())
    elif isinstance(outputs, list | tuple):
        listed = list(outputs)
    else:
        form, listed = None, [outputs]
    stay = {
        i
        for i, output in enumerate(listed)
        if on_device or (isinstance(output, Out) and output.on_device)
    }
    variables = [as_output(output, i) for i, output in enumerate(listed)]
    return Wanted(variables, form, frozenset(stay))


def as_output(value: Any, index: int) -> Variable:
    """Return an output as a variable; one on a context stays there."""
    if isinstance(value, Out):
        value = value.variable
    if isinstance(value, Variable):
        return value
    try:
        variable: Variable = as_tensor_variable(value)
    except CompilerError as error:
        raise type(error)(f"function: output {index}: {error}") from None
    return variable


def check_used(
    inputs: Iterable[In],
    outputs: Sequence[Variable],
    policy: Unused,
    final: Callable[[Sequence[Variable]], Sequence[Variable]],
) -> None:
    """Raise ValueError or warn, as the policy says, for an input that nothing uses.

    A derivative uses its source expression, in which ``final`` replaces variables.
    """
    if policy == "ignore":
        return
    if policy not in ("raise", "warn"):
        raise GraphValueError(
            f"function: on_unused_input={policy!r}; it takes 'raise', 'warn' or "
            "'ignore'"
        )
    used = set(ancestors(outputs))
    inputs = list(inputs)
    in_use = {spec.part_of for spec in inputs if spec.variable in used} - {None}
    unused = [
        spec
        for spec in inputs
        if spec.variable not in used and spec.part_of not in in_use
    ]
    if unused:
        used |= behind_derivatives(used, final)
    for spec in unused:
        if spec.variable in used:
            continue
        spec = spec.part_of or spec
        message = made_at(
            f"function: the input {spec} is not used by any output or update; "
            f"{_instead(spec.variable)}, or pass on_unused_input='ignore'",
            spec.variable.tag.trace,
        )
        if policy == "raise":
            raise UnusedInputError(message)
        warnings.warn(message, stacklevel=4)


def _instead(unused: Variable) -> str:
    """Return the remedy for an input that is not used."""
    if unused.owner is None:
        return "leave it out"
    return (
        f"{pp(unused)} is computed, not an input, and the outputs do not use this very "
        "variable, even if they are written alike: give the variable that they use, "
        "what it is computed from, or an input of its own and givens=[(expression, it)]"
    )


def behind_derivatives(
    variables: Iterable[Variable],
    final: Callable[[Sequence[Variable]], Sequence[Variable]],
) -> set[Variable]:
    """Return the source expressions of derivatives, with all that they depend on."""
    behind: set[Variable] = set()
    waiting = list(variables)
    met: set[Variable] = set()
    while waiting:
        sources = dict.fromkeys(s for variable in waiting for s in sources_of(variable))
        new = [source for source in sources if source not in met]
        met.update(new)
        waiting = [x for x in ancestors(final(new)) if x not in behind] if new else []
        behind.update(waiting)
    return behind


def swapped(
    interface: Interface, swap: Mapping[SharedVariable, SharedVariable]
) -> Interface:
    """Return the interface with shared variables exchanged for others of their type."""
    known = {*interface.shared, *interface.updated}
    for old, new in swap.items():
        if old not in known:
            raise GraphValueError(
                f"copy: {old} is to be swapped, but the function does not use it"
            )
        if not isinstance(new, SharedVariable) or new.type != old.type:
            raise GraphTypeError(
                f"copy: {old} of {old.type} cannot be swapped for {new}; expected a "
                f"shared variable of {old.type}"
            )
    return replace(
        interface,
        shared=tuple(swap.get(variable, variable) for variable in interface.shared),
        updated=tuple(swap.get(variable, variable) for variable in interface.updated),
        guarded=tuple(swap.get(variable, variable) for variable in interface.guarded),
    )
