"""Theano's ``sandbox.cuda``, its first way to a GPU.

It says that it is not there, so that programs turn to ``gpuarray``. Its arrays had one
dtype, float32:

>>> from gpuarray.compiler import sandbox
>>> sandbox.cuda.cuda_enabled, sandbox.cuda.CudaNdarray.zeros((2, 3)).dtype
(False, dtype('float32'))
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from gpuarray._creation.filled import zeros
from gpuarray.array import Array
from gpuarray.compiler.gpuarray import basic_ops as _basic_ops, dnn as dnn
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import GpuArrayType
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.variables import transfer


def _as_cuda_ndarray_variable(x: Any) -> Variable:
    """Return ``x`` on its context, or on the default one."""
    return transfer.as_gpuarray_variable(x, transfer.infer_context_name(x))


def _zeros(shape: Sequence[int]) -> Array:
    """Return zeros of float32; within an op on the op's context."""
    return zeros(shape, "float32")


CudaNdarray = SimpleNamespace(zeros=_zeros)
CudaNdarrayType = GpuArrayType
type = sys.modules[__name__]
basic_ops = SimpleNamespace(
    as_cuda_ndarray_variable=_as_cuda_ndarray_variable,
    **{
        name: value
        for name, value in vars(_basic_ops).items()
        if not name.startswith("_")
    },
)
cuda_available = False
cuda_enabled = False

__all__ = [
    "CudaNdarray",
    "CudaNdarrayType",
    "basic_ops",
    "cuda_available",
    "cuda_enabled",
    "dnn",
]

suggest_names(__name__)
