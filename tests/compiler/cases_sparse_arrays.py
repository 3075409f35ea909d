"""Cases of sparse matrices: of their values, with places that are in no order."""

import numpy as np
import scipy.sparse as sp
from cases import case, f64
from gpuarray.compiler import sparse as S
from gpuarray.compiler.ops.custom.fromgraph import inlined

INDICES = np.array([2, 0, 1, 3, 1, 1, 2, 0], "int32")
INDPTR = np.array([0, 3, 6, 6, 8], "int32")
SHAPE = 4, 4
OTHER = sp.csr_matrix(
    np.array([[0, 1.5, 2, 0], [3, 0, 0, 1], [0, 0, 4, 0], [1, 0, 0, 2]])
)


def of_arrays(build):
    """The expression of the matrices' arrays, whose operations are tried one by one."""
    return lambda *variables: inlined([build(*variables)])[0]


def symbolic(data):
    return S.CSR(data, INDICES, INDPTR, SHAPE)


def dense(data):
    return sp.csr_matrix((data, INDICES, INDPTR), SHAPE).toarray()


def whole(matrix):
    return S.dense_from_sparse(matrix)


case(
    "sparse_sum",
    of_arrays(lambda d: whole(symbolic(d) + OTHER)),
    lambda d: dense(d) + OTHER.toarray(),
    f64(8),
)
case(
    "sparse_product",
    of_arrays(lambda d: whole(S.dot(symbolic(d), symbolic(d).T))),
    lambda d: dense(d) @ dense(d).T,
    f64(8),
)
case(
    "sampling_dot",
    of_arrays(lambda d, x, y: whole(S.sampling_dot(x, y, symbolic(d)))),
    lambda d, x, y: dense(d) * (x @ y.T),
    f64(8),
    f64(4, 3),
    f64(4, 3),
)
case(
    "structured_dot",
    of_arrays(lambda d, x: S.structured_dot(symbolic(d)[[1, 0]], x)),
    lambda d, x: dense(d)[[1, 0]] @ x,
    f64(8),
    f64(4, 3),
)
case(
    "sparse_diag",
    of_arrays(lambda d, x: S.diag(S.mul(symbolic(d), x)) + S.sp_sum(symbolic(d), 0)),
    lambda d, x: np.diag(dense(d) * x) + dense(d).sum(0),
    f64(8),
    f64(4, 4),
)
