"""Iterative methods for sparse arrays, by the names of ``scipy.sparse.linalg``.

They need products with a matrix alone, so they also take dense matrices and functions
(``LinearOperator``). Each says how often the host waits.
"""

from gpuarray._sparse.eigen import eigsh as eigsh
from gpuarray._sparse.least_squares import lsqr as lsqr
from gpuarray._sparse.operators import (
    LinearOperator as LinearOperator,
    aslinearoperator as aslinearoperator,
)
from gpuarray._sparse.singular import norm as norm, svds as svds
from gpuarray._sparse.solvers import (
    bicgstab as bicgstab,
    cg as cg,
    gmres as gmres,
    spsolve_triangular as spsolve_triangular,
)
from gpuarray.errors import suggest_names as _suggest_names

_SOLVE = "cg, gmres or bicgstab, or gpuarray.linalg.solve(A.toarray(), b)"
_suggest_names(
    __name__,
    {
        "bicg": "bicgstab, which needs no products with A.T",
        "cgs": "bicgstab",
        "eigs": "eigsh of Hermitian matrices, or gpuarray.linalg.eig(A.toarray())",
        "expm": "scipy.linalg.expm(A.toarray().get())",
        "factorized": _SOLVE,
        "inv": "gpuarray.linalg.inv(A.toarray()); an inverse has few zeros",
        "lgmres": "gmres",
        "lobpcg": "eigsh",
        "lsmr": "lsqr",
        "matrix_power": "A @ A, as often as needed",
        "minres": "gmres, or cg of positive definite matrices",
        "qmr": "bicgstab",
        "spilu": _SOLVE,
        "splu": _SOLVE,
        "spsolve": _SOLVE,
        "tfqmr": "bicgstab",
    },
)
