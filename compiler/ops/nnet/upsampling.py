"""Bilinear upsampling of images by fractions, and the filters that do it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import gcd
from typing import Any

import numpy as np
from gpuarray.compiler.errors import GraphArgumentError, GraphTypeError, GraphValueError
from gpuarray.compiler.graph.core import Apply, Op, Variable, is_float
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.broadcast.axes import specify_shape
from gpuarray.compiler.ops.creation.creation import arange
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.linalg.linalg import wide
from gpuarray.compiler.ops.nnet.conv import is_symbolic
from gpuarray.compiler.ops.shape.shape import dimshuffle, shape_i
from gpuarray.compiler.ops.variables.basic import as_tensor_variable, known_integer

Fraction = tuple[int, int]
"""Numerator and denominator, in lowest terms."""

ROWS, COLUMNS = 2, 3


class _ByFractions(Op):
    """The base of the ops: fractions of rows and of columns."""

    __props__ = ("rows", "columns")

    def __init__(self, rows: Fraction, columns: Fraction) -> None:
        self.rows, self.columns = rows, columns

    def weights(self, lengths: Any) -> Iterator[Any]:
        """Yield for rows and for columns the matrix from an image to its result."""
        for (p, q), length in zip((self.rows, self.columns), lengths, strict=True):
            n = int(length)
            at = np.arange(0, n * p, q) - (p - 1) // 2
            at = np.clip(at, 0, max(n - 1, 0) * p)
            yield np.maximum(1 - np.abs(at[:, None] - p * np.arange(n)) / p, 0)


class BilinearUpsampling(_ByFractions):
    """Images (batch, channels, rows, columns), interpolated by fractions."""

    def make_node(self, images: Any) -> Apply:
        """Return a node over floats of 4 axes."""
        x = _images(type(self).__name__, images)
        kind = TensorType(x.type.dtype, (*x.type.broadcastable[:2], False, False))
        return Apply(self, [x], [kind()])

    def reference(self, x: Any) -> Any:
        """Return the products with the matrices of rows and of columns."""
        y, z = self.weights(x.shape[2:])
        return (y @ wide(x) @ z.T).astype(x.dtype)

    def grad(self, m: Any, g: Variable, y: Variable, x: Variable) -> Variable:
        """Return the sums of the shares that each element has."""
        lengths = shape_i(x, ROWS), shape_i(x, COLUMNS)
        result: Variable = BilinearUpsamplingGrad(self.rows, self.columns)(g, *lengths)
        return result

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return the lengths times the fractions, rounded up."""
        batch, channels, *lengths = input_shapes[0]
        fractions = self.rows, self.columns
        larger = map(_times, lengths, fractions)
        return [(batch, channels, *larger)]


class BilinearUpsamplingGrad(_ByFractions):
    """The gradient of `BilinearUpsampling` by images of these rows and columns."""

    def make_node(self, grad: Any, rows: Any, columns: Any) -> Apply:
        """Return a node over the gradient of the result, and two lengths."""
        g = _images(type(self).__name__, grad)
        kind = TensorType(g.type.dtype, (*g.type.broadcastable[:2], False, False))
        lengths = [as_tensor_variable(length) for length in (rows, columns)]
        return Apply(self, [g, *lengths], [kind()])

    def host_inputs(self, node: Apply) -> Collection[int]:
        """The lengths."""
        return 1, 2

    def reference(self, g: Any, *lengths: Any) -> Any:
        """Return the products with the transposed matrices."""
        y, z = self.weights(lengths)
        return (y.T @ wide(g) @ z).astype(g.dtype)

    def grad(
        self, m: Any, g: Variable, y: Variable, grad: Variable, *lengths: Variable
    ) -> tuple[Variable | None, ...]:
        """Return the gradient, interpolated."""
        return BilinearUpsampling(self.rows, self.columns)(g), None, None

    def infer_shape(self, node: Apply, input_shapes: Any) -> list[tuple[Any, ...]]:
        """Return batch, channels, and the lengths."""
        return [(*input_shapes[0][:2], *node.inputs[1:])]


def _times(length: Any, fraction: Fraction) -> Any:
    """Return a length times a fraction, rounded up; None if it is not known."""
    if length is None:
        return None
    p, q = fraction
    return (length * p + (q - 1)) // q if q > 1 else length * p


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
    ``batch_size`` and ``num_input_channels`` are checked when the program runs.
    ``use_1D_kernel`` is accepted and changes nothing.
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
    result: Variable = BilinearUpsampling(*fractions)(images)
    return result


def frac_bilinear_upsampling(input: Any, frac_ratio: Any) -> Variable:
    """Return images (batch, channels, rows, columns) larger by a fraction.

    ``frac_ratio`` is a tuple (p, q) that stands for p / q, or one such tuple for rows
    and one for columns. In lowest terms, the result is each q-th element, the first
    one included, of `bilinear_upsampling` by the ratio p: ceil(n * p / q) elements.
    """
    name = "frac_bilinear_upsampling"
    images, fractions = _images(name, input), _fractions(name, frac_ratio)
    result: Variable = BilinearUpsampling(*fractions)(images)
    return result


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


def _fractions(name: str, frac_ratio: Any) -> list[Fraction]:
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
