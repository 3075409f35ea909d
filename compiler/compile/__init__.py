"""Theano's ``compile``, where programs import its names from."""

from gpuarray.compiler.compile import (
    debugmode as debugmode,
    mode as mode,
    monitormode as monitormode,
    nanguardmode as nanguardmode,
    ops as ops,
    profiling as profiling,
    sharedvalue as sharedvalue,
)
from gpuarray.compiler.compile.ops import (
    FromFunctionOp as FromFunctionOp,
    Rebroadcast as Rebroadcast,
    Shape as Shape,
    Shape_i as Shape_i,
    SpecifyShape as SpecifyShape,
    as_op as as_op,
    shape as shape,
    specify_shape as specify_shape,
)
from gpuarray.compiler.debug import (
    DebugMode as DebugMode,
    Mode as Mode,
    MonitorMode as MonitorMode,
)
from gpuarray.compiler.errors import UnusedInputError as UnusedInputError
from gpuarray.compiler.function import (
    Function as Function,
    In as In,
    Out as Out,
    Param as Param,
    function as function,
    function_dump as function_dump,
    get_default_mode as get_default_mode,
    get_mode as get_mode,
    register_mode as register_mode,
)
from gpuarray.compiler.function.modes import MODES as _MODES
from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.custom.fromgraph import OpFromGraph as OpFromGraph
from gpuarray.compiler.shared import SharedVariable as SharedVariable, shared as shared

predefined_modes = _MODES

_suggest_names(
    __name__, "debugmode mode monitormode nanguardmode ops profiling sharedvalue"
)
