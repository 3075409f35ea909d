"""Logarithms, shares and sums of exponentials of any size, and their derivatives.

What is written overflows; the rules and the forms of derivatives keep it finite.
"""

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
}


def share(m, x):
    return m.exp(x) / m.exp(x).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", OF_EXPONENTIALS)
def test_exponentials_of_any_size_have_finite_derivatives(name):
    """As of the program in long doubles, whose exponentials go to 11,000."""
    program = OF_EXPONENTIALS[name]

    def moved(h):
        return program(np, LARGE.astype("longdouble") + h * STEP.astype("longdouble"))

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
