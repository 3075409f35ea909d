"""Reductions over any axes, made from the rows of the table that have an identity.

Each is one pass over the array: what is done with the reduced value (a mean's division)
is done as it is stored, and a greatest element comes with its position.

The dtype of a result is NumPy's. float16 and bfloat16 are accumulated in float32. The
same input on the same device gives the same bits.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray.base import BaseArray, axis_number, require
from gpuarray.codegen import Expression, convert, identity_text, scalar_expression
from gpuarray.context import Context
from gpuarray.dtypes import (
    DOUBLES,
    as_dtype,
    dtype_to_typecode,
    kind_of,
    parts_dtype,
    work_ctype,
    work_dtype,
)
from gpuarray.errors import BadType, BadValue, Unsupported
from gpuarray.pygpu_reduction import ReductionKernel as ReductionKernel
from gpuarray.pygpu_reduction import massage_op as massage_op
from gpuarray.pygpu_reduction import parse_c_args as parse_c_args
from gpuarray.pygpu_reduction import reduce1 as reduce1
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


@dataclass(frozen=True, slots=True)
class Part:
    """A value that is accumulated: ``row`` folds ``map``, of dtype ``accumulator``."""

    row: Scalar
    map: str
    accumulator: DType


def make_reduction(
    context: Context,
    operation: str,
    inputs: Sequence[tuple[str, DType]],
    parts: Sequence[Part],
    out: DType,
    epilogue: str | None = None,
    *,
    begins: bool = False,
) -> Reduction:
    """A reduction of one result over expressions of ``inputs`` by name.

    Without an ``epilogue`` the result is the first part; it is an expression of the
    parts v0, v1, ..., of the first, v, and of the count n, in the dtype ``out``. Rows
    of which NumPy reduces no elements fail where there are none, unless the caller
    ``begins`` with a value of its own.
    """
    involved = [*(dtype for _, dtype in inputs), *(p.accumulator for p in parts), out]
    if not context.has_double and not DOUBLES.isdisjoint(involved):
        raise Unsupported(
            f"{operation}: the reduction is computed in float64, which "
            f"{context.device_name} ({context.name}) lacks; give dtype='float32'"
        )
    keep: list[Any] = []
    spec = ffi.new("gpureduction_spec *")
    spec.size = ffi.sizeof("gpureduction_spec")
    spec.n, spec.inputs = len(inputs), _inputs(inputs, keep)
    spec.n_components, spec.components = len(parts), _components(parts, keep)
    supports = dict.fromkeys(_combine(part).support for part in parts)
    spec.preamble = _text("\n".join(supports), keep)
    result = ffi.new("gpureduction_result *")
    result.typecode = dtype_to_typecode(out)
    result.epilogue = ffi.NULL if epilogue is None else _text(epilogue, keep)
    spec.n_results, spec.results = 1, result
    if not begins and builtins.any(needs_elements(part.row) for part in parts):
        spec.flags = lib.GA_REDUCTION_NEEDS_ELEMENTS
    status = ffi.new("int *")
    handle = lib.GpuReduction_new(context.pointer, spec, status)
    if not handle:
        check(status[0], operation)
    return Reduction(ffi.gc(handle, lib.GpuReduction_free), out, dtype_to_typecode(out))


def _text(text: str, keep: list[Any]) -> Any:
    keep.append(ffi.new("char[]", text.encode()))
    return keep[-1]


def _inputs(inputs: Sequence[tuple[str, DType]], keep: list[Any]) -> Any:
    described = ffi.new("gpuelemwise_arg[]", len(inputs))
    for slot, (name, dtype) in zip(described, inputs, strict=True):
        slot.name, slot.typecode = _text(name, keep), dtype_to_typecode(dtype)
        slot.flags = lib.GE_READ
    keep.append(described)
    return described


def _combine(part: Part) -> Expression:
    return scalar_expression(part.row, [(x, part.accumulator) for x in ("a", "b")])


def _components(parts: Sequence[Part], keep: list[Any]) -> Any:
    described = ffi.new("gpureduction_component[]", len(parts))
    for slot, part in zip(described, parts, strict=True):
        slot.map, slot.combine = _text(part.map, keep), _text(_combine(part).text, keep)
        slot.identity = _text(identity_text(part.row, part.accumulator), keep)
        slot.typecode = dtype_to_typecode(part.accumulator)
    keep.append(described)
    return described


def needs_elements(row: Scalar) -> bool:
    """Whether a reduction of no elements is an error: NumPy's ufunc has no identity."""
    return getattr(row.reference, "identity", None) is None


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
    epilogue: str | None = None,
) -> Any:
    """Reduce ``array``, converted to ``accumulator``, with ``row``."""
    context, out = array._context, accumulator if out is None else out
    key = operation, row.name, array._typecode, accumulator, out, epilogue
    reduction = context.kernels.get(key)
    if reduction is None:
        work = work_dtype(accumulator)
        text = convert("x", array._dtype, work)
        parts = [Part(row, text, work)]
        inputs = [("x", array._dtype)]
        reduction = make_reduction(context, operation, inputs, parts, out, epilogue)
        context.kernels[key] = reduction
    mask = axes_mask(axis, array.ndim, operation)
    return apply_reduction(reduction, (array,), mask, keepdims, operation)


def refuse_out(out: None) -> None:
    """Raise NotImplementedError for an ``out``; NumPy's functions hand on None."""
    if out is not None:
        raise Unsupported("a reduction into out= is not offered: assign its result")


def summed_dtype(array: BaseArray, dtype: npt.DTypeLike | None) -> DType:
    """NumPy's dtype of a sum: small integers and bools grow to 64 bits."""
    if dtype is not None:
        return as_dtype(dtype, "reduction")
    kind = array._dtype.kind
    if kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind == "u" else array._dtype


def _fitting_dtype(array: BaseArray, axis: Axis, result: DType) -> DType:
    """The dtype to sum in: 32 bits where sums of small integers cannot exceed them."""
    dtype = array._dtype
    if dtype.kind not in "biu" or dtype.itemsize > 2 or result.itemsize != 8:
        return result
    mask, count = axes_mask(axis, array.ndim, "sum"), 1
    for i, length in enumerate(array.shape):
        count *= length if mask >> i & 1 else 1
    largest = 1 if dtype.kind == "b" else 1 << 8 * dtype.itemsize
    is_exact = result.kind in "iu" and count * largest < 1 << 31
    return np.dtype(np.int32) if is_exact else result


def sum(
    array: BaseArray,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Any:
    """The sum over ``axis`` (None: all), in ``dtype`` or NumPy's choice of it."""
    refuse_out(out)
    require(array, "sum")
    result = summed_dtype(array, dtype)
    accumulator = _fitting_dtype(array, axis, result)
    return _reduce("sum", SCALARS["add"], array, axis, keepdims, accumulator, result)


def prod(
    array: BaseArray,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Any:
    """The product over ``axis``, in ``dtype`` or NumPy's choice of it."""
    refuse_out(out)
    require(array, "prod")
    accumulator = summed_dtype(array, dtype)
    return _reduce("prod", SCALARS["mul"], array, axis, keepdims, accumulator)


def mean(
    array: BaseArray,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
) -> Any:
    """The mean over ``axis``; of float16 by way of float32.

    Of integers it is float64, and the sum of those of 32 bits or less is exact.
    """
    refuse_out(out)
    require(array, "mean")
    if dtype is not None:
        result = as_dtype(dtype, "mean")
    else:
        is_exact = kind_of(array._dtype) in "biu"
        result = np.dtype(np.float64) if is_exact else array._dtype
    if kind_of(result) in "biu":
        raise BadType(
            f"mean: dtype {result} does not hold a mean; expected a float or a complex "
            "dtype"
        )
    work = work_dtype(result)
    per = f"({work_ctype(parts_dtype(work))})n"
    quotient = f"ga_complex(v.x / {per}, v.y / {per})"
    text = quotient if work.kind == "c" else f"v / {per}"
    if kind_of(array._dtype) in "biu" and array.itemsize <= 4 and result == np.float64:
        work = _fitting_dtype(array, axis, summed_dtype(array, None))
    return _reduce("mean", SCALARS["add"], array, axis, keepdims, work, result, text)


def max(
    array: BaseArray, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """The largest element over ``axis``; nan if there is one."""
    refuse_out(out)
    require(array, "max")
    return _reduce("max", SCALARS["maximum"], array, axis, keepdims, array._dtype)


def min(
    array: BaseArray, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """The smallest element over ``axis``; nan if there is one."""
    refuse_out(out)
    require(array, "min")
    return _reduce("min", SCALARS["minimum"], array, axis, keepdims, array._dtype)


def any(
    array: BaseArray, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """Whether an element over ``axis`` is not zero."""
    refuse_out(out)
    require(array, "any")
    row = SCALARS["logical_or"]
    return _reduce("any", row, array, axis, keepdims, np.dtype(bool))


def all(
    array: BaseArray, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """Whether every element over ``axis`` is not zero."""
    refuse_out(out)
    require(array, "all")
    row = SCALARS["logical_and"]
    return _reduce("all", row, array, axis, keepdims, np.dtype(bool))


# ---- positions ----


def _position(
    operation: str, array: BaseArray, axis: int | None, keepdims: bool, smallest: bool
) -> Any:
    """Where the extremum over an axis, or in the flat array, first is."""
    context = array._context
    if not isinstance(axis, int | np.integer | None) or isinstance(axis, bool):
        raise BadType(f"{operation}: axis {axis!r}, expected an integer or None")
    key = "extremum", array._typecode, smallest
    reduction = context.kernels.get(key)
    if reduction is None:
        status = ffi.new("int *")
        which = lib.GA_EXTREMUM_POSITION
        handle = lib.GpuReduction_extremum(
            context.pointer, array._typecode, int(smallest), which, status
        )
        if not handle:
            check(status[0], operation)
        dtype = np.dtype(np.int64)
        handle = ffi.gc(handle, lib.GpuReduction_free)
        reduction = Reduction(handle, dtype, dtype_to_typecode(dtype))
        context.kernels[key] = reduction
    mask = axes_mask(axis, array.ndim, operation)
    return apply_reduction(reduction, (array,), mask, keepdims, operation)


def argmax(
    array: BaseArray, axis: int | None = None, out: None = None, keepdims: bool = False
) -> Any:
    """Where the first of the largest elements is along ``axis``; nan is the largest.

    None: in the flattened array. int64.
    """
    refuse_out(out)
    require(array, "argmax")
    return _position("argmax", array, axis, keepdims, False)


def argmin(
    array: BaseArray, axis: int | None = None, out: None = None, keepdims: bool = False
) -> Any:
    """Where the first of the smallest elements is along ``axis``; nan is the smallest.

    None: in the flattened array. int64.
    """
    refuse_out(out)
    require(array, "argmin")
    return _position("argmin", array, axis, keepdims, True)


def ptp(
    array: BaseArray, axis: Axis = None, out: None = None, keepdims: bool = False
) -> Any:
    """The largest minus the smallest element over ``axis``, in one pass."""
    refuse_out(out)
    require(array, "ptp")
    context, dtype = array._context, array._dtype
    if dtype.kind == "b":
        raise BadType("ptp: bool has no difference; convert it: x.astype('int8')")
    key = "ptp", array._typecode
    reduction = context.kernels.get(key)
    if reduction is None:
        work = work_dtype(dtype)
        rows = SCALARS["maximum"], SCALARS["minimum"]
        parts = [Part(row, "x", work) for row in rows]
        minus = scalar_expression(SCALARS["sub"], [("v0", work), ("v1", work)])
        inputs = [("x", dtype)]
        reduction = make_reduction(context, "ptp", inputs, parts, dtype, minus.text)
        context.kernels[key] = reduction
    mask = axes_mask(axis, array.ndim, "ptp")
    return apply_reduction(reduction, (array,), mask, keepdims, "ptp")
