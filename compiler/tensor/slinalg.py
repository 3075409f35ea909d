"""The namespace ``T.slinalg``: linear algebra beyond NumPy's."""

from gpuarray.compiler.names import suggest_names as _suggest_names
from gpuarray.compiler.ops.linalg.nlinalg import Eigvalsh as Eigvalsh
from gpuarray.compiler.ops.linalg.products import kron as kron
from gpuarray.compiler.ops.linalg.slinalg import (
    Cholesky as Cholesky,
    Expm as Expm,
    cholesky as cholesky,
    eigvalsh as eigvalsh,
    expm as expm,
)
from gpuarray.compiler.ops.linalg.solving import (
    Solve as Solve,
    solve as solve,
    solve_lower_triangular as solve_lower_triangular,
    solve_symmetric as solve_symmetric,
    solve_triangular as solve_triangular,
    solve_upper_triangular as solve_upper_triangular,
)

_suggest_names(__name__)
