"""BLAS's routines, with their factors and accumulators.

Products by NumPy's rules are in ``products``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from gpuarray._core.arguments import as_flag
from gpuarray._core.base import BaseArray
from gpuarray._core.context import Context
from gpuarray._core.opening import context as find_context
from gpuarray._native import check, ffi, lib
from gpuarray.errors import BadType, BadValue

_NONE, _TRANS, _CONJ = lib.cb_no_trans, lib.cb_trans, lib.cb_conj_trans


def check_operands(operation: str, *operands: Any) -> None:
    """Raise BadType or BadValue unless all are arrays of one context."""
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


def _factor(value: Any, name: str, operation: str) -> Any:
    if not isinstance(value, str):
        with suppress(TypeError, ValueError):
            number = complex(value)
            return ffi.new("double[2]", [number.real, number.imag])
    raise BadType(f"{operation}: {name} is {value!r:.60}, expected a number")


def _transposition(trans: bool | str) -> int:
    """``True`` or "T" transposes, "C" also conjugates."""
    known = {False: _NONE, True: _TRANS, "N": _NONE, "T": _TRANS, "C": _CONJ}
    if not isinstance(trans, str | int) or trans not in known:
        raise BadValue(f"trans: got {trans!r}, expected a bool, 'N', 'T' or 'C'")
    return int(known[trans])


def _output(
    operation: str, out: Any, like: Any, shape: tuple[int, ...], beta: Any, over: bool
) -> Any:
    """Return ``out`` or a copy of it; a new array without ``out`` and ``beta``."""
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


def dot(X: Any, Y: Any, Z: Any = None, overwrite_z: bool = False) -> Any:
    """Return the dot product of two vectors; in ``Z`` itself with ``overwrite_z``.

    Raises BadType unless they have one floating or complex dtype, BadValue if they
    differ in length. ``gpuarray.dot`` is NumPy's.

    >>> from gpuarray import blas
    >>> print(blas.dot(gpuarray.asarray([1.0, 2.0]), gpuarray.asarray([3.0, 4.0])))
    11.0
    """
    check_operands("dot", X, Y, *(() if Z is None else (Z,)))
    _ranks("dot", (X, 1), (Y, 1), *(() if Z is None else ((Z, 0),)))
    out = _output("dot", Z, X, (), 0, overwrite_z)
    check(lib.GpuArray_rdot(X._struct, Y._struct, out._struct, 0), "dot")
    return out


def gemv(
    alpha: Any,
    A: Any,
    X: Any,
    beta: Any = 0.0,
    Y: Any = None,
    trans_a: bool | str = False,
    overwrite_y: bool = False,
) -> Any:
    """``alpha * op(A) @ X + beta * Y``; into ``Y`` itself with ``overwrite_y``.

    A matrix (m, n), transposed first if ``trans_a``, and vectors; else as ``gemm``.

    >>> print(gpuarray.gemv(2.0, gpuarray.eye(2), gpuarray.asarray([1.0, 2.0])))
    [2. 4.]
    """
    check_operands("gemv", A, X, *(() if Y is None else (Y,)))
    _ranks("gemv", (A, 2), (X, 1))
    how = _transposition(trans_a)
    length = A.shape[0 if how == _NONE else 1]
    factors = _factor(alpha, "alpha", "gemv"), _factor(beta, "beta", "gemv")
    out = _output("gemv", Y, A, (length,), beta, overwrite_y)
    status = lib.GpuArray_cgemv(
        how, factors[0], A._struct, X._struct, factors[1], out._struct, 0
    )
    check(status, "gemv")
    return out


def gemm(
    alpha: Any,
    A: Any,
    B: Any,
    beta: Any = 0.0,
    C: Any = None,
    trans_a: bool | str = False,
    trans_b: bool | str = False,
    overwrite_c: bool = False,
) -> Any:
    """``alpha * op(A) @ op(B) + beta * C``; into ``C`` itself with ``overwrite_c``.

    Matrices (m, k) and (k, n), transposed first where ``trans_a``, ``trans_b`` say so
    (True, or BLAS's 'N', 'T', 'C'), of one floating or complex dtype. Raises BadType
    for another rank, BadValue for shapes that do not fit, or a ``beta`` with no ``C``.

    >>> a, b = gpuarray.asarray([[1.0, 2.0]]), gpuarray.asarray([[3.0], [4.0]])
    >>> print(gpuarray.gemm(2.0, a, b))
    [[22.]]
    >>> c = gpuarray.ones((1, 1))
    >>> print(gpuarray.gemm(1.0, a, a, 10.0, c, trans_b=True))
    [[15.]]
    """
    check_operands("gemm", A, B, *(() if C is None else (C,)))
    _ranks("gemm", (A, 2), (B, 2))
    return _gemm(
        "gemm",
        alpha,
        A,
        B,
        beta,
        C,
        (trans_a, trans_b),
        overwrite_c,
        lib.GpuArray_cgemm,
    )


def gemmBatch_3d(
    alpha: Any,
    A: Any,
    B: Any,
    beta: Any = 0.0,
    C: Any = None,
    trans_a: bool | str = False,
    trans_b: bool | str = False,
    overwrite_c: bool = False,
) -> Any:
    """``gemm`` of the matrices of two stacks; a stack of one broadcasts.

    Arrays (batch, m, k) and (batch, k, n); else as ``gemm``.

    >>> a = gpuarray.ones((2, 1, 3))
    >>> print(gpuarray.gemmBatch_3d(1.0, a, a, trans_b=True).tolist())
    [[[3.0]], [[3.0]]]
    """
    check_operands("gemmBatch_3d", A, B, *(() if C is None else (C,)))
    _ranks("gemmBatch_3d", (A, 3), (B, 3))
    how = (trans_a, trans_b)
    function = lib.GpuArray_cgemmBatch_3d
    return _gemm("gemmBatch_3d", alpha, A, B, beta, C, how, overwrite_c, function)


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
    factors = _factor(alpha, "alpha", operation), _factor(beta, "beta", operation)
    out = _output(operation, c, a, (*batch, rows, columns), beta, overwrite)
    operands = factors[0], a._struct, b._struct, factors[1], out._struct
    check(function(ta, tb, *operands, 0), operation)
    return out


def ger(
    alpha: Any,
    X: Any,
    Y: Any,
    A: Any = None,
    overwrite_a: bool = False,
    conjugate: bool = False,
) -> Any:
    """``alpha * outer(X, Y) + A``, with the conjugates of ``Y`` if ``conjugate``.

    Vectors (m,) and (n,) give a matrix (m, n); into ``A`` itself with ``overwrite_a``.

    >>> x, y = gpuarray.asarray([1.0, 2.0]), gpuarray.asarray([3.0, 4.0])
    >>> print(gpuarray.ger(1.0, x, y))
    [[3. 4.]
     [6. 8.]]
    """
    check_operands("ger", X, Y, *(() if A is None else (A,)))
    _ranks("ger", (X, 1), (Y, 1))
    factor = _factor(alpha, "alpha", "ger")
    if A is None:
        out = X.allocate((X.size, Y.size), X.dtype, X.context, operation="ger")
        check(lib.GpuArray_memset(out._struct, 0), "ger")
    else:
        out = A if overwrite_a else A.copy()
    function = lib.GpuArray_cgerc if conjugate else lib.GpuArray_cgeru
    check(function(factor, X._struct, Y._struct, out._struct, 0), "ger")
    return out


def gemm_bias(
    a: Any,
    b: Any,
    bias: Any,
    relu: bool = False,
    trans_a: bool | str = False,
    trans_b: bool | str = False,
) -> Any:
    """``op(a) @ op(b) + bias``, and its ReLU if ``relu``.

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
    operands = a._struct, b._struct, bias._struct, activation, out._struct
    check(lib.GpuArray_gemm_bias(ta, tb, *operands, 0), "gemm_bias")
    return out


def allow_tf32(on: bool, context: Context | str | None = None) -> None:
    """Allow float32 products and convolutions to round their factors to TF32.

    Tensor cores are then several times as fast, with 10 bits of mantissa instead of 23.
    Off by default; a plan keeps the setting of when it was bound.

    >>> gpuarray.allow_tf32(True)
    >>> gpuarray.allow_tf32(False)
    """
    place, allowed = find_context(context), as_flag(on, "on", "allow_tf32")
    check(lib.gpucontext_set_tf32(place.pointer, allowed), "allow_tf32")
