"""Profiles: the time and memory of functions.

``function(..., profile=True)`` and the setting ``profile`` measure each call on the
device; ``f.profile.summary()`` prints it, as the end of the program does.
"""

from __future__ import annotations

from gpuarray.compiler.profiling.registry import (
    print_global_stats as print_global_stats,
    print_profiles as print_profiles,
)
from gpuarray.compiler.profiling.report import (
    register_profiler_printer as register_profiler_printer,
)
from gpuarray.compiler.profiling.runner import Measured as Measured, marked as marked
from gpuarray.compiler.profiling.stats import (
    CompileTimes as CompileTimes,
    ProfileStats as ProfileStats,
)
