"""Fourier transforms by the vendor's library or by our own kernels.

Plans pause for them: a vendor's library queues by itself, and the twiddle factors of
our kernels are uploaded when a length is first seen. In a file they are passes of the C
library's own kernel, along one axis after the other.
"""

from __future__ import annotations

import numpy as np
from gpuarray import fft
from gpuarray._creation.filled import empty
from gpuarray._manipulation.joining import stack
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import lowered_by_call
from gpuarray.compiler.ops.fft import IRFFT, RFFT


@step_function("rfft")
def transform(x: Array) -> Array:
    """Return real and imaginary parts of the transforms over all axes but the first."""
    spectrum = fft.rfftn(x, axes=range(1, x.ndim))
    parts: Array = stack([spectrum.real, spectrum.imag], axis=-1)
    return parts


lowered_by_call(RFFT, "rfft", recorded=False)


@step_function("irfft")
def transform_back(x: Array, n: int) -> Array:
    """Return real arrays of last length ``n`` from parts of their transforms."""
    dtype = np.result_type(x.dtype, np.complex64)
    spectrum = empty(x.shape[:-1], dtype, device=x.context)
    spectrum.real = x[..., 0]
    spectrum.imag = x[..., 1]
    lengths = (*spectrum.shape[1:-1], n)
    result: Array = fft.irfftn(spectrum, lengths, axes=range(1, spectrum.ndim))
    return result


lowered_by_call(IRFFT, "irfft", recorded=False)


# ---- in files ----

INVERSE, SCALED, REAL, HALF, TO_REAL, TO_HALF = (1 << bit for bit in range(6))
"""The flags of the library's routine."""


@body_of("rfft", for_files=True)
def rfft_steps(s: Steps, x: int) -> int:
    """Add the passes: the last axis to its half spectrum, then the others."""
    dtype, ndim = s.array(x).dtype, s.array(x).ndim
    n = s.length(x, ndim - 1)
    spectrum = s.routine("fft", [x, n], dtype, ndim + 1, ndim - 1, REAL | TO_HALF)
    for axis in range(1, ndim - 1):
        n = s.length(spectrum, axis)
        spectrum = s.routine("fft", [spectrum, n], dtype, ndim + 1, axis, 0)
    return spectrum


@body_of("irfft", for_files=True)
def irfft_steps(s: Steps, x: int, n: int) -> int:
    """Add the passes: all axes but the last, then that to real numbers."""
    dtype, ndim = s.array(x).dtype, s.array(x).ndim
    x = s.index(x, [*[()] * (ndim - 1), ("stop",)], [s.integer(2)])  # two parts
    for axis in range(1, ndim - 2):
        ins = [x, s.length(x, axis)]
        x = s.routine("fft", ins, dtype, ndim, axis, INVERSE | SCALED)
    flags = INVERSE | SCALED | HALF | TO_REAL
    return s.routine("fft", [x, n], dtype, ndim - 1, ndim - 2, flags)
