"""Ops with C code: compiled by the system's C compiler, called without Python."""

from __future__ import annotations

from gpuarray.compiler.cops.external import CGpuKernelBase, ExternalCOp
from gpuarray.compiler.cops.op import COp, GpuKernelBaseCOp, _NoPythonOp
from gpuarray.compiler.cops.params import (
    CEnumType,
    EnumList,
    EnumType,
    Params,
    ParamsType,
    Scalar,
)
from gpuarray.compiler.graph.types import Generic, generic

__all__ = [
    "CEnumType",
    "CGpuKernelBase",
    "COp",
    "EnumList",
    "EnumType",
    "ExternalCOp",
    "Generic",
    "GpuKernelBaseCOp",
    "Params",
    "ParamsType",
    "Scalar",
    "_NoPythonOp",
    "generic",
]
