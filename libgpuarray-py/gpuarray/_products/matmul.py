"""``matmul``, ``dot``, ``vdot``, ``tensordot`` and ``vecdot``.

Products of floating and complex dtypes go to the library's BLAS, stacks of matrices as
one batch; every other dtype is the sum of a broadcast product, which one reduction
computes without an intermediate.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.arguments import axes_numbers, axis_number
from gpuarray._core.base import BaseArray, beside, require_all
from gpuarray._kernels.codegen import convert, scalar_expression
from gpuarray._kernels.monoids import Accumulator, apply_reduction, into, make_reduction
from gpuarray._manipulation.shaping import moveaxis
from gpuarray._native import check, ffi, lib
from gpuarray.blas import check_operands
from gpuarray.dtypes import result_type, work_dtype
from gpuarray.errors import BadType, BadValue
from gpuarray.scalars import SCALARS

_REAL = lib.GA_HALF, lib.GA_BFLOAT16, lib.GA_FLOAT, lib.GA_DOUBLE
_LISTS = (list, tuple, int, float, complex)
_BLAS = frozenset((*_REAL, lib.GA_CFLOAT, lib.GA_CDOUBLE))
_NONE, _TRANS = lib.cb_no_trans, lib.cb_trans


def _mismatch(operation: str, a: BaseArray, b: BaseArray) -> BadValue:
    return BadValue(
        f"{operation}: shapes {a.shape} and {b.shape} do not fit: the last axis of the "
        "first must be as long as the last but one of the second"
    )


def matmul(a: Any, b: Any, /, out: Any = None) -> Any:
    """Return the matrix product ``a @ b``, by NumPy's rules for vectors and stacks.

    (..., m, k) and (..., k, n) give (..., m, n), where the other axes broadcast;
    ``out`` takes a copy of it. Raises BadValue for shapes that do not fit, and for a
    0-d operand.

    >>> a = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> print(gpuarray.matmul(a, a))
    [[ 7. 10.]
     [15. 22.]]
    >>> print(a @ gpuarray.asarray([1.0, 0.0]))
    [1. 3.]
    """
    product = _product(a, b)
    return product if out is None else into(out, product, "matmul")


def _product(a: Any, b: Any, operation: str = "matmul") -> Any:
    check_operands(operation, a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise BadValue("matmul: got a 0-d operand, expected 1 axis or more; use a * b")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise _mismatch(operation, a, b)
    if a.typecode == b.typecode and a.typecode in _BLAS:
        return _blas(a, b)
    dtype = result_type(a.dtype, b.dtype)
    left, right = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    if left.typecode in _BLAS:
        return _blas(left, right)
    rows = a if 1 in (a.ndim, b.ndim) else a[..., :, None, :]
    columns = b if b.ndim == 1 else _columns(b, a.ndim)
    return contract(rows, columns, dtype)


def _columns(b: Any, other_ndim: int) -> Any:
    """The columns of ``b`` as rows, with an axis of length 1 for the other's rows."""
    axes = [*range(b.ndim - 2), b.ndim - 1, b.ndim - 2]
    turned = b.transpose(*axes)
    return turned if other_ndim == 1 else turned[..., None, :, :]


# ---- by BLAS ----


def _new(like: Any, shape: tuple[int, ...]) -> Any:
    return like.allocate(shape, like.dtype, like.context, operation="matmul")


def _blas(a: Any, b: Any) -> Any:
    """Return the product of two arrays of one dtype that BLAS has."""
    if a.ndim == 2 and b.ndim == 2:
        return _matrices(a, b)
    if a.ndim == 1 and b.ndim == 1:
        return _dot(a, b, lib.GpuArray_rdot)
    if a.ndim == 2 and b.ndim == 1:
        return _gemv(a, b, _NONE)
    if a.ndim == 1 and b.ndim == 2:
        return _gemv(b, a, _TRANS)
    if a.ndim == 1:
        return _stacks(a[None, :], b)[..., 0, :]
    if b.ndim == 1:
        return _stacks(a, b[:, None])[..., 0]
    return _stacks(a, b)


def _dot(a: Any, b: Any, function: Any) -> Any:
    out = _new(a, ())
    status = function(a._struct, b._struct, out._struct, 0)
    check(status, f"product of {a.shape} and {b.shape}")
    return out


def _matrices(a: Any, b: Any) -> Any:
    out = _new(a, (a.shape[0], b.shape[1]))
    left, right, result = a._struct, b._struct, out._struct
    status = lib.GpuArray_rgemm(_NONE, _NONE, 1.0, left, right, 0.0, result, 0)
    if status:
        check(status, f"matmul of {a.shape} and {b.shape}")
    return out


def _gemv(matrix: Any, vector: Any, transposed: int) -> Any:
    out = _new(matrix, (matrix.shape[1 if transposed == _TRANS else 0],))
    status = lib.GpuArray_rgemv(
        transposed, 1.0, matrix._struct, vector._struct, 0.0, out._struct, 0
    )
    if status:
        check(status, f"product of {matrix.shape} and {vector.shape}")
    return out


def _stacks(a: Any, b: Any) -> Any:
    """Return the product of arrays of at least two axes; those before are a batch."""
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise BadValue(
            f"matmul: shapes {a.shape} and {b.shape} do not broadcast: their axes "
            "before the last two differ"
        ) from None
    out = _new(a, (*batch, a.shape[-2], b.shape[-1]))
    if out.size:
        left = a.broadcast_to((*batch, *a.shape[-2:]))
        right = b.broadcast_to((*batch, *b.shape[-2:]))
        _multiply(left, right, out, f"matmul of {a.shape} and {b.shape}")
    return out


def _multiply(a: Any, b: Any, out: Any, operation: str) -> None:
    """``out = a @ b``, where all have the same axes before the last two."""
    if out.ndim == 2:
        function = lib.GpuArray_rgemm
        operands = a._struct, b._struct, out._struct
    else:
        merged = [_as_batch(x) for x in (a, b, out)]
        if None in merged:
            for i in range(out.shape[0]):
                _multiply(a[i], b[i], out[i], operation)
            return
        function = lib.GpuArray_rgemmBatch_3d
        operands = merged[0], merged[1], merged[2]
    left, right, result = operands
    check(function(_NONE, _NONE, 1.0, left, right, 0.0, result, 0), operation)


def _as_batch(a: Any) -> Any:
    """Return a struct that borrows ``a``'s memory, all batch axes as one, or None."""
    lengths, steps = list(a.shape), list(a.strides)
    while len(lengths) > 3:
        if lengths[0] != 1 and lengths[1] != 1 and steps[0] != lengths[1] * steps[1]:
            return None
        steps[0:2] = [steps[0] if lengths[1] == 1 else steps[1]]
        lengths[0:2] = [lengths[0] * lengths[1]]
    struct = ffi.new("GpuArray *", a._struct[0])
    struct.nd = 3
    struct.dimensions[0:3] = lengths
    struct.strides[0:3] = steps
    lib.GpuArray_fix_flags(struct)
    return struct


# ---- by a reduction ----


def contract(a: Any, b: Any, dtype: np.dtype[Any]) -> Any:
    """Return the sum over the last axis of ``a * b``, broadcast."""
    context = a.context
    key = "contract", a.typecode, b.typecode
    reduction = context._kernels.get(key)
    if reduction is None:
        work = work_dtype(dtype)
        row = SCALARS["logical_or" if dtype.kind == "b" else "add"]
        product = [(convert(n, x.dtype, work), work) for n, x in (("x", a), ("y", b))]
        text = scalar_expression(SCALARS["mul"], product).text
        inputs = [("x", a.dtype), ("y", b.dtype)]
        parts = [Accumulator(row, text, work)]
        reduction = make_reduction(context, "matmul", inputs, parts, dtype)
        context._kernels[key] = reduction
    ndim = max(a.ndim, b.ndim)
    return apply_reduction(reduction, (a, b), 1 << (ndim - 1), False, "matmul")


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """The sum of products over the last axis of ``a`` and the last but one of ``b``.

    With a 0-d operand, the product; of vectors, over their only axis. A list or number
    beside an array is copied to its context. ``out`` takes a copy of the product.
    Raises BadValue for shapes that do not fit.

    >>> print(gpuarray.dot(gpuarray.asarray([1, 2, 3]), gpuarray.asarray([4, 5, 6])))
    32
    """
    product = _dot_product(a, b)
    return product if out is None else into(out, product, "dot")


def _dot_product(a: Any, b: Any) -> Any:
    if isinstance(a, _LISTS) or isinstance(b, _LISTS):
        a, b = beside("dot", a, b)
    check_operands("dot", a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return _product(a, b, "dot")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise _mismatch("dot", a, b)
    if b.ndim <= 2:
        rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
        return matmul(rows, b).reshape(*a.shape[:-1], *b.shape[1:])
    axes = [b.ndim - 2, *range(b.ndim - 2), b.ndim - 1]
    others = [*b.shape[:-2], b.shape[-1]]
    rows = a.reshape(math.prod(a.shape[:-1]), a.shape[-1])
    columns = b.transpose(*axes).reshape(b.shape[-2], math.prod(others))
    return matmul(rows, columns).reshape(*a.shape[:-1], *others)


def vdot(a: Any, b: Any) -> Any:
    """Return the sum of the conjugates of ``a`` times ``b``, both as vectors.

    Raises BadValue if they differ in size.

    >>> print(gpuarray.vdot(gpuarray.asarray([1j, 2]), gpuarray.asarray([1j, 1])))
    (3+0j)
    """
    check_operands("vdot", a, b)
    if a.size != b.size:
        raise BadValue(
            f"vdot: shapes {a.shape} and {b.shape} have {a.size} and {b.size} "
            "elements, expected as many"
        )
    dtype = result_type(a.dtype, b.dtype)
    left = a.astype(dtype, copy=False).ravel()
    right = b.astype(dtype, copy=False).ravel()
    if left.typecode in _BLAS:
        return _dot(left, right, lib.GpuArray_rdotc)
    return contract(left, right, dtype)


# ---- over chosen axes ----


def tensordot(a: Any, b: Any, axes: int | Sequence[Any] = 2) -> Any:
    """Return the sum of products over axes of both arrays.

    ``axes`` is a number, of last axes of the first and first ones of the second, or a
    pair of lists of axes. The other axes of the first come before those of the second.

    >>> a = gpuarray.arange(4).reshape(2, 2)
    >>> print(gpuarray.tensordot(a, a, axes=([0], [1])))
    [[ 2  6]
     [ 3 11]]
    """
    first, second = require_all("tensordot", a, b)
    left, right = _pairs(axes, first.ndim, second.ndim)
    lengths = [first.shape[i] for i in left]
    others = [second.shape[i] for i in right]
    if lengths != others:
        raise BadValue(
            f"tensordot: axes {left} of shape {first.shape} have lengths {lengths}, "
            f"axes {right} of shape {second.shape} {others}; expected the same"
        )
    row_axes = [i for i in range(first.ndim) if i not in left]
    column_axes = [i for i in range(second.ndim) if i not in right]
    rows = [first.shape[i] for i in row_axes]
    columns = [second.shape[i] for i in column_axes]
    inner = math.prod(lengths)
    matrix = first.transpose(*row_axes, *left) if first.ndim else first
    other = second.transpose(*right, *column_axes) if second.ndim else second
    product = matmul(
        matrix.reshape(math.prod(rows), inner), other.reshape(inner, math.prod(columns))
    )
    return product.reshape((*rows, *columns))


def _pairs(axes: Any, ndim: int, other: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of either array that are summed over."""
    if not hasattr(axes, "__len__") or getattr(axes, "ndim", 1) == 0:
        try:
            count = operator.index(axes)
        except TypeError:
            raise BadType(f"tensordot: axes is {axes!r}, expected a number") from None
        if not 0 <= count <= min(ndim, other):
            raise BadValue(
                f"tensordot: {count} axes of arrays that have {ndim} and {other}"
            )
        return tuple(range(ndim - count, ndim)), tuple(range(count))
    if len(axes) != 2:
        raise BadValue(f"tensordot: axes is {axes!r}, expected a number or a pair")
    left, right = axes
    first = axes_numbers(left, ndim, "tensordot")
    second = axes_numbers(right, other, "tensordot")
    if len(first) != len(second):
        raise BadValue(
            f"tensordot: {len(first)} axes of the first array for {len(second)} of the "
            "second"
        )
    return first, second


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """Return the sum over ``axis`` of ``x1``, conjugated, times ``x2``; they broadcast.

    >>> a = gpuarray.arange(4).reshape(2, 2)
    >>> print(gpuarray.vecdot(a, a))
    [ 1 13]
    """
    first, second = require_all("vecdot", x1, x2)
    vectors = []
    for array in (first, second):
        if array.ndim == 0:
            raise BadValue("vecdot: got a 0-d array, expected vectors along an axis")
        at = axis_number(axis, array.ndim, "vecdot")
        vectors.append(moveaxis(array, at, -1))
    x, y = vectors
    if x.shape[-1] != y.shape[-1]:
        raise BadValue(
            f"vecdot: axis {axis} has lengths {x.shape[-1]} and {y.shape[-1]}, "
            "expected the same"
        )
    x = x.conj() if x.dtype.kind == "c" else x
    return contract(x, y, result_type(x.dtype, y.dtype))
