"""The namespace ``T`` of programs: types of variables, their constructors, functions.

>>> import gpuarray.compiler.tensor as T
>>> T.fmatrix("x").type
TensorType(float32, matrix)

`T.<row>` exists for every row of the table of scalars.
"""

import sys
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any

from gpuarray.compiler.derivatives.forward import Rop as Rop
from gpuarray.compiler.derivatives.jacobians import (
    hessian as hessian,
    jacobian as jacobian,
)
from gpuarray.compiler.derivatives.reverse import Lop as Lop, grad as grad
from gpuarray.compiler.graph.core import Constant as Constant, Variable as Variable
from gpuarray.compiler.graph.types import TensorType as TensorType
from gpuarray.compiler.names import unknown_name as _unknown_name
from gpuarray.compiler.ops.broadcast.axes import (
    SpecifyShape as SpecifyShape,
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    atleast_nd as atleast_nd,
    broadcast_arrays as broadcast_arrays,
    broadcast_like as broadcast_like,
    expand_dims as expand_dims,
    get_vector_length as get_vector_length,
    is_flat as is_flat,
    makeKeepDims as makeKeepDims,
    moveaxis as moveaxis,
    rollaxis as rollaxis,
    shape_padaxis as shape_padaxis,
    specify_shape as specify_shape,
    squeeze as squeeze,
)
from gpuarray.compiler.ops.broadcast.broadcast import (
    Rebroadcast as Rebroadcast,
    addbroadcast as addbroadcast,
    broadcast_to as broadcast_to,
    patternbroadcast as patternbroadcast,
    unbroadcast as unbroadcast,
)
from gpuarray.compiler.ops.control.gradient_markers import (
    consider_constant as consider_constant,
)
from gpuarray.compiler.ops.creation.creation import (
    AllocEmpty as AllocEmpty,
    ARange as ARange,
    alloc as alloc,
    arange as arange,
    empty as empty,
    eye as eye,
    full as full,
    full_like as full_like,
    identity as identity,
    identity_like as identity_like,
    linspace as linspace,
    mgrid as mgrid,
    ogrid as ogrid,
    ones as ones,
    to_one_hot as to_one_hot,
    zeros as zeros,
)
from gpuarray.compiler.ops.creation.diagonals import (
    AllocDiag as AllocDiag,
    ExtractDiag as ExtractDiag,
    alloc_diag as alloc_diag,
    diag as diag,
    diagonal as diagonal,
    extract_diag as extract_diag,
    fill_diagonal as fill_diagonal,
    fill_diagonal_offset as fill_diagonal_offset,
    trace as trace,
    tri as tri,
    tril as tril,
    triu as triu,
)
from gpuarray.compiler.ops.creation.joining import (
    Join as Join,
    Split as Split,
    concatenate as concatenate,
    horizontal_stack as horizontal_stack,
    join as join,
    split as split,
    stack as stack,
    stacklists as stacklists,
    vertical_stack as vertical_stack,
)
from gpuarray.compiler.ops.elemwise import math
from gpuarray.compiler.ops.elemwise.elemwise import Elemwise as Elemwise
from gpuarray.compiler.ops.elemwise.math import (
    cast as cast,
    divmod as divmod,
    isclose as isclose,
    largest as largest,
    ones_like as ones_like,
    smallest as smallest,
    true_div as true_div,
    zeros_like as zeros_like,
)
from gpuarray.compiler.ops.elemwise.special import (
    ceil_intdiv as ceil_intdiv,
    chi2sf as chi2sf,
    complex_from_polar as complex_from_polar,
    gammal as gammal,
    gammau as gammau,
    iround as iround,
    round as round,
)
from gpuarray.compiler.ops.index.advanced import (
    AdvancedBooleanIncSubtensor as AdvancedBooleanIncSubtensor,
    AdvancedBooleanSubtensor as AdvancedBooleanSubtensor,
    AdvancedIncSubtensor as AdvancedIncSubtensor,
    AdvancedIncSubtensor1 as AdvancedIncSubtensor1,
    AdvancedSubtensor as AdvancedSubtensor,
    AdvancedSubtensor1 as AdvancedSubtensor1,
    Nonzero as Nonzero,
)
from gpuarray.compiler.ops.index.indexing import (
    inc_subtensor as inc_subtensor,
    set_subtensor as set_subtensor,
)
from gpuarray.compiler.ops.index.picking import (
    choose as choose,
    compress as compress,
    flatnonzero as flatnonzero,
    inverse_permutation as inverse_permutation,
    nonzero as nonzero,
    nonzero_values as nonzero_values,
    permute_row_elements as permute_row_elements,
    take as take,
)
from gpuarray.compiler.ops.linalg.linalg import (
    Dot as Dot,
    dot as dot,
    outer as outer,
    tensordot as tensordot,
)
from gpuarray.compiler.ops.linalg.products import (
    BatchedDot as BatchedDot,
    batched_dot as batched_dot,
    batched_tensordot as batched_tensordot,
    inner as inner,
    kron as kron,
    matmul as matmul,
    vdot as vdot,
)
from gpuarray.compiler.ops.manipulation.padding import pad as pad
from gpuarray.compiler.ops.manipulation.repeating import (
    repeat as repeat,
    roll as roll,
    tile as tile,
)
from gpuarray.compiler.ops.protocols import dispatch
from gpuarray.compiler.ops.protocols.conversions import (
    LoadFromDisk as LoadFromDisk,
    default as default,
    extract_constant as extract_constant,
    get_scalar_constant_value as get_scalar_constant_value,
    load as load,
    scalar_from_tensor as scalar_from_tensor,
    tensor_copy as tensor_copy,
    tensor_from_scalar as tensor_from_scalar,
)
from gpuarray.compiler.ops.protocols.operators import Operators as Operators
from gpuarray.compiler.ops.reduce.argmax import (
    Argmax as Argmax,
    argmax as argmax,
    argmin as argmin,
    max_and_argmax as max_and_argmax,
)
from gpuarray.compiler.ops.reduce.reduce import (
    Reduce as Reduce,
    all as all,
    allclose as allclose,
    any as any,
    max as max,
    mean as mean,
    min as min,
    prod as prod,
    ptp as ptp,
    std as std,
    sum as sum,
    var as _variance,
)
from gpuarray.compiler.ops.shape.shape import (
    DimShuffle as DimShuffle,
    Reshape as Reshape,
    dimshuffle as dimshuffle,
    flatten as flatten,
    reshape as reshape,
    shape as shape,
    shape_padleft as shape_padleft,
    shape_padright as shape_padright,
    swapaxes as swapaxes,
    transpose as transpose,
)
from gpuarray.compiler.ops.slicing.subtensor import (
    IncSubtensor as IncSubtensor,
    Subtensor as Subtensor,
)
from gpuarray.compiler.ops.sorting.extra_ops import (
    Unique as Unique,
    bartlett as bartlett,
    bincount as bincount,
    cov as cov,
    cpu_contiguous as cpu_contiguous,
    ravel_multi_index as ravel_multi_index,
    searchsorted as searchsorted,
    unique as unique,
    unravel_index as unravel_index,
)
from gpuarray.compiler.ops.sorting.scanning import (
    CumOp as CumOp,
    cumprod as cumprod,
    cumsum as cumsum,
    diff as diff,
)
from gpuarray.compiler.ops.sorting.sorting import (
    ArgSort as ArgSort,
    Sort as Sort,
    TopK as TopK,
    argsort as argsort,
    argtopk as argtopk,
    put_along_axis as put_along_axis,
    sort as sort,
    take_along_axis as take_along_axis,
    topk as topk,
    topk_and_argtopk as topk_and_argtopk,
)
from gpuarray.compiler.ops.variables.basic import (
    MakeVector as MakeVector,
    as_tensor_variable as as_tensor_variable,
    constant as constant,
)
from gpuarray.compiler.ops.variables.transfer import (
    gpu_from_host as gpu_from_host,
    host_from_gpu as host_from_gpu,
    transfer as transfer,
)
from gpuarray.compiler.tensor import (
    extra_ops as extra_ops,
    fft as fft,
    inplace as inplace,
    nlinalg as nlinalg,
    nnet as nnet,
    opt as opt,
    randomstreams as randomstreams,
    raw_random as raw_random,
    shared_randomstreams as shared_randomstreams,
    sharedvar as sharedvar,
    signal as signal,
    slinalg as slinalg,
    subtensor as subtensor,
)
from gpuarray.compiler.tensor.constructors import (
    constructors as _constructors,
    tensor as tensor,
    type_groups as _type_groups,
)
from gpuarray.compiler.tensor.groups import (
    all_dtypes as all_dtypes,
    complex_dtypes as complex_dtypes,
    continuous_dtypes as continuous_dtypes,
    discrete_dtypes as discrete_dtypes,
    float_dtypes as float_dtypes,
    int_dtypes as int_dtypes,
    integer_dtypes as integer_dtypes,
    uint_dtypes as uint_dtypes,
)
from gpuarray.compiler.tensor.var import (
    TensorConstant as TensorConstant,
    TensorVariable as TensorVariable,
)
from gpuarray.compiler.tensor.xlogx import xlogx as xlogx
from gpuarray.errors import public_names as _public_names

as_tensor = as_tensor_variable
basic = sys.modules[__name__]
var = _variance  # not the module of this name

verify_grad: _Callable[..., None]
"""Checks gradients; its module, which lies above this one, puts it here."""

_CONSTRUCTORS = _constructors()
_MADE: dict[str, _Any] = {
    **math.FUNCTIONS,
    **_CONSTRUCTORS,
    **_type_groups(_CONSTRUCTORS),
}
globals().update(
    {name: member for name, member in _MADE.items() if name not in globals()}
)


def __getattr__(name: str) -> _Callable[..., _Any]:
    raise _unknown_name(__name__, name)


__all__ = _public_names(
    __name__,
    "basic extra_ops fft inplace nlinalg nnet opt randomstreams raw_random "
    "shared_randomstreams sharedvar signal slinalg subtensor",
)


def _offered(path: _Sequence[str]) -> _Any:
    """Return the function at a path in NumPy's namespace; None if there is none."""
    *folders, name = path
    places = {(): [sys.modules[__name__]], ("linalg",): [nlinalg, slinalg]}
    for module in places.get(tuple(folders), ()):
        if name in module.__all__:
            return getattr(module, name)
    return None


# NumPy's own functions are dispatched to these when they are called with variables.
dispatch.offer(_offered)
