"""The namespace ``T.nnet.neighbours``: neighbourhoods of images."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.neighbours import (
    Images2Neibs as Images2Neibs,
    images2neibs as images2neibs,
    neibs2images as neibs2images,
)

_suggest_names(__name__)
