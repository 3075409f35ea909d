"""Arguments of creation functions: their order, the context, dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType

Place = str | Context | None
Shape = int | Sequence[int]
F = TypeVar("F", bound=Callable[..., Any])


def in_either_order(names: str) -> Callable[[F], F]:
    """Let arguments after the dtype have the order ``names``, too.

    That is NumPy's and libgpuarray 0.7's order, which begins with ``order`` or
    ``copy``, where ours begins with the context: the argument's type tells them apart.
    """
    others = names.split()

    def decorate(function: F) -> F:
        first = function.__code__.co_varnames.index("context")

        @wraps(function)
        def either(*args: Any, **named: Any) -> Any:
            if (
                len(args) > first
                and args[first].__class__ is not Context
                and not _begins_with_context(args[first:])
            ):
                rest = dict(zip(others, args[first:], strict=False))
                if len(args) - first > len(others) or not named.keys().isdisjoint(rest):
                    raise BadType(
                        f"{function.__name__}: got {len(args)} positional arguments "
                        f"and {', '.join(named) or 'no others'}, expected behind the "
                        f"dtype at most: {', '.join(others)}"
                    )
                return function(*args[:first], **rest, **named)
            return function(*args, **named)

        return either  # type: ignore[return-value]

    return decorate


def _begins_with_context(arguments: tuple[Any, ...]) -> bool:
    """True if the first is a context; if it is None, if no other is one."""
    if arguments[0] is None:
        return not any(map(_is_context, arguments))
    return _is_context(arguments[0])


def _is_context(argument: Any) -> bool:
    """True if it may name a context: it has no other argument's type."""
    if isinstance(argument, str):
        return len(argument) != 1  # an order has one letter
    return not (argument is None or isinstance(argument, bool | int | type))


_SINGLE = {np.dtype(d): np.dtype(s) for d, s in (("f8", "f4"), ("c16", "c8"))}


def place_of(operation: str, context: Place, device: Place) -> Context:
    """Return the context named by either argument, or the default one."""
    if context is not None and device is not None:
        raise BadType(f"{operation}: context and device are one thing; give one")
    return find_context(device if context is None else context)


def float_dtype(
    operation: str, dtype: npt.DTypeLike | None, place: Context
) -> np.dtype[Any]:
    """Return the dtype asked for, else the widest floating dtype of the device."""
    if dtype is None:
        return np.dtype(np.float64 if place.has_double else np.float32)
    return as_dtype(dtype, operation)


def fitting(host: npt.NDArray[Any], place: Context) -> npt.NDArray[Any]:
    """Return values without a chosen dtype; float32 if the device lacks float64."""
    if place.has_double:
        return host
    return host.astype(_SINGLE.get(host.dtype, host.dtype), copy=False)
