"""Theano's ``gpuarray.basic_ops``: contexts of ops, transfers, kernels of one's own.

>>> from gpuarray.compiler.gpukernels.basic_ops import infer_context_name
>>> from gpuarray.compiler import tensor as T
>>> infer_context_name(T.fvector("x").transfer("null"))
'null'
"""

from __future__ import annotations

from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.custom.kernel_base import (
    GpuKernelBase as GpuKernelBase,
    Kernel as Kernel,
    Launch as Launch,
)
from gpuarray.compiler.gpukernels.custom.symbolic import (
    greatest as greatest,
    least as least,
    same as same,
)
from gpuarray.compiler.gpukernels.registry import Lowerer, lowered_by_call, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.variables.transfer import (
    GpuContiguous as GpuContiguous,
    GpuFromHost as GpuFromHost,
    GpuToGpu as GpuToGpu,
    HostFromGpu as HostFromGpu,
    as_gpuarray_variable as as_gpuarray_variable,
    gpu_contiguous as gpu_contiguous,
    gpu_from_host as gpu_from_host,
    host_from_gpu as host_from_gpu,
    infer_context_name as infer_context_name,
)


@lowers(GpuToGpu)
def lower_transfer(op: GpuToGpu, node: Apply, k: Lowerer) -> None:
    """Lower to a copy between two contexts of the plan."""
    ins = k.inputs(node.inputs)
    k.add(p.TransferStep("transfer", k.origin(node), k.outputs(node), ins))


@step_function("contiguous")
def contiguous(x: Array) -> Array:
    """Return ``x`` itself if it is in C order, else a copy."""
    return x if x.flags.c_contiguous else x.copy(order="C")


@body_of("contiguous")
def contiguous_steps(s: Steps, x: int) -> int:
    """Add the contiguous routine."""
    value = s.array(x)
    return s.routine("contiguous", [x], value.dtype, value.ndim)


lowered_by_call(GpuContiguous, "contiguous")
