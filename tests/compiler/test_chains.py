"""Runs of small launches, which a processor does in one launch after some thousands.

The results have the same bits before and after.
"""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan

ITERATIONS = 500
CALLS = 45
"""Enough of ITERATIONS launches each for the library to compile a chain."""


@pytest.fixture
def on_context(context):
    if not context.is_cpu:
        pytest.skip("a GPU has launches in graphs")
    with config.use(device=context.name):
        yield context


def numbers(dtype, *shape):
    values = np.random.default_rng(3).uniform(-1, 1, shape)
    if np.dtype(dtype).kind in "iu":
        values = values * 100 + 100
    if np.dtype(dtype).kind == "c":
        values = values + 1j * values[::-1]
    return values.astype(dtype)


def recurrence(x, step):
    """The states of iterations, of which each needs all elements of the one before."""
    return scan(step, outputs_info=[x], n_steps=ITERATIONS)[0]


BODIES = {
    "columns": lambda s: T.tanh(s - s.mean(axis=0)),
    "rows": lambda s: s / (abs(s).sum(axis=1, keepdims=True) + 1),
    "copies": lambda s: s.T.reshape(s.shape) - s.argmax(axis=0),
}
"""Bodies that are no kernel with their loop."""


def differences(f, x, calls=CALLS):
    """The calls whose results have other bits than those of the first call."""
    first = np.asarray(f(x))
    assert np.isfinite(first).all()
    rest = [np.asarray(f(x)) for _ in range(calls - 1)]
    return [
        i for i, result in enumerate(rest, 1) if result.tobytes() != first.tobytes()
    ]


@pytest.mark.parametrize("name", BODIES)
def test_results_keep_their_bits(on_context, name):
    x = T.fmatrix("x")
    states = recurrence(x, lambda s: BODIES[name](s).astype("float32"))
    f = function([x], states[-1], on_device=True)
    given = gpuarray.asarray(numbers("float32", 5, 40), context=on_context)
    assert not differences(f, given)


@pytest.mark.parametrize("dtype", ["float16", "int32", "complex64"])
def test_other_dtypes_keep_their_bits(on_context, dtype):
    x = T.TensorType(dtype, (False, False))("x")
    states = recurrence(x, lambda s: (s[::-1] - s.sum(axis=0) / 4).astype(dtype))
    f = function([x], states[-1] * 0 + states[2])
    assert not differences(f, numbers(dtype, 3, 20))


def test_inputs_may_lie_elsewhere_at_each_call(on_context):
    """A chain is bound to addresses by arguments, offsets of views among them."""
    x = T.fmatrix("x")
    states = recurrence(x, lambda s: T.tanh(s - s.mean(axis=0)) + 0.5)
    f = function([x], states[-1])
    whole = gpuarray.asarray(numbers("float32", 60, 12), context=on_context)
    for start in range(CALLS):
        part = whole[start : start + 5]
        expected = np.asarray(part)
        value = f(part)
        if start % 11 == 0:
            for _ in range(ITERATIONS):
                expected = np.tanh(expected - expected.mean(axis=0)) + np.float32(0.5)
            np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-5)
    repeated = f(whole[3:8])
    np.testing.assert_array_equal(repeated, f(np.asarray(whole[3:8])))


def test_a_profile_shows_single_launches_of_a_chain(on_context):
    x = T.fmatrix("x")
    f = function([x], recurrence(x, lambda s: T.tanh(s - s.mean(axis=0)))[-1])
    given = gpuarray.asarray(numbers("float32", 5, 40), context=on_context)
    assert not differences(f, given)
    with gpuarray.profile(on_context) as seen:
        f(given)
    assert len(seen.spans) > ITERATIONS
