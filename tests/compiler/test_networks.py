"""Whole networks: what they learn, their gradients, from files, and in loops."""

import os
import subprocess
import sys

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray._nn.convolution import Geometry
from gpuarray.compiler import function, grad, shared
from gpuarray.compiler.ops.nnet.conv_reference import conv, grad_filters, grad_image
from gpuarray.compiler.tensor.signal.pool import pool_2d
from judge import assert_same
from sklearn.datasets import load_digits


def drawn(*shape, seed=0, scale=None, dtype="float32"):
    """Normal numbers, by default with the deviation that keeps a layer's variance."""
    scale = np.prod(shape[1:]) ** -0.5 if scale is None else scale
    return np.random.default_rng(seed).normal(0, scale, shape).astype(dtype)


# ---- LeNet on digits ----


class LeNet:
    """Two convolutions with pooling, a hidden layer and a softmax, of images 8 by 8."""

    def __init__(self):
        shapes = (20, 1, 3, 3), (50, 20, 3, 3), (200, 100), (100, 10)
        scales = None, None, 200**-0.5, 100**-0.5
        given = [
            drawn(*shape, seed=seed, scale=scale)
            for seed, (shape, scale) in enumerate(zip(shapes, scales, strict=True))
        ]
        self.weights = [shared(w, name=f"w{i}") for i, w in enumerate(given)]
        self.biases = [
            shared(np.zeros(n, "float32"), name=f"b{i}")
            for i, n in enumerate((20, 50, 100, 10))
        ]
        self.params = [*self.weights, *self.biases]

    def scores(self, images):
        out = images.dimshuffle(0, "x", 1, 2)
        layers = list(zip(self.weights, self.biases, strict=True))
        for w, b in layers[:2]:
            out = T.nnet.conv2d(out, w, border_mode="half")
            out = pool_2d(out, (2, 2), ignore_border=True)
            out = T.tanh(out + b.dimshuffle("x", 0, "x", "x"))
        (w, b), (v, c) = layers[2:]
        return T.nnet.softmax(T.dot(T.tanh(T.dot(out.flatten(2), w) + b), v) + c)

    def functions(self, rate=0.05):
        """A step of descent with momentum, and the names of digits."""
        images, names = T.ftensor3("images"), T.lvector("names")
        scores = self.scores(images)
        loss = T.nnet.categorical_crossentropy(scores, names).mean()
        updates = []
        for p, slope in zip(self.params, grad(loss, self.params), strict=True):
            speed = shared(np.zeros_like(p.get_value()))
            change = 0.9 * speed - rate * slope
            updates += [(speed, change), (p, p + change)]
        step = function([images, names], loss, updates=updates, name="step")
        names_of = function([images], T.argmax(scores, axis=1), name="names_of")
        return step, names_of


def images_and_names():
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.images))
    return (data.images[order] / 16).astype("float32"), data.target[order]


@pytest.mark.every_case
def test_lenet_learns_digits(on_context):
    images, names = images_and_names()
    step, names_of = LeNet().functions()
    losses = [
        np.mean([step(images[i : i + 75], names[i : i + 75]) for i in batches])
        for batches in [range(0, 1500, 75)] * 3
    ]
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.2 * losses[0]
    assert np.mean(names_of(images[1500:]) == names[1500:]) > 0.93


LOADS = """
import sys
import numpy as np
import gpuarray
f = gpuarray.load_function(sys.argv[2], gpuarray.context(sys.argv[1]))
given = np.load(sys.argv[3])
print([float(f(given["images"], given["names"])) for _ in range(3)])
assert "gpuarray.compiler" not in sys.modules
"""


def test_a_saved_network_trains_without_the_compiler(on_context, tmp_path):
    images, names = images_and_names()
    step, _ = LeNet().functions()
    step.save(tmp_path / "step", graph=False)
    np.savez(tmp_path / "given.npz", images=images[:50], names=names[:50])
    program = [sys.executable, "-c", LOADS, on_context.name, tmp_path / "step"]
    done = subprocess.run(
        [*program, tmp_path / "given.npz"],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [float(each) for each in done.stdout.strip(" []\n").split(",")]
    expected = [float(step(images[:50], names[:50])) for _ in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert found[2] < found[0]


# ---- a network of images 256 by 256, against NumPy ----


PLAIN = Geometry((1, 1), (1, 1), ((0, 0), (0, 0)), is_flipped=True)


def by_numpy(x, y, w, b, v, c, d, e):
    """The loss and the gradients by the parameters and the images."""
    a = conv(PLAIN, x, w)
    n, channels, rows, columns = a.shape
    windows = a.reshape(n, channels, rows // 5, 5, columns // 5, 5)
    maxima = windows.max((3, 5), keepdims=True)
    h = np.tanh(maxima[:, :, :, 0, :, 0] + b[:, None, None])
    k = np.tanh(conv(PLAIN, h, v) + c[:, None, None])
    s = k.reshape(n, -1) @ d + e
    p = np.exp(s - s.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    loss = -np.log(p[range(n), y]).mean()

    ds = (p - np.eye(10)[y]) / n
    dk = (ds @ d.T).reshape(k.shape) * (1 - k**2)
    dh = grad_image(PLAIN, v, dk, h.shape[2:]) * (1 - h**2)
    da = ((windows == maxima) * dh[:, :, :, None, :, None]).reshape(a.shape)
    return (
        loss,
        grad_filters(PLAIN, x, da, w.shape[2:]),
        dh.sum((0, 2, 3)),
        grad_filters(PLAIN, h, dk, v.shape[2:]),
        dk.sum((0, 2, 3)),
        k.reshape(n, -1).T @ ds,
        ds.sum(0),
        grad_image(PLAIN, w, da, x.shape[2:]),
    )


def test_a_network_of_large_images_agrees_with_numpy(on_context):
    x, y = T.ftensor4("x"), T.lvector("y")
    values = [
        drawn(6, 1, 7, 7, seed=1),
        drawn(6, seed=2, scale=0.1),
        drawn(16, 6, 7, 7, seed=3),
        drawn(16, seed=4, scale=0.1),
        drawn(16 * 44 * 44, 10, seed=5, scale=0.006),
        drawn(10, seed=6, scale=0.1),
    ]
    w, b, v, c, d, e = params = [shared(value) for value in values]
    h = pool_2d(T.nnet.conv2d(x, w), (5, 5), ignore_border=True)
    h = T.tanh(h + b.dimshuffle("x", 0, "x", "x"))
    k = T.tanh(T.nnet.conv2d(h, v) + c.dimshuffle("x", 0, "x", "x"))
    p = T.nnet.softmax(T.dot(k.flatten(2), d) + e)
    loss = T.nnet.categorical_crossentropy(p, y).mean()
    f = function([x, y], [loss, *grad(loss, [*params, x])])
    image, names = drawn(2, 1, 256, 256, seed=7, scale=1), np.array([3, 8])
    wide = [value.astype("float64") for value in (image, *values)]
    expected = by_numpy(wide[0], names, *wide[1:])
    for got, host in zip(f(image, names), expected, strict=True):
        assert_same(got, host.astype("float32"), rtol=2e-4)


# ---- a residual block with batch normalisation ----


def block(x, w, v, gammas, betas, statistics=None):
    """Two convolutions, each normalised, added to what came in."""
    out, found = x, []
    for i, filters in enumerate((w, v)):
        out = T.nnet.conv2d(out, filters, border_mode="half")
        if statistics is None:
            out, *means = T.nnet.bn.batch_normalization_train(
                out, gammas[i], betas[i], "spatial"
            )
            found += means
        else:
            mean, variance = statistics[2 * i], statistics[2 * i + 1]
            out = T.nnet.bn.batch_normalization_test(
                out, gammas[i], betas[i], mean, variance, "spatial"
            )
        out = T.nnet.softplus(out) if i == 0 else out
    return T.tanh(out + x), found


@pytest.mark.parametrize("phase", ["train", "test"])
def test_gradients_of_a_residual_block_agree_with_differences(on_context, phase):
    f64 = dict(dtype="float64")
    values = [
        drawn(2, 3, 5, 4, seed=1, scale=1, **f64),
        drawn(3, 3, 3, 3, seed=2, **f64),
        drawn(3, 3, 3, 3, seed=3, **f64),
        1 + drawn(2, 3, seed=4, scale=0.1, **f64),
        drawn(2, 3, seed=5, scale=0.1, **f64),
    ]
    variables = [T.dtensor4(), T.dtensor4(), T.dtensor4(), T.dmatrix(), T.dmatrix()]
    statistics = None
    if phase == "test":
        means = drawn(4, 3, seed=6, scale=0.3, **f64)
        values.append(np.where(np.arange(4)[:, None] % 2, 1 + means**2, means))
        variables.append(statistics := T.dmatrix())
    out, _ = block(*variables[:5], statistics)
    cost = (out * drawn(*values[0].shape, seed=7, scale=1, **f64)).sum()
    f = function(variables, [cost, *grad(cost, variables)])
    _, *slopes = f(*values)
    step = 1e-6
    for i, slope in enumerate(slopes):
        along = drawn(*values[i].shape, seed=8 + i, scale=1, **f64)
        ends = []
        for sign in (1, -1):
            moved = list(values)
            moved[i] = moved[i] + sign * step * along
            ends.append(float(f(*moved)[0]))
        expected = (ends[0] - ends[1]) / (2 * step)
        got = (np.asarray(slope) * along).sum()
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


def test_both_phases_agree_on_one_batch(on_context):
    """With the statistics of the batch the test phase is the training phase."""
    x, w, v = T.ftensor4(), T.ftensor4(), T.ftensor4()
    gammas, betas = T.fmatrix(), T.fmatrix()
    trained, (m, r, n, s) = block(x, w, v, gammas, betas)
    variances = (1 / r**2 - 1e-4, 1 / s**2 - 1e-4)
    statistics = [m, variances[0], n, variances[1]]
    tested, _ = block(x, w, v, gammas, betas, statistics)
    f = function([x, w, v, gammas, betas], [trained, tested])
    values = [drawn(2, 3, 5, 4, scale=1), *(drawn(3, 3, 3, 3, seed=i) for i in (1, 2))]
    got, expected = f(*values, np.ones((2, 3), "f4"), np.zeros((2, 3), "f4"))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


# ---- a convolution of a state in each iteration ----


def test_a_loop_of_convolutions(on_context):
    """A state is convolved three times, forwards and back, as it is without a loop."""
    x, w, n = T.ftensor4("x"), T.ftensor4("w"), T.iscalar("n")

    def turn(state, w):
        return T.tanh(T.nnet.conv2d(state, w, border_mode="half"))

    states, _ = theano.scan(turn, outputs_info=x, non_sequences=w, n_steps=n)
    cost = (states[-1] ** 2).sum()
    f = function([x, w, n], [states, *grad(cost, [x, w])])
    assert "pauses" not in str(f.plan)
    unrolled = [x]
    for _ in range(3):
        unrolled.append(turn(unrolled[-1], w))
    cost = (unrolled[-1] ** 2).sum()
    g = function([x, w], [T.stack(unrolled[1:]), *grad(cost, [x, w])])
    given = drawn(2, 3, 6, 5, scale=1), drawn(3, 3, 3, 3, seed=1)
    for got, expected in zip(f(*given, 3), g(*given), strict=True):
        assert_same(got, np.asarray(expected), rtol=1e-4)
