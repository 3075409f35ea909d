"""Rows of the case table: products, linear algebra, Fourier transforms, networks."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f32, f64, i32
from gpuarray.compiler.ops.linalg.products import BatchedGemm, Ger
from gpuarray.compiler.ops.linalg.solving import Solve
from gpuarray.compiler.ops.nnet.nnet import FirstOf, FirstRows, InBounds, pick, spread

MATRIX, COL, ROW = (False, False), (False, True), (True, False)
BATCH_OF_ONE = (True, False, False)


def spd(n):
    """A symmetric positive definite matrix of different eigenvalues."""
    a = f64(n, n)
    return a @ a.T / n + np.diag(np.arange(1.0, n + 1))


def regular(*shape):
    """Square matrices that are far from singular."""
    return f64(*shape) / shape[-1] + 3 * np.eye(shape[-1])


def small(*shape):
    return f64(*shape) / 10


# ---- products ----

SHAPES = {
    "31": ((2, 3, 4), (4,)),
    "13": ((3,), (2, 3, 4)),
    "32": ((2, 3, 4), (4, 2)),
    "23": ((3, 4), (2, 4, 3)),
    "33": ((2, 3, 4), (3, 4, 2)),
    "empty": ((2, 0, 3), (3, 2)),
}
for name, (left, right) in SHAPES.items():
    case(f"dot_{name}", T.dot, np.dot, f64(*left), f64(*right))
for dtype in ("bool", "int8", "uint16", "int64", "float32"):
    a, b = (i32(3, 4) % 5).astype(dtype), (i32(4, 2) % 3).astype(dtype)
    case(f"dot_{dtype}", T.dot, np.dot, a, b, has_gradient=False)
    case(
        f"matmul_{dtype}",
        T.matmul,
        np.matmul,
        np.stack([a, a]),
        np.stack([b, b + b]),
        has_gradient=False,
    )
case(
    "dot_float16",
    T.dot,
    lambda a, b: (a.astype("f4") @ b.astype("f4")).astype("f2"),
    f64(3, 4).astype("f2"),
    f64(4, 2).astype("f2"),
    has_gradient=False,
)
case(
    "dot_bfloat16",
    T.dot,
    lambda a, b: (a.astype("f4") @ b.astype("f4")).astype(a.dtype),
    f64(3, 4).astype("bfloat16"),
    f64(4, 2).astype("bfloat16"),
    has_gradient=False,
)
for dtype in ("complex64", "complex128"):
    a, b = (f64(3, 4) + 1j * f64(3, 4)[::-1]).astype(dtype), f64(4, 2).astype(dtype)
    case(f"dot_{dtype}", T.dot, np.dot, a, b, has_gradient=False)
    case(f"dot_vector_{dtype}", T.dot, np.dot, a, b[:, 0], has_gradient=False)
    case(f"dot_vectors_{dtype}", T.dot, np.dot, a[0], b[:, 0], has_gradient=False)
    case(
        f"matmul_{dtype}",
        T.matmul,
        np.matmul,
        np.stack([a, a]),
        np.stack([b, -b]),
        has_gradient=False,
    )
    case(
        f"norm_{dtype}",
        lambda x: T.nlinalg.norm(x, axis=1),
        lambda x: np.linalg.norm(x, axis=1),
        a,
        has_gradient=False,
    )
STACKS = {
    "batched": ((2, 3, 4), (2, 4, 2)),
    "vector_left": ((4,), (2, 4, 3)),
    "vector_right": ((2, 3, 4), (4,)),
    "matrix_left": ((3, 4), (2, 4, 2)),
    "matrix_right": ((2, 3, 4), (4, 2)),
    "four": ((2, 1, 3, 4), (2, 1, 4, 2)),
    "of_none": ((0, 3, 4), (0, 4, 2)),
}
for name, (left, right) in STACKS.items():
    case(f"matmul_{name}", lambda a, b: a @ b, np.matmul, f64(*left), f64(*right))
case(
    "matmul_broadcast",
    T.matmul,
    np.matmul,
    f64(1, 3, 4),
    f64(2, 4, 2),
    patterns=(BATCH_OF_ONE, (False,) * 3),
)
case("outer_flattens", T.outer, np.outer, f64(2, 2), f64(3))
AXES = {
    "2": (2, (2, 3, 4), (3, 4, 5)),
    "1": (1, (2, 3), (3, 2, 2)),
    "0": (0, (2, 3), (2,)),
    "lists": ([[0, 2], [1, 0]], (2, 3, 4), (4, 2, 3)),
    "numbers": ([1, -1], (2, 3), (2, 3)),
    "all": ([[0, 1], [0, 1]], (2, 3), (2, 3)),
}
for name, (axes, left, right) in AXES.items():
    case(
        f"tensordot_{name}",
        lambda a, b, axes=axes: T.tensordot(a, b, axes),
        lambda a, b, axes=axes: np.tensordot(a, b, axes),
        f64(*left),
        f64(*right),
    )
BATCHED = {
    "33": ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
    "22": ("bi,bi->b", (2, 3), (2, 3)),
    "23": ("bi,bij->bj", (2, 3), (2, 3, 4)),
    "32": ("bij,bj->bi", (2, 3, 4), (2, 4)),
    "12": ("b,bi->bi", (2,), (2, 3)),
    "31": ("bij,b->bij", (2, 3, 4), (2,)),
    "43": ("bxij,bjk->bxik", (2, 2, 3, 4), (2, 4, 2)),
}
for name, (subscripts, left, right) in BATCHED.items():
    case(
        f"batched_dot_{name}",
        T.batched_dot,
        lambda a, b, subscripts=subscripts: np.einsum(subscripts, a, b),
        f64(*left),
        f64(*right),
    )
case(
    "batched_tensordot",
    T.batched_tensordot,
    lambda a, b: np.einsum("bxij,bijy->bxy", a, b),
    f64(2, 3, 2, 4),
    f64(2, 2, 4, 3),
)
case(
    "batched_tensordot_lists",
    lambda a, b: T.batched_tensordot(a, b, [[1, 3], [2, 1]]),
    lambda a, b: np.einsum("bixj,bjiy->bxy", a, b),
    f64(2, 3, 2, 4),
    f64(2, 4, 3, 2),
)
case("kron_22", T.kron, np.kron, f64(2, 3), f64(3, 2))
case("kron_12", T.kron, np.kron, f64(3), f64(2, 2))
case("kron_11", T.kron, np.kron, f64(3), f64(2))
case(
    "ger", Ger(0.5), lambda a, x, y: a + 0.5 * np.outer(x, y), f64(2, 3), f64(2), f64(3)
)
for ta in (False, True):
    for tb in (False, True):
        case(
            f"batched_gemm_{ta}_{tb}",
            BatchedGemm(0.5, 3.0, ta, tb),
            lambda c, a, b, ta=ta, tb=tb: (
                3 * c
                + 0.5
                * (a.swapaxes(1, 2) if ta else a)
                @ (b.swapaxes(1, 2) if tb else b)
            ),
            f64(2, 3, 2),
            f64(2, 4, 3) if ta else f64(2, 3, 4),
            f64(2, 2, 4) if tb else f64(2, 4, 2),
        )

# ---- norms ----

for order in (0, 1, 2, 3, 0.5, np.inf, -np.inf):
    case(
        f"norm_{order}",
        lambda x, order=order: T.nlinalg.norm(x, order),
        lambda x, order=order: np.linalg.norm(x, order),
        f64(5),
    )
    case(
        f"norm_method_{order}",
        lambda x, order=order: x.norm(order, axis=1, keepdims=True),
        lambda x, order=order: np.linalg.norm(x, order, 1, keepdims=True),
        f64(3, 4),
    )
for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
    case(
        f"matrix_norm_{order}",
        lambda x, order=order: T.nlinalg.norm(x, order),
        lambda x, order=order: np.linalg.norm(x, order),
        f64(3, 4),
    )
    case(
        f"matrix_norm_axes_{order}",
        lambda x, order=order: T.nlinalg.norm(x, order, (2, 0), True),
        lambda x, order=order: np.linalg.norm(x, order, (2, 0), True),
        f64(3, 2, 4),
    )
case("norm_all", T.nlinalg.norm, np.linalg.norm, f64(2, 3, 2))
case("norm_l2", lambda x: x.norm(2), np.linalg.norm, f64(3, 4))
case("norm_int", lambda x: x.norm(2), np.linalg.norm, i32(3), has_gradient=False)

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

# ---- Fourier transforms ----


def parts(spectrum):
    return np.stack([spectrum.real, spectrum.imag], -1)


def whole(x):
    return x[..., 0] + 1j * x[..., 1]


for n in (4, 5):
    for shape in ((2, n), (2, 3, n)):
        axes = tuple(range(1, len(shape)))
        count = int(np.prod(shape[1:]))
        for norm, scale in {None: 1, "ortho": count**-0.5, "no_norm": 1}.items():
            case(
                f"rfft_{len(shape)}_{n}_{norm}",
                lambda x, norm=norm: T.fft.rfft(x, norm),
                lambda x, axes=axes, scale=scale: (
                    parts(np.fft.rfftn(x, axes=axes)) * scale
                ),
                f64(*shape),
            )
        for norm, scale in {None: 1, "ortho": count**0.5, "no_norm": count}.items():
            case(
                f"irfft_{len(shape)}_{n}_{norm}",
                lambda x, norm=norm, n=n: T.fft.irfft(x, norm, is_odd=n % 2 == 1),
                lambda x, axes=axes, scale=scale, shape=shape: (
                    np.fft.irfftn(whole(x), shape[1:], axes) * scale
                ),
                f64(*shape[:-1], n // 2 + 1, 2),
            )
case(
    "rfft_f4",
    T.fft.rfft,
    lambda x: parts(np.fft.rfft(x)).astype("f4"),
    f32(2, 6),
    has_gradient=False,
)

# ---- places ----

for axis in (None, 0, 1, -1, (0, 2), (1, 2)):
    for name, function in {"argmax": np.argmax, "argmin": np.argmin}.items():
        case(
            f"{name}_{axis}",
            lambda x, name=name, axis=axis: getattr(x, name)(axis),
            lambda x, function=function, axis=axis: along(function, x, axis),
            f64(2, 3, 4),
            has_gradient=False,
        )


def along(function, x, axis):
    """Where an extremum over several axes is, counted in C order."""
    if not isinstance(axis, tuple):
        return function(x, axis)
    kept = [i for i in range(x.ndim) if i not in axis]
    moved = x.transpose([*kept, *axis])
    return function(moved.reshape(*moved.shape[: len(kept)], -1), -1)


case(
    "argmax_keepdims",
    lambda x: T.argmax(x, 1, keepdims=True),
    lambda x: np.argmax(x, 1, keepdims=True),
    f64(3, 4),
    has_gradient=False,
)
case(
    "argmax_ties",
    lambda x: T.argmax(x, 1),
    lambda x: np.argmax(x, 1),
    i32(3, 40) % 4,
    has_gradient=False,
)
case(
    "argmax_bool",
    lambda x: T.argmax(x > 0),
    lambda x: np.argmax(x > 0),
    f64(5),
    has_gradient=False,
)
case(
    "argmax_nan",
    lambda x: [T.argmax(x), T.argmin(x)],
    lambda x: (np.argmax(x), np.argmin(x)),
    np.array([1.0, np.nan, 3.0, np.nan, -2.0]),
    has_gradient=False,
)
case(
    "max_and_argmax",
    lambda x: T.max_and_argmax(x, 1),
    lambda x: (np.max(x, 1), np.argmax(x, 1)),
    f64(3, 4),
)
case(
    "max_and_argmax_all",
    T.max_and_argmax,
    lambda x: (np.max(x), np.argmax(x)),
    f64(3, 4),
)

# ---- networks ----


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


LABELS = np.array([2, 0, 3], "int32")
ROWS = np.arange(3)
nnet = T.nnet
for axis in (0, 1, -1):
    for shape in ((3, 4), (2, 3, 4)):
        case(
            f"softmax_{axis}_{len(shape)}",
            lambda x, axis=axis: nnet.softmax(x, axis),
            lambda x, axis=axis: softmax(x, axis),
            f64(*shape),
        )
        case(
            f"logsoftmax_{axis}_{len(shape)}",
            lambda x, axis=axis: nnet.logsoftmax(x, axis),
            lambda x, axis=axis: np.log(softmax(x, axis)),
            f64(*shape),
        )
case("softmax_vector", nnet.softmax, softmax, f64(4))
case("softmax_float32", nnet.softmax, softmax, f32(3, 4), has_gradient=False)
case(
    "softmax_float16",
    nnet.softmax,
    lambda x: softmax(x.astype("f4")).astype("f2"),
    f64(3, 4).astype("f2"),
    has_gradient=False,
)
case(
    "softmax_bfloat16",
    nnet.softmax,
    lambda x: softmax(x.astype("f4")).astype("bfloat16"),
    f64(3, 4).astype("bfloat16"),
    has_gradient=False,
)
case("softmax_large", nnet.softmax, softmax, f64(3, 4) * 1e4, has_gradient=False)
case(
    "logsoftmax_large",
    nnet.logsoftmax,
    lambda x: x - x.max(1, keepdims=True),
    f64(3, 4) * 1e4,
    has_gradient=False,
)
case("softmax_of_none", nnet.softmax, lambda x: x, f64(0, 3))
case("softmax_of_no_columns", nnet.softmax, lambda x: x, f64(2, 0))
case("logsoftmax_of_no_columns", nnet.logsoftmax, lambda x: x, f64(2, 0))
case(
    "softmax_of_no_rows",
    lambda x: nnet.softmax(x, axis=0),
    lambda x: x,
    f64(0, 3),
)
case(
    "softmax_with_bias",
    nnet.softmax_with_bias,
    lambda x, b: softmax(x + b),
    f64(3, 4),
    f64(4),
)
case("pick", pick, lambda x, y: x[ROWS, y], f64(3, 4), LABELS)
case("pick_negative", pick, lambda x, y: x[ROWS, y], f64(3, 4), LABELS - 4)
case("pick_unsigned", pick, lambda x, y: x[ROWS, y], f64(3, 4), LABELS.astype("uint8"))
case(
    "pick_3",
    pick,
    lambda x, y: np.take_along_axis(x, y[..., None], -1)[..., 0],
    f64(2, 3, 4),
    np.stack([LABELS, LABELS[::-1]]),
)
case(
    "spread",
    lambda g, y: spread(g, y, 5),
    lambda g, y: np.eye(5)[y] * g[:, None],
    f64(3),
    LABELS - 1,
)
case(
    "likelihood",
    lambda x, y: -T.log(nnet.softmax(x))[T.arange(y.shape[0]), y],
    lambda x, y: -np.log(softmax(x))[ROWS, y],
    f64(3, 4),
    LABELS,
)
case(
    "within",
    lambda y: InBounds()(y, 4),
    lambda y: np.int64(y % 4),
    LABELS - 2,
    has_gradient=False,
)
case("first_of", lambda x: FirstOf()(x, 3), lambda x: x[:3], f64(5))
case("first_of_all", lambda x: FirstOf()(x, 3), lambda x: x, f64(3))
case(
    "first_rows",
    lambda x: FirstRows()(x, x.shape[0], 5),
    lambda x: np.append(x, [0, 0]),
    f64(3),
)
case("first_rows_all", lambda x: FirstRows()(x, 3, 3), lambda x: x, f64(3))
case(
    "first_rows_of_one",
    lambda x: FirstRows()(T.shape_padleft(x), 3, 5),
    lambda x: np.append(x.repeat(3), [0, 0]),
    np.array(1.5),
)
case(
    "first_rows_of_one_all",
    lambda x: FirstRows()(T.shape_padleft(x), 3, 3),
    lambda x: x.repeat(3),
    np.array(1.5),
)


case("sigmoid", nnet.sigmoid, lambda x: 1 / (1 + np.exp(-x)), f64(7))
case("softplus", nnet.softplus, lambda x: np.log1p(np.exp(x)), f64(7))
case("nnet_relu", nnet.relu, lambda x: np.maximum(x, 0), f64(7))
case(
    "relu_alpha",
    lambda x: nnet.relu(x, 0.1),
    lambda x: np.where(x > 0, x, 0.1 * x),
    f64(7),
)
case(
    "relu_alphas",
    nnet.relu,
    lambda x, alpha: np.where(x > 0, x, alpha * x),
    f64(3, 4),
    f64(4),
)
case(
    "relu_float32",
    lambda x: nnet.relu(x, 0.1),
    lambda x: np.where(x > 0, x, np.float32(0.1) * x),
    f32(7),
    has_gradient=False,
)
case("relu_int", nnet.relu, lambda x: np.maximum(x, 0), i32(7), has_gradient=False)
case("elu", nnet.elu, lambda x: np.where(x > 0, x, np.expm1(x)), f64(7))
case(
    "elu_alpha",
    lambda x: nnet.elu(x, 0.3),
    lambda x: np.where(x > 0, x, 0.3 * np.expm1(x)),
    f64(7),
)
case(
    "elu_large",
    lambda x: T.grad(nnet.elu(x).sum(), x),
    lambda x: np.ones_like(x),
    np.array([1e3, 1e5]),
)
case(
    "selu",
    nnet.selu,
    lambda x: (
        1.0507009873554804934193349852946
        * np.where(x > 0, x, 1.6732632423543772848170429916717 * np.expm1(x))
    ),
    f64(7),
)
case("softsign", nnet.softsign, lambda x: x / (1 + abs(x)), f64(7))
case(
    "hard_sigmoid",
    nnet.hard_sigmoid,
    lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    f64(20),
)
case(
    "hard_sigmoid_f4",
    nnet.hard_sigmoid,
    lambda x: np.clip(np.float32(0.2) * x + np.float32(0.5), 0, 1).astype("f4"),
    f32(20),
    has_gradient=False,
)


def fast_sigmoid(x):
    half = 0.5 * abs(x)
    outer = np.where(
        half < 3,
        0.935409070603099 + 0.0458812946797165 * (half - 1.7),
        0.99505475368673,
    )
    return 0.5 * (np.sign(x) * np.where(half < 1.7, 1.5 * half / (1 + half), outer) + 1)


case("ultra_fast_sigmoid", nnet.ultra_fast_sigmoid, fast_sigmoid, f64(30))
PROBABILITIES = softmax(f64(3, 4))
TARGETS = softmax(f64(3, 4)[::-1])
case(
    "binary_crossentropy",
    nnet.binary_crossentropy,
    lambda o, t: -(t * np.log(o) + (1 - t) * np.log(1 - o)),
    PROBABILITIES,
    TARGETS,
)
case(
    "sigmoid_binary_crossentropy",
    nnet.sigmoid_binary_crossentropy,
    lambda x, t: np.log1p(np.exp(x)) - x * t,
    f64(3, 4),
    TARGETS,
)
case(
    "categorical_crossentropy",
    nnet.categorical_crossentropy,
    lambda p, t: -(t * np.log(p)).sum(1),
    PROBABILITIES,
    TARGETS,
)
case(
    "categorical_crossentropy_labels",
    nnet.categorical_crossentropy,
    lambda p, y: -np.log(p[ROWS, y]),
    PROBABILITIES,
    LABELS,
)
case(
    "categorical_crossentropy_of_softmax",
    lambda x, y: nnet.categorical_crossentropy(nnet.softmax(x), y).mean(),
    lambda x, y: -np.log(softmax(x)[ROWS, y]).mean(),
    f64(3, 4),
    LABELS,
)
case(
    "crossentropy_softmax_1hot",
    nnet.crossentropy_softmax_1hot,
    lambda x, y: (-np.log(softmax(x)[ROWS, y]), softmax(x)),
    f64(3, 4),
    LABELS,
)
case(
    "crossentropy_softmax_1hot_with_bias",
    nnet.crossentropy_softmax_1hot_with_bias,
    lambda x, b, y: (-np.log(softmax(x + b)[ROWS, y]), softmax(x + b)),
    f64(3, 4),
    f64(4),
    LABELS,
)
case(
    "crossentropy_softmax_argmax_1hot_with_bias",
    nnet.crossentropy_softmax_argmax_1hot_with_bias,
    lambda x, b, y: (
        -np.log(softmax(x + b)[ROWS, y]),
        softmax(x + b),
        (x + b).argmax(1),
    ),
    f64(3, 4),
    f64(4),
    LABELS,
)
case(
    "crossentropy_softmax_max_and_argmax_1hot",
    nnet.crossentropy_softmax_max_and_argmax_1hot,
    lambda x, y: (
        -np.log(softmax(x)[ROWS, y]),
        softmax(x),
        softmax(x).max(1),
        x.argmax(1),
    ),
    f64(3, 4),
    LABELS,
)
case(
    "crossentropy_softmax_max_and_argmax_1hot_with_bias",
    nnet.crossentropy_softmax_max_and_argmax_1hot_with_bias,
    lambda x, b, y: (
        -np.log(softmax(x + b)[ROWS, y]),
        softmax(x + b),
        softmax(x + b).max(1),
        (x + b).argmax(1),
    ),
    f64(3, 4),
    f64(4),
    LABELS,
)
case(
    "confusion_matrix",
    nnet.confusion_matrix,
    lambda a, b: (
        np.array([[1, 0, 0], [0, 0, 1], [0, 1, 2]], "int64"),
        np.array([0, 2, 7], "int32"),
    ),
    np.array([2, 0, 7, 7, 7], "int32"),
    np.array([7, 0, 7, 2, 7], "int32"),
    has_gradient=False,
)
case(
    "prepend_0_to_each_row",
    nnet.prepend_0_to_each_row,
    lambda x: np.concatenate([np.zeros((3, 1)), x], 1),
    f64(3, 4),
)
case(
    "prepend_scalar_to_each_row",
    nnet.prepend_scalar_to_each_row,
    lambda a, x: np.concatenate([np.full((3, 1), a), x], 1),
    f64(),
    f64(3, 4),
)


def two_levels(x, w1, b1, w2, b2):
    of_class = softmax(x @ w1 + b1)
    inner = softmax(np.einsum("bi,cio->bco", x, w2) + b2)
    return (of_class[:, :, None] * inner).reshape(len(x), -1)


LEVELS = small(3, 2), small(2, 3), small(3), small(3, 2, 2), small(3, 2)
case(
    "h_softmax",
    lambda x, w1, b1, w2, b2: nnet.h_softmax(x, 3, 5, 3, 2, w1, b1, w2, b2),
    lambda *arrays: two_levels(*arrays)[:, :5],
    *LEVELS,
)
case(
    "h_softmax_target",
    lambda x, w1, b1, w2, b2, y: nnet.h_softmax(x, 3, 5, 3, 2, w1, b1, w2, b2, y),
    lambda *arrays: two_levels(*arrays[:-1])[ROWS, arrays[-1]],
    *LEVELS,
    np.array([4, 0, 3], "int32"),
)
