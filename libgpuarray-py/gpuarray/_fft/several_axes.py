"""Transforms over several axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpuarray._fft.arguments import Axes, Norm, lengths_and_axes, operand, scale_of
from gpuarray._fft.one_axis import along, as_short, half_of, whole_of
from gpuarray._fft.vendor import by_vendor, has_library


def _over(
    x: Any, lengths: Sequence[int], axes: Sequence[int], inverse: bool, scale: float
) -> Any:
    """Return complex transforms over all axes; an axis may occur twice."""
    rank = len(axes)
    if has_library(x.context) and len(set(axes)) == rank <= 3:
        return by_vendor(x, lengths, axes, inverse, scale)
    for n, axis in zip(lengths[::-1], axes[::-1], strict=True):
        x = along(x, n, axis, inverse, scale)
        scale = 1.0
    return x


def _complex_over(
    operation: str, a: Any, s: Any, axes: Axes, norm: Norm, inverse: bool
) -> Any:
    x = operand(operation, a)
    lengths, numbers = lengths_and_axes(operation, x, s, axes)
    scale = scale_of(operation, norm, math.prod(lengths), inverse)
    return _over(x, lengths, numbers, inverse, scale)


def fftn(
    a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = None
) -> Any:
    """Return the transform over several axes (None: all), of lengths ``s``.

    ``norm`` is as in ``fft``. BadValue if ``s`` and ``axes`` differ in length.

    >>> print(gpuarray.fft.fftn(gpuarray.ones((2, 2))))
    [[4.+0.j 0.+0.j]
     [0.+0.j 0.+0.j]]
    """
    return _complex_over("fftn", a, s, axes, norm, False)


def ifftn(
    a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = None
) -> Any:
    """The inverse of ``fftn``.

    >>> print(gpuarray.fft.ifftn(gpuarray.ones((2, 2))))
    [[1.+0.j 0.+0.j]
     [0.+0.j 0.+0.j]]
    """
    return _complex_over("ifftn", a, s, axes, norm, True)


def fft2(
    a: Any, s: Sequence[int] | None = None, axes: Axes = (-2, -1), norm: Norm = None
) -> Any:
    """``fftn`` over two axes.

    >>> print(gpuarray.fft.fft2(gpuarray.ones((2, 2))))
    [[4.+0.j 0.+0.j]
     [0.+0.j 0.+0.j]]
    """
    return _complex_over("fft2", a, s, axes, norm, False)


def ifft2(
    a: Any, s: Sequence[int] | None = None, axes: Axes = (-2, -1), norm: Norm = None
) -> Any:
    """``ifftn`` over two axes.

    >>> print(gpuarray.fft.ifft2(gpuarray.ones((2, 2))))
    [[1.+0.j 0.+0.j]
     [0.+0.j 0.+0.j]]
    """
    return _complex_over("ifft2", a, s, axes, norm, True)


def rfftn(
    a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = None
) -> Any:
    """The transform of real elements over several axes; the last one is halved.

    The others are transformed as by ``fftn``.

    >>> print(gpuarray.fft.rfftn(gpuarray.ones((2, 2))))
    [[4.+0.j 0.+0.j]
     [0.+0.j 0.+0.j]]
    """
    x = operand("rfftn", a, is_real=True)
    lengths, numbers = lengths_and_axes("rfftn", x, s, axes)
    scale = scale_of("rfftn", norm, math.prod(lengths), False)
    x = half_of(x, lengths[-1], numbers[-1], scale)
    return _over(x, lengths[:-1], numbers[:-1], False, 1.0) if lengths[1:] else x


def irfftn(
    a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = None
) -> Any:
    """The inverse of ``rfftn``, of lengths ``s``.

    >>> print(gpuarray.fft.irfftn(gpuarray.ones((2, 2))))
    [[1. 0.]
     [0. 0.]]
    """
    x = operand("irfftn", a)
    lengths, numbers = lengths_and_axes("irfftn", x, s, axes, halved=True)
    scale = scale_of("irfftn", norm, math.prod(lengths), True)
    if not lengths[1:]:
        return as_short(whole_of(x, lengths[0], numbers[0], scale), a)
    x = _over(x, lengths[:-1], numbers[:-1], True, 1.0)
    return whole_of(x, lengths[-1], numbers[-1], scale)


def rfft2(
    a: Any, s: Sequence[int] | None = None, axes: Axes = (-2, -1), norm: Norm = None
) -> Any:
    """``rfftn`` over two axes.

    >>> print(gpuarray.fft.rfft2(gpuarray.ones((2, 2))))
    [[4.+0.j 0.+0.j]
     [0.+0.j 0.+0.j]]
    """
    return rfftn(a, s, axes, norm)


def irfft2(
    a: Any, s: Sequence[int] | None = None, axes: Axes = (-2, -1), norm: Norm = None
) -> Any:
    """``irfftn`` over two axes.

    >>> print(gpuarray.fft.irfft2(gpuarray.ones((2, 2))))
    [[1. 0.]
     [0. 0.]]
    """
    return irfftn(a, s, axes, norm)
