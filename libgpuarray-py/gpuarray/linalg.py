"""``numpy.linalg`` and the array API's extension ``linalg``, on the device.

Functions of stacks of matrices work on the last two axes. Where a context's vendor has
a library of factorizations (cuSOLVER on CUDA) nothing leaves the device and nothing
waits, but ``lstsq``, ``eig`` and ``eigvals``: a singular matrix is reported by the next
wait, as LinAlgError. Elsewhere NumPy computes on the host, and a HostNotice warns once
for each function.
"""

from gpuarray._linalg.decompositions import (
    EighResult as EighResult,
    EigResult as EigResult,
    QRResult as QRResult,
    SlogdetResult as SlogdetResult,
    SVDResult as SVDResult,
    cholesky as cholesky,
    det as det,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    inv as inv,
    qr as qr,
    slogdet as slogdet,
    solve as solve,
    solve_triangular as solve_triangular,
    svd as svd,
    svdvals as svdvals,
)
from gpuarray._linalg.norms import (
    cond as cond,
    lstsq as lstsq,
    matrix_norm as matrix_norm,
    matrix_power as matrix_power,
    matrix_rank as matrix_rank,
    norm as norm,
    pinv as pinv,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
    vector_norm as vector_norm,
)
from gpuarray._linalg.stacks import cross as cross, diagonal as diagonal, trace as trace
from gpuarray._manipulation.shaping import matrix_transpose as matrix_transpose
from gpuarray._products.contractions import (
    inner as inner,
    kron as kron,
    matvec as matvec,
    multi_dot as multi_dot,
    outer_of_vectors as _outer,
    vecmat as vecmat,
)
from gpuarray._products.matmul import (
    dot as dot,
    matmul as matmul,
    tensordot as tensordot,
    vdot as vdot,
    vecdot as vecdot,
)
from gpuarray.blas import (
    allow_tf32 as allow_tf32,
    gemm as gemm,
    gemm_bias as gemm_bias,
    gemmBatch_3d as gemmBatch_3d,
    gemv as gemv,
    ger as ger,
)
from gpuarray.errors import (
    HostNotice as HostNotice,
    LinAlgError as LinAlgError,
    suggest_names as _suggest_names,
)

outer = _outer

_suggest_names(__name__)
