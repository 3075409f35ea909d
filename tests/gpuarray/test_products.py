"""Products of float32 matrices whose results are few tiles and whose terms are many."""

from functools import cache

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray import blas
from gpuarray.compiler import config, function

SHAPES = [
    (32, 32, 128),
    (64, 512, 512),
    (33, 132, 260),
    (100, 36, 1000),
    (60, 500, 784),
    (47, 160, 132),
    (256, 64, 2048),
    (40, 64, 100),
    (64, 1536, 512),
    (100, 1000, 260),
]
"""Rows, columns, terms; a tile has 16 rows and 16 or 32 columns, or 32 of both."""


def numbers(rng, rows, columns, is_turned):
    """A matrix, and the same as the transpose of a matrix if wanted."""
    values = rng.uniform(-1, 1, (rows, columns)).astype("float32")
    return np.ascontiguousarray(values.T).T if is_turned else values


def are_near(found, expected, terms):
    """Whether sums of so many terms of at most 1 are as expected."""
    allowed = np.maximum(1e-5 * np.abs(expected), 2e-6 * terms**0.5)
    return found.shape == expected.shape and (abs(found - expected) <= allowed).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
def test_all_layouts(context, shape, turned):
    m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    a, b = numbers(rng, m, k, "a" in turned), numbers(rng, k, n, "b" in turned)
    left, right = (gpuarray.asarray(x, context=context) for x in (a, b))
    wide = a.astype("float64") @ b.astype("float64")
    assert are_near(np.asarray(left @ right), wide, k)
    c = rng.uniform(-1, 1, (m, n)).astype("float32")
    result = blas.gemm(0.5, left, right, -2.0, gpuarray.asarray(c, context=context))
    assert are_near(np.asarray(result), 0.5 * wide - 2.0 * c, k)


@cache
def epilogue(device):
    """A product that a row, a column and a matrix are applied to, elementwise."""
    x, w, c = T.fmatrices("x", "w", "c")
    row, column = T.frow("row"), T.fcol("column")
    values = T.tanh(T.dot(x, w) * column + row) - c
    with config.use(device=device):
        return function([x, w, c, row, column], values)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_epilogue_has_each_element(context, shape):
    m, n, k = shape
    rng = np.random.default_rng(m + n + k)
    shapes = (m, k), (k, n), (m, n), (1, n), (m, 1)
    arrays = [rng.uniform(-1, 1, s).astype("float32") for s in shapes]
    a, b, third, across, down = (each.astype("float64") for each in arrays)
    expected = np.tanh(a @ b * down + across) - third
    found = epilogue(context.name)(*arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * k**0.5)


def test_a_part_of_a_matrix(context):
    """Offsets, and lines longer than what is read of them."""
    rng = np.random.default_rng(1)
    a, b = numbers(rng, 80, 600, False), numbers(rng, 600, 200, False)
    left, right = (gpuarray.asarray(x, context=context) for x in (a, b))
    for rows, terms, columns in (
        (slice(4, 68), slice(8, 520), slice(16, 144)),
        (slice(1, 50), slice(3, 403), slice(5, 77)),
    ):
        part, other = a[rows, terms].astype("float64"), b[terms, columns]
        result = left[rows, terms] @ right[terms, columns]
        assert are_near(np.asarray(result), part @ other, 512)
