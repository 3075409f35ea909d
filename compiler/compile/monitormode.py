"""Theano's ``compile.monitormode``: functions that see each node run."""

from gpuarray.compiler.debug import MonitorMode, detect_nan

__all__ = ["MonitorMode", "detect_nan"]
