"""Compiled reductions by an associative row of the table: one pass over any axes.

An epilogue is applied as the result is stored. float16 and bfloat16 are accumulated in
float32. The same input on the same device gives the same bits.
"""

from __future__ import annotations

import builtins
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuarray._core.arguments import as_flag, axis_number
from gpuarray._core.base import BaseArray, require
from gpuarray._core.context import Context
from gpuarray._kernels.apply import apply_row
from gpuarray._kernels.codegen import (
    Expression,
    convert,
    identity_text,
    scalar_expression,
)
from gpuarray._kernels.numbers import number_operand
from gpuarray._native import ARRAY, check, ffi, lib, sized
from gpuarray.dtypes import (
    DOUBLES,
    can_cast,
    dtype_to_typecode,
    work_dtype,
)
from gpuarray.errors import (
    BadArgument,
    BadType,
    BadValue,
    ReadOnly,
    TooLarge,
    Unsupported,
)
from gpuarray.scalars import SCALARS, Scalar

DType = np.dtype[Any]
Axis = int | Sequence[int] | None


class Reduction(NamedTuple):
    """A compiled reduction and the type of its result."""

    handle: Any
    dtype: DType
    typecode: int


def axes_mask(axis: Axis, ndim: int, operation: str) -> int:
    """Return the axes as bits; None: all. Axis 0 or -1 of a 0-d array is none."""
    if axis is None:
        return (1 << ndim) - 1
    if ndim == 0 and not isinstance(axis, list | tuple) and axis in (0, -1):
        return 0
    listed = axis if isinstance(axis, list | tuple) else (axis,)
    mask = 0
    for number in listed:
        bit = 1 << axis_number(number, ndim, operation)
        if mask & bit:
            raise BadValue(f"{operation}: axis {number} is given twice")
        mask |= bit
    return mask


class Accumulator(NamedTuple):
    """An accumulated value: ``row`` folds ``map``, in the dtype ``accumulator``."""

    row: Scalar
    map: str
    accumulator: DType


def make_reduction(
    context: Context,
    operation: str,
    inputs: Sequence[tuple[str, DType]],
    parts: Sequence[Accumulator],
    out: DType,
    epilogue: str | None = None,
    *,
    begins: bool = False,
    prologue: str = "",
    support: str = "",
    integers: Collection[str] = (),
) -> Reduction:
    """Return a reduction of one result over expressions of ``inputs`` by name.

    The statements of ``prologue`` come before these, and ``support`` has the functions
    that they call. The inputs that ``integers`` names are numbers of the host.

    Without an ``epilogue`` the result is the first part; else it is an expression of
    the parts v0, v1, ..., of the first, v, and of the count n, in the dtype ``out``.
    Rows without an identity in NumPy fail for no elements, unless the caller ``begins``
    with a value of its own.
    """
    involved = [*(dtype for _, dtype in inputs), *(p.accumulator for p in parts), out]
    if not context.has_double and not DOUBLES.isdisjoint(involved):
        raise Unsupported(
            f"{operation}: the reduction is computed in float64, which "
            f"{context.device_name} ({context.name}) lacks; give dtype='float32'"
        )
    keep: list[Any] = []
    spec = sized("gpureduction_spec")
    spec.n, spec.inputs = len(inputs), _inputs(inputs, integers, keep)
    spec.n_components, spec.components = len(parts), _components(parts, keep)
    supports = dict.fromkeys([support, *(_combine(part).support for part in parts)])
    spec.preamble = _text("\n".join(filter(None, supports)), keep)
    spec.prologue = _text(prologue, keep)
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


def _inputs(
    inputs: Sequence[tuple[str, DType]], integers: Collection[str], keep: list[Any]
) -> Any:
    described = ffi.new("gpuelemwise_arg[]", len(inputs))
    for slot, (name, dtype) in zip(described, inputs, strict=True):
        slot.name, slot.typecode = _text(name, keep), dtype_to_typecode(dtype)
        slot.flags = lib.GE_SCALAR if name in integers else lib.GE_READ
    keep.append(described)
    return described


def _combine(part: Accumulator) -> Expression:
    return scalar_expression(part.row, [(x, part.accumulator) for x in ("a", "b")])


def _components(parts: Sequence[Accumulator], keep: list[Any]) -> Any:
    described = ffi.new("gpureduction_component[]", len(parts))
    for slot, part in zip(described, parts, strict=True):
        slot.map, slot.combine = _text(part.map, keep), _text(_combine(part).text, keep)
        slot.identity = _text(identity_text(part.row, part.accumulator), keep)
        slot.typecode = dtype_to_typecode(part.accumulator)
    keep.append(described)
    return described


def needs_elements(row: Scalar) -> bool:
    """True if a reduction of no elements is an error: NumPy's ufunc has no identity."""
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
    flag = as_flag(keepdims, "keepdims", operation)
    status = lib.GpuReduction_apply(reduction.handle, struct, inputs, mask, flag)
    if status:
        types = ", ".join(f"{x.dtype}{list(x.shape)}" for x in arrays)
        check(status, f"{operation}({types}) on {arrays[0].context.name}")
    return arrays[0].wrap(
        struct, arrays[0].context, reduction.dtype, reduction.typecode
    )


# ---- masks and initial values ----

MASK = "m", np.dtype(np.bool_)
"""The mask input of a reduction."""
COUNT = {False: "n", True: "v1"}
"""The number of elements in an epilogue, without a mask and with one."""


def counted(
    inputs: Sequence[tuple[str, DType]], parts: Sequence[Accumulator]
) -> tuple[list[tuple[str, DType]], list[Accumulator]]:
    """Return inputs and parts of a reduction with a mask, and the masked count."""
    (part,) = parts
    start = identity_text(part.row, part.accumulator)
    ones = Accumulator(SCALARS["add"], "m ? 1 : 0", np.dtype(np.int64))
    masked = part._replace(map=f"m ? ({part.map}) : {start}")
    return [*inputs, MASK], [masked, ones]


def with_mask(arrays: Sequence[BaseArray], where: Any, operation: str) -> Any:
    """Return the arrays of a reduction, with the mask unless it is True."""
    if where is True:
        return arrays
    mask = as_mask(where, arrays[0], operation)
    return [*arrays, mask.broadcast_to(arrays[0].shape)]


def reduce_monoid(
    operation: str,
    row: Scalar,
    array: BaseArray,
    axis: Axis,
    dtype: DType,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    """Return the elements selected by ``where``, folded with the row from ``initial``.

    Each is first folded with the row's identity.
    """
    context, masked = array._context, where is not True
    initial = beginning(operation, initial, dtype)
    if masked and initial is None and needs_elements(row):
        raise BadValue(
            f"{operation}: it has no identity, so with a mask give initial= as well"
        )
    key = "reduce", row.name, array._typecode, dtype, masked, initial is None
    reduction = context._kernels.get(key)
    if reduction is None:
        reduction = _masked(row, array, dtype, masked, initial is not None)
        context._kernels[key] = reduction
    mask = axes_mask(axis, array.ndim, operation)
    arrays = with_mask((array,), where, operation)
    result = apply_reduction(reduction, arrays, mask, keepdims, operation)
    if initial is None:
        return result
    return apply_row(row, (initial, result), dtype=dtype, casting="unsafe")


def beginning(operation: str, initial: Any, dtype: DType) -> Any:
    """The initial value of a reduction in ``dtype``: a number it holds, or None."""
    if isinstance(initial, np.ndarray | BaseArray):
        if initial.ndim:
            raise BadValue(
                f"{operation}: initial has shape {initial.shape}, expected a number"
            )
        initial = initial if isinstance(initial, BaseArray) else initial[()]
    elif initial is None:
        return None
    elif number_operand(initial) is None:
        raise BadType(
            f"{operation}: initial is {type(initial).__name__}, expected a number"
        )
    operand = initial.dtype if isinstance(initial, BaseArray) else type(initial)
    if np.issubdtype(operand, np.complexfloating) and dtype.kind != "c":
        raise BadType(
            f"{operation}: initial is complex, the result is of {dtype}; give "
            "initial.real, or a complex dtype"
        )
    is_read = not isinstance(initial, BaseArray)
    return _held(operation, initial, dtype) if is_read else initial


def _held(operation: str, initial: Any, dtype: DType) -> Any:
    """Return a host number that ``dtype`` holds; an integer one takes no fraction."""
    try:
        if dtype.kind not in "iu":
            complex(initial)
            return initial
        whole = int(initial)
        if np.iinfo(dtype).min <= whole <= np.iinfo(dtype).max:
            return whole
    except ValueError:
        raise BadValue(
            f"{operation}: initial is {initial}, expected a number that {dtype} holds"
        ) from None
    except OverflowError:
        pass
    raise TooLarge(
        f"{operation}: initial is {initial!r:.40}, out of bounds for {dtype}; give a "
        "wider dtype"
    )


def _masked(
    row: Scalar, array: BaseArray, dtype: DType, masked: bool, begins: bool
) -> Any:
    work = work_dtype(dtype)
    text = convert("x", array._dtype, work)
    start = identity_text(row, work)
    inputs = [("x", array._dtype)]
    if row.identity is None:  # NumPy's is no identity: hypot(0, -3) is 3
        text = scalar_expression(row, [(start, work), (f"({text})", work)]).text
    if masked:
        inputs.append(MASK)
        text = f"m ? ({text}) : {start}"
    return make_reduction(
        array._context,
        f"{row.name}.reduce",
        inputs,
        [Accumulator(row, text, work)],
        dtype,
        begins=begins,
    )


def as_mask(where: Any, like: BaseArray, operation: str) -> Any:
    """Return a bool array on the context of ``like``."""
    if isinstance(where, bool | np.bool_):
        return like.from_host(np.asarray(where), like._context)
    mask = require(where, f"{operation}: where")
    if mask.dtype != np.bool_:
        raise BadType(f"{operation}: where is of {mask.dtype}, expected bool")
    return mask


# ---- out ----


def into(out: Any, result: Any, operation: str) -> Any:
    """Return the result; or ``out``, an array or a tuple of one, with its elements."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is None:
        return result
    if require(out, f"{operation}: out").shape != result.shape:
        raise BadArgument(
            f"{operation}: out has shape {out.shape}, expected {result.shape}"
        )
    if not can_cast(result.dtype, out.dtype, "same_kind"):
        raise BadType(
            f"{operation}: a result of {result.dtype} cannot be stored as {out.dtype}, "
            "the dtype of out"
        )
    if not out.flags.writeable:
        raise ReadOnly(
            f"{operation}: out is read-only, as broadcast views and elements are"
        )
    check(lib.GpuArray_move(out._struct, result._struct), operation)
    return out
