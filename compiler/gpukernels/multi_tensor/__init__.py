"""Several elementwise operations in one launch, with totals that they read."""

from gpuarray.compiler.gpukernels.multi_tensor import lowering

__all__ = ["lowering"]
