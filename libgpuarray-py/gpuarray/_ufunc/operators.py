"""Python's operators, one call of the library each, made from the rows of the table.

A call makes the result's struct, picks the kernel's variant for the operands' layouts
and launches it; the kernel is looked up by the operands' types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._kernels.apply import (
    Manner,
    RowKernel,
    apply_row,
    fail,
    is_host_array,
    make_kernel,
    number_in,
    other_context,
)
from gpuarray._kernels.numbers import fitting_number, number_operand
from gpuarray._native import lib
from gpuarray.errors import BadType, ReadOnly
from gpuarray.scalars import SCALARS, Scalar

Method = TypeVar("Method", bound=Callable[..., Any])


def unary_operator(row: Scalar) -> Callable[[Any], Any]:
    """Return a method without arguments."""
    name, apply, new_object = row.name, lib.array_apply1, object.__new__

    def method(self: BaseArray) -> BaseArray:
        context = self._context
        kernel = context._kernels.get((name, self._typecode))
        if kernel is None:
            built = make_kernel(context, row, (self._dtype,), (True,))
            kernel = built.handle, built.dtype, built.typecode
            context._kernels[name, self._typecode] = kernel
        handle, dtype, typecode = kernel
        struct = apply(handle, self._struct)
        if not struct:
            fail(lib.last_status(), name, context, (self,))
        result: BaseArray = new_object(self.__class__)
        result._struct = struct
        result._context = context
        result._dtype = dtype
        result._typecode = typecode
        return result

    return _named(method, row, "each element")


def binary_operator(row: Scalar, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """Return a method of one argument, which is an array or a number."""
    name, apply, new_object = row.name, lib.array_apply2, object.__new__

    def method(self: BaseArray, other: Any) -> Any:
        if not isinstance(other, BaseArray):
            return _with_number(row, self, other, reflected)
        context = self._context
        if other._context is not context:
            raise other_context(name, self, other)
        kernel = context._kernels.get((name, self._typecode, other._typecode))
        if kernel is None:
            built = make_kernel(context, row, (self._dtype, other._dtype), (True, True))
            kernel = built.handle, built.dtype, built.typecode
            context._kernels[name, self._typecode, other._typecode] = kernel
        handle, dtype, typecode = kernel
        struct = apply(handle, self._struct, other._struct)
        if not struct:
            fail(lib.last_status(), name, context, (self, other))
        result: BaseArray = new_object(self.__class__)
        result._struct = struct
        result._context = context
        result._dtype = dtype
        result._typecode = typecode
        return result

    return _named(method, row, "each pair of elements")


def store_operator(row: Scalar) -> Callable[[BaseArray, BaseArray, BaseArray], Any]:
    """Return a function of two arrays and the array that takes the result."""
    name = row.name

    def store(a: BaseArray, b: BaseArray, out: BaseArray) -> Any:
        context = out._context
        if a._context is context and b._context is context:
            key = name, a._typecode, b._typecode, out._typecode
            handle = context._kernels.get(key)
            if handle is None:
                types, manner = (a._dtype, b._dtype), Manner(out=out._dtype)
                built = make_kernel(context, row, types, (True, True), manner)
                handle = context._kernels[key] = built.handle
            if lib.array_call(handle, out._struct, a._struct, b._struct) == 0:
                return out
        return apply_row(row, (a, b), out=out)  # raises the error

    return store


def inplace_operator(row: Scalar) -> Callable[[Any, Any], Any]:
    """Return a method that stores into the array itself.

    For an element, which is read-only, it is NotImplemented: ``a[0] += 1`` then adds
    and stores, as with NumPy's scalars.
    """
    store = store_operator(row)

    def method(self: BaseArray, other: Any) -> Any:
        try:
            if isinstance(other, BaseArray):
                return store(self, other, self)
            return _number_into(row, self, other)
        except ReadOnly:
            if self.shape:
                raise
            return NotImplemented

    return _named(method, row, "each pair of elements, stored into the first")


def _named(method: Method, row: Scalar, what: str) -> Method:
    method.__name__ = row.name
    method.__doc__ = f"``{row.name}`` of {what}."
    return method


# ---- an array and a number ----


def _number_kernel(
    row: Scalar, array: BaseArray, value: Any, reflected: bool, manner: Manner
) -> RowKernel | None:
    """The kernel of an array and a number such as ``value``; None for no number."""
    operand = number_operand(value)
    if operand is None:
        return None
    kinds, is_array = [array._dtype, operand], [True, False]
    if reflected:
        kinds.reverse()
        is_array.reverse()
    return make_kernel(array._context, row, kinds, is_array, manner)


def _with_number(row: Scalar, array: BaseArray, value: Any, reflected: bool) -> Any:
    """Return the result of an array and a number; NotImplemented for other values."""
    context = array._context
    key = row.name, array._typecode, value.__class__, reflected
    kernel = context._kernels.get(key)
    if kernel is None:
        kernel = _number_kernel(row, array, value, reflected, Manner())
        if kernel is None:
            return _with_no_number(row, array, value, reflected)
        context._kernels[key] = kernel
    (number,) = kernel.numbers
    if number.kind == "f":
        if number.is_rounded:
            value = number.float_value(value)
        struct = lib.array_apply_float(
            kernel.handle, array._struct, value, number.typecode
        )
    elif number.kind == "c":
        value = complex(value)
        struct = lib.array_apply_complex(
            kernel.handle, array._struct, value.real, value.imag, number.typecode
        )
    else:
        low, high = number.range
        is_bool = number.kind == "b"
        if not is_bool and (value < 0 or not low <= value <= high):
            replaced = fitting_number(row, number, value)
            if replaced is not value:
                return _with_number(row, array, replaced, reflected)
        struct = lib.array_apply_int(
            kernel.handle, array._struct, number.int_value(value)
        )
    if not struct:
        operands = (value, array) if reflected else (array, value)
        fail(lib.last_status(), row.name, context, operands)
    result: BaseArray = object.__new__(array.__class__)
    result._struct = struct
    result._context = context
    result._dtype = kernel.dtype
    result._typecode = kernel.typecode
    return result


def _with_no_number(row: Scalar, array: BaseArray, value: Any, reflected: bool) -> Any:
    """Apply an operator to a NumPy array, or == and != to a value that is no number."""
    if is_host_array(value):
        return apply_row(row, (value, array) if reflected else (array, value))
    if isinstance(value, np.ndarray):
        return _with_number(row, array, number_in(row.name, value), reflected)
    if row.operator not in ("eq", "ne"):
        return NotImplemented
    if isinstance(value, list | tuple):
        raise BadType(
            f"{row.name}: got a {type(value).__name__}, expected an array or a number; "
            f"use gpuarray.asarray(x, context={array._context.name!r})"
        )
    kind: Any = type(value)
    if kind.__module__ != "builtins" and kind.__eq__ is not object.__eq__:
        return NotImplemented  # its class may compare
    equal = array.allocate(array.shape, np.dtype(bool), array._context, 0, True)
    return equal if row.operator == "eq" else _opposite(equal)


def _number_into(row: Scalar, array: BaseArray, value: Any) -> Any:
    """Apply a number to the array itself; NotImplemented for other values."""
    context = array._context
    key = row.name, array._typecode, value.__class__, "into"
    kernel = context._kernels.get(key)
    if kernel is None:
        kernel = _number_kernel(row, array, value, False, Manner(out=array._dtype))
        if kernel is None:
            if is_host_array(value):
                return apply_row(row, (array, value), out=array)
            if isinstance(value, np.ndarray):
                return _number_into(row, array, number_in(row.name, value))
            return NotImplemented
        context._kernels[key] = kernel
    (number,) = kernel.numbers
    real, imaginary, whole = 0.0, 0.0, 0
    if number.kind == "f":
        real = number.float_value(value)
    elif number.kind == "c":
        value = complex(value)
        real, imaginary = value.real, value.imag
    else:
        replaced = fitting_number(row, number, value)
        if replaced is not value:
            return _number_into(row, array, replaced)
        whole = number.int_value(value)
    struct = array._struct
    status = lib.array_call_number(
        kernel.handle, struct, struct, real, imaginary, whole, number.typecode
    )
    # On failure the general way is run, which raises the error.
    return array if status == 0 else apply_row(row, (array, value), out=array)


_opposite = unary_operator(SCALARS["logical_not"])
