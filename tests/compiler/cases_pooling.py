"""Rows of the case table: pooling and its gradients, which have gradients too."""

import numpy as np
from cases import case, f32, f64
from gpuarray.compiler.tensor.signal.pool import (
    AveragePoolGrad,
    DownsampleFactorMaxGradGrad,
    MaxPoolGrad,
    MaxPoolRop,
    pool_2d,
    pool_3d,
)
from pooled import MODES, Windows

PADDED = Windows((3, 2), (2, 1), (1, 1), (1, 1))


def like(windows, mode, ceil=False):
    numbers = (getattr(windows, name) for name in windows.names)
    return Windows(*numbers, mode, ceil)


def padded(mode):
    return lambda x: pool_2d(x, (3, 2), True, (2, 1), (1, 1), mode)


CUT = Windows((2, 3), (2, 3), (0, 0), (0, 0))
CUBES = Windows((2, 1, 2), (1, 2, 2), (1, 0, 0), (1, 0, 0))
for mode in MODES:
    case(f"pool_{mode}", padded(mode), like(PADDED, mode).pooled, f64(2, 5, 4))
    case(
        f"pool_cut_{mode}",
        lambda x, mode=mode: pool_2d(x, (2, 3), False, mode=mode),
        like(CUT, mode, ceil=True).pooled,
        f64(3, 2, 5, 7),
    )
    case(
        f"pool_3d_{mode}",
        lambda x, m=mode: pool_3d(x, (2, 1, 2), True, (1, 2, 2), (1, 0, 0), m),
        like(CUBES, mode).pooled,
        f64(2, 3, 3, 4),
    )
    if mode != "max":
        case(
            f"pool_grad_{mode}",
            lambda x, g, m=mode: AveragePoolGrad(True, m)(x, g, (3, 2), (2, 1), (1, 1)),
            lambda x, g, m=mode: like(PADDED, m).gradient(x, None, g),
            f64(5, 4),
            f64(3, 5),
        )

case("pool_float32", padded("max"), PADDED.pooled, f32(2, 5, 4))
case(
    "pool_float16",
    padded("average_inc_pad"),
    lambda x: like(PADDED, "average_inc_pad").pooled(x.astype("f4")).astype("f2"),
    f64(2, 5, 4).astype("f2"),
)
case(
    "pool_int32",
    padded("sum"),
    like(PADDED, "sum").pooled,
    np.arange(20, dtype="int32").reshape(5, 4),
    has_gradient=False,
)
X = f64(5, 4)
MAXIMA = PADDED.pooled(X)
case(
    "pool_grad_max",
    lambda g: MaxPoolGrad(True)(X, MAXIMA, g, (3, 2), (2, 1), (1, 1)),
    lambda g: PADDED.gradient(X, MAXIMA, g),
    f64(3, 5),
)
case(
    "pool_at_maxima",
    lambda v: DownsampleFactorMaxGradGrad(True)(X, MAXIMA, v, (3, 2), (2, 1), (1, 1)),
    lambda v: PADDED.at_maxima(X, MAXIMA, v),
    f64(5, 4) + 1,
)
case(
    "pool_at_first",
    lambda v: MaxPoolRop(True)(X, v, (3, 2), (2, 1), (1, 1)),
    lambda v: PADDED.at_first(X, v),
    f64(5, 4) + 1,
)
