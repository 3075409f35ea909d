"""Spatial transformers of arrays against NumPy: points, images, gradients."""

import gpuarray
import numpy as np
import pytest
from gpuarray._nn.sampling import (
    affine_grid,
    affine_grid_grad,
    grid_sample,
    grid_sample_grad_grid,
    grid_sample_grad_images,
)
from gpuarray.errors import BadType, BadValue

RTOL = {"float64": 1e-11, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


def places(length):
    return np.linspace(-1, 1, length) if length > 1 else np.zeros(length)


def points_of(theta, rows, columns):
    x, y = np.meshgrid(places(columns), places(rows))
    return np.einsum("nij,jrc->nrci", theta, np.stack([x, y, np.ones_like(x)]))


def weights(grid, height, width):
    """The share of each pixel in each point, and its slopes by the point's x and y."""
    scale = (width - 1) / 2, (height - 1) / 2
    shares, signs = [], []
    for which, length in enumerate((width, height)):
        at = (grid[..., which, None] + 1) * scale[which]
        away = np.arange(length) - at
        shares.append(np.maximum(1 - np.abs(away), 0))
        low = (away > -1) & (away <= 0)
        high = (away > 0) & (away <= 1)
        signs.append((high.astype(float) - low) * scale[which])
    (x, y), (x_sign, y_sign) = shares, signs
    product = "nrcy,nrcx->nrcyx"
    return (
        np.einsum(product, y, x),
        np.einsum(product, y, x_sign),
        np.einsum(product, y_sign, x),
    )


def laid_out(host, context):
    """Memory that has the axes backwards, and every second element."""
    packed = np.ascontiguousarray(host.T.repeat(2, axis=-1))
    return gpuarray.asarray(packed, context=context)[..., ::2].transpose(
        *range(host.ndim)[::-1]
    )


def near(found, right, dtype, more=1):
    assert str(found.dtype) == dtype
    rtol = RTOL[dtype]
    got = np.asarray(found).astype("float64")
    np.testing.assert_allclose(got, right, rtol, 4 * more * rtol)


@pytest.mark.parametrize("dtype", RTOL)
def test_affine_grid_and_its_gradient(dtype, context):
    random = np.random.default_rng(1)
    theta = random.normal(size=(3, 2, 3)).astype(dtype)
    for shape in ((4, 7), (1, 5), (1, 1), (0, 3)):
        grid = affine_grid(laid_out(theta, context), shape)
        near(grid, points_of(theta.astype("float64"), *shape), dtype)
        g = random.normal(size=grid.shape).astype(dtype)
        x, y = np.meshgrid(places(shape[1]), places(shape[0]))
        ends = np.stack([x, y, np.ones_like(x)])
        right = np.einsum("nrci,jrc->nij", g.astype("float64"), ends)
        near(affine_grid_grad(laid_out(g, context)), right, dtype, 4)


@pytest.mark.parametrize(
    ("dtype", "grid_dtype"),
    [(name, name) for name in RTOL] + [("float16", "float32"), ("bfloat16", "float32")],
)
def test_samples_and_their_gradients(dtype, grid_dtype, context):
    random = np.random.default_rng(2)
    for n, channels, height, width, rows, columns in (
        (2, 3, 4, 5, 3, 6),
        (1, 2, 1, 7, 2, 2),
        (2, 1, 6, 2, 1, 9),
        (2, 2, 3, 3, 0, 4),
    ):
        images = random.normal(size=(n, channels, height, width)).astype(dtype)
        grid = random.uniform(-1.6, 1.6, (n, rows, columns, 2)).astype("float64")
        grid = np.round(grid * 16) / 16  # exact in every dtype
        if columns > 3:
            grid[:, :, 0], grid[:, :, 1] = 1, -1
        a = laid_out(images, context)
        points = laid_out(grid.astype(grid_dtype), context)
        share, by_x, by_y = weights(grid, height, width)
        wide = images.astype("float64")
        out = grid_sample(a, points)
        near(out, np.einsum("nrcyx,nkyx->nkrc", share, wide), dtype)
        g = random.normal(size=out.shape).astype(dtype)
        dy, wide_g = laid_out(g, context), g.astype("float64")
        found = grid_sample_grad_images(points, dy, (height, width))
        near(found, np.einsum("nrcyx,nkrc->nkyx", share, wide_g), dtype, 4)
        again = grid_sample_grad_images(points, dy, (height, width))
        assert np.asarray(again).tobytes() == np.asarray(found).tobytes()
        slopes = [
            np.einsum("nrcyx,nkyx,nkrc->nrc", each, wide, wide_g)
            for each in (by_x, by_y)
        ]
        found = grid_sample_grad_grid(a, points, dy)
        near(found, np.stack(slopes, -1), grid_dtype, 8)


def test_points_far_away_are_zero(context):
    images = gpuarray.ones((1, 1, 3, 3), "float32", device=context)
    far = np.array([np.nan, np.inf, -np.inf, 1e30, 3, 0], "float32")
    grid = np.stack([far, np.zeros_like(far)], -1)[None, None]
    points = gpuarray.asarray(grid, context=context)
    found = np.asarray(grid_sample(images, points))
    assert found.tolist() == [[[[0, 0, 0, 0, 0, 1]]]]
    slopes = gpuarray.ones((1, 1, 1, 6), "float32", device=context)
    summed = grid_sample_grad_images(points, slopes, (3, 3))
    assert np.asarray(summed).sum() == 1
    assert not np.asarray(grid_sample_grad_grid(images, points, slopes)).any()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a: affine_grid(a, (2, 2)), BadValue, "expected 3 axes"),
        (
            lambda a: affine_grid(a[0][..., :2], (2, 2)),
            BadValue,
            r"theta is float32 \(1, 2, 2\), expected the shape \(1, 2, 3\)",
        ),
        (lambda a: affine_grid(a[0], (2, -2)), BadValue, "no negative one"),
        (lambda a: affine_grid_grad(a), BadValue, r"expected the shape \(1, 1, 2, 2\)"),
        (lambda a: grid_sample(a, a), BadValue, r"the grid is float32 \(1, 1, 2, 3\)"),
        (lambda a: grid_sample(a[0], a), BadValue, "expected 4 axes"),
        (lambda a: grid_sample(a, a.astype("float64")), BadType, "expected float32"),
        (
            lambda a: grid_sample_grad_grid(a, a[..., :2], a),
            BadValue,
            r"the gradient is .* expected the shape \(1, 1, 1, 2\)",
        ),
        (lambda a: grid_sample(a, np.ones(3)), BadType, "got ndarray"),
    ],
)
def test_errors(first_context, call, error, text):
    with pytest.raises(error, match=text):
        call(gpuarray.zeros((1, 1, 2, 3), "float32", device=first_context))
