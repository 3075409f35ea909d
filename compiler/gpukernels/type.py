"""Theano's ``gpuarray.type``: types of arrays on contexts, and the contexts' names.

>>> from gpuarray.compiler.gpukernels.type import GpuArrayType, get_context
>>> GpuArrayType("float32", (False, True), "null").context is get_context("null")
True
"""

from __future__ import annotations

from gpuarray.compiler.contexts import (
    get_context,
    list_contexts,
    reg_context,
    unreg_context,
)
from gpuarray.compiler.errors import ContextNotDefined
from gpuarray.compiler.graph.types import (
    GpuArrayType,
    GpuContextType,
    gpu_context_type,
)

__all__ = [
    "ContextNotDefined",
    "GpuArrayType",
    "GpuContextType",
    "get_context",
    "gpu_context_type",
    "list_contexts",
    "reg_context",
    "unreg_context",
]
