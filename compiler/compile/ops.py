"""Theano's ``compile.ops``: ops made of Python functions, shapes and views."""

from gpuarray.compiler.ops.broadcast.axes import SpecifyShape, specify_shape
from gpuarray.compiler.ops.broadcast.broadcast import Rebroadcast
from gpuarray.compiler.ops.custom.asop import FromFunctionOp, as_op
from gpuarray.compiler.ops.shape.shape import Shape, Shape_i, shape, shape_i

__all__ = [
    "FromFunctionOp",
    "Rebroadcast",
    "Shape",
    "Shape_i",
    "SpecifyShape",
    "as_op",
    "shape",
    "shape_i",
    "specify_shape",
]
