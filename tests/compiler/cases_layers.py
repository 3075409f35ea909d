"""Rows of the case table: normalisation, and other layers of networks."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f32, f64

nnet = T.nnet


def batch_normalised(x, gamma, beta, axes):
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-4) * gamma + beta


FULL = (False,) * 4
for name, axes in (("per-activation", (0,)), ("spatial", (0, 2, 3)), ((1, 3), (1, 3))):
    lengths = (5, 3, 2, 4)
    kept = tuple(1 if i in axes else n for i, n in enumerate(lengths))
    pattern = tuple(i in axes for i in range(4))
    case(
        f"batch_normalization_train_{name}",
        lambda x, g, b, name=name: nnet.batch_normalization_train(x, g, b, name)[0],
        lambda x, g, b, axes=axes: batch_normalised(x, g, b, axes),
        f64(*lengths) / 10,
        f64(*kept),
        f64(*kept) + 1,
        patterns=(FULL, pattern, pattern),
    )
case(
    "batch_normalization_statistics",
    lambda x, g, b, m, v: nnet.batch_normalization_train(
        x, g, b, running_mean=m, running_var=v
    )[1:],
    lambda x, g, b, m, v: (
        x.mean(0),
        1 / np.sqrt(x.var(0) + 1e-4),
        0.9 * m + 0.1 * x.mean(0),
        0.9 * v + 0.1 * x.var(0, ddof=1),
    ),
    f32(6, 5),
    *(f32(5) + i for i in range(4)),
    has_gradient=False,
)
case(
    "batch_normalization_test",
    lambda x, g, b, m, v: nnet.batch_normalization_test(x, g, b, m, v, "spatial"),
    lambda x, g, b, m, v: (
        (x - m[:, None]) * (g / np.sqrt(v + 1e-4))[:, None] + b[:, None]
    ),
    f64(2, 3, 4),
    f64(3),
    f64(3) + 1,
    f64(3) + 2,
    np.abs(f64(3)),
)
case(
    "batch_normalization",
    nnet.batch_normalization,
    lambda x, g, b, m, s: (x - m) / s * g + b,
    f64(4, 3),
    f64(3),
    f64(3) + 1,
    f64(3) + 2,
    np.abs(f64(3)) + 1,
)
