"""Theano's names of what compiles, where programs import them from."""

from gpuarray.compiler.compile import ops
from gpuarray.compiler.compile.ops import as_op

__all__ = ["as_op", "ops"]
