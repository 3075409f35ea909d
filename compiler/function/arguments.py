"""Arguments of a call: matching with the inputs and type checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gpuarray._core.context import Context
from gpuarray._kernels.argument_conversion import (
    check_array as check_fits,
    check_strict,
)
from gpuarray.array import Array
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import (
    CompilerError,
    GraphTypeError,
    GraphValueError,
    made_at,
)
from gpuarray.compiler.executor import Takes
from gpuarray.compiler.function.interface import In, Interface
from gpuarray.compiler.function.values import host_type
from gpuarray.compiler.plan import IntValue, Value
from gpuarray.errors import BadType, BadValue, GpuArrayError

_OF_COMPILER: dict[type[Exception], type[Exception]] = {
    BadType: GraphTypeError,
    BadValue: GraphValueError,
}


def allows_downcast(interface: Interface, index: int) -> bool | None:
    """True if an input may lose digits; None where neither it nor the function says."""
    own = interface.inputs[index].allow_downcast
    return interface.allow_downcast if own is None else own


def takes(interface: Interface, index: int, value: Value) -> Takes:
    """Return the Python numbers that C converts for an input; see `NativePlan.runner`.

    ``value`` is the plan's value of the input.
    """
    spec = interface.inputs[index]
    dtype = host_type(spec.variable.type).numpy_dtype
    if isinstance(value, IntValue):
        if spec.strict or dtype.kind == "b":
            return 1, 0  # an empty range
        info = np.iinfo(dtype)
        return int(info.min), min(int(info.max), 2**63 - 1)
    if spec.strict:
        return 0
    downcast = allows_downcast(interface, index)
    is_float_x = dtype.name == config.floatX and downcast is None
    return 2 if downcast or is_float_x else 1


def checked(interface: Interface, index: int, value: Any, function: str) -> Any:
    """Return a host value as one of the input's type. Raises TypeError."""
    spec = interface.inputs[index]
    host = host_type(spec.variable.type)
    try:
        if spec.strict:
            check_strict(value, host.numpy_dtype)
        return host.filter(value, allow_downcast=allows_downcast(interface, index))
    except (CompilerError, BadType) as error:
        raise _input_error(interface, index, error, function) from None


def check_array(
    interface: Interface,
    index: int,
    array: Array | np.ndarray[Any, Any],
    context: Context,
    function: str,
) -> None:
    """Raise TypeError or ValueError for an array that does not fit its input."""
    kind = interface.inputs[index].variable.type
    try:
        check_fits(array, context, kind.numpy_dtype, kind.broadcastable, kind)
    except GpuArrayError as error:
        raise _input_error(interface, index, error, function) from None


def _input_error(
    interface: Interface, index: int, error: Exception, function: str
) -> Exception:
    """Return the error with the input's name and the line that made the input."""
    spec = interface.inputs[index]
    message = f"{function}: input {index} ({spec}): {error}"
    kind = _OF_COMPILER.get(type(error), type(error))
    return kind(made_at(message, spec.variable.tag.trace))


def by_position(
    interface: Interface,
    explicit: Sequence[int],
    args: Sequence[Any],
    named: Mapping[str, Any],
) -> dict[int, Any] | None:
    """Return the arguments by input index; None if one is unknown or surplus.

    ``explicit`` has the indices of the inputs that a call may give.
    """
    if len(args) > len(explicit):
        return None
    values = dict(zip(explicit, args, strict=False))
    for name, value in named.items():
        places = [i for i in explicit if interface.inputs[i].called == str(name)]
        if len(places) != 1 or places[0] in values:
            return None
        values[places[0]] = value
    return values


def wrong_arguments(
    function: str, inputs: Sequence[In], args: Sequence[Any], named: Mapping[str, Any]
) -> GraphTypeError:
    """Return the error for a call with a missing or surplus argument."""
    expected = ", ".join(
        f"{spec} (or its value)" if spec.value is not None else str(spec)
        for spec in inputs
    )
    by_name = f" and {', '.join(sorted(named))} by name" if named else ""
    return GraphTypeError(
        f"{function}: given {len(args)} inputs by position{by_name}, expected "
        f"{len(inputs)}: {expected}"
    )
