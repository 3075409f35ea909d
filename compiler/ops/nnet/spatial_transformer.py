"""Spatial transformers: images sampled at places that an affine map gives.

Coordinates go from -1, the middle of the first element, to 1, the middle of the last;
an axis of one element is at 0, as in the library's `GpuArray_affine_grid`.
A place between elements is interpolated linearly along both axes; beyond the image
there are zeros, as in cuDNN. A place that is nan has 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable, is_float
from gpuarray.compiler.graph.types import promoted
from gpuarray.compiler.ops.creation.joining import as_length
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.nnet.arguments import declared
from gpuarray.compiler.ops.nnet.normalisation import work_of
from gpuarray.compiler.ops.nnet.sampling import AffineGrid, GridSample
from gpuarray.compiler.ops.shape.shape import shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


def spatial_transformer(
    img: Any, theta: Any, scale_width: Any = 1, scale_height: Any = 1
) -> Variable:
    """Return images sampled on a grid that an affine map has moved.

    ``img`` is (batch, channels, rows, columns), ``theta`` (batch, 2, 3): the place of
    an element of the result at (x, y) is ``theta @ (x, y, 1)``, of column and row in
    the image. The result has the dtype of ``img`` and ``ceil(rows * scale_height)`` by
    ``ceil(columns * scale_width)`` elements; scales are numbers, or scalars.

    Raises GraphArgumentError for what are no floats of 4 and of 3 axes, and ValueError,
    when the program runs, for batches that differ and for a ``theta`` of other lengths.
    """
    name = "spatial_transformer"
    image = _floats(name, "img", img, "4 axes: batch, channels, rows, columns", 4)
    rows = _scaled(name, "scale_height", shape_i(image, 2), scale_height)
    columns = _scaled(name, "scale_width", shape_i(image, 3), scale_width)
    maps = _maps(name, theta)
    places = AffineGrid()(math.cast(maps, _common(image, maps)), rows, columns)
    return _sampled(image, places)


def spatial_grid(theta: Any, out_dims: Sequence[Any]) -> Variable:
    """Return the places, (batch, rows, columns, 2), of the elements of a result.

    ``theta`` is that of `spatial_transformer`; ``out_dims`` are batch, channels, rows
    and columns of the result, of which the last two count. The last axis of the grid
    has x, then y. Its dtype is that of ``theta``, at least float32.
    """
    if isinstance(out_dims, Variable) or len(out_dims) != 4:
        raise GraphArgumentError(
            f"spatial_grid: given out_dims {out_dims}, expected 4 lengths: batch, "
            "channels, rows, columns"
        )
    lengths = [as_length("spatial_grid", length) for length in out_dims[2:]]
    maps = _maps("spatial_grid", theta)
    result: Variable = AffineGrid()(math.cast(maps, work_of(maps)), *lengths)
    return result


def spatial_sampler(img: Any, grid: Any) -> Variable:
    """Return the images (batch, channels, ...) at the places of a grid.

    ``img`` is (batch, channels, rows, columns), ``grid`` (batch, rows of the result,
    columns of the result, 2). The result has the dtype of ``img``. Errors are those of
    `spatial_transformer`.
    """
    name = "spatial_sampler"
    image = _floats(name, "img", img, "4 axes: batch, channels, rows, columns", 4)
    places = _floats(name, "grid", grid, "4 axes: batch, rows, columns, x and y", 4)
    return _sampled(image, declared(name, "grid", places, (None, None, None, 2)))


def _maps(name: str, theta: Any) -> Variable:
    maps = _floats(name, "theta", theta, "3 axes, of lengths batch, 2 and 3", 3)
    return declared(name, "theta", maps, (None, 2, 3))


def _common(image: Variable, other: Variable) -> str:
    """Return the dtype to compute places among the elements of an image in."""
    return promoted(work_of(image), work_of(other))


def _sampled(image: Variable, places: Variable) -> Variable:
    """Return the image, in its dtype, at places of any dtype."""
    dtype = _common(image, places)
    wide = image if dtype == work_of(image) else math.cast(image, dtype)
    sampled = GridSample()(wide, math.cast(places, dtype))
    return math.cast(sampled, image.type.dtype)


def _floats(name: str, what: str, value: Any, expected: str, ndim: int) -> Variable:
    x: Variable = as_tensor_variable(value)
    if x.type.ndim != ndim or not is_float(x):
        raise GraphArgumentError(
            f"{name}: given {what} {x} of {x.type}, expected floats of {expected}"
        )
    return x


def _scaled(name: str, what: str, length: Variable, scale: Any) -> Variable:
    """Return the length times a scale, rounded up; by integers where it is known."""
    if isinstance(scale, Variable):
        if scale.type.ndim:
            raise GraphArgumentError(
                f"{name}: given {what} {scale} of {scale.type}, expected a number"
            )
        return math.cast(math.ceil(length * math.cast(scale, "float64")), "int64")
    try:
        ratio = Fraction(str(scale))
    except ValueError:
        raise GraphTypeError(
            f"{name}: given {what} {scale!r}, expected a number"
        ) from None
    if ratio <= 0:
        raise GraphValueError(
            f"{name}: given {what} {scale!r}, expected a number above 0"
        )
    if ratio.denominator == 1:
        return length * ratio.numerator
    return (length * ratio.numerator + (ratio.denominator - 1)) // ratio.denominator
