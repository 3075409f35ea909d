"""Theano's module of ``ifelse``, the lazy conditional."""

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.control.ifelse import IfElse, ifelse

__all__ = ["IfElse", "ifelse"]

suggest_names(__name__)
