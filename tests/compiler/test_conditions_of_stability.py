"""Where rules that keep numbers finite apply, and where products are as written."""

from functools import reduce as fold

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import rewrites
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import same_graph
from gpuarray.compiler.rewrites.arithmetic import distribution, products
from rule_conditions import cases, check
from run_graph import run_graph

TABLE = {
    "log_of_one_plus": """
        log(x) -> same
        log(2 + x) -> same
        log(2 - x) -> same
        log(x * y) -> same
        log(1 + j) -> same
        log(constant(1.0, "float64") + f) -> same
        log(1 - (x - y)) -> log1p(y - x)
    """,
    "exp_minus_one": """
        x - 1 -> same
        x + y -> same
        1 - x -> same
        exp(x) - y -> same
        exp(x) - 2 -> same
        exp(x) + 1 -> same
        y - exp(x) -> same
        1 + exp(x) -> same
        2 + exp(x) -> same
        2 - exp(x) -> same
        -1 - exp(x) -> same
        exp(f) - constant(1.0, "float64") -> same
        constant(1.0, "float64") - exp(f) -> same
    """,
    "log1p_of_exp": """
        log1p(x) -> same
        log1p(-x) -> same
        log1p(sigmoid(x)) -> same
    """,
    "log_of_sigmoid": """
        log(x) -> same
        log(sigmoid(x - y)) -> -softplus(y - x)
    """,
    "log_of_exponentials": """
        log(x) -> same
        log(exp(x) + y) -> same
        log(x + exp(y)) -> same
        log(exp(x) + exp(f)) -> same
        log(exp(x) - exp(y)) -> same
        log(exp(x) * y) -> same
        log(constant([-2.0]) + exp(x)) -> same
        log(1 / (1 + exp(x))) -> same
        log(1 + exp(x) + exp(y)) -> logaddexp(softplus(x), y)
        log(constant([1.0]) / exp(x)) -> constant([0.0]) - x
    """,
    "recognize_sigmoid": """
        1 / x -> same
        1 / (x + y) -> same
        1 / (1 + x) -> same
        2 / (1 + exp(x)) -> same
        y / (1 + exp(x)) -> same
        exp(y) / (1 + exp(x)) -> same
        reciprocal(x) -> same
        constant(1.0, "float64") / (1 + exp(f)) -> same
    """,
    "complement_of_sigmoid": """
        1 - x -> same
        2 - sigmoid(x) -> same
        y - sigmoid(x) -> same
        constant(1.0, "float64") - sigmoid(f) -> same
    """,
    "root_of_square": """
        sqrt(x) -> same
        sqrt(x * y) -> same
        sqrt(j * j) -> same
        sqrt(f * f) -> abs(f)
    """,
    "log_of_sum_of_exponentials": """
        log(x) -> same
        log(exp(x)) -> same
        log(prod(exp(X), 1)) -> same
        log(sum(X, 1)) -> same
        log(sum(exp(f), dtype="float64")) -> same
        log(sum(exp(-X), 0)) -> lse(-X, (0,))
        log(sum(exp(X - row(u)))) -> lse(X - row(u), (0, 1))
        log(sum(exp(X - Y), 0)) -> lse(X - Y, (0,))
        log(sum(exp(row(u) - X), 0)) -> lse(row(u) - X, (0,))
        log(sum(exp(X - col(u)), 1)) -> same
        log(sum(exp(-(row(u) + X)), 0)) -> same
        log(row(sum(exp(X), 0))) -> row(lse(X, (0,)))
        log(row(sum(exp(X), 1))) -> same
        log(row(sum(exp(X - row(u)), 0))) -> same
    """,
    "log_of_share": """
        log(exp(X) / row(sum(exp(X), 0))) -> X - log(row(sum(exp(X), 0)))
        log(exp(-Y) / row(sum(exp(-Y), 0))) -> -Y - log(row(sum(exp(-Y), 0)))
        log(exp(Y) / row(sum(exp(X), 0))) -> same
        log(exp(X) / row(sum(exp(X), 1))) -> same
        log(exp(X) / col(sum(exp(X), 0))) -> same
        log(exp(a) / sum(exp(X))) -> same
        log(X / row(sum(exp(X), 0))) -> same
    """,
    "log_of_multiple": """
        log(sum(exp(X), 1)) -> same
        log(u * sum(X, 1)) -> same
        log(u + sum(exp(X), 1)) -> same
        log(sum(X * Y, 1)) -> same
        log(sum(Y * exp(X - col(v)), 1)) -> same
        log(j * exp(x)) -> log(cast(j, "float64")) + x
        log(u * sum(exp(X - col(v)), 1)) -> same
    """,
    "expand_before_dividing": """
        col(sum(exp(X), 1)) -> same
        col(sum(exp(X), 1) / u) -> same
        col(u / sum(exp(X), 0)) -> same
        col(u / sum(X, 1)) -> same
        row(-(u / sum(exp(X), 0))) -> -(row(u) / row(sum(exp(X), 0)))
        row(reciprocal(sum(exp(X), 0))) -> reciprocal(row(sum(exp(X), 0)))
    """,
}
TABLE_OF_PRODUCTS = {
    "simplify_product": """
        exp(x) * sigmoid(x) -> same
        exp(x) / sigmoid(-x) -> same
        sigmoid(x) / exp(x) -> sigmoid(-x)
        sigmoid(x) / exp(-x) -> same
        exp(x - y) * sigmoid(y - x) -> sigmoid(x - y)
        exp(x - y) * sigmoid(z - x) -> same
        exp(x - y) * sigmoid(y - z) -> same
        y / (2 + exp(x)) -> same
        y / (1 + x) -> same
        y / (x + z) -> same
        y * (1 + exp(x)) -> same
        y / (z / (1 + exp(x))) -> y / (z * sigmoid(-x))
        y / reciprocal(1 + exp(x)) -> same
        y * reciprocal(1 + exp(x)) -> y * sigmoid(-x)
        y / (1 + exp(x - z)) -> y * sigmoid(z - x)
        (-(y / (1 + exp(x)))) * z -> (-(y * sigmoid(-x))) * z
        y / (-(1 + exp(x))) -> y * -sigmoid(-x)
        where_nonzero(z, exp(x)) * sigmoid(-x) -> where_nonzero(z, constant([1.0], "float64")) * sigmoid(x)
        y / where_nonzero(z, 1 + exp(x)) -> same
        exp(x) / (exp(x) + exp(y)) -> sigmoid(x - y)
        exp(y) / (exp(x) + exp(y)) -> sigmoid(y - x)
        exp(z) / (exp(x) + exp(y)) -> same
        exp(z) / (exp(x) + y) -> same
        exp(x) / (exp(x) - exp(y)) -> same
        (z / (exp(x) + exp(y))) * exp(y) -> z * sigmoid(y - x)
        exp(X) / row(sum(exp(X), 0)) -> powers(X)[0] / powers(X)[1]
        exp(X) / sum(exp(X), 0) -> powers(X)[0] / powers(X)[1]
        exp(X) / sum(exp(X), 1) -> same
        exp(X) / row(sum(exp(Y), 0)) -> same
        exp(X - row(u)) / row(sum(exp(X - row(u)), 0)) -> same
        (row(u) / row(sum(exp(X), 0))) * exp(X) -> (row(u) / powers(X)[1]) * powers(X)[0]
        (y * 2) / 2 -> same
        exp(x) * constant([2]) / exp(x) -> second(exp(x) * constant([2]), constant([2.0]))
        (exp(x) * y) / exp(z) -> same
        ((exp(x) + exp(y)) * z) / (exp(x) + exp(y)) -> z
        ((exp(x) + y) * z) / (exp(x) + y) -> same
        ((exp(x) + constant([2.0])) * z) / (exp(x) + constant([2.0])) -> z
        ((exp(x) + constant([-2.0])) * z) / (exp(x) + constant([-2.0])) -> same
        ((exp(x) + constant([0.0])) * z) / (exp(x) + constant([0.0])) -> same
        ((exp(x) + exp(x)) * z) / (exp(x) + exp(x)) -> z
        (softmax(X) * Y) / softmax(X) -> Y
        (cosh(x) * y) / cosh(x) -> y
        (exp2(x) * y) / exp2(x) -> y
        (softplus(x) * y) / softplus(x) -> y
        (square(x) * y) / square(x) -> same
        exp(x) * (y / exp(x)) -> y
        ((y / exp(x)) * exp(x)) / z -> y / z
        (z / (y * exp(x))) * exp(x) -> z / y
        (z / (exp(x) * y)) * exp(x) -> z / y
        (z * exp(x)) / (exp(x) / y) -> z * y
        reciprocal(exp(x)) * (exp(x) * y) -> y
        exp(p) / exp(p) -> constant([1.0], "float64")
        exp(p) / (exp(p) * p) -> constant([1.0], "float64") / p
        (-exp(p)) / exp(p) -> -constant([1.0], "float64")
        (x * (exp(f) * g)) * sigmoid(-f) -> same
        (r * exp(X)) / exp(X) -> second(r * exp(X), r)
        (exp(x) * chain(z, 22)) * sigmoid(-x) -> chain(z, 22) * sigmoid(x)
        (exp(x) * chain(z, 23)) * sigmoid(-x) -> same
    """,  # noqa: E501
    "distribute_over_sum": """
        x * y -> same
        (x - y) * sigmoid(z) -> same
        (x / z - y) * z -> same
        (x / sigmoid(z) - y / sigmoid(y)) * sigmoid(z) -> same
        (x / sigmoid(z) - y * 2) * sigmoid(z) -> x - (y * 2) * sigmoid(z)
        (x / sigmoid(z) - y) * sigmoid(y) -> same
        (x / (sigmoid(z) * 2) - y) * sigmoid(z) -> x / 2 - y * sigmoid(z)
        -(x / sigmoid(z) - y) * sigmoid(z) -> -(x - y * sigmoid(z))
        sigmoid(z) * (y + x / sigmoid(z)) -> y * sigmoid(z) + x
        (x / (sigmoid(z) * sigmoid(y)) + x) * sigmoid(z) * sigmoid(y) -> x + (x * sigmoid(z)) * sigmoid(y)
        (x / sigmoid(z) + y / sigmoid(z)) / sigmoid(z) -> same
        (r / sigmoid(X) + r / sigmoid(X)) * sigmoid(X) -> same
        (x / sigmoid(z) - f) * sigmoid(z) -> same
        ((x / sigmoid(z) - y) * sigmoid(z)) / 2 -> (x - y * sigmoid(z)) / 2
        where_nonzero(x / sigmoid(z) - y, x / sigmoid(z) - y) * sigmoid(z) -> where_nonzero(x / sigmoid(z), x) - where_nonzero(y, y * sigmoid(z))
        where_nonzero(z, x / sigmoid(z) - y) * sigmoid(z) -> where_nonzero(z, x - y * sigmoid(z))
    """,  # noqa: E501
}


@pytest.mark.parametrize(("rule", "before", "after"), cases(TABLE | TABLE_OF_PRODUCTS))
def test_a_rule_applies_under_its_conditions_only(rule, before, after):
    check(rule, before, after)


def test_no_exponentials_add_up_to_zero_whose_logarithm_is_minus_infinity():
    X = T.dmatrix("X")
    fgraph = FunctionGraph([X], [T.log(T.sum(T.exp(X), 0))])
    rewrites.optimize(fgraph, phases=["stabilize"])
    (found,) = run_graph(fgraph, {X: np.ones((0, 3))})
    np.testing.assert_array_equal(found, [-np.inf] * 3)


x, y = T.dvectors("x", "y")


def product(count, *others):
    return fold(T.mul, [*others, *[x] * count])


FACTORS = [
    (product(24), 24),
    (product(25), None),
    (2 * product(24), 25),
    (product(23, T.constant([2.0]) * T.constant([3.0])), 25),
    (product(24, T.constant([2.0]) * T.constant([3.0])), None),
    (x * fold(lambda v, _: -v, range(253), y), 2),
    (x * fold(lambda v, _: -v, range(254), y), None),
    (T.ivector("i") * 2, None),
    (T.zvector("z") * 2, None),
]


@pytest.mark.parametrize("place", range(len(FACTORS)))
def test_so_many_factors_are_looked_at(place):
    expression, count = FACTORS[place]
    tree = products.product_of(expression)
    assert (tree and len(products.factors_of(tree))) == count


TERMS = [(1, None), (2, 2), (256, 256), (257, None), (600, None)]


@pytest.mark.parametrize(("count", "wanted"), TERMS)
def test_so_many_terms_are_looked_at(count, wanted):
    tree = distribution.sum_of(fold(T.add, [x] * count))
    assert (tree and sum(not each.operands for each in tree)) == wanted


def test_a_product_of_numbers_and_signs_is_rebuilt_as_it_was_written():
    expression = -(x / y) * T.reciprocal(x) * 2
    assert products.rebuild(products.product_of(expression), expression) is expression
    terms = -(x - y) + x
    found = distribution.rebuilt_sum(distribution.sum_of(terms))
    assert same_graph(found, terms)
