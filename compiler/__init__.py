"""The compiler: differentiates, rewrites, fuses and runs expressions of arrays.

>>> import gpuarray.compiler as compiler
>>> import gpuarray.compiler.tensor as T
>>> x = T.dmatrix("x")
>>> cost = T.exp(x).sum()
>>> print(compiler.grad(cost, x).type)
TensorType(float64, matrix)
"""

from __future__ import annotations

from gpuarray import __version__
from gpuarray.compiler import (
    compile,
    cops,
    d3viz,
    gpukernels,
    gradient,
    ifelse,
    printing,
    profiling,
    sandbox,
    scan_module,
    tensor,
)
from gpuarray.compiler.compile import as_op, predefined_modes
from gpuarray.compiler.config import config
from gpuarray.compiler.debug import DebugMode, Mode, MonitorMode, NanGuardMode
from gpuarray.compiler.errors import CompilerError
from gpuarray.compiler.function import (
    Function,
    In,
    OrderedUpdates,
    Out,
    Param,
    clone,
    function,
    function_dump,
    load,
)
from gpuarray.compiler.gpukernels.custom.kernel_op import kernel_op
from gpuarray.compiler.gradient import (
    Lop,
    Rop,
    grad,
    hessian,
    jacobian,
    subgraph_grad,
)
from gpuarray.compiler.graph.core import Apply, Constant, Op, Variable
from gpuarray.compiler.graph.fgraph import FunctionGraph
from gpuarray.compiler.graph.testvalues import get_test_value
from gpuarray.compiler.graph.traverse import clone_replace
from gpuarray.compiler.graph.types import (
    Generic,
    GpuArrayType,
    TensorType,
    Type,
    asarray_of,
    generic,
)
from gpuarray.compiler.names import refuse_what_is_to_come, suggest_names
from gpuarray.compiler.ops.custom.fromgraph import OpFromGraph
from gpuarray.compiler.ops.custom.own import elementwise_op
from gpuarray.compiler.ops.protocols.conversions import get_scalar_constant_value
from gpuarray.compiler.printing import pp, pprint
from gpuarray.compiler.profiling.stats import ProfileStats
from gpuarray.compiler.scan_module import (
    foldl,
    foldr,
    map,
    reduce,
    scan,
    scan_checkpoints,
)
from gpuarray.compiler.shared import SharedVariable, shared
from gpuarray.compiler.tensor import dot

change_flags = config.change_flags
_asarray = asarray_of

__all__ = [
    "Apply",
    "CompilerError",
    "Constant",
    "DebugMode",
    "Function",
    "FunctionGraph",
    "Generic",
    "GpuArrayType",
    "In",
    "Lop",
    "Mode",
    "MonitorMode",
    "NanGuardMode",
    "Op",
    "OpFromGraph",
    "OrderedUpdates",
    "Out",
    "Param",
    "ProfileStats",
    "Rop",
    "SharedVariable",
    "TensorType",
    "Type",
    "Variable",
    "__version__",
    "as_op",
    "change_flags",
    "clone",
    "clone_replace",
    "compile",
    "config",
    "cops",
    "d3viz",
    "dot",
    "elementwise_op",
    "foldl",
    "foldr",
    "function",
    "function_dump",
    "generic",
    "get_scalar_constant_value",
    "get_test_value",
    "gpukernels",
    "grad",
    "gradient",
    "hessian",
    "ifelse",
    "jacobian",
    "kernel_op",
    "load",
    "map",
    "pp",
    "pprint",
    "predefined_modes",
    "printing",
    "profiling",
    "reduce",
    "sandbox",
    "scan",
    "scan_checkpoints",
    "scan_module",
    "shared",
    "subgraph_grad",
    "tensor",
]

suggest_names(__name__)

refuse_what_is_to_come()
