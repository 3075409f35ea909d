"""The namespace ``T.nnet``: activations and costs of neural networks."""

from __future__ import annotations

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.nnet.activations import (
    elu,
    h_softmax,
    hard_sigmoid,
    prepend_0_to_each_row,
    prepend_1_to_each_row,
    prepend_scalar_to_each_row,
    relu,
    selu,
    softsign,
    ultra_fast_sigmoid,
)
from gpuarray.compiler.ops.nnet.losses import (
    binary_crossentropy,
    categorical_crossentropy,
    confusion_matrix,
    crossentropy_categorical_1hot,
    crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_argmax_1hot_with_bias,
    crossentropy_softmax_max_and_argmax_1hot,
    crossentropy_softmax_max_and_argmax_1hot_with_bias,
    sigmoid_binary_crossentropy,
)
from gpuarray.compiler.ops.nnet.nnet import (
    LogSoftmax,
    Softmax,
    logsoftmax,
    softmax,
    softmax_graph,
    softmax_with_bias,
)

sigmoid = math.ROWS["sigmoid"]
softplus = math.ROWS["softplus"]

__all__ = [
    "LogSoftmax",
    "Softmax",
    "binary_crossentropy",
    "categorical_crossentropy",
    "confusion_matrix",
    "crossentropy_categorical_1hot",
    "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias",
    "crossentropy_softmax_argmax_1hot_with_bias",
    "crossentropy_softmax_max_and_argmax_1hot",
    "crossentropy_softmax_max_and_argmax_1hot_with_bias",
    "elu",
    "h_softmax",
    "hard_sigmoid",
    "logsoftmax",
    "prepend_0_to_each_row",
    "prepend_1_to_each_row",
    "prepend_scalar_to_each_row",
    "relu",
    "selu",
    "sigmoid",
    "sigmoid_binary_crossentropy",
    "softmax",
    "softmax_graph",
    "softmax_with_bias",
    "softplus",
    "softsign",
    "ultra_fast_sigmoid",
]

suggest_names(__name__)
# So that Python looks for modules within it, which are planned.
__path__: list[str] = []
