"""Theano's ``gpuarray.type``: types of arrays on contexts, and the contexts' names.

>>> from gpuarray.compiler.gpukernels.type import GpuArrayType, get_context
>>> GpuArrayType("float32", (False, True), "null").context is get_context("null")
True
"""

from gpuarray.compiler.contexts import (
    get_context as get_context,
    list_contexts as list_contexts,
    reg_context as reg_context,
    unreg_context as unreg_context,
)
from gpuarray.compiler.errors import ContextNotDefined as ContextNotDefined
from gpuarray.compiler.graph.types import (
    GpuArrayType as GpuArrayType,
    GpuContextType as GpuContextType,
    gpu_context_type as gpu_context_type,
)
from gpuarray.compiler.names import suggest_names as _suggest_names

_suggest_names(__name__)
