"""Transforms by the vendor's library (cuFFT)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuarray._core.context import Context
from gpuarray._manipulation.shaping import moveaxis
from gpuarray._native import check, lib
from gpuarray.array import Array


def has_library(context: Context) -> bool:
    """True if the context's vendor has a library of Fourier transforms."""
    if "fft" not in context._kernels:
        context._kernels["fft"] = bool(lib.gpuarray_transforms(context.pointer))
    return bool(context._kernels["fft"])


def resized(x: Any, lengths: Sequence[int], axes: Sequence[int]) -> Any:
    """Return the array with its axes cut off, or padded with zeros."""
    cut = [slice(None)] * x.ndim
    shape = list(x.shape)
    for n, axis in zip(lengths, axes, strict=True):
        cut[axis] = slice(n)
        shape[axis] = n
    x = x[tuple(cut)]
    if list(x.shape) == shape:
        return x
    out = Array.allocate(tuple(shape), x.dtype, x.context, zeroed=True, operation="fft")
    out[tuple(slice(n) for n in x.shape)] = x
    return out


def on_last_axes(
    x: Any, dtype: np.dtype[Any], last: int, rank: int, inverse: bool, scale: float
) -> Any:
    """Return the transform over the last axes of a new array in C order."""
    shape = (*x.shape[:-1], last)
    out: Any = Array.allocate(shape, dtype, x.context, operation="fft")
    check(lib.GpuArray_fft(out.struct, x.struct, rank, inverse), "fft")
    if scale != 1:
        out *= scale
    return out


def by_vendor(
    x: Any, lengths: Sequence[int], axes: Sequence[int], inverse: bool, scale: float
) -> Any:
    """A complex transform over up to 3 different axes."""
    dtype = np.result_type(x.dtype, np.complex64)
    x = resized(x, lengths, axes).astype(dtype, copy=False)
    moved = moveaxis(x, tuple(axes), tuple(range(-len(axes), 0)))
    moved = moved if moved.flags.c_contiguous else moved.copy("C")
    out = on_last_axes(moved, dtype, moved.shape[-1], len(axes), inverse, scale)
    return moveaxis(out, tuple(range(-len(axes), 0)), tuple(axes))
