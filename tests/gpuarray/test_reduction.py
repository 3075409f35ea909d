"""Reductions against NumPy: axes, layouts, dtypes, special values, determinism."""

import itertools

import gpuarray
import numpy as np
import pytest
from judge import assert_same
from layouts import LAYOUTS, broadcast_pair, pair, values

NAMES = ("sum", "prod", "max", "min", "any", "all", "mean")
AXES = [
    None,
    *itertools.chain.from_iterable(
        itertools.combinations(range(3), n) for n in range(4)
    ),
]
# Every kernel takes a compiler up to a second, so not every pair is tried.
SUMMED = ["bool", "int8", "uint16", "int64", "uint64", "float16", "float64"]
MORE = [
    ("max", "float16"),
    ("mean", "float16"),
    ("prod", "int8"),
    ("min", "int8"),
    ("mean", "int8"),
    ("max", "bool"),
    ("all", "bool"),
]


def reduced(name, array, **how):
    return getattr(array, name)(**how)


@pytest.mark.oclgrind
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_every_set_of_axes(context, axis):
    host, device = pair("c_order", "float32", context)
    assert_same(device.sum(axis), host.sum(axis))
    kept = device.max(axis, keepdims=True)
    assert_same(kept, host.max(axis, keepdims=True))


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(context, layout):
    host, device = pair(layout, "float32", context)
    for axis in [None, *range(host.ndim)]:
        assert_same(device.sum(axis), host.sum(axis))


@pytest.mark.parametrize("dtype", SUMMED)
def test_sums_of_dtypes(context, dtype):
    host, device = pair("negative_step", dtype, context)
    assert_same(device.sum(), host.sum())
    assert_same(device.sum(1), host.sum(1))


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, "float32") for name in NAMES), *MORE]
)
def test_every_reduction(context, name, dtype):
    if name == "mean" and dtype in ("int8", "bool") and not context.has_double:
        pytest.skip("the mean of integers is float64, which the device lacks")
    host = values(dtype, (4, 9))
    if name == "prod" and dtype.startswith("f"):
        host = (host / 4 + 1).astype(dtype)[:, :3]
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, -1):
        expected = reduced(name, host, axis=axis)
        assert_same(reduced(name, device, axis=axis), expected)


def test_the_dtype_of_a_sum_can_be_chosen(context):
    host = np.full(1000, 200, "uint8")
    device = gpuarray.asarray(host, context=context)
    for dtype in ("uint8", "float32"):
        assert_same(device.sum(dtype=dtype), host.sum(dtype=dtype))


def test_float16_is_accumulated_in_float32(context):
    host = np.full(20000, 0.5, "float16")
    device = gpuarray.asarray(host, context=context)
    assert float(device.sum()) == 10000.0
    assert float(device.mean()) == 0.5


def test_nothing_to_reduce_gives_the_identity(context):
    empty = np.empty((0, 3), "float32")
    device = gpuarray.asarray(empty, context=context)
    assert_same(device.sum(0), empty.sum(0))
    assert_same(device.prod(), empty.prod())
    assert_same(device.all(), empty.all())
    assert_same(device.any(0), empty.any(0))
    assert_same(device.sum(1), empty.sum(1))
    for name in ("max", "min", "argmax", "argmin", "ptp"):
        with pytest.raises(ValueError, match=rf"{name}\(.*no elements to reduce"):
            getattr(device, name)()
    assert_same(device.max(1), empty.max(1))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_the_first_operand_may_be_an_array_of_one_number(context, name):
    host = np.arange(1, 7, dtype="float32").reshape(2, 3)
    device = gpuarray.asarray(host, context=context)
    for axis, number in itertools.product((None, 0), (9, -9)):
        expected = getattr(np, name)(host, axis=axis, initial=np.asarray(number))
        there = gpuarray.asarray(number, "int64", context=context)
        for initial in (np.asarray(number), there):
            got = getattr(gpuarray, name)(device, axis=axis, initial=initial)
            assert_same(got, expected)


@pytest.mark.parametrize(
    ("dtype", "initial", "kind", "text"),
    [
        ("float32", "a", TypeError, "initial is str, expected a number"),
        ("float32", [1], TypeError, "initial is list, expected a number"),
        ("float32", np.ones(2), ValueError, r"initial has shape \(2,\), expected a n"),
        ("float32", 1j, TypeError, "initial is complex, the result is of float32"),
        ("float64", 10**400, OverflowError, "out of bounds for float64"),
        ("int64", np.nan, ValueError, "initial is nan, expected a number that int64"),
        ("int64", np.inf, OverflowError, "initial is inf, out of bounds for int64"),
        ("int64", 2**63, OverflowError, "out of bounds for int64; give a wider dtype"),
    ],
)
def test_what_a_reduction_cannot_begin_with_is_told_before_any_launch(
    null, dtype, initial, kind, text
):
    """The null device runs no kernel: it would say so if one were launched."""
    array = gpuarray.zeros((2, 3), dtype, null)
    for name in ("sum", "prod", "max", "min", "nansum", "nanmax"):
        with pytest.raises(kind, match=f"^{name}: .*{text}"):
            getattr(gpuarray, name)(array, initial=initial)
    with pytest.raises(kind, match=f"^add.reduce: .*{text}"):
        gpuarray.add.reduce(array, initial=initial)
    with pytest.raises(TypeError, match="sum: initial is complex, the result is of"):
        array.sum(initial=gpuarray.zeros((), "complex64", null))


def test_a_nan_is_handed_on(context):
    host = values("float32", (70, 30))
    host[3, 4] = np.nan
    device = gpuarray.asarray(host, context=context)
    assert_same(device.max(0), host.max(0))
    assert_same(device.min(1), host.min(1))
    assert np.isnan(float(device.sum()))
    for length in (31, 48, 70):  # less than vectors, and what is left of them
        for place in range(0, length, 5):
            line = values("float32", (length,))
            line[place] = np.nan
            assert np.isnan(float(gpuarray.asarray(line, context=context).max()))


def test_infinities_and_extremes(context):
    host = np.array([-np.inf, np.inf, -3.0], "float32")
    device = gpuarray.asarray(host, context=context)
    assert_same(device.max(), host.max())
    assert_same(device.min(), host.min())
    limits = np.array([np.iinfo("int64").min, 0, 7, np.iinfo("int64").max])
    whole = gpuarray.asarray(limits, context=context)
    assert_same(whole[:1].max(), limits[:1].max())
    assert_same(whole[-1:].min(), limits[-1:].min())


def test_any_and_all_of_numbers_that_are_neither_0_nor_1(context):
    host = np.array([0.0, 0.25, 256.0, np.nan], "float32")
    device = gpuarray.asarray(host, context=context)
    assert bool(device.any()) and not bool(device.all())
    whole = gpuarray.asarray(np.array([256, 512]), context=context)
    assert bool(whole.all())


def test_a_repeated_view(context):
    host, device = broadcast_pair("float32", context)
    assert_same(device.sum(), host.sum())
    assert_same(device.sum(0), host.sum(0))


@pytest.mark.parametrize("shape", [(100003,), (3, 70001), (70001, 3), (257, 263)])
def test_many_elements(context, shape):
    host = values("float32", shape)
    device = gpuarray.asarray(host, context=context)
    for axis in [None, *range(len(shape))]:
        expected = host.sum(axis, dtype="float64")
        got = np.asarray(device.sum(axis))
        scale = np.abs(host).sum(axis, dtype="float64").max()
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6 * scale)
        assert_same(device.max(axis), host.max(axis))


def test_the_same_input_gives_the_same_bits(context):
    device = gpuarray.asarray(values("float32", (1009, 257)), context=context)
    first = [np.asarray(device.sum(axis)) for axis in (None, 0, 1)]
    for _ in range(3):
        again = [np.asarray(device.sum(axis)) for axis in (None, 0, 1)]
        for a, b in zip(first, again, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_number_reduces_to_itself(context):
    host, device = pair("element", "float32", context)
    for name in NAMES:
        assert_same(reduced(name, device), reduced(name, host))


def test_functions_are_the_methods(context):
    host, device = pair("row", "float32", context)
    for name in NAMES:
        expected = getattr(np, name)(host, axis=1)
        assert_same(getattr(gpuarray, name)(device, axis=1), expected)


def test_numpy_s_own_functions_hand_over_to_the_array(context):
    host = np.arange(6, dtype="float32").reshape(2, 3)
    array = gpuarray.asarray(host, context=context)
    for function in (np.sum, np.mean, np.prod, np.max, np.min, np.any, np.all):
        result = function(array, axis=1)
        assert isinstance(result, gpuarray.Array)
        np.testing.assert_allclose(np.asarray(result), function(host, axis=1))
    with pytest.raises(ValueError, match=r"sum: out has shape \(2, 3\), expected"):
        array.sum(out=array)


# ---- complex numbers and bfloat16 ----


def test_complex_sums_and_means(context):
    host = values("float32", (30, 41)) + 1j * values("float32", (30, 41), 1)
    host = host.astype("complex64")
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        for name in ("sum", "mean", "any"):
            expected = getattr(host, name)(axis)
            assert_same(getattr(device, name)(axis), expected, rtol=1e-4)
    assert_same(device[:, :3].prod(1), host[:, :3].prod(1), rtol=1e-4)


def test_bfloat16_is_accumulated_in_float32(context):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = values("float32", (50, 70)).astype(ml_dtypes.bfloat16)
    device = gpuarray.asarray(host, context=context)
    wide = host.astype("float32")
    for axis in (None, 0, 1):
        expected = wide.sum(axis).astype(ml_dtypes.bfloat16).astype("float32")
        got = np.asarray(device.sum(axis)).astype("float32")
        np.testing.assert_allclose(got, expected, rtol=1e-2, atol=0.05)
        assert_same(device.argmax(axis), wide.argmax(axis))


def test_a_mean_of_nothing_is_nan(context):
    device = gpuarray.zeros((0, 3), "float32", context=context)
    assert np.isnan(np.asarray(device.mean(0))).all()


# ---- rows that begin anywhere in a packet ----


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_sums_from_any_offset(context, dtype):
    host = values(dtype, (6, 101))
    device = gpuarray.asarray(host, context=context)
    for start, stop in ((0, 100), (1, 98), (3, 101), (5, 6), (7, 40)):
        for axis in (None, 0, 1):
            cut = np.s_[1:, start:stop]
            assert_same(device[cut].sum(axis), host[cut].sum(axis))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
def test_sums_of_small_integers_at_their_limits(context, dtype):
    limits = (True,) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for value in limits:
        host = np.full((2, 70000), value, dtype)
        device = gpuarray.asarray(host, context=context)
        for axis in (None, 0, 1):
            assert_same(device.sum(axis), host.sum(axis))


# ---- packets of small elements, and tiles of columns ----


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("shape", [(300, 67), (1100, 130), (9, 5000)])
def test_small_integers_in_runs_of_packets(context, dtype, shape):
    whole = np.random.default_rng(shape[1]).integers(-40, 40, shape)
    host = (whole > 38 if dtype == "bool" else whole * 7).astype(dtype)
    device = gpuarray.asarray(host, context=context)
    for view in (np.s_[:], np.s_[1:, 3:], np.s_[:, ::-1], np.s_[::-1, :-1]):
        for name in ("argmax", "argmin", "max", "min", "sum", "any", "all"):
            for axis in (0, 1):
                expected = reduced(name, host[view], axis=axis)
                assert_same(reduced(name, device[view], axis=axis), expected)


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_columns_from_any_offset(context, dtype):
    host = values(dtype, (37, 2, 67))
    device = gpuarray.asarray(host, context=context)
    for start in (1, 2, 5, 15, 16, 17):
        for stop in (start + 1, start + 15, 67):
            cut = np.s_[..., start:stop]
            assert_same(device[cut].max(0), host[cut].max(0))
            assert_same(device[cut].argmax(1), host[cut].argmax(1))


@pytest.mark.parametrize("shape", [(20, 5001), (3, 70, 2049), (5, 9, 17), (4000, 7)])
def test_tiles_of_columns(context, shape):
    host = values("float32", shape)
    device = gpuarray.asarray(host, context=context)
    for axis in range(len(shape) - 1):
        assert_same(device.sum(axis), host.sum(axis), rtol=1e-4)
        assert_same(device.argmin(axis), host.argmin(axis))
        assert_same(np.ptp(device, axis), np.ptp(host, axis))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint32"])
def test_a_mean_of_integers_is_of_their_exact_sum(context, dtype):
    if not context.has_double:
        pytest.skip("the mean of integers is float64, which the device lacks")
    top = True if dtype == "bool" else np.iinfo(dtype).max
    host = np.full((3, 70000), top, dtype)
    host[1, ::3] = 0
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        assert_same(device.mean(axis), host.mean(axis))


def test_a_mean_is_of_a_sum_that_float64_does_not_hold(context):
    if not context.has_double:
        pytest.skip("the mean of integers is float64, which the device lacks")
    below = np.random.default_rng(0).integers(0, 1000, 4099, "int64")
    host = (2**32 - 1 - below).astype("uint32")
    rows = 1021
    device = gpuarray.asarray(host, context=context).broadcast_to((rows, host.size))
    total = int(host.sum()) * rows
    assert total > 2**53
    assert float(device.mean()) == float(total) / device.size


REDUCTIONS = (
    *("all", "any", "argmax", "argmin", "max", "mean", "median", "min", "nanmax"),
    *("nanmean", "nanmedian", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"),
    *("prod", "ptp", "std", "sum", "var"),
)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_into_an_output(context, name):
    host = np.arange(12.0).reshape(3, 4)
    a, expected = gpuarray.asarray(host, context=context), getattr(np, name)(host, 0)
    out = gpuarray.zeros(4, expected.dtype, context)
    assert getattr(gpuarray, name)(a, axis=0, out=out) is out
    assert_same(out, expected, rtol=1e-12)
    assert getattr(np, name)(a, axis=0, out=out) is out
    with pytest.raises(ValueError, match="out has shape"):
        getattr(gpuarray, name)(a, axis=1, out=out)


def test_an_output_that_cannot_hold_the_result(context):
    a = gpuarray.ones((3, 4), context=context)
    with pytest.raises(TypeError, match="float64 cannot be stored as int32"):
        a.sum(0, out=gpuarray.zeros(4, "int32", context))
    with pytest.raises(ValueError, match="max: it has no identity"):
        a.max(where=a > 0)


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_rows_beside_operands_that_repeat_along_them(context, dtype):
    """Whole numbers, so that sums are exact in any order."""
    text = "(x - c) * d", "a + b", "y = a", "0", "mixed"
    kernel = gpuarray.ReductionKernel("T x, T c, T d", "T y", *text)
    for n in (1, 15, 16, 17, 63, 64, 65, 255, 1024, 4099, 70001):
        x = (np.arange(6 * n).reshape(2, 3, n) % 11).astype(dtype)
        c = np.array([2, 5, 1]).reshape(3, 1).astype(dtype)
        d = (np.arange(n) % 3).astype(dtype)
        arrays = [gpuarray.asarray(v, context=context) for v in (x, c, d)]
        product = (x.astype("float64") - c) * d
        for axis in ((2,), (0, 2), (0, 1, 2)):
            right = product.sum(axis).astype(dtype)
            assert_same(kernel(*arrays, axis=axis), right, exact=True)
