"""The result of a loop's function: outputs, updates and a stop condition."""

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
    """The parts of the result of ``fn``, not yet converted."""

    outputs: list[Any] = field(default_factory=list)
    updates: OrderedUpdates = field(default_factory=OrderedUpdates)
    condition: Variable | None = None


OUTPUTS = (Variable, Apply, bool, int, float, complex, np.ndarray, np.generic)
"""The types of values that are accepted as an output."""


def are_outputs(value: Any) -> bool:
    """True for an output, or a list of outputs."""
    if isinstance(value, list | tuple):
        return all(isinstance(item, OUTPUTS) for item in value)
    return isinstance(value, OUTPUTS)


def are_updates(value: Any) -> bool:
    """True for a mapping, or pairs of a shared variable and its next value."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list | tuple) and all(
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and isinstance(pair[0], SharedVariable)
        for pair in value
    )


def returned(value: Any, name: str) -> Returned:
    """Split the result of ``fn`` into its parts, which may come in any order.

    Raises ValueError for a list of unknown or repeated parts, TypeError for no list.
    """
    if value is None:
        return Returned()
    if are_outputs(value):
        return Returned(list(value) if isinstance(value, list | tuple) else [value])
    if isinstance(value, until) or are_updates(value):
        value = (value,)
    if not isinstance(value, list | tuple) or len(value) > 3:
        raise _unknown(value, name)
    result = Returned()
    kinds: set[str] = set()
    for part in value:
        kind = kind_of(part)
        if kind is None or kind in kinds:
            raise _unknown(value, name)
        kinds.add(kind)
        if kind == "condition":
            result.condition = part.condition
        elif kind == "updates":
            result.updates = OrderedUpdates(part)
        else:
            result.outputs = list(part) if isinstance(part, list | tuple) else [part]
    return result


def kind_of(part: Any) -> str | None:
    """Return "condition", "outputs" or "updates"; None for another value."""
    if isinstance(part, until):
        return "condition"
    if are_outputs(part) and not (part == [] or part == ()):
        return "outputs"
    if are_updates(part):
        return "updates"
    return None


def _unknown(value: Any, name: str) -> Exception:
    error = GraphValueError if isinstance(value, list | tuple) else GraphTypeError
    return error(
        f"{name}: fn returns {value!r}; expected an output or a list of them, then "
        "updates (a dictionary, or pairs of a shared variable and its next value), "
        "then until(condition), each of which may be left out"
    )
