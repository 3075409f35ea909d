"""``numpy.fft`` and the array API's extension ``fft``, on the device.

By cuFFT where the context's vendor has it, else by the library's kernels; nothing is
computed on the host. float32 and complex64 keep their precision, float16 is transformed
as float32, integers as float64.
"""

from __future__ import annotations

from gpuarray._fft.helper import fftfreq, fftshift, ifftshift, rfftfreq
from gpuarray._fft.one_axis import fft, hfft, ifft, ihfft, irfft, rfft
from gpuarray._fft.several_axes import (
    fft2,
    fftn,
    ifft2,
    ifftn,
    irfft2,
    irfftn,
    rfft2,
    rfftn,
)
from gpuarray.errors import suggest_names

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
