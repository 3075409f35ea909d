"""The namespace ``T.nlinalg``: linear algebra, as NumPy's."""

from __future__ import annotations

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.creation.diagonals import (
    AllocDiag,
    ExtractDiag,
    alloc_diag,
    diag,
    extract_diag,
    trace,
)
from gpuarray.compiler.ops.linalg.inverses import (
    Lstsq,
    MatrixPinv,
    lstsq,
    matrix_dot,
    matrix_power,
    pinv,
    tensorinv,
    tensorsolve,
)
from gpuarray.compiler.ops.linalg.nlinalg import (
    QR,
    SVD,
    Det,
    Eig,
    Eigh,
    det,
    eig,
    eigh,
    qr,
    svd,
)
from gpuarray.compiler.ops.linalg.norms import norm
from gpuarray.compiler.ops.linalg.solving import MatrixInverse, matrix_inverse

inv = matrix_inverse

__all__ = [
    "QR",
    "SVD",
    "AllocDiag",
    "Det",
    "Eig",
    "Eigh",
    "ExtractDiag",
    "Lstsq",
    "MatrixInverse",
    "MatrixPinv",
    "alloc_diag",
    "det",
    "diag",
    "eig",
    "eigh",
    "extract_diag",
    "inv",
    "lstsq",
    "matrix_dot",
    "matrix_inverse",
    "matrix_power",
    "norm",
    "pinv",
    "qr",
    "svd",
    "tensorinv",
    "tensorsolve",
    "trace",
]

suggest_names(__name__)
