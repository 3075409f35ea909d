"""The compiler: expressions of arrays, differentiated, rewritten, fused and run.

>>> import gpuarray.compiler as compiler
>>> import gpuarray.compiler.tensor as T
>>> x = T.dmatrix("x")
>>> cost = T.exp(x).sum()
>>> print(compiler.grad(cost, x).type)
TensorType(float64, matrix)
"""

from __future__ import annotations

from gpuarray.compiler import gradient, printing, tensor
from gpuarray.compiler.config import config
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.function import In, Out, function
from gpuarray.compiler.gradient import Lop, grad
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.traverse import clone_replace
from gpuarray.compiler.graph.types import GpuArrayType, TensorType, Type
from gpuarray.compiler.printing import pp, pprint
from gpuarray.compiler.shared import SharedVariable, shared
from gpuarray.compiler.tensor import dot

__all__ = [
    "Apply",
    "CompilerError",
    "Constant",
    "FunctionGraph",
    "GpuArrayType",
    "In",
    "Lop",
    "Op",
    "Out",
    "SharedVariable",
    "TensorType",
    "Type",
    "Variable",
    "clone_replace",
    "config",
    "dot",
    "function",
    "grad",
    "gradient",
    "pp",
    "pprint",
    "printing",
    "shared",
    "tensor",
]
