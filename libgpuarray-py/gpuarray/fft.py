"""``numpy.fft`` and the array API's extension ``fft``, on the device.

By cuFFT where the context's vendor has it, else by kernels of our own; nothing is
computed on the host. float32 and complex64 are transformed as such, float16 as float32,
integers as float64.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpuarray._core.base import axes_numbers, axis_number, require
from gpuarray._core.context import Context
from gpuarray._core.context import context as find_context
from gpuarray._creation.ranges import arange
from gpuarray._fft import transforms
from gpuarray._linalg.solvers import transforms as has_library
from gpuarray._manipulation.joining import roll
from gpuarray._manipulation.shaping import moveaxis
from gpuarray._native import check, lib
from gpuarray.array import Array
from gpuarray.dtypes import as_dtype, kind_of, parts_dtype
from gpuarray.errors import BadType, BadValue, suggest_names

Norm = Literal["backward", "ortho", "forward"] | None
Axes = int | Sequence[int] | None

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def __dir__() -> list[str]:
    return __all__


suggest_names(__name__)


_OTHER = {None: "forward", "backward": "forward", "forward": "backward"}


# ---- arguments ----


def _operand(operation: str, x: Any, is_real: bool = False) -> Any:
    """The array in a dtype that is transformed."""
    require(x, operation)
    kind = kind_of(x.dtype)
    if kind == "c":
        if is_real:
            raise BadType(f"{operation}: got {x.dtype}, expected real elements")
        return x
    if kind in "biu":
        return x.astype(np.float64)
    if x.dtype == np.float16:
        return x.astype(np.float32)
    if x.dtype.itemsize == 2:
        raise BadType(
            f"{operation}: {x.dtype} is not offered; convert it: x.astype('float32')"
        )
    return x


def _scale(operation: str, norm: Norm, n: int, inverse: bool) -> float:
    """What a transform of n elements is multiplied by."""
    if norm not in (None, "backward", "ortho", "forward"):
        raise BadValue(
            f"{operation}: norm is {norm!r}, expected 'backward', 'ortho' or 'forward'"
        )
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") != inverse else 1.0


def _length(operation: str, n: int | None, default: int) -> int:
    if n is None:
        n = default
    else:
        try:
            n = operator.index(n)
        except TypeError:
            raise BadType(f"{operation}: n is {n!r}, expected an integer") from None
    if n < 1:
        raise BadValue(
            f"{operation}: {n} elements are no signal; expected at least 1 along the "
            "axis"
        )
    return n


def _several(
    operation: str, x: Any, s: Sequence[int] | None, axes: Axes, halved: bool = False
) -> tuple[list[int], list[int]]:
    """Lengths and axes; those of the whole array where the last axis is halved."""
    if axes is None:
        count = x.ndim if s is None else len(s)
        listed = list(range(-count, 0))
    else:
        listed = [axes] if isinstance(axes, int) else list(axes)
    found = [axis_number(axis, x.ndim, operation) for axis in listed]
    if s is None:
        lengths = [x.shape[axis] for axis in found]
        if halved and lengths:
            lengths[-1] = 2 * (lengths[-1] - 1)
    else:
        if len(s) != len(found):
            raise BadValue(
                f"{operation}: {len(s)} lengths for {len(found)} axes, expected as many"
            )
        lengths = [
            x.shape[axis] if n == -1 else n for n, axis in zip(s, found, strict=True)
        ]
    if not found:
        raise BadValue(f"{operation}: no axis is given")
    return [_length(operation, n, 0) for n in lengths], found


# ---- by the vendor's library ----


def _resized(x: Any, lengths: Sequence[int], axes: Sequence[int]) -> Any:
    """The array with its axes cut off, or continued with zeros."""
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


def _vendor(
    x: Any, dtype: np.dtype[Any], last: int, rank: int, inverse: bool, scale: float
) -> Any:
    """The transform over the last axes of an array of its own, in C order."""
    shape = (*x.shape[:-1], last)
    out: Any = Array.allocate(shape, dtype, x.context, operation="fft")
    check(lib.GpuArray_fft(out.struct, x.struct, rank, inverse), "fft")
    if scale != 1:
        out *= scale
    return out


def _by_vendor(
    x: Any, lengths: Sequence[int], axes: Sequence[int], inverse: bool, scale: float
) -> Any:
    """A complex transform over up to 3 different axes."""
    dtype = np.result_type(x.dtype, np.complex64)
    x = _resized(x, lengths, axes).astype(dtype, copy=False)
    moved = moveaxis(x, tuple(axes), tuple(range(-len(axes), 0)))
    moved = moved if moved.flags.c_contiguous else moved.copy("C")
    out = _vendor(moved, dtype, moved.shape[-1], len(axes), inverse, scale)
    return moveaxis(out, tuple(range(-len(axes), 0)), tuple(axes))


# ---- over one axis ----


def _along(x: Any, n: int, axis: int, inverse: bool, scale: float) -> Any:
    if has_library(x.context):
        return _by_vendor(x, [n], [axis], inverse, scale)
    return transforms.transform(x, n, axis, inverse, scale)


def _complex(
    operation: str, a: Any, n: int | None, axis: int, norm: Norm, inverse: bool
) -> Any:
    x = _operand(operation, a)
    axis = axis_number(axis, x.ndim, operation)
    n = _length(operation, n, x.shape[axis])
    return _along(x, n, axis, inverse, _scale(operation, norm, n, inverse))


def fft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """The discrete Fourier transform along an axis of ``n`` elements.

    What the axis has more is cut off, what it has less are zeros. ``norm`` says which
    direction is divided by ``n``: "backward" (or None), "forward", or both by its root:
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


def _half(x: Any, n: int, axis: int, scale: float) -> Any:
    """The first n // 2 + 1 elements of the transform of real elements."""
    count = n // 2 + 1
    if has_library(x.context):
        moved = moveaxis(_resized(x, [n], [axis]), axis, -1)
        moved = moved if moved.flags.c_contiguous else moved.copy("C")
        dtype = np.result_type(x.dtype, np.complex64)
        return moveaxis(_vendor(moved, dtype, count, 1, False, scale), -1, axis)
    whole = transforms.transform(x, n, axis, False, scale)
    return whole[(slice(None),) * axis + (slice(count),)].copy()


def _as_short(found: Any, given: Any) -> Any:
    """Real elements as float16 where those given were, as NumPy has it."""
    return found.astype(np.float16) if given.dtype == np.float16 else found


def _whole(x: Any, n: int, axis: int, scale: float) -> Any:
    """The ``n`` real elements whose transform ``x`` has the first half of."""
    x = x if x.dtype.kind == "c" else x.astype(np.result_type(x.dtype, np.complex64))
    if has_library(x.context):
        # Our own copy, which is overwritten; the library reads no part that must be 0.
        moved = moveaxis(_resized(x, [n // 2 + 1], [axis]), axis, -1).copy("C")
        out = _vendor(moved, parts_dtype(x.dtype), n, 1, True, scale)
        return moveaxis(out, -1, axis)
    whole = transforms.mirrored(x, n, axis)
    return transforms.transform(whole, n, axis, True, scale).real.copy()


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """The transform of real elements, of which the first half says all.

    It has ``n // 2 + 1`` elements along the axis.

    >>> print(gpuarray.fft.rfft(gpuarray.asarray([1.0, 0.0, 0.0, 0.0])))
    [1.+0.j 1.+0.j 1.+0.j]
    """
    x = _operand("rfft", a, is_real=True)
    axis = axis_number(axis, x.ndim, "rfft")
    n = _length("rfft", n, x.shape[axis])
    return _half(x, n, axis, _scale("rfft", norm, n, False))


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """The inverse of ``rfft``, of ``n`` elements: an even number if none is given.

    >>> print(gpuarray.fft.irfft(gpuarray.asarray([1.0, 1.0, 1.0])))
    [1. 0. 0. 0.]
    """
    x = _operand("irfft", a)
    axis = axis_number(axis, x.ndim, "irfft")
    n = _length("irfft", n, 2 * (x.shape[axis] - 1))
    return _as_short(_whole(x, n, axis, _scale("irfft", norm, n, True)), a)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """The real transform of elements that are conjugate to those mirrored in 0.

    >>> print(gpuarray.fft.hfft(gpuarray.asarray([1.0, 0.0, 0.0])))
    [1. 1. 1. 1.]
    """
    x = _operand("hfft", a)
    axis = axis_number(axis, x.ndim, "hfft")
    n = _length("hfft", n, 2 * (x.shape[axis] - 1))
    x = x.conj() if x.dtype.kind == "c" else x
    return _as_short(_whole(x, n, axis, _scale("hfft", norm, n, False)), a)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    """The inverse of ``hfft``: the conjugates of ``rfft``, divided by ``n``.

    >>> print(gpuarray.fft.ihfft(gpuarray.asarray([4.0, 0.0, 0.0, 0.0])))
    [1.-0.j 1.-0.j 1.-0.j]
    """
    x = _operand("ihfft", a, is_real=True)
    axis = axis_number(axis, x.ndim, "ihfft")
    n = _length("ihfft", n, x.shape[axis])
    return _half(x, n, axis, _scale("ihfft", norm, n, True)).conj()


# ---- over several axes ----


def _over(
    x: Any, lengths: Sequence[int], axes: Sequence[int], inverse: bool, scale: float
) -> Any:
    """Complex transforms over all axes; an axis may be there twice."""
    rank = len(axes)
    if has_library(x.context) and len(set(axes)) == rank <= 3:
        return _by_vendor(x, lengths, axes, inverse, scale)
    for n, axis in zip(lengths[::-1], axes[::-1], strict=True):
        x = _along(x, n, axis, inverse, scale)
        scale = 1.0
    return x


def _complex_over(
    operation: str, a: Any, s: Any, axes: Axes, norm: Norm, inverse: bool
) -> Any:
    x = _operand(operation, a)
    lengths, numbers = _several(operation, x, s, axes)
    scale = _scale(operation, norm, math.prod(lengths), inverse)
    return _over(x, lengths, numbers, inverse, scale)


def fftn(
    a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = None
) -> Any:
    """The transform over several axes (None: all), of lengths ``s``.

    Complex; ``norm`` as of ``fft``. BadValue if ``s`` and ``axes`` differ in length.

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
    x = _operand("rfftn", a, is_real=True)
    lengths, numbers = _several("rfftn", x, s, axes)
    scale = _scale("rfftn", norm, math.prod(lengths), False)
    x = _half(x, lengths[-1], numbers[-1], scale)
    return _over(x, lengths[:-1], numbers[:-1], False, 1.0) if lengths[1:] else x


def irfftn(
    a: Any, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = None
) -> Any:
    """The inverse of ``rfftn``, of lengths ``s``.

    >>> print(gpuarray.fft.irfftn(gpuarray.ones((2, 2))))
    [[1. 0.]
     [0. 0.]]
    """
    x = _operand("irfftn", a)
    lengths, numbers = _several("irfftn", x, s, axes, halved=True)
    scale = _scale("irfftn", norm, math.prod(lengths), True)
    if not lengths[1:]:
        return _as_short(_whole(x, lengths[0], numbers[0], scale), a)
    x = _over(x, lengths[:-1], numbers[:-1], True, 1.0)
    return _whole(x, lengths[-1], numbers[-1], scale)


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


# ---- frequencies ----


def _frequencies(
    operation: str,
    first: int,
    last: int,
    n: int,
    d: float,
    dtype: npt.DTypeLike | None,
    device: Context | str | None,
) -> Any:
    place = find_context(device)
    default = np.float64 if place.has_double else np.float32
    made = as_dtype(default if dtype is None else dtype, operation)
    if kind_of(made) != "f":
        raise BadType(f"{operation}: dtype {made}, expected a real floating one")
    steps: Any = arange(first, last, context=place).astype(made)
    return steps * (1.0 / (n * d))


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Context | str | None = None,
) -> Any:
    """The frequencies of ``fft``'s elements, for samples ``d`` apart.

    >>> print(gpuarray.fft.fftfreq(4))
    [ 0.    0.25 -0.5  -0.25]
    """
    n = _length("fftfreq", n, 0)
    half = (n - 1) // 2 + 1
    ordered = _frequencies("fftfreq", half - n, half, n, d, dtype, device)
    return roll(ordered, half)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Context | str | None = None,
) -> Any:
    """The frequencies of ``rfft``'s elements, for samples ``d`` apart.

    >>> print(gpuarray.fft.rfftfreq(4))
    [0.   0.25 0.5 ]
    """
    n = _length("rfftfreq", n, 0)
    return _frequencies("rfftfreq", 0, n // 2 + 1, n, d, dtype, device)


def _shifted(operation: str, x: Any, axes: Axes, sign: int) -> Any:
    require(x, operation)
    listed = tuple(range(x.ndim)) if axes is None else axes
    numbers = axes_numbers(
        tuple(listed) if isinstance(listed, Sequence) else listed, x.ndim, operation
    )
    halves = [x.shape[axis] // 2 for axis in numbers]
    steps = [half if sign > 0 else -half for half in halves]
    return roll(x, tuple(steps), tuple(numbers))


def fftshift(x: Any, axes: Axes = None) -> Any:
    """The array with frequency 0 moved to the middle of the axes (None: all).

    >>> print(gpuarray.fft.fftshift(gpuarray.fft.fftfreq(4)))
    [-0.5  -0.25  0.    0.25]
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Any, axes: Axes = None) -> Any:
    """The inverse of ``fftshift``.

    >>> print(gpuarray.fft.ifftshift(gpuarray.asarray([-2, -1, 0, 1])))
    [ 0  1 -2 -1]
    """
    return _shifted("ifftshift", x, axes, -1)
