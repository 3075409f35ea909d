"""Factorizations and what they solve, by the array package's linalg.

Plans pause for them: the vendor's library queues by itself, and where there is none
NumPy computes on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gpuarray import linalg
from gpuarray.array import Array
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.inverses import Lstsq, MatrixPinv
from gpuarray.compiler.ops.nlinalg import QR, SVD, Det, Eig, Eigh, Eigvalsh
from gpuarray.compiler.ops.slinalg import Cholesky, Expm, exponential
from gpuarray.compiler.ops.solving import MatrixInverse, Solve
from gpuarray.creation import asarray, eye, full_like
from gpuarray.grids import tril, triu

Options = dict[str, Any]

NAMES: dict[type[Any], str] = {
    Cholesky: "cholesky",
    Det: "det",
    Eig: "eig",
    Eigh: "eigh",
    Eigvalsh: "eigvalsh",
    Expm: "expm",
    Lstsq: "lstsq",
    MatrixInverse: "inv",
    MatrixPinv: "pinv",
    QR: "qr",
    SVD: "svd",
    Solve: "solve",
}
"""The step function of each op; the op's properties are its options."""


@lowers(*NAMES)
def lower(op: Any, node: Apply, k: Lowerer) -> None:
    """A call on real arrays."""
    name = next(name for cls, name in NAMES.items() if isinstance(op, cls))
    host = next(cls for cls in NAMES if isinstance(op, cls))
    options = {each: getattr(op, each) for each in host.__props__}
    k.call(node, name, node.inputs, options, recorded=False)


@step_function("cholesky")
def cholesky(x: Array, *, lower: bool, on_error: str) -> Any:
    """The lower triangle, or the upper one; nan where that is asked for."""
    try:
        found = linalg.cholesky(x if lower else x.mT)
        if on_error == "nan":
            x.context.sync()
    except linalg.LinAlgError:
        if on_error == "raise":
            raise
        return full_like(x, np.nan)
    return found if lower else found.mT


@step_function("det")
def det(x: Array) -> Any:
    """The determinants."""
    return linalg.det(x)


@step_function("eig")
def eig(x: Array) -> Any:
    """Eigenvalues and eigenvectors."""
    return tuple(linalg.eig(x))


@step_function("eigh")
def eigh(x: Array, *, UPLO: str) -> Any:
    """Eigenvalues and eigenvectors, of one triangle."""
    return tuple(linalg.eigh(x, UPLO))


@step_function("eigvalsh")
def eigvalsh(x: Array, *, UPLO: str) -> Any:
    """Eigenvalues, of one triangle."""
    return linalg.eigvalsh(x, UPLO)


@step_function("expm")
def expm(x: Array) -> Any:
    """The exponentials; reads the largest norm, which the scaling depends on."""
    norm = 0.0
    if x.size:
        norm = float(abs(x).sum(axis=-2).max())
    identity = eye(x.shape[-1], dtype=x.dtype, device=x.context)
    return exponential(x, norm, identity, linalg.matmul, linalg.solve)


@step_function("lstsq")
def lstsq(x: Array, y: Array, *, rcond: float | None) -> Any:
    """Solution, sums of squares, rank and singular values."""
    found, left, rank, s = linalg.lstsq(x, y, rcond)
    return found, left, asarray(np.int64(rank), context=x.context), s


@step_function("inv")
def inv(x: Array) -> Any:
    """The inverses."""
    return linalg.inv(x)


@step_function("pinv")
def pinv(x: Array, *, rcond: float | None) -> Any:
    """The pseudo-inverses."""
    return linalg.pinv(x, rcond)


@step_function("qr")
def qr(x: Array, *, mode: str) -> Any:
    """The factors that the mode asks for."""
    found = linalg.qr(x, mode)  # type: ignore[arg-type]
    return found if mode == "r" else tuple(found)


@step_function("svd")
def svd(x: Array, *, full_matrices: bool, compute_uv: bool) -> Any:
    """The factors, or the singular values alone."""
    found = linalg.svd(x, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


@step_function("solve")
def solve(a: Array, b: Array, *, A_structure: str) -> Any:
    """The solution; of a triangle the rest is not read."""
    if A_structure.endswith("triangular"):
        a = (tril if A_structure.startswith("lower") else triu)(a)
    return linalg.solve(a, b)
