"""libgpuarray 0.7's module of ``GpuElemwise`` and ``arg``."""

from gpuarray.elemwise import GpuElemwise, arg

__all__ = ["GpuElemwise", "arg"]
