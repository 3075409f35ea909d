"""Expressions and copies over random layouts: NumPy is the judge."""

import gpuarray
import numpy as np
import pytest

DTYPES = ("bool", "int8", "uint16", "float16", "float32", "int64", "float64")
TOP = {1: 70000, 2: 300, 3: 50, 4: 16}  # the longest axis of each rank
ROUNDS = 6


def random_values(random, shape, dtype):
    low = 0 if dtype[0] in "bu" else -20
    return random.integers(low, 2 if dtype == "bool" else 20, shape).astype(dtype)


def random_layout(random, shape, dtype, context, stretch=True):
    """Views of equal values on host and device: axes in any order, with gaps, cut from
    either end, and some of length 1 if they may stretch."""
    lengths = [1 if stretch and random.random() < 0.15 else n for n in shape]
    steps = [int(random.choice([1, 1, 1, 2, -1, -2])) for _ in shape]
    edges = [int(random.choice([0, 0, 1, 3])) for _ in shape]
    order = random.permutation(len(shape))
    whole = [n * abs(s) + 2 * e for n, s, e in zip(lengths, steps, edges, strict=True)]
    host = random_values(random, [whole[i] for i in order], dtype)
    device = gpuarray.asarray(host, context=context)
    inverse = [int(i) for i in np.argsort(order)]
    cut = tuple(
        slice(e, e + n * abs(s), abs(s))
        for n, s, e in zip(lengths, steps, edges, strict=True)
    )
    turn = tuple(slice(None, None, -1 if s < 0 else 1) for s in steps)
    return (x.transpose(*inverse)[cut][turn] for x in (host, device))


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_layouts(dtype, ndim, context):
    random = np.random.default_rng([ndim, DTYPES.index(dtype)])
    for _ in range(ROUNDS):
        shape = [int(n) for n in random.integers(1, TOP[ndim], ndim)]
        a, da = random_layout(random, shape, dtype, context)
        b, db = random_layout(random, shape, dtype, context)
        np.testing.assert_array_equal(np.asarray(da.copy()), a)
        if dtype == "bool":
            np.testing.assert_array_equal(np.asarray(da ^ db), a ^ b)
        else:
            np.testing.assert_array_equal(np.asarray(da - db), a - b)
        out, dout = random_layout(random, shape, dtype, context, stretch=False)
        out[...] = a
        dout[...] = da
        np.testing.assert_array_equal(np.asarray(dout), out)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(300, 260), (9, 9000), (3, 40000), (257, 255)])
def test_a_matrix_and_its_transpose(shape, dtype, context):
    random = np.random.default_rng(0)
    a = random_values(random, shape, dtype)
    b = random_values(random, shape[::-1], dtype)
    da, db = (gpuarray.asarray(x, context=context) for x in (a, b))
    np.testing.assert_array_equal(np.asarray(db.transpose().copy()), b.T)
    if dtype == "bool":
        np.testing.assert_array_equal(np.asarray(da & db.transpose()), a & b.T)
    else:
        np.testing.assert_array_equal(np.asarray(da + db.transpose()), a + b.T)


def large_rows():
    """Shapes of arrays whose rows are of whole vectors, and of one with a value a row;
    GPUs have kernels for such layouts where there are many elements."""
    yield (2049, 2048), (2049, 1)
    yield (4, 3, 700, 516), (4, 1, 700, 1)
    yield (16, 512, 520), (16, 1, 1)


@pytest.mark.parametrize("cut", [0, 4, 3])
def test_large_rows_and_a_value_for_each(cut, context):
    random = np.random.default_rng(cut)
    for shape, column in large_rows():
        a, b = (random_values(random, s, "float32") for s in (shape, column))
        da, db = (gpuarray.asarray(x, context=context) for x in (a, b))
        part, dpart = a[..., cut:], da[..., cut:]
        np.testing.assert_array_equal(np.asarray(dpart - db), part - b)
        part += b
        dpart += db
        np.testing.assert_array_equal(np.asarray(da), a)


def test_sums_of_large_rows_and_a_value_for_each(context):
    random = np.random.default_rng(0)
    types = "float32 x, int8 b", "float32 y", "x * b + x", "a + b", "y = a", "0"
    kernel = gpuarray.ReductionKernel(*types, "weighted")
    for shape, column in large_rows():
        a = random_values(random, shape, "float32")
        b = random_values(random, column, "int8")
        da, db = (gpuarray.asarray(x, context=context) for x in (a, b))
        for axis in (len(shape) - 1, tuple(range(1, len(shape)))):
            expected = (a * b + a).sum(axis, dtype="float64")
            np.testing.assert_array_equal(
                np.asarray(kernel(da, db, axis=axis)), expected
            )
