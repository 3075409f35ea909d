"""Updates: the next values of shared variables and inputs after each call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpuarray.compiler.errors import (
    CompilerError,
    GraphTypeError,
    GraphValueError,
    made_at,
)
from gpuarray.compiler.function.givens import (
    Pairs,
    check_computable,
    is_same_kind,
    value_for,
    variable_pairs,
)
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.traverse import inputs_of
from gpuarray.compiler.shared import SharedVariable


class OrderedUpdates(dict[SharedVariable, Any]):
    """Updates in insertion order; one variable has one update.

    >>> from gpuarray.compiler import shared
    >>> w = shared(0.0, name="w")
    >>> len(OrderedUpdates([(w, w + 1)]) + OrderedUpdates())
    1
    """

    def __init__(self, pairs: Pairs = (), **named: Any) -> None:
        super().__init__()
        self.update(pairs)
        if named:
            raise GraphTypeError(
                f"OrderedUpdates: {min(named)} is a name; expected shared variables"
            )

    def __setitem__(self, variable: SharedVariable, value: Any) -> None:
        if not isinstance(variable, SharedVariable):
            raise GraphTypeError(
                f"OrderedUpdates: {variable!r} is no shared variable; make it with "
                "shared(value)"
            )
        super().__setitem__(variable, value)

    def update(self, other: Pairs = ()) -> None:  # type: ignore[override]
        """Add updates. Raises KeyError for a variable with another update."""
        for variable, value in list(
            other.items() if isinstance(other, dict) else other
        ):
            if variable in self and self[variable] is not value:
                raise UpdateTwiceError(
                    f"OrderedUpdates: {variable} is updated already, by another value"
                )
            self[variable] = value

    def __add__(self, other: Pairs) -> OrderedUpdates:
        """Return the updates of both."""
        updates = OrderedUpdates(self)
        updates.update(other)
        return updates

    def __radd__(self, other: Pairs) -> OrderedUpdates:
        return OrderedUpdates(other) + self


class UpdateTwiceError(GraphValueError, KeyError):
    """A variable is updated by two values."""

    def __str__(self) -> str:
        return str(self.args[0])


def update_value(variable: Any, value: Any) -> Variable:
    """Return an update's expression, checked to be of the variable's type."""
    kind = variable.type
    try:
        expression = value_for(variable, value)
    except CompilerError as error:
        raise type(error)(f"function: the update of {variable}: {error}") from error
    if not is_same_kind(expression.type, kind):
        remedy = (
            f"cast it with .astype({kind.dtype!r})"
            if expression.type.dtype != kind.dtype
            else "reduce it, or give it axes"
            if expression.type.ndim != kind.ndim
            else "the axes that broadcast must do so in the update too, and no others; "
            "say which with patternbroadcast"
        )
        raise GraphTypeError(
            made_at(
                f"function: the update of {variable} is {expression.type}, expected "
                f"{kind}; {remedy}",
                expression.tag.trace,
            )
        )
    return expression


def update_pairs(updates: Pairs | None) -> list[tuple[SharedVariable, Variable]]:
    """Return each updated shared variable and its next value.

    Raises TypeError for another variable or a value of another type, ValueError for a
    variable that is updated twice.
    """
    pairs = []
    for variable, value in variable_pairs(updates, "function: updates"):
        if not isinstance(variable, SharedVariable):
            raise GraphTypeError(
                f"function: {variable} is updated but is no shared variable; make it "
                "with shared(value)"
            )
        check_computable([variable])
        pairs.append((variable, update_value(variable, value)))
    return pairs


def default_updates(
    expressions: Sequence[Variable],
    known: Iterable[SharedVariable],
    left_out: bool | Sequence[SharedVariable],
    final: Callable[[Sequence[Variable]], Sequence[Variable]],
) -> list[tuple[SharedVariable, Variable]]:
    """Return the default updates of the shared variables that expressions read.

    ``known`` have other updates; ``left_out`` are not updated, or True for none at all.
    ``final`` replaces variables in an update, which may read variables with default
    updates itself.
    """
    if left_out is True:
        return []
    handled = {*known, *(_excluded(left_out) if left_out else ())}
    pairs: list[tuple[SharedVariable, Variable]] = []
    waiting = list(expressions)
    while waiting:
        bringing = [
            variable
            for variable in inputs_of(waiting)
            if isinstance(variable, SharedVariable)
            and variable.default_update is not None
            and variable not in handled
        ]
        waiting = list(
            final(
                [
                    update_value(variable, variable.default_update)
                    for variable in bringing
                ]
            )
        )
        handled.update(bringing)
        pairs += zip(bringing, waiting, strict=True)
    return pairs


def _excluded(variables: Any) -> list[SharedVariable]:
    if not isinstance(variables, list | tuple | set) or not all(
        isinstance(variable, SharedVariable) for variable in variables
    ):
        raise GraphTypeError(
            f"function: no_default_updates={variables!r}; expected True, False, or a "
            "list of shared variables"
        )
    return list(variables)
