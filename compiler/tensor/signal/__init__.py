"""The namespace ``T.signal``: pooling, and convolution of images of one channel."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.tensor.signal import (
    conv as conv,
    pool as pool,
)

_suggest_names(__name__, "conv pool")
