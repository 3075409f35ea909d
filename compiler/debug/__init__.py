"""Modes that examine every step of a function."""

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
