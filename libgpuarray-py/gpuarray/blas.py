"""Products of matrices and vectors.

Products of floating and complex dtypes go to the library's BLAS, stacks of matrices as
one batch; every other dtype is the sum of a broadcast product, which one reduction
computes without an intermediate. ``gemv``, ``gemm``, ``ger`` and ``gemmBatch_3d`` are
BLAS's own, with their factors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuarray._native import check, ffi, lib
from gpuarray.base import BaseArray
from gpuarray.codegen import convert, scalar_expression
from gpuarray.context import Context
from gpuarray.context import context as find_context
from gpuarray.dtypes import result_type, work_dtype
from gpuarray.errors import BadType, BadValue
from gpuarray.monoids import Part, apply_reduction, into, make_reduction
from gpuarray.scalars import SCALARS

_REAL = lib.GA_HALF, lib.GA_BFLOAT16, lib.GA_FLOAT, lib.GA_DOUBLE
_BLAS = frozenset((*_REAL, lib.GA_CFLOAT, lib.GA_CDOUBLE))
_NONE, _TRANS, _CONJ = lib.cb_no_trans, lib.cb_trans, lib.cb_conj_trans


def check_operands(operation: str, *operands: Any) -> None:
    """BadType or BadValue unless all are arrays of one context."""
    contexts = [x.context for x in operands if isinstance(x, BaseArray)]
    for x in operands:
        if not isinstance(x, BaseArray):
            where = f", context={contexts[0].name!r}" if contexts else ""
            raise BadType(
                f"{operation}: got {type(x).__name__}, expected a gpuarray array; use "
                f"gpuarray.asarray(x{where})"
            )
        if x.context is not contexts[0]:
            raise BadValue(
                f"{operation}: the operands are on {contexts[0].name} and "
                f"{x.context.name}; use b.transfer(a.context)"
            )


def _mismatch(operation: str, a: BaseArray, b: BaseArray) -> BadValue:
    return BadValue(
        f"{operation}: shapes {a.shape} and {b.shape} do not fit: the last axis of the "
        "first must be as long as the last but one of the second"
    )


def matmul(a: Any, b: Any, /, out: Any = None) -> Any:
    """The matrix product ``a @ b``, by NumPy's rules for vectors and stacks.

    (..., m, k) and (..., k, n) give (..., m, n), where the other axes broadcast;
    ``out`` takes a copy of it. BadValue for shapes that do not fit, and for a 0-d
    operand.

    >>> a = gpuarray.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> print(gpuarray.matmul(a, a))
    [[ 7. 10.]
     [15. 22.]]
    >>> print(a @ gpuarray.asarray([1.0, 0.0]))
    [1. 3.]
    """
    made = _product(a, b)
    return made if out is None else into(out, made, "matmul")


def _product(a: Any, b: Any, operation: str = "matmul") -> Any:
    check_operands(operation, a, b)
    if a.ndim == 0 or b.ndim == 0:
        raise BadValue("matmul: a 0-d operand; use a * b")
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
    """The product of two arrays of one dtype that BLAS has."""
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
    status = function(a.struct, b.struct, out.struct, 0)
    check(status, f"product of {a.shape} and {b.shape}")
    return out


def _matrices(a: Any, b: Any) -> Any:
    out = _new(a, (a.shape[0], b.shape[1]))
    left, right, result = a.struct, b.struct, out.struct
    status = lib.GpuArray_rgemm(_NONE, _NONE, 1.0, left, right, 0.0, result, 0)
    if status:
        check(status, f"matmul of {a.shape} and {b.shape}")
    return out


def _gemv(matrix: Any, vector: Any, transposed: int) -> Any:
    out = _new(matrix, (matrix.shape[1 if transposed == _TRANS else 0],))
    status = lib.GpuArray_rgemv(
        transposed, 1.0, matrix.struct, vector.struct, 0.0, out.struct, 0
    )
    if status:
        check(status, f"product of {matrix.shape} and {vector.shape}")
    return out


def _stacks(a: Any, b: Any) -> Any:
    """The product of two arrays of at least two axes; those before are a batch."""
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
        operands = a.struct, b.struct, out.struct
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
    """A struct that borrows ``a``'s memory, with all axes but two as one, or None."""
    lengths, steps = list(a.shape), list(a.strides)
    while len(lengths) > 3:
        if lengths[0] != 1 and lengths[1] != 1 and steps[0] != lengths[1] * steps[1]:
            return None
        steps[0:2] = [steps[0] if lengths[1] == 1 else steps[1]]
        lengths[0:2] = [lengths[0] * lengths[1]]
    struct = ffi.new("GpuArray *", a.struct[0])
    struct.nd = 3
    struct.dimensions[0:3] = lengths
    struct.strides[0:3] = steps
    lib.GpuArray_fix_flags(struct)
    return struct


# ---- by a reduction ----


def contract(a: Any, b: Any, dtype: np.dtype[Any], conjugated: bool = False) -> Any:
    """The sum over the last axis of ``a * b``, or ``conj(a) * b``, which broadcast."""
    context = a.context
    conjugated = conjugated and a.dtype.kind == "c"
    key = "contract", a.typecode, b.typecode, conjugated
    reduction = context._kernels.get(key)
    if reduction is None:
        work = work_dtype(dtype)
        row = SCALARS["logical_or" if dtype.kind == "b" else "add"]
        left = "ga_conj(x)" if conjugated else "x"
        product = [(convert(n, x.dtype, work), work) for n, x in ((left, a), ("y", b))]
        text = scalar_expression(SCALARS["mul"], product).text
        inputs = [("x", a.dtype), ("y", b.dtype)]
        parts = [Part(row, text, work)]
        reduction = make_reduction(context, "matmul", inputs, parts, dtype)
        context._kernels[key] = reduction
    ndim = max(a.ndim, b.ndim)
    return apply_reduction(reduction, (a, b), 1 << (ndim - 1), False, "matmul")


def dot(a: Any, b: Any) -> Any:
    """The sum of products over the last axis of ``a`` and the last but one of ``b``.

    With a 0-d operand, the product; of vectors, their only axis.
    BadValue for shapes that do not fit.

    >>> print(gpuarray.dot(gpuarray.asarray([1, 2, 3]), gpuarray.asarray([4, 5, 6])))
    32
    """
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
    """The sum of the conjugates of ``a`` times ``b``, both as vectors.

    BadValue if they differ in size.

    >>> print(gpuarray.vdot(gpuarray.asarray([1j, 2]), gpuarray.asarray([1j, 1])))
    (3+0j)
    """
    check_operands("vdot", a, b)
    if a.size != b.size:
        raise BadValue(
            f"vdot: shapes {a.shape} and {b.shape} have {a.size} and {b.size} elements"
        )
    dtype = result_type(a.dtype, b.dtype)
    left = a.astype(dtype, copy=False).ravel()
    right = b.astype(dtype, copy=False).ravel()
    if left.typecode in _BLAS:
        return _dot(left, right, lib.GpuArray_rdotc)
    return contract(left, right, dtype)


# ---- BLAS's own ----


def _factor(value: Any) -> Any:
    number = complex(value)
    return ffi.new("double[2]", [number.real, number.imag])


def _transposition(trans: bool | str) -> int:
    """``True`` or "T" transposes, "C" also conjugates."""
    known = {False: _NONE, True: _TRANS, "N": _NONE, "T": _TRANS, "C": _CONJ}
    if trans not in known:
        raise BadValue(f"trans: got {trans!r}, expected a bool, 'N', 'T' or 'C'")
    return int(known[trans])


def _output(
    operation: str, out: Any, like: Any, shape: tuple[int, ...], beta: Any, over: bool
) -> Any:
    """``out`` or a copy of it; a new array where there is none and none is read."""
    if out is not None:
        return out if over else out.copy()
    if beta != 0:
        raise BadValue(f"{operation}: beta is {beta} and there is no array to add to")
    return like.allocate(shape, like.dtype, like.context, operation=operation)


def _ranks(operation: str, *pairs: tuple[Any, int]) -> None:
    for array, ndim in pairs:
        if array.ndim != ndim:
            raise BadType(
                f"{operation}: got an array of shape {array.shape}, expected {ndim} "
                f"{'axis' if ndim == 1 else 'axes'}"
            )


def gemv(
    alpha: Any,
    a: Any,
    x: Any,
    beta: Any = 0.0,
    y: Any = None,
    trans_a: bool | str = False,
    overwrite_y: bool = False,
) -> Any:
    """``alpha * op(a) @ x + beta * y``; into ``y`` itself with ``overwrite_y``.

    A matrix (m, n), transposed first if ``trans_a``, and vectors; else as ``gemm``.

    >>> print(gpuarray.gemv(2.0, gpuarray.eye(2), gpuarray.asarray([1.0, 2.0])))
    [2. 4.]
    """
    check_operands("gemv", a, x, *(() if y is None else (y,)))
    _ranks("gemv", (a, 2), (x, 1))
    how = _transposition(trans_a)
    length = a.shape[0 if how == _NONE else 1]
    out = _output("gemv", y, a, (length,), beta, overwrite_y)
    status = lib.GpuArray_cgemv(
        how, _factor(alpha), a.struct, x.struct, _factor(beta), out.struct, 0
    )
    check(status, "gemv")
    return out


def gemm(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = 0.0,
    c: Any = None,
    trans_a: bool | str = False,
    trans_b: bool | str = False,
    overwrite_c: bool = False,
) -> Any:
    """``alpha * op(a) @ op(b) + beta * c``; into ``c`` itself with ``overwrite_c``.

    Matrices (m, k) and (k, n), transposed first where ``trans_a``, ``trans_b`` say so
    (True, or BLAS's 'N', 'T', 'C'), of one floating or complex dtype. BadType for
    another rank, BadValue for shapes that do not fit, or a ``beta`` with no ``c``.

    >>> a, b = gpuarray.asarray([[1.0, 2.0]]), gpuarray.asarray([[3.0], [4.0]])
    >>> print(gpuarray.gemm(2.0, a, b))
    [[22.]]
    >>> c = gpuarray.ones((1, 1))
    >>> print(gpuarray.gemm(1.0, a, a, 10.0, c, trans_b=True))
    [[15.]]
    """
    check_operands("gemm", a, b, *(() if c is None else (c,)))
    _ranks("gemm", (a, 2), (b, 2))
    return _gemm(
        "gemm",
        alpha,
        a,
        b,
        beta,
        c,
        (trans_a, trans_b),
        overwrite_c,
        lib.GpuArray_cgemm,
    )


def gemmBatch_3d(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = 0.0,
    c: Any = None,
    trans_a: bool | str = False,
    trans_b: bool | str = False,
    overwrite_c: bool = False,
) -> Any:
    """``gemm`` of the matrices of two stacks; a stack of one serves for all.

    Arrays (batch, m, k) and (batch, k, n); else as ``gemm``.

    >>> a = gpuarray.ones((2, 1, 3))
    >>> print(gpuarray.gemmBatch_3d(1.0, a, a, trans_b=True).tolist())
    [[[3.0]], [[3.0]]]
    """
    check_operands("gemmBatch_3d", a, b, *(() if c is None else (c,)))
    _ranks("gemmBatch_3d", (a, 3), (b, 3))
    how = (trans_a, trans_b)
    function = lib.GpuArray_cgemmBatch_3d
    return _gemm("gemmBatch_3d", alpha, a, b, beta, c, how, overwrite_c, function)


def _gemm(
    operation: str,
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any,
    c: Any,
    how: tuple[bool | str, bool | str],
    overwrite: bool,
    function: Any,
) -> Any:
    ta, tb = _transposition(how[0]), _transposition(how[1])
    rows = a.shape[-2 if ta == _NONE else -1]
    columns = b.shape[-1 if tb == _NONE else -2]
    batch = (max(a.shape[0], b.shape[0]),) if a.ndim == 3 else ()
    out = _output(operation, c, a, (*batch, rows, columns), beta, overwrite)
    operands = _factor(alpha), a.struct, b.struct, _factor(beta), out.struct
    check(function(ta, tb, *operands, 0), operation)
    return out


def ger(
    alpha: Any,
    x: Any,
    y: Any,
    a: Any = None,
    overwrite_a: bool = False,
    conjugate: bool = False,
) -> Any:
    """``alpha * outer(x, y) + a``, with the conjugates of ``y`` if ``conjugate``.

    Vectors (m,) and (n,) give a matrix (m, n); into ``a`` itself with ``overwrite_a``.

    >>> x, y = gpuarray.asarray([1.0, 2.0]), gpuarray.asarray([3.0, 4.0])
    >>> print(gpuarray.ger(1.0, x, y))
    [[3. 4.]
     [6. 8.]]
    """
    check_operands("ger", x, y, *(() if a is None else (a,)))
    _ranks("ger", (x, 1), (y, 1))
    if a is None:
        out = x.allocate((x.size, y.size), x.dtype, x.context, operation="ger")
        check(lib.GpuArray_memset(out.struct, 0), "ger")
    else:
        out = a if overwrite_a else a.copy()
    function = lib.GpuArray_cgerc if conjugate else lib.GpuArray_cgeru
    check(function(_factor(alpha), x.struct, y.struct, out.struct, 0), "ger")
    return out


def gemm_bias(
    a: Any,
    b: Any,
    bias: Any,
    relu: bool = False,
    trans_a: bool | str = False,
    trans_b: bool | str = False,
) -> Any:
    """``op(a) @ op(b) + bias``, where that is negative 0 if ``relu``.

    In one pass; ``bias`` (n,) is added to each row of the product (m, n).

    >>> a, b = gpuarray.asarray([[1.0, -2.0]]), gpuarray.eye(2)
    >>> print(gpuarray.gemm_bias(a, b, gpuarray.asarray([10.0, 1.0]), relu=True))
    [[11.  0.]]
    """
    check_operands("gemm_bias", a, b, bias)
    _ranks("gemm_bias", (a, 2), (b, 2), (bias, 1))
    ta, tb = _transposition(trans_a), _transposition(trans_b)
    shape = a.shape[0 if ta == _NONE else 1], b.shape[1 if tb == _NONE else 0]
    out = a.allocate(shape, a.dtype, a.context, operation="gemm_bias")
    activation = lib.GA_ACTIVATION_RELU if relu else lib.GA_ACTIVATION_NONE
    operands = a.struct, b.struct, bias.struct, activation, out.struct
    check(lib.GpuArray_gemm_bias(ta, tb, *operands, 0), "gemm_bias")
    return out


def allow_tf32(on: bool, context: Context | str | None = None) -> None:
    """Whether products of float32 on a context may round their factors to tf32.

    Tensor cores are then several times as fast, with 10 bits of mantissa instead of 23.
    Off at first; a plan keeps what held when it was bound.

    >>> gpuarray.allow_tf32(True)
    >>> gpuarray.allow_tf32(False)
    """
    check(lib.gpucontext_set_tf32(find_context(context).pointer, on), "allow_tf32")
