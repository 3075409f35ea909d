"""Theano's ``compile.mode``: how functions are compiled."""

from gpuarray.compiler.debug import Mode
from gpuarray.compiler.function import get_default_mode, get_mode, register_mode
from gpuarray.compiler.function.modes import MODES as predefined_modes

__all__ = [
    "Mode",
    "get_default_mode",
    "get_mode",
    "predefined_modes",
    "register_mode",
]
