"""Ops with kernels of a program's own: their texts, their launches, `kernel_op`."""

from gpuarray.compiler.gpukernels.custom import launch_steps

__all__ = ["launch_steps"]
