"""Ops with C code: compiled by the system's C compiler, called without Python."""

from __future__ import annotations

from gpuarray.compiler.cops.external import (
    CGpuKernelBase as CGpuKernelBase,
    ExternalCOp as ExternalCOp,
)
from gpuarray.compiler.cops.op import (
    COp as COp,
    GpuKernelBaseCOp as GpuKernelBaseCOp,
    _NoPythonOp as _NoPythonOp,
)
from gpuarray.compiler.cops.params import (
    CEnumType as CEnumType,
    EnumList as EnumList,
    EnumType as EnumType,
    Params as Params,
    ParamsType as ParamsType,
    Scalar as Scalar,
)
from gpuarray.compiler.graph.types import Generic as Generic, generic as generic
