"""Identities and inverses, from the scalar table.

An identity is dropped, and a function with its inverse, where that holds for every
number of the dtype, with signs of 0, infinities and nans. Inverses are those of exact
numbers: NumPy's `log(exp(1000))` is inf, and its `tan(arctan(inf))` a tangent beside
the pole, of either sign.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.linalg.linalg import Dot
from gpuarray.compiler.ops.linalg.products import BatchedDot
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    constant_of,
    is_constant,
)
from gpuarray.compiler.rewrites.engine.rows import name_of, row_of
from gpuarray.dtypes import as_dtype, kind_of, parts_dtype
from gpuarray.scalars import SCALARS

_WITH_IDENTITY = tuple(
    name for name, row in SCALARS.items() if row.identity is not None
)
_UNDONE = tuple(row.undone_by for row in SCALARS.values() if row.undone_by is not None)
_LINE = (0.0, -0.0, 1.0, -0.7, math.inf, -math.inf, math.nan)


@rewrite(phase="canonicalize", ops=_WITH_IDENTITY)
def drop_identity(node: Apply) -> Variable | None:
    """Drop an operation with its identity element, as the table has it.

    x * 1 -> x
    1 * x -> x
    i + 0 -> i
    x + -0.0 -> x
    x + 0 -> x + 0   # which makes 0 of -0
    0 + dot(A, B) -> dot(A, B)   # which has no -0, as in Python's sum of products
    maximum(x, -inf) -> x
    """
    identity = SCALARS[name_of(node)].identity
    assert identity is not None
    left, right = node.inputs
    if is_constant(right, identity):
        return kept(node, left, right)
    return kept(node, right, left) if is_constant(left, identity) else None


@rewrite(phase="canonicalize", ops=["sub", "true_div", "power", "floor_divide"])
def drop_right_identity(node: Apply) -> Variable | None:
    """Drop subtracting zero, dividing by one, and the first power.

    x - 0 -> x
    x - -0.0 -> x - -0.0
    x / 1 -> x
    x ** 1 -> x
    i // 1 -> i
    x // 1 -> x // 1
    """
    left, right = node.inputs
    nothing = 0 if name_of(node) == "sub" else 1
    return kept(node, left, right) if is_constant(right, nothing) else None


def kept(node: Apply, operand: Variable, constant: Variable) -> Variable | None:
    """Return the operand, if the operation with that constant keeps every number."""
    out = node.outputs[0].type
    if operand.type != out:
        return None
    value = np.asarray(constant_of(constant)).astype(as_dtype(out.dtype))
    question = name_of(node), out.dtype, value.tobytes(), is_sum_of_products(operand)
    return operand if keeps_all(*question) else None


def is_sum_of_products(variable: Variable) -> bool:
    """True for a matrix product, whose elements are never -0."""
    owner = variable.owner
    return owner is not None and isinstance(owner.op, (Dot, BatchedDot))


@cache
def keeps_all(name: str, dtype: str, constant: bytes, has_no_minus: bool) -> bool:
    """True if NumPy's operation keeps all numbers with a constant at its right.

    It tests those that an identity may change: zeros of both signs (without -0 if
    ``has_no_minus``), the ends of the range, infinities, nan.
    """
    numbers = telling(dtype)
    if has_no_minus and kind_of(numbers.dtype) == "f":
        numbers = numbers[~((numbers == 0) & np.signbit(numbers))]
    (value,) = np.frombuffer(constant, numbers.dtype)
    with np.errstate(all="ignore"):
        results = np.asarray(SCALARS[name].reference(numbers, value))
    return results.dtype == numbers.dtype and are_alike(results, numbers)


def telling(dtype: str) -> np.ndarray[Any, Any]:
    """Return the numbers of a dtype that an identity may change."""
    kind = as_dtype(dtype)
    if kind_of(kind) == "b":
        return np.array([False, True])
    if kind_of(kind) in "iu":
        limits = np.iinfo(kind)
        return np.array([0, 1, limits.min, limits.max], kind)
    if kind_of(kind) == "f":
        return np.array(_LINE).astype(kind)
    return np.array([complex(*parts) for parts in product(_LINE, _LINE)], kind)


def are_alike(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """True if two arrays of a dtype hold the same numbers, nans and signs of zeros."""
    a, b = (array.view(parts_dtype(array.dtype)) for array in (a, b))
    both_nan = (a != a) & (b != b)
    return bool(np.all(both_nan | ((a == b) & (np.signbit(a) == np.signbit(b)))))


@rewrite(phase="canonicalize", ops=["neg", "invert", "logical_not"])
def drop_double_negation(node: Apply) -> Variable | None:
    """Drop an exact involution applied twice.

    -(-x) -> x
    ~(~i) -> i
    """
    return argument(node.inputs[0], name_of(node))


@rewrite(phase="stabilize", ops=_UNDONE)
def drop_inverse_pair(node: Apply) -> Variable | None:
    """Drop a function and its inverse, where the table has it for every number.

    log(exp(x)) -> x
    arcsinh(sinh(x)) -> x
    arccosh(cosh(x)) -> arccosh(cosh(x))   # |x|, so the table does not say so
    """
    (inner,) = node.inputs
    row, dtype = SCALARS.get(row_of(inner) or ""), node.outputs[0].type.dtype
    if row is None or row.undone_by != name_of(node):
        return None
    is_everywhere = (
        row.undone_complex
        if kind_of(as_dtype(dtype)) == "c"
        else row.domain == (-math.inf, math.inf)
    )
    return argument(inner, row.name) if is_everywhere else None
