"""Layers of networks by the library's kernels: a file for each family."""

from gpuarray.compiler.gpukernels.layers import (
    convolution as convolution,
    ctc as ctc,
    neighbours as neighbours,
    pooling as pooling,
    sampling as sampling,
    upsampling as upsampling,
)
