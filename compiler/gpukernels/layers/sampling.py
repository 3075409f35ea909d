"""Affine grids and samples of images, and their gradients: routines of the library."""

from __future__ import annotations

from gpuarray._nn import sampling
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply, Op
from gpuarray.compiler.ops.nnet.sampling import (
    AffineGrid,
    AffineGridGrad,
    GridSample,
    GridSampleGradGrid,
    GridSampleGradImages,
)

NAMES: dict[type[Op], str] = {
    AffineGrid: "affine_grid",
    AffineGridGrad: "affine_grid_grad",
    GridSample: "grid_sample",
    GridSampleGradImages: "grid_sample_grad_images",
    GridSampleGradGrid: "grid_sample_grad_grid",
}
"""The step function, and the library's routine, of each op."""


@step_function("affine_grid")
def affine_grid(theta: Array, *lengths: int) -> Array:
    """Return the points of affine maps."""
    points: Array = sampling.affine_grid(theta, lengths)
    return points


@step_function("affine_grid_grad")
def affine_grid_grad(grad: Array) -> Array:
    """Return the gradient by the maps."""
    result: Array = sampling.affine_grid_grad(grad)
    return result


@step_function("grid_sample")
def grid_sample(images: Array, grid: Array) -> Array:
    """Return the images at the points."""
    result: Array = sampling.grid_sample(images, grid)
    return result


@step_function("grid_sample_grad_images")
def grad_images(grid: Array, grad: Array, *lengths: int) -> Array:
    """Return the gradient by the images."""
    result: Array = sampling.grid_sample_grad_images(grid, grad, lengths)
    return result


@step_function("grid_sample_grad_grid")
def grad_grid(images: Array, grid: Array, grad: Array) -> Array:
    """Return the gradient by the grid."""
    result: Array = sampling.grid_sample_grad_grid(images, grid, grad)
    return result


@lowers(*NAMES)
def lower_sampling(op: Op, node: Apply, k: Lowerer) -> None:
    """Lower to a library step."""
    name = next(NAMES[cls] for cls in type(op).__mro__ if cls in NAMES)
    k.call(node, name, node.inputs)


@body_of("affine_grid")
def grid_steps(s: Steps, theta: int, *lengths: int) -> int:
    """Add the routine."""
    return s.routine("affine_grid", [theta, *lengths], s.array(theta).dtype, 4)


@body_of("affine_grid_grad")
def grid_gradient_steps(s: Steps, grad: int) -> int:
    """Add the routine."""
    return s.routine("affine_grid_grad", [grad], s.array(grad).dtype, 3)


@body_of("grid_sample")
def sample_steps(s: Steps, images: int, grid: int) -> int:
    """Add the routine."""
    return s.routine("grid_sample", [images, grid], s.array(images).dtype, 4)


@body_of("grid_sample_grad_images")
def grad_images_steps(s: Steps, grid: int, grad: int, *lengths: int) -> int:
    """Add the routine."""
    ins = [grid, grad, *lengths]
    return s.routine("grid_sample_grad_images", ins, s.array(grad).dtype, 4)


@body_of("grid_sample_grad_grid")
def grad_grid_steps(s: Steps, images: int, grid: int, grad: int) -> int:
    """Add the routine."""
    ins = [images, grid, grad]
    return s.routine("grid_sample_grad_grid", ins, s.array(grid).dtype, 4)
