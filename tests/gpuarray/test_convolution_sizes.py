"""Convolutions of sizes that reach every tile of the kernels, and split terms."""

import gpuarray
import numpy as np
import pytest
from gpuarray._nn import convolution
from gpuarray._nn.convolution import Geometry
from gpuarray.compiler.ops.nnet import conv_reference
from judge import assert_convolved, assert_same

# Batch, channels of a group, spatial lengths; results of a group, filters, geometry.
SIZES = {
    "8 rows": (2, 3, (20, 21), 6, (5, 5), Geometry((1, 1), (1, 1), "half")),
    "16 rows": (1, 6, (18, 18), 16, (7, 7), Geometry((1, 1), (1, 1), ((0, 0),) * 2)),
    "32 rows": (3, 5, (14, 9), 20, (3, 2), Geometry((2, 1), (1, 2), ((1, 0), (2, 1)))),
    "64 rows": (2, 20, (9, 9), 50, (3, 3), Geometry((1, 1), (1, 1), "full", 1, True)),
    "128 rows": (2, 70, (8, 8), 130, (3, 3), Geometry((1, 1), (1, 1), "half")),
    "one element": (3, 40, (7, 7), 65, (1, 1), Geometry((1, 1), (1, 1), "half")),
    "strides": (2, 9, (13, 14), 35, (4, 3), Geometry((3, 2), (1, 1), ((2, 1),) * 2)),
    "strides and dilation": (
        1,
        4,
        (15, 15),
        9,
        (3, 3),
        Geometry((2, 3), (3, 2), "half"),
    ),
    "stride above filters": (
        2,
        4,
        (11, 12),
        12,
        (2, 1),
        Geometry((4, 3), (1, 1), "half"),
    ),
    "groups": (2, 5, (9, 8), 7, (3, 3), Geometry((2, 1), (1, 1), "half", 3)),
    "depthwise": (2, 1, (16, 17), 2, (3, 3), Geometry((1, 1), (1, 1), "half", 11)),
    "one channel": (5, 1, (30, 31), 7, (5, 5), Geometry((1, 1), (1, 1), "half")),
    "one channel inside": (
        9,
        1,
        (29, 40),
        5,
        (7, 7),
        Geometry((1, 1), (1, 1), ((0, 0),) * 2),
    ),
    "one channel of three axes": (
        2,
        1,
        (5, 9, 9),
        2,
        (2, 3, 3),
        Geometry((1, 2, 1), (1, 1, 1), "half"),
    ),
    "many terms": (40, 2, (17, 19), 3, (2, 3), Geometry((1, 1), (1, 1), "half")),
    "one axis": (2, 12, (300,), 34, (5,), Geometry((2,), (3,), "half")),
    "three axes": (
        2,
        3,
        (5, 6, 7),
        9,
        (2, 3, 2),
        Geometry((1, 2, 1), (1, 1, 2), "full"),
    ),
}


def case(name, dtype, rng):
    batch, channels, lengths, results, filters, geometry = SIZES[name]
    groups = geometry.groups
    shapes = (
        (batch, groups * channels, *lengths),
        (groups * results, channels, *filters),
    )
    image, kern = (rng.integers(-2, 3, s).astype(dtype) for s in shapes)
    shape = geometry.result_shape(image.shape, kern.shape)
    return geometry, image, kern, rng.integers(-2, 3, shape).astype(dtype)


def judged(geometry, image, kern, grad):
    x, w, g = (a.astype("float64") for a in (image, kern, grad))
    n = geometry.ndim
    return (
        conv_reference.conv(geometry, x, w),
        conv_reference.grad_image(geometry, w, g, x.shape[-n:]),
        conv_reference.grad_filters(geometry, x, g, w.shape[-n:]),
    )


def run(geometry, image, kern, grad):
    n = geometry.ndim
    return (
        convolution.convolve(image, kern, geometry),
        convolution.grad_image(grad, kern, image.shape[-n:], geometry),
        convolution.grad_filters(image, grad, kern.shape[-n:], geometry),
    )


@pytest.mark.parametrize("name", SIZES)
def test_whole_numbers(context, name):
    geometry, *hosts = case(name, "float32", np.random.default_rng(1))
    arrays = [gpuarray.asarray(host, device=context) for host in hosts]
    got = run(geometry, *arrays)
    for one, other in zip(got, judged(geometry, *hosts), strict=True):
        assert_convolved(one, other.astype("float32"))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", ["8 rows", "64 rows", "strides", "many terms"])
def test_dtypes(context, name, dtype):
    geometry, *hosts = case(name, dtype, np.random.default_rng(2))
    arrays = [gpuarray.asarray(host, device=context) for host in hosts]
    got = run(geometry, *arrays)
    for one, other in zip(got, judged(geometry, *hosts), strict=True):
        assert_same(one, other.astype(dtype))


@pytest.mark.parametrize("name", ["32 rows", "128 rows", "many terms"])
def test_strided_operands_and_results(context, name):
    geometry, *hosts = case(name, "float32", np.random.default_rng(3))
    last = []
    for host in hosts:  # channels vary fastest
        turned = np.ascontiguousarray(np.moveaxis(host, 1, -1))
        axes = (0, turned.ndim - 1, *range(1, turned.ndim - 1))
        last.append(gpuarray.asarray(turned, device=context).transpose(axes))
    back = [
        gpuarray.asarray(np.ascontiguousarray(host[::-1, ::-1]), device=context)[
            ::-1, ::-1
        ]
        for host in hosts
    ]
    for operands in (last, back):
        got = run(geometry, *operands)
        for one, other in zip(got, judged(geometry, *hosts), strict=True):
            assert_convolved(one, other.astype("float32"))


@pytest.mark.parametrize("results", [1, 3])
@pytest.mark.parametrize(
    ("filters", "geometry"),
    [
        ((3, 3), Geometry((1, 1), (1, 1), "half", 72)),
        ((5, 4), Geometry((2, 1), (1, 1), ((0, 0),) * 2, 72, True)),
        ((2, 3), Geometry((1, 2), (3, 1), "full", 72)),
    ],
)
def test_depthwise_of_many_places(context, results, filters, geometry):
    """So many that an item takes blocks of them, of which the last are not full."""
    rng = np.random.default_rng(5)
    image = rng.integers(-2, 3, (4, 72, 61, 63)).astype("float32")
    kern = rng.integers(-2, 3, (72 * results, 1, *filters)).astype("float32")
    shape = geometry.result_shape(image.shape, kern.shape)
    hosts = image, kern, rng.integers(-2, 3, shape).astype("float32")
    arrays = [gpuarray.asarray(host, device=context) for host in hosts]
    for one, other in zip(
        run(geometry, *arrays), judged(geometry, *hosts), strict=True
    ):
        assert_convolved(one, other.astype("float32"))


def test_infinity_reaches_its_own_sums_alone(context):
    """In the gradient by depthwise filters: where blocks of places are not full."""
    geometry = Geometry((1, 1), (1, 1), ((0, 0), (0, 0)), 8)
    image = np.ones((2, 8, 11, 13), "float32")
    image[:, :, 9, 4] = np.inf
    grad = np.ones((2, 8, 9, 11), "float32")
    got = convolution.grad_filters(
        *(gpuarray.asarray(host, device=context) for host in (image, grad)),
        (3, 3),
        geometry,
    )
    expected = conv_reference.grad_filters(geometry, image, grad, (3, 3))
    assert np.isfinite(expected[:, :, 0]).all() and np.isinf(expected[:, :, 1:]).all()
    assert_same(got, expected)


# Batch, channels of a group, image, results, filters, strides, padding, groups.
FEW_CHANNELS = {
    "phases of different lengths": (2, 3, (37, 41), 4, (7, 7), (2, 2), (3, 3), 1),
    "every phase alike": (3, 2, (34, 66), 6, (4, 4), (2, 2), (1, 1), 1),
    "a phase without terms": (5, 1, (20, 35), 3, (2, 3), (3, 4), (1, 2), 1),
    "groups": (4, 4, (11, 13), 2, (3, 5), (1, 1), (0, 2), 2),
    "rows longer than columns": (5, 3, (9, 7), 5, (3, 2), (1, 2), (2, 0), 1),
}


def few_channels(name, dtype, rng):
    """A gradient and filters of whole numbers, and the gradient by the image."""
    batch, channels, image, results, filters, strides, padding, groups = FEW_CHANNELS[
        name
    ]
    geometry = Geometry(strides, (1, 1), tuple((p, p) for p in padding), groups)
    shape = (results * groups, channels, *filters)
    kern = rng.integers(-2, 3, shape).astype(dtype)
    shape = geometry.result_shape((batch, channels * groups, *image), kern.shape)
    grad = rng.integers(-2, 3, shape).astype(dtype)
    wide = (a.astype("float64") for a in (kern, grad))
    expected = conv_reference.grad_image(geometry, *wide, image).astype(dtype)
    return geometry, image, kern, grad, expected


@pytest.mark.parametrize("name", FEW_CHANNELS)
def test_gradients_by_images_of_few_channels(context, name):
    """As one launch on GPUs: tiles that are not full, and places without terms."""
    geometry, image, *hosts, expected = few_channels(
        name, "float32", np.random.default_rng(6)
    )
    kern, grad = (gpuarray.asarray(host, device=context) for host in hosts)
    got = convolution.grad_image(grad, kern, image, geometry)
    assert_convolved(got, expected)
    kern, grad = (
        gpuarray.asarray(np.ascontiguousarray(host.T), device=context).T
        for host in hosts
    )
    got = convolution.grad_image(grad, kern, image, geometry)
    assert_convolved(got, expected)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_dtypes_of_few_channels(context, dtype):
    name = "phases of different lengths"
    geometry, image, *hosts, expected = few_channels(
        name, dtype, np.random.default_rng(7)
    )
    kern, grad = (gpuarray.asarray(host, device=context) for host in hosts)
    assert_same(convolution.grad_image(grad, kern, image, geometry), expected)


@pytest.mark.oclgrind
def test_edges_of_few_channels(context):
    geometry = Geometry((2, 2), (1, 1), ((1, 0), (0, 1)))
    rng = np.random.default_rng(8)
    kern = rng.integers(-2, 3, (2, 2, 3, 2)).astype("float32")
    shape = geometry.result_shape((4, 2, 9, 17), kern.shape)
    grad = rng.integers(-2, 3, shape).astype("float32")
    got = convolution.grad_image(
        *(gpuarray.asarray(host, device=context) for host in (grad, kern)),
        (9, 17),
        geometry,
    )
    assert_convolved(got, conv_reference.grad_image(geometry, kern, grad, (9, 17)))
