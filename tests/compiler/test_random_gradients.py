"""Gradients of draws: by the parameters of those that are smooth functions of them."""

import numpy as np
import pytest
from gpuarray._random.table import DISTRIBUTIONS
from gpuarray.compiler import (
    Rop,
    config,
    function,
    scan,
    scan_checkpoints,
    tensor as T,
)
from gpuarray.compiler.random import RandomStreams

SMOOTH = {
    "uniform": (-1.0, 2.0),
    "normal": (1.0, 2.0),
    "exponential": (1.5,),
    "lognormal": (0.2, 0.5),
    "laplace": (0.5, 1.5),
    "logistic": (0.5, 1.5),
    "gumbel": (0.5, 1.5),
    "cauchy": (0.5, 1.5),
    "weibull": (1.5,),
    "rayleigh": (2.0,),
    "pareto": (3.0,),
    "power": (2.5,),
}
STEP = 1e-6


@pytest.fixture(autouse=True)
def on_it(context):
    with config.use(device=context.name, floatX="float64"):
        yield


@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_gradients_agree_with_finite_differences(name):
    # The same random bits, at parameters that differ.
    values = np.array(SMOOTH[name])
    p = T.dvector("p")
    parameters = [p[i] for i in range(len(values))]
    draw = getattr(RandomStreams(5), name)(*parameters, size=(40,), dtype="float64")
    weights = np.linspace(0.5, 1.5, 40)
    cost = (draw * weights).sum()
    slope = function([p], T.grad(cost, p), no_default_updates=True)
    value = function([p], cost, no_default_updates=True)
    found = np.asarray(slope(values))
    for i in range(len(values)):
        step = np.zeros(len(values))
        step[i] = STEP
        above, below = float(value(values + step)), float(value(values - step))
        np.testing.assert_allclose(found[i], (above - below) / (2 * STEP), rtol=2e-5)


@pytest.mark.parametrize("name", sorted(set(DISTRIBUTIONS) - set(SMOOTH)))
def test_other_draws_say_that_they_have_none(name):
    row = DISTRIBUTIONS[name]
    known = {"hypergeometric": (5.0, 5.0, 3.0), "triangular": (0.0, 1.0, 2.0)}
    given = known.get(name, (0.5,) * len(row.parameters))
    x = T.dscalar("x")
    parameters = [x, *given[1:]]
    draw = getattr(RandomStreams(5), name)(*parameters, size=(3,), dtype="float64")
    with pytest.raises(TypeError, match=f"a draw of {name} has no gradient by"):
        T.grad(draw.sum(), x)


def test_a_gradient_beside_a_draw_without_one():
    x = T.dvector("x")
    mask = RandomStreams(5).bernoulli(0.5, size=x.shape, dtype="float64")
    f = function([x], [mask, T.grad((mask * x**2).sum(), x)])
    kept, slope = map(np.asarray, f(np.arange(6.0)))
    np.testing.assert_array_equal(slope, kept * 2 * np.arange(6))


def test_gradients_by_parameters_that_broadcast():
    loc, scale = T.dcol("loc"), T.drow("scale")
    draw = RandomStreams(5).normal(loc, scale, dtype="float64")
    f = function([loc, scale], [draw, *T.grad(draw.sum(), [loc, scale])])
    given = np.array([[1.0], [2.0], [3.0]]), np.array([[0.0, 2.0]])
    drawn, by_loc, by_scale = map(np.asarray, f(*given))
    np.testing.assert_array_equal(by_loc, np.full((3, 1), 2.0))
    unit = np.asarray(function([], RandomStreams(5).normal(size=(3, 2)))())
    np.testing.assert_allclose(by_scale, unit.sum(0, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(drawn, given[0] + given[1] * unit, rtol=1e-12)


def test_directional_derivatives_of_draws():
    loc, v = T.dvector("loc"), T.dvector("v")
    draw = RandomStreams(5).normal(loc, 2.0, dtype="float64")
    f = function([loc, v], Rop(draw**2, loc, v), no_default_updates=True)
    g = function([loc], draw, no_default_updates=True)
    given, along = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    np.testing.assert_allclose(f(given, along), 2 * np.asarray(g(given)) * along)


def test_a_variational_step():
    # The gradient of an expectation, by draws that are functions of the parameters.
    mu, rho = T.dscalars("mu", "rho")
    z = RandomStreams(5).normal(mu, T.exp(rho), size=(20000,), dtype="float64")
    cost = ((z - 3.0) ** 2).mean()  # (mu - 3)^2 + exp(2 rho)
    f = function([mu, rho], T.grad(cost, [mu, rho]))
    by_mu, by_rho = map(float, f(1.0, 0.0))
    assert abs(by_mu + 4) < 0.1 and abs(by_rho - 2) < 0.1


def test_a_gradient_through_a_loop_that_draws():
    start = T.dvector("start")
    streams = RandomStreams(5)
    states, updates = scan(
        lambda h: h * T.exp(0.1 * streams.normal(size=h.shape)),
        outputs_info=[start],
        n_steps=6,
    )
    end = states[-1]
    f = function([start], [end, T.grad(end.sum(), start)], updates=updates)
    for _ in range(2):  # other numbers each time, the same in both directions
        given = np.array([1.0, 2.0, -3.0])
        value, slope = map(np.asarray, f(given))
        np.testing.assert_allclose(slope, value / given, rtol=1e-12)


def test_a_gradient_with_checkpoints_draws_the_same():
    start = T.dvector("start")
    streams = RandomStreams(5)
    states, updates = scan_checkpoints(
        lambda h: h * T.exp(0.1 * streams.normal(size=h.shape)),
        outputs_info=[start],
        n_steps=8,
        save_every_N=4,
    )
    end = states[-1]
    f = function([start], [end, T.grad(end.sum(), start)], updates=updates)
    given = np.array([1.0, 2.0, -3.0])
    value, slope = map(np.asarray, f(given))
    np.testing.assert_allclose(slope, value / given, rtol=1e-12)
