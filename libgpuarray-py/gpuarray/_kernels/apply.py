"""Elementwise application of a row of the scalar table to arrays and numbers.

A kernel is compiled once for each context, row and combination of operand types, and
cached in ``context._kernels``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._kernels.codegen import (
    Casting,
    Operand,
    convert,
    literal,
    resolve,
    scalar_expression,
)
from gpuarray._kernels.numbers import (
    Number,
    fitting_number,
    number_of,
    number_operand,
    number_text,
)
from gpuarray._native import ARRAY, check, encoded, ffi, lib, library_text
from gpuarray.config import takes_host_arrays
from gpuarray.dtypes import (
    DOUBLES,
    as_dtype,
    can_cast,
    check_casting,
    dtype_to_typecode,
    warn_of_lost_parts,
)
from gpuarray.errors import BadType, BadValue, KernelError, ReadOnly, Unsupported
from gpuarray.scalars import Scalar

DType = np.dtype[Any]

_BOOL = np.dtype(np.bool_)

# Products and sums are rounded one by one, as by NumPy, and not contracted to an fma:
# a fused kernel then gives the same bits as its separate operations.
ROUNDED = "#pragma OPENCL FP_CONTRACT OFF\n"


class RowKernel(NamedTuple):
    """A compiled elementwise operation, with its result's type and number operands.

    Its arguments are the result, the operands that are arrays, the mask if it has one,
    the operands that are numbers.
    """

    handle: Any
    dtype: DType
    typecode: int
    numbers: tuple[Number, ...]


class Manner(NamedTuple):
    """The options of a row's application, as of NumPy's ufuncs.

    ``out``: the dtype of a given output. ``masked``: a mask selects the elements that
    are computed; the others stay as they are, or are 0 in a new array.
    """

    out: DType | None = None
    masked: bool = False
    dtype: DType | None = None
    casting: Casting = "same_kind"


PLAIN = Manner()


def make_kernel(
    context: Context,
    row: Scalar,
    operands: Sequence[Operand],
    is_array: Sequence[bool],
    manner: Manner = PLAIN,
) -> RowKernel:
    """Return the kernel of ``row`` for these operands."""
    context.pointer  # noqa: B018  (raises if the context is closed)
    loop = resolve(row, tuple(operands), manner.dtype, manner.casting)
    stored = _stored(row, loop.result, manner)
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
            number = number_of(row, i, target)
            numbers.append(number)
            passed.append((name, number.typecode, lib.GE_SCALAR))
            texts.append((number_text(number, name), target))
    expression = scalar_expression(row, texts)
    text = f"r = ({convert(expression.text, expression.dtype, stored)})"
    typecode = dtype_to_typecode(stored)
    flags = lib.GE_WRITE
    if manner.masked:
        arrays.append(("m", dtype_to_typecode(_BOOL), lib.GE_READ))
        text = f"if (m) {{ {text}; }}"
        if manner.out is None:
            text += f" else {{ r = {literal(0, stored)}; }}"
        else:
            flags |= lib.GE_READ
    handle = new_elemwise(
        context,
        ROUNDED + expression.support,
        text,
        [("r", typecode, flags), *arrays, *passed],
        row.name,
    )
    return RowKernel(handle, stored, typecode, tuple(numbers))


def _stored(row: Scalar, result: DType, manner: Manner) -> DType:
    out = manner.out
    if out is None:
        return result
    if not can_cast(result, out, manner.casting):
        raise BadType(
            f"{row.name}: a result of {result} cannot be stored as {out}, the dtype of "
            f"out, by the rule {manner.casting!r}; make a new array, or convert with "
            "astype"
        )
    return out


def _require_double(context: Context, row: Scalar, dtypes: Sequence[DType]) -> None:
    if not context.has_double and not DOUBLES.isdisjoint(dtypes):
        raise Unsupported(
            f"{row.name}: these operands are computed in float64, which "
            f"{context.device_name} ({context.name}) lacks; convert them with "
            "a.astype('float32')"
        )


def new_elemwise(
    context: Context,
    support: str,
    expression: str,
    arguments: Sequence[tuple[str, int, int]],
    operation: str,
) -> Any:
    """Return a ``GpuElemwise *`` that is freed with its last reference.

    ``arguments`` are (name, typecode, GE_ flags).
    """
    names = [ffi.new("char[]", encoded(name, operation)) for name, _, _ in arguments]
    described = ffi.new("gpuelemwise_arg[]", len(names))
    for slot, name, argument in zip(described, names, arguments, strict=True):
        slot.name, slot.typecode, slot.flags = name, argument[1], argument[2]
    place = ffi.new("GpuElemwise **")
    status = lib.GpuElemwise_create(
        place,
        context.pointer,
        encoded(support, operation),
        encoded(expression, operation),
        len(names),
        described,
        lib.GE_CONVERT_F16,
    )
    if status:
        raise KernelError(f"{operation}: {library_text()}")
    return ffi.gc(place[0], lib.GpuElemwise_free)


# ---- errors ----


def fail(status: int, name: str, context: Context, operands: Sequence[Any]) -> None:
    """Raise the error of ``status``, with the operation, operands and device."""
    listed = ", ".join(
        f"{x.dtype}{list(x.shape)}" if isinstance(x, BaseArray) else repr(x)
        for x in operands
    )
    check(status, f"{name}({listed}) on {context.name}")


def other_context(name: str, a: BaseArray, b: BaseArray) -> BadValue:
    """Return the error for operands of two contexts."""
    return BadValue(
        f"{name}: the operands are on {a.context.name} and {b.context.name}; bring "
        f"one over first: b.transfer(gpuarray.context({a.context.name!r}))"
    )


def from_host(name: str, like: BaseArray, host: Any) -> BaseArray:
    """Return a host operand as an array beside ``like``; BadType unless allowed."""
    if not takes_host_arrays():
        raise BadType(
            f"{name}: an operand is a NumPy array of shape {np.shape(host)}; put it on "
            f"the device first: gpuarray.asarray(x, context={like._context.name!r}), "
            "or let operators do it: gpuarray.set_implicit_conversion(True)"
        )
    return like.from_host(host, like._context)


def is_host_array(value: Any) -> bool:
    """True if it is a NumPy array of at least one axis; without axes it is a number."""
    return isinstance(value, np.ndarray) and value.ndim > 0


# ---- any mix of arrays and numbers ----


def apply_row(
    row: Scalar,
    operands: Sequence[Any],
    out: BaseArray | None = None,
    *,
    where: Any = True,
    dtype: Any = None,
    casting: Casting = "same_kind",
) -> Any:
    """Return ``row`` of arrays and numbers, of which at least one is an array.

    The result is a new array, or ``out``, which must have the operands' broadcast shape
    and a dtype to which the rule ``casting`` allows the cast. Where the mask ``where``
    is false, ``out`` stays as it is and a new array has 0.
    """
    if len(operands) != row.arity:
        raise BadType(f"{row.name}: {len(operands)} operands, expected {row.arity}")
    check_casting(casting, row.name)
    operands = _beside_arrays(row, operands, out)
    arrays = [x for x in operands if isinstance(x, BaseArray)]
    context = _common_context(row, arrays, out)
    mask = None if where is True else _mask(row, where, arrays[0])
    manner = Manner(
        None if out is None else out._dtype,
        mask is not None,
        None if dtype is None else as_dtype(dtype, row.name),
        casting,
    )
    kernel, values = _kernel_for(row, context, operands, manner)
    pointers = [n.pointer(v) for n, v in zip(kernel.numbers, values, strict=True)]
    inputs = [array._struct for array in arrays]
    if mask is not None:
        inputs.append(mask._struct)
    inputs += pointers
    if out is not None:
        if casting == "unsafe":
            kinds = tuple(_operand(row, x) for x in operands)
            result_dtype = resolve(row, kinds, manner.dtype, casting).result
            warn_of_lost_parts(result_dtype, out._dtype)
        status = call_elemwise(kernel.handle, [out._struct, *inputs])
        if status:
            _check_shape(row.name, arrays if mask is None else [*arrays, mask], out)
            fail(status, row.name, context, operands)
        return out
    struct = ffi.new(ARRAY)
    outs = ffi.new("GpuArray *[1]", [struct])
    status = lib.GpuElemwise_apply(kernel.handle, outs, ffi.new("void *[]", inputs))
    if status:
        fail(status, row.name, context, operands)
    return arrays[0].wrap(struct, context, kernel.dtype, kernel.typecode)


def _beside_arrays(
    row: Scalar, operands: Sequence[Any], out: BaseArray | None
) -> list[Any]:
    """Return the operands as arrays and numbers, none of them a host array."""
    unwrapped = [_unwrapped(row.name, x) for x in operands]
    if not any(map(is_host_array, unwrapped)):
        return unwrapped
    arrays = (x for x in (*unwrapped, out) if isinstance(x, BaseArray))
    like = next(arrays, None)
    if like is None:
        return unwrapped  # refused below
    return [from_host(row.name, like, x) if is_host_array(x) else x for x in unwrapped]


def _check_shape(name: str, operands: Sequence[BaseArray], out: BaseArray) -> None:
    """BadValue if the operands broadcast, but not to the shape of ``out``."""
    try:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
    except ValueError:
        return  # the library's error names the axis
    if shape != out.shape:
        raise BadValue(
            f"{name}: out has shape {out.shape}, expected {shape}, which the operands "
            "broadcast to"
        )


def call_elemwise(handle: Any, arguments: Sequence[Any]) -> int:
    """Run a ``GpuElemwise`` into given outputs; inputs broadcast."""
    flags = lib.GE_BROADCAST | lib.GE_PADSHAPE
    return int(lib.GpuElemwise_call(handle, ffi.new("void *[]", arguments), flags))


def _unwrapped(name: str, value: Any) -> Any:
    """Return the number in a NumPy array of no axes; anything else itself."""
    return number_in(name, value) if isinstance(value, np.ndarray) else value


def number_in(name: str, host: Any) -> Any:
    """The number in a NumPy array of no axes, else the array; BadType for masks."""
    if isinstance(host, np.ma.MaskedArray):
        raise BadType(
            f"{name}: an operand is masked, as arrays of a device are not; give "
            "numbers in place of what is: x.filled(value)"
        )
    return np.asarray(host)[()] if host.ndim == 0 else host


def _common_context(
    row: Scalar, arrays: Sequence[BaseArray], out: BaseArray | None
) -> Context:
    if out is not None and not isinstance(out, BaseArray):
        raise BadType(
            f"{row.name}: out is {type(out).__name__}, expected a gpuarray array"
        )
    if not arrays:
        raise BadType(
            f"{row.name}: no operand is a gpuarray array; use numpy.{row.name}, or "
            "gpuarray.asarray(x)"
        )
    for array in arrays:
        if array._context is not arrays[0]._context:
            raise other_context(row.name, arrays[0], array)
    if out is None:
        return arrays[0]._context
    if out._context is not arrays[0]._context:
        raise BadValue(
            f"{row.name}: out is on {out.context.name}, the operands are on "
            f"{arrays[0].context.name}"
        )
    if not out.flags.writeable:
        raise ReadOnly(
            f"{row.name}: out is read-only, as broadcast views and elements are"
        )
    return arrays[0]._context


def _mask(row: Scalar, where: Any, like: BaseArray) -> BaseArray:
    """Return the mask as an array on the context of ``like``."""
    if isinstance(where, bool | np.bool_):
        return like.from_host(np.asarray(where), like._context)
    if isinstance(where, BaseArray) and where._dtype == _BOOL:
        if where._context is not like._context:
            raise other_context(row.name, like, where)
        return where
    if is_host_array(where) and where.dtype == _BOOL:
        return from_host(row.name, like, where)
    kind = where.dtype if isinstance(where, BaseArray) else type(where).__name__
    raise BadType(f"{row.name}: where is of {kind}, expected a gpuarray array of bool")


def _kernel_for(
    row: Scalar, context: Context, operands: Sequence[Any], manner: Manner
) -> tuple[RowKernel, list[Any]]:
    """Return the kernel for these operands, and the numbers among them."""
    values = [x for x in operands if not isinstance(x, BaseArray)]
    types = tuple(
        x._typecode if isinstance(x, BaseArray) else x.__class__ for x in operands
    )
    key = row.name, types, manner
    kernel = context._kernels.get(key)
    if kernel is None:
        kinds = [_operand(row, x) for x in operands]
        is_array = [isinstance(x, BaseArray) for x in operands]
        kernel = make_kernel(context, row, kinds, is_array, manner)
        context._kernels[key] = kernel
    for number, value in zip(kernel.numbers, values, strict=True):
        if number.kind in "fc":
            continue
        replaced = fitting_number(row, number, value)
        if replaced is not value:
            changed = [replaced if x is value else x for x in operands]
            return _kernel_for(row, context, changed, manner)
    return kernel, values


def _operand(row: Scalar, value: Any) -> Operand:
    if isinstance(value, BaseArray):
        return value._dtype
    operand = number_operand(value)
    if operand is None:
        raise BadType(
            f"{row.name}: an operand is of {type(value).__name__}, expected a gpuarray "
            "array or a number"
        )
    return operand
