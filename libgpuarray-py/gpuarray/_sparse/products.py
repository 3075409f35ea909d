"""Products of sparse arrays with dense ones and with one another."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._creation.filled import empty
from gpuarray._native import check, ffi, lib
from gpuarray._sparse.base import (
    check_context,
    dense_beside,
    is_dense,
    is_number,
    is_sparse,
    make,
    not_an_operand,
    require,
    require_matrix,
    struct,
)
from gpuarray._sparse.conversion import converted, of_pair
from gpuarray.array import Array
from gpuarray.dtypes import result_type
from gpuarray.errors import BadType, BadValue


def matmul(a: Any, b: Any) -> Any:
    """Return the product of two operands, of which one or both are sparse.

    Of two sparse ones it is sparse, in the format of the first; else dense.
    """
    if is_sparse(a) and is_sparse(b):
        return _sparse_product(a, b)
    dense, sparse = (b, a) if is_sparse(a) else (a, b)
    if is_number(dense):
        raise BadValue("matmul: a number is no operand; use * to multiply by it")
    if not is_dense(dense):
        return not_an_operand(dense, "matmul")
    dense = dense_beside(sparse, dense, "matmul")
    is_left = sparse is a
    return _dense_product(sparse, dense, is_left)


def dot(a: Any, other: Any) -> Any:
    """Return ``a @ other``; of a number, ``a * other``.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> print(A.dot(gpuarray.asarray([10, 20])))
    [20 20]
    """
    require(a, "dot")
    if is_number(other):
        return a * other
    product = matmul(a, other)
    if product is NotImplemented:
        raise BadType(f"dot: got {type(other).__name__}, expected an array")
    return product


def _check_lengths(a: Any, b: Any) -> None:
    first = a.shape[-1]
    second = b.shape[0] if b.ndim == 1 else b.shape[-2]
    if first != second:
        raise BadValue(
            f"matmul: {a.shape} @ {b.shape}: {first} columns, but {second} rows"
        )


def _dense_product(sparse: Any, dense: Array, is_left: bool) -> Any:
    if dense.ndim > 2:
        raise BadValue(
            f"matmul: a dense operand of shape {dense.shape}, expected a vector or a "
            "matrix"
        )
    _check_lengths(*((sparse, dense) if is_left else (dense, sparse)))
    dtype = result_type(sparse.dtype, dense.dtype)
    a = sparse if sparse.dtype == dtype else sparse.astype(dtype)
    x = dense.astype(dtype, copy=False)
    if sparse.ndim == 1:
        return _vector_product(a, x, is_left)
    rows, columns = sparse.shape
    lengths = (rows, *x.shape[1:]) if is_left else (*x.shape[:-1], columns)
    y = empty(lengths, dtype, sparse.context)
    if is_left:
        call, operands = lib.GpuSparse_matmul, (struct(a), x.struct)
    else:
        call, operands = lib.GpuSparse_rmatmul, (x.struct, struct(a))
    check(call(y.struct, *operands, ffi.NULL, ffi.NULL), "matmul")
    return y


def _vector_product(a: Any, x: Array, is_left: bool) -> Any:
    """Return the product of a sparse vector and a dense operand."""
    matrix = make(a._values, a._pattern)
    if is_left:
        return _dense_product(matrix, x, True)[0]
    column = make(a._values, a._pattern.turned())
    return _dense_product(column, x, False)[..., 0]


# ---- sparse times sparse ----


def _sparse_product(a: Any, b: Any) -> Any:
    check_context(a, b, "matmul")
    _check_lengths(a, b)
    dtype = result_type(a.dtype, b.dtype)
    left = make(a._values, a._pattern)
    right = make(b._values, b._pattern if b.ndim == 2 else b._pattern.turned())
    product = _matrix_product(left, right, dtype)
    if a.ndim == b.ndim == 2:
        return product
    if a.ndim == b.ndim:
        return product.toarray()[0, 0]
    listed = converted(product, "coo")
    pattern = listed._pattern if a.ndim == 1 else listed._pattern.turned()
    return make(listed._values, pattern, (pattern.lengths[1],))


def _matrix_product(a: Any, b: Any, dtype: np.dtype[Any]) -> Any:
    """Return the product of two matrices in the format of the first; waits."""
    return of_pair(lib.GpuSparse_spgemm, a, b, dtype, "matmul")


# ---- sampled products ----


def sddmm(A: Any, x: Any, y: Any, alpha: float = 1, beta: float = 0) -> Any:
    """Return ``alpha (x @ y) + beta A`` at the places where ``A`` stores values.

    ``x`` and ``y`` are dense matrices; of their product nothing else is computed
    (PyTorch: ``sampled_addmm``). Of the result's dtype, ``A`` and both matrices are
    taken. Each stored value, duplicates too, gets the element of the product.

    >>> A = gpuarray.sparse.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> x = gpuarray.asarray([[1.0], [2.0]])
    >>> print(gpuarray.sparse.sddmm(A, x, x.T).toarray())
    [[0. 2.]
     [2. 0.]]
    """
    require_matrix(A, "sddmm")
    left, right = (_factor(A, operand, name) for operand, name in ((x, "x"), (y, "y")))
    rows, columns = A.shape
    if (left.shape[0], right.shape[1]) != A.shape or left.shape[1] != right.shape[0]:
        raise BadValue(
            f"sddmm: {left.shape} @ {right.shape} is no product of shape "
            f"({rows}, {columns}), that of A"
        )
    dtype = result_type(A.dtype, left.dtype, right.dtype)
    left, right = (part.astype(dtype, copy=False) for part in (left, right))
    values = A._values.astype(dtype)
    factors = [
        ffi.new("double[2]", (number.real, number.imag)) for number in (alpha, beta)
    ]
    args = struct(A._with_values(values)), left._struct, right._struct
    check(lib.GpuSparse_sddmm(values._struct, *args, *factors), "sddmm")
    return A._with_values(values)


def _factor(a: Any, operand: Any, name: str) -> Array:
    if not is_dense(operand) or operand.ndim != 2:
        raise BadType(
            f"sddmm: {name} is {type(operand).__name__}, expected a dense matrix"
        )
    found: Array = dense_beside(a, operand, "sddmm")
    return found
