"""libgpuarray 0.7's module of ``ndgpuarray``."""

from gpuarray.array import ndgpuarray

__all__ = ["ndgpuarray"]
