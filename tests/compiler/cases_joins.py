"""Cases of joining, cutting, repeating, padding, axes."""

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
