"""The namespace ``T.var``: classes that tell what kind of variable one is.

All arrays' variables are of one class here, so these are only for ``isinstance``:

>>> import gpuarray.compiler.tensor as T
>>> x = T.dvector("x")
>>> isinstance(x, TensorVariable), isinstance(x, TensorConstant)
(True, False)
>>> isinstance(T.constant(1.0), TensorVariable), isinstance(T.constant(1.0), TensorConstant)
(False, True)
"""  # noqa: E501

from __future__ import annotations

from typing import Any

from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.shared import SharedVariable

__all__ = ["TensorConstant", "TensorVariable"]


class VariableKind(type):
    """A class whose instances are variables of a class and of host arrays' types."""

    variables: type[Variable]
    but: tuple[type[Variable], ...]

    def __instancecheck__(cls, value: Any) -> bool:
        return (
            isinstance(value, cls.variables)
            and isinstance(value.type, TensorType)
            and not isinstance(value, cls.but)
        )

    def __call__(cls, *args: Any, **options: Any) -> Variable:
        return cls.variables(*args, **options)


class TensorVariable(metaclass=VariableKind):
    """Any variable of a `TensorType` that is neither constant nor shared."""

    variables = Variable
    but = (Constant, SharedVariable)


class TensorConstant(metaclass=VariableKind):
    """Any constant of a `TensorType`."""

    variables = Constant
    but = ()


class TensorSharedVariable(metaclass=VariableKind):
    """Any shared variable of a `TensorType`."""

    variables = SharedVariable
    but = ()


suggest_names(__name__)
