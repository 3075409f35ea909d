"""The namespace ``T.fft``: Fourier transforms of real arrays."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.fft import (
    IRFFT as IRFFT,
    RFFT as RFFT,
    irfft as irfft,
    rfft as rfft,
)

_suggest_names(__name__)
