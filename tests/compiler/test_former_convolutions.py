"""Convolutions in Theano's former places, by SciPy."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.tensor.nnet import corr, corr3d
from gpuarray.compiler.tensor.nnet.conv3d2d import conv3d
from judge import assert_same
from scipy import signal


def compiled(context, *arguments):
    with config.use(device=str(context.name)):
        return function(*arguments)


def drawn(*shape, dtype="float64"):
    """Small integers, so that sums are exact."""
    return np.random.default_rng(7).integers(-5, 6, shape).astype(dtype)


def tensors(*arrays):
    return [T.tensor(str(a.dtype), (False,) * a.ndim) for a in arrays]


def sums(image, filters, mode="valid"):
    """The convolution (batch, channels, ...) by filters (results, channels, ...)."""
    return np.array(
        [
            [
                sum(
                    signal.convolve(a, b, mode, "direct")
                    for a, b in zip(x, w, strict=True)
                )
                for w in filters
            ]
            for x in image
        ]
    )


def correlated(image, filters):
    return sums(image, np.flip(filters, tuple(range(2, filters.ndim))))


# ---- nnet.conv and signal.conv ----


def test_conv2d_of_nnet_has_the_former_arguments(context):
    x, w = drawn(2, 3, 6, 5), drawn(4, 3, 3, 2)
    a, b = tensors(x, w)
    outs = [
        T.nnet.conv.conv2d(a, b, x.shape, w.shape, mode) for mode in ("valid", "full")
    ]
    outs.append(T.nnet.conv.conv2d(a, b, None, None, "valid", (2, 1)))
    valid, full, strided = compiled(context, [a, b], outs)(x, w)
    assert_same(valid, sums(x, w), exact=True)
    assert_same(full, sums(x, w, "full"), exact=True)
    assert_same(strided, sums(x, w)[:, :, ::2], exact=True)


def test_conv2d_of_nnet_refuses_how_to_compute():
    x, w = T.dtensor4("x"), T.dtensor4("w")
    with pytest.raises(GraphTypeError, match="got unroll_batch, version; leave out"):
        T.nnet.conv.conv2d(x, w, unroll_batch=2, version=1)
    with pytest.raises(GraphValueError, match="filters of 4 channels, expected 3"):
        T.nnet.conv.conv2d(x, w, (1, 3, 5, 5), (2, 4, 3, 3))


@pytest.mark.parametrize("mode", ["valid", "full"])
def test_the_former_op(context, mode):
    x, w = drawn(2, 3, 6, 5), drawn(4, 3, 3, 2)
    a, b = tensors(x, w)
    op = T.nnet.ConvOp((3, 6, 5), (3, 2), 4, 2, 2, 1, mode, unroll_batch=2, version=-1)
    got = compiled(context, [a, b], op(a, b))(x, w)
    assert_same(got, sums(x, w, mode)[:, :, ::2], exact=True)
    shape = T.nnet.conv.ConvOp.getOutputShape((6, 5), (3, 2), (2, 1), mode)
    assert shape == got.shape[2:]
    anything = T.nnet.ConvOp(output_mode=mode)
    assert_same(compiled(context, [a, b], anything(a, b))(x, w), sums(x, w, mode))
    f = compiled(context, [a, b], T.nnet.ConvOp((6, 5), nkern=5)(a, b))
    with pytest.raises(ValueError, match="filters by its declared shape"):
        f(x, w)


def test_the_former_op_refuses_what_it_does_not_have():
    with pytest.raises(GraphTypeError, match="got imshp_logical"):
        T.nnet.ConvOp(imshp_logical=(3, 6, 5), kshp_logical=None)
    with pytest.raises(GraphValueError, match="output_mode is 'same'"):
        T.nnet.ConvOp(output_mode="same")
    with pytest.raises(GraphValueError, match=r"kshp is .* expected 4"):
        T.nnet.ConvOp(kshp=(3,))


@pytest.mark.parametrize("mode", ["valid", "full"])
@pytest.mark.parametrize("image", [(6, 5), (2, 6, 5)])
@pytest.mark.parametrize("filters", [(3, 2), (4, 3, 2)])
def test_conv2d_of_signal(image, filters, mode):
    x, w = drawn(*image), drawn(*filters)
    a, b = tensors(x, w)
    f = function([a, b], T.signal.conv.conv2d(a, b, image, filters, mode))
    expected = sums(x.reshape(-1, 1, 6, 5), w.reshape(-1, 1, 3, 2), mode)
    outer = image[:-2] + filters[:-2]
    assert_same(f(x, w), expected.reshape(outer + expected.shape[2:]), exact=True)


def test_conv2d_of_signal_with_a_stride(context):
    x, w = drawn(7, 6, dtype="float32"), drawn(3, 3, dtype="float32")
    a, b = tensors(x, w)
    y = T.signal.conv.conv2d(a, b, subsample=(2, 3))
    got, slope = compiled(context, [a, b], [y, grad(y.sum(), b)])(x, w)
    assert_same(got, signal.convolve2d(x, w, "valid")[::2, ::3], exact=True)
    ones = np.zeros((5, 4), "float32")
    ones[::2, ::3] = 1
    expected = signal.correlate2d(x, ones, "valid")[::-1, ::-1]
    assert_same(slope, expected, exact=True)


def test_conv2d_of_signal_refuses_other_axes():
    x, w = T.dmatrix("x"), T.dtensor4("w")
    with pytest.raises(GraphArgumentError, match=r"filters is w.*expected 2 or 3 axes"):
        T.signal.conv.conv2d(x, w)
    with pytest.raises(GraphArgumentError, match=r"input is v.*expected 2 or 3 axes"):
        T.signal.conv.conv2d(T.dvector("v"), x)
    with pytest.raises(
        GraphValueError, match=r"image_shape is \(1, 2, 3\), expected 2"
    ):
        T.signal.conv.conv2d(x, x, (1, 2, 3))
    with pytest.raises(GraphValueError, match="filters of extent 6 along"):
        T.signal.conv.conv2d(x, x, (None, 5), (None, 6))


# ---- conv3d2d ----


def by_time(x, w, modes):
    """The convolution with time before channels, from the full one."""
    x, w = x.swapaxes(1, 2), w.swapaxes(1, 2)
    full = sums(x, w, "full")
    first = {"full": lambda n: 0, "half": lambda n: n - 1 - n // 2}
    cuts = []
    for mode, n, k in zip(modes, x.shape[2:], w.shape[2:], strict=True):
        at = first.get(mode, lambda n: n - 1)(k)
        cuts.append(slice(at, n + k - 1 - at))
    return full[:, :, *cuts].swapaxes(1, 2)


@pytest.mark.parametrize(
    "mode", ["valid", "full", "half", ("full", "half", "valid"), ("half",) * 3]
)
def test_conv3d_with_time_before_channels(mode):
    x, w = drawn(2, 4, 3, 5, 4), drawn(2, 3, 3, 2, 3)
    a, b = tensors(x, w)
    f = function([a, b], conv3d(a, b, x.shape, w.shape, mode))
    modes = mode if isinstance(mode, tuple) else (mode,) * 3
    assert_same(f(x, w), by_time(x, w, modes), exact=True)


def test_conv3d_on_devices(context):
    x, w = drawn(2, 4, 2, 5, 4), drawn(3, 2, 2, 2, 3)
    a, b = tensors(x, w)
    f = compiled(context, [a, b], conv3d(a, b))
    assert_same(f(x, w), by_time(x, w, ("valid",) * 3), exact=True)


def test_conv3d_says_what_it_needs():
    x, w = (T.tensor("float64", (False,) * 5, name) for name in "xw")
    with pytest.raises(GraphArgumentError, match=r"signals are m.*5 axes: time is"):
        conv3d(T.dmatrix("m"), w)
    for shape in (None, (2, None, 3, 3, 3)):
        with pytest.raises(GraphValueError, match="filters_shape with the lengths of"):
            conv3d(x, w, None, shape, ("valid", "full", "full"))
    with pytest.raises(GraphValueError, match="expected 3 words"):
        conv3d(x, w, None, (1, 1, 1, 1, 1), ("valid", "full"))
    with pytest.raises(GraphValueError, match="filters of 4 channels, expected 3"):
        conv3d(x, w, (1, 5, 3, 5, 5), (2, 2, 4, 2, 2))
    with pytest.raises(GraphValueError, match="border_mode is 'same'"):
        conv3d(x, w, border_mode="same")


# ---- corr and corr3d ----


@pytest.mark.parametrize(
    ("module", "prefix", "image", "filters"),
    [
        (corr, "CorrMM", (2, 3, 6, 5), (4, 3, 3, 2)),
        (corr3d, "Corr3dMM", (2, 2, 4, 5, 4), (3, 2, 2, 3, 2)),
    ],
)
def test_correlations_and_their_gradients(context, module, prefix, image, filters):
    forward, of_weights, of_inputs = (
        getattr(module, prefix + role) for role in ("", "_gradWeights", "_gradInputs")
    )
    x, w = drawn(*image), drawn(*filters)
    expected = correlated(x, w)
    g = drawn(*expected.shape)
    a, b, c = tensors(x, w, g)
    y = forward()(a, b)
    outs = [y, of_weights()(a, c), of_inputs()(b, c)]
    outs += grad(None, [b, a], known_grads={y: c})
    got, weights, inputs, *slopes = compiled(context, [a, b, c], outs)(x, w, g)
    assert_same(got, expected, exact=True)
    by_weights = correlated(x.swapaxes(0, 1), g.swapaxes(0, 1)).swapaxes(0, 1)
    assert_same(weights, by_weights, exact=True)
    assert_same(inputs, sums(g, w.swapaxes(0, 1), "full"), exact=True)
    assert_same(slopes[0], by_weights, exact=True)
    assert_same(slopes[1], np.asarray(inputs), exact=True)


def test_options_of_correlations():
    x, w = drawn(2, 4, 9, 8), drawn(6, 2, 3, 3)
    a, b = tensors(x, w)
    options = ("half", (2, 1), (1, 2), 2)
    y = corr.CorrMM(*options)(a, b)
    expected = T.nnet.conv2d(
        *(a, b, None, None, "half", (2, 1)),
        filter_flip=False,
        filter_dilation=(1, 2),
        num_groups=2,
    )
    of_weights = corr.CorrMM_gradWeights(*options)(a, y, (3, 3))
    of_inputs = corr.CorrMM_gradInputs(*options)(b, y, (9, 8))
    outs = [y, expected, of_weights, of_inputs]
    outs += grad(None, [b, a], known_grads={expected: y})
    got = function([a, b], outs)(x, w)
    assert got[0].shape == (2, 6, 5, 8)
    for one, other in ((0, 1), (2, 4), (3, 5)):
        assert_same(got[one], np.asarray(got[other]), exact=True)


@pytest.mark.parametrize("mode", ["valid", "full", 1, ((1, 0), (2, 1))])
def test_shapes_that_follow(mode):
    x, w = T.dtensor4("x"), T.dtensor4("w")
    options = {"border_mode": mode, "filter_dilation": (2, 1)}
    y = corr.CorrMM(**options)(x, w)
    f = function(
        [x, w],
        [
            corr.CorrMM_gradWeights(**options)(x, y).shape,
            corr.CorrMM_gradInputs(**options)(w, y).shape,
        ],
    )
    weights, inputs = f(np.ones((2, 3, 7, 6)), np.ones((4, 3, 2, 3)))
    assert weights.tolist() == [4, 3, 2, 3]
    assert inputs.tolist() == [2, 3, 7, 6]


def test_unshared_filters():
    x, w = drawn(2, 2, 3, 4), drawn(3, 2, 3, 2, 2, 2)
    a, b = tensors(x, w)
    y = corr.CorrMM(unshared=True)(a, b)
    expected = T.nnet.conv2d(a, b, filter_flip=False, unshared=True)
    of_weights = corr.CorrMM_gradWeights(unshared=True)(a, y)
    got, same, weights = function([a, b], [y, expected, of_weights])(x, w)
    assert_same(got, np.asarray(same), exact=True)
    assert weights.shape == w.shape


def test_a_shape_that_does_not_follow_is_asked_for():
    x, g = T.dtensor4("x"), T.dtensor4("g")
    for options in ({"subsample": (2, 1)}, {"border_mode": "half"}):
        with pytest.raises(
            GraphValueError, match=r"gradWeights: .* give them as shape"
        ):
            corr.CorrMM_gradWeights(**options)(x, g)
    with pytest.raises(GraphValueError, match=r"gradInputs: .* \(1, 2\); give them"):
        corr.CorrMM_gradInputs(subsample=(1, 2))(x, g)
    y = corr.CorrMM_gradInputs("half")(x, g)
    f = function([x, g], y.shape)
    assert f(np.ones((2, 3, 3, 3)), np.ones((1, 2, 5, 4))).tolist() == [1, 3, 5, 4]
    with pytest.raises(GraphArgumentError, match=r"the image is v.*floats of 4 axes"):
        corr.CorrMM()(T.dvector("v"), g)
    for role in (corr.CorrMM_gradWeights, corr.CorrMM_gradInputs):
        with pytest.raises(GraphArgumentError, match=r"the gradient is s.*of 4 axes"):
            role()(x, T.dscalar("s"))
