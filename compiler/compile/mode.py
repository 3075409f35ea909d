"""Theano's ``compile.mode``: how functions are compiled."""

from gpuarray.compiler.debug import Mode as Mode
from gpuarray.compiler.function import (
    get_default_mode as get_default_mode,
    get_mode as get_mode,
    register_mode as register_mode,
)
from gpuarray.compiler.function.modes import MODES as _MODES
from gpuarray.compiler.names import suggest_names as _suggest_names

predefined_modes = _MODES

_suggest_names(__name__)
