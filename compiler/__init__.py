"""The compiler: differentiates, rewrites, fuses and runs expressions of arrays.

>>> import gpuarray.compiler as compiler
>>> import gpuarray.compiler.tensor as T
>>> x = T.dmatrix("x")
>>> cost = T.exp(x).sum()
>>> print(compiler.grad(cost, x).type)
TensorType(float64, matrix)
"""

from gpuarray import __version__ as __version__
from gpuarray.compiler import (
    compat as compat,
    compile as compile,
    cops as cops,
    d3viz as d3viz,
    distributed as distributed,
    gof as gof,
    gpuarray as gpuarray,
    gpukernels as gpukernels,
    gradient as gradient,
    ifelse as ifelse,
    misc as misc,
    names as _names,
    printing as printing,
    profiling as profiling,
    random as random,
    sandbox as sandbox,
    scalar as scalar,
    scan_module as scan_module,
    sparse as sparse,
    tensor as tensor,
)
from gpuarray.compiler.compile import (
    as_op as as_op,
    predefined_modes as predefined_modes,
)
from gpuarray.compiler.config import config as config
from gpuarray.compiler.debug import (
    DebugMode as DebugMode,
    Mode as Mode,
    MonitorMode as MonitorMode,
    NanGuardMode as NanGuardMode,
)
from gpuarray.compiler.errors import CompilerError as CompilerError
from gpuarray.compiler.function import (
    Function as Function,
    In as In,
    OrderedUpdates as OrderedUpdates,
    Out as Out,
    Param as Param,
    clone as clone,
    function as function,
    function_dump as function_dump,
    load as load,
)
from gpuarray.compiler.gpukernels.custom.kernel_op import kernel_op as kernel_op
from gpuarray.compiler.gradient import (
    Lop as Lop,
    Rop as Rop,
    grad as grad,
    hessian as hessian,
    jacobian as jacobian,
    subgraph_grad as subgraph_grad,
)
from gpuarray.compiler.graph.core import (
    Apply as Apply,
    Constant as Constant,
    Op as Op,
    Variable as Variable,
)
from gpuarray.compiler.graph.fgraph import FunctionGraph as FunctionGraph
from gpuarray.compiler.graph.testvalues import get_test_value as get_test_value
from gpuarray.compiler.graph.traverse import clone_replace as clone_replace
from gpuarray.compiler.graph.types import (
    Generic as Generic,
    GpuArrayType as GpuArrayType,
    TensorType as TensorType,
    Type as Type,
    asarray_of as _asarray_of,
    generic as generic,
)
from gpuarray.compiler.ops.custom.fromgraph import OpFromGraph as OpFromGraph
from gpuarray.compiler.ops.custom.own import elementwise_op as elementwise_op
from gpuarray.compiler.ops.index.indexing import sparse_grad as sparse_grad
from gpuarray.compiler.ops.protocols.conversions import (
    get_scalar_constant_value as get_scalar_constant_value,
)
from gpuarray.compiler.printing import pp as pp, pprint as pprint
from gpuarray.compiler.profiling.stats import ProfileStats as ProfileStats
from gpuarray.compiler.scan_module import (
    foldl as foldl,
    foldr as foldr,
    map as map,
    reduce as reduce,
    scan as scan,
    scan_checkpoints as scan_checkpoints,
)
from gpuarray.compiler.shared import SharedVariable as SharedVariable, shared as shared
from gpuarray.compiler.tensor import dot as dot

change_flags = config.change_flags
_asarray = _asarray_of


_names.suggest_names(
    __name__,
    "compile cops d3viz distributed gof gpuarray gpukernels gradient ifelse printing "
    "misc profiling random sandbox scalar scan_module sparse tensor",
)
