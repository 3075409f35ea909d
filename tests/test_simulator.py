"""Shapes at which kernels take another way, small enough for the kernel simulator.

Each family of kernels has its short rows, its long ones that several groups share, and
its edges. Collected under ``--context oclgrind`` and ``--context oclgrind-gpu`` only:
what a kernel reads or writes out of bounds, or races for, fails there.
"""

import gpuarray
import numpy as np
import pytest
from judge import assert_same
from layouts import values

pytestmark = pytest.mark.oclgrind
SHAPES = [(1, 5000), (5000, 1), (3, 700), (700, 3), (67, 70)]


def twins(dtype, shape, context, seed=0):
    host = values(dtype, shape, seed)
    return host, gpuarray.asarray(host, context=context)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "complex64"])
def test_tiles(context, dtype):
    for rows, columns in ((65, 70), (33, 130), (3, 70)):
        x, a = twins(dtype, (rows, columns), context)
        y, b = twins(dtype, (columns, rows), context, 1)
        assert_same(a + b.T, x + y.T, exact=True)
        assert_same(a.T.copy(), x.T, exact=True)
        assert_same(a[::-1, ::2] + b.T[:, ::2], x[::-1, ::2] + y.T[:, ::2], exact=True)


def test_rows_and_columns_that_repeat(context):
    x, a = twins("float32", (70, 131), context)
    assert_same(a + a[3], x + x[3], exact=True)
    assert_same(a * a[:, 5:6], x * x[:, 5:6], exact=True)
    assert_same(a[:, :1] + a[0], x[:, :1] + x[0], exact=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions(context, shape):
    x, a = twins("float32", shape, context)
    for axis in (None, 0, 1):
        assert_same(a.sum(axis), x.sum(axis), rtol=1e-4)
        assert_same(a.argmax(axis), x.argmax(axis))
    x, a = twins("int8", shape, context)
    for axis in (None, 0, 1):
        assert_same(a.sum(axis), x.sum(axis))
        assert_same(a.max(axis), x.max(axis))


def test_reductions_of_a_middle_axis(context):
    x, a = twins("float16", (5, 90, 7), context)
    assert_same(a.max(1), x.max(1))
    assert_same(a.argmin(1), x.argmin(1))
    x, a = twins("float32", (3, 40, 50), context)
    assert_same(a.sum((0, 2)), x.sum((0, 2)), rtol=1e-4)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scans(context, shape):
    x, a = twins("int32", shape, context)
    for axis in (0, 1):
        assert_same(a.cumsum(axis), x.cumsum(axis))
        assert_same(a.cummax(axis), np.maximum.accumulate(x, axis))
        own = a.copy()
        own.cumsum(axis, out=own)
        assert_same(own, x.cumsum(axis, dtype="int32"))


@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_sorts(context, dtype):
    for shape in ((1, 2500), (70, 5), (3, 257)):
        x, a = twins(dtype, shape, context)
        assert_same(gpuarray.sort(a), np.sort(x))
        order = np.argsort(x, kind="stable")
        assert_same(a.argsort(), order)
        keys, moved = gpuarray.sort_pairs(a, a)
        assert_same(keys, np.sort(x))
        assert_same(moved, np.sort(x))


def test_picks_and_masks(context):
    x, a = twins("float32", (300, 9), context)
    places = np.arange(0, 900, 7) % 300
    where = gpuarray.asarray(places, context=context)
    assert_same(a[where], x[places], exact=True)
    assert_same(a[a > 0], x[x > 0], exact=True)
    a[where] = 2
    x[places] = 2
    assert_same(a, x, exact=True)
    a[a < 0] = 1
    x[x < 0] = 1
    assert_same(a, x, exact=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_products(context, dtype):
    tolerance = 2e-2 if dtype == "float16" else 1e-4
    wide = np.float32 if dtype == "float16" else dtype
    x, a = twins(dtype, (19, 33), context)
    y, b = twins(dtype, (33, 21), context, 1)
    expected = (x.astype(wide) @ y.astype(wide)).astype(dtype)
    assert_same(a @ b, expected, rtol=tolerance)
    assert_same(a @ b[:, 0], expected[:, 0], rtol=tolerance)
    assert_same(a[0] @ b, expected[0], rtol=tolerance)
