"""Choosing what is computed: ``ifelse``, by the name of the module it comes from."""

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.control.ifelse import IfElse, ifelse

__all__ = ["IfElse", "ifelse"]

suggest_names(__name__)
