"""libgpuarray 0.7's place of ``GpuElemwise`` and ``arg``."""

from gpuarray.elemwise import GpuElemwise, arg

__all__ = ["GpuElemwise", "arg"]
