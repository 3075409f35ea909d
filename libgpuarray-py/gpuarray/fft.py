"""``numpy.fft`` and the array API's extension ``fft``, on the device.

By cuFFT where the context's vendor has it, else by the library's kernels; nothing is
computed on the host. float32 and complex64 keep their precision, float16 is transformed
as float32, integers as float64.
"""

from gpuarray._fft.helper import (
    fftfreq as fftfreq,
    fftshift as fftshift,
    ifftshift as ifftshift,
    rfftfreq as rfftfreq,
)
from gpuarray._fft.one_axis import (
    fft as fft,
    hfft as hfft,
    ifft as ifft,
    ihfft as ihfft,
    irfft as irfft,
    rfft as rfft,
)
from gpuarray._fft.several_axes import (
    fft2 as fft2,
    fftn as fftn,
    ifft2 as ifft2,
    ifftn as ifftn,
    irfft2 as irfft2,
    irfftn as irfftn,
    rfft2 as rfft2,
    rfftn as rfftn,
)
from gpuarray.errors import suggest_names as _suggest_names

_suggest_names(__name__)
