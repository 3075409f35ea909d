"""The namespace ``T.nnet.conv3d2d``: convolutions with time before the channels."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.conv_former import conv3d as conv3d

_suggest_names(__name__)
