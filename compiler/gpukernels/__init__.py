"""How ops are done on a device: a file per family, each registering its lowerings."""

from gpuarray.compiler.gpukernels import (
    argmax,
    creation,
    debugging,
    elemwise,
    fft,
    joining,
    linalg,
    maprows,
    marks,
    nlinalg,
    nnet,
    python,
    reduce,
    shape,
    sorting,
    subtensor,
)
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
    "argmax",
    "array_value",
    "creation",
    "debugging",
    "elemwise",
    "fft",
    "is_integer_arithmetic",
    "joining",
    "linalg",
    "lower_node",
    "lowering_of",
    "lowers",
    "maprows",
    "marks",
    "nlinalg",
    "nnet",
    "python",
    "reduce",
    "shape",
    "sorting",
    "step_function",
    "subtensor",
]
