"""Every name of Theano's for networks can be imported, or says what to use instead."""

import importlib

import pytest

NAMES = {
    "tensor.nnet": (
        "conv2d conv2d_transpose conv3d separable_conv2d separable_conv3d "
        "causal_conv1d conv2d_grad_wrt_inputs conv2d_grad_wrt_weights "
        "conv3d_grad_wrt_inputs conv3d_grad_wrt_weights abstract_conv2d h_softmax relu "
        "elu selu softsign "
        "sigmoid hard_sigmoid ultra_fast_sigmoid softplus softmax logsoftmax "
        "softmax_graph softmax_with_bias categorical_crossentropy binary_crossentropy "
        "sigmoid_binary_crossentropy crossentropy_softmax_1hot confusion_matrix "
        "abstract_conv bn blocksparse conv conv3d2d corr corr3d ctc neighbours"
    ),
    "tensor.nnet.abstract_conv": (
        "get_conv_output_shape get_conv_shape_1axis get_conv_gradweights_shape "
        "get_conv_gradweights_shape_1axis get_conv_gradinputs_shape "
        "get_conv_gradinputs_shape_1axis check_conv_gradinputs_shape assert_conv_shape "
        "AbstractConv AbstractConv2d AbstractConv3d AbstractConv_gradInputs "
        "AbstractConv2d_gradInputs AbstractConv3d_gradInputs AbstractConv_gradWeights "
        "AbstractConv2d_gradWeights AbstractConv3d_gradWeights BaseAbstractConv "
        "bilinear_kernel_1D bilinear_kernel_2D bilinear_upsampling "
        "frac_bilinear_upsampling conv2d conv3d conv2d_grad_wrt_inputs "
        "conv2d_grad_wrt_weights conv3d_grad_wrt_inputs conv3d_grad_wrt_weights "
        "separable_conv2d separable_conv3d causal_conv1d"
    ),
    "tensor.signal.pool": (
        "pool_2d pool_3d max_pool_2d_same_size Pool MaxPoolGrad "
        "AveragePoolGrad DownsampleFactorMaxGradGrad MaxPoolRop"
    ),
    "tensor.signal.conv": "conv2d",
    "tensor.nnet.bn": (
        "batch_normalization batch_normalization_train batch_normalization_test"
    ),
    "tensor.nnet.neighbours": "images2neibs neibs2images Images2Neibs",
    "tensor.nnet.ctc": "ctc ctc_available ConnectionistTemporalClassification",
    "tensor.nnet.blocksparse": (
        "sparse_block_dot SparseBlockGemv SparseBlockOuter sparse_block_gemv "
        "sparse_block_outer"
    ),
    "gpuarray.dnn": (
        "dnn_available dnn_present version dnn_conv dnn_conv3d dnn_gradweight "
        "dnn_gradweight3d dnn_gradinput dnn_gradinput3d dnn_pool "
        "dnn_batch_normalization_train dnn_batch_normalization_test dnn_spatialtf "
        "GpuDnnConvDesc GpuDnnConv GpuDnnConvGradW GpuDnnConvGradI GpuDnnPool "
        "GpuDnnReduction GpuDnnSoftmax GpuDnnSoftmaxGrad GpuDnnBatchNorm "
        "GpuDnnBatchNormInference GpuDnnTransformerGrid GpuDnnTransformerSampler "
        "dropout RNNBlock"
    ),
}


@pytest.mark.parametrize("module", NAMES)
def test_every_name_is_there(module):
    space = importlib.import_module(f"gpuarray.compiler.{module}")
    assert [name for name in NAMES[module].split() if not hasattr(space, name)] == []
