"""Creation: ranges, empty arrays, diagonals, arrays from files."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import empty as new_array, zeros
from gpuarray._kernels.codegen import once, self_contained
from gpuarray._kernels.kernel import GpuKernel
from gpuarray._kernels.texts import kernel_text
from gpuarray._manipulation.shaping import diagonal
from gpuarray.array import Array
from gpuarray.compiler.errors import GraphValueError
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowered_by_call, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.creation.creation import AllocEmpty, ARange
from gpuarray.compiler.ops.creation.diagonals import AllocDiag, ExtractDiag
from gpuarray.compiler.ops.protocols.conversions import LoadFromDisk
from gpuarray.dtypes import OFFSET, SIZE, dtype_to_ctype

COUNTED = "iu"
"""The kinds of dtype that the arange kernel writes, besides float32 and float64."""


def count_source(dtype: str) -> tuple[str, str]:
    """Return the source and the name of the arange kernel: 0, 1, 2, ..."""
    ctype = dtype_to_ctype(counted_dtype(dtype))
    name = f"compiler_count_{ctype.removeprefix('ga_')}"
    words = {"COUNT_NAME": name, "COUNT_T": ctype}
    return self_contained(once(kernel_text(__package__, "count", words))), name


def counted_dtype(dtype: str) -> np.dtype[np.generic]:
    """Return the dtype that the kernel writes; others are cast from it."""
    result = np.dtype(dtype)
    is_written = result.kind in COUNTED or result.name in ("float32", "float64")
    return result if is_written else np.dtype("int32")


def count_kernel(dtype: str, context: Context) -> GpuKernel:
    """Return the arange kernel, cached in the context."""
    key = "compiler_count", dtype
    kernel: GpuKernel | None = context._kernels.get(key)
    if kernel is None:
        types = [Array, OFFSET, SIZE]
        kernel = GpuKernel(*count_source(dtype), types, context)
        context._kernels[key] = kernel
    return kernel


@step_function("arange")
def counted(length: int, dtype: str) -> Array:
    """Return the integers from 0 on; none for a length below 0."""
    context = find_context(None)
    out = new_array((max(length, 0),), counted_dtype(dtype), context)
    if out.size:
        count_kernel(dtype, context)(out, out.offset, out.size, n=out.size)
    result: Array = out.astype(dtype, copy=False)
    return result


@body_of("arange")
def arange_steps(s: Steps, length: int, *, dtype: str) -> int:
    """Add the arange routine."""
    return s.routine("arange", [length], dtype, 1)


lowered_by_call(ARange, "arange", "dtype")


@step_function("empty")
def empty(lengths: Sequence[int], dtype: str) -> Array:
    """Return uninitialized memory."""
    return new_array(tuple(lengths), dtype, find_context(None))


@body_of("empty")
def empty_steps(s: Steps, lengths: Sequence[int], *, dtype: str) -> int:
    """Add the empty routine."""
    return s.routine("empty", lengths, dtype, len(lengths))


lowered_by_call(AllocEmpty, "empty", "dtype")


@step_function("extract_diag")
def extract_diag(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    """Return a view of a diagonal."""
    view: Array = diagonal(x, offset, axis1, axis2)
    return view


@body_of("extract_diag")
def extract_diag_steps(s: Steps, x: int, *, offset: int, axis1: int, axis2: int) -> int:
    """Add the diagonal routine."""
    value = s.array(x)
    params = offset, axis1, axis2
    return s.routine("diagonal", [x], value.dtype, value.ndim - 1, *params)


@lowers(ExtractDiag)
def lower_extract_diag(op: ExtractDiag, node: Apply, k: Lowerer) -> None:
    """Lower to a view: nothing is launched."""
    k.call(node, "extract_diag", node.inputs, placed(op))


@step_function("alloc_diag")
def alloc_diag(
    x: Array, rows: int, columns: int, offset: int, axis1: int, axis2: int
) -> Array:
    """Return zeros with ``x`` copied onto a diagonal."""
    lengths = list(x.shape[:-1])
    for axis, length in sorted(((axis1, rows), (axis2, columns))):
        lengths.insert(axis, length)
    result = zeros(tuple(lengths), x.dtype, find_context(None))
    target = diagonal(result, offset, axis1, axis2)
    if target.shape != x.shape:
        raise GraphValueError(
            f"AllocDiag: given {x.shape[-1]} elements for a diagonal of "
            f"{target.shape[-1]}"
        )
    target[...] = x
    return result


@body_of("alloc_diag")
def alloc_diag_steps(
    s: Steps, x: int, rows: int, columns: int, *, offset: int, axis1: int, axis2: int
) -> int:
    """Add zeros and an assignment to their diagonal."""
    value = s.array(x)
    lengths = [s.length(x, axis) for axis in range(value.ndim - 1)]
    for axis, length in sorted(((axis1, rows), (axis2, columns))):
        lengths.insert(axis, length)
    result = s.routine("zeros", lengths, value.dtype, value.ndim + 1)
    params = offset, axis1, axis2
    target = s.routine("diagonal", [result], value.dtype, value.ndim, *params)
    last = value.ndim - 1
    fits = s.arithmetic("eq", s.length(target, last), s.length(x, last))
    s.require(x, [fits], "AllocDiag: the diagonal has another length")
    s.routine("assign", [target, x], value.dtype, value.ndim)
    return result


@lowers(AllocDiag)
def lower_alloc_diag(op: AllocDiag, node: Apply, k: Lowerer) -> None:
    """Lower to two launches."""
    k.call(node, "alloc_diag", node.inputs, placed(op))


def placed(op: ExtractDiag | AllocDiag) -> dict[str, int]:
    """Return the options of a diagonal: its offset and axes."""
    return {"offset": op.offset, "axis1": op.axis1, "axis2": op.axis2}


@step_function("load")
def load(op: LoadFromDisk) -> Array:
    """Return the file's array, copied to the device."""
    return asarray(op.reference(), context=find_context(None))


@lowers(LoadFromDisk)
def lower_load(op: LoadFromDisk, node: Apply, k: Lowerer) -> None:
    """Lower to a pause: the file may change, so it is read at each run."""
    properties = (op.path, op.dtype, op.broadcastable, op.mmap_mode)
    k.call(node, "load", [], {"op": LoadFromDisk(*properties)}, recorded=False)
