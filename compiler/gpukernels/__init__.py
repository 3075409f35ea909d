"""How ops are done on a device: a file per family, each registering its lowerings."""

from gpuarray.compiler.gpukernels import elemwise, linalg, reduce, shape
from gpuarray.compiler.gpukernels.calls import STEP_FUNCTIONS, step_function
from gpuarray.compiler.gpukernels.elemwise import INTEGERS, is_integer_arithmetic
from gpuarray.compiler.gpukernels.registry import (
    LOWERINGS,
    Lowerer,
    array_value,
    lower_node,
    lowering_of,
    lowers,
)

__all__ = [
    "INTEGERS",
    "LOWERINGS",
    "STEP_FUNCTIONS",
    "Lowerer",
    "array_value",
    "elemwise",
    "is_integer_arithmetic",
    "linalg",
    "lower_node",
    "lowering_of",
    "lowers",
    "reduce",
    "shape",
    "step_function",
]
