"""Gradients of draws: by the parameters of those that are smooth functions of them."""

from functools import partial

import numpy as np
import pytest
import scipy
from gpuarray._random.table import DISTRIBUTIONS
from gpuarray.compiler import (
    Rop,
    config,
    function,
    scan,
    scan_checkpoints,
    tensor as T,
)
from gpuarray.compiler.gradient import NullTypeGradError
from gpuarray.compiler.ops.random.draws import gamma_slope
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
RATIOS = {  # made of two random numbers: parameters, and the mean of the squares
    "beta": ((0.8, 2.5), lambda a, b: a * (a + 1) / ((a + b) * (a + b + 1))),
    "f": ((5.0, 30.0), lambda n, d: d**2 * (n + 2) / (n * (d - 2) * (d - 4))),
    "standard_t": ((9.0,), lambda df: df / (df - 2)),
}
GAMMAS = {  # parameters, the shape, and what multiplies the gamma number
    "gamma": ((0.3, 2.0), lambda a, s: a, 2.0),
    "chisquare": ((1.4,), lambda df: df / 2, 2.0),
    "loggamma": ((2.5,), lambda a: a, 1.0),
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


def quantiles(shape, low, high):
    """Numbers of gamma distributions: below ``low``, else above with ``high``."""
    below = scipy.special.gammaincinv(shape, low)
    return np.where(low < 0.5, below, scipy.special.gammainccinv(shape, high))


@pytest.mark.parametrize(("dtype", "rtol"), [("float32", 1e-4), ("float64", 1e-8)])
def test_slopes_of_gamma_numbers_are_those_of_quantiles(dtype, rtol):
    shapes = [0.01, 0.1, 0.7, 1, 2, 5, 12, 20, 31.5, 33, 100, 1e3, 1e5]
    low = np.array([1e-9, 1e-4, 0.02, 0.2, 0.45, 0.7, 0.95, 0.999, 1 - 1e-6, 1])
    high = np.array([1, 1, 1, 1, 1, 0.3, 0.05, 1e-3, 1e-6, 1e-10])
    shape, low = np.meshgrid(np.array(shapes), low)
    high = np.broadcast_to(high[:, None], shape.shape)
    numbers = quantiles(shape, low, high)
    kept = numbers > 1e-30
    shape, low, high = shape[kept], low[kept], high[kept]
    numbers, h = numbers[kept], 1e-3 * shape
    near, far = (
        np.log(quantiles(shape + s, low, high) / quantiles(shape - s, low, high)) / s
        for s in (h, 2 * h)
    )
    expected = (4 * near - far) / 6
    a, y = (T.TensorType(dtype, (False,))() for _ in range(2))
    f = function([a, y], gamma_slope(a, y))
    found = np.asarray(f(shape.astype(dtype), np.log(numbers).astype(dtype)))
    np.testing.assert_allclose(found, expected, rtol=rtol)
    assert np.isnan(f(np.array([-1, 2], dtype), np.array([0, np.nan], dtype))).all()


def with_slopes(name, values):
    """40000 draws, and their derivatives by each parameter."""
    parameters = [T.dscalar() for _ in values]
    x = getattr(RandomStreams(5), name)(*parameters, size=(40000,), dtype="float64")
    slopes = [Rop(x, p, T.ones_like(p)) for p in parameters]
    x, *slopes = function(parameters, [x, *slopes])(*values)
    return np.asarray(x), [np.asarray(slope) for slope in slopes]


@pytest.mark.parametrize("name", sorted(GAMMAS))
def test_gradients_of_gamma_numbers_are_those_of_their_quantiles(name):
    values, shape, scale = GAMMAS[name]
    x, slopes = with_slopes(name, values)
    number = np.exp(x) if name == "loggamma" else x / scale
    a, h = shape(*values), 1e-4
    p = scipy.special.gammainc(a, number)
    above, below = (scipy.special.gammaincinv(a + s, p) for s in (h, -h))
    by_shape = np.log(above / below) / (2 * h) * (1 if name == "loggamma" else number)
    kept = (p > 1e-6) & (p < 1 - 1e-6)
    expected = scale * by_shape * (0.5 if name == "chisquare" else 1)
    np.testing.assert_allclose(slopes[0][kept], expected[kept], rtol=1e-5)
    for slope in slopes[1:]:
        np.testing.assert_allclose(slope, number, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(RATIOS))
def test_gradients_of_ratios_of_gamma_numbers(name):
    values, square = RATIOS[name]
    x, slopes = with_slopes(name, values)
    for i, slope in enumerate(slopes):
        step = STEP * np.eye(len(values))[i]
        expected = (square(*(values + step)) - square(*(values - step))) / (2 * STEP)
        terms = 2 * x * slope
        error = terms.std() / 200
        assert error < 0.1 * abs(expected)
        assert abs(terms.mean() - expected) < 4 * error


def test_gradients_of_shares():
    a = T.dvector("a")
    x = RandomStreams(5).dirichlet(a, size=(40000,), dtype="float64")
    given, along = np.array([0.5, 1.0, 2.5]), np.array([1.0, -0.5, 0.2])
    slope = np.asarray(function([a], Rop(x, a, T.constant(along)))(given))
    total = given.sum()
    expected = along / total - given * along.sum() / total**2
    np.testing.assert_allclose(slope.mean(0), expected, atol=0.01)


def test_a_gradient_of_a_small_shape_is_finite():
    a = T.dscalar("a")
    x = RandomStreams(5).gamma(a, 1.0, size=(50,), dtype="float64")
    slope, least = function([a], [Rop(x, a, T.ones_like(a)), x.min()])(1e-3)
    assert float(least) == 0 and np.isfinite(np.asarray(slope)).all()


def test_gamma_numbers_are_differentiable_once():
    a = T.dscalar("a")
    x = RandomStreams(5).gamma(a, 1.0, size=(4,), dtype="float64").sum()
    with pytest.raises(TypeError, match=r"gamma draw .*are differentiable once"):
        T.grad(T.grad(x, a) ** 2, a)


@pytest.mark.parametrize(
    "name", sorted(set(DISTRIBUTIONS) - {*SMOOTH, *GAMMAS, *RATIOS})
)
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


@pytest.mark.parametrize("checkpoint", ["all", 2])
def test_a_gradient_in_a_loop_beside_a_draw_without_one(checkpoint):
    x, p, n = T.dvector("x"), T.dscalar("p"), T.iscalar("n")
    streams = RandomStreams(5)

    def iteration(state):
        mask = streams.bernoulli(p, size=(3,), dtype="float64")
        return state * (mask + 0.5), mask

    (states, masks), updates = scan(
        iteration, outputs_info=[x, None], n_steps=n, checkpoint=checkpoint
    )
    slope = T.grad(states[-1].sum(), x)
    f = function([x, p, n], [masks, slope], updates=updates)
    drawn, found = map(np.asarray, f(np.ones(3), 0.5, 5))
    assert set(drawn.ravel()) == {0, 1}
    np.testing.assert_allclose(found, (drawn + 0.5).prod(axis=0), rtol=1e-12)
    with pytest.raises(NullTypeGradError, match="a draw of bernoulli has no gradient"):
        T.grad(states[-1].sum(), p)


def test_a_gradient_through_a_state_by_which_a_draw_has_none_is_undefined():
    x, y, z = T.dvectors("x", "y", "z")
    streams = RandomStreams(5)

    def iteration(row, state, other):
        drawn = streams.poisson(state * row, dtype="float64")
        return state + y, other * z + drawn

    (_, others), _ = scan(iteration, T.stack([x, x]), [x, T.zeros_like(x)])
    for variable in (x, y):
        with pytest.raises(NullTypeGradError, match="a draw of poisson has no"):
            T.grad(others[-1].sum(), variable)
    assert T.grad(others[-1].sum(), z).type == z.type


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


@pytest.mark.parametrize(
    "loop",
    [partial(scan, n_steps=6), partial(scan_checkpoints, n_steps=8, save_every_N=4)],
    ids=["stored", "checkpoints"],
)
def test_a_gradient_through_a_loop_that_draws(loop):
    start = T.dvector("start")
    streams = RandomStreams(5)
    states, updates = loop(
        lambda h: h * T.exp(0.1 * streams.normal(size=h.shape)), outputs_info=[start]
    )
    end = states[-1]
    f = function([start], [end, T.grad(end.sum(), start)], updates=updates)
    for _ in range(2):  # other numbers each time, the same in both directions
        given = np.array([1.0, 2.0, -3.0])
        value, slope = map(np.asarray, f(given))
        np.testing.assert_allclose(slope, value / given, rtol=1e-12)
