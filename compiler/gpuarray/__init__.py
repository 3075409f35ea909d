"""The namespace of Theano's ``gpuarray``: arrays on contexts, and cuDNN's functions."""

from gpuarray.compiler.contexts import (
    get_context as get_context,
    list_contexts as list_contexts,
    reg_context as reg_context,
)
from gpuarray.compiler.errors import ContextNotDefined as ContextNotDefined
from gpuarray.compiler.gpuarray import (
    basic_ops as basic_ops,
    blas as blas,
    dnn as dnn,
    fp16_help as fp16_help,
    type as type,
)
from gpuarray.compiler.graph.types import GpuArrayType as GpuArrayType
from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.variables.transfer import (
    as_gpuarray_variable as as_gpuarray_variable,
)

pygpu_activated = True
"""Theano's: whether there are arrays on devices. Here all of them are."""

_suggest_names(__name__, "basic_ops blas dnn fp16_help type")
