"""Numerical stability: log1p and expm1, sigmoid and softplus, logsumexp.

Both sides of a rule are the same number; they differ where the left side over- or
underflows on the way, or loses small terms against one. The rules hold for real
numbers: for complex ones some lead to another branch. `products.py` is about products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpuarray.compiler.derivatives.forms import register
from gpuarray.compiler.graph.core import Apply, Variable
from gpuarray.compiler.ops.shape.shape import DimShuffle, dimshuffle
from gpuarray.compiler.rewrites.arithmetic.distribution import distribute
from gpuarray.compiler.rewrites.arithmetic.exponentials import (
    JOINED,
    exponent_of_share,
    known_log,
    multiple,
    power_of,
    puts_back,
    sum_of_exponentials,
)
from gpuarray.compiler.rewrites.arithmetic.products import (
    Tree,
    cancel_factors,
    factors_of,
    merge_hyperbolic,
    pair_exponentials,
    product_of,
    rebuild,
    shift_shares,
)
from gpuarray.compiler.rewrites.arithmetic.weighted import (
    shift_weighted,
    shifted_sum,
    softplus_or,
    take_logarithms,
    weighted_exponential,
)
from gpuarray.compiler.rewrites.engine.engine import rewrite
from gpuarray.compiler.rewrites.engine.patterns import (
    argument,
    beside_one,
    call,
    cast,
    constant_of,
    is_constant,
    is_float,
    match,
    same,
    turned,
)


@rewrite(phase="stabilize", ops=["log"], kinds="f")
def log_of_one_plus(node: Apply) -> Variable | None:
    """Use log1p, which keeps small terms beside a one.

    log(1 + x) -> log1p(x)
    log(x + 1) -> log1p(x)
    log(1 - x) -> log1p(-x)
    """
    (inner,) = node.inputs
    if inner.type != node.outputs[0].type:
        return None
    args = match(inner, "add")
    term = None if args is None else beside_one(args)
    args = match(inner, "sub")
    if args is not None and is_constant(args[0], 1):
        term = turned(args[1])
    return call("log1p", term) if term is not None and term.type == inner.type else None


@rewrite(phase="stabilize", ops=["sub", "add"], kinds="f")
def exp_minus_one(node: Apply) -> Variable | None:
    """Use expm1, which keeps small results of the difference.

    exp(x) - 1 -> expm1(x)
    exp(x) + -1 -> expm1(x)
    -1 + exp(x) -> expm1(x)
    1 - exp(x) -> -expm1(x)
    """
    out, (left, right) = node.outputs[0], node.inputs
    is_sum = match(out, "add") is not None
    inner = argument(left, "exp")
    if inner is not None and is_constant(right, -1 if is_sum else 1):
        return call("expm1", inner) if inner.type == out.type else None
    inner = argument(right, "exp")
    if inner is None or inner.type != out.type:
        return None
    if is_sum and is_constant(left, -1):
        return call("expm1", inner)
    return (
        call("neg", call("expm1", inner))
        if is_constant(left, 1) and not is_sum
        else None
    )


@rewrite(phase="stabilize", ops=["log1p"], kinds="f", forms=["log1p"])
def log1p_of_exp(node: Apply) -> Variable | None:
    """Use softplus for the logarithm of one plus exponentials, or minus a sigmoid.

    log1p(exp(x)) -> softplus(x)
    log1p(exp(x) + exp(y)) -> softplus(logaddexp(x, y))
    log1p(sum(exp(X), 1)) -> softplus(logsumexp(X, 1))
    log1p(-sigmoid(x)) -> -softplus(x)
    log1p(exp(-x)) -> softplus(-x)
    """
    (inner,) = node.inputs
    exponent = known_log(inner)
    if exponent is not None:
        return call("softplus", exponent)
    term = argument(inner, "neg")
    operand = None if term is None else argument(term, "sigmoid")
    return None if operand is None else call("neg", call("softplus", operand))


@rewrite(phase="stabilize", ops=["log1p"], kinds="f", forms=["log1p"])
def log1p_of_weighted_exp(node: Apply) -> Variable | None:
    """Use softplus for a multiple above 1 of an exponential: the product may overflow.

    log1p(x * exp(y)) -> softplus_or(x, y, lambda x, y: log1p(multiple(y, x)))
    log1p(-2 * exp(y)) -> log1p(-2 * exp(y))
    """
    (inner,), out = node.inputs, node.outputs[0]
    exponent, weight = weighted_exponential(inner) or (inner, None)
    if weight is None or constant_of(weight) is not None or match(exponent, "where"):
        return None
    result = softplus_or(weight, exponent, _log1p_of_multiple)
    return result if result.type == out.type else None


def _log1p_of_multiple(weight: Variable, exponent: Variable) -> Variable:
    return call("log1p", multiple(exponent, weight))


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_sigmoid(node: Apply) -> Variable | None:
    """Use softplus for the logarithm of a probability.

    log(sigmoid(x)) -> -softplus(-x)
    log(sigmoid(-x)) -> -softplus(x)
    """
    inner = argument(node.inputs[0], "sigmoid")
    return None if inner is None else call("neg", call("softplus", turned(inner)))


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_exponentials(node: Apply) -> Variable | None:
    """Use logaddexp for sums of exponentials, and add exponents of their products.

    log(exp(x) + exp(y)) -> logaddexp(x, y)
    log(exp(x) + exp(y) + exp(z)) -> logaddexp(logaddexp(x, y), z)
    log(exp(x) * exp(y) + exp(z)) -> logaddexp(x + y, z)
    log(exp(x) / exp(y)) -> x - y
    log(square(exp(x))) -> 2 * x
    log(sqrt(exp(x) + exp(y))) -> 0.5 * logaddexp(x, y)
    log(power(exp(x), 3)) -> 3 * x
    """
    (inner,), out = node.inputs, node.outputs[0]
    is_joined = any(match(inner, row) for row in JOINED) or power_of(inner) is not None
    owner = inner.owner
    if owner is None or not is_joined or recognize_sigmoid.transform(owner) is not None:
        return None
    result = known_log(inner)
    return result if result is not None and result.type == out.type else None


@rewrite(phase="stabilize", ops=["true_div", "reciprocal"], kinds="f")
def recognize_sigmoid(node: Apply) -> Variable | None:
    """Recognize the logistic function.

    1 / (1 + exp(-x)) -> sigmoid(x)
    1 / (1 + exp(x)) -> sigmoid(-x)
    reciprocal(1 + exp(-x)) -> sigmoid(x)
    1 / (exp(x) + 1) -> sigmoid(-x)
    exp(x) / (1 + exp(x)) -> sigmoid(x)
    """
    bottom, out = node.inputs[-1], node.outputs[0]
    args = match(bottom, "add")
    power = None if args is None else beside_one(args)
    inner = None if power is None else argument(power, "exp")
    if inner is None or inner.type != out.type:
        return None
    if len(node.inputs) == 1 or is_constant(node.inputs[0], 1):
        return call("sigmoid", turned(inner))
    top = argument(node.inputs[0], "exp")
    return call("sigmoid", inner) if top is not None and same(top, inner) else None


@rewrite(phase="stabilize", ops=["sub"], kinds="f")
def complement_of_sigmoid(node: Apply) -> Variable | None:
    """Compute the probability of the other class instead of a difference from one.

    1 - sigmoid(x) -> sigmoid(-x)
    1 - sigmoid(-x) -> sigmoid(x)
    """
    left, right = node.inputs
    inner = argument(right, "sigmoid") if is_constant(left, 1) else None
    if inner is None or inner.type != node.outputs[0].type:
        return None
    return call("sigmoid", turned(inner))


@rewrite(phase="stabilize", ops=["sqrt"], kinds="f")
def root_of_square(node: Apply) -> Variable | None:
    """Use the absolute value for the root of a square, which may overflow.

    sqrt(square(x)) -> abs(x)
    sqrt(x * x) -> abs(x)
    """
    (inner,) = node.inputs
    operand = argument(inner, "square")
    factors = match(inner, "mul")
    if factors is not None and same(factors[0], factors[1]):
        operand = factors[0]
    return call("abs", operand) if operand is not None and is_float(operand) else None


@rewrite(phase="stabilize", ops=["mul", "true_div"], kinds="f")
def simplify_product(node: Apply) -> Variable | None:
    """Merge exponentials with sigmoids and sums; cancel positive factors.

    exp(x) * sigmoid(-x) -> sigmoid(x)
    exp(-x) * sigmoid(x) -> sigmoid(-x)
    y * sigmoid(-x) * (1 + exp(x)) -> y   # but at x = nan
    (y * exp(x)) / (1 + exp(x)) -> y * sigmoid(x)
    y / (1 + exp(x)) -> y * sigmoid(-x)
    (y * exp(x)) / (exp(x) + exp(z)) -> y * sigmoid(x - z)
    (y * exp(x)) / (exp(x) + z) -> share(lambda m: y * exp(x - m), lambda m: exp(x - m) + shifted(constant([0.0]), z, m), maximum(x, weighed(constant([0.0]), z)))
    exp(-x) / square(1 + exp(-x)) -> sigmoid(-x) * sigmoid(x)
    (y * sinh(x)) / power(cosh(x), 2) -> (y * tanh(x)) / cosh(x)
    (y * sigmoid(x)) / sigmoid(x) -> y   # but at x = nan
    (y * exp(x)) / exp(x) -> y   # but at x = nan
    exp(x) / exp(x) -> second(exp(x), constant([1.0]))   # but at x = nan
    (x * y) / x -> (x * y) / x   # zero, infinity or nan where x is: not the same number
    """  # noqa: E501
    return _changed(
        node, pair_exponentials, shift_shares, shift_weighted, cancel_factors
    )


def _changed(node: Apply, *changes: Callable[[Tree], bool]) -> Variable | None:
    """Return a product after changes of its factors; None if there are none."""
    out = node.outputs[0]
    product = product_of(out)
    if product is None or not any([change(product) for change in changes]):
        return None
    return _in_type(rebuild(product, out), out, node.inputs)


register(
    "true_div",
    lambda node: _changed(node, merge_hyperbolic, shift_shares, shift_weighted),
)


def _in_type(
    result: Variable, out: Variable, shaped: Sequence[Variable]
) -> Variable | None:
    """Return a result in the type of ``out``, repeated to the shape of one of it."""
    result = cast(result, out.type.dtype)
    for variable in shaped:
        if variable.type == out.type != result.type:
            result = call("second", variable, result)
    return result if result.type == out.type else None


@rewrite(phase="stabilize", ops=["mul", "true_div"], kinds="f")
def distribute_over_sum(node: Apply) -> Variable | None:
    """Move a factor into a sum where it cancels every denominator.

    (x / sigmoid(z) - y) * sigmoid(z) -> x - y * sigmoid(z)
    (x / sigmoid(z) + y / sigmoid(z)) * sigmoid(z) -> x + y   # but at z = nan
    (x * sigmoid(z) - y * sigmoid(z)) * exp(-z) -> x * sigmoid(-z) - y * sigmoid(-z)
    (x * tanh(z) / cosh(z) - y / cosh(z)) * sinh(z) -> x * tanh(z) * tanh(z) - y * tanh(z)
    """  # noqa: E501
    out = node.outputs[0]
    product = product_of(out)
    result = None if product is None else distribute(product, out)
    return result if result is not None and result.type == out.type else None


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_sum_of_exponentials(node: Apply) -> Variable | None:
    """Take the largest exponent out of the sum, where it is finite.

    A sum that is shifted by one value along the axes stays.

    log(sum(exp(X), 1)) -> logsumexp(X, 1)
    log(col(sum(exp(X), 1))) -> col(logsumexp(X, 1))
    log(sum(exp(X - row(u)), 0)) -> log(sum(exp(X - row(u)), 0))
    log(sum(exp(-(X + row(u))), 0)) -> log(sum(exp(-(X + row(u))), 0))
    """
    total = sum_of_exponentials(node.inputs[0])
    return None if total is None else known_log(node.inputs[0])


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_share(node: Apply) -> Variable | None:
    """Subtract the logarithm of a sum of exponentials: the quotient may underflow.

    log(exp(X) / col(sum(exp(X), 1))) -> X - log(col(sum(exp(X), 1)))
    """
    (share,) = node.inputs
    exponent = exponent_of_share(share)
    if exponent is None or share.owner is None:
        return None
    return call("sub", exponent, call("log", share.owner.inputs[1]))


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_multiple(node: Apply) -> Variable | None:
    """Take logarithms out of factors: of positive rows, of sums the largest exponent.

    In a weighted sum it is the largest one whose weight is not 0.

    log(x * exp(y)) -> log(x) + y
    log(x / exp(y)) -> log(x) - y
    log(x * sigmoid(y)) -> log(x) + log(sigmoid(y))
    log(u * sum(exp(X), 1)) -> log(u * sum(exp(X - col(pivot(X, 1))), 1)) + pivot(X, 1)
    log(u / sum(exp(X), 1)) -> log(u / sum(exp(X - col(pivot(X, 1))), 1)) - pivot(X, 1)
    log(sum(Y * exp(X), 1)) -> logsumexp(X, 1, Y)
    log(x * y) -> log(x * y)
    """
    (inner,), out = node.inputs, node.outputs[0]
    tree, owner = product_of(inner), inner.owner
    is_sigmoid = owner is not None and recognize_sigmoid.transform(owner) is not None
    if tree is None or is_sigmoid:
        return None
    taken = take_logarithms(tree)
    rest = cast(rebuild(tree, inner), out.type.dtype)
    result = call("log", rest) if taken else out
    for largest, is_above in taken:
        result = call("add" if is_above else "sub", result, largest)
    return result if taken and result.type == out.type else None


@rewrite(phase="stabilize", ops=["log"], kinds="f", forms=["log"])
def log_of_weighted_exponentials(node: Apply) -> Variable | None:
    """Take the largest exponent out of a sum of multiples of exponentials.

    log(x * exp(y) - exp(z)) -> log_less(lambda m: shifted(y, x, m) - exp(z - m), maximum(weighed(y, x), z))
    log(x + square(y)) -> log(x + square(y))
    """  # noqa: E501
    (inner,), out = node.inputs, node.outputs[0]
    found = shifted_sum(inner)
    if found is None:
        return None
    total, largest = found
    result = call("add", call("log", total), largest)
    return result if result.type == out.type else None


@rewrite(phase="stabilize", ops=[DimShuffle])
def expand_before_dividing(node: Apply) -> Variable | None:
    """Put the axes of exponentials back before a division by their sum.

    The gradient of a logarithm of the sum then has both in one product.

    col(u / sum(exp(X), 1)) -> col(u) / col(sum(exp(X), 1))
    col(u * v / sum(exp(X), 1)) -> col(u * v) / col(sum(exp(X), 1))
    row(u / sum(exp(X), 1)) -> row(u / sum(exp(X), 1))
    """
    op, (value,) = node.op, node.inputs
    assert isinstance(op, DimShuffle)
    product = product_of(value)
    if product is None or value.owner is None or not product[0].operands:
        return None
    below = [part.variable for part in factors_of(product) if not part.is_above]
    if not any(puts_back(op.new_order, total) for total in below if total is not None):
        return None
    operands = [dimshuffle(operand, *op.new_order) for operand in value.owner.inputs]
    return value.owner.op.make_node(*operands).out
