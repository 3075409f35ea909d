"""What the judge of random expressions forgives, and that it forgives no more."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from random_drawing import Values, quiet
from random_judging import unlike
from random_rounding import Uncertain

X = T.dvector("x")
F = T.fvector("f")
H = T.tensor("float16", (False,), "h")
C = T.dcol("c")
Z = T.zvector("z")
ROW = T.constant([[0.0, 3.0]])
THIRD = T.constant(np.float16(1 / 3))


def said(variable, output, given, got):
    """What is said of a result for a value of one variable."""
    with quiet():
        uncertain = Uncertain({variable: np.array(given, variable.dtype)})
        right = Values(uncertain.known).of(output)
        got = np.array(got, output.dtype)
        return unlike(got, right, lambda: uncertain.spread(output, right))


FORGIVEN = {
    "a cast out of range": (X, T.cast(X, "int8"), [3.7, 1e9], [3, 77]),
    "a cast of nan": (X, T.cast(X, "uint32") + 1, [3.7, np.nan], [4, 77]),
    "what is picked by it": (X, X[T.cast(X, "int64") % 2], [0.5, 1e30], [0.5, 0.5]),
    "the sign of a nan": (X, T.signbit(T.log(X)), [-1.0, 2.0], [False, False]),
    "the sign of a 0": (X, 1 / -(X - X), [1.5, 2.0], [np.inf, -np.inf]),
    "copied": (X, T.copysign(X, T.log(X)), [-1.5, 2.0], [1.5, 2.0]),
    "the logarithm of almost 1": (
        X, 1 / T.log(T.nnet.sigmoid(X)), [30.0], [-1 / np.log1p(np.exp(-30.0))],
    ),
    "an inf of float16 alone": (H, T.exp(H) - T.exp(H), [37, 1], [0, 0]),
    "a 0 of float16 alone": (H, T.log(H * H), [1e-4, 1], [-18.4, 0]),
    "a product and a difference": (
        F, T.nnet.logsoftmax(F.dimshuffle("x", 0)), [22.7, 0.1], [[-6e-7, -22.6]],
    ),
    "a product that is not rounded": (F, F * F - F * F, [4.7, 0], [1e-6, 0]),
    "the place of a nan": (C, T.nnet.softmax(C.T).argmax(1), [[1], [np.nan]], [1]),
    "beside a complex inf": (Z, Z / 1, [complex(-np.inf, 2)], [complex(-np.inf, 2)]),
    "a factor 0 of inf": (C, T.dot(C, ROW), [[np.inf], [2]], [[0, np.inf], [0, 6]]),
    "rounded sums": (H, (H - THIRD) - H, [100, 1], [-0.375, -0.3333]),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGIVEN)
def test_what_no_rule_settles_is_forgiven(name):
    assert said(*FORGIVEN[name]) == ""


WRONG = {
    "a cast in range": (X, T.cast(X, "int8"), [3.7, 1e9], [4, 77]),
    "the smallest that fits": (X, T.cast(X, "int8"), [-128.9, 127.9], [-127, 127]),
    "a cast of another element": (X, T.cast(X, "uint32") + 1, [3.7, np.nan], [5, 77]),
    "the sign of what is given": (X, T.signbit(X), [np.nan, 2.0], [True, False]),
    "the sign of a given 0": (X, 1 / X, [0, -0.0], [np.inf, np.inf]),
    "the sign of a number": (X, T.signbit(T.log(X)), [0.5, 2.0], [False, False]),
    "an inf of all": (H, 1 / H - 1 / H, [0, 1], [0, 0]),
    "an inf that is given": (H, T.exp(H) - T.exp(H), [np.inf, 1], [0, 0]),
    "a 0 of all": (H, T.log(H * H), [0, 1], [-18.4, 0]),
    "another number": (F, T.nnet.logsoftmax(F.dimshuffle("x", 0)), [2, 1], [[0, -1]]),
    "a difference of no products": (F, F - F, [22.7, 0], [1e-6, 0]),
    "the place of a number": (C, T.nnet.softmax(C.T).argmax(1), [[1], [2]], [0]),
    "another complex inf": (Z, Z / 1, [complex(-np.inf, 1.2)], [complex(np.inf, 1.2)]),
    "a product with inf": (C, T.dot(C, ROW), [[np.inf], [2]], [[0, 3], [0, 6]]),
    "a product with 0": (C, T.dot(C, ROW), [[1], [2]], [[np.nan, 3], [0, 6]]),
    "another shape": (X, X[X > 0], [1.0, -1.0], [1.0, -1.0]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_rule_settles_is_not(name):
    assert said(*WRONG[name])


def test_a_shape_that_roundings_change_is_forgiven():
    chosen = X[(X + 1e-17) - 1e-17 - X > 0]
    assert said(X, chosen, [1.0, 0.3], [0.3]) == ""
