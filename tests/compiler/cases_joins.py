"""Cases of joining, cutting, repeating, padding, axes, diagonals, creation."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import COL, ROW, M, case, f32, f64, i32

N = np.array(3)
COUNTS = np.array([2, 0, 3])

# Side by side, and cut apart.
case("join_one", lambda x: T.join(0, x) * 1, lambda x: x, f64(3, 4))
for axis in (0, 1, -1):
    case(
        f"join_{axis}",
        lambda x, y, axis=axis: T.join(axis, x, y, x),
        lambda x, y, axis=axis: np.concatenate([x, y, x], axis),
        f64(3, 4),
        f64(3, 4) + 1,
    )
case(
    "join_lengths",
    lambda x, y: T.concatenate([x, y], axis=1),
    lambda x, y: np.concatenate([x, y], 1),
    f64(3, 4),
    f64(3, 0),
)
case(
    "join_row",
    lambda x, y: T.join(0, x, y),
    lambda x, y: np.concatenate([x, y]),
    f64(3, 4),
    f64(1, 4),
    patterns=(M, ROW),
)
case(
    "join_rows_side_by_side",
    lambda x, y: T.join(1, x, y),
    lambda x, y: np.concatenate([x, y], 1),
    f64(1, 4),
    f64(1, 2),
    patterns=(ROW, M),
)
case(
    "join_mixed",
    lambda x, y, z: T.join(0, x, y, z),
    lambda x, y, z: np.concatenate([x, y, z]),
    i32(3),
    f32(2),
    f64(4),
)
case(
    "join_bool",
    lambda x, y: T.join(0, T.gt(x, 0), T.gt(y, 0)),
    lambda x, y: np.concatenate([x > 0, y > 0]),
    f64(3),
    f64(2),
    has_gradient=False,
)
case(
    "stack", lambda x, y: T.stack([x, y]), lambda x, y: np.stack([x, y]), f64(3), f64(3)
)
case(
    "stack_axis",
    lambda x, y: T.stack([x, y], axis=-1),
    lambda x, y: np.stack([x, y], -1),
    f64(3, 4),
    f64(3, 4),
)
case(
    "stack_scalars",
    lambda x, y: T.stack([x, y]),
    lambda x, y: np.stack([x, y]),
    f64(),
    np.array(0.79),
)
case(
    "stack_old",
    lambda x, y: T.stack(x, y),
    lambda x, y: np.stack([x, y]),
    f64(2),
    f64(2),
)
case(
    "stacklists",
    lambda x, y: T.stacklists([[x, y], [y, x * 2]]),
    lambda x, y: np.array([[x, y], [y, x * 2]]),
    f64(3),
    f64(3),
)
case(
    "horizontal_stack",
    T.horizontal_stack,
    lambda x, y: np.hstack([x, y]),
    f64(3, 2),
    f64(3, 1),
)
case(
    "vertical_stack",
    T.vertical_stack,
    lambda x, y: np.vstack([x, y]),
    f64(3, 2),
    f64(1, 2),
)
case(
    "split",
    lambda x: T.split(x, [1, 0, 3], 3, axis=1),
    lambda x: (x[:, :1], x[:, 1:1], x[:, 1:]),
    f64(3, 4),
)
case(
    "split_symbolic",
    lambda x, n: T.split(x, [n, x.shape[0] - n], 2),
    lambda x, n: (x[:3], x[3:]),
    f64(5, 2),
    N,
)
case(
    "split_vector",
    lambda x, v: T.split(x, v, 3),
    lambda x, v: (x[:2], x[2:2], x[2:]),
    f64(5, 2),
    COUNTS,
)
case(
    "split_used_in_part",
    lambda x: T.split(x, [2, 1], axis=0)[1] * 2,
    lambda x: x[2:] * 2,
    f64(3, 2),
)

# Repeated and moved round.
for reps in (2, (2,), (2, 3), (1, 2), (2, 1, 3), (0, 2), ()):
    case(
        f"tile_{reps}",
        lambda x, reps=reps: T.tile(x, reps) * 1,
        lambda x, reps=reps: np.tile(x, reps),
        f64(3, 2),
    )
case(
    "tile_symbolic",
    lambda x, n: T.tile(x, (n, 2)),
    lambda x, n: np.tile(x, (3, 2)),
    f64(2, 3),
    N,
)
case(
    "tile_vector",
    lambda x, v: T.tile(x, v, ndim=3),
    lambda x, v: np.tile(x, (2, 0, 3)),
    f64(2, 3),
    COUNTS,
)
case(
    "tile_ndim",
    lambda x: T.tile(x, 2, ndim=3),
    lambda x: np.tile(x, (1, 1, 2)),
    f64(2, 3),
)
case(
    "tile_row",
    lambda x: T.tile(x, (2, 2)),
    lambda x: np.tile(x, (2, 2)),
    f64(1, 3),
    patterns=(ROW,),
)
for axis in (None, 0, 1, -1):
    case(
        f"repeat_{axis}",
        lambda x, axis=axis: x.repeat(3, axis),
        lambda x, axis=axis: x.repeat(3, axis),
        f64(2, 3),
    )
case("repeat_0", lambda x: x.repeat(0, 1), lambda x: x.repeat(0, 1), f64(2, 3))
case(
    "repeat_symbolic",
    lambda x, n: T.repeat(x, n, 0),
    lambda x, n: x.repeat(3, 0),
    f64(2, 3),
    N,
)
case("repeat_one", lambda x: T.repeat(x, [2], 1), lambda x: x.repeat(2, 1), f64(2, 3))
case(
    "repeat_each",
    lambda x: T.repeat(x, [2, 0, 3], 1),
    lambda x: x.repeat([2, 0, 3], 1),
    f64(2, 3),
)
case(
    "repeat_vector",
    lambda x, v: T.repeat(x, v, 0),
    lambda x, v: x.repeat(v, 0),
    f64(3, 2),
    COUNTS,
)
case(
    "repeat_flat",
    lambda x, v: T.repeat(x, v),
    lambda x, v: x.repeat(v),
    f64(3, 1),
    COUNTS,
    patterns=(COL, (False,)),
)
for shift, axis in ((1, None), (-2, 0), (7, 1), (0, 1), ((1, 2), (0, 1)), (1, (0, 1))):
    case(
        f"roll_{shift}_{axis}",
        lambda x, shift=shift, axis=axis: T.roll(x, shift, axis) * 1,
        lambda x, shift=shift, axis=axis: np.roll(x, shift, axis),
        f64(3, 4),
    )
case(
    "roll_symbolic",
    lambda x, n: T.roll(x, -n, 1),
    lambda x, n: np.roll(x, -3, 1),
    f64(3, 2),
    N,
)
case("roll_empty", lambda x: T.roll(x, 1, 0), lambda x: x, f64(0, 2))
case("roll_row", lambda x: T.roll(x, 1, 0) * 1, lambda x: x, f64(1, 2), patterns=(ROW,))

# More at the ends.
WIDTHS = ((2, 1), (0, 3))
for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "mean", "maximum"):
    case(
        f"pad_{mode}",
        lambda x, mode=mode: T.pad(x, WIDTHS, mode),
        lambda x, mode=mode: np.pad(x, WIDTHS, mode),
        f64(3, 4),
    )
for mode in ("edge", "reflect", "symmetric", "wrap"):
    case(
        f"pad_{mode}_far",
        lambda x, mode=mode: T.pad(x, 7, mode),
        lambda x, mode=mode: np.pad(x, 7, mode),
        f64(3),
    )
    case(
        f"pad_{mode}_of_one",
        lambda x, mode=mode: T.pad(x, 2, mode),
        lambda x, mode=mode: np.pad(x, 2, mode),
        f64(1, 2),
        patterns=(ROW,),
    )
case(
    "pad_value",
    lambda x, y: T.pad(x, 1, constant_values=y),
    lambda x, y: np.pad(x, 1, constant_values=y),
    f64(3, 4),
    f64(),
)
case(
    "pad_values",
    lambda x: T.pad(x, (1, 2), constant_values=((1, 2), (3, 4))),
    lambda x: np.pad(x, (1, 2), constant_values=((1, 2), (3, 4))),
    f64(3, 4),
)
case(
    "pad_symbolic",
    lambda x, n: T.pad(x, (n, 1)),
    lambda x, n: np.pad(x, (3, 1)),
    f64(3),
    N,
)
case("pad_nothing", lambda x: T.pad(x, 0) * 1, lambda x: x, f64(3))
case(
    "pad_ramp",
    lambda x: T.pad(x, (2, 3), "linear_ramp", end_values=(5, -4)),
    lambda x: np.pad(x, (2, 3), "linear_ramp", end_values=(5, -4)),
    f64(3, 2),
)
case(
    "pad_ramp_int",
    lambda x: T.pad(x, (3, 7), "linear_ramp", end_values=(5, -4)),
    lambda x: np.pad(x, (3, 7), "linear_ramp", end_values=(5, -4)),
    i32(3, 2),
    has_gradient=False,
)
case(
    "pad_mean_int",
    lambda x: T.pad(x, 1, "mean"),
    lambda x: np.pad(x, 1, "mean"),
    i32(4, 2),
    has_gradient=False,
)
case(
    "pad_minimum_int",
    lambda x: T.pad(x, (2, 3), "minimum"),
    lambda x: np.pad(x, (2, 3), "minimum"),
    i32(3, 2),
    has_gradient=False,
)

# Axes.
case(
    "moveaxis",
    lambda x: T.moveaxis(x, 0, -1),
    lambda x: np.moveaxis(x, 0, -1),
    f64(2, 3, 4),
)
case(
    "moveaxis_several",
    lambda x: T.moveaxis(x, (0, 2), (1, 0)),
    lambda x: np.moveaxis(x, (0, 2), (1, 0)),
    f64(2, 3, 4),
)
for axis, start in ((0, 2), (2, 0), (1, 3), (-1, 1), (0, -1)):
    case(
        f"rollaxis_{axis}_{start}",
        lambda x, axis=axis, start=start: T.rollaxis(x, axis, start) * 1,
        lambda x, axis=axis, start=start: np.rollaxis(x, axis, start),
        f64(2, 3, 4),
    )
case(
    "expand_dims",
    lambda x: T.expand_dims(x, 1),
    lambda x: np.expand_dims(x, 1),
    f64(2, 3),
)
case(
    "expand_dims_several",
    lambda x: T.expand_dims(x, (0, -1)),
    lambda x: np.expand_dims(x, (0, -1)),
    f64(2, 3),
)
case(
    "shape_padaxis", lambda x: T.shape_padaxis(x, 2), lambda x: x[:, :, None], f64(2, 3)
)
case("squeeze_axis", lambda x: x.squeeze(1), lambda x: x[:, 0], f64(3, 1))
case(
    "squeeze_axes", lambda x: T.squeeze(x, (0, -1)), lambda x: x[0, :, 0], f64(1, 3, 1)
)
case("atleast_1d", lambda x: T.atleast_1d(x), np.atleast_1d, f64())
case("atleast_2d", lambda x: T.atleast_2d(x), np.atleast_2d, f64(3))
case("atleast_3d", lambda x: T.atleast_3d(x), np.atleast_3d, f64(3))
case("atleast_3d_matrix", lambda x: T.atleast_3d(x), np.atleast_3d, f64(3, 2))
case(
    "atleast_nd_right",
    lambda x: T.atleast_nd(x, 3, left=False),
    lambda x: x[:, None, None],
    f64(3),
)
case(
    "broadcast_arrays",
    lambda x, y: T.broadcast_arrays(x, y),
    lambda x, y: tuple(np.broadcast_arrays(x, y)),
    f64(3, 1),
    f64(4),
    patterns=(COL, (False,)),
)
case(
    "broadcast_like",
    lambda x, y: T.broadcast_like(x, y),
    lambda x, y: np.broadcast_to(x, y.shape),
    f64(),
    f64(3, 4),
)
case(
    "make_keep_dims",
    lambda x: T.makeKeepDims(x, x.sum(1), 1),
    lambda x: x.sum(1, keepdims=True),
    f64(3, 4),
)
case("specify_shape", lambda x: T.specify_shape(x, (3, 1)), lambda x: x, f64(3, 1))

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
