"""Theano's ``compile.ops``: ops made of Python functions, shapes and views."""

from gpuarray.compiler.ops.asop import FromFunctionOp, as_op
from gpuarray.compiler.ops.shape import Shape, Shape_i

__all__ = ["FromFunctionOp", "Shape", "Shape_i", "as_op"]
