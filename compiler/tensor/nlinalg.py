"""The namespace ``T.nlinalg``: linear algebra, as NumPy's."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.creation.diagonals import (
    AllocDiag as AllocDiag,
    ExtractDiag as ExtractDiag,
    alloc_diag as alloc_diag,
    diag as diag,
    extract_diag as extract_diag,
    trace as trace,
)
from gpuarray.compiler.ops.linalg.inverses import (
    Lstsq as Lstsq,
    MatrixPinv as MatrixPinv,
    lstsq as lstsq,
    matrix_dot as matrix_dot,
    matrix_power as matrix_power,
    pinv as pinv,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
)
from gpuarray.compiler.ops.linalg.nlinalg import (
    QR as QR,
    SVD as SVD,
    Det as Det,
    Eig as Eig,
    Eigh as Eigh,
    det as det,
    eig as eig,
    eigh as eigh,
    qr as qr,
    svd as svd,
)
from gpuarray.compiler.ops.linalg.norms import norm as norm
from gpuarray.compiler.ops.linalg.solving import (
    MatrixInverse as MatrixInverse,
    matrix_inverse as matrix_inverse,
)

inv = matrix_inverse

_suggest_names(__name__)
