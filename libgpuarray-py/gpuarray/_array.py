"""libgpuarray 0.7's place of ``ndgpuarray``."""

from gpuarray.array import ndgpuarray

__all__ = ["ndgpuarray"]
