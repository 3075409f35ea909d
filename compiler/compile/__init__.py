"""Theano's ``compile``, where programs import its names from."""

from gpuarray.compiler.compile import debugmode, mode, monitormode, nanguardmode, ops
from gpuarray.compiler.compile.ops import (
    FromFunctionOp,
    Rebroadcast,
    Shape,
    Shape_i,
    SpecifyShape,
    as_op,
    shape,
    specify_shape,
)
from gpuarray.compiler.debug import DebugMode, Mode, MonitorMode
from gpuarray.compiler.errors import UnusedInputError
from gpuarray.compiler.function import (
    Function,
    In,
    Out,
    Param,
    function,
    function_dump,
    get_default_mode,
    get_mode,
    register_mode,
)
from gpuarray.compiler.function.modes import MODES as predefined_modes
from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.custom.fromgraph import OpFromGraph
from gpuarray.compiler.shared import SharedVariable, shared

__all__ = [
    "DebugMode",
    "FromFunctionOp",
    "Function",
    "In",
    "Mode",
    "MonitorMode",
    "OpFromGraph",
    "Out",
    "Param",
    "Rebroadcast",
    "Shape",
    "Shape_i",
    "SharedVariable",
    "SpecifyShape",
    "UnusedInputError",
    "as_op",
    "debugmode",
    "function",
    "function_dump",
    "get_default_mode",
    "get_mode",
    "mode",
    "monitormode",
    "nanguardmode",
    "ops",
    "predefined_modes",
    "register_mode",
    "shape",
    "shared",
    "specify_shape",
]

suggest_names(__name__)
