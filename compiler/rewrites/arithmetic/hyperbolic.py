"""Numerical stability of hyperbolic, error and gamma functions, and their logarithms.

A logarithm that has another expression on one side of a place chooses by it, and either
expression is given the place where it is not chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from gpuarray.compiler.derivatives.forms import register
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.rewrites.arithmetic.exponentials import (
    known_log,
    tanh_beside_one,
)
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    call,
    is_constant,
    limits_of,
    match,
    number,
    opposite,
    same,
    turned,
)

Function = Callable[[Variable], Variable]


@rewrite(phase="stabilize", ops=["true_div"], kinds="f", forms=["true_div"])
def recognize_tanh(node: Apply) -> Variable | None:
    """Recognize the hyperbolic tangent: quotients of exponentials overflow.

    (exp(x) - exp(-x)) / (exp(x) + exp(-x)) -> tanh(x)
    (exp(x) - exp(y)) / (exp(y) + exp(x)) -> tanh(0.5 * (x - y))
    (exp(x) - 1) / (exp(x) + 1) -> tanh(0.5 * x)
    (1 - exp(x)) / (1 + exp(x)) -> tanh(-0.5 * x)
    """
    top, bottom = node.inputs
    expm1 = argument(top, "expm1")
    negated = argument(top, "neg")
    opposite_of = None if negated is None else argument(negated, "expm1")
    if expm1 is not None:
        one, other = expm1, number(0, expm1)
    elif opposite_of is not None:
        one, other = number(0, opposite_of), opposite_of
    else:
        ends = _exponents(top, "sub")
        if ends is None:
            return None
        one, other = ends
    added = _exponents(bottom, "add")
    if added is None or node.outputs[0].type not in (one.type, other.type):
        return None
    for first, second in (added, added[::-1]):
        if same(first, one) and same(second, other):
            return call("tanh", _half_difference(one, other))
    return None


def _exponents(variable: Variable, row: str) -> tuple[Variable, Variable] | None:
    """Return the exponents of two exponentials, of which one may be 1, in a row."""
    args = match(variable, row)
    of_one = number(0, variable)
    found = [
        of_one if is_constant(term, 1) else argument(term, "exp") for term in args or ()
    ]
    if len(found) != 2 or found[0] is None or found[1] is None:
        return None
    return found[0], found[1]


def _half_difference(left: Variable, right: Variable) -> Variable:
    """Return half of ``left - right``."""
    if opposite(left, right):
        return left
    if is_constant(left, 0):
        return call("mul", number(-0.5, right), right)
    difference = left if is_constant(right, 0) else call("sub", left, right)
    return call("mul", number(0.5, difference), difference)


@rewrite(phase="stabilize", ops=["log"], kinds="f")
def log_of_cosh(node: Apply) -> Variable | None:
    """Take the exponential out, and keep the digits of small results.

    log(cosh(x)) -> abs(x) + log1p(0.5 * expm1(-2 * abs(x)))
    """
    x = argument(node.inputs[0], "cosh")
    return None if x is None else call("add", call("abs", x), _log_of_mean(x))


def _log_of_mean(x: Variable) -> Variable:
    """Return the logarithm of the mean of 1 and ``exp(-2 abs(x))``."""
    power = call("expm1", call("mul", number(-2, x), call("abs", x)))
    return call("log1p", call("mul", number(0.5, x), power))


@rewrite(phase="stabilize", ops=["log", "log1p"], kinds="f")
def log_beside_tanh(node: Apply) -> Variable | None:
    """Keep the difference of a tanh and one, which rounds to 0.

    log(1 + tanh(x)) -> minimum(2 * x, 0) - log1p(0.5 * expm1(-2 * abs(x)))   # but at x = -15
    log1p(tanh(x)) -> minimum(2 * x, 0) - log1p(0.5 * expm1(-2 * abs(x)))   # but at x = -15
    """  # noqa: E501
    x = _beside_one(node)
    if x is None:
        return None
    least = call("minimum", call("mul", number(2, x), x), number(0, x))
    return call("sub", least, _log_of_mean(x))


def _beside_one(node: Apply) -> Variable | None:
    """Return ``x`` of a logarithm of ``1 + tanh(x)``; None for others."""
    (inner,) = node.inputs
    if match(node.outputs[0], "log") is not None:
        return tanh_beside_one(inner)
    negated = argument(inner, "neg")
    x = argument(inner if negated is None else negated, "tanh")
    return x if x is None or negated is None else turned(x)


def _finite_log_beside_tanh(node: Apply) -> Variable | None:
    x = _beside_one(node)
    if x is None:
        return None
    one = number(1, x)
    return known_log(call("add", one, call("tanh", x)))


register("log", _finite_log_beside_tanh)
register("log1p", _finite_log_beside_tanh)


@rewrite(phase="stabilize", ops=["log", "log1p"], kinds="f", forms=["log", "log1p"])
def log_of_tanh_slope(node: Apply) -> Variable | None:
    """Use the logarithm of the cosh for that of the derivative of a tanh.

    log(1 - square(tanh(x))) -> -2 * log(cosh(x))   # but at x = -15, 15
    log1p(-square(tanh(x))) -> -2 * log(cosh(x))   # but at x = -15, 15
    """
    (inner,), out = node.inputs, node.outputs[0]
    if match(out, "log") is not None:
        args = match(inner, "sub")
        power = None if args is None or not is_constant(args[0], 1) else args[1]
    else:
        power = argument(inner, "neg")
    root = None if power is None else _root(power)
    x = None if root is None else argument(root, "tanh")
    if x is None or x.type != out.type:
        return None
    return call("mul", number(-2, x), call("log", call("cosh", x)))


def _root(power: Variable) -> Variable | None:
    """Return what a square is of; None for other variables."""
    args = match(power, "mul") or match(power, "power")
    if args is None:
        return argument(power, "square")
    is_square = same(args[0], args[1]) or is_constant(args[1], 2)
    return args[0] if is_square and args[0].type == power.type else None


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_difference_from_one(node: Apply) -> Variable | None:
    """Take the exponential out of an expm1 or a sinh.

    log(expm1(x)) -> x + log(-expm1(-x))
    log(exp(x) - 1) -> x + log(-expm1(-x))
    log(sinh(x)) -> x + log(-0.5 * expm1(-2 * x))
    log(abs(sinh(x))) -> abs(x) + log(-0.5 * expm1(-2 * abs(x)))
    log(abs(expm1(x))) -> maximum(x, 0) + log(-expm1(-abs(x)))
    """
    (inner,) = node.inputs
    size = argument(inner, "abs")
    x = None if size is None else argument(size, "expm1")
    if x is not None and x.type == inner.type:
        rest = call("neg", call("expm1", call("neg", call("abs", x))))
        return call("add", call("maximum", x, number(0, x)), call("log", rest))
    terms = match(inner, "sub")
    x = argument(inner, "expm1")
    if terms is not None and is_constant(terms[1], 1):
        x = argument(terms[0], "exp")
    if x is not None:
        rest = call("neg", call("expm1", turned(x)))
    else:
        size = argument(inner, "abs")
        x = argument(inner if size is None else size, "sinh")
        if x is None:
            return None
        x = x if size is None else call("abs", x)
        power = call("expm1", call("mul", number(-2, x), x))
        rest = call("mul", number(-0.5, x), power)
    return call("add", x, call("log", rest)) if x.type == inner.type else None


@rewrite(phase="stabilize", ops=["log", "log1p"], kinds="f")
def log_of_complement(node: Apply) -> Variable | None:
    """Keep the digits of one less an exponential: near 0 by expm1, far out by log1p.

    log(-expm1(x)) -> either(x < -0.7, x, -0.7, log1p_of_exp, log_of_expm1)
    log1p(-exp(x)) -> either(x < -0.7, x, -0.7, log1p_of_exp, log_of_expm1)
    """
    (inner,) = node.inputs
    is_log = match(node.outputs[0], "log") is not None
    term = argument(inner, "neg")
    x = None if term is None else argument(term, "expm1" if is_log else "exp")
    if x is None or match(x, "where") is not None:
        return None
    place = number(-0.7, x)
    return either(call("lt", x, place), x, place, log1p_of_exp, log_of_expm1)


def log1p_of_exp(x: Variable) -> Variable:
    """Return ``log1p(-exp(x))``."""
    return call("log1p", call("neg", call("exp", x)))


def log_of_expm1(x: Variable) -> Variable:
    """Return ``log(-expm1(x))``."""
    return call("log", call("neg", call("expm1", x)))


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_erfc(node: Apply) -> Variable | None:
    """Use the scaled function where erfc underflows.

    log(erfc(x)) -> either(x > 1, x, 1, lambda far: log(erfcx(far)) - square(far), lambda near: log(erfc(near)))
    """  # noqa: E501
    x = argument(node.inputs[0], "erfc")
    if x is None or match(x, "where") is not None:
        return None
    one = number(1, x)
    return either(call("gt", x, one), x, one, _log_of_far_erfc, _log_of("erfc"))


def _log_of_far_erfc(x: Variable) -> Variable:
    return call("sub", call("log", call("erfcx", x)), call("square", x))


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_softplus(node: Apply) -> Variable | None:
    """Use the operand where its exponential is nothing beside a one.

    log(softplus(x)) -> either(x < -36, x, -36, lambda far: far, lambda near: log(softplus(near)))
    log(log1p(exp(x))) -> either(x < -36, x, -36, lambda far: far, lambda near: log(softplus(near)))
    """  # noqa: E501
    (inner,) = node.inputs
    power = argument(inner, "log1p")
    x = argument(inner, "softplus") if power is None else argument(power, "exp")
    if x is None or match(x, "where") is not None:
        return None
    place = number(np.ceil(np.log(float(limits_of(x.type.dtype).eps))), x)
    is_far = call("lt", x, place)
    return either(is_far, x, place, lambda far: far, _log_of("softplus"))


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_gamma(node: Apply) -> Variable | None:
    """Use the logarithm that does not overflow, where the function is positive.

    log(gamma(x)) -> either(x > 0, x, 1, gammaln, lambda near: log(gamma(near)))
    """
    x = argument(node.inputs[0], "gamma")
    if x is None or match(x, "where") is not None:
        return None
    is_positive = call("gt", x, number(0, x))
    return either(
        is_positive, x, number(1, x), partial(call, "gammaln"), _log_of("gamma")
    )


def either(
    is_far: Variable, x: Variable, place: Variable, far: Function, near: Function
) -> Variable:
    """Return ``far`` of ``x`` where that is so, ``near`` elsewhere."""
    beyond = far(call("where", is_far, x, place))
    return call("where", is_far, beyond, near(call("where", is_far, place, x)))


def _log_of(row: str) -> Function:
    return lambda x: call("log", call(row, x))
