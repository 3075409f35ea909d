"""Convolutions of sizes that fill the blocks of the kernels for processors."""

import gpuarray
import numpy as np
import pytest
from convolutions import arrays, drawn
from gpuarray._nn import convolution
from gpuarray._nn.convolution import Geometry
from gpuarray.compiler.ops.nnet import conv_reference as reference
from gpuarray.dtypes import as_dtype
from judge import assert_convolved, assert_same

PLAIN = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "flip": False}


def geometry_of(ndim, **options):
    return convolution.geometry_of("conv", ndim, unshared=False, **PLAIN | options)


def whole(rng, shape, dtype="float32", most=3):
    """Whole numbers, whose sums of products are exact."""
    return rng.integers(-most, most + 1, shape).astype(as_dtype(dtype))


def of_layout(context, host, layout):
    """The array on the device: contiguous, a part of a wider one, or channels last."""
    if layout == "wide":
        wide = np.zeros([n + 3 for n in host.shape], host.dtype)
        inside = tuple(slice(2, 2 + n) for n in host.shape)
        wide[inside] = host
        return gpuarray.asarray(wide, device=context)[inside]
    if layout == "last":
        turned = np.ascontiguousarray(np.moveaxis(host, 1, -1))
        axes = (0, host.ndim - 1, *range(1, host.ndim - 1))
        return gpuarray.asarray(turned, device=context).transpose(axes)
    return gpuarray.asarray(host, device=context)


def check(context, geometry, image, filters, dtype="float32", layout=None, most=3):
    """Compares the convolution and both gradients with NumPy's."""
    rng = np.random.default_rng(sum(image + filters))
    of_image, of_filters = image[2:], filters[-geometry.ndim :]
    x, w = whole(rng, image, dtype, most), whole(rng, filters, dtype, most)
    y = reference.conv(geometry, x, w)
    g = whole(rng, y.shape, dtype, most)
    on = [of_layout(context, host, layout) for host in (x, w, g)]
    assert_convolved(convolution.convolve(on[0], on[1], geometry), y)
    assert_convolved(
        convolution.grad_image(on[2], on[1], of_image, geometry),
        reference.grad_image(geometry, w, g, of_image),
    )
    assert_convolved(
        convolution.grad_filters(on[0], on[2], of_filters, geometry),
        reference.grad_filters(geometry, x, g, of_filters),
    )


@pytest.mark.parametrize("results", [1, 2, 3, 4, 5, 6, 7, 13])
def test_blocks_of_results(context, results):
    for width in (8, 21, 40):
        image, filters = (2, 3, 9, width), (results, 3, 3, 2)
        check(context, geometry_of(2), image, filters)
        check(context, geometry_of(2, padding="half"), image, filters)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 9, 14, 16, 23, 24, 25, 56])
def test_lengths_of_rows(context, width):
    for length in (1, 5, 12):
        image, filters = (3, 4, length, width), (6, 4, 3, 3)
        check(context, geometry_of(2, padding="half"), image, filters)
        check(context, geometry_of(2, padding="full", flip=True), image, filters)


@pytest.mark.parametrize(
    ("stride", "dilation", "padding"),
    [
        ((1, 2), (1, 1), ((0, 0), (0, 0))),
        ((2, 2), (1, 1), ((3, 3), (3, 3))),
        ((2, 1), (1, 1), ((1, 0), (0, 2))),
        ((3, 4), (1, 1), ((2, 1), (1, 2))),
        ((1, 3), (2, 2), ((0, 4), (5, 0))),
        ((2, 2), (2, 3), ((2, 2), (3, 3))),
        ((4, 5), (1, 1), ((0, 0), (0, 0))),
        ((17, 16), (1, 1), ((1, 0), (0, 1))),
        ((1, 1), (3, 2), ((9, 9), (8, 9))),
    ],
)
def test_strides_dilation_and_padding(context, stride, dilation, padding):
    geometry = geometry_of(2, stride=stride, dilation=dilation, padding=padding)
    for width in (17, 45):
        check(context, geometry, (2, 3, 15, width), (5, 3, 3, 4))
        check(context, geometry, (2, 3, 15, width), (5, 3, 1, 2))


@pytest.mark.oclgrind
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("own", [1, 4])
def test_groups(context, groups, own):
    for options in ({}, {"padding": 1}, {"stride": 2}):
        geometry = geometry_of(2, groups=groups, **options)
        check(context, geometry, (2, groups * own, 4, 19), (groups * 3, own, 3, 3))
    check(context, geometry_of(2, groups=groups), (2, groups, 9, 9), (groups, 1, 2, 2))


@pytest.mark.oclgrind
def test_many_results_of_short_rows(context):
    check(context, geometry_of(2), (1, 2, 9, 12), (50, 2, 5, 5), most=2)


FEW = [pytest.param(results, marks=pytest.mark.oclgrind) for results in (2, 9)]


@pytest.mark.parametrize("results", [*FEW, 50])
def test_short_rows_without_padding(context, results):
    """Where the gradient by the image is made of products of whole rows of results."""
    check(context, geometry_of(2), (2, 4, 12, 12), (results, 4, 5, 5), most=2)
    check(context, geometry_of(2, flip=True), (1, 3, 9, 27), (results, 3, 3, 8))
    check(context, geometry_of(2, groups=2), (2, 2, 9, 14), (2 * results, 1, 4, 6))
    for options in ({"stride": (2, 1)}, {"dilation": (1, 3)}, {"stride": (3, 1)}):
        check(context, geometry_of(2, **options), (1, 2, 9, 27), (results, 2, 4, 5))


PANELS = [pytest.param(results, marks=pytest.mark.oclgrind) for results in (8, 21)]


@pytest.mark.parametrize("results", [*PANELS, 16, 24, 35, 64])
def test_vectors_of_results(context, results):
    """Panels of the result's gradient, of two and three vectors, for short rows."""
    for options in ({}, {"stride": 2}, {"padding": ((0, 2), (3, 1)), "flip": True}):
        check(context, geometry_of(2, **options), (2, 7, 8, 7), (results, 7, 3, 3))
    for options in ({"dilation": (1, 2)}, {"stride": (3, 1)}, {"padding": "half"}):
        check(context, geometry_of(2, **options), (1, 9, 9, 6), (results, 9, 2, 3))
    check(context, geometry_of(2, groups=2), (2, 8, 6, 5), (2 * results, 4, 3, 2))


def test_vectors_of_results_of_many_places(context):
    """Chunks of places, and parts of them."""
    for batch in (1, 16, 30):
        image, filters = (batch, 30, 9, 9), (16, 30, 3, 3)
        check(context, geometry_of(2, padding=1), image, filters, most=1)
    check(context, geometry_of(2), (0, 30, 9, 9), (16, 30, 3, 3))


def test_vectors_of_results_of_other_types_and_layouts(context):
    image, filters = (3, 30, 6, 7), (16, 30, 3, 3)
    for layout in ("wide", "last"):
        check(context, geometry_of(2), image, filters, layout=layout, most=2)
        check(context, geometry_of(2, stride=2), image, filters, layout=layout, most=2)
    for dtype in ("float16", "bfloat16", "float64"):
        check(context, geometry_of(2, padding=1), image, filters, dtype, most=1)
    check(context, geometry_of(1), (40, 30, 5), (16, 30, 4), most=2)
    check(context, geometry_of(3), (1, 30, 5, 4, 4), (16, 30, 3, 2, 3), most=2)


@pytest.mark.parametrize(
    ("padding", "length"),
    [
        (((0, 0), (0, 2)), 12),
        (((0, 0), (2, 0)), 12),
        (((0, 2), (0, 0)), 12),
        (((1, 0), (0, 0)), 14),  # results end before the image does
    ],
)
def test_short_rows_with_padding_at_one_end(context, padding, length):
    """Products of whole rows would be added beyond the image, or shifted."""
    geometry = geometry_of(2, padding=padding, stride=(3 if length == 14 else 1, 1))
    check(context, geometry, (64, 2, length, 12), (50, 2, 5, 5), most=2)


def test_short_rows_of_other_types_and_layouts(context):
    image, filters = (2, 3, 11, 17), (21, 3, 4, 6)
    for layout in ("wide", "last"):
        check(context, geometry_of(2), image, filters, layout=layout, most=2)
    for dtype in ("float16", "float64"):
        check(context, geometry_of(2), image, filters, dtype, most=1)
    check(context, geometry_of(1), (40, 3, 13), (21, 3, 6))
    check(context, geometry_of(3), (1, 3, 5, 6, 12), (21, 3, 3, 4, 5), most=2)
    check(context, geometry_of(2), (1, 2, 40, 60), (9, 2, 20, 20), most=1)


@pytest.mark.oclgrind
def test_short_rows_join(context):
    """Where copies of rows cost less than vectors of their own."""
    check(context, geometry_of(2, padding=1), (1, 24, 16, 2), (24, 24, 3, 3), most=1)


@pytest.mark.parametrize(
    "options",
    [
        {"padding": ((0, 2), (2, 1))},
        {"padding": ((4, 3), (5, 4)), "flip": True},  # more than filters reach
        {"padding": 2, "dilation": 2},
        {"padding": 1, "stride": (1, 2)},
        {"padding": 1, "stride": (2, 1)},
        {"padding": 1, "groups": 2},
    ],
)
def test_rows_that_join_or_not(context, options):
    filters = (24 * options.get("groups", 1), 24, 3, 3)
    image = (2, filters[0], 17, 2)
    check(context, geometry_of(2, **options), image, filters, most=1)


def test_rows_that_join_of_other_types_and_layouts(context):
    image, filters = (2, 24, 16, 2), (24, 24, 3, 3)
    for layout in ("wide", "last"):
        check(context, geometry_of(2, padding=1), image, filters, "float32", layout, 1)
    for dtype in ("float16", "float64"):
        check(context, geometry_of(2, padding=1), image, filters, dtype, most=1)
    image, filters = (1, 24, 3, 16, 2), (24, 24, 2, 3, 3)
    check(context, geometry_of(3, padding=1), image, filters, most=1)


def test_many_channels(context):
    """Tables of taps of some channels, and passes over parts of the channels."""
    check(context, geometry_of(2), (1, 300, 3, 12), (5, 300, 1, 2), most=2)
    check(context, geometry_of(2, padding=1), (1, 67, 40, 40), (4, 67, 3, 3), most=2)
    check(context, geometry_of(2), (2, 2, 30, 30), (3, 2, 20, 20), most=1)


def test_parts_of_rows(context):
    """Few filters over many rows are summed in parts, also of a large batch."""
    check(context, geometry_of(2), (2, 1, 64, 64), (2, 1, 5, 5), most=2)
    check(context, geometry_of(2, stride=2), (1, 1, 200, 30), (1, 1, 3, 3), most=2)
    check(context, geometry_of(2), (70, 1, 9, 9), (3, 1, 4, 4), most=2)


def test_filters_of_one_element(context):
    """Products of matrices where these are large and their places join."""
    for layout in (None, "wide", "last"):
        image, filters = (3, 24, 9, 11), (40, 24, 1, 1)
        check(context, geometry_of(2), image, filters, layout=layout)
        check(context, geometry_of(2, flip=True), image, filters, layout=layout)
        check(context, geometry_of(2, stride=2), image, filters, layout=layout)
    check(context, geometry_of(2, groups=2), (2, 48, 9, 11), (80, 24, 1, 1))
    check(context, geometry_of(1), (2, 30, 333), (31, 30, 1))
    check(context, geometry_of(3), (2, 30, 4, 5, 7), (31, 30, 1, 1, 1))


@pytest.mark.parametrize("layout", ["wide", "last"])
def test_layouts(context, layout):
    for options in ({}, {"padding": 1}, {"stride": 2}):
        for width in (6, 30):
            geometry = geometry_of(2, **options)
            check(context, geometry, (2, 3, 8, width), (5, 3, 3, 3), layout=layout)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes(context, dtype):
    for options in ({}, {"padding": 1}, {"stride": 2}):
        geometry = geometry_of(2, **options)
        check(context, geometry, (2, 3, 7, 21), (5, 3, 3, 3), dtype, most=1)
    check(context, geometry_of(2), (2, 32, 9, 9), (32, 32, 1, 1), dtype, most=1)


@pytest.mark.parametrize("ndim", [1, 3])
def test_other_numbers_of_axes(context, ndim):
    for options in (
        {},
        {"padding": "half"},
        {"stride": 2},
        {"padding": 2, "stride": 3},
    ):
        lengths = (50,) if ndim == 1 else (5, 6, 13)
        geometry = geometry_of(ndim, **options)
        check(context, geometry, (2, 3, *lengths), (5, 3, *(3,) * ndim))


def test_filters_without_a_table(context):
    check(context, geometry_of(1), (1, 1, 1100), (2, 1, 1025), most=1)
    check(context, geometry_of(1), (1, 1, 1100), (2, 1, 1024), most=1)


@pytest.mark.oclgrind
def test_infinities_stay_apart(context):
    """A row that ends within a vector does not meet what is behind it."""
    image = np.ones((1, 1, 6, 21), "float32")
    image[0, 0, 2, 0] = image[0, 0, 4, 20] = np.inf
    filters = np.ones((2, 1, 3, 3), "float32")
    for padding in (0, 1):
        geometry = geometry_of(2, padding=padding)
        result = reference.conv(geometry, image, filters)
        x, w = (gpuarray.asarray(a, device=context) for a in (image, filters))
        g = gpuarray.ones(result.shape, "float32", device=context)
        assert_same(convolution.convolve(x, w, geometry), result)
        assert_same(
            convolution.grad_filters(x, g, (3, 3), geometry),
            reference.grad_filters(geometry, image, np.asarray(g), (3, 3)),
        )


def test_drawn_sizes(context):
    rng = np.random.default_rng(27)
    for _ in range(30):
        d = drawn(rng, most=40, unshared=0)
        if np.prod(d.result) * np.prod(d.filters[1:]) > 1 << 22:
            continue
        assert isinstance(d.geometry, Geometry)
        x, w, g = arrays(d, rng)
        on = [gpuarray.asarray(a, device=context) for a in (x, w, g)]
        of_image, of_filters, _ = d.places
        assert_convolved(
            convolution.convolve(on[0], on[1], d.geometry),
            reference.conv(d.geometry, x, w),
        )
        assert_convolved(
            convolution.grad_image(on[2], on[1], of_image, d.geometry),
            reference.grad_image(d.geometry, w, g, of_image),
        )
        assert_convolved(
            convolution.grad_filters(on[0], on[2], of_filters, d.geometry),
            reference.grad_filters(d.geometry, x, g, of_filters),
        )
