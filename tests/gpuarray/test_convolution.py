"""Convolutions of arrays and their gradients, against plain loops."""

import gpuarray
import numpy as np
import pytest
from convolutions import Drawn, arrays, drawn, judged
from gpuarray import nn
from gpuarray._nn import convolution
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue
from judge import assert_convolved, assert_same


def on(context, *hosts):
    return [gpuarray.asarray(host, device=context) for host in hosts]


def run(d, image, filters, grad):
    """The convolution and both gradients."""
    of_image, of_filters, _ = d.places
    return (
        convolution.convolve(image, filters, d.geometry),
        convolution.grad_image(grad, filters, of_image, d.geometry),
        convolution.grad_filters(image, grad, of_filters, d.geometry),
    )


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_drawn_convolutions(context, ndim):
    rng = np.random.default_rng(ndim)
    for _ in range(25):
        d = drawn(rng, ndim, most=7 if ndim < 3 else 4)
        hosts = arrays(d, rng)
        for got, host in zip(
            run(d, *on(context, *hosts)), judged(d, *hosts), strict=True
        ):
            assert_convolved(got, host.astype("float32"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes(context, dtype):
    rng = np.random.default_rng(7)
    for _ in range(4):
        d = drawn(rng, 2)
        hosts = [x.astype(as_dtype(dtype)) for x in arrays(d, rng, dtype)]
        for got, host in zip(
            run(d, *on(context, *hosts)), judged(d, *hosts), strict=True
        ):
            assert_same(got, host.astype(as_dtype(dtype)))


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("groups", [1, 3])
def test_edges_of_kernels(context, groups, dtype):
    """A tile that is not full, and depthwise filters, with padding and strides."""
    rng = np.random.default_rng(11)
    geometry = convolution.Geometry((2, 1), (1, 1), ((1, 0), (1, 1)), groups)
    image, filters = (1, 3, 5, 4), (3, 3 // groups, 2, 3)
    shape = geometry.result_shape(image, filters)
    hosts = [rng.integers(-3, 4, s).astype(dtype) for s in (image, filters, shape)]
    d = Drawn(geometry, image, filters, shape)
    got = run(d, *on(context, *hosts))
    for one, other in zip(got, judged(d, *hosts), strict=True):
        assert_convolved(one, other.astype(dtype))


def test_layouts(context):
    rng = np.random.default_rng(8)
    d = drawn(rng, 2, unshared=0)
    hosts = arrays(d, rng)
    expected = judged(d, *hosts)
    turned = [
        gpuarray.asarray(np.ascontiguousarray(x.transpose(0, 2, 3, 1)), device=context)
        for x in hosts
    ]
    last = [x.transpose((0, 3, 1, 2)) for x in turned]  # channels vary fastest
    apart = []
    for x in hosts:
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        apart.append(gpuarray.asarray(wide, device=context)[..., ::2])
    back = [
        gpuarray.asarray(np.ascontiguousarray(x[..., ::-1]), device=context)[..., ::-1]
        for x in hosts
    ]
    for operands in (last, apart, back):
        for got, host in zip(run(d, *operands), expected, strict=True):
            assert_convolved(got, host.astype("float32"))


def test_empty_arrays(context):
    none = gpuarray.zeros((0, 3, 5, 5), "float32", device=context)
    some = gpuarray.ones((2, 3, 5, 5), "float32", device=context)
    filters = gpuarray.ones((4, 3, 2, 2), "float32", device=context)
    assert nn.conv(none, filters).shape == (0, 4, 4, 4)
    assert nn.conv(some, filters[:0]).shape == (2, 0, 4, 4)
    bare = nn.conv(some[:, :0], filters[:, :0])
    assert_same(bare, np.zeros((2, 4, 4, 4), "float32"))
    geometry = convolution.geometry_of(
        "conv", 2, stride=1, padding=0, dilation=1, groups=1, flip=False, unshared=False
    )
    grad = gpuarray.zeros((0, 4, 4, 4), "float32", device=context)
    zeros = convolution.grad_filters(none, grad, (2, 2), geometry)
    assert_same(zeros, np.zeros((4, 3, 2, 2), "float32"))


def test_values_of_theano(context):
    image = np.arange(9, dtype="float32").reshape(1, 1, 3, 3)
    filters = np.arange(4, dtype="float32").reshape(1, 1, 2, 2)
    x, w = on(context, image, filters)
    assert nn.conv(x, w, flip=True)[0, 0].tolist() == [[5, 11], [23, 29]]
    assert nn.conv(x, w)[0, 0].tolist() == [[19, 25], [37, 43]]


def test_transposed(context):
    rng = np.random.default_rng(9)
    for _ in range(10):
        d = drawn(rng, 2, unshared=0)
        g = d.geometry
        _, filters, grad = arrays(d, rng)
        y, w = on(context, grad, filters)
        least = [
            convolution.transposed_length(
                g, axis, d.result[2 + axis], d.filters[2 + axis]
            )
            for axis in range(2)
        ]
        more = tuple(n - m for n, m in zip(d.image[2:], least, strict=True))
        if min(more) < 0:
            continue
        got = nn.conv_transpose(
            y,
            w,
            stride=g.stride,
            padding=g.padding,
            output_padding=more,
            dilation=g.dilation,
            groups=g.groups,
            flip=g.is_flipped,
        )
        image = np.zeros(d.image, "float32")
        assert_same(got, judged(d, image, filters, grad)[1].astype("float32"))


def test_a_result_that_rounds(context):
    """float32 sums of many products stay near those of float64."""
    rng = np.random.default_rng(10)
    image = rng.standard_normal((2, 40, 20, 20)).astype("float32")
    filters = rng.standard_normal((3, 40, 5, 5)).astype("float32")
    x, w = on(context, image, filters)
    wide = nn.conv(*on(context, image.astype("float64"), filters.astype("float64")))
    error = np.abs(np.asarray(nn.conv(x, w)) - np.asarray(wide)).max()
    assert error < 1e-4 * np.abs(np.asarray(wide)).max()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"stride": 0}, "stride is 0, expected an integer of at least 1"),
        ({"stride": (1, 2, 3)}, r"stride is \(1, 2, 3\)"),
        ({"padding": "same"}, "padding is 'same', expected 'valid'"),
        ({"padding": -1}, "padding is -1"),
        ({"padding": ((1, 2), (3,))}, "2 integers or pairs"),
        ({"dilation": 1.5}, "dilation is 1.5"),
        ({"stride": 2**70}, r"stride is \d+, expected no integer above"),
        ({"groups": 2**32}, "groups is 4294967296, expected no integer above"),
        ({"groups": 2}, "3 channels and 4 filters cannot be split into 2 groups"),
        ({"dilation": 9}, "filters of extent 10 along spatial axis 0"),
    ],
)
def test_options_that_do_not_fit(options, text, null):
    image = gpuarray.zeros((2, 3, 5, 5), "float32", device=null)
    filters = gpuarray.zeros((4, 3, 2, 2), "float32", device=null)
    with pytest.raises(BadValue, match=text):
        nn.conv(image, filters, **options)


def test_arrays_that_do_not_fit(null):
    image = gpuarray.zeros((2, 3, 5, 5), "float32", device=null)
    filters = gpuarray.zeros((4, 3, 2, 2), "float32", device=null)
    with pytest.raises(BadValue, match="filters of 2 channels, expected 3"):
        nn.conv(image, filters[:, :2])
    with pytest.raises(BadValue, match="expected 4 and 4 axes"):
        nn.conv(image, filters[0])
    with pytest.raises(BadValue, match="an image of 2 axes"):
        nn.conv(image[0, 0], filters)
    with pytest.raises(BadType, match="expected one dtype"):
        nn.conv(image, gpuarray.zeros((4, 3, 2, 2), "float64", device=null))
    with pytest.raises(BadType, match="expected a gpuarray array"):
        nn.conv(image, np.zeros((4, 3, 2, 2)))
    with pytest.raises(BadValue, match="expected no negative length"):
        nn.conv_transpose(image[:, :, :1, :1], filters[:3], padding=3)
    whole = [gpuarray.zeros(x.shape, "int32", device=null) for x in (image, filters)]
    with pytest.raises(BadType, match=r"int32.*expected float16"):
        nn.conv(*whole)


def test_places_beyond_an_int(context):
    """Images of one element, repeated more often than an int counts."""
    one = gpuarray.ones(1, "float32", device=context)
    filters = gpuarray.ones((1, 1, 2), "float32", device=context)
    for length, step in [(2**33, 2**31), (2**31 + 7, 2**30), (2**30 + 7, 2**29)]:
        image = one.broadcast_to((1, 1, length))
        result = nn.conv(image, filters, stride=step)
        expected = np.full((1, 1, (length - 2) // step + 1), 2, "float32")
        assert_convolved(result, expected)
        geometry = convolution.Geometry((step,), (1,), ((0, 0),))
        slopes = convolution.grad_filters(image, result, (2,), geometry)
        assert_convolved(slopes, np.full((1, 1, 2), expected.sum(), "float32"))


def test_strides_far_beyond_the_image(context):
    """The gradient by the image: of a phase of such a stride nothing may be left."""
    rng = np.random.default_rng(12)
    for strides in [(2**14, 2**15), (2**28, 3), (40, 50), (2**39, 2**39)]:
        geometry = convolution.Geometry(strides, (1, 2), ((1, 0), (0, 1)))
        image, filters, result = (2, 2, 5, 4), (3, 2, 3, 2), (2, 3, 1, 1)
        d = Drawn(geometry, image, filters, result)
        hosts = arrays(d, rng)
        for got, host in zip(
            run(d, *on(context, *hosts)), judged(d, *hosts), strict=True
        ):
            assert_convolved(got, host.astype("float32"))
