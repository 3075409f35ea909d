"""Sums, products, quotients, comparisons and extremes, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuarray._creation.filled import zeros
from gpuarray._native import ARRAY, check, ffi, lib
from gpuarray._sparse.base import (
    check_context,
    check_shapes,
    dense_beside,
    is_dense,
    is_number,
    is_sparse,
    make,
    not_an_operand,
    require,
    struct,
    would_be_dense,
)
from gpuarray._sparse.conversion import (
    asformat,
    canonical,
    of_pair,
    without_zeros,
)
from gpuarray._sparse.pattern import Pattern
from gpuarray._ufunc.elementwise import FUNCTIONS
from gpuarray.array import Array
from gpuarray.dtypes import dtype_to_typecode, result_type
from gpuarray.errors import BadType, BadValue, Unsupported

Function = Callable[..., Any]
_COMBINED = {
    "maximum": lib.GA_SPARSE_MAXIMUM,
    "minimum": lib.GA_SPARSE_MINIMUM,
    "not_equal": lib.GA_SPARSE_NOT_EQUAL,
    "less": lib.GA_SPARSE_LESS,
    "greater": lib.GA_SPARSE_GREATER,
}


# ---- two sparse arrays at the same places ----


def _beside(a: Any, b: Any, operation: str) -> tuple[Any, Any]:
    """Return both canonical, the second in the format of the first."""
    check_shapes(a, b, operation)
    first = canonical(a)
    if b is a:
        return first, first
    return first, canonical(asformat(b, a.format))


def _joined(a: Any, b: Any) -> tuple[Pattern, Array, Array]:
    """Return the pattern of the places of either, and the values of both on it.

    Each is added to zeros at the places of the other.
    """
    if a._pattern is b._pattern:
        return a._pattern, a._values, b._values
    spread = []
    for own, other in ((a, b), (b, a)):
        nothing = zeros(other.nnz, own.dtype, own.context)
        pair = own, make(nothing, other._pattern, other.shape)
        factors = ffi.NULL, ffi.NULL
        spread.append(_by_library(lib.GpuSparse_add, *pair, "add", *factors))
    return spread[0]._pattern, spread[0]._values, spread[1]._values


def _by_library(call: Any, a: Any, b: Any, operation: str, *factors: Any) -> Any:
    """Return what a function of the library makes of two canonical arrays."""
    pair = [make(x._values, x._pattern) for x in (a, b)]  # vectors are rows
    dtype = result_type(a.dtype, b.dtype)
    found = of_pair(call, *pair, dtype, operation, *factors)
    return make(found._values, found._pattern, a.shape)


def _by_places(function: Function, a: Any, b: Any, operation: str) -> Any:
    """Return a function that is 0 of two zeros; stored zeros are left out."""
    a, b = _beside(a, b, operation)
    is_merged = a._pattern is not b._pattern and a.dtype == b.dtype
    if is_merged and operation in _COMBINED and a.dtype.kind != "c":
        code = _COMBINED[operation]
        return without_zeros(_by_library(lib.GpuSparse_combine, a, b, operation, code))
    pattern, first, second = _joined(a, b)
    return without_zeros(make(function(first, second), pattern, a.shape))


# ---- sums ----


def add(a: Any, b: Any) -> Any:
    """Return ``a + b``: of two sparse arrays sparse, with a dense one dense."""
    return _sum(FUNCTIONS["add"], a, b, "add")


def subtract(a: Any, b: Any) -> Any:
    """Return ``a - b``."""
    return _sum(FUNCTIONS["subtract"], a, b, "subtract")


def rsubtract(a: Any, b: Any) -> Any:
    """Return ``b - a``, with ``b`` a number or a dense array."""
    if is_number(b) and not b:
        return -a
    return _sum(lambda x, y: FUNCTIONS["subtract"](y, x), a, b, "subtract")


def _sum(function: Function, a: Any, b: Any, operation: str) -> Any:
    if is_sparse(b):
        return _sparse_sum(function, a, b, operation)
    if is_number(b):
        if not b:
            return a.copy()
        raise would_be_dense(
            operation, "use A.toarray() + x, or A.data += x for the stored values"
        )
    if is_dense(b):
        return function(a.toarray(), dense_beside(a, b, operation))
    return not_an_operand(b, operation)


def _sparse_sum(function: Function, a: Any, b: Any, operation: str) -> Any:
    """Return ``a + b`` or ``a - b``; zeros are left out, as scipy does."""
    a, b = _beside(a, b, operation)
    is_bool = result_type(a.dtype, b.dtype).kind == "b"
    if is_bool and operation == "subtract":
        function = FUNCTIONS["not_equal"]  # dense arrays refuse, scipy does not
    if a._pattern is b._pattern or is_bool:
        return _by_places(function, a, b, operation)
    factor = ffi.new("double[2]", (1 if operation == "add" else -1, 0))
    call = lib.GpuSparse_add
    return without_zeros(_by_library(call, a, b, operation, ffi.NULL, factor))


# ---- products and quotients ----


def multiply(a: Any, other: Any) -> Any:
    """Return the product element by element, sparse; ``*`` of sparse arrays.

    ``other`` is a number, or a sparse or dense array, which may be a row or a column
    that is repeated. What a dense one has where nothing is stored counts for nothing,
    not even nan.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> print(A.multiply(gpuarray.asarray([10, 20])).toarray())
    [[ 0 20]
     [20  0]]
    """
    product = times(a, other)
    if product is NotImplemented:
        raise BadType(f"multiply: got {type(other).__name__}, expected an array")
    return product


def times(a: Any, b: Any) -> Any:
    """``multiply``, but NotImplemented for other objects than arrays and numbers."""
    function = FUNCTIONS["multiply"]
    if is_number(b):
        return a._with_values(a._values * b)
    if is_dense(b):
        return _at_places(function, a, b, "multiply")
    if not is_sparse(b):
        return not_an_operand(b, "multiply")
    if a.shape == b.shape:
        a, b = _beside(a, b, "multiply")
        if a._pattern is b._pattern:
            return a._with_values(function(a._values, b._values))
        return _by_library(lib.GpuSparse_multiply, a, b, "multiply")
    check_context(a, b, "multiply")
    for column, row in ((a, b), (b, a)):  # both are repeated
        if column.ndim == row.ndim == 2 and column.shape[1] == row.shape[0] == 1:
            return asformat(column @ row, a.format)
    if b.ndim == 2 and 1 in b.shape:
        return without_zeros(_at_places(function, a, b.toarray(), "multiply"))
    if a.ndim == 2 and 1 in a.shape:
        return times(asformat(b, a.format), a)
    raise BadValue(
        f"multiply: shapes {a.shape} and {b.shape}, expected the same, or a row or a "
        "column"
    )


def scale(a: Any, number: Any) -> Any:
    """Multiply the array itself by a number; NotImplemented of anything else."""
    if not is_number(number):
        return NotImplemented
    a._values *= number
    return a


def shrink(a: Any, number: Any) -> Any:
    """Divide the array itself by a number; NotImplemented of anything else."""
    if not is_number(number):
        return NotImplemented
    a._values /= number
    return a


def divide(a: Any, b: Any) -> Any:
    """Return ``a / b``: sparse, but of two sparse arrays dense, as scipy's.

    What a dense divisor has where ``a`` stores nothing counts for nothing.
    """
    function = FUNCTIONS["true_divide"]
    if is_number(b):
        return a._with_values(a._values / b)
    if is_dense(b):
        return _at_places(function, a, b, "divide")
    if is_sparse(b):
        check_shapes(a, b, "divide")
        return a.toarray() / b.toarray()
    return not_an_operand(b, "divide")


def rdivide(a: Any, b: Any) -> Any:
    """Raise Unsupported: a quotient by a sparse array is dense."""
    raise would_be_dense("divide", "use x / A.toarray()")


def _at_places(function: Function, a: Any, b: Any, operation: str) -> Any:
    """Return a function of the values and of what a dense array has at their places."""
    dense = dense_beside(a, b, operation)
    a = canonical(a)
    try:
        lengths = np.broadcast_shapes(a.shape, dense.shape)
    except ValueError:
        lengths = ()
    if lengths != a.shape:
        raise Unsupported(
            f"{operation}: a dense operand of shape {dense.shape} is not repeated to "
            f"{a.shape}, the shape of the sparse one; use A.toarray()"
        )
    place = ffi.new(ARRAY)
    check(lib.GpuSparse_sample(place, struct(a), dense.struct), operation)
    typecode = dtype_to_typecode(dense.dtype)
    values = Array.wrap(place, a.context, dense.dtype, typecode)
    return a._with_values(function(a._values, values))


# ---- powers ----


def power(a: Any, n: Any, dtype: Any = None) -> Any:
    """Return the values raised to a positive power ``n``.

    Powers that are not positive would have no zeros: Unsupported.

    >>> A = gpuarray.sparse.csr_array([[0, 1], [2, 0]])
    >>> A.power(2).data.tolist()
    [1, 4]
    """
    require(a, "power")
    if not is_number(n):
        raise BadType(f"power: got {type(n).__name__}, expected a number")
    if isinstance(n, complex) or not n > 0:
        raise would_be_dense("power", f"use A.toarray() ** {n}")
    a = canonical(a)
    values = a._values if dtype is None else a._values.astype(dtype)
    return a._with_values(values**n)


# ---- comparisons ----


def compared(name: str) -> Callable[[Any, Any], Any]:
    """Return an operator that compares with a number or an array."""
    function = FUNCTIONS[name]

    def compare(a: Any, b: Any) -> Any:
        if is_dense(b):
            return function(a.toarray(), dense_beside(a, b, name))
        if is_number(b):
            if isinstance(b, Array):
                b = b.item()
            if function_of_zeros(name, b):
                raise would_be_dense(name, _opposite(name))
            a = canonical(a)
            return without_zeros(a._with_values(function(a._values, b)))
        if not is_sparse(b):
            return not_an_operand(b, name)
        if name in ("equal", "less_equal", "greater_equal"):
            raise would_be_dense(name, _opposite(name))
        return _by_places(function, a, b, name)

    compare.__name__ = name
    compare.__doc__ = f"``{name}`` of each pair of elements: sparse, of bool."
    return compare


def function_of_zeros(name: str, number: Any) -> bool:
    """Return True if a comparison of 0 with a number is true."""
    return bool(getattr(np, name)(0, number))


def _opposite(name: str) -> str:
    others = {
        "equal": "!=",
        "not_equal": "==",
        "less": ">=",
        "less_equal": ">",
        "greater": "<=",
        "greater_equal": "<",
    }
    return f"compare by {others[name]}, the opposite, or A.toarray()"


def maximum(a: Any, other: Any) -> Any:
    """Return the larger of each pair of elements, sparse.

    ``other`` is a sparse array or a number that is not positive; with a dense array the
    result is dense.

    >>> A = gpuarray.sparse.csr_array([[0, -1], [2, 0]])
    >>> print(A.maximum(0).toarray())
    [[0 0]
     [2 0]]
    """
    return _extreme("maximum", a, other)


def minimum(a: Any, other: Any) -> Any:
    """Return the smaller of each pair of elements, sparse.

    ``other`` is a sparse array or a number that is not negative; with a dense array the
    result is dense.

    >>> A = gpuarray.sparse.csr_array([[0, -1], [2, 0]])
    >>> print(A.minimum(1).toarray())
    [[ 0 -1]
     [ 1  0]]
    """
    return _extreme("minimum", a, other)


def _extreme(name: str, a: Any, other: Any) -> Any:
    function = FUNCTIONS[name]
    require(a, name)
    if is_sparse(other):
        return _by_places(function, a, other, name)
    if is_dense(other):
        return function(a.toarray(), dense_beside(a, other, name))
    if not is_number(other):
        raise BadType(f"{name}: got {type(other).__name__}, expected an array")
    if getattr(np, name)(0, other) != 0:
        raise would_be_dense(name, f"use gpuarray.{name}(A.toarray(), x)")
    a = canonical(a)
    return without_zeros(a._with_values(function(a._values, other)))
