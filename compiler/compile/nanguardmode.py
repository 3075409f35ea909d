"""Theano's ``compile.nanguardmode``: the mode that refuses nan."""

from gpuarray.compiler.debug import NanGuardMode

__all__ = ["NanGuardMode"]
