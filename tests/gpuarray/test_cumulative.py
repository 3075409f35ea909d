"""Scans against NumPy: axes, layouts, dtypes, directions, special values."""

import gpuarray
import numpy as np
import pytest
from judge import assert_same
from layouts import LAYOUTS, pair, values

ACCUMULATE = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
}


def directed(host, axis, reverse, exclusive):
    """NumPy's cumulative sum in a direction."""
    turned = np.flip(host, axis) if reverse else host
    sums = np.cumsum(turned, axis)
    if exclusive:
        sums = np.roll(sums, 1, axis)
        first = [slice(None)] * host.ndim
        first[axis] = 0
        sums[tuple(first)] = 0
    return np.flip(sums, axis) if reverse else sums


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "element"])
def test_every_layout_and_axis(context, layout):
    host, device = pair(layout, "float32", context)
    for axis in range(host.ndim):
        assert_same(device.cumsum(axis), np.cumsum(host, axis))


def test_results_of_every_layout(context):
    for name, make in LAYOUTS.items():
        if name == "element":
            continue
        host, device = pair(name, "int32", context)
        place = gpuarray.zeros((7, 5, 6), "int64", context=context)
        out = make(place)
        device.cumsum(-1, out=out)
        assert_same(out, np.cumsum(host, -1, dtype="int64"))
        assert int(place.sum()) == int(np.cumsum(host, -1).sum())


@pytest.mark.oclgrind
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_directions(context, reverse, exclusive):
    how = {"reverse": reverse, "exclusive": exclusive}
    for shape in ((40,), (3, 700), (700, 3), (300, 40), (2, 90, 33)):
        host = values("int32", shape)
        device = gpuarray.asarray(host, context=context)
        for axis in range(host.ndim):
            expected = directed(host, axis, reverse, exclusive)
            assert_same(device.cumsum(axis, **how), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16"])
def test_dtypes_are_numpy_s(context, dtype):
    host, device = pair("permuted", dtype, context)
    for name in ("cummax", "cummin"):
        assert_same(getattr(device, name)(1), ACCUMULATE[name](host, 1))
    if dtype == "float16":
        wide = np.cumsum(host, 1, dtype="float32").astype(dtype)
        assert_same(device.cumsum(1), wide)
    else:
        assert_same(device.cumsum(1), np.cumsum(host, 1))
        assert_same(device.cumprod(0), np.cumprod(host, 0))


def test_the_dtype_of_a_sum_can_be_chosen(context):
    host = np.full(1000, 200, "uint8")
    device = gpuarray.asarray(host, context=context)
    for dtype in ("uint8", "int16", "float32"):
        assert_same(device.cumsum(dtype=dtype), host.cumsum(dtype=dtype))
        assert_same(device.cumsum(dtype=dtype), host.cumsum(dtype=dtype))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_float64(context, name):
    if not context.has_double:
        pytest.skip("the device has no float64")
    host = values("float64", (50, 60)) / 40 + 1
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        expected = ACCUMULATE[name](host, axis)
        assert_same(getattr(device, name)(axis), expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers(context, dtype):
    if dtype == "complex128" and not context.has_double:
        pytest.skip("the device has no float64")
    host = np.exp(1j * values("float32", (70, 400))).astype(dtype)
    device = gpuarray.asarray(host, context=context)
    for name, axis in (("cumsum", 0), ("cumsum", 1), ("cumprod", 0), ("cumprod", 1)):
        got = np.asarray(getattr(device, name)(axis))
        tolerance = 1e-3 if dtype == "complex64" else 1e-10
        np.testing.assert_allclose(got, ACCUMULATE[name](host, axis), atol=tolerance)
    with pytest.raises(NotImplementedError, match="complex numbers"):
        device.cummax(0)


LONG = [(3_000_017,), (3, 700_001), (700_001, 3), (90_001, 20), (5, 4001, 90), (60, 2)]


@pytest.mark.parametrize("shape", LONG, ids=str)
def test_long_axes_exactly(context, shape):
    host = values("int16", shape)
    device = gpuarray.asarray(host, context=context)
    for axis in range(len(shape)):
        for how in ({}, {"reverse": True, "exclusive": True}):
            expected = directed(host, axis, bool(how), bool(how))
            assert_same(device.cumsum(axis, **how), expected)


def test_many_short_rows(context):
    host = values("int32", (70_000, 5))
    device = gpuarray.asarray(host, context=context)
    assert_same(device.cumsum(1), host.cumsum(1))
    assert_same(device.cumsum(0), host.cumsum(0))


@pytest.mark.parametrize("length", [1, 2, 7, 31, 32, 63, 64, 65])
def test_contiguous_short_rows(context, length):
    for rows in (64, 127, 1000):
        host = values("int16", (rows, length))
        device = gpuarray.asarray(host, context=context)
        for how in ({}, {"exclusive": True}):
            expected = directed(host, 1, False, bool(how))
            assert_same(device.cumsum(1, **how), expected)
        device.cumsum(1, out=device, dtype="int16")
        assert_same(device, host.cumsum(1, dtype="int16"))


@pytest.mark.parametrize("more", [-1, 0, 5])
def test_tiles_that_are_just_full(context, more):
    """Above 2^23 elements, aligned and not, a device may take larger tiles."""
    host = values("int16", (300 * 2**15 + more,))
    device = gpuarray.asarray(host, context=context)
    for start in (0, 1):
        sums = host[start:].cumsum(dtype="int32")
        assert_same(device[start:].cumsum(dtype="int32"), sums)
        exclusive = device[start:].cumsum(dtype="int32", exclusive=True)
        assert_same(exclusive, np.concatenate(([0], sums[:-1])).astype("int32"))


def test_sums_of_floats_are_close_and_the_same_bits_each_time(context):
    host = values("float32", (2_000_003,)) + 1
    device = gpuarray.asarray(host, context=context)
    first = np.asarray(device.cumsum())
    np.testing.assert_allclose(first, host.cumsum(dtype="float64"), rtol=1e-4)
    for _ in range(5):
        np.testing.assert_array_equal(np.asarray(device.cumsum()), first)


def test_nan_infinity_and_minus_zero(context):
    host = np.array([-np.inf, 3, np.nan, 7, np.inf], "float32")
    device = gpuarray.asarray(host, context=context)
    for name, judge in ACCUMULATE.items():
        assert_same(getattr(device, name)(), judge(host))
    zeros = gpuarray.asarray(np.full(100, -0.0, "float32"), context=context)
    assert np.signbit(np.asarray(zeros.cumsum())).all()


def test_into_itself_and_over_itself(context):
    host = values("int64", (40, 50))
    device = gpuarray.asarray(host, context=context)
    device.cumsum(1, out=device)
    assert_same(device, host.cumsum(1))
    flat = gpuarray.asarray(host.reshape(-1), context=context)
    flat[:-1].cumsum(out=flat[1:])
    assert_same(flat[1:], host.reshape(-1)[:-1].cumsum())


def test_functions_are_the_methods_and_take_numpy_s_place(context):
    host, device = pair("row", "float32", context)
    for name, judge in ACCUMULATE.items():
        assert_same(getattr(gpuarray, name)(device, axis=1), judge(host, 1))
    assert_same(np.cumsum(device, axis=0), np.cumsum(host, axis=0))
    assert_same(np.cumprod(device, axis=0), np.cumprod(host, axis=0))


def test_an_array_without_axes_has_one_element_of_axis_0(context):
    device = gpuarray.asarray(3.0, context=context)
    for name in ACCUMULATE:
        for axis in (None, 0, -1):
            assert_same(getattr(gpuarray, name)(device, axis), np.array([3.0]))
    with pytest.raises(IndexError, match="axis 1"):
        device.cumsum(1)


def test_mistakes(context):
    device = gpuarray.zeros((3, 4), "float32", context=context)
    with pytest.raises(ValueError, match="axis 2"):
        device.cumsum(2)
    with pytest.raises(ValueError, match="expected one shape"):
        device.cumsum(0, out=gpuarray.zeros(3, "float32", context=context))
    with pytest.raises(TypeError, match="expected a gpuarray array"):
        device.cumsum(0, out=np.zeros((3, 4), "float32"))
