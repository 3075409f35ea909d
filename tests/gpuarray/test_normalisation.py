"""Normalisation of arrays over a batch, and over neighbouring channels."""

import gpuarray
import numpy as np
import pytest
from gpuarray._nn.normalisation import (
    batch_norm,
    batch_norm_grad,
    batch_norm_train,
    local_response_norm,
)

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


def moved_back(array, order):
    """An array of the same values, whose memory has its axes in another order."""
    back = np.argsort(order).tolist()
    packed = np.ascontiguousarray(array.transpose(order))
    return lambda context: gpuarray.asarray(packed, context=context).transpose(*back)


@pytest.mark.parametrize("axes", [None, (0,), (0, 1, 2, 3)])
@pytest.mark.parametrize("dtype", RTOL)
def test_training_and_its_gradient(axes, dtype, context):
    places = axes or (0, 2, 3)
    order = np.random.default_rng(5).permutation(4)
    x, g = (drawn(4, 3, 5, 6, seed=seed).astype(dtype) for seed in (0, 7))
    full = [1 if i in places else n for i, n in enumerate(x.shape)]
    work = "float64" if dtype == "float64" else "float32"
    gamma, beta, old_mean, old_var = (
        drawn(*full, seed=seed).astype(work) for seed in range(1, 5)
    )
    a, dy = (moved_back(each, order)(context) for each in (x, g))
    scale, shift, mean_on, var_on = (
        gpuarray.asarray(each, context=context)
        for each in (gamma, beta, old_mean, old_var)
    )
    out, mean, deviation = batch_norm_train(
        a, scale, shift, mean_on, var_on, axes=axes, epsilon=1e-3, factor=0.3
    )
    found = batch_norm_grad(dy, a, scale, mean, deviation, axes=axes)
    wide_x, wide_g = (each.astype("float64") for each in (x, g))
    m = wide_x.mean(places, keepdims=True)
    v = wide_x.var(places, keepdims=True)
    n = x.size // v.size
    d = 1 / np.sqrt(v + 1e-3)
    normal = (wide_x - m) * d
    product = (wide_g * normal).sum(places, keepdims=True)
    total = wide_g.sum(places, keepdims=True)
    right = [
        (out, normal * gamma + beta, dtype),
        (mean, m, work),
        (deviation, d, work),
        (mean_on, old_mean * 0.7 + m * 0.3, work),
        (var_on, old_var * 0.7 + v * n / (n - 1) * 0.3, work),
        (found[0], (wide_g - total / n - normal * product / n) * gamma * d, dtype),
        (found[1], product, work),
        (found[2], total, work),
    ]
    for got, expected, kind in right:
        assert str(got.dtype) == kind
        rtol = RTOL[kind]
        np.testing.assert_allclose(wide(got), expected, rtol, 5 * rtol)
    again = batch_norm_train(a, scale, shift, axes=axes, epsilon=1e-3)
    assert np.asarray(again[0]).tobytes() == np.asarray(out).tobytes()
    assert np.asarray(again[2]).tobytes() == np.asarray(deviation).tobytes()


def test_training_without_elements(first_context):
    gamma = gpuarray.ones(3, "float32", device=first_context)
    x = gpuarray.zeros((0, 3, 2), "float32", device=first_context)
    out, mean, _ = batch_norm_train(x, gamma, gamma)
    assert out.shape == (0, 3, 2)
    assert np.isnan(np.asarray(mean)).all()
    by_x, by_gamma, _ = batch_norm_grad(x, x, gamma, mean, mean)
    assert by_x.shape == x.shape
    assert not np.asarray(by_gamma[:0]).size


def test_the_deviation_stays_beside_a_large_mean(first_context):
    host = (drawn(8, 2, 20, 20) + 1e4).astype("float32")
    array = gpuarray.asarray(host, context=first_context)
    ones = gpuarray.ones(2, "float32", device=first_context)
    _, _, deviation = batch_norm_train(array, ones, ones)
    spread = host.astype("float64").var((0, 2, 3)) + 1e-4
    np.testing.assert_allclose(deviation, spread**-0.5, rtol=1e-4)


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
    r"gamma is float32 \(3, 4\), expected the shape \(1, 4\)": lambda x, i: batch_norm(
        x, x, x
    ),
    "expected floats no wider than float32": lambda x, i: batch_norm(
        x, x[0].astype("float64"), x[0]
    ),
    "one of the running mean and variance": lambda x, i: batch_norm_train(
        x, x[0], x[0], x[1].copy()
    ),
    "the gradient is": lambda x, i: batch_norm_grad(x[1:], x, x[0], x[0], x[0]),
    "got one of mean and var": lambda x, i: batch_norm(x, x, x, x),
    "got int32": lambda x, i: local_response_norm(i),
    "and n 0, expected": lambda x, i: local_response_norm(x, 0),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors_name_the_argument(message, first_context):
    x = gpuarray.asarray(np.zeros((3, 4), "float32"), context=first_context)
    with pytest.raises((TypeError, ValueError), match=message):
        ERRORS[message](x, x.astype("int32"))
