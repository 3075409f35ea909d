"""Constants, and the conversion of numbers and arrays to them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError
from gpuarray.compiler.graph.types import TensorType, Type, dtype_name
from gpuarray.compiler.graph.variable import Apply, Variable
from gpuarray.dtypes import as_dtype, kind_of


class Constant(Variable):
    """A variable with a known value, which is read-only."""

    def __init__(self, type: Any, data: Any, name: str | None = None) -> None:
        super().__init__(type, name=name)
        self.data = type.filter(data)
        self._signature: tuple[Any, ...] | None = None

    @property
    def value(self) -> Any:
        """The value."""
        return self.data

    @property
    def signature(self) -> tuple[Any, ...]:
        """A hashable key: constants of equal signature are interchangeable."""
        if self._signature is None:
            data = np.asarray(self.data)
            content = data.tobytes()
            if len(content) > 64:
                content = hashlib.blake2b(content, digest_size=16).digest()
            self._signature = (self.type, data.shape, content)
        return self._signature

    def equals(self, other: object) -> bool:
        """Return True for a constant of the same type and value, bit by bit."""
        return isinstance(other, Constant) and self.signature == other.signature

    def clone(self, name: str | None = None) -> Constant:
        """Return a constant of the same value."""
        return Constant(self.type, self.data, self.name if name is None else name)

    def __str__(self) -> str:
        kind = type(self.type).__name__.removesuffix("Type")
        return f"{self.name or kind + 'Constant'}{{{short_value(self.data)}}}"

    __repr__ = __str__


def short_value(data: Any) -> str:
    """Return a constant's value as text; long or uniform arrays are abbreviated."""
    array = np.asarray(data)
    if array.dtype == object or array.ndim == 0:
        return str(array)
    if array.size and (array == array.flat[0]).all():
        return f"{array.shape} of {array.flat[0]!s}"
    text = str(array).replace("\n", " ")
    return text if len(text) <= 24 else f"{text[:10]}..{text[-10:]}"


def as_variable(value: Any, asked_by: str = "as_variable") -> Variable:
    """Return ``value`` if it is a variable, a node's output, or else a constant."""
    if isinstance(value, Variable):
        return value
    if isinstance(value, Apply):
        return value.out
    if hasattr(value, "context") and hasattr(value, "dtype"):
        raise GraphTypeError(
            f"{asked_by}: given a device array, expected a variable; make it a "
            "variable with shared(array)"
        )
    return constant(value, asked_by=asked_by)


_LITERAL_FLOAT: ContextVar[str | None] = ContextVar("literal float", default=None)


@contextmanager
def literal_floats_are(dtype: str | None) -> Iterator[None]:
    """Python floats that meet variables in the block become constants of ``dtype``."""
    token = _LITERAL_FLOAT.set(dtype)
    try:
        yield
    finally:
        _LITERAL_FLOAT.reset(token)


def literal_dtype(value: Any, float_x: str) -> str | None:
    """Return the dtype of a Python number as a constant; None for anything else.

    Integers take the smallest signed dtype that holds them. Floats take floatX where
    that is narrower than float64, else float32 or float64, the smallest that keeps the
    value; complex numbers take the dtype of such parts.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        for dtype in ("int8", "int16", "int32", "int64"):
            if (
                -(2 ** (8 * np.dtype(dtype).itemsize - 1))
                <= value
                < 2 ** (8 * np.dtype(dtype).itemsize - 1)
            ):
                return dtype
        return "uint64"
    if isinstance(value, float) and not isinstance(value, np.floating):
        if float_x != "float64":
            return float_x
        with np.errstate(all="ignore"):
            exact = float(np.float32(value)) == value or value != value
        return "float32" if exact else "float64"
    if isinstance(value, complex) and not isinstance(value, np.complexfloating):
        parts = {literal_dtype(part, float_x) for part in (value.real, value.imag)}
        return "complex128" if "float64" in parts else "complex64"
    return None


def constant(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    asked_by: str = "constant",
) -> Constant:
    """Return a constant of the value; its axes of length 1 broadcast."""
    from_literal = literal_dtype(value, _LITERAL_FLOAT.get() or config.floatX)
    try:
        target = from_literal if dtype is None else dtype_name(dtype)
        array = np.array(value, dtype=None if target is None else as_dtype(target))
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphArgumentError(
            f"{asked_by}: {value!r} is no number or array: {error}"
        ) from error
    if kind_of(array.dtype) not in "biufc":
        raise GraphArgumentError(
            f"{asked_by}: given {value!r}, a {type(value).__name__}; expected a "
            "variable, a number or an array of numbers"
        )
    array.setflags(write=False)
    pattern = tuple(length == 1 for length in array.shape)
    return Constant(TensorType(array.dtype.name, pattern), array, name)


Type.constant_class = Constant
