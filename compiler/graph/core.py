"""The parts of graphs: variables, constants, nodes, operations, and their lines."""

from gpuarray.compiler.graph.constants import (
    Constant,
    as_variable,
    constant,
    literal_floats_are,
    short_value,
)
from gpuarray.compiler.graph.op import Op, SameShapeOp
from gpuarray.compiler.graph.trace import Trace, traced_as, user_line
from gpuarray.compiler.graph.variable import (
    Apply,
    Variable,
    derived,
    is_device_node,
    is_float,
    short_op,
    sources_of,
)

__all__ = [
    "Apply",
    "Constant",
    "Op",
    "SameShapeOp",
    "Trace",
    "Variable",
    "as_variable",
    "constant",
    "derived",
    "is_device_node",
    "is_float",
    "literal_floats_are",
    "short_op",
    "short_value",
    "sources_of",
    "traced_as",
    "user_line",
]
