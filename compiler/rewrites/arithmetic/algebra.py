"""Algebraic rules: signs, equal operands, constants and powers.

They keep values and the sign of a 0, up to the rounding of a power and, in phase
``stabilize``, up to the overflow of two factors.
"""

from __future__ import annotations

from functools import reduce as fold
from typing import Any

import numpy as np
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.rewrites.arithmetic.identities import are_alike
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    call,
    cast,
    constant_of,
    is_constant,
    is_float,
    keeps_digits,
    match,
    negated,
    number,
    same,
    split_constant,
    turned,
)
from gpuarray.compiler.rewrites.engine.rows import name_of
from gpuarray.scalars import SCALARS

_LARGEST_POWER = 512


def without_signed_zeros() -> list[str]:
    """Return the unary rows that give the same for 0 and -0."""
    zeros = np.array([0.0, -0.0])
    names = []
    for name, row in SCALARS.items():
        if row.arity > 1:
            continue
        with np.errstate(all="ignore"):
            try:
                values = row.reference(zeros)
            except TypeError:
                continue  # a function of integers
        if are_alike(values[:1], values[1:]):
            names.append(name)
    return names


@rewrite(phase="simplify", ops=["mul", "true_div"], kinds="f")
def pull_sign_out_of_product(node: Apply) -> Variable | None:
    """Move signs in front of products, where sums and even functions use them.

    (-x) * y -> -(x * y)
    x * (-y) -> -(x * y)
    (-x) / y -> -(x / y)
    x / (-y) -> -(x / y)
    x * -1 -> -x
    x / -1 -> -x
    """
    name, out = name_of(node), node.outputs[0]
    left, right = node.inputs
    if is_constant(right, -1) and left.type == out.type:
        return negated(left)
    if name == "mul" and is_constant(left, -1) and right.type == out.type:
        return negated(right)
    for place, factor in enumerate(node.inputs):
        inner = argument(factor, "neg")
        if inner is not None and inner.type.dtype == out.type.dtype:
            factors = [*node.inputs]
            factors[place] = inner
            return call("neg", call(name, *factors))
    return None


@rewrite(phase="canonicalize", ops=["add", "sub"], kinds="iu")
def merge_integer_terms(node: Apply) -> Variable | None:
    """Merge constants that are added to an integer: it wraps, so their order is free.

    (i + 2) + 3 -> i + 5
    (i - 2) + 2 -> i + 0
    4 + (1 + i) -> i + 5
    (i + 2) - 5 -> i - 3
    (2 - i) + 3 -> (2 - i) + 3
    """
    outer = _term_of(node.outputs[0])
    inner = None if outer is None else _term_of(outer[0])
    if outer is None or inner is None or inner[0].type != node.outputs[0].type:
        return None
    x, total = inner[0], outer[1] + inner[1]
    limits = np.iinfo(x.type.dtype)
    if not limits.min < total <= limits.max:
        return None
    sign = "sub" if total < 0 else "add"
    return call(sign, x, number(abs(total), x))


def _term_of(x: Variable) -> tuple[Variable, int] | None:
    """Return what a constant integer is added to, and the integer."""
    for name, sign in (("add", 1), ("sub", -1)):
        terms = match(x, name)
        if terms is None:
            continue
        parts = split_constant(terms)
        if parts is None or (sign < 0 and parts[1] is not terms[0]):
            return None
        return parts[1], sign * int(parts[0])
    return None


@rewrite(phase="simplify", ops=["add", "sub"], kinds="f")
def merge_sign_into_sum(node: Apply) -> Variable | None:
    """Write a sum of a negative as a difference.

    x + (-y) -> x - y
    (-x) + y -> y - x
    x - (-y) -> x + y
    (-x) - y -> (-x) - y   # of 1 and -1 it is 0, and -(1 - 1) is -0
    """
    left, right = node.inputs
    a, b = argument(left, "neg"), argument(right, "neg")
    if left.type.dtype != right.type.dtype:
        return None
    if name_of(node) == "sub":
        return None if b is None else call("add", left, b)
    if b is not None:
        return call("sub", left, b)
    return None if a is None else call("sub", right, a)


@rewrite(phase="simplify", ops=without_signed_zeros(), kinds="f")
def turn_difference(node: Apply) -> Variable | None:
    """Turn a difference round where the sign of a 0 does not matter.

    exp(-(x - y)) -> exp(y - x)
    sigmoid((-x) - y) -> sigmoid(-(x + y))
    """
    (inner,) = node.inputs
    if inner.type.dtype != node.outputs[0].type.dtype:
        return None
    negative, difference = argument(inner, "neg"), match(inner, "sub")
    if negative is not None and match(negative, "sub") is not None:
        return call(name_of(node), turned(negative))
    if difference is None:
        return None
    left = argument(difference[0], "neg")
    if left is None or left.type.dtype != inner.type.dtype:
        return None  # a narrower one wraps or rounds in its own dtype
    total = call("add", left, difference[1])
    return call(name_of(node), call("neg", total))


@rewrite(phase="simplify", ops=["neg"], kinds="f")
def merge_sign_into_operand(node: Apply) -> Variable | None:
    """Merge a sign into a constant factor.

    -(x * 2) -> x * -2
    -(x / 2) -> x / -2
    -(x - y) -> -(x - y)   # of two equal numbers it is -0, and y - x is 0
    """
    (inner,) = node.inputs
    for name in ("mul", "true_div"):
        args = match(inner, name)
        if args is None:
            continue
        left, right = args
        if has_negative(constant_of(right)):
            return call(name, left, negated(right))
        if has_negative(constant_of(left)):
            return call(name, negated(left), right)
    return None


def has_negative(value: Any) -> bool:
    """True if a number has a negative in its dtype: an integer 0 has none."""
    kind: str = "b" if value is None else value.dtype.kind
    if kind == "i":
        return value not in (0, np.iinfo(value.dtype).min)
    return kind not in "bu"


@rewrite(phase="simplify", ops=["abs", "square"], kinds="f")
def drop_sign_under_even(node: Apply) -> Variable | None:
    """Drop the sign of an even function's operand.

    abs(-x) -> abs(x)
    square(-x) -> square(x)
    square(abs(x)) -> square(x)
    abs(abs(x)) -> abs(x)
    """
    (inner,) = node.inputs
    operand = argument(inner, "neg")
    operand = argument(inner, "abs") if operand is None else operand
    return None if operand is None else call(name_of(node), operand)


@rewrite(
    phase="simplify", ops=["maximum", "minimum", "logical_and", "logical_or", "where"]
)
def drop_equal_choice(node: Apply) -> Variable | None:
    """Drop a choice between a value and itself.

    maximum(x, x) -> x
    minimum(x, x) -> x
    where(x > y, z, z) -> z
    """
    left, right = node.inputs[-2:]
    return left if left.type == node.outputs[0].type and same(left, right) else None


@rewrite(phase="simplify", ops=["where"])
def choose_by_constant(node: Apply) -> Variable | None:
    """Make a choice by a constant now.

    where(True, x, y) -> x
    where(False, x, y) -> y
    """
    value = constant_of(node.inputs[0])
    if value is None:
        return None
    branch = node.inputs[1 if value else 2]
    return branch if branch.type == node.outputs[0].type else None


@rewrite(phase="simplify", ops=["where_nonzero"])
def drop_mask_of_itself(node: Apply) -> Variable | None:
    """Drop the mask of a product by its only factor, or by a number.

    where_nonzero(x, x) -> x
    where_nonzero(x, -x) -> -x
    where_nonzero(x, x * 3) -> x * 3
    where_nonzero(2.0, x) -> x
    """
    gate, product = node.inputs
    out = node.outputs[0]
    value = constant_of(gate)
    opposite = argument(product, "neg")
    factor = product if opposite is None else opposite
    parts = match(factor, "mul")
    scaled = None if parts is None else split_constant(parts)
    if scaled is not None and np.isfinite(scaled[0]):
        factor = scaled[1]
    is_needless = same(factor, gate) if value is None else value != 0
    return product if is_needless and product.type == out.type else None


@rewrite(phase="stabilize", ops=["mul", "true_div"], kinds="f")
def gather_constants(node: Apply) -> Variable | None:
    """Merge constant factors of a product, if their dtype has the product.

    2 * (3 * x) -> x * 6
    (x * 3) / 2 -> x * 1.5
    (x / 4) * 2 -> x * 0.5
    (x * 1e300) * 1e300 -> (x * 1e300) * 1e300
    """
    out = node.outputs[0]
    outer = split_constant(node.inputs)
    if outer is None or outer[1].type.dtype != out.type.dtype:
        return None
    c, inner = outer
    if name_of(node) == "true_div":
        if inner is not node.inputs[0]:
            return None
        c = _quotient(1, c)
    for name in ("mul", "true_div"):
        args = match(inner, name)
        split = None if args is None else split_constant(args)
        if args is None or split is None:
            continue
        if name == "true_div" and split[1] is not args[0]:
            continue
        product = (
            _quotient(c, split[0]) if name == "true_div" else float(c) * float(split[0])
        )
        dtype = out.type.dtype
        if keeps_digits(product, dtype) and split[1].type.dtype == dtype:
            return call("mul", split[1], number(product, out))
    return None


def _quotient(a: Any, b: Any) -> float:
    """Return the quotient of two numbers, inf or nan by zero."""
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


@rewrite(phase="specialize", ops=["mul"])
def square_equal_factors(node: Apply) -> Variable | None:
    """Write a number times itself as its square.

    x * x -> square(x)
    """
    left, right = node.inputs
    if not same(left, right) or left.type.dtype == "bool":
        return None
    return call("square", left)


@rewrite(phase="specialize", ops=["true_div"])
def invert_divided_one(node: Apply) -> Variable | None:
    """Write one divided by a number as its reciprocal.

    1 / x -> reciprocal(x)
    """
    top, bottom = node.inputs
    if is_constant(top, 1) and is_float(bottom) and bottom.type == node.outputs[0].type:
        return call("reciprocal", bottom)
    return None


@rewrite(phase="specialize", ops=["power"])
def expand_constant_power(node: Apply) -> Variable | None:
    """Expand a small constant power into squares and products.

    x ** 2 -> square(x)
    x ** 3 -> square(x) * x
    x ** 10 -> square(square(square(x))) * square(x)
    x ** -1 -> reciprocal(x)
    x ** -2 -> reciprocal(square(x))
    power(x, 0.5) -> where(eq(x, -inf), inf, sqrt(x) + 0.0)
    x ** -0.5 -> x ** -0.5
    x ** inf -> x ** inf
    x ** 0 -> ones_like(x)
    i ** 3 -> square(i) * i
    """
    out = node.outputs[0]
    base, exponent = node.inputs[0], constant_of(node.inputs[1])
    if exponent is None or base.type.broadcastable != out.type.broadcastable:
        return None
    base = cast(base, out.type.dtype)
    if exponent == 0:
        return call("second", base, number(1, out))
    if exponent == 0.5 and is_float(out):
        return _root(base)
    # Check both ends: the least integer of a dtype is its own absolute value.
    if not -_LARGEST_POWER <= exponent.real <= _LARGEST_POWER:
        return None  # also for nan
    if exponent != int(exponent.real):
        return None
    exponent = int(exponent.real)
    if exponent > 0:
        return _whole_power(base, exponent)
    if not is_float(out):
        return None
    if out.type.dtype == "float16":  # its squares end at 256
        return _whole_power(call("reciprocal", base), -exponent)
    return call("reciprocal", _whole_power(base, -exponent))


def _root(base: Variable) -> Variable:
    """Return the power of 0.5: of -inf it is inf, and of -0 it is 0."""
    is_lowest = call("eq", base, number(-np.inf, base))
    root = call("add", call("sqrt", base), number(0.0, base))
    return call("where", is_lowest, number(np.inf, base), root)


def _whole_power(base: Variable, exponent: int) -> Variable:
    """Return the product of repeated squares, by the exponent's bits, highest first."""
    power = base
    factors: list[Variable] = []
    for bit in range(exponent.bit_length()):
        if bit > 0:
            power = call("square", power)
        if exponent >> bit & 1:
            factors.append(power)
    return fold(lambda product, factor: call("mul", factor, product), factors)
