"""Matrix factorizations and solvers, by the array package's linalg.

Plans pause for them: the vendor's library queues by itself, and where there is none
NumPy computes on the host. In a file they are kernels of the library's own, with one
work item for a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gpuarray import linalg
from gpuarray._creation.conversion import asarray
from gpuarray._creation.filled import eye, full_like
from gpuarray._creation.twodim_base import tril, triu
from gpuarray._kernels.codegen import literal
from gpuarray.array import Array
from gpuarray.compiler import plan as p
from gpuarray.compiler.gpukernels.bodies import Steps, body_of
from gpuarray.compiler.gpukernels.calls import step_function
from gpuarray.compiler.gpukernels.linalg.products import bits, product
from gpuarray.compiler.gpukernels.registry import Lowerer, lowers
from gpuarray.compiler.graph.core import Apply
from gpuarray.compiler.ops.fused.row_steps import Fold
from gpuarray.compiler.ops.linalg.inverses import Lstsq, MatrixPinv
from gpuarray.compiler.ops.linalg.nlinalg import (
    COMPLEX,
    QR,
    REAL,
    SVD,
    Det,
    Eig,
    Eigh,
    Eigvalsh,
)
from gpuarray.compiler.ops.linalg.slinalg import Cholesky, Expm, exponential
from gpuarray.compiler.ops.linalg.solving import MatrixInverse, Solve

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
    """Lower to a pause with a call on real arrays."""
    name = next(name for cls, name in NAMES.items() if isinstance(op, cls))
    host = next(cls for cls in NAMES if isinstance(op, cls))
    options = {option: getattr(op, option) for option in host.__props__}
    k.call(node, name, node.inputs, options, recorded=False)


@step_function("cholesky")
def cholesky(x: Array, *, lower: bool, on_error: str) -> Any:
    """Return the lower factor, or the upper one; nan on failure if asked for."""
    try:
        factor = linalg.cholesky(x if lower else x.mT)
        if on_error == "nan":
            x.context.sync()
    except linalg.LinAlgError:
        if on_error == "raise":
            raise
        return full_like(x, np.nan)
    return factor if lower else factor.mT


@step_function("det")
def det(x: Array) -> Any:
    """Return the determinants."""
    return linalg.det(x)


@step_function("eig")
def eig(x: Array) -> Any:
    """Return eigenvalues and eigenvectors."""
    return tuple(linalg.eig(x))


@step_function("eigh")
def eigh(x: Array, *, UPLO: str) -> Any:
    """Return eigenvalues and eigenvectors, read from one triangle."""
    return tuple(linalg.eigh(x, UPLO))


@step_function("eigvalsh")
def eigvalsh(x: Array, *, UPLO: str) -> Any:
    """Return eigenvalues, read from one triangle."""
    return linalg.eigvalsh(x, UPLO)


@step_function("expm")
def expm(x: Array) -> Any:
    """Return the exponentials; waits for the largest norm, which sets the scaling."""
    norm = 0.0
    if x.size:
        norm = float(abs(x).sum(axis=-2).max())
    identity = eye(x.shape[-1], dtype=x.dtype, device=x.context)
    return exponential(x, norm, identity, linalg.matmul, linalg.solve)


@step_function("lstsq")
def lstsq(x: Array, y: Array, *, rcond: float | None) -> Any:
    """Return solution, sums of squares, rank and singular values."""
    solution, left, rank, s = linalg.lstsq(x, y, rcond)
    return solution, left, asarray(np.int64(rank), context=x.context), s


@step_function("inv")
def inv(x: Array) -> Any:
    """Return the inverses."""
    return linalg.inv(x)


@step_function("pinv")
def pinv(x: Array, *, rcond: float | None) -> Any:
    """Return the pseudo-inverses."""
    return linalg.pinv(x, rcond)


@step_function("qr")
def qr(x: Array, *, mode: str) -> Any:
    """Return the factors that the mode asks for."""
    factors = linalg.qr(x, mode)  # type: ignore[arg-type]
    return factors if mode == "r" else tuple(factors)


@step_function("svd")
def svd(x: Array, *, full_matrices: bool, compute_uv: bool) -> Any:
    """Return the factors, or the singular values alone."""
    factors = linalg.svd(x, full_matrices, compute_uv)
    return tuple(factors) if compute_uv else factors


@step_function("solve")
def solve(a: Array, b: Array, *, A_structure: str) -> Any:
    """Return the solution; the other triangle of a triangular matrix is not read."""
    if A_structure.endswith("triangular"):
        a = (tril if A_structure.startswith("lower") else triu)(a)
    return linalg.solve(a, b)


# ---- in files ----

KINDS = "solve", "det", "cholesky", "qr", "eigh", "svd", "pinv", "expm", "eig"
"""The factorizations of the library's own kernels, in the order of its enumeration."""
LOWER, UPPER, NAN, FULL = 1, 2, 4, 8
"""The routines' flags."""
FAILURES = {
    "solve": "a matrix is singular",
    "cholesky": "a matrix is not positive definite",
}
"""The reason of a failure; all others did not converge."""


def is_factorized(s: Steps, x: int) -> bool:
    """True if the library's own kernels have the dtype."""
    return s.array(x).dtype in REAL.values() or s.array(x).dtype in REAL


def stack_of(s: Steps, x: int) -> tuple[int, list[int], int]:
    """Return the matrices along one axis, the batch's lengths and their product."""
    ndim = s.array(x).ndim
    lengths = [s.length(x, axis) for axis in range(ndim)]
    count = s.integer(1)
    for length in lengths[:-2]:
        count = s.arithmetic("mul", count, length)
    return s.reshape(x, [count, *lengths[-2:]]), lengths[:-2], count


def factorize(
    s: Steps,
    kind: str,
    ins: Sequence[int],
    batch: Sequence[int],
    ranks: Sequence[int],
    flags: int = 0,
    cutoff: float = -1.0,
    name: str = "",
    real: int = -1,
) -> list[int]:
    """Add a routine on stacks; return its results, with the batch's axes.

    The result ``real`` is of real numbers, also where the matrices are complex.
    """
    dtype = s.array(ins[0]).dtype
    dtypes = [dtype] * len(ranks)
    if real >= 0:
        dtypes[real] = REAL.get(dtype, dtype)
    results = [
        p.ArrayValue(result_dtype, (False,) * (rank + 1))
        for result_dtype, rank in zip(dtypes, ranks, strict=True)
    ]
    fields = {
        "ins": tuple(ins),
        "name": "matrices",
        "params": (KINDS.index(kind), flags, bits(cutoff)[0]),
        "texts": (f"{name or kind}: {FAILURES.get(kind, 'it does not converge')}",),
    }
    first = s.add(p.Routine, *results, label=name or kind, **fields)
    reshaped = []
    for place, rank in enumerate(ranks):
        number = first + place
        sides = [s.length(number, axis) for axis in range(1, rank + 1)]
        reshaped.append(s.reshape(number, [*batch, *sides]))
    return reshaped


def square(s: Steps, x: int, name: str) -> None:
    """Fail unless the matrices are square."""
    last = s.array(x).ndim
    sides = s.arithmetic("eq", s.length(x, last - 2), s.length(x, last - 1))
    s.require(x, [sides], f"{name}: the matrices are not square")


def swapped(s: Steps, x: int) -> int:
    """Return the matrices transposed."""
    ndim = s.array(x).ndim
    return s.view(x, [*range(ndim - 2), ndim - 1, ndim - 2])


def decomposed(
    s: Steps, kind: str, x: int, ranks: Sequence[int], **options: Any
) -> list[int] | None:
    """Add a factorization of the matrices; None for a dtype without one."""
    if not is_factorized(s, x):
        return None
    if kind not in ("qr", "svd", "pinv"):
        square(s, x, options.get("name") or kind)
    stack, batch, _ = stack_of(s, x)
    return factorize(s, kind, [stack], batch, ranks, **options)


@body_of("inv", for_files=True)
def inv_steps(s: Steps, x: int) -> list[int] | None:
    """Add the inverses: the solutions for identity matrices."""
    return decomposed(s, "solve", x, [2], name="inv")


@body_of("det", for_files=True)
def det_steps(s: Steps, x: int) -> list[int] | None:
    """Add the determinants: products of the pivots."""
    return decomposed(s, "det", x, [0])


@body_of("expm", for_files=True)
def expm_steps(s: Steps, x: int) -> list[int] | None:
    """Add the exponentials: a series, squared."""
    return decomposed(s, "expm", x, [2])


@body_of("cholesky", for_files=True)
def cholesky_steps(s: Steps, x: int, *, lower: bool, on_error: str) -> int | None:
    """Add the factors; nan for all where one fails, if that is asked for."""
    flags = NAN if on_error == "nan" else 0
    factors = decomposed(s, "cholesky", x if lower else swapped(s, x), [2], flags=flags)
    if factors is None:
        return None
    (factor,) = factors
    if on_error == "nan" and s.array(x).ndim > 2:
        factor = nan_for_all(s, factor)
    return factor if lower else swapped(s, factor)


def nan_for_all(s: Steps, x: int) -> int:
    """Return ``x``, or nan everywhere if it is nan anywhere."""
    value = s.array(x)
    is_complex = value.dtype in REAL
    is_nan = "ga_cisnan(x)" if is_complex else "x != x"
    fold = Fold("add", 0, "int64", "int64", of_none=True)
    axes = tuple(range(value.ndim))
    count = s.reduction([fold], [(f"({is_nan})", "bool")], ["x"], [x], axes)
    nan = literal(np.nan, np.dtype(value.dtype))
    return s.launch(
        [x, count],
        [value.dtype],
        f"o0 = n > 0 ? {nan} : x;",
        label="nan",
        names=("x", "n"),
    )


@body_of("eigh", for_files=True)
def eigh_steps(s: Steps, x: int, *, UPLO: str) -> list[int] | None:
    """Add Jacobi's method."""
    return decomposed(s, "eigh", x, [1, 2], flags=UPPER if UPLO == "U" else 0, real=0)


@body_of("eig", for_files=True)
def eig_steps(s: Steps, x: int) -> list[int] | None:
    """Add the shifted QR method, on complex numbers."""
    dtype = s.array(x).dtype
    return decomposed(s, "eig", s.cast(x, COMPLEX.get(dtype, dtype)), [1, 2])


@body_of("eigvalsh", for_files=True)
def eigvalsh_steps(s: Steps, x: int, *, UPLO: str) -> int | None:
    """Add Jacobi's method for the eigenvalues alone."""
    pair = eigh_steps(s, x, UPLO=UPLO)
    return None if pair is None else pair[0]


@body_of("qr", for_files=True)
def qr_steps(s: Steps, x: int, *, mode: str) -> list[int] | None:
    """Add the QR factorization by Householder reflections."""
    flags = FULL if mode == "complete" else 0
    parts = decomposed(s, "qr", x, [2, 2, 2, 1], flags=flags)
    if parts is None:
        return None
    q, r, reflectors, tau = parts
    if mode == "raw":
        return [swapped(s, reflectors), tau]
    return [r] if mode == "r" else [q, r]


@body_of("svd", for_files=True)
def svd_steps(
    s: Steps, x: int, *, full_matrices: bool, compute_uv: bool
) -> list[int] | None:
    """Add one-sided Jacobi, which rotates columns."""
    flags = FULL if full_matrices and compute_uv else 0
    factors = decomposed(s, "svd", x, [2, 1, 2], flags=flags, real=1)
    return factors if compute_uv or factors is None else factors[1:2]


@body_of("pinv", for_files=True)
def pinv_steps(s: Steps, x: int, *, rcond: float | None) -> list[int] | None:
    """Add the pseudo-inverses, from singular values."""
    cutoff = -1.0 if rcond is None else float(rcond)
    return decomposed(s, "pinv", x, [2], cutoff=cutoff)


@body_of("solve", for_files=True)
def solve_steps(s: Steps, a: int, b: int, *, A_structure: str) -> int | None:
    """Add Gaussian elimination; the batches of both sides broadcast."""
    if not is_factorized(s, a):
        return None
    square(s, a, "solve")
    is_vector = s.array(b).ndim == 1
    right = s.view(b, (0, -1)) if is_vector else b
    one = s.integer(1)
    ndim = s.array(a).ndim - 2
    batch = [s.wider(s.length(a, k), s.length(right, k), one) for k in range(ndim)]
    wide = []
    for operand in (a, right):
        sides = [s.length(operand, ndim), s.length(operand, ndim + 1)]
        wide.append(stack_of(s, s.broadcast(operand, [*batch, *sides]))[0])
    structures = {"lower_triangular": LOWER, "upper_triangular": UPPER}
    flags = structures.get(A_structure, 0)
    (solution,) = factorize(s, "solve", wide, batch, [2], flags)
    return s.index(solution, [(), None], [s.integer(0)]) if is_vector else solution


@body_of("lstsq", for_files=True)
def lstsq_steps(s: Steps, x: int, y: int, *, rcond: float | None) -> list[int] | None:
    """Add the solution from singular values; the plan waits for the rank."""
    factors = decomposed(s, "svd", x, [2, 1, 2], real=1, name="lstsq")
    if factors is None:
        return None
    m, n = s.length(x, 0), s.length(x, 1)
    s.require(x, [s.arithmetic("eq", m, s.length(y, 0))], "lstsq: b has other rows")
    u, values, vh = factors
    limit = cutoff_of(s, values, m, n, rcond)
    used = s.launch([values, limit], ["bool"], "o0 = w > t;", label="rank", names=WT)
    rank = total(s, used)
    is_vector = s.array(y).ndim == 1
    right = s.view(y, (0, -1)) if is_vector else y
    inner = times(s, adjoint(s, u), right)
    scaled = s.launch(
        [inner, s.view(values, (0, -1)), limit],
        [s.array(x).dtype],
        divided(s.array(x).dtype),
        label="lstsq",
        names=("x", *WT),
    )
    solution = times(s, adjoint(s, vh), scaled)
    gap = s.row("sub", right, times(s, x, solution))
    left = squares(s, gap)
    is_full = s.arithmetic("eq", s.read(rank), n)
    is_high = s.arithmetic("lt", n, m)
    count = s.arithmetic(
        "mul", s.arithmetic("mul", is_full, is_high), s.length(left, 0)
    )
    left = s.index(left, [("stop",)], [count])
    if is_vector:
        solution = s.index(solution, [(), None], [s.integer(0)])
    return [solution, left, rank, values]


WT = "w", "t"
"""Names of a singular value and of the cutoff, in texts."""


def cutoff_of(s: Steps, values: int, m: int, n: int, rcond: float | None) -> int:
    """Return the cutoff under which singular values count as 0."""
    dtype = np.dtype(s.array(values).dtype)
    fold = Fold("maximum", 0, str(dtype), str(dtype), of_none=True)
    most = s.reduction([fold], [("w", str(dtype))], ["w"], [values], (0,))
    rate = float(np.finfo(dtype).eps) if rcond is None else float(rcond)
    text = literal(rate, dtype)
    larger = s.arithmetic("maximum", m, n) if rcond is None else s.integer(1)
    text = f"o0 = w * ({text} * n);"
    return s.launch(
        [most, larger], [str(dtype)], text, label="cutoff", names=("w", "n")
    )


def divided(dtype: str) -> str:
    """Return the text of a quotient by a singular value, 0 below the cutoff."""
    if dtype in REAL:
        return "o0 = w > t ? ga_complex(x.x / w, x.y / w) : ga_complex(0 * w, 0 * w);"
    return "o0 = w > t ? x / w : 0;"


def total(s: Steps, x: int) -> int:
    """Return the number of true elements of a vector."""
    fold = Fold("add", 0, "int64", "int64", of_none=True)
    return s.reduction([fold], [("x", "bool")], ["x"], [x], (0,))


def squares(s: Steps, x: int) -> int:
    """Return the sum of squared absolute values of each column."""
    dtype = s.array(x).dtype
    real = REAL.get(dtype, dtype)
    text = "(x.x * x.x + x.y * x.y)" if dtype in REAL else "(x * x)"
    fold = Fold("add", 0, real, real, of_none=True)
    return s.reduction([fold], [(text, real)], ["x"], [x], (0,))


def adjoint(s: Steps, x: int) -> int:
    """Return the conjugate transpose."""
    dtype = s.array(x).dtype
    if dtype in REAL:
        x = s.launch([x], [dtype], "o0 = ga_conj(x);", label="conj", names=("x",))
    return swapped(s, x)


def times(s: Steps, a: int, b: int) -> int:
    """Return the product of two matrices."""
    dtype = s.array(a).dtype
    out = s.routine("empty", [s.length(a, 0), s.length(b, 1)], dtype, 2)
    return product(s, "gemm", a, b, out)
