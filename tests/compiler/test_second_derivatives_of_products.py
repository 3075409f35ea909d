"""Second and third derivatives of products, also where elements are 0.

A product is a polynomial: its derivatives are those of the sum over the products of the
other elements, which has none of the quotients that the first derivative is made of.
"""

import itertools

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Rop, config, function, grad, hessian, jacobian

VALUES = {
    "no zero": [2.0, -3.0, 0.5, 4.0],
    "one": [2.0, 0.0, 0.5, 4.0],
    "first and last": [0.0, -3.0, 0.5, 0.0],
    "three": [0.0, 0.0, 0.5, 0.0],
    "all": [0.0, 0.0, 0.0, 0.0],
    "single": [0.0],
    "none": [],
}


def derivatives(weights, values):
    """The gradient and the Hessian of a weighted sum of running products."""
    n = len(values)
    slope, curvature = np.zeros(n), np.zeros((n, n))
    for stop, weight in enumerate(weights, 1):
        for i in range(stop):
            others = [values[k] for k in range(stop) if k != i]
            slope[i] += weight * np.prod(others)
        for i, j in itertools.permutations(range(stop), 2):
            others = [values[k] for k in range(stop) if k not in (i, j)]
            curvature[i, j] += weight * np.prod(others)
    return slope, curvature


def weighted(name, x):
    """A cost of products, and the weights of the running ones."""
    if name == "prod":
        return 3.0 * x.prod(), lambda n: [0.0] * (n - 1) + [3.0] * (n > 0)
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    if name == "cumprod":
        cost = (T.cumprod(x) * T.constant(weights)[: x.shape[0]]).sum()
        return cost, lambda n: weights[:n]
    cost = (T.extra_ops.CumOp(0, "mul", True)(x[::-1])[::-1]).sum()
    return cost, lambda n: np.ones(n)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "FAST_RUN"])
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("name", ["prod", "cumprod", "reverse"])
def test_hessians_are_exact_at_zeros(name, values, mode):
    x = T.dvector("x")
    cost, weights = weighted(name, x)
    numbers = np.array(VALUES[values])
    slope, curvature = derivatives(weights(len(numbers)), numbers)
    with config.use(mode=mode):
        f = function([x], [grad(cost, x), hessian(cost, x), jacobian(grad(cost, x), x)])
    found = f(numbers)
    np.testing.assert_allclose(found[0], slope, atol=1e-12)
    np.testing.assert_allclose(found[1], curvature, atol=1e-12)
    np.testing.assert_allclose(found[2], curvature, atol=1e-12)


@pytest.mark.parametrize("values", ["one", "first and last", "no zero"])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_hessians_times_vectors(name, values):
    x, v = T.dvectors("x", "v")
    cost, weights = weighted(name, x)
    numbers = np.array(VALUES[values])
    _, curvature = derivatives(weights(len(numbers)), numbers)
    direction = np.linspace(-1, 2, len(numbers))
    f = function([x, v], [Rop(grad(cost, x), x, v), grad((grad(cost, x) * v).sum(), x)])
    for found in f(numbers, direction):
        np.testing.assert_allclose(found, curvature @ direction, atol=1e-12)


def test_a_third_derivative():
    """Of x y z w by three of them: the fourth, also where two are 0."""
    x = T.dvector("x")
    first = grad(x.prod(), x)[0]
    second = grad(first, x)[1]
    f = function([x], grad(second, x))
    for values in ([0.0, 0.0, 0.0, 5.0], [1.0, 2.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]):
        a, b = values[3], values[2]
        np.testing.assert_allclose(f(values), [0, 0, a, b], atol=1e-12)


@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_what_is_batched_is_differentiated_further(name):
    """The Jacobian of gradients, one for each row, and the gradient of that."""
    x = T.dmatrix("x")
    rows = T.cumprod(x, axis=1).sum(axis=1) if name == "cumprod" else x.prod(axis=1)
    slopes = jacobian(rows, x)
    numbers = np.array([[0.0, 0.0, 3.0], [0.0, 2.0, 5.0]])
    f = function([x], [slopes, grad((slopes**2).sum(), x)])
    plain = function([x], grad((grad(rows.sum(), x) ** 2).sum(), x))
    found = f(numbers)
    for i in range(2):
        np.testing.assert_allclose(
            found[0][i, i], function([x], grad(rows.sum(), x))(numbers)[i]
        )
    np.testing.assert_allclose(found[1], plain(numbers), atol=1e-12)


def test_products_over_several_axes_of_an_array():
    x = T.dtensor3("x")
    cost = (x.prod(axis=(0, 2)) ** 2).sum()
    v = T.dtensor3("v")
    f = function([x, v], grad((grad(cost, x) * v).sum(), x))
    rng = np.random.default_rng(0)
    numbers, direction = rng.uniform(-1, 1, (2, 2, 3, 2))
    numbers[0, 1, 1] = numbers[1, 2] = 0
    step = 1e-6

    def slope(at):
        g = function([x], grad(cost, x))
        return g(at)

    expected = (
        slope(numbers + step * direction) - slope(numbers - step * direction)
    ) / (2 * step)
    np.testing.assert_allclose(f(numbers, direction), expected, rtol=1e-6, atol=1e-8)


def test_on_a_device(context):
    with config.use(device=context.name, floatX="float32"):
        x = T.fmatrix("x")
        cost = T.cumprod(x, axis=1).sum() + x.prod(axis=0).sum()
        f = function([x], grad((grad(cost, x) ** 2).sum(), x))
        plain = function([x], grad((grad(cost, x) ** 2).sum(), x), mode="FAST_COMPILE")
    numbers = np.random.default_rng(1).uniform(0.5, 1.5, (3, 4)).astype("float32")
    numbers[1, 2] = numbers[0, 0] = numbers[2, 0] = 0
    np.testing.assert_allclose(f(numbers), plain(numbers), rtol=1e-5, atol=1e-5)


def test_a_first_derivative_has_no_loop():
    """What later derivatives are made of is dropped where none is taken."""
    x = T.dvector("x")
    for cost in (x.prod(), T.cumprod(x).sum()):
        f = function([x], grad(cost, x))
        names = {type(node.op).__name__ for node in f.maker.fgraph.toposort()}
        assert not names & {"Scan", "SlopeOfProduct"}
