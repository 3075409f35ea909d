"""Symbols: tracers that record operations in place of arrays.

A symbol has a dtype, unless it is the result of a function that takes only arrays. An
operation that needs more raises CannotRecord.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gpuarray._kernels.codegen import Operand, resolve
from gpuarray.dtypes import as_dtype, can_cast
from gpuarray.errors import Unsupported
from gpuarray.scalars import SCALARS, Scalar

DType = np.dtype[Any]


class CannotRecord(Unsupported):
    """A symbol has no value of a property that only an array has."""


class Symbol:
    """A traced value: an input, or a row or a method of other symbols.

    ``operand`` is its dtype, the type of a weak Python number, or None if unknown.
    """

    __slots__ = ("has_views", "operand", "origin")
    __hash__ = object.__hash__

    def __init__(
        self,
        origin: TracedArray | TracedNumber | Applied | Called,
        operand: Operand | None,
    ) -> None:
        self.origin = origin
        self.operand = operand
        self.has_views = False

    @property
    def dtype(self) -> DType:
        """The dtype that the array will have."""
        if not isinstance(self.operand, np.dtype):
            raise CannotRecord("fuse: a dtype is asked for that is not known yet")
        return self.operand

    def __repr__(self) -> str:
        known = self.operand if isinstance(self.operand, np.dtype) else "any dtype"
        return f"<value of {known}, not known while fuse records>"

    def astype(self, dtype: Any, **options: Any) -> Symbol:
        """Return the value cast to another dtype."""
        if options:
            raise CannotRecord("fuse: astype with an order")
        stored = as_dtype(dtype, "astype")
        return Symbol(Applied(None, (self._now(),), stored), stored)

    def _now(self) -> Symbol:
        """Return the symbol as it is, before later operations in place."""
        return Symbol(self.origin, self.operand)

    def _in_place(self, row: Scalar, other: Any) -> Symbol:
        """Return the symbol itself with another value, which keeps its dtype."""
        if not isinstance(self.origin, Applied) or self.has_views:
            raise CannotRecord(f"fuse: {row.name} in place of an array")
        recorded = record(row, (self, other))
        if not isinstance(recorded.operand, np.dtype) or not can_cast(
            recorded.operand, self.dtype
        ):
            raise CannotRecord(f"fuse: {row.name} in place, of another dtype")
        assert isinstance(recorded.origin, Applied)
        self.origin = Applied(row, recorded.origin.operands, self.dtype)
        return self

    def _called(self, name: Any, *arguments: Any, **options: Any) -> Symbol:
        if any(isinstance(x, Symbol) for x in options.values()):
            raise CannotRecord(f"fuse: {name} with an option not known yet")
        self.has_views = True
        arguments = tuple(x._now() if isinstance(x, Symbol) else x for x in arguments)
        return Symbol(Called(name, (self._now(), *arguments), options), None)

    def __array_ufunc__(
        self, ufunc: Any, method: str, *operands: Any, **options: Any
    ) -> Symbol:
        row = _BY_REFERENCE.get(ufunc)
        if row is None or method != "__call__":
            raise CannotRecord(f"fuse: {ufunc.__name__}.{method} of a value not known")
        return record(row, operands, not options)

    def __array_function__(
        self, function: Any, types: Any, args: Any, kwargs: dict[str, Any]
    ) -> Symbol:
        if not isinstance(args[0], Symbol):
            raise CannotRecord(f"fuse: {function.__name__} of a value not known yet")
        return args[0]._called(function, *args[1:], **kwargs)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a method that is called later, on the array."""
        if name not in METHODS:
            raise CannotRecord(f"fuse: {name} of a value that is not known yet")

        return partial(self._called, name)

    def __getitem__(self, index: Any) -> Symbol:
        return self._called("__getitem__", index)

    def __matmul__(self, other: Any) -> Symbol:
        return self._called("__matmul__", other)

    @property
    def T(self) -> Symbol:
        """The transpose."""
        return self._called("transpose")

    def __pow__(self, other: Any) -> Any:
        # As an array does, which computes these two exponents without pow.
        if isinstance(other, Symbol) and isinstance(other.origin, TracedNumber):
            raise CannotRecord("fuse: an exponent that is not known yet")
        kind = getattr(self.operand, "kind", "?")
        if other.__class__ is int and other == 2 and kind in "iufc":
            return record(SCALARS["square"], (self,), True)
        if other.__class__ is float and other == 0.5 and kind in "fc":
            return record(SCALARS["sqrt"], (self,), True)
        return record(SCALARS["power"], (self, other), True)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def _refuse(self, *_: Any) -> Any:
        raise CannotRecord("fuse: the function looks at a value that is not known yet")

    __bool__ = __int__ = __float__ = __complex__ = __index__ = _refuse
    __len__ = __iter__ = __contains__ = __setitem__ = __array__ = _refuse


@dataclass(frozen=True, slots=True, eq=False)
class TracedArray:
    """An array argument of the recorded function, by number."""

    number: int


@dataclass(frozen=True, slots=True, eq=False)
class TracedNumber:
    """A number argument of the recorded function, by number."""

    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """A row of symbols and numbers, cast to ``stored``; without a row, the operand."""

    row: Scalar | None
    operands: tuple[Any, ...]
    stored: DType | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """A method of an array, the first argument, or a NumPy function, called later."""

    name: Any
    arguments: tuple[Any, ...]
    options: dict[str, Any]


METHODS = frozenset(
    """
    all any argmax argmin argsort clip conj copy cummax cummin cumprod cumsum diagonal
    dimshuffle dot flatten max mean min prod ptp ravel repeat reshape round squeeze std
    sum swapaxes take trace transpose var
    """.split()  # noqa: SIM905
)
"""The methods of arrays without side effects, which may be called later."""
_BY_REFERENCE = {row.ufunc: row for row in SCALARS.values() if row.ufunc is not None}


def record(row: Scalar, operands: tuple[Any, ...], is_plain: bool = True) -> Symbol:
    """The symbol of a row of symbols and numbers; with an output it is not plain."""
    if not is_plain:
        raise CannotRecord(f"fuse: {row.name} with an output, a mask or a dtype")
    if len(operands) != row.arity:
        raise CannotRecord(f"fuse: {row.name} of {len(operands)} operands")
    types = [operand_of(x) for x in operands]
    if all(
        not isinstance(x, Symbol) or isinstance(x.origin, TracedNumber)
        for x in operands
    ):
        raise CannotRecord(f"fuse: {row.name} of numbers alone")
    kinds = tuple(kind for kind in types if kind is not None)
    known = resolve(row, kinds).result if len(kinds) == len(types) else None
    now = tuple(x._now() if isinstance(x, Symbol) else x for x in operands)
    return Symbol(Applied(row, now), known)


def operand_of(value: Any) -> Operand | None:
    """Return the type of a symbol or a number; None if it is not known yet."""
    if isinstance(value, Symbol):
        return value.operand
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if isinstance(value, np.generic):
        return value.dtype
    for weak in (int, float, complex):
        if isinstance(value, weak):
            return weak
    raise CannotRecord(f"fuse: {type(value).__name__} beside a value not known yet")


def _method(row: Scalar, reflected: bool = False) -> Callable[..., Any]:
    def method(self: Symbol, *other: Any) -> Any:
        if reflected:
            return record(row, (*other, self))
        return record(row, (self, *other))

    return method


def _in_place(row: Scalar) -> Callable[[Symbol, Any], Symbol]:
    def method(self: Symbol, other: Any) -> Symbol:
        return self._in_place(row, other)

    return method


def _bind(row: Scalar) -> None:
    stem = row.operator
    if row.arity == 1:
        setattr(Symbol, row.name, _method(row))
    if stem is None:
        return
    if f"__{stem}__" not in vars(Symbol):
        setattr(Symbol, f"__{stem}__", _method(row))
    if row.arity == 2 and row.result != "bool":
        setattr(Symbol, f"__r{stem}__", _method(row, reflected=True))
        setattr(Symbol, f"__i{stem}__", _in_place(row))


for _row in SCALARS.values():
    _bind(_row)
