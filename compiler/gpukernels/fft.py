"""Fourier transforms by the vendor's library or by our own kernels.

Plans pause for them: a vendor's library queues by itself, and our own kernels' tables
of roots are uploaded when a length is first seen. In a file they are passes of a kernel
of the library's own, along one axis after the other.
"""

from __future__ import annotations

import numpy as np
from gpuarray import fft
from gpuarray._creation.filled import empty
from gpuarray._manipulation.joining import stack
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.fft import IRFFT, RFFT


@step_function("rfft")
def transform(x: Array) -> Array:
    """Real and imaginary parts of the transforms over all axes but the first."""
    found = fft.rfftn(x, axes=range(1, x.ndim))
    parts: Array = stack([found.real, found.imag], axis=-1)
    return parts


@lowers(RFFT)
def rfft(op: RFFT, node: Apply, k: Lowerer) -> None:
    """A call on real arrays."""
    k.call(node, "rfft", node.inputs, recorded=False)


@step_function("irfft")
def transform_back(x: Array, n: int) -> Array:
    """Real arrays whose last axis has length ``n`` from parts of their transforms."""
    dtype = np.result_type(x.dtype, np.complex64)
    spectrum = empty(x.shape[:-1], dtype, device=x.context)
    spectrum.real = x[..., 0]
    spectrum.imag = x[..., 1]
    lengths = (*spectrum.shape[1:-1], n)
    found: Array = fft.irfftn(spectrum, lengths, axes=range(1, spectrum.ndim))
    return found


@lowers(IRFFT)
def irfft(op: IRFFT, node: Apply, k: Lowerer) -> None:
    """A call on complex arrays."""
    k.call(node, "irfft", node.inputs, recorded=False)


# ---- in files ----

INVERSE, SCALED, REAL, HALF, TO_REAL, TO_HALF = (1 << bit for bit in range(6))
"""What the library's routine is told, as its flags."""


@body_of("rfft", for_files=True)
def rfft_steps(s: Steps, x: int) -> int:
    """The last axis halved, and then the others."""
    dtype, ndim = s.array(x).dtype, s.array(x).ndim
    n = s.length(x, ndim - 1)
    found = s.routine("fft", [x, n], dtype, ndim + 1, ndim - 1, REAL | TO_HALF)
    for axis in range(1, ndim - 1):
        n = s.length(found, axis)
        found = s.routine("fft", [found, n], dtype, ndim + 1, axis, 0)
    return found


@body_of("irfft", for_files=True)
def irfft_steps(s: Steps, x: int, n: int) -> int:
    """All axes but the last, and then that to real numbers."""
    dtype, ndim = s.array(x).dtype, s.array(x).ndim
    x = s.index(x, [*[()] * (ndim - 1), ("stop",)], [s.integer(2)])  # what is read
    for axis in range(1, ndim - 2):
        ins = [x, s.length(x, axis)]
        x = s.routine("fft", ins, dtype, ndim, axis, INVERSE | SCALED)
    flags = INVERSE | SCALED | HALF | TO_REAL
    return s.routine("fft", [x, n], dtype, ndim - 1, ndim - 2, flags)
