"""Logarithms, shares and sums of exponentials of any size, and their derivatives.

What is written overflows; the rules and the forms of derivatives keep it finite.
"""

import math

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from test_rules_hold import both

LARGE = np.array([[1000.0, 999, -1000, 0], [-2000, -2001, -2001, -900]])
STEP = np.arange(8.0).reshape(2, 4)
PARTS = {
    "turned": lambda x: x.T,
    "row": lambda x: x[0],
    "columns": lambda x: x[:, ::2],
    "places": lambda x: x[[0, 1], [2, 0]],
    "reshaped": lambda x: x.reshape((4, 2)),
    "turned and reshaped": lambda x: x.T.reshape((2, 4))[1:, ::-1],
}
OF_EXPONENTIALS = {
    **{
        f"log of {k}": lambda m, x, v=v: m.log(v(share(m, x))) for k, v in PARTS.items()
    },
    "share": lambda m, x: share(m, x),
    "share of all": lambda m, x: m.exp(x) / m.exp(x).sum(),
    "share of three": lambda m, x: (
        m.exp(x[:, 0]) / (m.exp(x[:, 0]) + m.exp(x[:, 1]) + m.exp(x[:, 2]))
    ),
    "weighted share": lambda m, x: (x * m.exp(x)) / m.exp(x).sum(axis=1, keepdims=True),
    "three": lambda m, x: m.log(m.exp(x[:, 0]) + m.exp(x[:, 1]) + m.exp(x[:, 2])),
    "one more": lambda m, x: m.log(1 + m.exp(x[:, 0]) + m.exp(x[:, 1])),
    "number": lambda m, x: m.log(3 + m.exp(x)),
    "mixture": lambda m, x: m.log(0.25 * m.exp(x[:, 0]) + m.exp(x[:, 1]) / 4),
    "mean": lambda m, x: m.log(m.exp(x).mean(axis=1)),
    "multiple": lambda m, x: m.log((x[:, 3] ** 2 + 1) * m.exp(x).sum(axis=1)),
    "below": lambda m, x: m.log(2 / m.exp(x).sum(axis=1, keepdims=True)),
    "log1p": lambda m, x: m.log1p(m.exp(x).sum(axis=1)),
    "sigmoid": lambda m, x: m.log((1 / (1 + m.exp(-x))).T),
    "sum": lambda m, x: m.log(m.exp(x).sum(axis=1)[::-1]),
    "weighted": lambda m, x: m.log((WEIGHTS * m.exp(x)).sum(axis=1)),
    "weighted twice": lambda m, x: m.log(
        (WEIGHTS * m.exp(x) * m.exp(-2 * x)).sum(axis=1, keepdims=True) * 3
    ),
    "two weights": lambda m, x: m.log(
        (x[:, 3] ** 2 + 1) * m.exp(x[:, 0]) + 0 * m.exp(x[:, 3] + 3000)
    ),
    "absolute sinh": lambda m, x: m.log(abs(m.sinh(x + 0.3))),
    "logarithm of softplus": lambda m, x: m.log(m.log1p(m.exp(x))),
    "share beside a number": lambda m, x: m.exp(x) / (m.exp(x) + 2),
    "share beside several": lambda m, x: m.exp(x) / (m.exp(x) + 0.5 + m.exp(2 * x)),
    "cubed": lambda m, x: (1 + m.exp(x)) ** -3 * m.exp(x),
    "sech": lambda m, x: m.sinh(x) / m.cosh(x) ** 2,
    "difference": lambda m, x: m.log(m.exp(x + 2) - m.exp(x)),
    "density": lambda m, x: m.log((x**2 + 1) * m.exp(-(x**2) / 900)),
    "ratio": lambda m, x: m.log((x**2 + 1) / (1 + m.exp(-x))),
    "powers": lambda m, x: m.log(m.exp(x) ** 2 + m.sqrt(m.exp(x)) + m.exp(x) ** 0.25),
    "cosh": lambda m, x: m.log(m.cosh(x)),
    "twice cosh": lambda m, x: m.log(2 * m.cosh(x) + m.exp(x)),
    "sinh": lambda m, x: m.log(m.sinh(abs(x) + 1)),
    "expm1": lambda m, x: m.log(m.expm1(abs(x) + 1)),
    "exp less one": lambda m, x: m.log(m.exp(abs(x) + 1) - 1),
    "sinh over cosh": lambda m, x: m.sinh(x) / m.cosh(x),
    "tanh": lambda m, x: (m.exp(x) - m.exp(-x)) / (m.exp(x) + m.exp(-x)),
    "tanh of one": lambda m, x: (1 - m.exp(x)) / (1 + m.exp(x)),
    "one over expm1": lambda m, x: 1 / m.expm1(abs(x) + 1),
    "share beside weights": lambda m, x: m.exp(x) / (m.exp(x) + WEIGHTS),
    "share beside a weight": lambda m, x: x * m.exp(x) / (WEIGHTS + 1 + 3 * m.exp(x)),
    "log1p of weights": lambda m, x: m.log1p(WEIGHTS * m.exp(x)),
    "log of one and weights": lambda m, x: m.log(1 + WEIGHTS * m.exp(x)),
    "absolute expm1": lambda m, x: m.log(abs(m.expm1(x + 0.3))),
    "log of a weight and a turned one": lambda m, x: m.log(WEIGHTS + 1 + m.exp(-x)),
    "turned share": lambda m, x: m.exp(-x) / (m.exp(-x) + WEIGHTS),
    "log of two and weights": lambda m, x: m.log(2 + WEIGHTS * m.exp(-x)),
    "below a square": lambda m, x: WEIGHTS / (1 + m.exp(x)) ** 2,
    "less a number": lambda m, x: m.log((WEIGHTS * m.exp(x - 3)).sum(axis=1)),
    "less a number, turned": lambda m, x: m.log(WEIGHTS + 1 + m.exp(-x - 3)),
    "one less exp": lambda m, x: m.log(1 - m.exp(-0.1 - abs(x))),
    "log1p of minus exp": lambda m, x: m.log1p(-m.exp(-0.1 - abs(x))),
}
WEIGHTS = np.array([[1.0, 0, 0.5, 2], [0, 1, 3, 0]])


LOGS = {
    "log of a tanh's slope": (
        lambda m, x: m.log(1 - m.tanh(x) ** 2),
        lambda x: -2 * np.log(np.cosh(x)),
    ),
    "log1p of a tanh's slope": (
        lambda m, x: m.log1p(-(m.tanh(x) * m.tanh(x))),
        lambda x: -2 * np.log(np.cosh(x)),
    ),
    "log of 1 + tanh": (
        lambda m, x: m.log(1 + m.tanh(x)),
        lambda x: np.log(2) - np.log1p(np.exp(-2 * x)),
    ),
    "log1p of -tanh": (
        lambda m, x: m.log1p(-m.tanh(x)),
        lambda x: np.log(2) - np.log1p(np.exp(2 * x)),
    ),
    "log of half of 1 + tanh": (
        lambda m, x: m.log((1 + m.tanh(x)) / 2),
        lambda x: -np.log1p(np.exp(-2 * x)),
    ),
}


def share(m, x):
    return m.exp(x) / m.exp(x).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", OF_EXPONENTIALS)
def test_exponentials_of_any_size_have_finite_derivatives(name):
    """As of the program in long doubles, whose exponentials go to 11,000."""
    program = OF_EXPONENTIALS[name]
    check(program, lambda x: program(np, x))


@pytest.mark.parametrize("name", LOGS)
def test_logarithms_beside_a_tanh_are_finite(name):
    check(*LOGS[name])


SECOND = {
    "logistic": (
        lambda x: 1 / (1 + T.exp(-x)),
        lambda x: -np.tanh(x / 2) / (2 * np.cosh(x / 2)) ** 2,
    ),
    "of one exponential": (
        lambda x: T.exp(-x) / (1 + T.exp(-x)),
        lambda x: np.tanh(x / 2) / (2 * np.cosh(x / 2)) ** 2,
    ),
    "sech": (
        lambda x: 1 / T.cosh(x),
        lambda x: (np.tanh(x) ** 2 - np.cosh(x) ** -2) / np.cosh(x),
    ),
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_are_finite(name):
    program, judge = SECOND[name]
    X = T.dmatrix("X")
    slope = T.grad(T.grad(program(X).sum(), X).sum(), X)
    value = both([X], slope, [LARGE])[1]
    wanted = judge(LARGE.astype("longdouble")).astype("f8")
    np.testing.assert_allclose(value, wanted, 1e-7, 1e-9)


def test_a_small_difference_of_an_exponential_and_one_keeps_its_digits():
    x = T.dvector("x")
    for logarithm in (T.log1p(-T.exp(x)), T.log(1 - T.exp(x)), T.log(-T.expm1(x))):
        value = both([x], logarithm, [np.array([-1e-20, -1e-3, -40.0])])[1]
        wanted = [np.log(1e-20), np.log(-np.expm1(-1e-3)), -np.exp(-40.0)]
        np.testing.assert_allclose(value, wanted, 1e-14)


def check(program, judge):
    """Check values and derivatives by another program, of long doubles."""

    def moved(h):
        return judge(LARGE.astype("longdouble") + h * STEP.astype("longdouble"))

    direction = (moved(1e-6) - moved(-1e-6)) / 2e-6
    X, D = T.dmatrices("X", "D")
    output = program(T, X)
    wanted = moved(0)
    weights = np.arange(1.0, wanted.size + 1).reshape(wanted.shape)
    slope = (T.grad((output * weights).sum(), X) * D).sum()
    for found, right in (
        (output, wanted),
        (T.Rop(output, X, D), direction),
        (slope, (weights * direction).sum()),
    ):
        value = both([X, D], found, [LARGE, STEP])[1]
        np.testing.assert_allclose(value, right.astype("f8"), 1e-7, 1e-9)


def test_a_softmax_has_finite_derivatives_of_logs_of_its_parts():
    X = T.dmatrix("X")
    for part in PARTS.values():
        of_op = T.log(part(T.nnet.softmax(X))).sum()
        written = T.log(part(share(T, X))).sum()
        slopes = (T.grad(cost, X) for cost in (of_op, written))
        found, wanted = (both([X], slope, [LARGE])[1] for slope in slopes)
        np.testing.assert_allclose(found, wanted, 1e-12, 1e-12)


def test_what_a_gradient_is_taken_by_is_left_in_its_form():
    X = T.dmatrix("X")
    p = T.nnet.softmax(X)
    cost = T.log(p.T).sum()
    by_p, by_x = T.grad(cost, [p, X])
    value = np.array([[0.5, 1.0, -1.0, 0.0]])
    np.testing.assert_allclose(
        both([X], by_p, [value])[1], 1 / both([X], p, [value])[1], rtol=1e-12
    )
    np.testing.assert_allclose(
        both([X], by_x, [value])[1], 1 - 4 * both([X], p, [value])[1], rtol=1e-12
    )


def test_a_weight_of_zero_is_nothing_but_to_its_own_derivative():
    X, W = T.dmatrices("X", "W")
    total = T.log((W * T.exp(X)).sum(axis=1))
    by_x, by_w = T.grad(total.sum(), [X, W])
    values = (
        np.array([[900.0, 890, 905], [0, 2, 1]]),
        np.array([[1.0, -2, 0], [0, 0, 0]]),
    )
    weights = np.exp(values[0][0] - 900)
    whole = (weights * values[1][0]).sum()
    found = [both([X, W], each, values)[1] for each in (total, by_x, by_w)]
    np.testing.assert_allclose(found[0], [900 + np.log(whole), -np.inf], rtol=1e-12)
    np.testing.assert_allclose(found[1][0], values[1][0] * weights / whole, rtol=1e-12)
    np.testing.assert_allclose(found[2][0], weights / whole, rtol=1e-12)
    second = T.grad(by_x[0, 2], W)
    np.testing.assert_allclose(
        both([X, W], second, values)[1][0], [0, 0, weights[2] / whole], rtol=1e-12
    )


def test_negative_weights_are_kept_and_what_is_infinite_is_infinite():
    X, W = T.dmatrices("X", "W")
    total = T.log((W * T.exp(X)).sum(axis=1))
    rows = [[800.0, 799], [800, 801], [np.inf, 0], [np.nan, 0], [-np.inf, 0], [-9, 800]]
    weights = np.array([[1.0, -1], [1, -1], [1, 1], [1, 1], [1, 1], [np.inf, 1]])
    wanted = [800 + np.log1p(-np.exp(-1)), np.nan, np.inf, np.nan, 0, np.inf]
    found = both([X, W], total, [np.array(rows), weights])[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_the_log_of_erfc_is_finite_beyond_its_underflow():
    x = T.dvector("x")
    values = np.array([-3.0, 0.5, 1, 26, 40, 1000])
    series = 1 - 1 / (2 * 1e3**2) + 3 / (4 * 1e3**4)
    last = np.log(series / (1e3 * np.sqrt(np.pi))) - 1e6
    y = T.log(0.5 * T.erfc(x))
    slope = T.grad(y.sum(), x)
    found, by_x, second = (
        both([x], each, [values])[1] for each in (y, slope, T.grad(slope.sum(), x))
    )
    wanted = [math.log(math.erfc(value) / 2) for value in values[:4]]
    np.testing.assert_allclose(found[:4], wanted, rtol=1e-12)
    np.testing.assert_allclose(found[-1], last + np.log(0.5), rtol=1e-12)
    slopes = [
        -2 * math.exp(-(v**2)) / math.erfc(v) / math.sqrt(math.pi) for v in values[:4]
    ]
    np.testing.assert_allclose(by_x[:4], slopes, rtol=1e-10)
    np.testing.assert_allclose(by_x[-1], -2 * 1e3 / series, rtol=1e-9)
    np.testing.assert_allclose(
        second[:4], slopes * (-2 * values[:4] - slopes), rtol=1e-7
    )
    assert np.isfinite(second).all()


def test_a_factor_may_be_one_of_several_results():
    x, values = T.dvector("x"), np.array([1.0, 2, 900, -900])
    left, right = T.split(x, [2, 2], 2)
    found = both([x], left * T.exp(right) / (1 + T.exp(right)) ** 2, [values])[1]
    assert found.tolist() == [0, 0]
