"""Where rules of arithmetic apply and where not: the sides of their conditions."""

import numpy as np
import pytest
from gpuarray.compiler.rewrites.arithmetic import identities
from gpuarray.compiler.rewrites.arithmetic.algebra import without_signed_zeros
from gpuarray.scalars import SCALARS
from rule_conditions import cases, check

TABLE = {
    "drop_identity": """
        x * y -> same
        i + j -> same
        j - i -> same
        logical_or(b, x > 0) -> same
        0 + j -> j
        1 * f -> f
        f * constant(1.0, "float64") -> same
        constant(1.0, "float64") * f -> same
        p * long_one(1.0) -> same
        exp(x) + 0 -> same
        0 + batched_dot(Q, R) -> batched_dot(Q, R)
        0 + dot(D, D) -> same
        0 + dot(K, K) -> dot(K, K)
        c * 1 -> same
        minimum(inf, f) -> f
        maximum(x, inf) -> same
        bitwise_and(j, -1) -> j
        bitwise_and(-1, w) -> same
        logical_and(b, True) -> b
        logical_and(x, 1) -> same
        logaddexp(x, -inf) -> same   # -0 becomes 0
    """,
    "drop_right_identity": """
        j - i -> same
        x / y -> same
        0 - x -> same
        1 / x -> same
        x - 1 -> same
        x / 0 -> same
        j - 0 -> j
        c - 0 -> c
        f ** 1 -> f
        f / constant(1.0, "float64") -> same
        b - constant(0, "int8") -> same
    """,
    "drop_double_negation": """
        -(-x) -> x
        -exp(x) -> same
        exp(-(-x)) -> exp(x)
        ~(-j) -> same
        -(~j) -> same
        logical_not(logical_not(b)) -> b
        logical_not(logical_not(x)) -> same
    """,
    "drop_inverse_pair": """
        log(x) -> same
        log(exp(x)) -> x
        log(exp(j)) -> same
        log(exp(c)) -> same
        log(x * y) -> same
        sinh(sinh(x)) -> same
        log(arcsinh(x)) -> same
        sinh(arcsinh(x)) -> x
        sinh(arcsinh(c)) -> c
        reciprocal(reciprocal(x)) -> same
        exp(log(x)) -> same
        sqr(sqrt(x)) -> same
        conjugate(conjugate(c)) -> c
        arcsinh(sinh(c)) -> same
        log(fused(x)) -> same
    """,
    "pull_sign_out_of_product": """
        -1 * x -> -x
        -1 / x -> same
        f * constant(-1.0, "float64") -> same
        constant(-1.0, "float64") * f -> same
        p * long_one(-1.0) -> same
        long_one(-1.0) * p -> same
        (-r) * X -> -(r * X)
        (-f) * x -> same
        x / (-f) -> same
        (-c) * o -> same
        c / (-o) -> same
    """,
    "merge_sign_into_sum": """
        f + (-g) -> f - g
        x + (-f) -> same
        x - (-f) -> same
        (-f) + x -> same
        x + y -> same
        x - y -> same
        c + (-o) -> same
        c - (-o) -> same
    """,
    "turn_difference": """
        exp(-(i - j)) -> same
        exp(-(-x)) -> same
        exp(x - y) -> same
        exp((-f) - y) -> same
        exp(-(c - o)) -> same
        exp((-c) - o) -> same
        cosh((-f) - g) -> cosh(-(f + g))
        sinh(-(x - y)) -> same
    """,
    "merge_sign_into_operand": """
        -(2 * x) -> -2 * x
        -(2 / x) -> -2 / x
        -(x * y) -> same
        -(x + 2) -> same
        -(x * 0.0) -> x * -0.0
        -(x * constant(3, "int8")) -> x * constant(-3, "int8")
        -(x * constant(1, "int8")) -> x * constant(-1, "int8")
        -(x * constant(0, "int8")) -> same
        -(x * constant(-128, "int8")) -> same
        -(x * constant(3, "uint8")) -> same
        -(x * constant(True)) -> same
        -(c * 2) -> same
    """,
    "drop_sign_under_even": """
        abs(-c) -> abs(c)
        abs(x) -> same
        square(-c) -> same
        abs(-f) -> abs(f)
    """,
    "drop_equal_choice": """
        logical_and(b, b) -> b
        logical_or(b, b) -> b
        logical_and(x, x) -> same
        maximum(x, y) -> same
        where(X > 0, r, r) -> same
        where(b, x, y) -> same
    """,
    "choose_by_constant": """
        where(b, x, y) -> same
        where(constant([True, False, True, False]), x, y) -> same
        where(constant([[True]]), r, X) -> same
        where(constant([[False]]), r, X) -> X
    """,
    "drop_mask_of_itself": """
        where_nonzero(x, -(x * 3)) -> -(x * 3)
        where_nonzero(x, x * inf) -> same
        where_nonzero(x, x * y) -> same
        where_nonzero(x, y) -> same
        where_nonzero(0.0, x) -> same
        where_nonzero(1.0, x) -> x
        where_nonzero(long_one(2.0), p) -> same
    """,
    "gather_constants": """
        x * y -> same
        x / y -> same
        (x * y) * 2 -> same
        (x + 3) * 2 -> same
        2 / (x * 3) -> same
        (2 / x) * 3 -> same
        (x / 0) * 2 -> same
        (x * 2) / 0 -> same
        (f * 3) * constant(2.0, "float64") -> same
        (f * constant(3.0, "float64")) * 2 -> same
        (f * 3) / 2 -> f * 1.5
        (c * 3) * 2 -> same
    """,
    "square_equal_factors": """
        x * y -> same
        b * b -> same
        j * j -> square(j)
        c * c -> square(c)
    """,
    "invert_divided_one": """
        2 / x -> same
        1 / j -> reciprocal(cast(j, "float64"))
        1 / c -> same
        constant(1.0, "float64") / f -> same
        long_one(1.0) / p -> same
        1 / f -> reciprocal(f)
    """,
    "expand_constant_power": """
        x ** y -> same
        p ** long_one(2.0) -> same
        c ** 0.5 -> same
        c ** 2 -> square(c)
        c ** -2 -> same
        x ** 1.5 -> same
        x ** 1 -> x
        x ** 5 -> square(square(x)) * x
        x ** 7 -> square(square(x)) * (square(x) * x)
        x ** -3 -> reciprocal(square(x) * x)
        h ** -3 -> square(reciprocal(h)) * reciprocal(h)
        h ** 2 -> square(h)
        f ** constant(2.0, "float64") -> square(cast(f, "float64"))
        j ** constant(-2, "int8") -> same
        j ** 0 -> second(j, constant(1, "int32"))
        x ** 512 -> square(square(square(square(square(square(square(square(square(x)))))))))
        x ** 513 -> same
        x ** -512 -> reciprocal(square(square(square(square(square(square(square(square(square(x))))))))))
        x ** -513 -> same
    """,  # noqa: E501
}


@pytest.mark.parametrize(("rule", "before", "after"), cases(TABLE))
def test_a_rule_of_arithmetic_applies_under_its_conditions_only(rule, before, after):
    check(rule, before, after)


NUMBERS = {
    "bool": [False, True],
    "int8": [0, 1, -128, 127],
    "uint16": [0, 1, 0, 65535],
    "float32": np.array([0.0, -0.0, 1.0, -0.7, np.inf, -np.inf, np.nan], "f4"),
}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers_that_an_identity_may_change(dtype):
    found = identities.telling(dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, NUMBERS[dtype])
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found[:4]), [0, 1, 0, 1])


def test_complex_numbers_that_an_identity_may_change_have_all_pairs_of_parts():
    found = identities.telling("complex64")
    line = identities.telling("float32")
    assert found.dtype == "complex64"
    np.testing.assert_array_equal(found.real, np.repeat(line, 7))
    np.testing.assert_array_equal(found.imag, np.tile(line, 7))


ALIKE = [
    ([1.0, 2.0], [1.0, 2.0], True),
    ([1.0, 2.0], [1.0, 3.0], False),
    ([1.0, 2.0], [-1.0, 2.0], False),
    ([0.0], [-0.0], False),
    ([-0.0], [-0.0], True),
    ([np.nan], [np.nan], True),
    ([np.nan], [1.0], False),
    ([1.0], [np.nan], False),
    ([np.inf], [-np.inf], False),
    ([complex(1, 0.0)], [complex(1, -0.0)], False),
    ([complex(np.nan, 1)], [complex(np.nan, 1)], True),
    ([complex(np.nan, 1)], [complex(np.nan, 2)], False),
    ([3], [3], True),
    ([3], [-3], False),
]


@pytest.mark.parametrize(("a", "b", "wanted"), ALIKE)
def test_numbers_are_alike_with_nans_and_signs_of_zeros(a, b, wanted):
    assert identities.are_alike(np.array(a), np.array(b)) is wanted


KEPT = [
    ("add", "float64", 0.0, False, False),
    ("add", "float64", 0.0, True, True),
    ("add", "float64", -0.0, False, True),
    ("add", "complex64", 0.0, True, False),
    ("maximum", "float64", 0.0, True, False),
    ("minimum", "float64", 0.0, True, False),
    ("mul", "float32", 0.0, False, False),
    ("mul", "float32", 1.0, False, True),
    ("maximum", "int8", -128, False, True),
    ("maximum", "int8", -127, False, False),
    ("minimum", "uint8", 254, False, False),
    ("bitwise_or", "bool", False, False, True),
    ("bitwise_or", "bool", True, False, False),
    ("bitwise_and", "bool", False, False, False),
    ("true_div", "int32", 1, False, False),
]


@pytest.mark.parametrize(("row", "dtype", "value", "has_no_minus", "wanted"), KEPT)
def test_constants_that_keep_all_numbers(row, dtype, value, has_no_minus, wanted):
    constant = np.array(value, dtype).tobytes()
    assert identities.keeps_all(row, dtype, constant, has_no_minus) is wanted


def test_a_row_with_an_identity_has_two_operands_that_commute():
    rows = [row for row in SCALARS.values() if row.identity is not None]
    assert all(row.arity == 2 and row.commutes for row in rows)


def test_rows_that_do_not_see_the_sign_of_a_zero():
    found = without_signed_zeros()
    assert {"exp", "abs", "square", "cosh", "sigmoid", "logical_not"} <= set(found)
    others = {"sin", "sinh", "sqrt", "neg", "reciprocal", "arctan", "invert", "add"}
    assert not others & set(found)
    assert all(SCALARS[name].arity == 1 for name in found)
