"""Cases of diagonals, triangles and creation."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import ROW, case, f32, f64, i32
from cases_joins import N

# Diagonals.
case("diag_of_vector", lambda x: T.diag(x), np.diag, f64(3))
case("diag_of_vector_1", lambda x: T.diag(x, 1), lambda x: np.diag(x, 1), f64(3))
case(
    "diag_of_vector_minus_2", lambda x: T.diag(x, -2), lambda x: np.diag(x, -2), f64(3)
)
case("diag_of_one", lambda x: T.diag(x), np.diag, f64(1), patterns=((True,),))
for offset in (0, 1, -1, 3, -5):
    case(
        f"diagonal_{offset}",
        lambda x, offset=offset: x.diagonal(offset),
        lambda x, offset=offset: x.diagonal(offset),
        f64(3, 4),
    )
case("diag_of_matrix", lambda x: T.diag(x), np.diag, f64(4, 3))
case(
    "diagonal_axes",
    lambda x: T.diagonal(x, 1, 2, 0),
    lambda x: np.diagonal(x, 1, 2, 0),
    f64(3, 2, 4),
)
case(
    "diagonal_row",
    lambda x: x.diagonal(),
    lambda x: x.diagonal(),
    f64(1, 4),
    patterns=(ROW,),
)
case(
    "alloc_diag_axes",
    lambda x: T.AllocDiag(-1, 2, 0)(x, 4, 5),
    lambda x: np.moveaxis(
        np.stack([np.diag(r, -1)[:, :5] for r in np.pad(x, ((0, 0), (0, 2)))])[:, :4],
        (1, 2),
        (2, 0),
    ),
    f64(2, 3),
)
case("trace", lambda x: x.trace(), np.trace, f64(3, 4))
case(
    "trace_axes",
    lambda x: T.trace(x, 1, 0, 2),
    lambda x: np.trace(x, 1, 0, 2),
    f64(3, 2, 4),
)
case("trace_int", lambda x: T.trace(x), np.trace, i32(3, 3), has_gradient=False)


def filled(x, value):
    x = x.copy()
    np.fill_diagonal(x, value)
    return x


case("fill_diagonal", T.fill_diagonal, filled, f64(3, 4), f64())
case("fill_diagonal_of_cube", T.fill_diagonal, filled, f64(3, 3, 3), f64())
case(
    "fill_diagonal_number",
    lambda x: T.fill_diagonal(x, 2),
    lambda x: filled(x, 2),
    f64(3, 2),
)
for offset in (1, -1, -7):
    case(
        f"fill_diagonal_{offset}",
        lambda x, y, offset=offset: T.fill_diagonal_offset(x, y, offset),
        lambda x, y, offset=offset: np.where(np.eye(3, 4, offset), y, x),
        f64(3, 4),
        f64(),
    )
for k in (0, 1, -2):
    case(
        f"tril_{k}",
        lambda x, k=k: T.tril(x, k),
        lambda x, k=k: np.tril(x, k),
        f64(4, 3),
    )
    case(
        f"triu_{k}",
        lambda x, k=k: T.triu(x, k),
        lambda x, k=k: np.triu(x, k),
        f64(2, 3, 4),
    )
case("triu_int", lambda x: T.triu(x), np.triu, i32(3, 3), has_gradient=False)
case("tri", lambda n: T.tri(n, 4, 1), lambda n: np.tri(3, 4, 1), N, has_gradient=False)

# Made of lengths.
case(
    "alloc",
    lambda x, n: T.alloc(x, n, 2) * 1,
    lambda x, n: np.full((3, 2), x),
    f64(),
    N,
)
case(
    "alloc_row",
    lambda x: T.alloc(x, 2, 3, 4) * 1,
    lambda x: np.broadcast_to(x, (2, 3, 4)),
    f64(1, 4),
    patterns=(ROW,),
)
case(
    "alloc_shape",
    lambda x, y: T.alloc(x, *[y.shape[0], 2]),
    lambda x, y: np.full((3, 2), x),
    f64(),
    f64(3),
)
case("zeros", lambda x: T.zeros(x.shape), np.zeros_like, f64(3, 4), has_gradient=False)
case(
    "zeros_int",
    lambda n: T.zeros(n, "int32"),
    lambda n: np.zeros(3, "i4"),
    N,
    has_gradient=False,
)
case("ones", lambda n: T.ones((n, 2)), lambda n: np.ones((3, 2)), N, has_gradient=False)
case("full", lambda x: T.full((2, 3), x), lambda x: np.full((2, 3), x), f64())
case(
    "full_like",
    lambda x: T.full_like(x, 2),
    lambda x: np.full_like(x, 2),
    f64(2, 3),
    has_gradient=False,
)
case(
    "empty",
    lambda n: T.empty((n, 2)).fill(4.0).astype("float64"),
    lambda n: np.full((3, 2), 4.0),
    N,
    has_gradient=False,
)
case("arange", lambda n: T.arange(n), lambda n: np.arange(3), N, has_gradient=False)
case(
    "arange_int",
    lambda n: T.arange(n, 20, 4),
    lambda n: np.arange(3, 20, 4),
    N,
    has_gradient=False,
)
case(
    "arange_down",
    lambda n: T.arange(9, n, -4),
    lambda n: np.arange(9, 3, -4),
    N,
    has_gradient=False,
)
case(
    "arange_empty",
    lambda n: T.arange(5, n),
    lambda n: np.arange(5, 3),
    N,
    has_gradient=False,
)
case(
    "arange_int32",
    lambda n: T.arange(n, dtype="int32"),
    lambda n: np.arange(3, dtype="i4"),
    N,
    has_gradient=False,
)
case(
    "arange_float",
    lambda x, y: T.arange(x, 4.0, y),
    lambda x, y: np.arange(x, 4.0, y),
    f64(),
    np.array(0.09),
)
case(
    "arange_float_end",
    lambda x: T.arange(x),
    lambda x: np.arange(3.0),
    np.array(2.7),
    has_gradient=False,
)
case(
    "arange_float32",
    lambda n: T.arange(n, dtype="float32"),
    lambda n: np.arange(3, dtype="f4"),
    N,
    has_gradient=False,
)
case(
    "linspace",
    lambda x, y: T.linspace(x, y, 5),
    lambda x, y: np.linspace(x, y, 5),
    f64(),
    np.array(1.79),
)
case(
    "linspace_open",
    lambda x, n: T.linspace(x, 4, n, endpoint=False),
    lambda x, n: np.linspace(x, 4, 3, endpoint=False),
    f64(),
    N,
)
case(
    "linspace_one", lambda x: T.linspace(x, 4, 1), lambda x: np.linspace(x, 4, 1), f64()
)
case("eye", lambda n: T.eye(n), lambda n: np.eye(3), N, has_gradient=False)
case(
    "eye_offset",
    lambda n: T.eye(n, 5, n - 1),
    lambda n: np.eye(3, 5, 2),
    N,
    has_gradient=False,
)
case(
    "eye_int",
    lambda n: T.eye(4, n, -1, dtype="int32"),
    lambda n: np.eye(4, 3, -1, dtype="i4"),
    N,
    has_gradient=False,
)
case(
    "identity_like",
    lambda x: T.identity_like(x),
    lambda x: np.eye(3, 4, dtype="f4"),
    f32(3, 4),
    has_gradient=False,
)
case(
    "mgrid",
    lambda n: T.mgrid[0:n, 1:8:2],
    lambda n: tuple(np.mgrid[0:3, 1:8:2]),
    N,
    has_gradient=False,
)
case(
    "ogrid",
    lambda n: T.ogrid[:n, 0:1:0.25],
    lambda n: (np.arange(3)[:, None], np.arange(0, 1, 0.25, "f4")[None]),
    N,
    has_gradient=False,
)
case(
    "to_one_hot",
    lambda y: T.to_one_hot(y, 5),
    lambda y: np.eye(5)[y],
    np.array([3, 0, 4, 0]),
    has_gradient=False,
)
case(
    "to_one_hot_matrix",
    lambda y: T.to_one_hot(y, 5, "int8"),
    lambda y: np.eye(5, dtype="i1")[y],
    np.array([[3, 0], [4, 0]]),
    has_gradient=False,
)
