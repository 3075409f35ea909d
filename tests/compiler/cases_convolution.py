"""Rows of the case table: upsampling, and convolutions in Theano's former places."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f32, f64
from gpuarray.compiler.ops.nnet.conv import AbstractConv2d, AbstractConv3d
from upsampled import interpolated

upsampling = T.nnet.abstract_conv.bilinear_upsampling

case(
    "bilinear_upsampling",
    lambda x: upsampling(x, 2),
    lambda x: interpolated(x, (2, 1), (2, 1)),
    f64(2, 3, 4, 5),
)
case(
    "bilinear_upsampling_2d",
    lambda x: upsampling(x, 3, use_1D_kernel=False),
    lambda x: interpolated(x, (3, 1), (3, 1)),
    f32(1, 2, 3, 1),
)
case(
    "frac_bilinear_upsampling",
    lambda x: upsampling(x, frac_ratio=((5, 3), (4, 6)), use_1D_kernel=False),
    lambda x: interpolated(x, (5, 3), (2, 3)),
    f64(2, 1, 4, 5),
)
case(
    "signal_conv2d",
    lambda x, w: T.signal.conv.conv2d(x, w, border_mode="full"),
    lambda x, w: AbstractConv2d(border_mode="full").reference(
        x[:, None], w[None, None]
    )[:, 0],
    f64(2, 4, 3),
    f64(2, 3),
)
case(
    "conv3d2d",
    lambda x, w: T.nnet.conv3d2d.conv3d(x, w),
    lambda x, w: (
        AbstractConv3d().reference(x.swapaxes(1, 2), w.swapaxes(1, 2)).swapaxes(1, 2)
    ),
    f64(1, 3, 2, 4, 3),
    f64(2, 2, 2, 2, 2),
)
case(
    "CorrMM",
    lambda x, w: T.nnet.corr.CorrMM("half", (2, 1), num_groups=2)(x, w),
    lambda x, w: AbstractConv2d(
        border_mode="half", subsample=(2, 1), num_groups=2
    ).reference(x, np.flip(w, (2, 3))),
    f64(2, 2, 4, 3),
    f64(2, 1, 3, 3),
)
