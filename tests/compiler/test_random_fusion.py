"""Draws are computed in the kernels that read them."""

import gpuarray
import numpy as np
import pytest
from gpuarray.compiler import config, function, plan, shared, tensor as T
from gpuarray.compiler.gpukernels.rows import body
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


def matrices(f):
    """The number of matrices that kernels write."""
    kinds = plan.LaunchStep | plan.ReduceStep | plan.Call
    outs = [n for step in f.plan.steps if isinstance(step, kinds) for n in step.outs]
    return sum(f.plan.values[n].broadcastable.count(False) > 1 for n in outs)


def drawn(name, shape, *parameters, dtype="float32"):
    """The first draw of a stream, which an elementwise kernel has written."""
    draw = getattr(RandomStreams(1), name)(*parameters, size=shape, dtype=dtype)
    return np.asarray(function([], draw)())


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
    narrow = np.asarray(generators[1].normal(size=9, dtype="float32"))
    found = f(np.zeros(9, "f")) - np.asarray(generators[0].normal(size=9))
    two_ulp = 2 * np.finfo("float32").eps
    np.testing.assert_allclose(found, narrow, rtol=two_ulp, atol=1e-14)


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_monte_carlo_mean_writes_no_random_array(dtype):
    shape = 3, 501
    z = RandomStreams(1).normal(size=shape, dtype=dtype)
    f = function([], T.exp(z).mean(1))
    assert matrices(f) == 0
    noise = drawn("normal", shape, dtype=dtype)
    rtol = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(f(), np.exp(noise).mean(1), rtol=rtol)


def test_reductions_draw_the_same_numbers():
    shape = 5, 70
    z = RandomStreams(1).uniform(size=shape)
    results = [z.max(), z.max(0), T.argmin(-z, 1)]
    noise = drawn("uniform", shape)
    expected = [noise.max(), noise.max(0), noise.argmax(1)]
    for result, wanted in zip(results, expected, strict=True):
        f = function([], result)
        np.testing.assert_array_equal(f(), wanted)
        z.rng.set_value((1, 0, 0))


def test_the_sum_of_a_dropout_writes_no_mask():
    x = T.fmatrix("x")
    mask = RandomStreams(1).bernoulli(0.75, size=x.shape, dtype="float32")
    given = np.random.default_rng(0).normal(size=(6, 40)).astype("f")
    f = function([x], [(x * mask).sum(1), abs(x * mask).sum(1)])
    assert matrices(f) == 0
    kept = drawn("bernoulli", given.shape, 0.75) * given
    for found, expected in zip(f(given), (kept, abs(kept)), strict=True):
        np.testing.assert_allclose(found, expected.sum(1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("by_walks", [0, 1])
@pytest.mark.parametrize("length", [7, 3000])
def test_softmax_of_gumbel_noise_is_one_step(by_walks, length, monkeypatch):
    """Of short rows, and of such as stay in registers; by walks, as on processors."""
    monkeypatch.setattr(body, "prefers_walks", lambda s, *_: s.integer(by_walks))
    x = T.fmatrix("x")
    noise = RandomStreams(1).gumbel(size=x.shape)
    f = function([x], T.nnet.softmax((x + noise) / 0.5))
    (step,) = kernels(f)
    assert draws_in(step) and matrices(f) == 1
    scores = drawn("gumbel", (4, length)) / np.float32(0.5)
    expected = np.exp(scores - scores.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(f(np.zeros((4, length), "f")), expected, rtol=2e-5)


def test_a_choice_by_gumbel_noise_writes_no_noise():
    x = T.fmatrix("x")
    noise = RandomStreams(1).gumbel(size=x.shape)
    f = function([x], T.argmax(x + noise, axis=1))
    assert matrices(f) == 0
    given = np.random.default_rng(0).normal(size=(50, 9)).astype("f")
    given[3, 4:7] = np.nan
    scores = given + drawn("gumbel", given.shape)
    np.testing.assert_array_equal(f(given), scores.argmax(1))
    with pytest.raises(ValueError, match="no elements to reduce"):
        f(np.zeros((2, 0), "f"))


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
