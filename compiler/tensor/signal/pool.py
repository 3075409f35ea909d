"""The namespace ``T.signal.pool``: pooling over the last axes."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.pooling import (
    AveragePoolGrad as AveragePoolGrad,
    DownsampleFactorMaxGradGrad as DownsampleFactorMaxGradGrad,
    MaxPoolGrad as MaxPoolGrad,
    MaxPoolRop as MaxPoolRop,
    Pool as Pool,
    max_pool_2d_same_size as max_pool_2d_same_size,
    pool_2d as pool_2d,
    pool_3d as pool_3d,
)

_suggest_names(__name__)
