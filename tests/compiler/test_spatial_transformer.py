"""Spatial transformers: values pixel by pixel, gradients by differences, errors."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad
from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.ops.nnet.spatial_transformer import (
    spatial_grid,
    spatial_sampler,
    spatial_transformer,
)
from sampled import grid_of, sampled

IDENTITY = np.array([[[1.0, 0, 0], [0, 1, 0]]])


def compiled(context, *arguments):
    with config.use(device=str(context.name)):
        return function(*arguments)


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def maps(n, seed=1):
    """Maps near the identity, some of whose places are beyond the image."""
    return IDENTITY + drawn(n, 2, 3, seed=seed) / 2


@pytest.mark.parametrize("scales", [(1, 1), (0.75, 0.25), (2, 1.5)])
def test_values(context, scales):
    img, theta = T.ftensor4("img"), T.ftensor3("theta")
    f = compiled(context, [img, theta], spatial_transformer(img, theta, *scales))
    for shape in ((3, 2, 5, 7), (2, 1, 1, 4)):
        x, t = drawn(*shape), maps(shape[0])
        rows = int(np.ceil(shape[2] * scales[1]))
        columns = int(np.ceil(shape[3] * scales[0]))
        got = np.asarray(f(x.astype("f4"), t.astype("f4")))
        assert got.dtype == np.float32
        expected = sampled(x, grid_of(t, rows, columns))
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=2e-5)


def test_the_identity_returns_the_image(context):
    img = T.dtensor4("img")
    f = compiled(context, [img], spatial_transformer(img, np.repeat(IDENTITY, 2, 0)))
    x = drawn(2, 3, 4, 9)
    np.testing.assert_allclose(f(x), x, rtol=1e-12, atol=1e-12)


def test_beyond_the_image_are_zeros(context):
    img = T.dtensor4("img")
    away = IDENTITY + np.array([[0, 0, 5.0], [0, 0, 0]])
    half = IDENTITY + np.array([[0, 0, 1.0], [0, 0, 0]])
    outs = [spatial_transformer(img, each) for each in (away, half)]
    far, near = compiled(context, [img], outs)(np.ones((1, 1, 3, 5)))
    assert not np.any(far)
    np.testing.assert_allclose(near, np.tile([1.0, 1, 1, 0, 0], (1, 1, 3, 1)))


def test_the_parts(context):
    img, theta, grid = T.dtensor4("img"), T.dtensor3("theta"), T.dtensor4("grid")
    places = spatial_grid(theta, (2, 3, 4, 1))
    f = compiled(context, [img, theta], [places, spatial_sampler(img, places)])
    x, t = drawn(2, 3, 5, 4), maps(2)
    got, values = f(x, t)
    expected = grid_of(t, 4, 1)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    np.testing.assert_allclose(values, sampled(x, expected), rtol=1e-10, atol=1e-12)
    g = compiled(context, [img, grid], spatial_sampler(img, grid))
    anywhere = drawn(2, 6, 2, 2, seed=3)
    np.testing.assert_allclose(
        g(x, anywhere), sampled(x, anywhere), rtol=1e-10, atol=1e-12
    )


def differences(f, arguments, along, step=1e-6):
    ends = [
        float(f(*(a + sign * step * b for a, b in zip(arguments, along, strict=True))))
        for sign in (1, -1)
    ]
    return (ends[0] - ends[1]) / (2 * step)


def test_derivatives_agree_with_differences(context):
    img, theta = T.dtensor4("img"), T.dtensor3("theta")
    wrt, given = [img, theta], [drawn(2, 2, 4, 5), maps(2)]
    out = spatial_transformer(img, theta, 0.8, 1.5)
    cost = (out**3).sum()
    along = [drawn(*each.shape, seed=5 + i) for i, each in enumerate(given)]
    for _ in range(2):
        slopes = grad(cost, wrt)
        f = compiled(context, wrt, cost)
        found = compiled(context, wrt, slopes)(*given)
        total = sum(
            float((np.asarray(s) * v).sum()) for s, v in zip(found, along, strict=True)
        )
        np.testing.assert_allclose(total, differences(f, given, along), rtol=1e-5)
        cost = sum((s * v).sum() for s, v in zip(slopes, along, strict=True))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_the_result_has_the_dtype_of_the_image(first_context, dtype):
    img, theta = T.tensor4("img", dtype), T.ftensor3("theta")
    out = spatial_transformer(img, theta)
    assert out.dtype == dtype
    x, t = drawn(2, 1, 4, 4).astype(dtype), maps(2).astype("f4")
    got = compiled(first_context, [img, theta], out)(x, t)
    expected = sampled(x.astype("f8"), grid_of(t, 4, 4))
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-3)


def test_each_op_is_one_step(first_context):
    """The labels of steps are those of the library's routines; none gathers."""
    img, theta = T.ftensor4("img"), T.ftensor3("theta")
    cost = (spatial_transformer(img, theta) ** 2).sum()
    f = compiled(first_context, [img, theta], [cost, *grad(cost, [img, theta])])
    labels = [step.label for step in f.plan.steps]
    for name in (
        "affine_grid",
        "affine_grid_grad",
        "grid_sample",
        "grid_sample_grad_grid",
        "grid_sample_grad_images",
    ):
        assert labels.count(name) == 1
    assert not any("take" in label or "index" in label for label in labels)


@pytest.mark.parametrize(
    ("images", "maps_"), [("float32", "float64"), ("bfloat16",) * 2]
)
def test_places_are_of_the_wider_dtype(first_context, images, maps_):
    """Coordinates of 16 bits would miss the places between elements."""
    img, theta = T.tensor4("img", images), T.tensor3("theta", maps_)
    f = compiled(first_context, [img, theta], spatial_transformer(img, theta))
    x, t = drawn(1, 1, 3, 200).astype(images), maps(1).astype(maps_)
    expected = sampled(x.astype("f8"), grid_of(t.astype("f8"), 3, 200))
    error = np.abs(np.asarray(f(x, t)).astype("f8") - expected).max()
    assert error < (3e-7 if images == "float32" else 2e-2)


def test_scales_may_be_known_when_the_program_runs(first_context):
    img, s, n = T.dtensor4("img"), T.dscalar("s"), T.iscalar("n")
    out = spatial_transformer(img, np.repeat(IDENTITY, 1, 0), s, n)
    f = compiled(first_context, [img, s, n], out)
    assert f(drawn(1, 1, 3, 4), 0.6, 2).shape == (1, 1, 6, 3)


def test_what_does_not_fit_is_refused(first_context):
    img, theta = T.dtensor4("img"), T.dtensor3("theta")
    for build, error, text in (
        (
            lambda: spatial_transformer(theta, theta),
            GraphArgumentError,
            "img .* 4 axes",
        ),
        (lambda: spatial_transformer(img, img), GraphArgumentError, "theta .* 3 axes"),
        (lambda: spatial_transformer(img, drawn(2, 3, 3)), GraphValueError, "2, 3"),
        (lambda: spatial_transformer(img, theta, 0), GraphValueError, "width 0, expe"),
        (lambda: spatial_transformer(img, theta, 1, "a"), GraphTypeError, "height 'a'"),
        (
            lambda: spatial_transformer(img, theta, theta),
            GraphArgumentError,
            "a number",
        ),
        (lambda: spatial_grid(theta, (4, 4)), GraphArgumentError, "4 lengths"),
        (lambda: spatial_sampler(img, theta), GraphArgumentError, "grid .* x and y"),
    ):
        with pytest.raises(error, match=text):
            build()
    f = compiled(first_context, [img, theta], spatial_transformer(img, theta))
    with pytest.raises(ValueError, match="theta by its declared shape"):
        f(drawn(2, 1, 3, 3), drawn(2, 3, 3))
    with pytest.raises(ValueError):
        f(drawn(2, 1, 3, 3), drawn(3, 2, 3))
