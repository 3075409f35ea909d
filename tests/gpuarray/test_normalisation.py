"""Normalisation of arrays over a batch, and over neighbouring channels."""

import gpuarray
import numpy as np
import pytest
from gpuarray._nn.normalisation import batch_norm, local_response_norm

RTOL = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).normal(3, 1, shape)


def wide(array):
    return np.asarray(array).astype("float64")


@pytest.mark.parametrize("axes", [None, (0,), (1, 3)])
@pytest.mark.parametrize("dtype", RTOL)
def test_batch_norm(axes, dtype, context):
    places = axes or (0, 2, 3)
    host = drawn(4, 3, 5, 6).astype(dtype)
    array = gpuarray.asarray(host, context=context)
    kept = [n for i, n in enumerate(host.shape) if i not in places]
    full = [1 if i in places else n for i, n in enumerate(host.shape)]
    work = "float64" if dtype == "float64" else "float32"
    numbers = [drawn(*kept, seed=seed).astype(work) for seed in (1, 2)]
    gamma, beta = (gpuarray.asarray(each, context=context) for each in numbers)
    out, mean, var = batch_norm(array[::-1], gamma, beta, axes=axes, epsilon=1e-3)
    assert (str(out.dtype), str(mean.dtype), mean.shape) == (dtype, work, tuple(kept))
    x = host[::-1].astype("float64")
    means, spread = x.mean(places), x.var(places)
    for got, right in ((mean, means), (var, spread)):
        np.testing.assert_allclose(got, right, rtol=RTOL[work], atol=RTOL[work])
    right = (x - means.reshape(full)) / np.sqrt(spread.reshape(full) + 1e-3)
    right = right * numbers[0].reshape(full) + numbers[1].reshape(full)
    rtol = RTOL[dtype]
    np.testing.assert_allclose(wide(out), right, rtol=rtol, atol=3 * rtol)
    again = batch_norm(array[::-1], gamma, beta, mean, var, axes=axes, epsilon=1e-3)
    assert np.array_equal(np.asarray(again), np.asarray(out))


def test_the_variance_stays_beside_a_large_mean(first_context):
    host = (drawn(8, 2, 20, 20) + 1e4).astype("float32")
    array = gpuarray.asarray(host, context=first_context)
    ones = gpuarray.asarray(np.ones(2, "float32"), context=first_context)
    _, _, var = batch_norm(array, ones, ones)
    np.testing.assert_allclose(var, host.astype("float64").var((0, 2, 3)), rtol=1e-4)


@pytest.mark.parametrize("n", [1, 4, 5, 11])
@pytest.mark.parametrize("dtype", RTOL)
def test_local_response_norm(n, dtype, first_context):
    host = drawn(2, 6, 5).astype(dtype)
    array = gpuarray.asarray(host, context=first_context)
    found = local_response_norm(array, n, k=1.5, alpha=0.5, beta=0.6)
    squares = np.pad(
        host.astype("float64") ** 2, ((0, 0), (n // 2, (n - 1) // 2), (0, 0))
    )
    total = sum(squares[:, first : first + 6] for first in range(n))
    right = host.astype("float64") / (1.5 + 0.5 / n * total) ** 0.6
    assert str(found.dtype) == dtype
    np.testing.assert_allclose(wide(found), right, rtol=RTOL[dtype])


ERRORS = {
    "got int32, expected floats": lambda x, i: batch_norm(i, x, x),
    "axes are .*, expected numbers of axes from 0 to 1": lambda x, i: batch_norm(
        x, x, x, axes=(2,)
    ),
    "gamma has shape": lambda x, i: batch_norm(x, x, x),
    "got one of mean and var": lambda x, i: batch_norm(x, x, x, x),
    "got int32": lambda x, i: local_response_norm(i),
    "and n 0, expected": lambda x, i: local_response_norm(x, 0),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors_name_the_argument(message, first_context):
    x = gpuarray.asarray(np.zeros((3, 4), "float32"), context=first_context)
    with pytest.raises((TypeError, ValueError), match=message):
        ERRORS[message](x, x.astype("int32"))
