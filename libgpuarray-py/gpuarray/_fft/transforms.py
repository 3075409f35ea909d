"""Discrete Fourier transforms along one axis, by kernels of our own.

Stockham's algorithm: each pass reads one array and writes another in order, with a
radix of 2 to 13. A length with a larger prime factor is a convolution of a longer,
smooth length (Bluestein). Any axis is transformed in place of a transposition: an array
is (outer, n, inner). Kernels depend on the radix and the type alone; lengths are
arguments, and the twiddle factors of a length are a table, computed in float64. An
inverse transform is the same with real and imaginary parts exchanged at both ends.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuarray._core.context import Context
from gpuarray._fft.kernel_text import RADICES, complex_type, other_source, pass_source
from gpuarray._kernels.kernel import GpuKernel
from gpuarray.array import Array
from gpuarray.dtypes import OFFSET, SIZE

Complex = npt.NDArray[np.complex128]
_TABLES = 32  # cached for a context
_lock = threading.Lock()  # guards the tables
_UINT = np.dtype(np.uint32)
_REALS = {"ga_float": np.dtype(np.float32), "ga_double": np.dtype(np.float64)}


# ---- tables ----


@dataclass(frozen=True, slots=True)
class _Lengths:
    """The shape of an array around an axis: (outer, n, inner)."""

    outer: int
    n: int
    inner: int


@cache
def factors(n: int) -> tuple[int, ...] | None:
    """Return the radices of the passes of a length; None for a large prime factor."""
    radices = []
    for radix in RADICES:
        while n % radix == 0:
            radices.append(radix)
            n //= radix
    return tuple(radices) if n == 1 else None


def convolution_length(n: int) -> int:
    """Return a length of fast passes for the convolution of n elements with a chirp."""
    least = 2 * n - 1
    return min(
        odd << max(-(-least // odd) - 1, 1).bit_length()
        for odd in (1, 3, 5, 9, 15, 25, 27, 45, 75, 81, 125, 135, 225)
    )


def roots(n: int) -> Complex:
    """Return exp(-2 pi i k / n) for all k, each rounded once: octants are reflected."""
    k = np.arange(n)
    eighth = 8 * k // n
    reduced = np.where(eighth % 2 == 1, -1, 1) * (8 * k - (eighth + eighth % 2) * n)
    angle = np.pi / 4 * (reduced / n)
    cos, sin = np.cos(angle), np.sin(angle)
    odd = np.isin(eighth % 4, (1, 2))
    x, y = np.where(odd, sin, cos), np.where(odd, cos, sin)
    x = np.where(np.isin(eighth, (2, 3, 4, 5)), -x, x)
    y = np.where(eighth >= 4, -y, y)
    return np.asarray(x - 1j * y)


def chirp(n: int) -> Complex:
    """Return exp(-pi i k^2 / n) for all k; the squares are reduced as integers."""
    k = np.arange(n, dtype=np.int64)
    return np.asarray(roots(2 * n)[k * k % (2 * n)])


def _table(context: Context, kind: str, n: int, dtype: np.dtype[Any]) -> Any:
    """Return a table on the device, cached; the least recently used are evicted."""
    key = kind, n, dtype
    with _lock:
        tables = context._kernels.setdefault("fft tables", OrderedDict())
        table = tables.get(key)
        if table is not None:
            tables.move_to_end(key)
            return table
    created = Array.from_host(_host_table(kind, n).astype(dtype), context)
    with _lock:
        tables[key] = created
        while len(tables) > _TABLES:
            tables.popitem(last=False)
    return created


def _host_table(kind: str, n: int) -> Complex:
    if kind == "roots":
        return roots(n)
    if kind == "chirp":
        return chirp(n)
    length = convolution_length(n)
    padded = np.zeros(length, complex)
    padded[:n] = chirp(n).conj()
    padded[length - n + 1 :] = padded[n - 1 : 0 : -1]
    return np.fft.fft(padded)


# ---- launches ----


def _real_name(dtype: np.dtype[Any]) -> str:
    return "ga_float" if dtype.name in ("float32", "complex64") else "ga_double"


def _complex_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.complex64 if _real_name(dtype) == "ga_float" else np.complex128)


def _kernel(
    context: Context, make: Callable[..., tuple[str, str]], args: Any, types: list[Any]
) -> GpuKernel:
    """The kernel that ``make`` writes for its arguments, cached by the context."""
    key = "fft", make, args
    cached = context._kernels.get(key)
    if cached is None:
        name, text = make(*args)
        cached = context._kernels[key] = GpuKernel(text, name, types, context)
    kernel: GpuKernel = cached
    return kernel


def _run_pass(
    x: Any,
    out: Any,
    table: Any,
    shape: _Lengths,
    radix: int,
    transformed: int,
    ends: Any,
) -> None:
    """Run one pass from ``x`` to ``out``; ``ends``: given, swap_in, swap_out, scale."""
    present, swap_in, swap_out, scale = ends
    context, real = x.context, _real_name(x.dtype)
    is_first = transformed == 1
    wide = out.size >= 1 << 31 or x.size >= 1 << 31
    source = real if x.dtype.kind != "c" else complex_type(real)
    given_types = (radix, real, source, is_first, wide)
    types = [Array, OFFSET] * 3 + [SIZE] * 5 + [_UINT, _UINT, _REALS[real]]
    kernel = _kernel(context, pass_source, given_types, types)
    total = out.size // radix
    kernel(
        *(out, out.offset, x, x.offset, table, table.offset),
        *(total, shape.n, shape.inner, transformed, present, swap_in, swap_out, scale),
        n=total,
    )


def _smooth(x: Any, shape: _Lengths, present: int, inverse: bool, scale: float) -> Any:
    """Return the transform of a length without large prime factors, by passes."""
    radices = factors(shape.n) or ()
    dtype = _complex_dtype(x.dtype)
    lengths = shape.outer, shape.n, shape.inner
    table = _table(x.context, "roots", shape.n, dtype)
    transformed, spare = 1, None
    for radix in radices:
        is_last = transformed * radix == shape.n
        out = spare
        if out is None:
            out = Array.allocate(lengths, dtype, x.context, operation="fft")
        ends = (
            present if transformed == 1 else shape.n,
            int(inverse and transformed == 1),
            int(inverse and is_last),
            scale if is_last else 1.0,
        )
        _run_pass(x, out, table, shape, radix, transformed, ends)
        spare = x if transformed > 1 else None
        x, transformed = out, transformed * radix
    return x


def _bluestein(
    x: Any, shape: _Lengths, present: int, inverse: bool, scale: float
) -> Any:
    """Return the transform of any length, as a convolution of a smooth one."""
    context, dtype, n = x.context, _complex_dtype(x.dtype), shape.n
    real = _real_name(dtype)
    length = convolution_length(n)
    longer = _Lengths(shape.outer, length, shape.inner)
    factor = _table(context, "chirp", n, dtype)
    spectrum = _table(context, "spectrum", n, dtype)
    padded = Array.allocate(
        (shape.outer, length, shape.inner), dtype, context, operation="fft"
    )
    wide = padded.size >= 1 << 31 or x.size >= 1 << 31
    source = real if x.dtype.kind != "c" else complex_type(real)

    def kernel(stem: str, types: list[Any], given_type: str) -> GpuKernel:
        return _kernel(context, other_source, (stem, real, given_type, wide), types)

    array = [Array, OFFSET]
    own = complex_type(real)
    kernel("fft_chirp_in", array * 3 + [SIZE] * 5 + [_UINT], source)(
        *(padded, padded.offset, x, x.offset, factor, factor.offset),
        *(padded.size, n, shape.inner, length, present, int(inverse)),
        n=padded.size,
    )
    product = _smooth(padded, longer, length, False, 1.0)
    kernel("fft_multiply", array * 2 + [SIZE] * 3, own)(
        *(product, product.offset, spectrum, spectrum.offset),
        *(product.size, shape.inner, length),
        n=product.size,
    )
    back = _smooth(product, longer, length, True, 1.0 / length)
    out = Array.allocate((shape.outer, n, shape.inner), dtype, context, operation="fft")
    kernel("fft_chirp_out", array * 3 + [SIZE] * 4 + [_UINT, _REALS[real]], own)(
        *(out, out.offset, back, back.offset, factor, factor.offset),
        *(out.size, n, shape.inner, length, int(inverse), scale),
        n=out.size,
    )
    return out


def transform(x: Any, n: int, axis: int, inverse: bool, scale: float) -> Any:
    """Return the complex transform of ``n`` elements along an axis times ``scale``.

    A longer axis is cut off, a shorter one padded with zeros. ``x`` is of float32,
    float64 or a complex dtype.
    """
    if x.shape[axis] > n:
        x = x[(slice(None),) * axis + (slice(n),)]
    x = x if x.flags.c_contiguous else x.copy("C")
    present = x.shape[axis]
    shape = _Lengths(math.prod(x.shape[:axis]), n, math.prod(x.shape[axis + 1 :]))
    lengths = (*x.shape[:axis], n, *x.shape[axis + 1 :])
    dtype = _complex_dtype(x.dtype)
    if 0 in (shape.outer, shape.inner):
        return Array.allocate(lengths, dtype, x.context, operation="fft")
    if present == 0 or n == 1:
        out = Array.allocate(lengths, dtype, x.context, zeroed=True, operation="fft")
        if present:
            out[...] = x if scale == 1 else x * x.dtype.type(scale)
        return out
    run = _bluestein if factors(n) is None else _smooth
    return run(x, shape, present, inverse, scale).reshape(lengths)


def mirrored(x: Any, n: int, axis: int) -> Any:
    """Return the ``n`` Hermitian elements along an axis whose first half is ``x``."""
    half = n // 2 + 1
    if x.shape[axis] > half:
        x = x[(slice(None),) * axis + (slice(half),)]
    x = x if x.flags.c_contiguous else x.copy("C")
    present = x.shape[axis]
    lengths = (*x.shape[:axis], n, *x.shape[axis + 1 :])
    out = Array.allocate(lengths, x.dtype, x.context, operation="fft")
    if out.size == 0:
        return out
    real = _real_name(x.dtype)
    wide = out.size >= 1 << 31
    given_types = ("fft_mirror", real, complex_type(real), wide)
    types = [Array, OFFSET] * 2 + [SIZE] * 4
    kernel = _kernel(x.context, other_source, given_types, types)
    inner = math.prod(x.shape[axis + 1 :])
    kernel(out, out.offset, x, x.offset, out.size, n, inner, present, n=out.size)
    return out
