"""Positions of extrema: argmax, argmin, and their nan-ignoring forms."""

import itertools

import gpuarray
import numpy as np
import pytest
from judge import assert_same
from layouts import LAYOUTS, pair, values

# ---- positions ----


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", [x for x in LAYOUTS if x != "empty"])
def test_positions_on_every_layout(context, layout):
    host, device = pair(layout, "float32", context)
    for axis in [None, *range(host.ndim)]:
        assert_same(device.argmax(axis), host.argmax(axis))
        assert_same(device.argmin(axis), host.argmin(axis))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "uint64", "float16", "complex64"]
)
def test_positions_of_dtypes(context, dtype):
    host = values("float32", (9, 70)).astype(dtype)
    if dtype == "complex64":
        host = np.round(host / 4) + 1j * np.round(values("float32", (9, 70), 1) / 4)
        host = host.astype(dtype)
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, -1):
        assert_same(device.argmax(axis), host.argmax(axis))
        assert_same(device.argmin(axis), host.argmin(axis))


def test_the_first_of_equals_is_found(context):
    host = np.zeros((300, 257), "float32")
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        assert_same(device.argmax(axis), host.argmax(axis))
    host[7:9, 20:30] = 1
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        assert_same(device.argmax(axis), host.argmax(axis))
        assert_same(device.T[::-1].argmax(axis), host.T[::-1].argmax(axis))


def test_the_first_nan_is_found(context):
    host = values("float32", (70, 300))
    host[3, 4] = host[3, 200] = host[60, 4] = np.nan
    host[0, 0], host[0, 1] = np.inf, -np.inf
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        assert_same(device.argmax(axis), host.argmax(axis))
        assert_same(device.argmin(axis), host.argmin(axis))
    pairs = host.astype("complex64")
    pairs.imag[5, 6] = np.nan
    device = gpuarray.asarray(pairs, context=context)
    assert_same(device.argmax(1), pairs.argmax(1))


@pytest.mark.parametrize("shape", [(100003,), (3, 70001), (70001, 3), (40, 50, 60)])
def test_positions_among_many_elements(context, shape):
    host = values("float32", shape)
    device = gpuarray.asarray(host, context=context)
    for axis in [None, *range(len(shape))]:
        assert_same(device.argmax(axis), host.argmax(axis))
        kept = device.argmin(axis, keepdims=True)
        assert_same(kept, host.argmin(axis, keepdims=True))


# Chunks whose greatest values are compared first are 4 to 16 elements long on a GPU and
# 2048 on a CPU.
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("columns", [3, 16, 67, 2048, 4099])
def test_ties_within_and_between_chunks(context, dtype, columns):
    places = np.random.default_rng(columns).integers(0, 5, (9, columns))
    for host in (np.minimum(places, 3), np.zeros_like(places), places // 4):
        host = host.astype(dtype)
        device = gpuarray.asarray(host, context=context)
        views = np.s_[:], np.s_[:, ::-1], np.s_[1:, 1:], np.s_[::-1, ::2]
        for view, axis in itertools.product(views, (None, 0, 1)):
            assert_same(device[view].argmax(axis), host[view].argmax(axis))
            assert_same(device[view].T.argmin(axis), host[view].T.argmin(axis))


@pytest.mark.parametrize("place", [0, 1, 15, 16, 2047, 2048, 5000, 6999])
def test_a_nan_anywhere_goes_first(context, place):
    host = values("float32", (2, 7000))
    host[1, place] = np.nan
    host[1, 6999] = np.nan
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        assert_same(device.argmax(axis), host.argmax(axis))
        assert_same(device[:, ::-1].argmin(axis), host[:, ::-1].argmin(axis))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64", "bool"])
def test_the_place_among_elements_that_nothing_goes_before(context, dtype):
    if dtype == "bool":
        limits = (False, True)
    elif dtype.startswith("f"):
        limits = (-np.inf, np.inf)
    else:
        limits = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for value in limits:
        host = np.full((3, 5000), value, dtype)
        host[2, 4000] = limits[0] if value == limits[1] else limits[1]
        device = gpuarray.asarray(host, context=context)
        for axis in (None, 0, 1):
            assert_same(device.argmax(axis), host.argmax(axis))
            assert_same(device.argmin(axis), host.argmin(axis))


def test_zeros_of_both_signs_are_level(context):
    host = np.zeros((3, 3000), "float32")
    host[:, ::3] = -0.0
    host[1, 0] = host[2, 7] = 0.0
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, 1):
        assert_same(device.argmax(axis), host.argmax(axis))
        assert_same(device.argmin(axis), host.argmin(axis))


def test_positions_take_one_axis(context):
    device = gpuarray.asarray(values("float32", (4, 5)), context=context)
    with pytest.raises(TypeError, match="argmax: axis"):
        device.argmax((0, 1))
    with pytest.raises(IndexError, match="argmin: axis 2 is out of bounds"):
        device.argmin(2)
    assert_same(gpuarray.argmax(device, 1), np.asarray(device).argmax(1))
    with pytest.raises(ValueError, match=r"argmax: out has shape \(4, 5\), expected"):
        device.argmax(out=device)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64"])
def test_peak_to_peak(context, dtype):
    host = values(dtype, (7, 33))
    device = gpuarray.asarray(host, context=context)
    for axis in (None, 0, (0, 1)):
        assert_same(device.ptp(axis), np.ptp(host, axis))
    with pytest.raises(TypeError, match="bool has no difference"):
        gpuarray.asarray(host > 0, context=context).ptp()
