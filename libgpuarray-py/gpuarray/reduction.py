"""Reductions over any axes, made from the rows of the table that have an identity.

The dtype of a result is NumPy's. float16 is accumulated in float32. The same input on
the same device gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.base import BaseArray, axis_number
from gpuarray.codegen import convert, identity_text, scalar_expression
from gpuarray.context import Context
from gpuarray.dtypes import as_dtype, dtype_to_typecode, work_dtype
from gpuarray.errors import BadType, BadValue, Unsupported
from gpuarray.scalars import SCALARS, Scalar

DType = np.dtype[Any]
Axis = int | Sequence[int] | None


@dataclass(frozen=True, slots=True)
class Reduction:
    """A compiled reduction and the type of its result."""

    handle: Any
    dtype: DType
    typecode: int


def axes_mask(axis: Axis, ndim: int, operation: str) -> int:
    """The axes as bits; None: all of them."""
    if axis is None:
        return (1 << ndim) - 1
    listed = axis if isinstance(axis, list | tuple) else (axis,)
    mask = 0
    for one in listed:
        bit = 1 << axis_number(one, ndim, operation)
        if mask & bit:
            raise BadValue(f"{operation}: axis {one} is given twice")
        mask |= bit
    return mask


def make_reduction(
    context: Context,
    row: Scalar,
    inputs: Sequence[tuple[str, DType]],
    map_text: str,
    accumulator: DType,
    out: DType,
) -> Reduction:
    """The reduction with ``row`` of ``map_text``, an expression of ``inputs`` by name.

    ``map_text`` has the accumulator's type.
    """
    involved = [dtype for _, dtype in inputs]
    double = np.dtype(np.float64)
    if double in (*involved, accumulator, out) and not context.has_double:
        raise Unsupported(
            f"{row.name}: the reduction is computed in float64, which "
            f"{context.device_name} ({context.name}) lacks; give dtype='float32'"
        )
    combine = scalar_expression(row, [("a", accumulator), ("b", accumulator)])
    texts = [
        ffi.new("char[]", text.encode())
        for text in (
            combine.support,
            map_text,
            combine.text,
            identity_text(row, accumulator),
        )
    ]
    names = [ffi.new("char[]", name.encode()) for name, _ in inputs]
    described = ffi.new("gpuelemwise_arg[]", len(names))
    for slot, name, (_, dtype) in zip(described, names, inputs, strict=True):
        slot.name, slot.typecode = name, dtype_to_typecode(dtype)
        slot.flags = lib.GE_READ
    spec = ffi.new("gpureduction_spec *")
    spec.size = ffi.sizeof("gpureduction_spec")
    spec.preamble, spec.map, spec.combine, spec.identity = texts
    spec.acc_typecode = dtype_to_typecode(accumulator)
    spec.out_typecode = dtype_to_typecode(out)
    spec.n, spec.inputs = len(names), described
    status = ffi.new("int *")
    handle = lib.GpuReduction_new(context.pointer, spec, status)
    if not handle:
        check(status[0], row.name)
    handle = ffi.gc(handle, lib.GpuReduction_free)
    return Reduction(handle, out, dtype_to_typecode(out))


def apply_reduction(
    reduction: Reduction,
    arrays: Sequence[BaseArray],
    mask: int,
    keepdims: bool,
    operation: str,
) -> Any:
    """Run a reduction over the axes set in ``mask``."""
    struct = ffi.new(ARRAY)
    inputs = ffi.new("void *[]", [array._struct for array in arrays])
    status = lib.GpuReduction_apply(
        reduction.handle, struct, inputs, mask, int(keepdims)
    )
    if status:
        given = ", ".join(f"{x.dtype}{list(x.shape)}" for x in arrays)
        check(status, f"{operation}({given}) on {arrays[0].context.name}")
    return arrays[0].wrap(
        struct, arrays[0].context, reduction.dtype, reduction.typecode
    )


def _reduce(
    operation: str,
    row: Scalar,
    array: BaseArray,
    axis: Axis,
    keepdims: bool,
    accumulator: DType,
    out: DType | None = None,
) -> Any:
    """Reduce ``array``, converted to ``accumulator``, with ``row``."""
    context, out = array._context, accumulator if out is None else out
    key = "reduce", row.name, array._typecode, accumulator, out
    reduction = context.kernels.get(key)
    if reduction is None:
        work = work_dtype(accumulator)
        text = convert("x", array._dtype, work)
        inputs = [("x", array._dtype)]
        reduction = make_reduction(context, row, inputs, text, work, out)
        context.kernels[key] = reduction
    mask = axes_mask(axis, array.ndim, operation)
    return apply_reduction(reduction, (array,), mask, keepdims, operation)


def refuse_out(out: None) -> None:
    """Raise NotImplementedError for an ``out``; NumPy's functions hand on None."""
    if out is not None:
        raise Unsupported("a reduction into out= is not offered: assign its result")


def _summed_dtype(array: BaseArray, dtype: npt.DTypeLike | None) -> DType:
    """NumPy's dtype of a sum: small integers and bools grow to 64 bits."""
    if dtype is not None:
        return as_dtype(dtype, "reduction")
    kind = array._dtype.kind
    if kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind == "u" else array._dtype


def sum(
    array: BaseArray,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Any:
    """The sum over ``axis`` (None: all), in ``dtype`` or NumPy's choice of it."""
    refuse_out(out)
    accumulator = _summed_dtype(array, dtype)
    return _reduce("sum", SCALARS["add"], array, axis, keepdims, accumulator)


def prod(
    array: BaseArray,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Any:
    """The product over ``axis``, in ``dtype`` or NumPy's choice of it."""
    refuse_out(out)
    accumulator = _summed_dtype(array, dtype)
    return _reduce("prod", SCALARS["mul"], array, axis, keepdims, accumulator)


def mean(
    array: BaseArray,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Any:
    """The mean over ``axis``; of integers in float64, of float16 by way of float32."""
    refuse_out(out)
    if dtype is not None:
        result = as_dtype(dtype, "mean")
    else:
        result = array._dtype if array._dtype.kind == "f" else np.dtype(np.float64)
    if result.kind != "f":
        raise BadType(f"mean: dtype {result} does not hold a mean; expected a float")
    total = _reduce("mean", SCALARS["add"], array, axis, keepdims, work_dtype(result))
    count = array.size // total.size if total.size else 0
    return (total / (count or float("nan"))).astype(result, copy=False)


def _require_elements(operation: str, array: BaseArray, axis: Axis) -> None:
    mask = axes_mask(axis, array.ndim, operation)
    for i, length in enumerate(array.shape):
        if length == 0 and mask >> i & 1:
            raise BadValue(
                f"{operation}: no elements along axis {i} of shape {array.shape}, and "
                "the operation has no identity"
            )


def max(
    array: BaseArray, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """The largest element over ``axis``; nan if there is one."""
    refuse_out(out)
    _require_elements("max", array, axis)
    return _reduce("max", SCALARS["maximum"], array, axis, keepdims, array._dtype)


def min(
    array: BaseArray, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """The smallest element over ``axis``; nan if there is one."""
    refuse_out(out)
    _require_elements("min", array, axis)
    return _reduce("min", SCALARS["minimum"], array, axis, keepdims, array._dtype)


def any(
    array: BaseArray, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """Whether an element over ``axis`` is not zero."""
    refuse_out(out)
    row = SCALARS["logical_or"]
    return _reduce("any", row, array, axis, keepdims, np.dtype(bool))


def all(
    array: BaseArray, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """Whether every element over ``axis`` is not zero."""
    refuse_out(out)
    row = SCALARS["logical_and"]
    return _reduce("all", row, array, axis, keepdims, np.dtype(bool))
