"""Conversion of values to host variables; vectors made of scalars."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from gpuarray.compiler.errors import (
    GraphIndexError,
    GraphTypeError,
    GraphValueError,
)
from gpuarray.compiler.graph import core
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.types import ArrayType, TensorType, dtype_name
from gpuarray.compiler.ops.variables.transfer import host_from_gpu

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Variable])
OFFERED: dict[str, Callable[..., Variable]] = {}
"""Functions of modules that build on this one, which it calls by name."""


def offered(function: AnyFunction) -> AnyFunction:
    """Offer a function to this module."""
    OFFERED[function.__name__] = function
    return function


def as_tensor_variable(
    value: Any, name: str | None = None, ndim: int | None = None
) -> Variable:
    """Return ``value`` as a variable of the host.

    A variable stays as it is, one on a context is copied to the host; a number or an
    array becomes a constant; a list with a variable among its elements is stacked. With
    ``ndim`` the result has that rank: broadcastable axes are added or dropped on the
    left. Raises ValueError where that is impossible.
    """
    if ndim is not None:
        return _of_axes(as_tensor_variable(value, name), ndim)
    if name is None and isinstance(value, Variable):
        if isinstance(value.type, TensorType):
            return value
    elif isinstance(value, (list, tuple)) and holds_variable(value):
        return OFFERED["stacklists"](value)
    variable = core.as_variable(value, "as_tensor_variable")
    if variable.is_sparse:
        raise GraphTypeError(
            f"as_tensor_variable: given {variable} of {variable.type}, expected an "
            "array; make it dense with sparse.dense_from_sparse(x)"
        )
    if not isinstance(variable.type, ArrayType):
        raise GraphTypeError(
            f"as_tensor_variable: given {variable} of {variable.type}, expected an "
            "array"
        )
    if name is not None and isinstance(variable, Constant):
        return variable.clone(name)
    return host_from_gpu(variable)


def _of_axes(variable: Variable, ndim: int) -> Variable:
    """Return the variable with broadcastable axes added or dropped on its left."""
    ndim = known_integer("as_tensor_variable", "ndim", ndim)
    extra = variable.type.ndim - ndim
    if extra == 0:
        return variable
    if not all(variable.type.broadcastable[: max(extra, 0)]):
        raise GraphValueError(
            f"as_tensor_variable: given {variable} of {variable.type}, which has more "
            f"than ndim={ndim} axes; reshape it"
        )
    if isinstance(variable, Constant):
        shape = (1,) * -extra + variable.data.shape[max(extra, 0) :]
        return core.constant(
            variable.data.reshape(shape), variable.type.dtype, variable.name
        )
    added = ("x",) * -extra
    order = *added, *range(max(extra, 0), variable.type.ndim)
    return OFFERED["dimshuffle"](variable, *order)


def holds_variable(value: Any) -> bool:
    """True if nested lists have a variable in them."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_variable, value))
    return isinstance(value, (Variable, Apply))


def constant(
    value: Any, name: str | None = None, ndim: int | None = None, dtype: Any = None
) -> Constant:
    """A constant; it gets broadcast axes on its left until it has ``ndim``."""
    variable = core.constant(value, dtype, name)
    if ndim is None or variable.type.ndim == ndim:
        return variable
    if variable.type.ndim > ndim:
        raise GraphValueError(
            f"constant: given {variable.type.ndim} axes, expected at most ndim={ndim}"
        )
    shape = (1,) * (ndim - variable.type.ndim) + variable.data.shape
    return core.constant(variable.data.reshape(shape), dtype, name)


def is_constant(variable: Variable, value: float | None = None) -> bool:
    """True if the variable is a constant (of one element that equals ``value``)."""
    if not isinstance(variable, Constant):
        return False
    return value is None or (variable.data.size == 1 and variable.data.item() == value)


def known_integer(name: str, what: str, value: Any) -> int:
    """``value``, a number or a constant, as an int; errors name the operation."""
    if isinstance(value, Constant) and value.type.ndim == 0:
        value = value.data.item()
    if isinstance(value, Variable):
        raise GraphTypeError(
            f"{name}: {what} is {value}, known only when the program runs; expected an "
            "integer"
        )
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise GraphTypeError(
            f"{name}: {what} is {value!r}, a {type(value).__name__}; expected an "
            "integer"
        ) from None


def known_real(name: str, what: str, value: Any) -> float:
    """``value``, a number or a constant, as a float; errors name the operation."""
    if isinstance(value, Constant) and value.type.ndim == 0:
        value = value.data.item()
    if not isinstance(value, str | bytes | Variable):
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise GraphTypeError(
        f"{name}: {what} is {value!r}, a {type(value).__name__}; expected a real number"
    )


def normalise_axis(name: str, axis: Any, ndim: int) -> int:
    """``axis``, also a constant, counted from the left; errors name the operation."""
    index = known_integer(name, "axis", axis)
    if not -ndim <= index < ndim:
        raise GraphIndexError(f"{name}: axis {index} is not among {ndim} axes")
    return index % ndim


def axis_list(axis: Any) -> list[Any]:
    """Return one axis or several, in a list, a tuple or an array, as a list."""
    if isinstance(axis, Constant):
        axis = axis.data
    if isinstance(axis, np.ndarray) and axis.ndim:
        return list(axis)
    return list(axis) if isinstance(axis, Sequence) else [axis]


class MakeVector(Op):
    """A vector made of scalars."""

    __props__ = ("dtype",)

    def __init__(self, dtype: str | None = None) -> None:
        self.dtype = None if dtype is None else dtype_name(dtype)

    def make_node(self, *inputs: Any) -> Apply:
        """Return a node over the scalars, in the op's or their common dtype."""
        scalars = [as_tensor_variable(value) for value in inputs]
        for scalar in scalars:
            if scalar.type.ndim != 0:
                raise GraphTypeError(
                    f"MakeVector: given {scalar} of {scalar.type}, expected scalars; "
                    "use stack for arrays"
                )
        dtype = (
            self.dtype
            or np.result_type(*(operand.type.dtype for operand in scalars)).name
        )
        op = MakeVector(dtype)
        return Apply(op, scalars, [TensorType(dtype, (len(scalars) == 1,))()])

    def reference(self, *scalars: Any) -> Any:
        """The vector."""
        return np.array(scalars, dtype=self.dtype)

    def grad(self, m: Any, g: Variable, y: Variable, *scalars: Variable) -> list[Any]:
        """Return the element of ``g`` for each scalar."""
        places = np.eye(len(scalars), dtype="int8")
        return [m.sum(g * core.constant(place)) for place in places]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[Any]:
        """The number of scalars."""
        return [(core.constant(len(node.inputs), "int64"),)]

    def __str__(self) -> str:
        return f"MakeVector{{dtype={self.dtype!r}}}"
