"""The namespace ``T.nnet``: activations and costs of neural networks."""

import sys as _sys

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.elemwise import math as _math
from gpuarray.compiler.ops.nnet.activations import (
    elu as elu,
    h_softmax as h_softmax,
    hard_sigmoid as hard_sigmoid,
    prepend_0_to_each_row as prepend_0_to_each_row,
    prepend_1_to_each_row as prepend_1_to_each_row,
    prepend_scalar_to_each_row as prepend_scalar_to_each_row,
    relu as relu,
    selu as selu,
    softsign as softsign,
    ultra_fast_sigmoid as ultra_fast_sigmoid,
)
from gpuarray.compiler.ops.nnet.conv_former import ConvOp as ConvOp
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
from gpuarray.compiler.ops.nnet.losses import (
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
    confusion_matrix as confusion_matrix,
    crossentropy_categorical_1hot as crossentropy_categorical_1hot,
    crossentropy_softmax_1hot as crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias as crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_argmax_1hot_with_bias as crossentropy_softmax_argmax_1hot_with_bias,  # noqa: E501
    crossentropy_softmax_max_and_argmax_1hot as crossentropy_softmax_max_and_argmax_1hot,  # noqa: E501
    crossentropy_softmax_max_and_argmax_1hot_with_bias as crossentropy_softmax_max_and_argmax_1hot_with_bias,  # noqa: E501
    sigmoid_binary_crossentropy as sigmoid_binary_crossentropy,
)
from gpuarray.compiler.ops.nnet.nnet import (
    LogSoftmax as LogSoftmax,
    Softmax as Softmax,
    logsoftmax as logsoftmax,
    softmax as softmax,
    softmax_graph as softmax_graph,
    softmax_with_bias as softmax_with_bias,
)
from gpuarray.compiler.ops.nnet.normalisation import (
    batch_normalization as batch_normalization,
    batch_normalization_test as batch_normalization_test,
    batch_normalization_train as batch_normalization_train,
)
from gpuarray.compiler.ops.nnet.response import (
    local_response_normalization as local_response_normalization,
)
from gpuarray.compiler.tensor.nnet import (
    abstract_conv as abstract_conv,
    blocksparse as blocksparse,
    bn as bn,
    conv as conv,
    conv3d2d as conv3d2d,
    corr as corr,
    corr3d as corr3d,
    ctc as ctc,
    neighbours as neighbours,
)

abstract_conv2d = conv2d
nnet = sigm = _sys.modules[__name__]
sigmoid = _math.ROWS["sigmoid"]
softplus = _math.ROWS["softplus"]

_suggest_names(
    __name__,
    "abstract_conv blocksparse bn conv conv3d2d corr corr3d ctc neighbours nnet sigm",
)
