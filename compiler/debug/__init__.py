"""Ways to run a function that look at every step."""

from gpuarray.compiler.debug.checks import DebugExecutable
from gpuarray.compiler.debug.mode import DebugMode, Mode
from gpuarray.compiler.debug.monitor import (
    MonitorMode,
    NanGuardMode,
    Thunk,
    detect_nan,
)
from gpuarray.compiler.debug.stepwise import Stepwise

__all__ = [
    "DebugExecutable",
    "DebugMode",
    "Mode",
    "MonitorMode",
    "NanGuardMode",
    "Stepwise",
    "Thunk",
    "detect_nan",
]
