"""Elementwise functions and operators, made from the rows of the table.

A kernel is made once for each context, row and combination of operand types, and kept
in ``context.kernels``. An operator then makes one call of the library, which makes the
result, picks the variant for the layouts at hand and launches it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from gpuarray._native import ARRAY, check, ffi, lib, library_text
from gpuarray.base import BaseArray
from gpuarray.codegen import Operand, convert, resolve, scalar_expression
from gpuarray.context import Context
from gpuarray.dtypes import (
    DOUBLES,
    can_cast,
    dtype_to_typecode,
    kind_of,
    work_ctype,
    work_dtype,
)
from gpuarray.errors import (
    BadType,
    BadValue,
    KernelError,
    ReadOnly,
    TooLarge,
    Unsupported,
)
from gpuarray.scalars import SCALARS, Scalar

Method = TypeVar("Method", bound=Callable[..., Any])
DType = np.dtype[Any]

_BOOL = np.dtype(np.bool_)
_INFINITY = np.float32(np.inf)


@dataclass(frozen=True, slots=True)
class Number:
    """How a Python or NumPy number reaches a kernel that computes with it in ``dtype``.

    Integers and truth values come as ``ga_long``, floats and complex numbers in the
    type they are computed in. Any number has a truth value, a float too.
    """

    dtype: DType
    kind: str
    typecode: int
    range: tuple[int, int]
    refuses_negative: bool
    is_rounded: bool

    def pointer(self, value: Any) -> Any:
        """A C pointer to the value, for one launch."""
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
        """The value's 64 bits as a signed number."""
        whole = int(bool(value) if self.dtype == _BOOL else value)
        return whole if whole < 2**63 else whole - 2**64


@dataclass(frozen=True, slots=True)
class Kernel:
    """A compiled elementwise operation: its result's type, and the numbers it takes.

    Its arguments are the result, the operands that are arrays, the operands that are
    numbers.
    """

    handle: Any
    dtype: DType
    typecode: int
    numbers: tuple[Number, ...]


def number_operand(number: Any) -> Operand | None:
    """How NumPy sees a number: weak, or of a dtype; None if it is no number."""
    if isinstance(number, bool):
        return _BOOL
    if isinstance(number, np.generic):
        return number.dtype
    if isinstance(number, int):
        return int
    if isinstance(number, float):
        return float
    return complex if isinstance(number, complex) else None


def make_kernel(
    context: Context,
    row: Scalar,
    operands: Sequence[Operand],
    is_array: Sequence[bool],
    out: DType | None = None,
) -> Kernel:
    """The kernel of ``row`` for these operands; ``out``: the dtype to store."""
    context.pointer  # noqa: B018  (raises if the context is closed)
    loop = resolve(row, tuple(operands))
    stored = _stored(row, loop.result, out)
    _require_double(context, row, (*loop.operands, loop.result))
    texts: list[tuple[str, Operand]] = []
    arrays: list[tuple[str, int, int]] = []
    passed: list[tuple[str, int, int]] = []
    numbers: list[Number] = []
    for i, (operand, target) in enumerate(zip(operands, loop.operands, strict=True)):
        name = f"a{i}"
        if is_array[i]:
            assert not isinstance(operand, type)
            arrays.append((name, dtype_to_typecode(operand), lib.GE_READ))
            texts.append((convert(name, operand, target), target))
        else:
            number = _number(row, i, target)
            numbers.append(number)
            passed.append((name, number.typecode, lib.GE_SCALAR))
            is_cast = number.kind != "c"
            text = f"({work_ctype(target)}){name}" if is_cast else name
            texts.append((text, target))
    expression = scalar_expression(row, texts)
    text = convert(expression.text, expression.dtype, stored)
    typecode = dtype_to_typecode(stored)
    handle = new_elemwise(
        context,
        expression.support,
        f"r = ({text})",
        [("r", typecode, lib.GE_WRITE), *arrays, *passed],
        row.name,
    )
    return Kernel(handle, stored, typecode, tuple(numbers))


def _stored(row: Scalar, result: DType, out: DType | None) -> DType:
    if out is None:
        return result
    if not can_cast(result, out):
        raise BadType(
            f"{row.name}: a result of {result} cannot be stored as {out}; make a new "
            "array, or convert with astype"
        )
    return out


def _require_double(context: Context, row: Scalar, dtypes: Sequence[DType]) -> None:
    if not context.has_double and not DOUBLES.isdisjoint(dtypes):
        raise Unsupported(
            f"{row.name}: these operands are computed in float64, which "
            f"{context.device_name} ({context.name}) lacks; convert them with "
            "a.astype('float32')"
        )


def _number(row: Scalar, position: int, target: DType) -> Number:
    kind, work = kind_of(target), work_dtype(target)
    if kind in "fc":
        return Number(
            target, kind, dtype_to_typecode(work), (0, 0), False, work != target
        )
    bounds = (0, 1)
    if kind != "b":
        bounds = int(np.iinfo(target).min), int(np.iinfo(target).max)
    refuses = _refuses_negative(row, position, target)
    return Number(target, kind, lib.GA_LONG, bounds, refuses, False)


def _refuses_negative(row: Scalar, position: int, target: DType) -> bool:
    """Whether NumPy refuses a negative integer here, as it does for exponents."""
    if target.kind != "i":
        return False
    sample: list[Any] = [np.ones(1, target)] * row.arity
    sample[position] = -sample[position]
    try:
        row.reference(*sample)
    except ValueError:
        return True
    return False


def new_elemwise(
    context: Context,
    support: str,
    expression: str,
    arguments: Sequence[tuple[str, int, int]],
    operation: str,
) -> Any:
    """A ``GpuElemwise *`` that is freed with its last reference.

    ``arguments`` are (name, typecode, GE_ flags).
    """
    names = [ffi.new("char[]", name.encode()) for name, _, _ in arguments]
    described = ffi.new("gpuelemwise_arg[]", len(names))
    for slot, name, argument in zip(described, names, arguments, strict=True):
        slot.name, slot.typecode, slot.flags = name, argument[1], argument[2]
    handle = lib.GpuElemwise_new(
        context.pointer,
        support.encode(),
        expression.encode(),
        len(names),
        described,
        0,
        lib.GE_CONVERT_F16,
    )
    if not handle:
        raise KernelError(f"{operation}: {library_text()}")
    return ffi.gc(handle, lib.GpuElemwise_free)


# ---- operators: one call of the library each ----


def _fail(status: int, row: Scalar, context: Context, operands: Sequence[Any]) -> None:
    """Raise what ``status`` means, with the operation, its operands and the device."""
    given = ", ".join(
        f"{x.dtype}{list(x.shape)}" if isinstance(x, BaseArray) else repr(x)
        for x in operands
    )
    check(status, f"{row.name}({given}) on {context.name}")


def _other_context(row: Scalar, a: BaseArray, b: BaseArray) -> BadValue:
    return BadValue(
        f"{row.name}: the operands are on {a.context.name} and {b.context.name}; bring "
        f"one over first: b.transfer(gpuarray.context({a.context.name!r}))"
    )


def _host_array(row: Scalar, context: Context, host: Any) -> BadType:
    return BadType(
        f"{row.name}: an operand is a NumPy array of shape {np.shape(host)}; put it on "
        f"the device first: gpuarray.asarray(x, context={context.name!r})"
    )


def unary_operator(row: Scalar) -> Callable[[Any], Any]:
    """A method without arguments."""
    name, apply, new_object = row.name, lib.array_apply1, object.__new__

    def method(self: BaseArray) -> BaseArray:
        context = self._context
        kernel = context.kernels.get((name, self._typecode))
        if kernel is None:
            made = make_kernel(context, row, (self._dtype,), (True,))
            kernel = made.handle, made.dtype, made.typecode
            context.kernels[name, self._typecode] = kernel
        handle, dtype, typecode = kernel
        struct = apply(handle, self._struct)
        if not struct:
            _fail(lib.last_status(), row, context, (self,))
        result: BaseArray = new_object(self.__class__)
        result._struct = struct
        result._context = context
        result._dtype = dtype
        result._typecode = typecode
        return result

    return _named(method, row, "each element")


def binary_operator(row: Scalar, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """A method of one argument, which is an array or a number."""
    name, apply, new_object = row.name, lib.array_apply2, object.__new__

    def method(self: BaseArray, other: Any) -> Any:
        if not isinstance(other, BaseArray):
            return _with_number(row, self, other, reflected)
        context = self._context
        if other._context is not context:
            raise _other_context(row, self, other)
        kernel = context.kernels.get((name, self._typecode, other._typecode))
        if kernel is None:
            made = make_kernel(context, row, (self._dtype, other._dtype), (True, True))
            kernel = made.handle, made.dtype, made.typecode
            context.kernels[name, self._typecode, other._typecode] = kernel
        handle, dtype, typecode = kernel
        struct = apply(handle, self._struct, other._struct)
        if not struct:
            _fail(lib.last_status(), row, context, (self, other))
        result: BaseArray = new_object(self.__class__)
        result._struct = struct
        result._context = context
        result._dtype = dtype
        result._typecode = typecode
        return result

    return _named(method, row, "each pair of elements")


def inplace_operator(row: Scalar) -> Callable[[Any, Any], Any]:
    """A method that stores into the array itself."""

    def method(self: BaseArray, other: Any) -> Any:
        if not isinstance(other, BaseArray | np.ndarray) and (
            number_operand(other) is None
        ):
            return NotImplemented
        return apply_row(row, (self, other), out=self)

    return _named(method, row, "each pair of elements, stored into the first")


def _named(method: Method, row: Scalar, what: str) -> Method:
    method.__name__ = row.name
    method.__doc__ = f"``{row.name}`` of {what}."
    return method


def _number_kernel(row: Scalar, array: BaseArray, value: Any, reflected: bool) -> Any:
    """The kernel of an array and a number such as ``value``; None for no number."""
    operand = number_operand(value)
    if isinstance(value, np.ndarray):
        raise _host_array(row, array._context, value)
    if operand is None:
        return None
    both, is_array = [array._dtype, operand], [True, False]
    if reflected:
        both.reverse()
        is_array.reverse()
    return make_kernel(array._context, row, both, is_array)


def _with_number(row: Scalar, array: BaseArray, value: Any, reflected: bool) -> Any:
    """The result of an array and a number; NotImplemented for what is no number."""
    context = array._context
    key = row.name, array._typecode, value.__class__, reflected
    kernel = context.kernels.get(key)
    if kernel is None:
        kernel = _number_kernel(row, array, value, reflected)
        if kernel is None:
            return NotImplemented
        context.kernels[key] = kernel
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
        if value < 0 or not low <= value <= high:
            replaced = _out_of_range(row, number, value)
            if replaced is not value:
                return _with_number(row, array, replaced, reflected)
        struct = lib.array_apply_int(
            kernel.handle, array._struct, number.int_value(value)
        )
    if not struct:
        operands = (value, array) if reflected else (array, value)
        _fail(lib.last_status(), row, context, operands)
    result: BaseArray = object.__new__(array.__class__)
    result._struct = struct
    result._context = context
    result._dtype = kernel.dtype
    result._typecode = kernel.typecode
    return result


def _out_of_range(row: Scalar, number: Number, value: Any) -> Any:
    """What to compute with instead of an integer that the loop's dtype may not hold.

    A comparison then sees an infinity of the same sign; anything else is refused, as is
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


# ---- functions: any mix of arrays and numbers, with an output if given ----


def apply_row(
    row: Scalar, operands: Sequence[Any], out: BaseArray | None = None
) -> Any:
    """``row`` of arrays and numbers, of which at least one is an array.

    The result is a new array, or ``out``, which must have the shape that the operands
    broadcast to, and whose dtype NumPy's same-kind rule lets the result be stored in.
    """
    if len(operands) != row.arity:
        raise BadType(f"{row.name}: {len(operands)} operands, expected {row.arity}")
    arrays = [x for x in operands if isinstance(x, BaseArray)]
    if not arrays:
        raise BadType(
            f"{row.name}: no operand is a gpuarray array; use numpy.{row.name}, or "
            "gpuarray.asarray(x)"
        )
    context = arrays[0]._context
    for array in arrays if out is None else [*arrays, out]:
        if array._context is not context:
            raise _other_context(row, arrays[0], array)
    if out is not None and not out.flags.writeable:
        raise ReadOnly(f"{row.name}: the output is read-only, as broadcast views are")
    kernel, values = _kernel_for(row, context, operands, out)
    pointers = [n.pointer(v) for n, v in zip(kernel.numbers, values, strict=True)]
    inputs = [array._struct for array in arrays] + pointers
    if out is None:
        struct = ffi.new(ARRAY)
        outs = ffi.new("GpuArray *[1]", [struct])
        listed = ffi.new("void *[]", inputs)
        status = lib.GpuElemwise_apply(kernel.handle, outs, listed)
    else:
        listed = ffi.new("void *[]", [out._struct, *inputs])
        flags = lib.GE_BROADCAST | lib.GE_PADSHAPE
        status = lib.GpuElemwise_call(kernel.handle, listed, flags)
    if status:
        _fail(status, row, context, operands)
    if out is not None:
        return out
    return arrays[0].wrap(struct, context, kernel.dtype, kernel.typecode)


def _kernel_for(
    row: Scalar, context: Context, operands: Sequence[Any], out: BaseArray | None
) -> tuple[Kernel, list[Any]]:
    """The kernel for these operands, and the numbers among them."""
    values = [x for x in operands if not isinstance(x, BaseArray)]
    types = tuple(
        x._typecode if isinstance(x, BaseArray) else x.__class__ for x in operands
    )
    key = row.name, types, None if out is None else out._typecode
    kernel = context.kernels.get(key)
    if kernel is None:
        given = [_operand(row, context, x) for x in operands]
        is_array = [isinstance(x, BaseArray) for x in operands]
        stored = None if out is None else out._dtype
        kernel = context.kernels[key] = make_kernel(
            context, row, given, is_array, stored
        )
    for number, value in zip(kernel.numbers, values, strict=True):
        if number.kind in "fc":
            continue
        replaced = _out_of_range(row, number, value)
        if replaced is not value:
            changed = [replaced if x is value else x for x in operands]
            return _kernel_for(row, context, changed, out)
    return kernel, values


def _operand(row: Scalar, context: Context, value: Any) -> Operand:
    if isinstance(value, BaseArray):
        return value._dtype
    if isinstance(value, np.ndarray):
        raise _host_array(row, context, value)
    operand = number_operand(value)
    if operand is None:
        raise BadType(
            f"{row.name}: an operand is of {type(value).__name__}, expected a gpuarray "
            "array or a number"
        )
    return operand


def function(row: Scalar) -> Callable[..., Any]:
    """The public function of a row: ``f(*operands, out=None)``."""

    def apply(*operands: Any, out: BaseArray | None = None) -> Any:
        return apply_row(row, operands, out)

    return _named(apply, row, "each element of arrays and numbers that broadcast")


def _public_names(row: Scalar) -> set[str]:
    """A row's own name, and NumPy's where the reference is a function of NumPy."""
    theirs = getattr(row.reference, "__name__", "")
    return {row.name} | (
        {theirs} if getattr(np, theirs, None) is row.reference else set()
    )


FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Every elementwise function by its names: ``mul`` and ``multiply`` are the same."""
for _row in SCALARS.values():
    _function = function(_row)
    FUNCTIONS.update(dict.fromkeys(_public_names(_row), _function))
