"""The namespace ``T.fft``: Fourier transforms of real arrays."""

from __future__ import annotations

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.fft import IRFFT, RFFT, irfft, rfft

__all__ = ["IRFFT", "RFFT", "irfft", "rfft"]

suggest_names(__name__)
