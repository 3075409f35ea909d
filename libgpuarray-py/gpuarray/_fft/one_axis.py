"""Transforms along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuarray._core.arguments import axis_number
from gpuarray._fft import transforms
from gpuarray._fft.arguments import Norm, length_of, operand, scale_of
from gpuarray._fft.vendor import by_vendor, has_library, on_last_axes, resized
from gpuarray._manipulation.shaping import moveaxis
from gpuarray.dtypes import parts_dtype


def along(x: Any, n: int, axis: int, inverse: bool, scale: float) -> Any:
    if has_library(x.context):
        return by_vendor(x, [n], [axis], inverse, scale)
    return transforms.transform(x, n, axis, inverse, scale)


def _complex(
    operation: str, a: Any, n: int | None, axis: int, norm: Norm, inverse: bool
) -> Any:
    x = operand(operation, a)
    axis = axis_number(axis, x.ndim, operation)
    n = length_of(operation, n, x.shape[axis])
    return along(x, n, axis, inverse, scale_of(operation, norm, n, inverse))


def fft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """Return the discrete Fourier transform along an axis of ``n`` elements.

    A longer axis is cut off, a shorter one padded with zeros. ``norm`` is the direction
    that is divided by ``n``: "backward" (or None), "forward", or both by its root:
    "ortho".

    >>> print(gpuarray.fft.fft(gpuarray.asarray([1.0, 0.0, 0.0, 0.0])))
    [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
    return _complex("fft", a, n, axis, norm, False)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """The inverse of ``fft``.

    Complex; else as ``fft``, divided by ``n`` unless ``norm`` says otherwise.

    >>> print(gpuarray.fft.ifft(gpuarray.asarray([4.0, 0.0, 0.0, 0.0])))
    [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
    return _complex("ifft", a, n, axis, norm, True)


def half_of(x: Any, n: int, axis: int, scale: float) -> Any:
    """Return the first n // 2 + 1 elements of the transform of real elements."""
    count = n // 2 + 1
    if has_library(x.context):
        moved = moveaxis(resized(x, [n], [axis]), axis, -1)
        moved = moved if moved.flags.c_contiguous else moved.copy("C")
        dtype = np.result_type(x.dtype, np.complex64)
        return moveaxis(on_last_axes(moved, dtype, count, 1, False, scale), -1, axis)
    whole = transforms.transform(x, n, axis, False, scale)
    return whole[(slice(None),) * axis + (slice(count),)].copy()


def as_short(elements: Any, a: Any) -> Any:
    """Return real elements as float16 if those given were, as NumPy does."""
    return elements.astype(np.float16) if a.dtype == np.float16 else elements


def whole_of(x: Any, n: int, axis: int, scale: float) -> Any:
    """Return the ``n`` real elements whose transform has the first half ``x``."""
    x = x if x.dtype.kind == "c" else x.astype(np.result_type(x.dtype, np.complex64))
    if has_library(x.context):
        # A copy that is overwritten; parts that must be 0 are not read.
        moved = moveaxis(resized(x, [n // 2 + 1], [axis]), axis, -1).copy("C")
        out = on_last_axes(moved, parts_dtype(x.dtype), n, 1, True, scale)
        return moveaxis(out, -1, axis)
    whole = transforms.mirrored(x, n, axis)
    return transforms.transform(whole, n, axis, True, scale).real.copy()


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """Return the first half of the transform of real elements; the rest is conjugate.

    It has ``n // 2 + 1`` elements along the axis.

    >>> print(gpuarray.fft.rfft(gpuarray.asarray([1.0, 0.0, 0.0, 0.0])))
    [1.+0.j 1.+0.j 1.+0.j]
    """
    x = operand("rfft", a, is_real=True)
    axis = axis_number(axis, x.ndim, "rfft")
    n = length_of("rfft", n, x.shape[axis])
    return half_of(x, n, axis, scale_of("rfft", norm, n, False))


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """Return the inverse of ``rfft``, of ``n`` elements, by default an even number.

    >>> print(gpuarray.fft.irfft(gpuarray.asarray([1.0, 1.0, 1.0])))
    [1. 0. 0. 0.]
    """
    x = operand("irfft", a)
    axis = axis_number(axis, x.ndim, "irfft")
    n = length_of("irfft", n, 2 * (x.shape[axis] - 1))
    return as_short(whole_of(x, n, axis, scale_of("irfft", norm, n, True)), a)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """Return the real transform of a Hermitian-symmetric signal.

    >>> print(gpuarray.fft.hfft(gpuarray.asarray([1.0, 0.0, 0.0])))
    [1. 1. 1. 1.]
    """
    x = operand("hfft", a)
    axis = axis_number(axis, x.ndim, "hfft")
    n = length_of("hfft", n, 2 * (x.shape[axis] - 1))
    x = x.conj() if x.dtype.kind == "c" else x
    return as_short(whole_of(x, n, axis, scale_of("hfft", norm, n, False)), a)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """The inverse of ``hfft``: the conjugates of ``rfft``, divided by ``n``.

    >>> print(gpuarray.fft.ihfft(gpuarray.asarray([4.0, 0.0, 0.0, 0.0])))
    [1.-0.j 1.-0.j 1.-0.j]
    """
    x = operand("ihfft", a, is_real=True)
    axis = axis_number(axis, x.ndim, "ihfft")
    n = length_of("ihfft", n, x.shape[axis])
    return half_of(x, n, axis, scale_of("ihfft", norm, n, True)).conj()
