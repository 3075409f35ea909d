"""The namespace ``T.slinalg``: linear algebra beyond NumPy's."""

from __future__ import annotations

from gpuarray.compiler.names import suggest_names
from gpuarray.compiler.ops.linalg.nlinalg import Eigvalsh
from gpuarray.compiler.ops.linalg.products import kron
from gpuarray.compiler.ops.linalg.slinalg import (
    Cholesky,
    Expm,
    cholesky,
    eigvalsh,
    expm,
)
from gpuarray.compiler.ops.linalg.solving import (
    Solve,
    solve,
    solve_lower_triangular,
    solve_symmetric,
    solve_triangular,
    solve_upper_triangular,
)

__all__ = [
    "Cholesky",
    "Eigvalsh",
    "Expm",
    "Solve",
    "cholesky",
    "eigvalsh",
    "expm",
    "kron",
    "solve",
    "solve_lower_triangular",
    "solve_symmetric",
    "solve_triangular",
    "solve_upper_triangular",
]

suggest_names(__name__)
