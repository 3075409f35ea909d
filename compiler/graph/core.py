"""The parts of graphs: variables, constants, nodes, operations, and their lines."""

from gpuarray.compiler.graph.constants import (
    Constant as Constant,
    as_variable as as_variable,
    constant as constant,
    literal_floats_are as literal_floats_are,
    short_value as short_value,
)
from gpuarray.compiler.graph.op import Op as Op, SameShapeOp as SameShapeOp
from gpuarray.compiler.graph.trace import (
    Trace as Trace,
    traced_as as traced_as,
    user_line as user_line,
)
from gpuarray.compiler.graph.variable import (
    Apply as Apply,
    Variable as Variable,
    check_name as check_name,
    derived as derived,
    is_device_node as is_device_node,
    is_float as is_float,
    short_op as short_op,
    sources_of as sources_of,
)
