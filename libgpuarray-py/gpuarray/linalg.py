"""``numpy.linalg`` and the array API's extension ``linalg``, on the device.

Functions of stacks of matrices work on the last two axes. Where a context's vendor has
a library of factorizations (cuSOLVER on CUDA) nothing leaves the device and nothing
waits, but ``lstsq``, ``eig`` and ``eigvals``: a matrix that lacks what was asked is
told of by the next wait, as LinAlgError. Elsewhere NumPy computes on the host, which a
HostNotice says once for each function.
"""

from __future__ import annotations

from gpuarray._manipulation.shaping import matrix_transpose
from gpuarray.blas import allow_tf32, gemm, gemm_bias, gemmBatch_3d, gemv, ger
from gpuarray.contractions import inner, kron, matvec, multi_dot, vecmat
from gpuarray.contractions import outer_of_vectors as outer
from gpuarray.decompositions import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
    cholesky,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)
from gpuarray.errors import HostNotice, LinAlgError, suggest_names
from gpuarray.norms import (
    cond,
    lstsq,
    matrix_norm,
    matrix_power,
    matrix_rank,
    norm,
    pinv,
    tensorinv,
    tensorsolve,
    vector_norm,
)
from gpuarray.planes import cross, diagonal, trace
from gpuarray.products import dot, matmul, tensordot, vdot, vecdot

__all__ = [
    "EigResult",
    "EighResult",
    "HostNotice",
    "LinAlgError",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "allow_tf32",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "dot",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "gemm",
    "gemmBatch_3d",
    "gemm_bias",
    "gemv",
    "ger",
    "inner",
    "inv",
    "kron",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vdot",
    "vecdot",
    "vecmat",
    "vector_norm",
]


def __dir__() -> list[str]:
    return __all__


suggest_names(__name__)
