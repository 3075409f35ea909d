"""fuse: few kernels for a function of arrays, with the bits of the unfused one.

The function is traced with symbols once for each combination of dtypes. Elementwise
computation between two calls that take whole arrays (a sum, a product) becomes one
kernel for each shape of its results (``segments``). A function that cannot be traced
runs as it is.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuarray._core.base import BaseArray
from gpuarray._functional.fused_kernels import Origin, Segment, operands_of
from gpuarray._functional.tracer import (
    Applied,
    Called,
    CannotRecord,
    Symbol,
    TracedArray,
    TracedNumber,
    record,
)
from gpuarray._kernels.numbers import number_operand
from gpuarray._ufunc.elementwise import recorders
from gpuarray.errors import BadType

recorders.append((Symbol, record))

MOST_PLANS = 256


def fuse(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Fuse the elementwise operations of ``function`` into kernels; a decorator.

    >>> @gpuarray.fuse
    ... def scaled(x, y, a):
    ...     return gpuarray.exp(x * a) + y
    >>> print(scaled(gpuarray.zeros(2), gpuarray.arange(2), 3.0))
    [1. 2.]

    Arguments are arrays, numbers and hashable objects. The function must depend on
    nothing else, and is traced with symbols for its arrays, once for each combination
    of dtypes. The results are the same to the bit as without ``fuse``. Methods
    (``x.sum(0)``) and functions of NumPy on whole arrays run in between. A function
    that reads shapes or elements, or stores into its arguments, runs as it is.
    """
    if options:
        names = ", ".join(options)
        raise BadType(f"fuse: got the options {names}; there are none")
    return Fused if function is None else Fused(function)


class Fused:
    """A function whose elementwise parts run as one kernel each."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._plans: dict[Any, FusionPlan | None] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's result."""
        arguments = (*args, *kwargs.values())
        names = tuple(kwargs)
        for is_fixed in (False, True):
            kinds = [
                x._typecode if isinstance(x, BaseArray) else _key(x, is_fixed)
                for x in arguments
            ]
            key = (len(args), names, *kinds)
            try:
                plan = self._plans.get(key, _UNTRIED)
            except TypeError:  # an unhashable argument
                break
            if plan is _UNTRIED:
                plan = self._trace(arguments, len(args), names, is_fixed)
                if len(self._plans) >= MOST_PLANS:
                    self._plans.clear()
                self._plans[key] = plan
            if plan is not None:
                try:
                    return plan.run(arguments)
                except CannotRecord:
                    break
        return self._function(*args, **kwargs)

    def _trace(
        self, arguments: Sequence[Any], n: int, names: Sequence[str], is_fixed: bool
    ) -> FusionPlan | None:
        """Return the trace of the function, or None if it cannot be recorded."""
        stands = [_stand_in(i, x, is_fixed) for i, x in enumerate(arguments)]
        if not any(isinstance(x, BaseArray) for x in arguments):
            return None
        named = dict(zip(names, stands[n:], strict=True))
        try:
            return FusionPlan(self._function(*stands[:n], **named))
        except Exception:  # an error of the function shows again when it runs as it is
            return None

    def __repr__(self) -> str:
        return f"<fused function {self._function.__name__!r}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle what a module has under its name by that name, as functions are."""
        place: str = self._function.__qualname__
        found: Any = sys.modules.get(self._function.__module__)
        for name in place.split("."):
            found = getattr(found, name, None)
        if found is self:
            return place
        return Fused, (self._function,)


_UNTRIED: Any = object()


def _key(value: Any, is_fixed: bool) -> Any:
    """Return the part of a plan's key from an argument that is no array."""
    if number_operand(value) is not None:
        return (value.__class__, repr(value) if is_fixed else None)
    return value.__class__, value


def _stand_in(number: int, value: Any, is_fixed: bool) -> Any:
    if isinstance(value, BaseArray):
        return Symbol(TracedArray(number), value._dtype)
    operand = number_operand(value)
    if operand is None or is_fixed:
        return value
    return Symbol(TracedNumber(number), operand)


# ---- the recorded plan ----


class FusionPlan:
    """The recorded function: calls in order, with a segment before each level of them.

    ``result`` is the function's own result, with symbols.
    """

    def __init__(self, result: Any) -> None:
        self.result = result
        self.levels: dict[Origin, int] = {}
        origins = [x.origin for x in _symbols(result)]
        for origin in origins:
            if isinstance(origin, TracedNumber):
                raise CannotRecord("fuse: a number is given back")
            self._visit(origin)
        calls = [x for x in self.levels if isinstance(x, Called)]
        for call in calls:
            origins += [x.origin for x in call.arguments if isinstance(x, Symbol)]
        stored = dict.fromkeys(x for x in origins if isinstance(x, Applied))
        last = max(self.levels.values(), default=0)
        self.segments = [
            Segment([x for x in stored if self.levels[x] == level])
            for level in range(last + 1)
        ]
        self.calls = [
            [x for x in calls if self.levels[x] == level + 1] for level in range(last)
        ]

    def _visit(self, origin: Origin) -> int:
        """Compute the number of calls before a value, and before its operands."""
        level = self.levels.get(origin)
        if level is None:
            operands = operands_of(origin)
            level = max((self._visit(x.origin) for x in operands), default=0)
            level += isinstance(origin, Called)
            self.levels[origin] = level
        return level

    def run(self, arguments: Sequence[Any]) -> Any:
        """Return the result for arguments of the plan's dtypes."""
        values: dict[Origin, Any] = {}
        for level, segment in enumerate(self.segments):
            segment.run(arguments, values)
            for call in self.calls[level] if level < len(self.calls) else ():
                listed = [_value(x, arguments, values) for x in call.arguments]
                if isinstance(call.name, str):
                    values[call] = getattr(listed[0], call.name)(
                        *listed[1:], **call.options
                    )
                else:
                    values[call] = call.name(*listed, **call.options)
        return _replaced(self.result, arguments, values)


def _symbols(result: Any) -> Iterator[Symbol]:
    if isinstance(result, Symbol):
        yield result
    elif isinstance(result, tuple | list):
        for item in result:
            yield from _symbols(item)
    elif isinstance(result, dict):
        yield from _symbols(list(result.values()))


def _replaced(result: Any, arguments: Sequence[Any], values: dict[Origin, Any]) -> Any:
    """Return the function's result with arrays in place of symbols."""
    if isinstance(result, tuple | list):
        listed = [_replaced(item, arguments, values) for item in result]
        if hasattr(result, "_fields"):
            return type(result)(*listed)
        return type(result)(listed)
    if isinstance(result, dict):
        return {
            name: _replaced(item, arguments, values) for name, item in result.items()
        }
    return _value(result, arguments, values)


def _value(x: Any, arguments: Sequence[Any], values: dict[Origin, Any]) -> Any:
    if not isinstance(x, Symbol):
        return x
    origin = x.origin
    return (
        arguments[origin.number]
        if isinstance(origin, TracedArray | TracedNumber)
        else values[origin]
    )
