"""The namespace of Theano's ``gpuarray.fp16_help``: float16 in kernels."""

from gpuarray.compiler.gpukernels.fp16_help import (
    load_w as load_w,
    work_dtype as work_dtype,
    write_w as write_w,
)
from gpuarray.compiler.names import suggest_names as _suggest_names

_suggest_names(__name__)
