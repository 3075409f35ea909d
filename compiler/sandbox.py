"""Where older programs of Theano find what moves arrays between host and device.

>>> import gpuarray.compiler.tensor as T
>>> from gpuarray.compiler import sandbox
>>> sandbox.gpuarray.basic_ops.gpu_from_host is T.gpu_from_host
True
"""

from __future__ import annotations

from types import SimpleNamespace

from gpuarray.compiler.contexts import get_context, list_contexts, reg_context
from gpuarray.compiler.graph.types import GpuArrayType, gpu_context_type
from gpuarray.compiler.ops import transfer

_basic_ops = SimpleNamespace(
    GpuContiguous=transfer.GpuContiguous,
    GpuFromHost=transfer.GpuFromHost,
    GpuToGpu=transfer.GpuToGpu,
    HostFromGpu=transfer.HostFromGpu,
    as_gpuarray_variable=transfer.as_gpuarray_variable,
    gpu_contiguous=transfer.gpu_contiguous,
    gpu_from_host=transfer.gpu_from_host,
    host_from_gpu=transfer.host_from_gpu,
    infer_context_name=transfer.infer_context_name,
)
_type = SimpleNamespace(
    GpuArrayType=GpuArrayType,
    get_context=get_context,
    gpu_context_type=gpu_context_type,
    list_contexts=list_contexts,
    reg_context=reg_context,
)

cuda = SimpleNamespace(basic_ops=_basic_ops)
gpuarray = SimpleNamespace(basic_ops=_basic_ops, type=_type)

__all__ = ["cuda", "gpuarray"]
