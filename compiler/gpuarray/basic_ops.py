"""The namespace of Theano's ``gpuarray.basic_ops``: transfers, kernels of one's own."""

from gpuarray.compiler.contexts import get_context as get_context
from gpuarray.compiler.cops import CGpuKernelBase as CGpuKernelBase
from gpuarray.compiler.gpukernels.basic_ops import (
    GpuContiguous as GpuContiguous,
    GpuFromHost as GpuFromHost,
    GpuKernelBase as GpuKernelBase,
    GpuToGpu as GpuToGpu,
    HostFromGpu as HostFromGpu,
    Kernel as Kernel,
    as_gpuarray_variable as as_gpuarray_variable,
    gpu_contiguous as gpu_contiguous,
    gpu_from_host as gpu_from_host,
    host_from_gpu as host_from_gpu,
    infer_context_name as infer_context_name,
)
from gpuarray.compiler.names import suggest_names as _suggest_names

_suggest_names(__name__)
