"""Gradients checked by compiled functions; wrong ones are found and told of."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config
from gpuarray.compiler.gradient import (
    GradientError,
    grad_scale,
    numeric_grad,
    verify_grad,
)


@pytest.fixture(autouse=True)
def on_context(context):
    with config.use(device=context.name):
        yield context


def points(*shape, dtype="float64"):
    return np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(dtype)


def test_right_gradients_pass(on_context):
    dtypes = ["float32", "float16"] + ["float64"] * on_context.has_double
    for dtype in dtypes:
        verify_grad(T.tanh, [points(3, 2, dtype=dtype)])
    x, y = points(3, 2, dtype="float32"), points(2, dtype="float32")
    verify_grad(lambda x, y: T.dot(x, y) * x[:, 0], [x, y], n_tests=1)
    verify_grad(lambda x: x.sum(axis=1) ** 2, [x], rng=np.random.RandomState(3))
    verify_grad(lambda x: T.cast(T.exp(x), "float32"), [x], cast_to_output_type=True)
    verify_grad(lambda x: x.sum(), [points(dtype="float32")], mode="FAST_COMPILE")


def test_a_wrong_gradient_is_told_with_its_place():
    def wrong(x, y):
        return T.sqr(x) + grad_scale(y, 3)

    with pytest.raises(GradientError, match="by argument 1 of shape") as caught:
        verify_grad(wrong, [points(3, dtype="float32"), points(3, dtype="float32")])
    error = caught.value
    assert isinstance(error, AssertionError)
    assert error.arg == 1 and error.shape == (3,)
    np.testing.assert_allclose(error.val1, 3 * error.val2, rtol=1e-2)
    assert error.abs_err > error.abs_tol and error.rel_err > error.rel_tol
    verify_grad(wrong, [points(3, dtype="float32")] * 2, abs_tol=100)


def test_the_seed_of_the_weights_is_a_setting():
    def told(**options):
        with pytest.raises(GradientError) as caught:
            verify_grad(lambda x: grad_scale(x, 3), points, **options)
        return str(caught.value)

    points = [np.float32([1, 2])]
    with config.use(**{"unittests.rseed": 5}):
        by_setting = told()
    assert by_setting == told(rng=np.random.default_rng(5)) != told()


def test_what_cannot_be_checked_is_told():
    with pytest.raises(TypeError, match="argument 0 is an array of int64"):
        verify_grad(T.exp, [np.array([1, 2])])
    with pytest.raises(TypeError, match="expected one variable"):
        verify_grad(lambda x: [x, x], [points(3, dtype="float32")])
    with pytest.raises(TypeError, match="expected real numbers"):
        verify_grad(lambda x: T.gt(x, 0), [points(3, dtype="float32")])


def test_numeric_gradients_are_those_of_central_differences():
    x, y = points(3), points(2, 2)
    found = numeric_grad(lambda x, y: (x**2).sum() + y[0, 1] ** 3, [x, y])
    np.testing.assert_allclose(found.gf[0], 2 * x, rtol=1e-6)
    np.testing.assert_allclose(found.gf[1], [[0, 3 * y[0, 1] ** 2], [0, 0]], atol=1e-6)
    single = numeric_grad(lambda x: x.sum(), x, eps=1e-3)
    np.testing.assert_allclose(single.gf, np.ones(3), rtol=1e-6)
    assert numeric_grad.abs_rel_err(np.array(3.0), np.array(1.0)) == (2, 0.5)
    arg, place, far, part = found.max_err([2 * x, np.zeros((2, 2))], 1e-4, 1e-4)
    assert (arg, place) == (1, 1) and part == pytest.approx(1)
    assert far == pytest.approx(3 * y[0, 1] ** 2, rel=1e-5)
    with pytest.raises(ValueError, match="given 1 gradients for 2 arguments"):
        found.max_err([x], 1, 1)
    with pytest.raises(ValueError, match=r"has shape \(2,\), the argument \(3,\)"):
        found.max_err([np.ones(2), y], 1, 1)


def test_nan_is_no_right_gradient():
    with pytest.raises(GradientError):
        verify_grad(lambda x: T.sqrt(x - x) * x, [points(2, dtype="float32")])
