"""``until``, ``clone`` and ``map_variables``, under Theano's names."""

from __future__ import annotations

from typing import Any

from gpuarray.compiler.errors import GraphTypeError
from gpuarray.compiler.function.givens import clone
from gpuarray.compiler.gof.graph import equal_computations
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.variables.basic import as_tensor_variable
from gpuarray.compiler.scan_module.mapping import map_variables

__all__ = ["clone", "equal_computations", "map_variables", "until"]


class until:
    """A stop condition that ``fn`` returns: the iteration where it holds is the last.

    >>> from gpuarray.compiler import tensor as T
    >>> until(T.dscalar("x") > 45).condition.type
    TensorType(bool, scalar)
    """

    def __init__(self, condition: Any) -> None:
        self.condition = as_tensor_variable(condition)
        if self.condition.type.ndim:
            raise GraphTypeError(
                f"until: the condition is {self.condition} of {self.condition.type}, "
                "expected a scalar; reduce it with all() or any()"
            )


suggest_names(__name__)
