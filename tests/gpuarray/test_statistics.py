"""Variances, running sums, differences, limits and rounding: NumPy is the judge."""

import itertools
import warnings

import gpuarray
import numpy as np
import pytest
from gpuarray._math.quantiles import METHODS
from judge import assert_same, quietly
from layouts import LAYOUTS, pair, values

DTYPES = ("bool", "int8", "uint64", "float16", "float32", "float64", "complex64")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*(("var", dtype) for dtype in DTYPES), ("std", "float16"), ("std", "complex64")],
)
def test_spread(context, name, dtype):
    host, device = pair("permuted", dtype, context)
    for options in (
        {},
        {"axis": 1},
        {"axis": (0, -1), "keepdims": True, "ddof": 1},
        {"axis": 2, "correction": 2.5},
        {"dtype": "float64"} if dtype[0] != "c" else {"axis": -1},
    ):
        expected = getattr(np, name)(host, **options)
        assert_same(getattr(gpuarray, name)(device, **options), expected)
        assert_same(getattr(device, name)(**options), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_spread_of_any_layout(context, layout):
    host, device = pair(layout, "float32", context)
    with pytest.warns(RuntimeWarning) if host.size == 0 else _nothing():
        expected = np.var(host)
    assert_same(gpuarray.var(device), expected)


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def test_spread_with_a_mean_and_too_few_elements(context):
    host, device = pair("step", "float32", context)
    mean, device_mean = host.mean(axis=0, keepdims=True), device.mean(0, keepdims=True)
    expected = np.var(host, axis=0, mean=mean)
    assert_same(gpuarray.var(device, axis=0, mean=device_mean), expected)
    assert np.isnan(gpuarray.var(device[0, 0, :1], ddof=1).item())
    assert np.isinf(gpuarray.var(device[0, 0], ddof=99).item())
    large = np.float32(1e4) + values("float32", (2000,))
    got = gpuarray.std(gpuarray.asarray(large, context=context))
    np.testing.assert_allclose(got.item(), large.astype("float64").std(), rtol=1e-5)


@pytest.mark.parametrize("name", ["var", "std", "nanvar"])
def test_a_spread_of_real_numbers_asked_for_in_complex_ones_is_real(context, name):
    host = np.array([[1.0, 2.0, 6.0]], "float32")
    device = gpuarray.asarray(host, context=context)
    expected = getattr(np, name)(host, 1)
    for options in ({}, {"mean": device.mean(1, keepdims=True)}):
        got = getattr(gpuarray, name)(device, 1, "complex64", **options)
        assert_same(got, expected)


MASKED = ("mean", "var", "std", "nanmean", "nanvar", "nanstd", "nansum", "nanprod")


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_leaves_elements_out(context, name):
    host = values("float32", (4, 5))
    host[1, 2] = np.nan
    row = np.array([True, False, True, True, False])
    mask = values("int8", (4, 5)) > 0
    mask[:, 1], mask[2] = False, False
    device, there = (gpuarray.asarray(x, context=context) for x in (host, mask))
    masks = (mask, there), (row, gpuarray.asarray(row, context=context))
    spread = name.endswith(("var", "std"))
    for options in ({}, {"ddof": 1}, {"ddof": 2.5}) if spread else ({},):
        for (where, on_device), axis in itertools.product(masks, (None, 1)):
            with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
                expected = getattr(np, name)(host, axis, where=where, **options)
            got = getattr(gpuarray, name)(device, axis, where=on_device, **options)
            assert_same(got, expected)


def test_a_mask_of_a_spread_counts_with_a_mean_that_is_given(first_context):
    host = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 9.0]])
    mask = host < 4
    device, there = (gpuarray.asarray(x, context=first_context) for x in (host, mask))
    centre = host.mean(1, keepdims=True, where=mask)
    expected = host.var(1, where=mask, mean=centre, ddof=1)
    given = gpuarray.asarray(centre, context=first_context)
    assert_same(device.var(1, where=there, mean=given, ddof=1), expected)
    assert_same(np.mean(device, where=there), host.mean(where=mask))
    with pytest.raises(TypeError, match="mean: where is of float64, expected bool"):
        device.mean(where=device)


@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
@pytest.mark.parametrize("dtype", ["int16", "complex64"])
def test_extrema_of_numbers_begin_where_they_are_told(context, name, dtype):
    host = values(dtype, (3, 4))
    if host.dtype.kind in "fc":
        host[0], host[1, 1] = np.nan, np.nan
    mask = values("int8", (3, 4)) > 0
    device, there = (gpuarray.asarray(x, context=context) for x in (host, mask))
    ours, theirs = getattr(gpuarray, name), getattr(np, name)
    with warnings.catch_warnings(action="ignore"):
        assert_same(ours(device, 1), theirs(host, 1), exact=True)
    for options in ({}, {"initial": 2}, {"initial": 2, "where": True}):
        found = options | ({"where": there} if "where" in options else {})
        options |= {"where": mask} if "where" in options else {}
        expected = theirs(host, 0, **options)
        assert_same(ours(device, 0, **found), expected, exact=True)
    fold = "fmax" if name == "nanmax" else "fmin"
    expected = getattr(np, fold).reduce(host, 1)
    assert_same(getattr(gpuarray, fold).reduce(device, 1), expected, exact=True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "complex64"])
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running(context, name, dtype):
    host, device = pair("negative_step", dtype, context)
    if name == "cumulative_prod":
        host, device = host[:, :3, :2], device[:, :3, :2]
    for axis in (0, -1):
        for initial in (False, True):
            options = {"axis": axis, "include_initial": initial}
            expected = getattr(np, name)(host, **options)
            assert_same(getattr(gpuarray, name)(device, **options), expected)
    vector = device[0, 0]
    assert_same(getattr(gpuarray, name)(vector), getattr(np, name)(host[0, 0]))
    wide = getattr(gpuarray, name)(vector, dtype="complex128", include_initial=True)
    expected = getattr(np, name)(host[0, 0], dtype="complex128", include_initial=True)
    assert_same(wide, expected)
    with pytest.raises(ValueError, match="axis must be given"):
        getattr(gpuarray, name)(device)


@pytest.mark.parametrize("dtype", DTYPES)
def test_differences(context, dtype):
    host, device = pair("fortran_order", dtype, context)
    for options in (
        {},
        {"n": 2, "axis": 0},
        {"n": 0},
        {"n": 9, "axis": 1},
        {"prepend": 1, "axis": 1},
        {"append": host[:, :1], "axis": 1},
    ):
        ours = dict(options)
        if "append" in ours:
            ours["append"] = device[:, :1]
        assert_same(gpuarray.diff(device, **ours), np.diff(host, **options))
    if dtype != "bool":
        assert_same(gpuarray.ediff1d(device), np.ediff1d(host))
        ends = {"to_begin": host.dtype.type(1), "to_end": np.array([2, 3], dtype)}
        assert_same(gpuarray.ediff1d(device, **ends), np.ediff1d(host, **ends))


@pytest.mark.parametrize("dtype", DTYPES)
def test_clip(context, dtype):
    host, device = pair("step", dtype, context)
    low, high = (0, 1) if dtype == "bool" else (2, 30)
    for limits in ((low, high), (None, high), (low, None)):
        assert_same(gpuarray.clip(device, *limits), np.clip(host, *limits))
        assert_same(device.clip(*limits), host.clip(*limits))
    assert_same(gpuarray.clip(device), host)
    assert_same(gpuarray.clip(device, max=device), host)
    expected = np.clip(host, low, high)
    out = gpuarray.zeros(host.shape, expected.dtype, context)
    assert gpuarray.clip(device, low, high, out=out) is out
    assert_same(out, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_round(context, dtype):
    host, device = pair("permuted", dtype, context)
    for decimals in (0, 1, -1, -3):
        if dtype == "bool" and decimals:
            continue
        expected = quietly(np.round, host, decimals)
        assert_same(gpuarray.round(device, decimals), expected)


def test_halves_are_rounded_to_even(context):
    host = np.array([0.5, 1.5, -2.5, 2.25, -0.0, np.inf, np.nan])
    device = gpuarray.asarray(host, context=context)
    for decimals in (0, 1):
        expected = np.round(host, decimals)
        assert_same(device.round(decimals), expected, exact=True)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float64", "complex64"])
def test_products_over_axes(context, dtype):
    a, da = pair("permuted", dtype, context)
    b, db = pair("c_order", dtype, context)
    for axes in (0, 1, ([0, 1], [1, 0]), ((2,), (2,)), 3):
        if axes == 1:
            one = gpuarray.ones((), "int64", context)
            expected, got = np.tensordot(a, a.T, 1), gpuarray.tensordot(da, da.T, one)
        elif axes == 0:
            expected = np.tensordot(a[0], b[0], 0)
            got = gpuarray.tensordot(da[0], db[0], 0)
        elif axes == 3:
            expected, got = np.tensordot(a, a, 3), gpuarray.tensordot(da, da, 3)
        else:
            expected, got = np.tensordot(a, b, axes), gpuarray.tensordot(da, db, axes)
        assert_same(got, expected, rtol=2e-2 if dtype == "float16" else None)
    if dtype != "bool":
        tolerance = 2e-2 if dtype == "float16" else None
        expected = np.vecdot(a, a[0])
        assert_same(gpuarray.vecdot(da, da[0]), expected, rtol=tolerance)
        expected = np.vecdot(a, a, axis=0)
        assert_same(gpuarray.vecdot(da, da, axis=0), expected, rtol=tolerance)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda a: gpuarray.var(a, dtype="int32"), TypeError),
        (lambda a: gpuarray.var(a, ddof=1, correction=1), ValueError),
        (lambda a: gpuarray.var(a, axis=2), IndexError),
        (lambda a: gpuarray.var([1.0]), TypeError),
        (lambda a: gpuarray.diff(a, n=-1), ValueError),
        (lambda a: gpuarray.diff(a[0, 0]), ValueError),
        (lambda a: gpuarray.tensordot(a, a, 1), ValueError),
        (lambda a: gpuarray.tensordot(a, a, 3), ValueError),
        (lambda a: gpuarray.tensordot(a, a, ([0], [0, 1])), ValueError),
        (lambda a: gpuarray.vecdot(a, a[:, :2]), ValueError),
        (lambda a: gpuarray.vecdot(a, a[0, 0]), ValueError),
    ],
)
def test_what_does_not_fit(context, call, error):
    device = gpuarray.asarray(values("float32", (2, 3)), context=context)
    with pytest.raises(error) as caught:
        call(device)
    assert isinstance(caught.value, gpuarray.GpuArrayError)


@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_numbers_in_place_of_nan_may_be_of_each_element(context, dtype):
    host = np.array([[np.nan, 1, np.inf], [-np.inf, np.nan, np.nan]], dtype)
    device = gpuarray.asarray(host, context=context)
    for options in (
        {"nan": [1, 2, 3]},
        {"nan": ((1.5,), (2.5,)), "posinf": np.array([7, 8, 9], "u1")},
        {"neginf": np.float32(2), "nan": True},
    ):
        assert_same(
            gpuarray.nan_to_num(device, **options), np.nan_to_num(host, **options)
        )
    there = gpuarray.asarray([1, 2, 3], context=context)
    assert_same(
        gpuarray.nan_to_num(device, nan=there), np.nan_to_num(host, nan=[1, 2, 3])
    )
    for wrong, kind in (
        ([1, 2], ValueError),
        (1j, TypeError),
        (None, TypeError),
        (["a", 1, 2], TypeError),
        (there.astype("complex64"), TypeError),
    ):
        with pytest.raises(kind):
            gpuarray.nan_to_num(device, nan=wrong)
    assert_same(device, host)


def test_nan_to_num_of_bfloat16(context):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = np.array([1, np.nan, np.inf, -np.inf], ml_dtypes.bfloat16)
    limits = ml_dtypes.finfo(ml_dtypes.bfloat16)
    got = gpuarray.nan_to_num(gpuarray.asarray(host, context=context)).get()
    assert got.tolist() == [1, 0, float(limits.max), float(limits.min)]


WEIGHED = [
    (None, (3, 4)),
    (0, (3, 4)),
    (0, (3,)),
    (-1, (4,)),
    ((1, 0), (4, 3)),
    ((0, 1), (3, 4)),
]


@pytest.mark.parametrize(("axis", "shape"), WEIGHED)
@pytest.mark.parametrize("function", ["quantile", "percentile", "nanquantile"])
def test_weighed_quantiles(context, function, axis, shape):
    rng = np.random.default_rng(3)
    host = rng.normal(size=(3, 4)).round(1)
    weights = rng.integers(0, 4, shape) + 0.5
    q = np.array([0.0, 0.3, 0.5, 1.0]) * (100 if function == "percentile" else 1)
    options = {"axis": axis, "method": "inverted_cdf", "keepdims": True}
    theirs = "quantile" if function == "nanquantile" else function  # no nan is here
    expected = getattr(np, theirs)(host, q, weights=weights, **options)
    a, w = (gpuarray.asarray(x, context=context) for x in (host, weights))
    assert_same(getattr(gpuarray, function)(a, q, weights=w, **options), expected)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_dtype_of_the_share_of_a_quantile_counts(context, dtype, name):
    ours, theirs = getattr(gpuarray, name), getattr(np, name)
    host = np.arange(6, dtype="float32")
    device = gpuarray.asarray(host, context=context)
    for method in ("linear", "lower"):
        for q in (0.5, np.dtype(dtype).type(0.5), np.asarray(0.5, dtype)):
            expected = theirs(host, q, method=method)
            assert_same(ours(device, q, method=method), expected)
        there = gpuarray.asarray(q, context=context)
        assert_same(ours(device, there, method=method), expected)


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_places_of_quantiles_are_not_rounded_to_the_dtype(first_context, name):
    """A float16 is no place among so many elements."""
    host = np.arange(2052) // 4
    device = gpuarray.asarray(host.astype("float16"), context=first_context)
    for method in METHODS:
        for q in (1.0, 1, 0.9995, 0.5002, np.float16(1)):
            expected = np.quantile(host, float(q), method=method).astype("float16")
            got = getattr(gpuarray, name)(device, q, method=method)
            assert_same(got, expected)


def test_nan_has_no_weight_in_nanquantile(context):
    host = np.array([[3.0, np.nan, 1.0, 2.0], [np.nan] * 4])
    weights = np.array([[1.0, 9.0, 1.0, 2.0], [1.0] * 4])
    a, w = (gpuarray.asarray(x, context=context) for x in (host, weights))
    options = {"axis": 1, "method": "inverted_cdf"}
    got = gpuarray.nanquantile(a, 0.5, weights=w, **options)
    assert_same(got, np.array([2.0, np.nan]))
    got = gpuarray.quantile(a, 0.5, weights=w, **options)
    assert_same(got, np.array([np.nan, np.nan]))


def test_quantiles_of_nothing(first_context):
    nothing = gpuarray.zeros((3, 0, 4), context=first_context)
    assert_same(gpuarray.nanquantile(nothing, 0.5, axis=1), np.full((3, 4), np.nan))
    found = gpuarray.nanpercentile(nothing, [5.0, 50.0], axis=1, keepdims=True)
    assert_same(found, np.full((2, 3, 1, 4), np.nan))
    with pytest.raises(IndexError, match="quantile: the array has no element to take"):
        gpuarray.quantile(nothing, 0.5)
    for name, *q in (("median",), ("quantile", 0.5), ("percentile", 50)):
        with pytest.raises(ValueError, match=f"{name}: the axes .* give one axis"):
            getattr(gpuarray, name)(nothing, *q, axis=(0, 2))
    whole = nothing.astype("int32")
    assert_same(gpuarray.nanquantile(whole, 0.5, axis=1), np.full((3, 4), np.nan))
    assert_same(gpuarray.nanmedian(whole, axis=(0, 2)), np.zeros(0))


def test_weights_that_do_not_fit(context):
    a = gpuarray.ones((3, 4), context=context)
    with pytest.raises(ValueError, match="only 'inverted_cdf' takes weights"):
        gpuarray.quantile(a, 0.5, weights=a)
    for weights, axis, kind in ((a[0], None, TypeError), (a[0], 0, ValueError)):
        with pytest.raises(kind, match="weights have shape"):
            gpuarray.quantile(a, 0.5, axis=axis, method="inverted_cdf", weights=weights)
    with pytest.raises(ValueError, match="a weight is negative"):
        gpuarray.quantile(a, 0.5, method="inverted_cdf", weights=-a)


@pytest.mark.parametrize("edges", [[0.0, 4.0, 8.0], (0, 8), 3])
@pytest.mark.parametrize("on_device", [False, True])
def test_bins_of_each_column_are_a_number_or_edges(context, edges, on_device):
    host = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    points = gpuarray.asarray(host, context=context)
    given = edges
    if on_device and edges != 3:
        given = gpuarray.asarray(np.array(edges), context=context)
    for bins, judged in (((2, given), (2, edges)), ([given, 2], [edges, 2])):
        wanted, wanted_edges = np.histogramdd(host, judged)
        counts, found = gpuarray.histogramdd(points, bins)
        assert_same(counts, wanted)
        for one, other in zip(found, wanted_edges, strict=True):
            assert_same(one, other)
        both = gpuarray.histogram2d(points[:, 0], points[:, 1], bins)
        assert_same(both[0], np.histogram2d(host[:, 0], host[:, 1], judged)[0])


# ---- axes in all orders, corrections at the count, integers at the ends ----

ORDERS = [
    0,
    -1,
    *itertools.permutations(range(3), 2),
    *itertools.permutations(range(3)),
]


@pytest.mark.parametrize("axis", ORDERS, ids=str)
def test_weights_of_axes_in_any_order(context, axis):
    rng = np.random.default_rng(3)
    host = rng.normal(size=(2, 3, 4))
    axes = (axis,) if isinstance(axis, int) else axis
    weights = rng.integers(1, 5, [host.shape[i] for i in axes]) + 0.5
    a, w = (gpuarray.asarray(each, context=context) for each in (host, weights))
    assert_same(
        gpuarray.average(a, axis, w), np.average(host, axis=axis, weights=weights)
    )
    options = {"axis": axis, "method": "inverted_cdf"}
    for name, q in itertools.product(("quantile", "nanquantile"), (0.2, 0.7)):
        # Without a nan both are one; NumPy's nanquantile fails on weights of an axis.
        expected = np.quantile(host, q, weights=weights, **options)
        assert_same(getattr(gpuarray, name)(a, q, weights=w, **options), expected)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_correction_at_the_count_and_beside_it(context, name):
    host = np.random.default_rng(4).normal(size=(3, 4))
    host[:, 2] = 1.5
    device = gpuarray.asarray(host, context=context)
    for axis, count in ((0, 3), (1, 4), ((1, 0), 12), (None, 12)):
        for ddof in (count - 1, count - 0.5, count, count + 1):
            expected = getattr(np, name)(host, axis=axis, ddof=ddof)
            assert_same(getattr(gpuarray, name)(device, axis=axis, ddof=ddof), expected)


ENDS = {
    "int64": [2**63 - 1, -(2**63), 2**63 - 2, 0, -(2**63) + 1, 2**53 + 1, -1],
    "uint64": [2**63, 2**63 - 1, 2**64 - 1, 0, 2**63 + 1, 2**53 + 1, 2**64 - 2],
}


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.parametrize(
    "name",
    [
        "sort",
        "argsort",
        "max",
        "min",
        "argmax",
        "argmin",
        "sum",
        "prod",
        "cumsum",
        "unique",
        "diff",
        "ptp",
    ],
)
def test_integers_at_2_to_the_63(context, name, dtype):
    host = np.array(ENDS[dtype], dtype)
    device = gpuarray.asarray(host, context=context)
    with np.errstate(over="ignore"):
        expected = getattr(np, name)(host)
    found = np.asarray(getattr(gpuarray, name)(device))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("dtype", "wide"), [("float32", "float64"), ("int8", "int64")])
def test_ends_are_stored_as_what_is_between_them(context, dtype, wide):
    host, end = values(dtype, (5,)), np.array([2, 3], wide)
    device, there = (gpuarray.asarray(x, context=context) for x in (host, end))
    expected = np.ediff1d(host, end, end)
    for given in (end, there):
        assert_same(gpuarray.ediff1d(device, given, given), expected)
