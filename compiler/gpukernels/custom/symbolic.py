"""Symbolic integers and arrays, which record arithmetic as steps of a body.

``gpu_launches`` of an op is Python. For a file it is called with these symbols for
numbers and arrays: arithmetic on them becomes steps, so the file computes the launch
for every shape. Code that needs a value (a branch, ``int(n)``) cannot be recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, NoReturn

import numpy as np
from gpuarray import dtypes
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.bodies import Steps
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.shape.shape import Shape_i
from gpuarray.scalars import Scalar


class Unrecordable(Exception):
    """Code needs the value of a number or the elements of an array."""


def _refuses(why: str) -> Callable[..., NoReturn]:
    """Return a method that raises `Unrecordable` with the reason."""

    def method(*_: Any) -> NoReturn:
        raise Unrecordable(why)

    return method


_branches = _refuses("it branches on a number")
_needs_value = _refuses("it needs the value of a number")
_needs_array = _refuses("it needs the elements of an array")
_computes = _refuses("it computes with an offset or a stride")


def _recorded(name: str, turned: bool = False) -> Callable[[Any, Any], HostInteger]:
    """Return a method that adds one of the executor's operations."""

    def method(self: HostInteger, other: Any) -> HostInteger:
        a, b = self.number, number_of(self.steps, other)
        if turned:
            a, b = b, a
        return HostInteger(self.steps, self.steps.arithmetic(name, a, b))

    return method


class HostInteger:
    """A symbolic host integer of a body; comparisons give 0 or 1.

    It has no value: ``bool``, ``int``, a hash and a text of it raise `Unrecordable`.
    """

    def __init__(self, steps: Steps, number: int) -> None:
        self.steps = steps
        self.number = number

    __add__, __radd__ = _recorded("add"), _recorded("add", turned=True)
    __sub__, __rsub__ = _recorded("sub"), _recorded("sub", turned=True)
    __mul__, __rmul__ = _recorded("mul"), _recorded("mul", turned=True)
    __floordiv__ = _recorded("floor_divide")
    __rfloordiv__ = _recorded("floor_divide", turned=True)
    __mod__, __rmod__ = _recorded("mod"), _recorded("mod", turned=True)
    __and__, __rand__ = _recorded("bitwise_and"), _recorded("bitwise_and", turned=True)
    __or__, __ror__ = _recorded("bitwise_or"), _recorded("bitwise_or", turned=True)
    __lt__, __gt__ = _recorded("lt"), _recorded("lt", turned=True)
    __le__, __ge__ = _recorded("le"), _recorded("le", turned=True)
    __eq__ = _recorded("eq")  # type: ignore[assignment]
    least, greatest = _recorded("minimum"), _recorded("maximum")

    def __ne__(self, other: object) -> HostInteger:  # type: ignore[override]
        return (self == other) == 0

    def __neg__(self) -> HostInteger:
        return 0 - self

    def __pos__(self) -> HostInteger:
        return self

    def __abs__(self) -> HostInteger:
        return self.greatest(-self)

    __bool__ = _branches
    __index__ = __int__ = __float__ = __complex__ = _needs_value
    __hash__ = __str__ = __repr__ = __format__ = _needs_value
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _needs_value

    def must_be(self, x: int, other: Any, text: str) -> None:
        """Make the body fail with a text where this is another integer."""
        condition: Any = self == other
        self.steps.require(x, [condition.number], text)


class ArrayPart:
    """The offset of an array, or its stride in bytes along an axis.

    It can be an argument of a kernel; no arithmetic on it is recorded.
    """

    def __init__(self, array: int, axis: int | None = None) -> None:
        self.array = array
        self.axis = axis

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _computes
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = _computes
    __lt__ = __gt__ = __le__ = __ge__ = __neg__ = __abs__ = _computes
    __eq__ = __ne__ = _computes
    __bool__ = __index__ = __int__ = __float__ = _computes
    __hash__ = __str__ = __repr__ = __format__ = _computes


class HostArray:
    """A symbolic array of a body: its dtype is known, its lengths are steps."""

    __class__ = Array  # type: ignore[assignment]  # for `isinstance` in an op

    def __init__(self, steps: Steps, number: int) -> None:
        value = steps.array(number)
        self.steps = steps
        self.number = number
        self.dtype = dtypes.as_dtype(value.dtype)
        self.ndim = value.ndim
        self.itemsize = self.dtype.itemsize
        self.strides = tuple(ArrayPart(number, axis) for axis in range(self.ndim))
        self.offset = ArrayPart(number)
        self._shape: tuple[HostInteger, ...] | None = None

    @property
    def shape(self) -> tuple[HostInteger, ...]:
        """The lengths, added as steps when they are first read."""
        if self._shape is None:
            axes = range(self.ndim)
            lengths = [self.steps.length(self.number, axis) for axis in axes]
            self._shape = tuple(HostInteger(self.steps, length) for length in lengths)
        return self._shape

    @property
    def size(self) -> Any:
        """The number of elements."""
        return product(self.shape)

    @property
    def nbytes(self) -> Any:
        """The bytes of its elements."""
        return self.size * self.itemsize

    def __getattr__(self, name: str) -> Any:
        raise Unrecordable(f"it asks an array for {name}")

    __bool__ = __len__ = __getitem__ = __iter__ = __array__ = _needs_array
    __repr__ = __str__ = _needs_array


def product(integers: Iterable[Any]) -> Any:
    """Return the product of integers, without a step for a leading 1; 1 of none."""
    listed = list(integers)
    return reduce(operator.mul, listed) if listed else 1


def is_host_array(value: Any) -> bool:
    """True if a value is a symbolic array."""
    return type(value) is HostArray


def number_of(steps: Steps, value: Any) -> int:
    """Return the number of a value of the body that holds an integer."""
    if isinstance(value, HostInteger):
        return value.number
    if isinstance(value, (int, np.integer)):
        return steps.integer(int(value))
    raise Unrecordable(f"it computes with {type(value).__name__} beside a length")


# ---- functions of numbers and symbols ----


def least(a: Any, b: Any) -> Any:
    """Return the smaller integer; unlike ``min`` it can be recorded.

    >>> least(3, 2)
    2
    """
    if isinstance(a, HostInteger):
        return a.least(b)
    return b.least(a) if isinstance(b, HostInteger) else min(a, b)


def greatest(a: Any, b: Any) -> Any:
    """Return the larger integer; unlike ``max`` it can be recorded.

    >>> greatest(3, 2)
    3
    """
    if isinstance(a, HostInteger):
        return a.greatest(b)
    return b.greatest(a) if isinstance(b, HostInteger) else max(a, b)


def same(a: Any, b: Any, x: Any, text: str) -> None:
    """Raise ValueError with a text where two integers differ, also from a file.

    ``x`` is one of the op's arrays.

    >>> same(2, 2, None, "the lengths differ")
    """
    if isinstance(a, HostInteger):
        a.must_be(x.number, b, text)
    elif isinstance(b, HostInteger):
        b.must_be(x.number, a, text)
    elif a != b:
        raise GraphValueError(text)


# ---- lengths in graphs ----

ROWS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floor_divide": operator.floordiv,
    "mod": operator.mod,
    "maximum": greatest,
    "minimum": least,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "neg": operator.neg,
    "abs": abs,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
}
"""The rows of the scalar table that lengths may be computed by."""


def integer_of(steps: Steps, length: Any, known: dict[Variable, Any]) -> Any:
    """Return a length of ``infer_shape``, computed from the ``known`` variables."""
    if not isinstance(length, Variable):
        return length
    if isinstance(length, Constant):
        return int(length.data)
    if length not in known:
        known[length] = _computed(steps, length, known)
    return known[length]


def _computed(steps: Steps, length: Variable, known: dict[Variable, Any]) -> Any:
    owner = length.owner
    if owner is None:
        raise Unrecordable("infer_shape needs what the device computes")
    if isinstance(owner.op, Shape_i):
        return known[owner.inputs[0]].shape[owner.op.i]
    if not isinstance(owner.op, Elemwise):
        raise Unrecordable(f"infer_shape computes with {owner.op}")
    values = [integer_of(steps, operand, known) for operand in owner.inputs]
    if isinstance(owner.op.scalar, Scalar):
        if owner.op.scalar.name not in ROWS:
            raise Unrecordable(f"infer_shape computes with {owner.op}")
        return ROWS[owner.op.scalar.name](*values)
    if length.type.dtype == "int64" and owner.inputs[0].type.dtype != "uint64":
        return values[0]  # a cast
    raise Unrecordable(f"infer_shape computes in {length.type.dtype}")
