"""Bilinear upsampling of images, and its gradient."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from gpuarray._core.base import require_all
from gpuarray._native import check, ffi, lib, sized
from gpuarray.errors import BadType, BadValue

Ratio = int | tuple[int, int] | tuple[tuple[int, int], tuple[int, int]]


def bilinear_upsampling(images: Any, ratio: Ratio) -> Any:
    """Return images (batch, channels, rows, columns), larger by linear interpolation.

    ``ratio`` is an integer, a fraction (p, q), or one fraction for rows and one for
    columns. An axis of ``n`` elements gets ``ceil(n * p / q)``; element ``i`` is
    interpolated at the place ``(i * q - (p - 1) // 2) / p``, with p / q in lowest
    terms. Beyond the ends the first and the last element go on.

    >>> a = gpuarray.asarray([[[[0.0, 2.0, 4.0]]]])
    >>> print(gpuarray.nn.bilinear_upsampling(a, ((1, 1), (2, 1))))
    [[[[0. 1. 2. 3. 4. 4.]]]]
    """
    name = "bilinear_upsampling"
    require_all(name, images)
    if images.ndim != 4:
        raise BadValue(f"{name}: images of shape {images.shape}, expected 4 axes")
    struct = description_of(name, ratio)
    lengths = ffi.new("size_t[2]")
    check(lib.gpuupsampling_shape(lengths, struct, images.shape[2:]), name)
    shape = (*images.shape[:2], *lengths)
    out = images.allocate(shape, images.dtype, images.context, operation=name)
    check(lib.GpuArray_upsample(out.struct, images.struct, struct), name)
    return out


def upsampling_grad(grad: Any, lengths: Sequence[int], ratio: Ratio) -> Any:
    """Return the gradient by images of ``lengths`` rows and columns."""
    name = "upsampling_grad"
    require_all(name, grad)
    shape = (*grad.shape[:2], *lengths)
    out = grad.allocate(shape, grad.dtype, grad.context, operation=name)
    struct = description_of(name, ratio)
    check(lib.GpuArray_upsample_grad(out.struct, grad.struct, struct), name)
    return out


def description_of(name: str, ratio: Any) -> Any:
    """Return the library's ``gpuupsampling *``. Raises for what is no fraction."""
    struct = sized("gpuupsampling")
    pair = ratio if isinstance(ratio, tuple) else (ratio, 1)
    both = pair if isinstance(pair[0], tuple) else (pair, pair)
    try:
        fractions = [tuple(map(operator.index, each)) for each in both]
        (p, q), (r, s) = fractions
    except (TypeError, ValueError):
        raise BadType(
            f"{name}: ratio is {ratio!r}, expected an integer, a tuple of numerator "
            "and denominator, or two of them"
        ) from None
    if min(p, q, r, s) < 1:
        raise BadValue(f"{name}: ratio is {ratio!r}, expected numbers of at least 1")
    struct.up, struct.down = [p, r], [q, s]
    return struct
