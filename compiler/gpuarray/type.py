"""The namespace of Theano's ``gpuarray.type``: types of arrays, names of contexts."""

from gpuarray.compiler.gpukernels.type import (
    ContextNotDefined as ContextNotDefined,
    GpuArrayType as GpuArrayType,
    GpuContextType as GpuContextType,
    get_context as get_context,
    gpu_context_type as gpu_context_type,
    list_contexts as list_contexts,
    reg_context as reg_context,
)
from gpuarray.compiler.names import suggest_names as _suggest_names

_suggest_names(__name__)
