"""The namespace ``T.signal.conv``: convolutions of images of one channel."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.nnet.conv_signal import conv2d as conv2d

_suggest_names(__name__)
