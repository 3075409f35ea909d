"""Profiles: the time and memory of functions.

``function(..., profile=True)`` and the setting ``profile`` measure each call on the
device; ``f.profile.summary()`` prints it, as the end of the program does.
"""

from __future__ import annotations

from gpuarray.compiler.profiling.registry import print_global_stats, print_profiles
from gpuarray.compiler.profiling.report import register_profiler_printer
from gpuarray.compiler.profiling.runner import Measured, marked
from gpuarray.compiler.profiling.stats import CompileTimes, ProfileStats

__all__ = [
    "CompileTimes",
    "Measured",
    "ProfileStats",
    "marked",
    "print_global_stats",
    "print_profiles",
    "register_profiler_printer",
]
