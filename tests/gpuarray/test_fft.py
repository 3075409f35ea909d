"""``gpuarray.fft`` against ``numpy.fft``."""

import gpuarray
import numpy as np
import pytest
from gpuarray import fft
from gpuarray._fft import transforms
from judge import assert_same
from layouts import LAYOUTS, pair, values

CLOSE = {"float32": 2e-5, "complex64": 2e-5, "float64": 1e-11, "complex128": 1e-11}
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 30, 64, 97, 210, 1000, 1021]
NORMS = [None, "backward", "ortho", "forward"]


def skip_without_double(context, dtype):
    if dtype not in ("float32", "complex64", "float16") and not context.has_double:
        pytest.skip("the device lacks float64")


def put(host, context):
    return gpuarray.asarray(host, context=context)


def judged(function, host, context, *arguments, **options):
    expected = getattr(np.fft, function)(host, *arguments, **options)
    x = host if not isinstance(host, np.ndarray) else put(host, context)
    got = getattr(fft, function)(x, *arguments, **options)
    close(got, expected)


def close(got, expected):
    """Relative to the largest element, as transforms mix all of them."""
    got = np.asarray(got)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    scale = np.abs(expected).max(initial=0)
    tolerance = CLOSE[expected.dtype.name] * scale
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(context, dtype, n):
    skip_without_double(context, dtype)
    host = values(dtype, (3, n))
    judged("fft", host, context)
    judged("ifft", host, context)
    judged("irfft", host, context, n)
    judged("hfft", host, context, n)
    if not dtype.startswith("complex"):
        judged("rfft", host, context)
        judged("ihfft", host, context)


@pytest.mark.parametrize("function", ["fft", "ifft"])
def test_one_element_is_its_own_transform(context, function):
    """Infinite parts and signs of zeros, too, which a product would change."""
    host = np.array([[np.inf], [1]], "complex64")
    host.imag[1] = -0.0
    got = np.asarray(getattr(fft, function)(put(host, context)))
    expected = getattr(np.fft, function)(host)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got.imag), np.signbit(expected.imag))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("function", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_axes_and_other_lengths(context, function, axis):
    host = values("float32", (5, 6, 7))
    judged(function, host, context, axis=axis)
    for n in (1, 4, 9, 17):
        judged(function, host, context, n, axis)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("function", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_norms(context, function, norm):
    judged(function, values("float32", (2, 12)), context, norm=norm)
    judged(function, values("float32", (2, 12)), context, 17, norm=norm)


@pytest.mark.parametrize("function", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize(
    ("shape", "s", "axes"),
    [
        ((4, 6), None, None),
        ((3, 4, 5), None, None),
        ((3, 4, 5), None, (0, 2)),
        ((3, 4, 5), None, (2, 0)),
        ((3, 4, 5), (2, 8), (1, 2)),
        ((2, 3, 4, 5), None, None),
        ((3, 4, 5), None, (1,)),
        ((17, 4), (19, 6), (0, 1)),
    ],
    ids=str,
)
def test_several_axes(context, function, shape, s, axes):
    judged(function, values("float32", shape), context, s, axes)
    if axes is None:
        for norm in ("ortho", "forward"):
            judged(function, values("float32", shape), context, s, axes, norm)


@pytest.mark.parametrize("function", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes(context, function):
    judged(function, values("float32", (2, 4, 6)), context)
    judged(function, values("float32", (2, 4, 6)), context, (3, 8), (0, 2))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_every_layout(context, layout, dtype):
    host, x = pair(layout, dtype, context)
    for axis in range(host.ndim):
        if host.shape[axis]:
            close(fft.fft(x, axis=axis), np.fft.fft(host, axis=axis))
            close(fft.irfft(x, 6, axis), np.fft.irfft(host, 6, axis))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool", "float16"])
def test_other_dtypes(context, dtype):
    skip_without_double(context, dtype)
    host = values(dtype, (3, 10))
    if dtype == "float16":
        host = np.round(host)
    judged("fft", host, context)
    judged("rfft", host, context)


@pytest.mark.oclgrind
def test_every_kernel_stays_in_bounds(context):
    for n in (7 * 8, 3 * 4 * 5, 11 * 13, 17):
        host = values("float32", (2, n - 1, 2))
        judged("fft", host, context, n, axis=1)
        judged("irfft", host, context, n, axis=1)


def test_nothing_waits(context):
    x = put(values("complex64", (2, 24, 17)), context)

    def run():
        for axis in (1, 2):
            fft.fft(x, axis=axis), fft.ifft(x, axis=axis), fft.irfft(x, axis=axis)
            fft.rfft(x.real, axis=axis), fft.fftn(x), fft.fftshift(x)

    run()
    before = context.waits
    run()
    assert context.waits == before


def test_nothing_to_transform(context):
    judged("fft", np.zeros((0, 4), "float32"), context)
    judged("rfft", np.zeros((0, 4), "float32"), context)
    judged("irfft", np.zeros((0, 4), "complex64"), context)
    judged("fft", np.zeros((3, 0), "float32"), context, 4)
    judged("fftn", np.zeros((0, 4, 2), "complex64"), context, axes=(1, 2))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(context, n):
    if not context.has_double:
        pytest.skip("the device lacks float64")
    assert_same(fft.fftfreq(n, 0.1, device=context), np.fft.fftfreq(n, 0.1))
    assert_same(fft.rfftfreq(n, device=context), np.fft.rfftfreq(n))
    short = fft.fftfreq(n, dtype="float32", device=context)
    assert_same(short, np.fft.fftfreq(n).astype("float32"))


def test_shifts(context):
    host = values("float32", (4, 5))
    x = put(host, context)
    for axes in (None, 0, 1, (0, 1)):
        assert_same(fft.fftshift(x, axes), np.fft.fftshift(host, axes))
        assert_same(fft.ifftshift(x, axes), np.fft.ifftshift(host, axes))


@pytest.mark.parametrize("n", [4096, 3 * 5 * 7 * 64, 10007])
def test_long_transforms_are_accurate(context, n):
    host = np.random.default_rng(0).normal(size=(2, n)).astype("float32")
    got = np.asarray(fft.fft(put(host, context)))
    exact = np.fft.fft(host.astype("float64"))
    error = np.linalg.norm(got - exact) / np.linalg.norm(exact)
    assert error < 1e-6
    back = np.asarray(fft.ifft(put(got, context)))
    assert np.abs(back - host).max() < 1e-5


def test_the_imaginary_parts_that_must_be_0_are_not_read(context):
    host = values("complex64", (2, 5))
    for n in (8, 9):
        close(fft.irfft(put(host, context), n), np.fft.irfft(host, n))


def test_transforms_of_new_lengths_compile_nothing(context):
    def run(*lengths):
        for n in lengths:
            fft.fft(put(values("complex64", (2, n)), context))

    run(2, 3, 4, 5, 8, 16, 24, 32, 40, 64, 17)  # every radix, as the first and another
    compiled = context.cache_info().compiled
    run(96, 120, 480, 512, 4096, 29, 31, 83)
    assert context.cache_info().compiled == compiled


@pytest.mark.parametrize("n", [1, 2, 3, 8, 1000, 1021])
def test_roots_of_unity(n):
    exact = np.exp(-2j * np.pi * np.arange(n, dtype=np.longdouble) / n)
    assert np.abs(transforms.roots(n) - exact).max() < 3e-15
    assert transforms.convolution_length(n) >= 2 * n - 1


def test_what_is_no_signal_is_refused(null):
    x = gpuarray.zeros((3, 4), "complex64", context=null)
    with pytest.raises(ValueError, match="0 elements"):
        fft.fft(x, 0)
    with pytest.raises(ValueError, match="0 elements"):
        fft.fft(x[:0], axis=0)
    with pytest.raises(TypeError, match="rfft: got complex64"):
        fft.rfft(x)
    with pytest.raises(ValueError, match="norm"):
        fft.fft(x, norm="other")
    with pytest.raises(IndexError, match="axis 2"):
        fft.fft(x, axis=2)
    with pytest.raises(ValueError, match="lengths for"):
        fft.fftn(x, (2, 2), (0,))
    with pytest.raises(TypeError, match=r"gpuarray\.asarray"):
        fft.fft(np.zeros(3))
