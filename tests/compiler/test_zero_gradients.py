"""Derivatives that are zeros, or the same for all values: of what they depend on."""

import pickle

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import Rop, config, function, grad, hessian, jacobian
from gpuarray.compiler.errors import DisconnectedInputError, UnusedInputError

x, y, s = T.dvector("x"), T.dvector("y"), T.dscalar("s")
U, V = np.array([1.0, -2.0, 3.0]), np.array([1.0, 5.0, 2.0])

DISCRETE = {
    "eq": lambda: T.eq(x, y),
    "gt": lambda: T.gt(x, y),
    "isnan": lambda: T.isnan(x),
    "iround": lambda: T.iround(x),
    "floor": lambda: T.floor(x),
    "sgn": lambda: T.sgn(x),
    "cast": lambda: T.cast(x, "int32"),
    "argmax": lambda: T.argmax(x),
    "argsort": lambda: T.argsort(x),
    "any": lambda: T.any(x > 0),
    "integers of floats": lambda: T.cast(T.cast(x, "int64") * 2, "float64"),
}


@pytest.mark.parametrize("build", DISCRETE.values(), ids=DISCRETE)
def test_the_gradient_through_what_is_discrete_is_zeros(build, context):
    with config.use(device=context.name, floatX="float64"):
        cost = (build() * 1.5).sum()
        slope, mixed = grad(cost, x), grad(cost + (x**2).sum(), x)
        outputs = [slope, mixed, Rop(build() * 1.5, x, y)]
        f = function([x, y], outputs)
    found = f(U, V)
    np.testing.assert_array_equal(found[0], np.zeros(3))
    np.testing.assert_array_equal(found[1], 2 * U)
    assert not found[2].any()


LINEAR = {
    "grad": (lambda: grad(3 * s, s), [s], [2.0], 3.0),
    "grad of itself": (lambda: grad(s, s), [s], [2.0], 1.0),
    "second": (lambda: grad(grad(3 * s, s), s), [s], [2.0], 0.0),
    "third": (lambda: grad(grad(grad(s * s, s), s), s), [s], [2.0], 0.0),
    "sum": (lambda: grad((3 * x).sum(), x), [x], [U], [3.0] * 3),
    "jacobian": (lambda: jacobian(3 * x, x), [x], [U], 3 * np.eye(3)),
    "jacobian of a sum": (lambda: jacobian(x + y, x), [x, y], [U, V], np.eye(3)),
    "hessian of a sum": (lambda: hessian(x.sum(), x), [x], [U], np.zeros((3, 3))),
    "hessian by one": (
        lambda: hessian((x * y).sum(), x),
        [x, y],
        [U, V],
        np.zeros((3, 3)),
    ),
    "Rop": (lambda: Rop(3 * x, x, y), [x, y], [U, V], 3 * V),
    "Rop of a constant": (
        lambda: Rop(T.constant(np.ones(2)), x, y),
        [x, y],
        [U, V],
        np.zeros(2),
    ),
    "within more": (lambda: grad(3 * s, s) * 2 + 1, [s], [2.0], 7.0),
}


@pytest.mark.parametrize("case", LINEAR.values(), ids=LINEAR)
def test_what_a_derivative_was_derived_from_is_used(case, context):
    build, inputs, values, expected = case
    with config.use(device=context.name, floatX="float64"):
        for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode"):
            f = function(inputs, build(), mode=mode)
            np.testing.assert_allclose(f(*values), expected)


def test_givens_reach_what_a_derivative_was_derived_from(context):
    with config.use(device=context.name, floatX="float64"):
        t = T.dscalar("t")
        assert function([t], grad(3 * s, s), givens={s: t * 2})(1.0) == 3
        with pytest.raises(UnusedInputError):
            function([t, s], grad(3 * s, s), givens={s: t * 2})


def test_an_input_that_nothing_was_derived_from_is_unused():
    with pytest.raises(UnusedInputError, match="y is not used"):
        function([s, y], grad(3 * s, s))
    with pytest.raises(UnusedInputError, match="s is not used"):
        function([s, y], y * 2)


def test_what_is_not_connected_is_an_error_as_before():
    for cost in (y.sum(), x.shape[0] * 1.0, y[T.cast(x, "int64")].sum()):
        with pytest.raises(DisconnectedInputError):
            grad(cost, x)
    with pytest.raises(DisconnectedInputError):
        hessian(y.sum(), x)
    with pytest.raises(DisconnectedInputError):
        Rop(2 * y, x, y)


def test_a_derivative_can_be_pickled():
    slope = grad(3 * s, s)
    assert evaluate(pickle.loads(pickle.dumps(slope)), {}) == 3
