"""Integers of random streams: every range, by constants, arrays and variables."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function
from gpuarray.compiler.random import RandomStreams

pytestmark = pytest.mark.usefixtures("on_it")


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (0, 2**32, "int64"),
        (0, 2**32 + 1, "int64"),
        (-7, 3 * 2**61, "int64"),
        (-(2**63), 2**63, "int64"),
        (0, 2**64, "uint64"),
        (2**63, 2**63 + 9, "uint64"),
        (0, 2, "bool"),
        (np.int32(1), T.constant(2**40), "float64"),
    ],
)
def test_integers_of_any_range_are_those_of_the_generator(context, low, high, dtype):
    f = function([], RandomStreams(3).integers(low, high, (41,), dtype))
    generator = gpuarray.random.default_rng(3, context)
    number = int(high.data) if isinstance(high, T.TensorConstant) else high
    kind = "int64" if dtype == "float64" else dtype
    for _ in range(2):
        expected = np.asarray(generator.integers(low, number, 41, kind))
        assert np.array_equal(np.asarray(f()), expected.astype(dtype))


def test_integers_between_arrays_are_those_of_the_generator(context):
    low, high = T.lvectors("low", "high")
    f = function([low, high], RandomStreams(3).integers(low, high))
    bounds = np.array([-(2**63), 0, -5] * 9), np.array([2**63 - 1, 2**63 - 1, 5] * 9)
    generator = gpuarray.random.default_rng(3, context)
    for _ in range(2):
        found = np.asarray(f(*bounds))
        assert np.array_equal(found, np.asarray(generator.integers(*bounds)))
    assert (found[::3] < 0).any() and (found[::3] > 0).any()


def test_integers_between_variables_are_minus_1_where_there_are_none(context):
    low, high = T.lvectors("low", "high")
    drawn = [
        RandomStreams(3).integers(low, high, dtype=dtype)
        for dtype in ("uint8", "int64", "float32")
    ]
    f = function([low, high], drawn)
    bounds = np.array([5, 3, -1, 0, 250]), np.array([5, 4, 3, 257, 256])
    narrow, wide, floats = (np.asarray(found) for found in f(*bounds))
    assert (narrow[[0, 2, 3]] == 255).all() and narrow[1] == 3 and narrow[4] >= 250
    assert wide[0] == -1 and (wide[1:] >= bounds[0][1:]).all()
    assert np.isnan(floats[0]) and (floats[1:] == wide[1:]).all()
