"""Row programs on a device: one kernel along rows, or a launch for each walk."""

from gpuarray.compiler.gpukernels.rows import body, lowering

__all__ = ["body", "lowering"]
