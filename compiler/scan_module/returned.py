"""What the function of a turn returns: outputs, updates and a condition to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphTypeError, GraphValueError
from gpuarray.compiler.function.updates import OrderedUpdates
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.scan_module.scan_utils import until
from gpuarray.compiler.shared import SharedVariable


@dataclass
class Returned:
    """The parts of what a turn returns, as they are given."""

    outputs: list[Any] = field(default_factory=list)
    updates: OrderedUpdates = field(default_factory=OrderedUpdates)
    condition: Variable | None = None


OUTPUTS = (Variable, Apply, bool, int, float, complex, np.ndarray, np.generic)
"""What an output may be given as."""


def are_outputs(given: Any) -> bool:
    """True for an output, or a list of them."""
    if isinstance(given, list | tuple):
        return all(isinstance(each, OUTPUTS) for each in given)
    return isinstance(given, OUTPUTS)


def are_updates(given: Any) -> bool:
    """True for a mapping, or pairs of a shared variable and its next value."""
    if isinstance(given, Mapping):
        return True
    return isinstance(given, list | tuple) and all(
        isinstance(each, list | tuple)
        and len(each) == 2
        and isinstance(each[0], SharedVariable)
        for each in given
    )


def returned(given: Any, name: str) -> Returned:
    """The parts of a result, in any of the orders in which they may be returned."""
    if given is None:
        return Returned()
    if are_outputs(given):
        return Returned(list(given) if isinstance(given, list | tuple) else [given])
    if isinstance(given, until) or are_updates(given):
        given = (given,)
    if not isinstance(given, list | tuple) or len(given) > 3:
        raise _unknown(given, name)
    result = Returned()
    seen: set[str] = set()
    for part in given:
        kind = kind_of(part)
        if kind is None or kind in seen:
            raise _unknown(given, name)
        seen.add(kind)
        if kind == "condition":
            result.condition = part.condition
        elif kind == "updates":
            result.updates = OrderedUpdates(part)
        else:
            result.outputs = list(part) if isinstance(part, list | tuple) else [part]
    return result


def kind_of(part: Any) -> str | None:
    """Which part of a result it is; None for none."""
    if isinstance(part, until):
        return "condition"
    if are_outputs(part) and not (part == [] or part == ()):
        return "outputs"
    if are_updates(part):
        return "updates"
    return None


def _unknown(given: Any, name: str) -> Exception:
    error = GraphValueError if isinstance(given, list | tuple) else GraphTypeError
    return error(
        f"{name}: fn returns {given!r}; expected an output or a list of them, then "
        "updates (a dictionary, or pairs of a shared variable and its next value), "
        "then until(condition), each of which may be left out"
    )
