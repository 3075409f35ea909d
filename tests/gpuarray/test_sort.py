"""Sorts against NumPy: axes, layouts, dtypes, special values, stability, top-k."""

import gpuarray
import numpy as np
import pytest
from gpuarray._sorting.sorting import argsort_random
from gpuarray.dtypes import DTYPES
from judge import assert_same, in_order
from layouts import LAYOUTS, pair, values

NAMES = [str(dtype) for dtype in DTYPES]
LENGTHS = [1, 2, 3, 255, 256, 257, 2048, 2049, 5003, 40_000]


def special(dtype, shape, seed=0):
    """Values with many equal ones, and what floats have beside numbers."""
    host = values(dtype, shape, seed)
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed + 1)
    if dtype.kind == "f":
        extra = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
        return np.where(random.random(shape) < 0.3, random.choice(extra, shape), host)
    if dtype.kind in "iu":
        limits = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
        return np.where(random.random(shape) < 0.2, random.choice(limits, shape), host)
    return host


def need_double(context, dtype):
    if np.dtype(dtype) == np.float64 and not context.has_double:
        pytest.skip("the device has no float64")


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "element"])
def test_every_layout_and_axis(context, layout):
    host, device = pair(layout, "float32", context)
    for axis in range(-1, host.ndim):
        assert_same(gpuarray.sort(device, axis), in_order(host, axis), exact=True)
        order = np.argsort(host, axis, kind="stable")
        assert_same(device.argsort(axis), order)


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("length", LENGTHS)
def test_dtypes_and_lengths(context, dtype, length):
    need_double(context, dtype)
    host = special(dtype, (3, length))
    device = gpuarray.asarray(host, context=context)
    assert_same(gpuarray.sort(device), in_order(host), exact=True)
    assert_same(device.argsort(), np.argsort(host, kind="stable"))


@pytest.mark.oclgrind
def test_short_rows_and_long_ones(context):
    for shape in ((2, 300), (300, 2), (40, 9), (1, 3400)):
        host = special("int32", shape)
        device = gpuarray.asarray(host, context=context)
        for axis in (0, 1):
            assert_same(gpuarray.sort(device, axis), in_order(host, axis))
            assert_same(device.argsort(axis), np.argsort(host, axis, kind="stable"))


@pytest.mark.parametrize("length", [100, 3000])
def test_descending_is_stable_too(context, length):
    host = values("int8", (4, length))
    device = gpuarray.asarray(host, context=context)
    order = np.argsort(-host.astype("int64"), kind="stable")
    assert_same(device.argsort(descending=True), order)
    expected = np.take_along_axis(host, order, 1)
    assert_same(gpuarray.sort(device, descending=True), expected)


def test_the_bits_of_what_is_sorted_stay(context):
    host = np.array([0.0, -np.nan, -0.0, 1.0, np.nan, -0.0, 0.0], "float32")
    got = np.asarray(gpuarray.sort(gpuarray.asarray(host, context=context)))
    order = np.argsort(host, kind="stable")
    np.testing.assert_array_equal(got.view("u4"), host[order].view("u4"))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64"])
@pytest.mark.parametrize("length", [60, 30_000])
def test_in_place_and_into_views(context, dtype, length):
    host = special(dtype, (length, 3))
    device = gpuarray.asarray(host, context=context)
    column = device[:, 1]
    column.sort()
    expected = host.copy()
    expected[:, 1] = in_order(host[:, 1])
    assert_same(device, expected, exact=True)
    device.sort(0)
    assert_same(device, in_order(host, 0), exact=True)
    row = gpuarray.asarray(host[:, 0].copy(), context=context)
    row.sort()
    assert_same(row, in_order(host[:, 0]), exact=True)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "int64"])
@pytest.mark.parametrize("length", [200, 20_000])
def test_pairs(context, dtype, length):
    keys, moved = special("int16", (2, length)), values(dtype, (2, length))
    order = np.argsort(keys, kind="stable")
    a, b = gpuarray.sort_pairs(
        gpuarray.asarray(keys, context=context),
        gpuarray.asarray(moved, context=context),
    )
    assert_same(a, in_order(keys))
    assert_same(b, np.take_along_axis(moved, order, 1))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("length", [90, 5000])
def test_complex_numbers_by_their_parts(context, dtype, length):
    part = "float32" if dtype == "complex64" else "float64"
    need_double(context, part)
    host = np.empty((2, length), dtype)
    host.real, host.imag = special(part, (2, length), 3), special(part, (2, length), 4)
    host.real.round(out=host.real)
    device = gpuarray.asarray(host, context=context)
    order = np.argsort(host, kind="stable")
    assert_same(device.argsort(), order)
    got = np.asarray(gpuarray.sort(device))
    np.testing.assert_array_equal(got, np.take_along_axis(host, order, 1))


def test_all_elements_and_none(context):
    host, device = pair("permuted", "int32", context)
    assert_same(gpuarray.sort(device, None), in_order(host, None))
    assert_same(device.argsort(None), np.argsort(host, None, kind="stable"))
    empty = gpuarray.zeros((3, 0), "float32", context=context)
    assert gpuarray.sort(empty).shape == (3, 0)
    assert empty.argsort(0).shape == (3, 0)


def test_many_elements(context):
    host = np.random.default_rng(1).normal(size=1_000_003).astype("float32")
    device = gpuarray.asarray(host, context=context)
    assert_same(gpuarray.sort(device), in_order(host), exact=True)
    assert_same(device.argsort(), np.argsort(host, kind="stable"))
    equal = gpuarray.full(300_000, 3, "int64", context=context)
    assert_same(equal.argsort(), np.arange(300_000))


@pytest.mark.oclgrind
@pytest.mark.parametrize("k", [0, 1, 5, 70, 200])
@pytest.mark.parametrize("largest", [False, True])
def test_top_k(context, k, largest):
    for dtype, shape in (
        ("float32", (5, 300)),
        ("int8", (200, 3)),
        ("float16", (900,)),
    ):
        host = special(dtype, shape)
        device = gpuarray.asarray(host, context=context)
        axis = 0 if shape == (200, 3) else -1
        got, places = device.topk(k, axis, largest=largest)
        expected = first_k(host, k, axis, largest)
        assert_same(places, expected)
        assert_same(got, np.take_along_axis(host, expected, axis), exact=True)


def first_k(host, k, axis, largest):
    """Places of the first k, nan as the largest, of equal ones the first."""
    if not largest:
        return np.argsort(host, axis, kind="stable").take(range(k), axis)
    turned = np.argsort(np.flip(host, axis), axis, kind="stable")
    return (host.shape[axis] - 1 - np.flip(turned, axis)).take(range(k), axis)


@pytest.mark.parametrize("k", [1, 64, 3000])
def test_top_k_of_long_rows(context, k):
    host = special("float32", (2, 200_003))
    device = gpuarray.asarray(host, context=context)
    for largest in (False, True):
        got, places = device.topk(k, largest=largest)
        expected = first_k(host, k, 1, largest)
        assert_same(places, expected)
        assert_same(got, np.take_along_axis(host, expected, 1), exact=True)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "int64", "float64"])
@pytest.mark.parametrize("shape", [(40, 33), (9, 129), (3, 20_003)])
def test_top_k_of_many_lengths(context, dtype, shape):
    need_double(context, dtype)
    host = special(dtype, shape)
    device = gpuarray.asarray(host, context=context)
    for k, largest in ((1, True), (8, False), (257, True), (2000, False)):
        if k <= shape[1]:
            got, places = device.topk(k, largest=largest)
            expected = first_k(host, k, 1, largest)
            assert_same(places, expected)
            assert_same(got, np.take_along_axis(host, expected, 1), exact=True)


@pytest.mark.oclgrind
@pytest.mark.parametrize("ordered", [-1, 1])
def test_top_k_of_ordered_rows(context, ordered):
    host = np.arange(0, ordered * 3000, ordered, dtype="int32")[None] // 2
    device = gpuarray.asarray(host, context=context)
    for k, largest in ((3, True), (3, False), (300, True), (300, False)):
        got, places = device.topk(k, largest=largest)
        expected = first_k(host, k, 1, largest)
        assert_same(places, expected)
        assert_same(got, np.take_along_axis(host, expected, 1), exact=True)


def test_functions_and_mistakes(context):
    host, device = pair("row", "float32", context)
    assert_same(gpuarray.argsort(device, 0), np.argsort(host, 0, kind="stable"))
    with pytest.raises(ValueError, match="axis 2"):
        device.sort(2)
    with pytest.raises(TypeError, match="kind is 'fast'"):
        device.argsort(kind="fast")
    with pytest.raises(NotImplementedError, match="fields"):
        device.sort(order="x")
    with pytest.raises(ValueError, match="k is 9"):
        device.topk(9)


def test_random_keys_with_equal_upper_halves(context):
    """The hint for random bits changes no result, however many ties there are."""
    rng = np.random.default_rng(3)
    upper = rng.integers(0, 700, (2, 5000), "uint64") << np.uint64(32)
    host = upper | rng.integers(0, 9, (2, 5000), "uint64")
    host[1] = rng.integers(0, 2**64, 5000, "uint64", endpoint=False)
    host[1, 77] = host[1, 4077]
    equal = (np.uint64(5) << np.uint64(32)) | host[:, :1100] % np.uint64(9)
    for keys in (host, host.T.copy().T, host[:, ::-1], equal):
        device = gpuarray.asarray(keys, context=context)
        order = argsort_random(device, 1)
        assert_same(order, np.argsort(keys, 1, kind="stable"))
