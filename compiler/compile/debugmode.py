"""Theano's ``compile.debugmode``: the mode that checks everything."""

from gpuarray.compiler.debug import DebugMode

__all__ = ["DebugMode"]
