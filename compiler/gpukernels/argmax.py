"""Argmax, and both results of an extremum: one reduction."""

from __future__ import annotations

import math
from typing import Any

from gpuarray._core.context import Context
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray._ufunc import reduction
from gpuarray.array import Array
from gpuarray.compiler import plan
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import Needs, needs_of, step_function
from gpuarray.compiler.gpukernels.registry import lowered_by_call
from gpuarray.compiler.ops.reduce.argmax import Argmax, Extremum
from gpuarray.dtypes import OF_TYPECODE, dtype_to_typecode


@step_function("argmax")
def places(x: Array, *, axes: tuple[int, ...], smallest: bool) -> Array:
    """Return the positions of extrema over axes, counted in C order."""
    remaining = [axis for axis in range(x.ndim) if axis not in axes]
    lengths = [x.shape[axis] for axis in remaining]
    count = math.prod(x.shape[axis] for axis in axes)
    axis = axes[0] if len(axes) == 1 else len(remaining)
    moved = (
        x if len(axes) == 1 else x.transpose(*remaining, *axes).reshape(*lengths, count)
    )
    function = reduction.argmin if smallest else reduction.argmax
    positions: Array = function(moved, axis)
    return positions


@body_of("argmax")
def places_steps(s: Steps, x: int, *, axes: tuple[int, ...], smallest: bool) -> int:
    """Add the argmax routine, after a reshape of several axes to one."""
    value = s.array(x)
    remaining = [axis for axis in range(value.ndim) if axis not in axes]
    axis, moved = axes[0] if axes else 0, x
    if len(axes) != 1:
        axis, count = len(remaining), s.integer(1)
        for reduced in axes:
            count = s.arithmetic("mul", count, s.length(x, reduced))
        lengths = [*(s.length(x, reduced) for reduced in remaining), count]
        moved = s.reshape(s.view(x, (*remaining, *axes)), lengths)
    params = axis, int(smallest), lib.GA_EXTREMUM_POSITION
    return s.routine("extremum", [moved], "int64", len(remaining), *params)


lowered_by_call(Argmax, "argmax", "axes", "smallest")


@step_function("extremum")
def extremum(x: Array, *, axis: int, smallest: bool) -> tuple[Array, ...]:
    """Return the extrema along an axis, and the positions of the first of them."""
    results = ffi.new("GpuArray[]", 2)
    operands = ffi.new("void *[]", [x.struct])
    kernel = extremum_kernel(x.dtype, smallest, x.context)
    check(lib.GpuReduction_apply(kernel, results, operands, 1 << axis, 0), "extremum")
    return tuple(taken(results + number, x.context) for number in range(2))


@body_of("extremum")
def extremum_steps(s: Steps, x: int, *, axis: int, smallest: bool) -> tuple[int, int]:
    """Add the routine of both results."""
    value = s.array(x)
    flags = (False,) * (value.ndim - 1)
    results = [plan.ArrayValue(value.dtype, flags), plan.ArrayValue("int64", flags)]
    params = axis, int(smallest), lib.GA_EXTREMUM_BOTH
    first = s.routines("extremum", [x], results, *params)
    return first, first + 1


@needs_of("extremum")
def tell_needs(needs: Needs, x: plan.ArrayValue, *, axis: int, smallest: bool) -> None:
    """Declare the reduction."""
    kernel = extremum_kernel(x.dtype, smallest, needs.context)
    needs.reduction(kernel, x.ndim, (axis,))


def extremum_kernel(dtype: Any, smallest: bool, context: Context) -> Any:
    """The ``GpuReduction *`` of both results, which the context keeps."""
    kind = dtype_to_typecode(dtype), smallest, lib.GA_EXTREMUM_BOTH
    return reduction.extremum_kernel(context, *kind, "extremum")


def taken(array: Any, context: Context) -> Array:
    """Return an array that the library has made, as its only owner."""
    struct = ffi.new(ARRAY)
    check(lib.GpuArray_view(struct, array))
    lib.GpuArray_clear(array)
    return Array.wrap(struct, context, OF_TYPECODE[struct.typecode], struct.typecode)


lowered_by_call(Extremum, "extremum", "axis", "smallest")
