"""Grids of affine maps, and images interpolated at the points of a grid.

The library's `GpuArray_affine_grid` and `GpuArray_grid_sample` with their gradients,
each of which is an op. A grid has the dtype that its images are computed in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError
from gpuarray.compiler.graph.core import Apply, Op, Variable, is_float
from gpuarray.compiler.graph.requirements import Requirement, equal
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.creation.joining import stack
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.linalg import wide
from gpuarray.compiler.ops.nnet.normalisation import work_of
from gpuarray.compiler.ops.reduce import reduce
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

# ---- the grid ----


class AffineGrid(Op):
    """The points (batch, rows, columns, 2) of affine maps ``theta`` (batch, 2, 3)."""

    __props__ = ()

    def make_node(self, theta: Any, rows: Any, columns: Any) -> Apply:
        """Return a node over matrices, and two lengths."""
        maps = _floats(self, "theta", theta, 3)
        lengths = [as_tensor_variable(length) for length in (rows, columns)]
        pattern = (maps.type.broadcastable[0], False, False, False)
        return Apply(self, [maps, *lengths], [TensorType(maps.type.dtype, pattern)()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return 1, 2

    def reference(self, theta: Any, rows: Any, columns: Any) -> Any:
        """Return the products with the ends (x, y, 1)."""
        ends = _ends(int(rows), int(columns))
        return np.einsum("nij,rcj->nrci", wide(theta), ends).astype(theta.dtype)

    def grad(
        self, m: Any, g: Variable, y: Variable, *inputs: Variable
    ) -> tuple[Variable | None, ...]:
        """Return the sums of the gradient times the ends."""
        return AffineGridGrad()(g), None, None

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return batch, the lengths, and 2."""
        return [(input_shapes[0][0], *node.inputs[1:], as_tensor_variable(2))]


class AffineGridGrad(Op):
    """The gradient of `AffineGrid` by the maps, (batch, 2, 3)."""

    __props__ = ()

    def make_node(self, grad: Any) -> Apply:
        """Return a node over the gradient of the points."""
        g = _floats(self, "grad", grad, 4)
        pattern = (g.type.broadcastable[0], False, False)
        return Apply(self, [g], [TensorType(g.type.dtype, pattern)()])

    def reference(self, g: Any) -> Any:
        """Return the sums over rows and columns."""
        ends = _ends(*g.shape[1:3])
        return np.einsum("nrci,rcj->nij", wide(g), ends).astype(g.dtype)

    def grad(self, m: Any, g: Variable, y: Variable, grad: Variable) -> Variable:
        """Return the points of ``g``: maps, too."""
        result: Variable = AffineGrid()(g, shape_i(grad, 1), shape_i(grad, 2))
        return result

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return batch, 2 and 3."""
        return [(input_shapes[0][0], as_tensor_variable(2), as_tensor_variable(3))]


def _ends(rows: int, columns: int) -> Any:
    """Return (x, y, 1) of each place, (rows, columns, 3); one of an axis is at 0."""
    y, x = (
        np.linspace(-1, 1, count) if count > 1 else np.zeros(count)
        for count in (rows, columns)
    )
    shape = rows, columns
    ones = np.ones(shape)
    return np.stack([ones * x, ones * y[:, None], ones], -1)


# ---- the sampler ----


class GridSample(Op):
    """Images (batch, channels, height, width) at the points of a grid.

    The grid is (batch, rows, columns, 2), the result (batch, channels, rows, columns).
    """

    __props__ = ()

    def make_node(self, images: Any, grid: Any) -> Apply:
        """Return a node over images and points."""
        x = _floats(self, "images", images, 4)
        points = math.cast(_floats(self, "grid", grid, 4), work_of(x))
        return Apply(self, [x, points], [_image_type(x, points)()])

    def reference(self, images: Any, grid: Any) -> Any:
        """Return the sum of the four pixels around each point, by their shares."""
        pixels, batch = wide(images).transpose(0, 2, 3, 1), _batch(grid)
        out = np.zeros((*grid.shape[:3], images.shape[1]))
        if images.size:
            for corner in _corners(grid, images.shape):
                out += pixels[batch, corner.row, corner.column] * corner.share
        return out.transpose(0, 3, 1, 2).astype(images.dtype)

    def grad(
        self, m: Any, g: Variable, y: Variable, images: Variable, grid: Variable
    ) -> tuple[Variable, Variable]:
        """Return the gradients by both."""
        lengths = shape_i(images, 2), shape_i(images, 3)
        by_images = GridSampleGradImages()(grid, g, *lengths)
        return by_images, GridSampleGradGrid()(images, grid, g)

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return batch and channels of the images, rows and columns of the grid."""
        images, grid = input_shapes
        return [(*images[:2], *grid[1:3])]

    def requirements(self, node: Apply, input_shapes: Any) -> list[Requirement]:
        """Require a grid for each image."""
        return equal(input_shapes[0][0], input_shapes[1][0])


class GridSampleGradImages(Op):
    """The gradient of `GridSample` by images of these lengths."""

    __props__ = ()

    def make_node(self, grid: Any, grad: Any, height: Any, width: Any) -> Apply:
        """Return a node over points, the result's gradient, and two lengths."""
        g = _floats(self, "grad", grad, 4)
        points = math.cast(_floats(self, "grid", grid, 4), work_of(g))
        lengths = [as_tensor_variable(length) for length in (height, width)]
        pattern = (*g.type.broadcastable[:2], False, False)
        kind = TensorType(g.type.dtype, pattern)
        return Apply(self, [points, g, *lengths], [kind()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return 2, 3

    def reference(self, grid: Any, grad: Any, height: Any, width: Any) -> Any:
        """Add the shares of each point to the four pixels around it."""
        shape = (*grad.shape[:2], int(height), int(width))
        slopes, batch = wide(grad).transpose(0, 2, 3, 1), _batch(grid)
        sums = np.zeros((shape[0], *shape[2:], shape[1]))
        if sums.size:
            for corner in _corners(grid, shape):
                place = batch, corner.row, corner.column
                np.add.at(sums, place, slopes * corner.share)
        return sums.transpose(0, 3, 1, 2).astype(grad.dtype)

    def grad(
        self,
        m: Any,
        g: Variable,
        y: Variable,
        grid: Variable,
        grad: Variable,
        *lengths: Variable,
    ) -> tuple[Variable | None, ...]:
        """Return those of the sampler, with ``g`` as its images."""
        by_grid = GridSampleGradGrid()(g, grid, grad)
        return by_grid, GridSample()(g, grid), None, None

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return batch, channels, and the lengths."""
        return [(*input_shapes[1][:2], *node.inputs[2:])]

    def requirements(self, node: Apply, input_shapes: Any) -> list[Requirement]:
        """Require a gradient for each point."""
        grid, grad, *_ = input_shapes
        return [r for i, j in ((0, 0), (1, 2), (2, 3)) for r in equal(grid[i], grad[j])]


class GridSampleGradGrid(Op):
    """The gradient of `GridSample` by the grid; at a pixel, on the next one's side."""

    __props__ = ()

    def make_node(self, images: Any, grid: Any, grad: Any) -> Apply:
        """Return a node over images, points, and the result's gradient."""
        x = _floats(self, "images", images, 4)
        points = math.cast(_floats(self, "grid", grid, 4), work_of(x))
        g = math.cast(_floats(self, "grad", grad, 4), x.type.dtype)
        return Apply(self, [x, points, g], [points.type.clone()()])

    def reference(self, images: Any, grid: Any, grad: Any) -> Any:
        """Return the sums over channels of slopes between pixels."""
        pixels, batch = wide(images).transpose(0, 2, 3, 1), _batch(grid)
        slopes = wide(grad).transpose(0, 2, 3, 1)
        out = np.zeros(grid.shape)
        if images.size:
            for corner in _corners(grid, images.shape):
                value = pixels[batch, corner.row, corner.column] * slopes
                out += value.sum(-1, keepdims=True) * corner.slopes
        return out.astype(grid.dtype)

    def unfold(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return the gradient by differences of samples, which have derivatives.

        Between two pixels of an axis the slope is the difference of their values, each
        a sample: linear along the other axis, and continuous, so that it does not
        matter to which side the place of a pixel is rounded.
        """
        images, grid, grad = inputs
        dtype = grid.type.dtype
        pixels, slopes = (math.cast(v, dtype) for v in (images, grad))
        sums = []
        for axis in range(2):
            spaces = math.cast(shape_i(images, 3 - axis) - 1, dtype)
            pixel = math.floor((grid[..., axis] + 1) * (spaces / 2))
            step = 2 / math.maximum(spaces, 1)
            here, behind = (
                GridSample()(pixels, _moved(grid, axis, (pixel + i) * step - 1))
                for i in range(2)
            )
            difference = (behind - here) * (spaces / 2)
            sums.append(reduce.sum(difference * slopes, 1))
        return [stack(sums, axis=3)]

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the grid's shape."""
        return [tuple(input_shapes[1])]

    def requirements(self, node: Apply, input_shapes: Any) -> list[Requirement]:
        """Require a grid for each image, and a gradient for each of its points."""
        images, grid, grad = input_shapes
        pairs = [(images[0], grid[0]), *zip(images[:2], grad[:2], strict=True)]
        pairs += zip(grid[1:3], grad[2:], strict=True)
        return [r for a, b in pairs for r in equal(a, b)]


def _floats(op: Op, what: str, value: Any, ndim: int) -> Variable:
    x: Variable = as_tensor_variable(value)
    if x.type.ndim != ndim or not is_float(x):
        raise GraphArgumentError(
            f"{op}: given {what} {x} of {x.type}, expected floats of {ndim} axes"
        )
    return x


def _image_type(images: Variable, grid: Variable) -> TensorType:
    pattern = (*images.type.broadcastable[:2], *grid.type.broadcastable[1:3])
    return TensorType(images.type.dtype, pattern)


def _moved(grid: Variable, axis: int, places: Variable) -> Variable:
    """Return the grid with other places along an axis, 0 for x."""
    parts = [grid[..., 0], grid[..., 1]]
    parts[axis] = places
    result: Variable = stack(parts, axis=3)
    return result


# ---- references ----


class _Corner(NamedTuple):
    """One of four pixels around each point: its share, and slopes by x and y.

    Of a pixel beyond the image these are 0, and it is pixel 0. The share has an axis of
    length 1 behind, the slopes one of 2.
    """

    row: Any
    column: Any
    share: Any
    slopes: Any


def _batch(grid: Any) -> Any:
    return np.arange(len(grid))[:, None, None]


def _corners(grid: Any, shape: Sequence[int]) -> Iterator[_Corner]:
    lengths = np.array([shape[3], shape[2]])
    with np.errstate(invalid="ignore"):
        at = (wide(grid) + 1) * ((lengths - 1) / 2)
        before = np.floor(at)
        for offset in ([0, 0], [1, 0], [0, 1], [1, 1]):
            pixel = before + offset
            is_inside = ((pixel >= 0) & (pixel < lengths)).all(-1, keepdims=True)
            shares = 1 - np.abs(at - pixel)
            signs = (2 * np.array(offset) - 1) * ((lengths - 1) / 2)
            column, row = (
                np.where(is_inside, pixel, 0).astype(int).transpose(3, 0, 1, 2)
            )
            share = np.where(is_inside, shares.prod(-1, keepdims=True), 0)
            slopes = np.where(is_inside, signs * shares[..., ::-1], 0)
            yield _Corner(row, column, share, slopes)
