"""Rows of the case table: products, norms, Fourier transforms, places."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f32, f64, i32
from gpuarray.compiler.ops.linalg.products import BatchedGemm, Ger

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
