"""Set functions and searches in sorted arrays: NumPy is the judge."""

import gpuarray
import numpy as np
import pytest
from judge import assert_same
from layouts import pair

DTYPES = ("bool", "int8", "uint64", "float16", "float32", "float64", "complex64")
OPTIONS = ("return_index", "return_inverse", "return_counts")


def few(dtype, shape=(60,), seed=0):
    """Few different values, with nan and both zeros where there are any."""
    random = np.random.default_rng(seed)
    low = 0 if dtype[0] in "bu" else -4
    host = random.integers(low, 2 if dtype == "bool" else 5, shape).astype(dtype)
    if dtype[0] in "fc":
        host.reshape(-1)[::7] = np.nan
        host.reshape(-1)[3::11] = -0.0
    return host


def given(context, dtype, shape=(60,), seed=0):
    host = few(dtype, shape, seed)
    return host, gpuarray.asarray(host, context=context)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("equal_nan", [True, False])
def test_unique(context, dtype, equal_nan):
    host, device = given(context, dtype, (6, 10))
    everything = dict.fromkeys(OPTIONS, True)
    got = gpuarray.unique(device, **everything, equal_nan=equal_nan)
    wanted = np.unique(host, **everything, equal_nan=equal_nan)
    for one, expected in zip(got, wanted, strict=True):
        assert_same(one, expected, exact=True)
    alone = gpuarray.unique(device, equal_nan=equal_nan)
    assert_same(alone, np.unique(host, equal_nan=equal_nan), exact=True)


@pytest.mark.parametrize("layout", ["permuted", "negative_step", "element", "empty"])
def test_unique_of_any_layout(context, layout):
    host, device = pair(layout, "float32", context)
    for option in OPTIONS:
        got = gpuarray.unique(device, **{option: True})
        wanted = np.unique(host, **{option: True})
        for one, expected in zip(got, wanted, strict=True):
            assert_same(one, expected, exact=True)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_parts(context, axis):
    host = np.random.default_rng(0).integers(0, 2, (9, 3, 2)).astype("int16")
    host[4:] = host[:5]
    device = gpuarray.asarray(host, context=context)
    everything = dict.fromkeys(OPTIONS, True)
    got = gpuarray.unique(device, **everything, axis=axis)
    wanted = np.unique(host, **everything, axis=axis)
    for one, expected in zip(got, wanted, strict=True):
        assert_same(one, expected.reshape(one.shape), exact=True)


def test_the_standards_unique(context):
    host, device = given(context, "float32")
    got = gpuarray.unique_all(device)
    wanted = np.unique_all(host)
    for name in ("values", "indices", "inverse_indices", "counts"):
        assert_same(getattr(got, name), getattr(wanted, name), exact=True)
    assert_same(gpuarray.unique_values(device), wanted.values, exact=True)
    assert_same(gpuarray.unique_counts(device).counts, wanted.counts, exact=True)
    inverse = gpuarray.unique_inverse(device).inverse_indices
    assert_same(inverse, wanted.inverse_indices, exact=True)


@pytest.mark.parametrize(
    "dtypes", [("int8", "int8"), ("int32", "float32"), ("f4", "f4")]
)
def test_two_sets(context, dtypes):
    a, da = given(context, dtypes[0])
    b, db = given(context, dtypes[1], (20,), seed=3)
    b = b[:5]
    db = db[:5]
    for name in ("union1d", "setdiff1d", "setxor1d", "intersect1d", "isin"):
        assert_same(
            getattr(gpuarray, name)(da, db), getattr(np, name)(a, b), exact=True
        )
    not_in = gpuarray.isin(da.reshape(6, 10), db, invert=True)
    assert_same(not_in, np.isin(a.reshape(6, 10), b, invert=True), exact=True)
    got = gpuarray.intersect1d(da, db, return_indices=True)
    wanted = np.intersect1d(a, b, return_indices=True)
    for one, expected in zip(got, wanted, strict=True):
        assert_same(one, expected, exact=True)


def test_sets_of_nothing_and_of_numbers(context):
    a, da = given(context, "int32")
    none = gpuarray.zeros(0, "int32", context)
    assert_same(gpuarray.isin(da, none), np.isin(a, []), exact=True)
    assert_same(gpuarray.isin(da, 2), np.isin(a, 2), exact=True)
    assert_same(gpuarray.isin(da, [2, 3]), np.isin(a, [2, 3]), exact=True)
    assert gpuarray.setdiff1d(none, da).shape == (0,)
    assert gpuarray.union1d(none, none).shape == (0,)
    assert gpuarray.setxor1d(none, none).shape == (0,)
    with pytest.raises(TypeError):
        gpuarray.isin([1], [2])


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted(context, dtype):
    host, device = given(context, dtype)
    wanted, looked = given(context, dtype, (4, 5), seed=1)
    ordered, order = np.sort(host), np.argsort(host, kind="stable")
    sorted_device = gpuarray.asarray(ordered, context=context)
    places = gpuarray.asarray(order, context=context)
    for side in ("left", "right"):
        expected = np.searchsorted(ordered, wanted, side)
        got = gpuarray.searchsorted(sorted_device, looked, side)
        assert_same(got, expected, exact=True)
        by_order = gpuarray.searchsorted(device, looked, side=side, sorter=places)
        assert_same(by_order, expected, exact=True)
        strided = gpuarray.searchsorted(sorted_device[::2], looked.T[::-1], side)
        expected = np.searchsorted(ordered[::2], wanted.T[::-1], side)
        assert_same(strided, expected, exact=True)


def test_searchsorted_of_numbers_and_of_nothing(context):
    host = np.array([1, 3, 3, 7], "int8")
    device = gpuarray.asarray(host, context=context)
    for number in (3, 300, -300, 2.5, np.float32(3)):
        expected = np.searchsorted(host, number)
        assert_same(gpuarray.searchsorted(device, number), expected, exact=True)
    none = gpuarray.zeros(0, "int8", context)
    assert_same(gpuarray.searchsorted(none, device), np.zeros(4, int), exact=True)
    assert gpuarray.searchsorted(device, none).shape == (0,)
    assert device.searchsorted(3, side="right").item() == 3


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [[0, 1, 2.5], [3, 1, -1], [1, 1, 2], [2]])
def test_digitize(context, bins, right):
    host = np.array([[-1, 0, 1.0], [2.5, 3, np.nan]], "float32")
    device = gpuarray.asarray(host, context=context)
    got = gpuarray.digitize(device, bins, right)
    assert_same(got, np.digitize(host, bins, right), exact=True)


@pytest.mark.parametrize("order", ["C", "F"])
def test_places_of_raveled_arrays(context, order):
    shape = (3, 4, 5)
    flat = np.array([[0, 59, 7], [22, 31, 1]])
    device = gpuarray.asarray(flat, context=context)
    got = gpuarray.unravel_index(device, shape, order)
    wanted = np.unravel_index(flat, shape, order)
    for one, expected in zip(got, wanted, strict=True):
        assert_same(one, expected, exact=True)
    assert_same(gpuarray.ravel_multi_index(got, shape, order=order), flat, exact=True)
    far = [gpuarray.asarray(np.array([-1, 9]), context=context)] * 3
    for mode in ("wrap", "clip", ("wrap", "clip", "wrap")):
        expected = np.ravel_multi_index([np.array([-1, 9])] * 3, shape, mode, order)
        got = gpuarray.ravel_multi_index(far, shape, mode, order)
        assert_same(got, expected, exact=True)
    gpuarray.unravel_index(far[0] + 60, shape)
    with pytest.raises(IndexError):
        context.sync()
    context.sync()


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda a: gpuarray.searchsorted(a.reshape(2, 3), a), ValueError),
        (lambda a: gpuarray.searchsorted(a, a, side="middle"), ValueError),
        (lambda a: gpuarray.searchsorted(a, a, sorter=[0.5] * 6), TypeError),
        (lambda a: gpuarray.searchsorted(a, a, sorter=[0]), ValueError),
        (lambda a: gpuarray.digitize(a, [0, 2, 1]), ValueError),
        (lambda a: gpuarray.digitize(a, [[0]]), ValueError),
        (lambda a: gpuarray.unravel_index(a, (2, 3)), TypeError),
        (lambda a: gpuarray.unravel_index(a.astype(int), (2, 3), "A"), ValueError),
        (lambda a: gpuarray.ravel_multi_index([a.astype(int)], (2, 3)), ValueError),
        (lambda a: gpuarray.unique([1, 2]), TypeError),
        (lambda a: gpuarray.unique(a, axis=1), IndexError),
    ],
)
def test_what_does_not_fit(context, call, error):
    device = gpuarray.asarray(np.arange(6, dtype="float32"), context=context)
    with pytest.raises(error) as caught:
        call(device)
    assert isinstance(caught.value, gpuarray.GpuArrayError)
