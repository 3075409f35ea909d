"""Theano's former name of `shared_randomstreams`."""

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.tensor.shared_randomstreams import RandomStreams as RandomStreams

suggest_names(__name__)
