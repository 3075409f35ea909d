"""Bilinear upsampling of images, as transposed convolutions by a triangle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Variable, is_float
from gpuarray.compiler.ops.broadcast.axes import specify_shape
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.creation.joining import join
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.nnet.conv import is_symbolic
from gpuarray.compiler.ops.nnet.conv_functions import conv2d_grad_wrt_inputs
from gpuarray.compiler.ops.shape.shape import dimshuffle, reshape, shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, known_integer

ROWS, COLUMNS = 2, 3


def bilinear_kernel_1D(ratio: Any, normalize: bool = True) -> Variable:
    """Return the filter that interpolates linearly by ``ratio``: a triangle, of floatX.

    It has ``2 * ratio - 1`` elements, 1 to ``ratio`` and back, divided by ``ratio``
    unless ``normalize`` is False. ``ratio`` may be an integer variable.
    """
    if not is_symbolic(ratio):
        ratio = _positive("bilinear_kernel_1D", "ratio", ratio)
    steps = math.cast(arange(1 - ratio, ratio), "floatX")
    height = math.cast(as_tensor_variable(ratio), "floatX")
    triangle = height - math.abs(steps)
    return triangle / height if normalize else triangle


def bilinear_kernel_2D(ratio: Any, normalize: bool = True) -> Variable:
    """Return the product of `bilinear_kernel_1D` along rows and along columns.

    ``ratio`` is that of both, or a tuple of two: of rows, of columns.
    """
    pair = ratio if isinstance(ratio, tuple) else (ratio, ratio)
    if len(pair) != 2:
        raise GraphValueError(
            f"bilinear_kernel_2D: ratio is {ratio!r}, expected one of rows and one of "
            "columns"
        )
    rows, columns = (bilinear_kernel_1D(each, normalize) for each in pair)
    return dimshuffle(rows, 0, "x") * dimshuffle(columns, "x", 0)


def bilinear_upsampling(
    input: Any,
    ratio: Any = None,
    frac_ratio: Any = None,
    batch_size: Any = None,
    num_input_channels: Any = None,
    use_1D_kernel: bool = True,
) -> Variable:
    """Return images (batch, channels, rows, columns), larger by bilinear interpolation.

    Along an axis of ``n`` elements the result has ``ratio * n``. Its element ``i`` is
    interpolated linearly at the place ``(i - (ratio - 1) // 2) / ratio``; before the
    first element and behind the last it has the value of that one. For an even ratio
    the last is so repeated once more than the first.

    ``frac_ratio`` stands in place of ``ratio``: see `frac_bilinear_upsampling`.
    ``batch_size`` and ``num_input_channels`` are checked when the program runs. With
    ``use_1D_kernel`` rows are interpolated by themselves, then columns, else both by
    one larger filter; the result is the same but for rounding.
    """
    name = "bilinear_upsampling"
    if (ratio is None) == (frac_ratio is None):
        raise GraphValueError(
            f"{name}: ratio is {ratio}, frac_ratio is {frac_ratio}; give one of them"
        )
    images = _images(name, input)
    known = batch_size, num_input_channels
    if known != (None, None):
        lengths = [shape_i(images, axis) for axis in range(4)]
        for axis, length in enumerate(known):
            lengths[axis] = lengths[axis] if length is None else length
        images = specify_shape(images, lengths)
    if ratio is None:
        fractions = _fractions(name, frac_ratio)
    else:
        fractions = [(_positive(name, "ratio", ratio), 1)] * 2
    return _upsampled(images, fractions, use_1D_kernel)


def frac_bilinear_upsampling(input: Any, frac_ratio: Any) -> Variable:
    """Return images (batch, channels, rows, columns) larger by a fraction.

    ``frac_ratio`` is a tuple (p, q) that stands for p / q, or one such tuple for rows
    and one for columns. In lowest terms, the result is each q-th element, the first
    one included, of `bilinear_upsampling` by the ratio p: ceil(n * p / q) elements.
    """
    name = "frac_bilinear_upsampling"
    return _upsampled(_images(name, input), _fractions(name, frac_ratio), True)


def _positive(name: str, what: str, value: Any) -> int:
    number = known_integer(name, what, value)
    if number < 1:
        raise GraphValueError(f"{name}: {what} is {number}, expected 1 or more")
    return number


def _images(name: str, input: Any) -> Variable:
    images: Variable = as_tensor_variable(input)
    if images.type.ndim != 4 or not is_float(images):
        raise GraphArgumentError(
            f"{name}: the input is {images} of {images.type}, expected floats of 4 "
            "axes: batch, channels, rows, columns"
        )
    return images


def _fractions(name: str, frac_ratio: Any) -> list[tuple[int, int]]:
    """Return the fractions of rows and of columns, in lowest terms."""
    try:
        is_pair = isinstance(frac_ratio[0], tuple)
        rows, columns = frac_ratio if is_pair else (frac_ratio, frac_ratio)
        (_, _), (_, _) = rows, columns
    except (IndexError, TypeError, ValueError):
        raise GraphTypeError(
            f"{name}: frac_ratio is {frac_ratio!r}, expected a tuple of numerator and "
            "denominator, or one for rows and one for columns"
        ) from None
    fractions = []
    for pair in (rows, columns):
        p, q = (_positive(name, "a term of frac_ratio", term) for term in pair)
        fractions.append((p // gcd(p, q), q // gcd(p, q)))
    return fractions


def _upsampled(
    images: Variable, fractions: Sequence[tuple[int, int]], is_apart: bool
) -> Variable:
    """Interpolate by each numerator, and take one element of each denominator."""
    batch, channels = shape_i(images, 0), shape_i(images, 1)
    lengths = shape_i(images, ROWS), shape_i(images, COLUMNS)
    x = reshape(images, (batch * channels, 1, *lengths))
    (p, q), (r, s) = fractions
    if is_apart:
        x = _interpolated(x, {ROWS: p})[:, :, ::q]
        x = _interpolated(x, {COLUMNS: r})[:, :, :, ::s]
    else:
        x = _interpolated(x, {ROWS: p, COLUMNS: r})[:, :, ::q, ::s]
    result: Variable = reshape(x, (batch, channels, shape_i(x, 2), shape_i(x, 3)))
    return result


def _interpolated(x: Variable, ratios: Mapping[int, int]) -> Variable:
    """Return images of one channel, interpolated along some of their axes.

    Each element is spread by the triangle around ``ratio * i``; behind the ends there
    is one more of the last element, and the padding cuts off what lies beyond the
    result.
    """
    lengths = [shape_i(x, axis) * ratios.get(axis, 1) for axis in (ROWS, COLUMNS)]
    stride, padding = [1, 1], [0, 0]
    for axis, ratio in ratios.items():
        every = (slice(None),) * axis
        x = join(axis, x[(*every, slice(0, 1))], x, x[(*every, slice(-1, None))])
        stride[axis - ROWS] = ratio
        padding[axis - ROWS] = 2 * ratio - 1 - (ratio - 1) // 2
    kernel = bilinear_kernel_2D((ratios.get(ROWS, 1), ratios.get(COLUMNS, 1)))
    return conv2d_grad_wrt_inputs(
        x,
        dimshuffle(math.cast(kernel, x.type.dtype), "x", "x", 0, 1),
        (None, 1, *lengths),
        border_mode=tuple(padding),
        subsample=tuple(stride),
    )
