"""Arrays over 4 GiB, on devices with the memory: positions need more than 32 bits."""

import gpuarray
import numpy as np
import pytest

BEYOND = 2**32 + 100
FAR = np.array([0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 50, BEYOND - 1])
MARKS = np.arange(1, len(FAR) + 1, dtype="uint8")
NEEDED = 20 * 2**30


@pytest.fixture
def large(context):
    """More than 2^32 bytes, zero but for a few."""
    if context.is_cpu or context.total_memory < NEEDED:
        pytest.skip("this takes a card with 20 GiB")
    yield marked(context)
    context.trim()


def marked(context):
    """The array of the tests, filled through an index array."""
    made = gpuarray.zeros(BEYOND, "uint8", context=context)
    made[gpuarray.asarray(FAR, context=context)] = gpuarray.asarray(
        MARKS, context=context
    )
    return made


def at(array):
    """The elements at FAR, each read through a slice of its own."""
    return [int(np.asarray(array[i : i + 1])[0]) for i in FAR]


def test_put_and_take_reach_the_end(large):
    assert at(large) == list(MARKS)
    picked = large[gpuarray.asarray(FAR, context=large.context)]
    np.testing.assert_array_equal(np.asarray(picked), MARKS)


def test_elementwise_and_copies_reach_the_end(large):
    assert at(large + 1) == list(MARKS + 1)
    assert at(large.copy()) == list(MARKS)
    large[...] = 7
    assert at(large) == [7] * len(FAR)


def test_reductions_and_positions(large):
    assert int(np.asarray(large.sum())) == MARKS.sum()
    assert int(np.asarray(large.argmax())) == BEYOND - 1
    assert gpuarray.count_nonzero(large) == len(FAR)
    np.testing.assert_array_equal(np.asarray(gpuarray.flatnonzero(large)), FAR)
    kept = large[large > 0]
    np.testing.assert_array_equal(np.asarray(kept), MARKS)


def test_scans_reach_the_end(large):
    sums = gpuarray.cumsum(large, dtype="uint8")
    assert at(sums) == list(np.cumsum(MARKS, dtype="uint8"))


def test_few_elements_far_apart(large):
    """Fewer than 2^32 elements, whose strides reach over 4 GiB."""
    step = 2**28
    view = large[::step]
    count = view.shape[0]
    expected = np.zeros(count, "uint8")
    expected[0], expected[8], expected[16] = 1, 3, 5
    np.testing.assert_array_equal(np.asarray(view), expected)
    np.testing.assert_array_equal(np.asarray(view[::-1] + 1), expected[::-1] + 1)
    view += 1
    expected += 1
    np.testing.assert_array_equal(np.asarray(large[::step].copy()), expected)
    assert int(np.asarray(view.sum())) == expected.sum()
    places = gpuarray.asarray(np.array([count - 1, 0, -9]), context=large.context)
    np.testing.assert_array_equal(np.asarray(view.take(places)), expected[[-1, 0, -9]])
    np.testing.assert_array_equal(np.asarray(gpuarray.sort(view)), np.sort(expected))
    np.testing.assert_array_equal(
        np.asarray(gpuarray.cumsum(view, dtype="uint8")), np.cumsum(expected)
    )
    rows = large[: 16 * step].reshape(16, step)[:, :2]
    host = np.zeros((16, 2), "uint8")
    host[:, 0] = expected[:16]
    host[0, 1] = 2
    np.testing.assert_array_equal(np.asarray(rows.T + rows.T), (host + host).T)
