"""Rows of the case table: linear algebra."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f64, i32
from cases_products import BATCH_OF_ONE, regular, small, spd
from gpuarray.compiler.ops.linalg.solving import Solve

# ---- linear algebra ----


def unsigned(factors):
    """The absolute values of factors: each library has its own signs of vectors."""
    return tuple(abs(factor) for factor in factors)


for shape in ((3, 3), (2, 3, 3)):
    ndim = len(shape)
    a = regular(*shape)
    case(f"inverse_{ndim}", T.nlinalg.matrix_inverse, np.linalg.inv, a)
    case(f"det_{ndim}", T.nlinalg.det, np.linalg.det, a)
    positive = np.broadcast_to(spd(3), shape) + np.zeros(shape)
    case(f"cholesky_{ndim}", T.slinalg.cholesky, np.linalg.cholesky, positive)
    case(
        f"eigvalsh_{ndim}",
        lambda x: T.slinalg.eigvalsh(x, None),
        np.linalg.eigvalsh,
        positive,
    )
    case(
        f"eigh_{ndim}",
        lambda x: unsigned(T.nlinalg.eigh(x)),
        lambda x: unsigned(np.linalg.eigh(x)),
        positive,
    )
    case(
        f"svd_values_{ndim}",
        lambda x: T.nlinalg.svd(x, compute_uv=False),
        lambda x: np.linalg.svd(x, compute_uv=False),
        f64(*shape),
    )
    case(f"solve_{ndim}", T.slinalg.solve, np.linalg.solve, a, f64(*shape[:-1], 2))
    case(
        f"expm_{ndim}",
        T.slinalg.expm,
        lambda x: np.stack([series(each) for each in x.reshape(-1, 3, 3)]).reshape(
            x.shape
        ),
        a,
    )


def series(a):
    """The exponential of a matrix by its series, which converges in 60 terms here."""
    term = total = np.eye(len(a))
    for k in range(1, 60):
        term = term @ a / k
        total = total + term
    return total


case(
    "inverse_f4",
    T.nlinalg.matrix_inverse,
    np.linalg.inv,
    regular(3, 3).astype("f4"),
    has_gradient=False,
)
case(
    "det_f4",
    T.nlinalg.det,
    np.linalg.det,
    regular(3, 3).astype("f4"),
    has_gradient=False,
)
case(
    "det_int",
    T.nlinalg.det,
    lambda x: np.linalg.det(x.astype("f8")),
    i32(3, 3),
    has_gradient=False,
)
COMPLEX = regular(3, 3) + 0.3j * f64(3, 3)
HERMITIAN = spd(3) + 0.1j * (f64(3, 3) - f64(3, 3).T)
for name, build, expected, a in (
    ("inverse", T.nlinalg.matrix_inverse, np.linalg.inv, COMPLEX),
    ("det", T.nlinalg.det, np.linalg.det, COMPLEX),
    ("pinv", T.nlinalg.pinv, np.linalg.pinv, COMPLEX),
    ("cholesky", T.slinalg.cholesky, np.linalg.cholesky, HERMITIAN),
    ("eigvalsh", T.slinalg.eigvalsh, np.linalg.eigvalsh, HERMITIAN),
    ("expm", T.slinalg.expm, lambda x: series(x), COMPLEX),
):
    case(f"{name}_complex", build, expected, a, has_gradient=False)
case(
    "eigh_complex",
    lambda x: T.nlinalg.eigh(x)[0],
    lambda x: np.linalg.eigh(x)[0],
    HERMITIAN,
    has_gradient=False,
)
case(
    "eig",
    lambda x: unsigned(T.nlinalg.eig(x)),
    lambda x: unsigned(np.linalg.eig(x)),
    spd(3) + np.triu(f64(3, 3)),
    has_gradient=False,
)
case(
    "solve_complex",
    T.slinalg.solve,
    np.linalg.solve,
    COMPLEX,
    f64(3),
    has_gradient=False,
)
case(
    "cholesky_upper",
    lambda x: T.slinalg.cholesky(x, lower=False),
    lambda x: np.linalg.cholesky(x).T,
    spd(3),
)
case(
    "cholesky_nan",
    lambda x: T.slinalg.Cholesky(on_error="nan")(x),
    lambda x: np.full((3, 3), np.nan),
    -spd(3),
    has_gradient=False,
)
case(
    "eigh_upper",
    lambda x: unsigned(T.nlinalg.eigh(x, "U")),
    lambda x: unsigned(np.linalg.eigh(x, "U")),
    spd(4),
)
case(
    "eigh_values",
    lambda x: T.nlinalg.eigh(x)[0],
    lambda x: np.linalg.eigh(x)[0],
    spd(4),
)
case(
    "eigvalsh_generalized",
    T.slinalg.eigvalsh,
    lambda a, b: np.sort(np.linalg.eigvals(np.linalg.solve(b, a)).real),
    spd(4) + 1,
    spd(4) + np.diag([2.0, 5, 1, 3]),
)
for name, shape in {"tall": (4, 3), "wide": (3, 4), "square": (3, 3)}.items():
    a = f64(*shape)
    case(
        f"qr_{name}",
        lambda x: unsigned(T.nlinalg.qr(x)),
        lambda x: unsigned(np.linalg.qr(x)),
        a,
    )
    case(
        f"qr_r_{name}",
        lambda x: abs(T.nlinalg.qr(x, "r")),
        lambda x: abs(np.linalg.qr(x, "r")),
        a,
    )
    for mode in ("complete", "raw"):
        case(
            f"qr_{mode}_{name}",
            lambda x, mode=mode: unsigned(T.nlinalg.qr(x, mode)),
            lambda x, mode=mode: unsigned(np.linalg.qr(x, mode)),
            a,
            has_gradient=False,
        )
    case(
        f"svd_{name}",
        lambda x: unsigned(T.nlinalg.svd(x, full_matrices=False)),
        lambda x: unsigned(np.linalg.svd(x, False)),
        a,
    )
    case(
        f"svd_full_{name}",
        lambda x: unsigned(T.nlinalg.svd(x)),
        lambda x: unsigned(np.linalg.svd(x)),
        a,
        has_gradient=False,
    )
    case(f"pinv_{name}", T.nlinalg.pinv, np.linalg.pinv, a)
case(
    "pinv_rcond",
    lambda x: T.nlinalg.pinv(x, 0.3),
    lambda x: np.linalg.pinv(x, 0.3),
    f64(3, 4),
    has_gradient=False,
)


def lstsq(a, b):
    x, left, rank, s = np.linalg.lstsq(a, b)
    return x, left, np.array(rank, "int64"), s


case("lstsq", T.nlinalg.lstsq, lstsq, f64(5, 3), f64(5), has_gradient=False)
case(
    "lstsq_op",
    lambda a, b: T.nlinalg.Lstsq()(a, b, 0.1),
    lambda a, b: (
        (found := np.linalg.lstsq(a, b, 0.1))[0],
        found[1],
        np.array(found[2], "int64"),
        found[3],
    ),
    f64(5, 3),
    f64(5, 2),
    has_gradient=False,
)
case(
    "lstsq_solution",
    lambda a, b: T.nlinalg.lstsq(a, b)[0],
    lambda a, b: lstsq(a, b)[0],
    f64(5, 3),
    f64(5),
)
case(
    "lstsq_solutions",
    lambda a, b: T.nlinalg.lstsq(a, b)[0],
    lambda a, b: lstsq(a, b)[0],
    f64(3, 4),
    f64(3, 2),
)
for n in (-2, 0, 1, 2, 5):
    case(
        f"matrix_power_{n}",
        lambda x, n=n: T.nlinalg.matrix_power(x, n),
        lambda x, n=n: np.linalg.matrix_power(x, n),
        regular(3, 3) / 2,
    )
case(
    "matrix_dot",
    T.nlinalg.matrix_dot,
    lambda a, b, c: a @ b @ c,
    f64(2, 3),
    f64(3, 4),
    f64(4, 2),
)
case(
    "tensorinv",
    T.nlinalg.tensorinv,
    np.linalg.tensorinv,
    regular(6, 6).reshape(2, 3, 3, 2),
)
case(
    "tensorinv_1",
    lambda x: T.nlinalg.tensorinv(x, 1),
    lambda x: np.linalg.tensorinv(x, 1),
    regular(6, 6).reshape(6, 3, 2),
)
case(
    "tensorsolve",
    T.nlinalg.tensorsolve,
    np.linalg.tensorsolve,
    regular(6, 6).reshape(2, 3, 3, 2),
    f64(2, 3),
)
case(
    "tensorsolve_axes",
    lambda a, b: T.nlinalg.tensorsolve(a, b, (0, 2)),
    lambda a, b: np.linalg.tensorsolve(a, b, (0, 2)),
    regular(6, 6).reshape(2, 6, 3).swapaxes(0, 1).swapaxes(0, 1),
    f64(6),
)
case("solve_vector", T.slinalg.solve, np.linalg.solve, regular(3, 3), f64(3))
case(
    "solve_symmetric",
    T.slinalg.solve_symmetric,
    np.linalg.solve,
    spd(3),
    f64(3),
)
case(
    "solve_lower",
    T.slinalg.solve_lower_triangular,
    lambda a, b: np.linalg.solve(np.tril(a), b),
    regular(3, 3),
    f64(3),
)
case(
    "solve_upper",
    T.slinalg.solve_upper_triangular,
    lambda a, b: np.linalg.solve(np.triu(a), b),
    regular(3, 3),
    f64(3, 2),
)
case(
    "solve_mixed",
    Solve(),
    np.linalg.solve,
    regular(3, 3).astype("f4"),
    f64(3),
    has_gradient=False,
)
case(
    "solve_broadcast",
    T.slinalg.solve,
    np.linalg.solve,
    regular(1, 3, 3),
    f64(2, 3, 2),
    patterns=(BATCH_OF_ONE, (False,) * 3),
)
case("expm_large", T.slinalg.expm, series, small(3, 3) * 30, has_gradient=False)
case(
    "expm_f4",
    T.slinalg.expm,
    lambda x: series(x).astype("f4"),
    small(3, 3).astype("f4"),
    has_gradient=False,
)
