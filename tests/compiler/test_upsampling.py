"""Bilinear upsampling: kernels, values by the formula, and what is refused."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.tensor.nnet.abstract_conv import (
    bilinear_kernel_1D,
    bilinear_kernel_2D,
    bilinear_upsampling,
    frac_bilinear_upsampling,
)
from judge import assert_same
from upsampled import interpolated


def compiled(context, *arguments):
    with config.use(device=str(context.name)):
        return function(*arguments)


def drawn(seed, *shape, dtype="float32"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def test_kernels():
    r = T.iscalar("r")
    f = function(
        [r],
        [
            bilinear_kernel_1D(r),
            bilinear_kernel_1D(3, normalize=False),
            bilinear_kernel_2D((2, r)),
            bilinear_kernel_2D(2, normalize=False),
        ],
    )
    third, whole, of_both, square = f(3)
    assert_same(third, np.array([1, 2, 3, 2, 1]) / 3)
    assert_same(whole, np.array([1.0, 2, 3, 2, 1]))
    assert_same(of_both, np.outer([0.5, 1, 0.5], np.array([1, 2, 3, 2, 1]) / 3))
    assert_same(square, np.array([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]]))
    assert_same(f(1)[0], np.ones(1))
    with config.use(floatX="float32"):
        assert bilinear_kernel_1D(2).dtype == "float32"


def test_values_of_a_row():
    x = T.dtensor4("x")
    f = function([x], [bilinear_upsampling(x, 2), bilinear_upsampling(x, 3)])
    twice, thrice = f([[[[0.0, 6.0]]]])
    assert twice.tolist() == [[[[0, 3, 6, 6]] * 2]]
    np.testing.assert_allclose(
        np.asarray(thrice), [[[[0, 0, 2, 4, 6, 6]] * 3]], atol=1e-12
    )


def test_each_ratio(context):
    x = T.ftensor4("x")
    ratios = (1, 2, 3, 4, 7)
    outs = [
        bilinear_upsampling(x, ratio, use_1D_kernel=is_apart)
        for ratio in ratios
        for is_apart in (True, False)
    ]
    f = compiled(context, [x], outs)
    for shape in ((2, 3, 4, 5), (1, 2, 1, 3)):
        host = drawn(1, *shape)
        got = f(host)
        for ratio, apart, together in zip(ratios, got[::2], got[1::2], strict=True):
            expected = interpolated(host, (ratio, 1), (ratio, 1))
            assert_same(apart, expected)
            assert_same(together, expected)


def test_fractions(context):
    x = T.dtensor4("x")
    pairs = (((3, 2), (3, 2)), ((4, 3), (2, 1)), ((2, 5), (1, 1)), ((7, 4), (5, 6)))
    outs = [frac_bilinear_upsampling(x, pair) for pair in pairs]
    outs += [
        frac_bilinear_upsampling(x, (6, 4)),
        bilinear_upsampling(x, frac_ratio=(3, 2)),
        bilinear_upsampling(x, frac_ratio=(3, 2), use_1D_kernel=False),
        frac_bilinear_upsampling(x, (2, 1)),
        bilinear_upsampling(x, 2),
    ]
    f = compiled(context, [x], outs)
    host = drawn(2, 2, 2, 5, 4, dtype="float64")
    *got, lowest, apart, together, whole, twice = f(host)
    for each, pair in zip(got, pairs, strict=True):
        assert_same(each, interpolated(host, *pair))
    for each in (lowest, apart, together):
        assert_same(each, np.asarray(got[0]))
    assert got[1].shape == (2, 2, 7, 8)
    assert_same(whole, np.asarray(twice), exact=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_result_has_the_dtype_of_the_images(dtype):
    x = T.tensor4("x", dtype)
    y = bilinear_upsampling(x, 2)
    assert y.dtype == dtype
    host = drawn(3, 1, 1, 3, 3, dtype=dtype)
    assert_same(function([x], y)(host), interpolated(host, (2, 1), (2, 1)))


def test_the_gradient_gives_each_element_its_shares():
    """The sum of the result is linear: the shares are those of single ones."""
    x = T.dtensor4("x")
    shares = function([x], grad(bilinear_upsampling(x, 4).sum(), x))
    ones = np.eye(6).reshape(6, 1, 2, 3)
    expected = interpolated(ones, (4, 1), (4, 1)).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(
        np.asarray(shares(np.zeros((1, 1, 2, 3)))).ravel(), expected, rtol=1e-12
    )


def test_known_numbers_are_checked():
    x, n = T.dtensor4("x"), T.lscalar("n")
    y = bilinear_upsampling(x, 2, batch_size=n, num_input_channels=3)
    f = function([x, n], y)
    assert f(np.ones((2, 3, 2, 2)), 2).shape == (2, 3, 4, 4)
    with pytest.raises(ValueError, match=r"\(2, 4, 2, 2\), expected \(2, 3, 2, 2\)"):
        f(np.ones((2, 4, 2, 2)), 2)
    with pytest.raises(ValueError, match=r"\(2, 3, 2, 2\), expected \(5, 3, 2, 2\)"):
        f(np.ones((2, 3, 2, 2)), 5)
    assert bilinear_upsampling(x, 2, batch_size=1).broadcastable[0]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({}, GraphValueError, "ratio is None, frac_ratio is None; give one"),
        ({"ratio": 2, "frac_ratio": (3, 2)}, GraphValueError, "give one of them"),
        ({"ratio": 0}, GraphValueError, "ratio is 0, expected 1 or more"),
        ({"ratio": 1.5}, GraphTypeError, "ratio is 1.5, a float"),
        ({"ratio": T.iscalar("r")}, GraphTypeError, "only when the program runs"),
        ({"frac_ratio": 1.5}, GraphTypeError, "frac_ratio is 1.5, expected a tuple"),
        ({"frac_ratio": ()}, GraphTypeError, r"frac_ratio is \(\), expected a tuple"),
        ({"frac_ratio": (1, 2, 3)}, GraphTypeError, "numerator and denominator"),
        ({"frac_ratio": ((1, 2), 3)}, GraphTypeError, "numerator and denominator"),
        ({"frac_ratio": (3, 0)}, GraphValueError, "a term of frac_ratio is 0"),
    ],
)
def test_ratios_that_are_refused(options, error, text):
    with pytest.raises(error, match=f"bilinear_upsampling: .*{text}"):
        bilinear_upsampling(T.dtensor4("x"), **options)


def test_other_arguments_that_are_refused():
    for x in (T.dmatrix("x"), T.itensor4("x"), T.ztensor4("x")):
        with pytest.raises(GraphArgumentError, match=r"input is x.*floats of 4 axes"):
            frac_bilinear_upsampling(x, (3, 2))
    with pytest.raises(GraphValueError, match="one of rows and one of columns"):
        bilinear_kernel_2D((1, 2, 3))
    with pytest.raises(GraphValueError, match="bilinear_kernel_1D: ratio is 0"):
        bilinear_kernel_1D(0)
