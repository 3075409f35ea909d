"""Sparse matrices in expressions, by Theano's names.

``x = sparse.csr_matrix("x")`` is a matrix whose values are those of scipy.sparse or
gpuarray.sparse. A function computes with its arrays, on the device; nothing becomes
dense unless the program says so.

>>> from gpuarray.compiler import function, sparse, tensor as T
>>> x, v = sparse.csr_matrix("x", "float32"), T.fvector("v")
>>> print(sparse.structured_dot(x, v).type)
TensorType(float32, vector)
"""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.index.indexing import sparse_grad as sparse_grad
from gpuarray.compiler.ops.sparse.dots import (
    Dot as Dot,
    SamplingDot as SamplingDot,
    StructuredDot as StructuredDot,
    TrueDot as TrueDot,
    Usmm as Usmm,
    dot as dot,
    sampling_dot as sampling_dot,
    structured_dot as structured_dot,
    true_dot as true_dot,
    usmm as usmm,
)
from gpuarray.compiler.ops.sparse.elementwise import (
    AddSD as AddSD,
    AddSS as AddSS,
    Cast as Cast,
    MulSD as MulSD,
    MulSS as MulSS,
    MulSV as MulSV,
    StructuredAddSV as StructuredAddSV,
    add as add,
    add_s_d as add_s_d,
    add_s_s as add_s_s,
    cast as cast,
    col_scale as col_scale,
    mul as mul,
    mul_s_d as mul_s_d,
    mul_s_s as mul_s_s,
    mul_s_v as mul_s_v,
    neg as neg,
    row_scale as row_scale,
    structured_add_s_v as structured_add_s_v,
    sub as sub,
)
from gpuarray.compiler.ops.sparse.items import (
    ConstructSparseFromList as ConstructSparseFromList,
    GetItem2Lists as GetItem2Lists,
    HStack as HStack,
    VStack as VStack,
    construct_sparse_from_list as construct_sparse_from_list,
    hstack as hstack,
    vstack as vstack,
)
from gpuarray.compiler.ops.sparse.matrix import (
    CSM as CSM,
    CSMProperties as CSMProperties,
    as_sparse_variable as as_sparse_variable,
)
from gpuarray.compiler.ops.sparse.structure import (
    DenseFromSparse as DenseFromSparse,
    Diag as Diag,
    EnsureSortedIndices as EnsureSortedIndices,
    Remove0 as Remove0,
    SparseFromDense as SparseFromDense,
    SpSum as SpSum,
    SquareDiagonal as SquareDiagonal,
    Transpose as Transpose,
    clean as clean,
    csc_from_dense as csc_from_dense,
    csr_from_dense as csr_from_dense,
    dense_from_sparse as dense_from_sparse,
    diag as diag,
    ensure_sorted_indices as ensure_sorted_indices,
    remove0 as remove0,
    sp_ones_like as sp_ones_like,
    sp_sum as sp_sum,
    sp_zeros_like as sp_zeros_like,
    square_diagonal as square_diagonal,
    transpose as transpose,
)
from gpuarray.compiler.ops.sparse.types import (
    SparseConstant as SparseConstant,
    SparseType as SparseType,
    SparseVariable as SparseVariable,
)
from gpuarray.compiler.shared import SparseSharedVariable as SparseSharedVariable
from gpuarray.compiler.sparse import basic as basic, sandbox as sandbox, type as type
from gpuarray.compiler.sparse.constructors import (
    CSC as CSC,
    CSR as CSR,
    as_sparse as as_sparse,
    as_sparse_or_tensor_variable as as_sparse_or_tensor_variable,
    bsr_matrix as bsr_matrix,
    constant as constant,
    csc_dmatrix as csc_dmatrix,
    csc_fmatrix as csc_fmatrix,
    csc_matrix as csc_matrix,
    csm_data as csm_data,
    csm_indices as csm_indices,
    csm_indptr as csm_indptr,
    csm_properties as csm_properties,
    csm_shape as csm_shape,
    csr_dmatrix as csr_dmatrix,
    csr_fmatrix as csr_fmatrix,
    csr_matrix as csr_matrix,
    get_item_2d as get_item_2d,
    get_item_2lists as get_item_2lists,
    get_item_list as get_item_list,
    get_item_scalar as get_item_scalar,
    matrix as matrix,
    shared as shared,
    verify_grad_sparse as verify_grad_sparse,
)
from gpuarray.compiler.sparse.functions import (
    arcsin as arcsin,
    arcsinh as arcsinh,
    arctan as arctan,
    arctanh as arctanh,
    bcast as bcast,
    ccast as ccast,
    ceil as ceil,
    conj as conj,
    dcast as dcast,
    deg2rad as deg2rad,
    eq as eq,
    expm1 as expm1,
    fcast as fcast,
    floor as floor,
    ge as ge,
    gt as gt,
    icast as icast,
    lcast as lcast,
    le as le,
    log1p as log1p,
    lt as lt,
    neq as neq,
    rad2deg as rad2deg,
    rint as rint,
    sgn as sgn,
    sin as sin,
    sinh as sinh,
    sqr as sqr,
    sqrt as sqrt,
    structured_abs as structured_abs,
    structured_add as structured_add,
    structured_exp as structured_exp,
    structured_log as structured_log,
    structured_maximum as structured_maximum,
    structured_minimum as structured_minimum,
    structured_pow as structured_pow,
    structured_sigmoid as structured_sigmoid,
    tan as tan,
    tanh as tanh,
    trunc as trunc,
    wcast as wcast,
    zcast as zcast,
)
from gpuarray.compiler.sparse.operators import MatrixOperators as MatrixOperators

SparseTensorSharedVariable, sparse_constructor = SparseSharedVariable, shared
enable_sparse = True
"""Theano's: whether there is scipy."""

_BLOCKS = "csr_matrix: arguments in BSR are converted"
_GRADIENT = "structured_dot, whose gradient is sparse"
_suggest_names(
    __name__,
    "basic sandbox type",
    {
        "AddSSData": "AddSS, which sees that both have the same places",
        "CSMGrad": "CSM, whose gradient is at its values' places",
        "ColScaleCSC": "col_scale",
        "GetItem2d": "x[rows, columns]",
        "GetItemList": "x[rows]",
        "GetItemScalar": "x[row, column]",
        "Neg": "neg",
        "RowScaleCSC": "row_scale",
        "StructuredDotGradCSC": _GRADIENT,
        "StructuredDotGradCSR": _GRADIENT,
        "add_s_s_data": "add_s_s, which sees that both have the same places",
        "bsr_dmatrix": _BLOCKS,
        "bsr_fmatrix": _BLOCKS,
        "csm_grad": "CSM, whose gradient is at its values' places",
        "structured_dot_grad": _GRADIENT,
        **{
            f"{long}_s_{kind}": short
            for long, short in (
                ("equal", "eq"),
                ("not_equal", "neq"),
                ("less_than", "lt"),
                ("less_equal", "le"),
                ("greater_than", "gt"),
                ("greater_equal", "ge"),
            )
            for kind in "sd"
        },
    },
)
