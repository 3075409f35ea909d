"""Numbers as operands of kernels: how they are passed, and which fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuarray._kernels.codegen import Operand
from gpuarray._native import ffi, lib
from gpuarray.dtypes import dtype_to_typecode, kind_of, work_ctype, work_dtype
from gpuarray.errors import BadValue, TooLarge
from gpuarray.scalars import Scalar

DType = np.dtype[Any]

_BOOL = np.dtype(np.bool_)
_INFINITY = np.float32(np.inf)


class Number(NamedTuple):
    """The representation of a Python or NumPy number for a kernel in ``dtype``.

    Integers and bools are passed as ``ga_long``, floats and complex numbers in their
    work type. Any number has a truth value, a float too.
    """

    dtype: DType
    kind: str
    typecode: int
    range: tuple[int, int]
    refuses_negative: bool
    is_rounded: bool

    def pointer(self, value: Any) -> Any:
        """Return a C pointer to the value, for one launch."""
        if self.kind == "c":
            ctype = "float[2]" if self.typecode == lib.GA_CFLOAT else "double[2]"
            number = complex(value)
            return ffi.new(ctype, (number.real, number.imag))
        if self.kind == "f":
            ctype = "float *" if self.typecode == lib.GA_FLOAT else "double *"
            return ffi.new(ctype, self.float_value(value))
        return ffi.new("long long *", self.int_value(value))

    def float_value(self, value: Any) -> float:
        """The value rounded to ``dtype``'s precision where the kernel would not."""
        return float(self.dtype.type(value) if self.is_rounded else value)

    def int_value(self, value: Any) -> int:
        """Return the value's 64 bits as a signed number."""
        whole = int(bool(value) if self.dtype == _BOOL else value)
        return whole if whole < 2**63 else whole - 2**64


def number_operand(number: Any) -> Operand | None:
    """Return NumPy's type of a number: weak, or a dtype; None if it is no number."""
    if isinstance(number, bool):
        return _BOOL
    if isinstance(number, np.generic):
        return number.dtype
    if isinstance(number, int):
        return int
    if isinstance(number, float):
        return float
    return complex if isinstance(number, complex) else None


def number_text(number: Number, name: str) -> str:
    """Return C text of a number's argument, in its work type."""
    return name if number.kind == "c" else f"({work_ctype(number.dtype)}){name}"


def number_of(row: Scalar | None, position: int, target: DType) -> Number:
    """Return the representation of a number as operand ``position`` of ``row``.

    ``target`` is the dtype that it is computed in; without a row it is a user's text.
    """
    kind, work = kind_of(target), work_dtype(target)
    if kind in "fc":
        return Number(
            target, kind, dtype_to_typecode(work), (0, 0), False, work != target
        )
    bounds = (0, 1)
    if kind != "b":
        bounds = int(np.iinfo(target).min), int(np.iinfo(target).max)
    refuses = row is not None and _refuses_negative(row, position, target)
    return Number(target, kind, lib.GA_LONG, bounds, refuses, False)


def _refuses_negative(row: Scalar, position: int, target: DType) -> bool:
    """True if NumPy refuses a negative integer here, as it does for exponents."""
    if target.kind != "i":
        return False
    sample: list[Any] = [np.ones(1, target)] * row.arity
    sample[position] = -sample[position]
    try:
        (row.loops or row.reference)(*sample)
    except ValueError:
        return True
    return False


def fitting_number(row: Scalar, number: Number, value: Any) -> Any:
    """Return the operand for an integer, which the loop's dtype may not hold.

    A comparison then gets an infinity of the same sign; anything else is refused, as is
    a negative number where NumPy refuses it.
    """
    low, high = number.range
    if number.dtype == _BOOL:
        return value
    if low <= value <= high:
        if number.refuses_negative and value < 0:
            raise BadValue(
                f"{row.name}: integers to negative integer powers are not allowed; got "
                f"{value}; convert with a.astype(float)"
            )
        return value
    if row.result == "bool":
        return _INFINITY if value > high else -_INFINITY
    raise TooLarge(f"{row.name}: integer {value} is out of bounds for {number.dtype}")
