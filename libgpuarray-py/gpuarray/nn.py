"""Layers of neural networks, on the device.

Arrays are batch, channels, then spatial axes, as in most packages for networks.
"""

from gpuarray._nn.classification import ctc as ctc
from gpuarray._nn.convolution import conv as conv, conv_transpose as conv_transpose
from gpuarray._nn.normalisation import (
    batch_norm as batch_norm,
    batch_norm_grad as batch_norm_grad,
    batch_norm_train as batch_norm_train,
    local_response_norm as local_response_norm,
)
from gpuarray._nn.pooling import (
    avg_pool as avg_pool,
    max_pool as max_pool,
    sum_pool as sum_pool,
)
from gpuarray._nn.sampling import (
    affine_grid as affine_grid,
    grid_sample as grid_sample,
)
from gpuarray._nn.upsampling import bilinear_upsampling as bilinear_upsampling
from gpuarray.errors import suggest_names as _suggest_names

_suggest_names(__name__)
