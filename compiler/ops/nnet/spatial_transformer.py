"""Spatial transformers: images sampled at places that an affine map gives.

Coordinates go from -1, the middle of the first element, to 1, the middle of the last;
an axis of one element is at 0, as in the library's `GpuArray_affine_grid`.
A place between elements is interpolated linearly along both axes; beyond the image
there are zeros, as in cuDNN. All is made of other ops, and so are the derivatives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable, is_float
from gpuarray.compiler.graph.types import promoted
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.creation.joining import as_length, stack
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.index.indexing import index
from gpuarray.compiler.ops.nnet.arguments import declared
from gpuarray.compiler.ops.nnet.normalisation import work_of
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable

switch = math.ROWS["where"]


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
    return _sampled(image, *_places(name, theta, rows, columns))


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
    return stack(list(_places("spatial_grid", theta, *lengths)), axis=3)


def spatial_sampler(img: Any, grid: Any) -> Variable:
    """Return the images (batch, channels, ...) at the places of a grid.

    ``img`` is (batch, channels, rows, columns), ``grid`` (batch, rows of the result,
    columns of the result, 2). The result has the dtype of ``img``. Errors are those of
    `spatial_transformer`.
    """
    name = "spatial_sampler"
    image = _floats(name, "img", img, "4 axes: batch, channels, rows, columns", 4)
    places = _floats(name, "grid", grid, "4 axes: batch, rows, columns, x and y", 4)
    places = declared(name, "grid", places, (None, None, None, 2))
    x, y = (index(places, (..., axis)) for axis in range(2))
    return _sampled(image, x, y)


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


# ---- the grid ----


def _places(
    name: str, theta: Any, rows: Variable, columns: Variable
) -> tuple[Variable, Variable]:
    """Return x and y of each element of a result, (batch, rows, columns)."""
    expected = "3 axes, of lengths batch, 2 and 3"
    maps = _floats(name, "theta", theta, expected, 3)
    maps = math.cast(declared(name, "theta", maps, (None, 2, 3)), work_of(maps))
    x = dimshuffle(_steps(columns, maps.type.dtype), "x", "x", 0)
    y = dimshuffle(_steps(rows, maps.type.dtype), "x", 0, "x")

    def part(i: int, j: int) -> Variable:
        return dimshuffle(maps[:, i, j], 0, "x", "x")

    along_x, along_y = (part(i, 0) * x + part(i, 1) * y + part(i, 2) for i in range(2))
    return along_x, along_y


def _steps(count: Variable, dtype: str) -> Variable:
    """Return so many numbers from -1 to 1; one is 0."""
    spaces = count - 1
    step = 2 / math.cast(math.maximum(spaces, 1), dtype)
    first = math.cast(math.minimum(spaces, 1), dtype)
    return math.cast(arange(count), dtype) * step - first


# ---- the sampler ----


class _Neighbour(NamedTuple):
    """One of the two elements along an axis between which places are."""

    place: Variable
    is_inside: Variable
    weight: Variable


def _neighbours(places: Variable, length: Variable) -> Iterator[_Neighbour]:
    """Yield the element before each place, and the one behind it."""
    dtype = places.type.dtype
    pixel = (places + 1) * ((math.cast(length, dtype) - 1) / 2)
    first = math.floor(pixel)
    fraction = pixel - first
    for number, weight in ((first, 1 - fraction), (first + 1, fraction)):
        is_inside = math.and_(math.ge(number, 0), math.lt(number, length))
        place = math.cast(switch(is_inside, number, 0), "int64")
        yield _Neighbour(place, is_inside, weight)


def _sampled(image: Variable, x: Variable, y: Variable) -> Variable:
    """Return the sum of the four neighbours of each place, by their weights."""
    dtype = promoted(work_of(image), work_of(x))
    x, y = (dimshuffle(math.cast(each, dtype), 0, "x", 1, 2) for each in (x, y))
    batch = dimshuffle(arange(shape_i(image, 0)), 0, "x", "x", "x")
    channels = dimshuffle(arange(shape_i(image, 1)), "x", 0, "x", "x")
    terms = []
    for row in _neighbours(y, shape_i(image, 2)):
        for column in _neighbours(x, shape_i(image, 3)):
            taken = index(image, (batch, channels, row.place, column.place))
            is_inside = math.and_(row.is_inside, column.is_inside)
            value = switch(is_inside, math.cast(taken, dtype), 0)
            terms.append(value * (row.weight * column.weight))
    return math.cast(math.add(*terms), image.type.dtype)
