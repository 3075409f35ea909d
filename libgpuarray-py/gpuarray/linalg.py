"""``numpy.linalg`` and the array API's extension ``linalg``, on the device.

Functions of stacks of matrices work on the last two axes. Where a context's vendor has
a library of factorizations (cuSOLVER on CUDA) nothing leaves the device and nothing
waits, but ``lstsq``, ``eig`` and ``eigvals``: a singular matrix is reported by the next
wait, as LinAlgError. Elsewhere NumPy computes on the host, and a HostNotice warns once
for each function.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from gpuarray._core.arguments import axis_number
from gpuarray._core.base import require_all
from gpuarray._linalg.decompositions import (
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
from gpuarray._linalg.norms import (
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
from gpuarray._manipulation import shaping
from gpuarray._manipulation.shaping import matrix_transpose, moveaxis
from gpuarray._products.contractions import (
    crossed,
    inner,
    kron,
    matvec,
    multi_dot,
    vecmat,
)
from gpuarray._products.contractions import outer_of_vectors as outer
from gpuarray._products.matmul import dot, matmul, tensordot, vdot, vecdot
from gpuarray.blas import allow_tf32, gemm, gemm_bias, gemmBatch_3d, gemv, ger
from gpuarray.errors import BadValue, HostNotice, LinAlgError, suggest_names

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


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Return a view of the diagonals of the matrices in the last two axes.

    >>> print(gpuarray.linalg.diagonal(gpuarray.arange(4).reshape(2, 2)))
    [0 3]
    """
    return shaping.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Any:
    """Return the sums of the diagonals of the matrices in the last two axes.

    >>> print(gpuarray.linalg.trace(gpuarray.arange(8).reshape(2, 2, 2)))
    [ 3 11]
    """
    return shaping.trace(x, offset, -2, -1, dtype)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of 3 elements along ``axis``; they broadcast.

    Raises BadValue unless the axis has 3 elements in both.

    >>> x, y = gpuarray.asarray([1.0, 0.0, 0.0]), gpuarray.asarray([0.0, 1.0, 0.0])
    >>> print(gpuarray.linalg.cross(x, y))
    [0. 0. 1.]
    """
    x1, x2 = require_all("cross", x1, x2)
    vectors = []
    for x in (x1, x2):
        number = axis_number(axis, x.ndim, "cross")
        if x.shape[number] != 3:
            raise BadValue(
                f"cross: axis {axis} of shape {x.shape} has {x.shape[number]} "
                "elements, expected 3"
            )
        vectors.append(moveaxis(x, number, -1))
    return moveaxis(crossed(*vectors), -1, axis)
