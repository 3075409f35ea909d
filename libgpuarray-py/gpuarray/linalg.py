"""Products of matrices and vectors.

Two-dimensional products of floats go to the device's BLAS; every other dtype and rank
is the sum of a broadcast product, which one reduction computes without an intermediate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._native import check, lib
from gpuarray.base import BaseArray
from gpuarray.codegen import convert
from gpuarray.dtypes import work_dtype
from gpuarray.errors import BadType, BadValue
from gpuarray.reduction import apply_reduction, make_reduction
from gpuarray.scalars import SCALARS

_BLAS = (np.dtype(np.float32), np.dtype(np.float64))


def _check(operation: str, a: Any, b: Any) -> None:
    for x in (a, b):
        if not isinstance(x, BaseArray):
            raise BadType(
                f"{operation}: got {type(x).__name__}, expected a gpuarray array; use "
                "gpuarray.asarray(x)"
            )
    if a.context is not b.context:
        raise BadValue(
            f"{operation}: the operands are on {a.context.name} and {b.context.name}; "
            "use b.transfer(a.context)"
        )


def _mismatch(operation: str, a: BaseArray, b: BaseArray) -> BadValue:
    return BadValue(
        f"{operation}: shapes {a.shape} and {b.shape} do not fit: the last axis of the "
        "first must be as long as the last but one of the second"
    )


def matmul(a: Any, b: Any) -> Any:
    """The matrix product ``a @ b``, by NumPy's rules for vectors and stacks."""
    _check("matmul", a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise BadValue("matmul: a 0-d operand; use a * b")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise _mismatch("matmul", a, b)
    dtype = np.result_type(a.dtype, b.dtype)
    if a.ndim == 1 and b.ndim == 1:
        return _contract(a, b, dtype)
    if work_dtype(dtype) in _BLAS and a.ndim <= 2 and b.ndim <= 2:
        work = work_dtype(dtype)
        left, right = a.astype(work, copy=False), b.astype(work, copy=False)
        product = _blas(left, right)
        return product.astype(dtype, copy=False)
    rows = a if 1 in (a.ndim, b.ndim) else a[..., :, None, :]
    columns = b if b.ndim == 1 else _columns(b, a.ndim)
    return _contract(rows, columns, dtype)


def _columns(b: Any, other_ndim: int) -> Any:
    """The columns of ``b`` as rows, with an axis of length 1 for the other's rows."""
    axes = [*range(b.ndim - 2), b.ndim - 1, b.ndim - 2]
    turned = b.transpose(*axes)
    return turned if other_ndim == 1 else turned[..., None, :, :]


def _blas(a: Any, b: Any) -> Any:
    """The product of float arrays of one dtype, of which at least one has two axes."""
    if a.ndim == 1:
        return _gemv(b, a, lib.cb_trans)
    if b.ndim == 1:
        return _gemv(a, b, lib.cb_no_trans)
    out = a.allocate((a.shape[0], b.shape[1]), a.dtype, a.context, operation="matmul")
    none = lib.cb_no_trans
    status = lib.GpuArray_rgemm(none, none, 1.0, a.struct, b.struct, 0.0, out.struct, 0)
    check(status, f"matmul of {a.shape} and {b.shape}")
    return out


def _gemv(matrix: Any, vector: Any, transposed: int) -> Any:
    length = matrix.shape[1 if transposed == lib.cb_trans else 0]
    out = matrix.allocate((length,), matrix.dtype, matrix.context, operation="matmul")
    status = lib.GpuArray_rgemv(
        transposed, 1.0, matrix.struct, vector.struct, 0.0, out.struct, 0
    )
    check(status, f"product of {matrix.shape} and {vector.shape}")
    return out


def _contract(a: Any, b: Any, dtype: np.dtype[Any]) -> Any:
    """The sum over the last axis of ``a * b``, which broadcast."""
    context = a.context
    key = "contract", a.typecode, b.typecode
    reduction = context.kernels.get(key)
    if reduction is None:
        work = work_dtype(dtype)
        is_bool = dtype.kind == "b"
        row = SCALARS["logical_or" if is_bool else "add"]
        left, right = convert("x", a.dtype, work), convert("y", b.dtype, work)
        text = f"({left}) {'&&' if is_bool else '*'} ({right})"
        inputs = [("x", a.dtype), ("y", b.dtype)]
        reduction = make_reduction(context, row, inputs, text, work, dtype)
        context.kernels[key] = reduction
    ndim = max(a.ndim, b.ndim)
    return apply_reduction(reduction, (a, b), 1 << (ndim - 1), False, "matmul")


def dot(a: Any, b: Any) -> Any:
    """NumPy's ``dot`` for up to two axes; with a 0-d operand, the product."""
    _check("dot", a, b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim > 2 or b.ndim > 2:
        raise BadValue(
            f"dot: shapes {a.shape} and {b.shape} have more than 2 axes; use matmul"
        )
    return matmul(a, b)
