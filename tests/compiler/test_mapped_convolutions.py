"""Convolutions with what alone reads them, in one launch by our kernels for GPUs."""

import os

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray._nn.convolution import Geometry
from gpuarray.compiler import config, function, shared
from gpuarray.compiler.ops.nnet import conv_reference as reference
from judge import assert_same

pytestmark = pytest.mark.oclgrind

PLAIN = Geometry((1, 1), (1, 1), ((1, 1), (1, 1)))
KINDS = {
    "tiles": ((2, 3, 5, 6), (9, 3, 3, 3), PLAIN),
    "parts": ((1, 25, 3, 3), (5, 25, 3, 3), PLAIN),
    "phases": ((2, 6, 5, 6), (9, 6, 3, 3), Geometry((2, 1), (1, 1), "half")),
    "depthwise": ((2, 4, 5, 6), (4, 1, 3, 3), Geometry((1, 1), (1, 1), "half", 4)),
    "groups": ((2, 10, 5, 4), (6, 5, 2, 3), Geometry((1, 2), (2, 1), "full", 2, True)),
    "one axis": ((2, 7, 9), (3, 7, 4), Geometry((2,), (1,), ((3, 0),))),
    "three axes": (
        (1, 6, 4, 3, 5),
        (2, 6, 2, 2, 3),
        Geometry((1, 1, 2), (1,) * 3, "half"),
    ),
}


@pytest.fixture
def own(monkeypatch, first_context):
    """A context whose convolutions are our own kernels'."""
    monkeypatch.setitem(os.environ, "GPUARRAY_DNN", "own")
    return first_context


def normal(shape, seed, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def compiled(context, inputs, outputs, **options):
    with config.use(device=str(context.name)):
        return function(inputs, outputs, **options)


def tensors(*arrays):
    return [T.tensor(str(a.dtype), (False,) * a.ndim) for a in arrays]


def convolution(geometry, x, w):
    """The graph."""
    op = T.nnet.abstract_conv.AbstractConv(
        geometry.ndim,
        border_mode=geometry.padding,
        subsample=geometry.stride,
        filter_dilation=geometry.dilation,
        num_groups=geometry.groups,
        filter_flip=geometry.is_flipped,
    )
    return op(x, w)


def by_channel(b, ndim):
    return b.dimshuffle("x", 0, *("x",) * (ndim - 2))


def assert_joined(f, context, plain):
    """An elementwise launch less than that function has where the device is a GPU."""
    fewer = 0 if context.is_cpu else 1
    assert f.info()["n_launches"] == plain.info()["n_launches"] + 1 - fewer


@pytest.mark.parametrize("kind", KINDS)
def test_bias_residual_and_relu(own, kind):
    image, filters, geometry = KINDS[kind]
    x, w = normal(image, 0), normal(filters, 1)
    right = reference.conv(geometry, x.astype("float64"), w.astype("float64"))
    b, r = normal(right.shape[1], 2), normal(right.shape, 3)
    inputs = tensors(x, w, b, r)
    y = convolution(geometry, *inputs[:2])
    plain = compiled(own, inputs[:2], y)
    f = compiled(
        own, inputs, T.nnet.relu(y + by_channel(inputs[2], x.ndim) + inputs[3])
    )
    plain(x, w)
    column = b.reshape(1, -1, *(1,) * (x.ndim - 2))
    wanted = np.maximum(right + column + r, 0).astype("float32")
    assert_same(f(x, w, b, r), wanted, 1e-4)
    assert_joined(f, own, plain)


@pytest.mark.parametrize("kind", ["phases", "groups"])
def test_gradients_with_what_reads_them(own, kind):
    image, filters, geometry = KINDS[kind]
    x, w = normal(image, 0), normal(filters, 1)
    wide = x.astype("float64"), w.astype("float64")
    g = normal(reference.conv(geometry, *wide).shape, 2)
    inputs = tensors(x, w, g)
    y = convolution(geometry, *inputs[:2])
    by_image, by_filters = T.grad((y * inputs[2]).sum(), inputs[:2])
    top = g.astype("float64")
    right = reference.grad_image(geometry, wide[1], top, image[2:])
    results = [(by_image, T.switch(inputs[0] > 0, by_image, 0), right * (x > 0))]
    right = reference.grad_filters(geometry, wide[0], top, filters[2:])
    results.append((by_filters, inputs[1] - by_filters, wide[1] - right))
    for gradient, expression, wanted in results:
        plain = compiled(own, inputs, gradient, on_unused_input="ignore")
        f = compiled(own, inputs, expression, on_unused_input="ignore")
        plain(x, w, g)
        assert_same(f(x, w, g), wanted.astype("float32"), 1e-4)
        assert_joined(f, own, plain)


def test_batch_norm_of_inference(own):
    """Its scale is computed before the convolution, whose kernel then has the rest."""
    image, filters, geometry = KINDS["depthwise"]
    x, w = normal(image, 0), normal(filters, 1)
    gamma, beta, mean = (normal(4, seed) for seed in (2, 3, 4))
    var = np.abs(normal(4, 5)) + 1
    (variable,) = tensors(x)
    numbers = [shared(each) for each in (gamma, beta, mean, var)]
    y = convolution(geometry, variable, shared(w))
    normed = T.nnet.bn.batch_normalization_test(y, *numbers, "spatial", epsilon=0.5)
    f = compiled(own, [variable], T.nnet.relu(normed))
    wide = reference.conv(geometry, x.astype("float64"), w.astype("float64"))
    for factor in (1, 2):
        numbers[0].set_value(factor * gamma)
        scale = (factor * gamma / np.sqrt(var + 0.5)).reshape(1, 4, 1, 1)
        wanted = (wide - mean.reshape(1, 4, 1, 1)) * scale + beta.reshape(1, 4, 1, 1)
        assert_same(f(x), np.maximum(wanted, 0).astype("float32"), 1e-4)
    if not own.is_cpu:
        assert f.info()["n_launches"] == 2


def test_every_layout_and_another_dtype(own):
    image, filters, geometry = KINDS["tiles"]
    x, w = normal(image, 0), normal(filters, 1)
    right = reference.conv(geometry, x.astype("float64"), w.astype("float64"))
    r = normal(right.shape, 2)
    inputs = tensors(x, w, r)
    f = compiled(own, inputs, T.gt(convolution(geometry, *inputs[:2]), inputs[2]))
    wide = gpuarray.zeros((2, 18, 5, 12), "float32", own)
    wide[:, ::-2, :, ::2] = r
    turned = gpuarray.asarray(r.transpose(3, 1, 0, 2).copy(), context=own)
    for more in (r, wide[:, ::-2, :, ::2], turned.transpose(2, 1, 3, 0)):
        assert_same(f(x, w, more), right > r)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_sums_of_other_dtypes(own, dtype):
    if dtype == "float64" and not own.has_double:
        pytest.skip("the device has no float64")
    image, filters, geometry = KINDS["parts"]
    x, w = normal(image, 0, dtype), normal(filters, 1, dtype)
    right = reference.conv(geometry, x.astype("float64"), w.astype("float64"))
    b = normal(right.shape[1], 2, dtype)
    inputs = tensors(x, w, b)
    f = compiled(
        own,
        inputs,
        T.tanh(convolution(geometry, *inputs[:2]) / 20 + by_channel(inputs[2], 4)),
    )
    wanted = np.tanh(right / 20 + b.astype("float64").reshape(1, -1, 1, 1))
    assert_same(f(x, w, b), wanted.astype(dtype), 5e-3 if dtype == "float16" else 1e-12)


def test_a_residual_of_two_bytes_is_read_apart(own):
    image, filters, geometry = KINDS["depthwise"]
    x, w = normal(image, 0, "float16"), normal(filters, 1, "float16")
    wide = reference.conv(geometry, x.astype("float64"), w.astype("float64"))
    r = normal(wide.shape, 2, "float16")
    inputs = tensors(x, w, r)
    f = compiled(own, inputs, convolution(geometry, *inputs[:2]) + inputs[2])
    assert_same(f(x, w, r), (wide + r).astype("float16"), 5e-3)
    if not own.is_cpu:
        assert f.info()["n_launches"] == 2


def test_an_update_in_place(own):
    image, filters, geometry = KINDS["tiles"]
    x = normal(image, 0)
    w = shared(normal(filters, 1), "w")
    before = w.get_value()
    (variable,) = tensors(x)
    loss = convolution(geometry, variable, w).sum()
    with config.use(device=str(own.name)):
        f = function(
            [variable], [], updates=[(w, w - np.float32(0.5) * T.grad(loss, w))]
        )
    wide = x.astype("float64")
    top = np.ones(reference.conv(geometry, wide, before.astype("float64")).shape)
    step = 0.5 * reference.grad_filters(geometry, wide, top, filters[2:])
    for _ in range(2):
        f(x)
    assert_same(np.asarray(w.get_value()), (before - 2 * step).astype("float32"), 1e-4)


def test_an_image_that_is_also_the_residual(own):
    image, filters, geometry = (2, 4, 3, 3), (4, 4, 3, 3), PLAIN
    x, w = normal(image, 0), normal(filters, 1)
    inputs = tensors(x, w)
    doubled = inputs[0] * 2  # which dies here, and is read by both
    f = compiled(own, inputs, convolution(geometry, doubled, inputs[1]) + doubled)
    wide = 2 * x.astype("float64")
    wanted = reference.conv(geometry, wide, w.astype("float64")) + wide
    assert_same(f(x, w), wanted.astype("float32"), 1e-4)


def test_saved_and_loaded(own, tmp_path):
    image, filters, geometry = KINDS["parts"]
    x, w = normal(image, 0), normal(filters, 1)
    inputs = tensors(x, w)
    f = compiled(own, inputs, T.nnet.relu(convolution(geometry, *inputs)))
    right = f(x, w)
    f.save(tmp_path / "f", graph=False)
    loaded = gpuarray.compiler.load(tmp_path / "f", own)
    np.testing.assert_array_equal(np.asarray(loaded(x, w)), np.asarray(right))
