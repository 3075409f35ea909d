"""Programs with random streams, as users of Theano write them."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config
from gpuarray.compiler.sandbox.rng_mrg import MRG_RandomStreams
from gpuarray.compiler.tensor.shared_randomstreams import RandomStreams


@pytest.fixture(autouse=True)
def on_it(context):
    with config.use(device=context.name, floatX="float32"):
        yield


def stripes(count):
    """Images of 4 by 4 whose rows, or columns, are on or off."""
    rng = np.random.RandomState(0)
    lines = rng.randint(0, 2, (count, 4, 1)).repeat(4, 2)
    turned = rng.randint(0, 2, count).astype(bool)
    lines[turned] = lines[turned].transpose(0, 2, 1)
    return lines.reshape(count, 16).astype("float32")


def weights(rng, *shape):
    bound = np.sqrt(6.0 / sum(shape))
    return theano.shared(rng.uniform(-bound, bound, shape).astype("float32"))


@pytest.mark.parametrize("streams", [RandomStreams, MRG_RandomStreams])
def test_a_denoising_autoencoder_learns(streams):
    rng = np.random.RandomState(1)
    x = T.matrix("x")
    theano_rng = streams(rng.randint(2**30))
    w, b = weights(rng, 16, 12), theano.shared(np.zeros(12, "float32"))
    b_prime = theano.shared(np.zeros(16, "float32"))
    corrupted = x * theano_rng.binomial(
        size=x.shape, n=1, p=0.8, dtype=theano.config.floatX
    )
    y = T.nnet.sigmoid(T.dot(corrupted, w) + b)
    z = T.nnet.sigmoid(T.dot(y, w.T) + b_prime)
    loss = -T.sum(x * T.log(z) + (1 - x) * T.log(1 - z), axis=1)
    cost = T.mean(loss)
    params = [w, b, b_prime]
    gparams = T.grad(cost, params)
    updates = [(p, p - 0.5 * g) for p, g in zip(params, gparams, strict=True)]
    train = theano.function([x], cost, updates=updates)
    clean = theano.function([x], z, givens={corrupted: x})
    data = stripes(200)
    costs = [float(train(data)) for _ in range(150)]
    assert np.mean(costs[-10:]) < 0.6 * np.mean(costs[:3])
    assert abs(np.asarray(clean(data)) - data).mean() < 0.25
    # The noise is new in each call: without steps the cost still moves.
    still = theano.function([x], cost)
    assert float(still(data)) != float(still(data))


@pytest.mark.parametrize("streams", [RandomStreams, MRG_RandomStreams])
def test_a_boltzmann_machine_learns_by_contrastive_divergence(streams):
    rng = np.random.RandomState(1)
    x = T.matrix("x")
    theano_rng = streams(rng.randint(2**30))
    w = theano.shared(0.01 * rng.normal(size=(16, 20)).astype("float32"), "w")
    hbias = theano.shared(np.zeros(20, "float32"), "hbias")
    vbias = theano.shared(np.zeros(16, "float32"), "vbias")

    def free_energy(v):
        hidden = T.dot(v, w) + hbias
        return -T.dot(v, vbias) - T.sum(T.log(1 + T.exp(hidden)), axis=1)

    def sample(mean):
        return theano_rng.binomial(
            size=mean.shape, n=1, p=mean, dtype=theano.config.floatX
        )

    def gibbs_vhv(v):
        h = sample(T.nnet.sigmoid(T.dot(v, w) + hbias))
        v_mean = T.nnet.sigmoid(T.dot(h, w.T) + vbias)
        return v_mean, sample(v_mean)

    (means, chain), updates = theano.scan(gibbs_vhv, outputs_info=[None, x], n_steps=3)
    end = chain[-1]
    cost = T.mean(free_energy(x)) - T.mean(free_energy(end))
    params = [w, hbias, vbias]
    gparams = T.grad(cost, params, consider_constant=[end])
    for param, gparam in zip(params, gparams, strict=True):
        updates[param] = param - np.float32(0.5) * gparam
    error = T.mean((x - means[-1]) ** 2)
    train = theano.function([x], error, updates=updates)
    data = stripes(100)
    errors = [float(train(data)) for _ in range(300)]
    assert np.mean(errors[-10:]) < 0.5 * np.mean(errors[:3])


def test_hamiltonian_monte_carlo_finds_the_distribution():
    # Chains in the columns of a normal distribution of known mean and covariance.
    mean = np.array([1.0, -2.0])
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    chains, step, leaps = 400, np.float32(0.25), 8
    precision = np.linalg.inv(covariance).astype("float32")
    centre = mean.astype("float32")

    def energy(x):
        difference = x - centre
        return 0.5 * T.sum(T.dot(difference, precision) * difference, axis=1)

    position = theano.shared(np.zeros((chains, 2), "float32"), "position")
    s_rng = RandomStreams(123)
    momentum = s_rng.normal(size=(chains, 2))

    def leap(x, v):
        x = x + step * v
        return x, v - step * T.grad(energy(x).sum(), x)

    half = momentum - 0.5 * step * T.grad(energy(position).sum(), position)
    (xs, vs), _ = theano.scan(leap, outputs_info=[position, half], n_steps=leaps)
    end = xs[-1]
    velocity = vs[-1] + 0.5 * step * T.grad(energy(end).sum(), end)
    before = energy(position) + 0.5 * (momentum**2).sum(1)
    after = energy(end) + 0.5 * (velocity**2).sum(1)
    accept = T.exp(before - after) - s_rng.uniform(size=(chains,)) >= 0
    moved = T.switch(accept.dimshuffle(0, "x"), end, position)
    simulate = theano.function([], accept.mean(), updates=[(position, moved)])
    kept, rates = [], []
    for number in range(120):
        rates.append(float(simulate()))
        if number >= 20:
            kept.append(position.get_value())
    samples = np.concatenate(kept)
    assert np.mean(rates) > 0.8
    np.testing.assert_allclose(samples.mean(0), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(samples.T), covariance, atol=0.15)
