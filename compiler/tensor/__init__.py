"""The namespace ``T`` of programs: types of variables, their constructors, functions.

>>> import gpuarray.compiler.tensor as T
>>> T.fmatrix("x").type
TensorType(float32, matrix)

`T.<row>` exists for every row of the table of scalars.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from gpuarray.compiler.derivatives.forward import Rop
from gpuarray.compiler.derivatives.jacobians import hessian, jacobian
from gpuarray.compiler.derivatives.reverse import Lop, grad
from gpuarray.compiler.graph.core import Constant, Variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.names import unknown_name
from gpuarray.compiler.ops.broadcast.axes import (
    SpecifyShape,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    atleast_nd,
    broadcast_arrays,
    broadcast_like,
    expand_dims,
    get_vector_length,
    is_flat,
    makeKeepDims,
    moveaxis,
    rollaxis,
    shape_padaxis,
    specify_shape,
    squeeze,
)
from gpuarray.compiler.ops.broadcast.broadcast import (
    Rebroadcast,
    addbroadcast,
    broadcast_to,
    patternbroadcast,
    unbroadcast,
)
from gpuarray.compiler.ops.control.gradient_markers import consider_constant
from gpuarray.compiler.ops.creation.creation import (
    AllocEmpty,
    ARange,
    alloc,
    arange,
    empty,
    eye,
    full,
    full_like,
    identity,
    identity_like,
    linspace,
    mgrid,
    ogrid,
    ones,
    to_one_hot,
    zeros,
)
from gpuarray.compiler.ops.creation.diagonals import (
    AllocDiag,
    ExtractDiag,
    alloc_diag,
    diag,
    diagonal,
    extract_diag,
    fill_diagonal,
    fill_diagonal_offset,
    trace,
    tri,
    tril,
    triu,
)
from gpuarray.compiler.ops.creation.joining import (
    Join,
    Split,
    concatenate,
    horizontal_stack,
    join,
    split,
    stack,
    stacklists,
    vertical_stack,
)
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise
from gpuarray.compiler.ops.elemwise.math import (
    cast,
    divmod,
    isclose,
    largest,
    ones_like,
    smallest,
    true_div,
    zeros_like,
)
from gpuarray.compiler.ops.elemwise.special import (
    ceil_intdiv,
    chi2sf,
    complex_from_polar,
    gammal,
    gammau,
    iround,
    round,
)
from gpuarray.compiler.ops.index.advanced import (
    AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor,
    AdvancedIncSubtensor,
    AdvancedIncSubtensor1,
    AdvancedSubtensor,
    AdvancedSubtensor1,
    Nonzero,
)
from gpuarray.compiler.ops.index.indexing import inc_subtensor, set_subtensor
from gpuarray.compiler.ops.index.picking import (
    choose,
    compress,
    flatnonzero,
    inverse_permutation,
    nonzero,
    nonzero_values,
    permute_row_elements,
    take,
)
from gpuarray.compiler.ops.linalg.linalg import Dot, dot, outer, tensordot
from gpuarray.compiler.ops.linalg.products import (
    BatchedDot,
    batched_dot,
    batched_tensordot,
    inner,
    kron,
    matmul,
    vdot,
)
from gpuarray.compiler.ops.manipulation.padding import pad
from gpuarray.compiler.ops.manipulation.repeating import repeat, roll, tile
from gpuarray.compiler.ops.protocols import dispatch
from gpuarray.compiler.ops.protocols.conversions import (
    LoadFromDisk,
    default,
    extract_constant,
    get_scalar_constant_value,
    load,
    scalar_from_tensor,
    tensor_copy,
    tensor_from_scalar,
)
from gpuarray.compiler.ops.protocols.operators import Operators
from gpuarray.compiler.ops.reduce.argmax import Argmax, argmax, argmin, max_and_argmax
from gpuarray.compiler.ops.reduce.reduce import (
    Reduce,
    all,
    allclose,
    any,
    max,
    mean,
    min,
    prod,
    ptp,
    std,
    sum,
    var,
)
from gpuarray.compiler.ops.shape.shape import (
    DimShuffle,
    Reshape,
    dimshuffle,
    flatten,
    reshape,
    shape,
    shape_padleft,
    shape_padright,
    swapaxes,
    transpose,
)
from gpuarray.compiler.ops.slicing.subtensor import IncSubtensor, Subtensor
from gpuarray.compiler.ops.sorting.extra_ops import (
    Unique,
    bartlett,
    bincount,
    cov,
    cpu_contiguous,
    ravel_multi_index,
    searchsorted,
    unique,
    unravel_index,
)
from gpuarray.compiler.ops.sorting.scanning import CumOp, cumprod, cumsum, diff
from gpuarray.compiler.ops.sorting.sorting import (
    ArgSort,
    Sort,
    TopK,
    argsort,
    argtopk,
    put_along_axis,
    sort,
    take_along_axis,
    topk,
    topk_and_argtopk,
)
from gpuarray.compiler.ops.variables.basic import (
    MakeVector,
    as_tensor_variable,
    constant,
)
from gpuarray.compiler.ops.variables.transfer import (
    gpu_from_host,
    host_from_gpu,
    transfer,
)
from gpuarray.compiler.tensor import (
    extra_ops,
    fft,
    inplace,
    nlinalg,
    nnet,
    opt,
    slinalg,
    subtensor,
)
from gpuarray.compiler.tensor.constructors import constructors, tensor, type_groups
from gpuarray.compiler.tensor.groups import (
    all_dtypes,
    complex_dtypes,
    continuous_dtypes,
    discrete_dtypes,
    float_dtypes,
    int_dtypes,
    integer_dtypes,
    uint_dtypes,
)
from gpuarray.compiler.tensor.xlogx import xlogx  # noqa: F401  (a row's, in __all__)

as_tensor = as_tensor_variable

_CONSTRUCTORS = constructors()
_MADE: dict[str, Any] = {
    **math.FUNCTIONS,
    **_CONSTRUCTORS,
    **type_groups(_CONSTRUCTORS),
}
globals().update({name: each for name, each in _MADE.items() if name not in globals()})


def __getattr__(name: str) -> Callable[..., Any]:
    raise unknown_name(__name__, name)


__all__ = [
    *_MADE,
    "ARange",
    "AdvancedBooleanIncSubtensor",
    "AdvancedBooleanSubtensor",
    "AdvancedIncSubtensor",
    "AdvancedIncSubtensor1",
    "AdvancedSubtensor",
    "AdvancedSubtensor1",
    "AllocDiag",
    "AllocEmpty",
    "ArgSort",
    "Argmax",
    "BatchedDot",
    "Constant",
    "CumOp",
    "DimShuffle",
    "Dot",
    "Elemwise",
    "ExtractDiag",
    "IncSubtensor",
    "Join",
    "LoadFromDisk",
    "Lop",
    "MakeVector",
    "Nonzero",
    "Operators",
    "Rebroadcast",
    "Reduce",
    "Reshape",
    "Rop",
    "Sort",
    "SpecifyShape",
    "Split",
    "Subtensor",
    "TensorType",
    "TopK",
    "Unique",
    "Variable",
    "addbroadcast",
    "all",
    "all_dtypes",
    "allclose",
    "alloc",
    "alloc_diag",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "argtopk",
    "as_tensor",
    "as_tensor_variable",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "atleast_nd",
    "bartlett",
    "batched_dot",
    "batched_tensordot",
    "bincount",
    "broadcast_arrays",
    "broadcast_like",
    "broadcast_to",
    "cast",
    "ceil_intdiv",
    "chi2sf",
    "choose",
    "complex_dtypes",
    "complex_from_polar",
    "compress",
    "concatenate",
    "consider_constant",
    "constant",
    "continuous_dtypes",
    "cov",
    "cpu_contiguous",
    "cumprod",
    "cumsum",
    "default",
    "diag",
    "diagonal",
    "diff",
    "dimshuffle",
    "discrete_dtypes",
    "divmod",
    "dot",
    "empty",
    "expand_dims",
    "extra_ops",
    "extract_constant",
    "extract_diag",
    "eye",
    "fft",
    "fill_diagonal",
    "fill_diagonal_offset",
    "flatnonzero",
    "float_dtypes",
    "flatten",
    "full",
    "full_like",
    "gammal",
    "gammau",
    "get_scalar_constant_value",
    "get_vector_length",
    "gpu_from_host",
    "grad",
    "hessian",
    "horizontal_stack",
    "host_from_gpu",
    "identity",
    "identity_like",
    "inc_subtensor",
    "inplace",
    "int_dtypes",
    "integer_dtypes",
    "inner",
    "inverse_permutation",
    "iround",
    "is_flat",
    "isclose",
    "jacobian",
    "join",
    "kron",
    "largest",
    "linspace",
    "load",
    "makeKeepDims",
    "matmul",
    "max",
    "max_and_argmax",
    "mean",
    "mgrid",
    "min",
    "moveaxis",
    "nlinalg",
    "nnet",
    "nonzero",
    "nonzero_values",
    "ogrid",
    "ones",
    "ones_like",
    "opt",
    "outer",
    "pad",
    "patternbroadcast",
    "permute_row_elements",
    "prod",
    "ptp",
    "put_along_axis",
    "ravel_multi_index",
    "repeat",
    "reshape",
    "roll",
    "rollaxis",
    "round",
    "scalar_from_tensor",
    "searchsorted",
    "set_subtensor",
    "shape",
    "shape_padaxis",
    "shape_padleft",
    "shape_padright",
    "slinalg",
    "smallest",
    "sort",
    "specify_shape",
    "split",
    "squeeze",
    "stack",
    "stacklists",
    "std",
    "subtensor",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tensor",
    "tensor_copy",
    "tensor_from_scalar",
    "tensordot",
    "tile",
    "to_one_hot",
    "topk",
    "topk_and_argtopk",
    "trace",
    "transfer",
    "transpose",
    "tri",
    "tril",
    "triu",
    "true_div",
    "uint_dtypes",
    "unbroadcast",
    "unique",
    "unravel_index",
    "var",
    "vdot",
    "vertical_stack",
    "zeros",
    "zeros_like",
]


def _offered(path: Sequence[str]) -> Any:
    """Return the function at a path in NumPy's namespace; None if there is none."""
    *folders, name = path
    places = {(): [sys.modules[__name__]], ("linalg",): [nlinalg, slinalg]}
    for module in places.get(tuple(folders), ()):
        if name in module.__all__:
            return getattr(module, name)
    return None


# NumPy's own functions are dispatched to these when they are called with variables.
dispatch.offer(_offered)
