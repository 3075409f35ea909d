"""Spatial transformer: points of affine maps, images interpolated there, gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuarray._core.arguments import as_integer, as_list
from gpuarray._core.base import require_all
from gpuarray._native import check, lib
from gpuarray.errors import BadValue


def affine_grid(theta: Any, shape: Sequence[int]) -> Any:
    """Return the points (batch, rows, columns, 2) at which affine maps look.

    They are the products of the matrices ``theta`` (batch, 2, 3) and (x, y, 1), where x
    goes from -1 to 1 over the columns, y over the rows of ``shape``.

    >>> theta = gpuarray.asarray([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
    >>> print(gpuarray.nn.affine_grid(theta, (1, 3))[0, 0])
    [[-0.5  0. ]
     [ 0.5  0. ]
     [ 1.5  0. ]]
    """
    name = "affine_grid"
    require_all(name, theta)
    rows, columns = _lengths(name, shape)
    if theta.ndim != 3:
        raise BadValue(f"{name}: theta of shape {theta.shape}, expected 3 axes")
    points = (theta.shape[0], rows, columns, 2)
    out = theta.allocate(points, theta.dtype, theta.context, operation=name)
    check(lib.GpuArray_affine_grid(out.struct, theta.struct), name)
    return out


def affine_grid_grad(grad: Any) -> Any:
    """Return the gradient by theta from that by the points."""
    name = "affine_grid_grad"
    require_all(name, grad)
    shape = (grad.shape[0] if grad.ndim else 0, 2, 3)
    out = grad.allocate(shape, grad.dtype, grad.context, operation=name)
    check(lib.GpuArray_affine_grid_grad(out.struct, grad.struct), name)
    return out


def grid_sample(images: Any, grid: Any) -> Any:
    """Return images (batch, channels, rows, columns) interpolated at points.

    ``grid`` (batch, rows, columns, 2) has the points (x, y): -1 is the first column or
    row of ``images`` (batch, channels, height, width), 1 the last one. Beyond the
    images are zeros.

    >>> images = gpuarray.asarray([[[[0.0, 1.0, 4.0]]]])
    >>> grid = gpuarray.asarray([[[[-0.5, 0.0], [1.0, 0.0], [1.5, 0.0]]]])
    >>> print(gpuarray.nn.grid_sample(images, grid))
    [[[[0.5 4.  2. ]]]]
    """
    name = "grid_sample"
    require_all(name, images, grid)
    if images.ndim != 4 or grid.ndim != 4:
        raise BadValue(
            f"{name}: images of shape {images.shape} and a grid of shape {grid.shape}, "
            "expected 4 axes"
        )
    shape = (*images.shape[:2], *grid.shape[1:3])
    out = images.allocate(shape, images.dtype, images.context, operation=name)
    check(lib.GpuArray_grid_sample(out.struct, images.struct, grid.struct), name)
    return out


def grid_sample_grad_images(grid: Any, grad: Any, shape: Sequence[int]) -> Any:
    """Return the gradient by images of ``shape`` rows and columns."""
    name = "grid_sample_grad_images"
    require_all(name, grid, grad)
    lengths = (*grad.shape[:2], *_lengths(name, shape))
    out = grad.allocate(lengths, grad.dtype, grad.context, operation=name)
    status = lib.GpuArray_grid_sample_grad_images(out.struct, grid.struct, grad.struct)
    check(status, name)
    return out


def grid_sample_grad_grid(images: Any, grid: Any, grad: Any) -> Any:
    """Return the gradient by the points."""
    name = "grid_sample_grad_grid"
    require_all(name, images, grid, grad)
    out = grid.allocate(grid.shape, grid.dtype, grid.context, operation=name)
    arrays = [each.struct for each in (out, images, grid, grad)]
    check(lib.GpuArray_grid_sample_grad_grid(*arrays), name)
    return out


def _lengths(name: str, shape: Sequence[int]) -> tuple[int, int]:
    lengths = [as_integer(n, "a length", name) for n in as_list(shape, "shape", name)]
    if len(lengths) != 2:
        raise BadValue(f"{name}: shape is {shape!r}, expected rows and columns")
    rows, columns = lengths
    if min(rows, columns) < 0:
        raise BadValue(f"{name}: shape is {(rows, columns)}, expected no negative one")
    return rows, columns
