"""Theano's ``compile.ops``: ops made of Python functions, shapes and views."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.broadcast.axes import (
    SpecifyShape as SpecifyShape,
    specify_shape as specify_shape,
)
from gpuarray.compiler.ops.broadcast.broadcast import Rebroadcast as Rebroadcast
from gpuarray.compiler.ops.custom.asop import (
    FromFunctionOp as FromFunctionOp,
    as_op as as_op,
)
from gpuarray.compiler.ops.shape.shape import (
    Shape as Shape,
    Shape_i as Shape_i,
    shape as shape,
    shape_i as shape_i,
)

_suggest_names(__name__)
