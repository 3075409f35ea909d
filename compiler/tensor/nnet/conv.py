"""The namespace ``T.nnet.conv``: the former arguments of ``T.nnet.conv2d``."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.conv_former import (
    ConvOp as ConvOp,
    conv2d as conv2d,
)

_suggest_names(__name__)
