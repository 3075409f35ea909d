"""Modes that examine every step of a function."""

from gpuarray.compiler.debug.checks import DebugExecutable as DebugExecutable
from gpuarray.compiler.debug.mode import DebugMode as DebugMode, Mode as Mode
from gpuarray.compiler.debug.monitor import (
    MonitorMode as MonitorMode,
    NanGuardMode as NanGuardMode,
    Thunk as Thunk,
    detect_nan as detect_nan,
)
from gpuarray.compiler.debug.stepwise import Stepwise as Stepwise
