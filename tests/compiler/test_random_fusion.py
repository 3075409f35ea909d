"""Draws are computed in the kernels that read them."""

import gpuarray
import numpy as np
import pytest
from gpuarray.compiler import config, function, plan, shared, tensor as T
from gpuarray.compiler.random import RandomStreams


@pytest.fixture(autouse=True)
def on_it(context):
    with config.use(device=context.name, floatX="float32"):
        yield


def kernels(f):
    """The launches and calls of a plan that compute floats."""
    values = f.plan.values
    kinds = plan.LaunchStep | plan.ReduceStep | plan.Call
    return [
        step
        for step in f.plan.steps
        if isinstance(step, kinds)
        and any(values[n].dtype.startswith("float") for n in step.outs)
    ]


def draws_in(step):
    return "draw_" in f"{step.label}{getattr(step, 'expr', '')}"


def written(f):
    """The number of arrays of floats that steps make."""
    return sum(len(step.outs) for step in kernels(f))


def test_noise_joins_what_reads_it():
    x = T.fmatrix("x")
    noisy = T.tanh(x + 0.1 * RandomStreams(1).normal(size=x.shape))
    f = function([x], noisy)
    (step,) = kernels(f)
    assert draws_in(step) and plan.INDEX in step.in_dtypes
    generator = gpuarray.random.default_rng(1)
    given = np.ones((5, 6), "f")
    noise = np.asarray(generator.normal(size=(5, 6), dtype="float32"))
    np.testing.assert_allclose(f(given), np.tanh(given + 0.1 * noise), rtol=1e-5)


def test_several_draws_join_one_kernel():
    x = T.fmatrix("x")
    streams = RandomStreams(1)
    draws = [getattr(streams, name)(size=x.shape) for name in ("normal", "uniform")]
    f = function([x], x + draws[0] * draws[1])
    (step,) = kernels(f)
    assert step.in_dtypes.count(plan.INDEX) == 1
    generators = [gpuarray.random.Generator(1, stream=k) for k in (0, 1)]
    normal = np.asarray(generators[0].normal(size=(3, 4), dtype="float32"))
    uniform = np.asarray(generators[1].uniform(size=(3, 4), dtype="float32"))
    found = np.asarray(f(np.zeros((3, 4), "f")))
    np.testing.assert_allclose(found, normal * uniform, rtol=1e-6)


def test_both_reals_in_one_kernel():
    x = T.fvector("x")
    streams = RandomStreams(1)
    wide = streams.normal(size=x.shape, dtype="float64")
    narrow = streams.normal(size=x.shape, dtype="float32")
    f = function([x], x + wide + narrow)
    assert len(kernels(f)) == 1
    generators = [gpuarray.random.Generator(1, stream=k) for k in (0, 1)]
    expected = np.asarray(generators[0].normal(size=9))
    expected = expected + np.asarray(generators[1].normal(size=9, dtype="float32"))
    np.testing.assert_allclose(f(np.zeros(9, "f")), expected, rtol=1e-12)


def layers():
    """A network with a dropout between two products, and its input."""
    rng = np.random.default_rng(0)
    x = T.fmatrix("x")
    first, second = (
        shared(rng.normal(size=shape).astype("f"), name=name)
        for shape, name in (((8, 16), "first"), ((16, 4), "second"))
    )
    hidden = T.tanh(T.dot(x, first))
    streams = RandomStreams(3)
    mask = streams.bernoulli(0.75, size=hidden.shape, dtype="float32")
    cost = (T.dot(hidden * mask / 0.75, second) ** 2).sum()
    return x, streams, mask, cost, T.grad(cost, [first, second])


def test_the_gradient_of_a_dropout_draws_again():
    x, streams, mask, cost, gradients = layers()
    f = function([x], [cost, *gradients])
    drawing = [step for step in kernels(f) if draws_in(step)]
    assert len(drawing) == 2
    for step in drawing:  # none writes the mask
        assert all("draw_bernoulli" not in result for result in step.text[-1:]) or (
            len(step.outs) == 1
        )
    stored = function([x], [cost, mask, *gradients])
    given = np.random.default_rng(1).normal(size=(5, 8)).astype("f")
    own = [np.asarray(value) for value in f(given)]
    streams.seed()
    total, kept, *slopes = (np.asarray(value) for value in stored(given))
    assert set(np.unique(kept)) == {0, 1}
    for a, b in zip(own, [total, *slopes], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


def test_a_draw_that_a_reduction_reads():
    x = T.fmatrix("x")
    streams = RandomStreams(1)
    value = T.exp(x + streams.normal(size=x.shape)).mean(1)
    f = function([x], value)
    generator = gpuarray.random.default_rng(1)
    noise = np.asarray(generator.normal(size=(3, 500), dtype="float32"))
    found = f(np.zeros((3, 500), "f"))
    np.testing.assert_allclose(found, np.exp(noise).mean(1), rtol=1e-5)


def test_gumbel_and_softmax():
    x = T.fmatrix("x")
    streams = RandomStreams(1)
    f = function([x], T.nnet.softmax((x + streams.gumbel(size=x.shape)) / 0.5))
    generator = gpuarray.random.default_rng(1)
    noise = function([], RandomStreams(1).gumbel(size=(4, 7)))
    scores = np.asarray(noise()) / 0.5
    expected = np.exp(scores - scores.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(f(np.zeros((4, 7), "f")), expected, rtol=2e-5)
    assert generator.state[2] == 0


def test_a_part_of_a_draw_is_that_part():
    whole = RandomStreams(1).normal(size=(6, 8))
    part = RandomStreams(1).normal(size=(6, 8))[1:5:2, ::3]
    row = RandomStreams(1).normal(size=(6, 8))[2]
    expected, found, third = map(
        np.asarray, function([], [whole, part, row])()
    )  # fmt: skip
    np.testing.assert_array_equal(found, expected[1:5:2, ::3])
    np.testing.assert_array_equal(third, expected[2])


def test_a_turned_draw():
    x = T.fmatrix("x")
    f = function([x], x + RandomStreams(1).normal(size=(8, 6)).T)
    expected = gpuarray.random.default_rng(1).normal(size=(8, 6), dtype="float32")
    # In one kernel with a sum a compiler may round less often.
    np.testing.assert_allclose(
        f(np.zeros((6, 8), "f")), np.asarray(expected).T, rtol=3e-7
    )


def test_a_broadcast_draw():
    x = T.fmatrix("x")
    streams = RandomStreams(1)
    f = function([x], x + streams.normal(size=(1, x.shape[1])))
    expected = gpuarray.random.default_rng(1).normal(size=(1, 9), dtype="float32")
    found = np.asarray(f(np.zeros((4, 9), "f")))
    np.testing.assert_allclose(found, np.tile(np.asarray(expected), (4, 1)), rtol=3e-7)


def test_large_draws(context):
    n = (1 << 20) + 3
    f = function([], RandomStreams(1).uniform(size=(n,)))
    expected = gpuarray.random.default_rng(1, context).uniform(size=n, dtype="float32")
    np.testing.assert_array_equal(f(), np.asarray(expected))
