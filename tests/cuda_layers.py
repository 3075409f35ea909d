"""Calls of layers and transforms, one for each kernel text, dtype and form."""

from __future__ import annotations

import contextlib
import itertools

import gpuarray
import numpy as np
from cuda_arrays import FLOATS, empty
from gpuarray._fft import kernel_text
from gpuarray._nn import convolution, pooling, sampling
from gpuarray._nn.classification import ctc
from gpuarray._nn.neighbours import images_to_neighbours, neighbours_to_images
from gpuarray._nn.normalisation import batch_norm, batch_norm_grad, batch_norm_train
from gpuarray._nn.pooling import MODES, Windows
from gpuarray._nn.upsampling import bilinear_upsampling, upsampling_grad
from gpuarray.dtypes import DTYPES
from gpuarray.errors import BadValue


def neighbourhoods():
    """Neighbourhoods of images of every dtype, over edges or not, and back."""
    for dtype in DTYPES:
        for mode in ("valid", "wrap_centered"):
            rows = images_to_neighbours(
                empty((2, 3, 9, 9), dtype), (3, 3), (1, 1), mode
            )
            if dtype.kind != "b":
                lengths = 2, 3, 9, 9
                neighbours_to_images(rows, lengths, (3, 3), (1, 1), mode)


def sequences():
    """Costs of sequences of every dtype, with gradients or not."""
    labels, lengths = empty((3, 4), "int32"), empty(3, "int32")
    for dtype in (*FLOATS, "bfloat16"):
        for has_gradient in (False, True):
            ctc(empty((5, 3, 6), dtype), labels, lengths, has_gradient)


def pools():
    """Pooling of each float, every mode and role, with loops that unroll or not."""
    for dtype in (*FLOATS, "bfloat16"):
        for mode, n in itertools.product(MODES, (9, 80)):
            windows = Windows((3, 3), (2, 2), (1, 1), (1, 1), mode)
            x = empty((2, n, n), dtype)
            y = pooling.pool(x, windows)
            if mode != "max":
                pooling.pool_grad(x, y, windows=windows)
                continue
            pooling.pool_grad(x, y, y, windows=windows)
            pooling.pool_at_maxima(x, y, x, windows)
            windows = Windows((3, 3), (2, 2), (1, 1), (1, 1), mode, shared=True)
            pooling.pool_grad(x, y, y, windows=windows)
            pooling.pool_at_maxima(x, y, x, windows)
            pooling.pool_at_first(x, x, windows)
    for dtype, mode in itertools.product(("int8", "uint64"), ("max", "sum")):
        pooling.pool(empty((3, 9), dtype), Windows((2,), (2,), (0,), (0,), mode))
    cubes = Windows((2, 2, 2), (1, 1, 1), (0, 0, 0), (0, 0, 0), "sum")
    pooling.pool(empty((2, 40, 40, 40)), cubes)
    long, part = empty((1,)).broadcast_to((1 << 31,)), (1 << 20,)
    pooling.pool(long, Windows(part, part, (0,), (0,)))


def normalisations():
    """Batch normalisation of each float, its gradient, and that of given statistics."""
    for dtype in (*FLOATS, "bfloat16"):
        x = empty((4, 3, 5), dtype)
        gamma = empty(3, "float64" if str(dtype) == "float64" else "float32")
        arrays = x, gamma, gamma
        averages = [empty(3, gamma.dtype) for _ in range(2)]
        _, *statistics = batch_norm_train(*arrays, *averages)
        batch_norm_grad(x, *arrays[:2], *statistics)
        batch_norm(*arrays, *averages)


def samples():
    """Upsampling and spatial transformers of each float, with their gradients."""
    for dtype in (*FLOATS, "bfloat16"):
        x = empty((2, 3, 4, 5), dtype)
        upsampling_grad(bilinear_upsampling(x, 2), (4, 5), 2)
        grid = sampling.affine_grid(empty((2, 2, 3), dtype), (6, 7))
        y = sampling.grid_sample(x, grid)
        sampling.affine_grid_grad(sampling.grid_sample_grad_grid(x, grid, y))
        sampling.grid_sample_grad_images(grid, y, (4, 5))
        if np.dtype(dtype).itemsize == 2:
            places = grid.astype("float32")
            sampling.grid_sample_grad_grid(x, places, sampling.grid_sample(x, places))
            sampling.grid_sample_grad_images(places, y, (4, 5))
    long = empty((1, 1, 1, 1)).broadcast_to((1, 1, 1 << 16, 1 << 15))
    bilinear_upsampling(long, ((1, 1 << 15), (1, 1 << 15)))
    wide = empty((1, 1, 1, 2)).broadcast_to((1, 1, 1 << 29, 2))
    points = sampling.affine_grid(empty((1, 2, 3)), (2, 2))
    sampling.grid_sample(long, points)
    sampling.affine_grid_grad(wide)


def transforms():
    """Passes of Fourier transforms of every radix and type, and their convolutions."""
    for name, text in kernel_text.sources():
        gpuarray.GpuKernel(text, name, [], "null")


def convolutions():
    """Convolutions and their gradients, of every tile, split or not, and depthwise."""
    shapes = [(m, 9, 40) for m in (8, 16, 32, 64, 200)]
    shapes += [(64, 4, 3), (8, 1, 40), (64, 4, 2**14)]
    for dtype, n in itertools.product(("float16", "bfloat16", *FLOATS[1:]), shapes):
        for ndim, extent in ((2, 3), (2, 7), (3, 2)):
            convolve(dtype, n, ndim, extent)
    for dtype in ("float16", "bfloat16", *FLOATS[1:]):
        convolve(dtype, (2, 1, 40), 2, 3, groups=3)
        convolve(dtype, (4, 3, 2**12), 2, 3)
        for channels in (1, 4):
            convolve(dtype, (4, channels, 2**13), 2, 3, stride=4)
        for n in (3, 2**31):
            image, grad = empty((1, 1, n), dtype), empty((1, 1, n), dtype)
            geometry = convolution.Geometry((1,), (1,), "half", is_unshared=True)
            gradients(image, empty((1, n, 1, 1), dtype), grad, geometry)


def convolve(dtype, sizes, ndim, extent, groups=1, stride=2):
    """A convolution and its gradients, of results, channels and lengths."""
    results, channels, length = sizes
    geometry = convolution.Geometry(
        (stride,) * ndim, (1,) * ndim, ((1, 2),) * ndim, groups=groups
    )
    lengths = (length, *(9 * stride // 2,) * (ndim - 1))
    image = empty((2, groups * channels, *lengths), dtype)
    filters = empty((groups * results, channels, *(extent,) * ndim), dtype)
    with contextlib.suppress(BadValue):
        shape = geometry.result_shape(image.shape, filters.shape)
        gradients(image, filters, empty(shape, dtype), geometry)


def gradients(image, filters, grad, geometry):
    """The three roles of a convolution."""
    ndim = geometry.ndim
    for run, operands in (
        (convolution.convolve, (image, filters)),
        (convolution.grad_image, (grad, filters, image.shape[-ndim:])),
        (convolution.grad_filters, (image, grad, filters.shape[-ndim:])),
    ):
        run(*operands, geometry)
