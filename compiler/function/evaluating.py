"""``variable.eval``: the value of an expression at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.function.call import Function
from gpuarray.compiler.function.make import function
from gpuarray.compiler.graph.core import Variable


def evaluate(
    self: Variable, inputs_to_values: Mapping[Variable, Any] | None = None
) -> Any:
    """Return the value of this expression for values of its inputs.

    ``inputs_to_values`` maps variables to numbers or arrays; other inputs must be
    shared. The function is compiled once for the same inputs and settings, and kept
    with the variable. Raises as `function` does, and TypeError for what is no mapping
    of variables.

    >>> import gpuarray.compiler.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> print((x + y).eval({x: 16.3, y: 12.1}))
    28.4
    """
    values = {} if inputs_to_values is None else inputs_to_values
    keys: list[Any] = list(values) if isinstance(values, Mapping) else [values]
    if wrong := [key for key in keys if not isinstance(key, Variable)]:
        raise GraphTypeError(
            f"eval: given {wrong[0]!r}, expected values of variables: "
            "expression.eval({x: 1.5})"
        )
    functions: dict[Any, tuple[list[Variable], Function]]
    functions = self.__dict__.setdefault("_functions", {})
    key = frozenset(values), config.current()
    if key not in functions:
        inputs = list(values)
        functions[key] = inputs, function(inputs, self)
    inputs, compiled = functions[key]
    return compiled(*(values[variable] for variable in inputs))


Variable.learn({"eval": evaluate})
