"""The namespace of Theano's ``gpuarray.dnn``: cuDNN's functions, on every device."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.dnn import (
    SUPPORTED_DNN_CONV_ALGO_BWD_DATA as SUPPORTED_DNN_CONV_ALGO_BWD_DATA,
    SUPPORTED_DNN_CONV_ALGO_BWD_FILTER as SUPPORTED_DNN_CONV_ALGO_BWD_FILTER,
    SUPPORTED_DNN_CONV_ALGO_FWD as SUPPORTED_DNN_CONV_ALGO_FWD,
    SUPPORTED_DNN_CONV_ALGO_RUNTIME as SUPPORTED_DNN_CONV_ALGO_RUNTIME,
    SUPPORTED_DNN_CONV_PRECISION as SUPPORTED_DNN_CONV_PRECISION,
    GpuDnnSoftmax as GpuDnnSoftmax,
    GpuDnnSoftmaxGrad as GpuDnnSoftmaxGrad,
    GpuDnnTransformerGrid as GpuDnnTransformerGrid,
    GpuDnnTransformerSampler as GpuDnnTransformerSampler,
    dnn_available as dnn_available,
    dnn_batch_normalization_test as dnn_batch_normalization_test,
    dnn_batch_normalization_train as dnn_batch_normalization_train,
    dnn_conv as dnn_conv,
    dnn_conv3d as dnn_conv3d,
    dnn_gradinput as dnn_gradinput,
    dnn_gradinput3d as dnn_gradinput3d,
    dnn_gradweight as dnn_gradweight,
    dnn_gradweight3d as dnn_gradweight3d,
    dnn_pool as dnn_pool,
    dnn_present as dnn_present,
    dnn_spatialtf as dnn_spatialtf,
    dnn_spatialtf_grid as dnn_spatialtf_grid,
    dnn_spatialtf_sampler as dnn_spatialtf_sampler,
    version as version,
)
from gpuarray.compiler.ops.nnet.dnn_ops import (
    GpuDnnBatchNorm as GpuDnnBatchNorm,
    GpuDnnBatchNormInference as GpuDnnBatchNormInference,
    GpuDnnConv as GpuDnnConv,
    GpuDnnConvDesc as GpuDnnConvDesc,
    GpuDnnConvGradI as GpuDnnConvGradI,
    GpuDnnConvGradW as GpuDnnConvGradW,
    GpuDnnPool as GpuDnnPool,
    GpuDnnReduction as GpuDnnReduction,
    RNNBlock as RNNBlock,
    dropout as dropout,
)

_suggest_names(__name__)
