"""Lowerings of ``ops.control``, and of requirements of lengths."""

from gpuarray.compiler.gpukernels.control import (
    debugging as debugging,
    gradient_markers as gradient_markers,
    guarded_updates as guarded_updates,
    ifelse as ifelse,
    requirements as requirements,
)
