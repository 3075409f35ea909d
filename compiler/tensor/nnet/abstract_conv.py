"""The namespace ``T.nnet.abstract_conv``: convolutions, ops, shapes, upsampling."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.conv import (
    AbstractConv as AbstractConv,
    AbstractConv2d as AbstractConv2d,
    AbstractConv2d_gradInputs as AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights as AbstractConv2d_gradWeights,
    AbstractConv3d as AbstractConv3d,
    AbstractConv3d_gradInputs as AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights as AbstractConv3d_gradWeights,
    AbstractConv_gradInputs as AbstractConv_gradInputs,
    AbstractConv_gradWeights as AbstractConv_gradWeights,
    BaseAbstractConv as BaseAbstractConv,
)
from gpuarray.compiler.ops.nnet.conv_functions import (
    causal_conv1d as causal_conv1d,
    conv2d as conv2d,
    conv2d_grad_wrt_inputs as conv2d_grad_wrt_inputs,
    conv2d_grad_wrt_weights as conv2d_grad_wrt_weights,
    conv2d_transpose as conv2d_transpose,
    conv3d as conv3d,
    conv3d_grad_wrt_inputs as conv3d_grad_wrt_inputs,
    conv3d_grad_wrt_weights as conv3d_grad_wrt_weights,
    separable_conv2d as separable_conv2d,
    separable_conv3d as separable_conv3d,
)
from gpuarray.compiler.ops.nnet.conv_shapes import (
    assert_conv_shape as assert_conv_shape,
    check_conv_gradinputs_shape as check_conv_gradinputs_shape,
    get_conv_gradinputs_shape as get_conv_gradinputs_shape,
    get_conv_gradinputs_shape_1axis as get_conv_gradinputs_shape_1axis,
    get_conv_gradweights_shape as get_conv_gradweights_shape,
    get_conv_gradweights_shape_1axis as get_conv_gradweights_shape_1axis,
    get_conv_output_shape as get_conv_output_shape,
    get_conv_shape_1axis as get_conv_shape_1axis,
)
from gpuarray.compiler.ops.nnet.upsampling import (
    bilinear_kernel_1D as bilinear_kernel_1D,
    bilinear_kernel_2D as bilinear_kernel_2D,
    bilinear_upsampling as bilinear_upsampling,
    frac_bilinear_upsampling as frac_bilinear_upsampling,
)

_suggest_names(__name__)
