"""Cases of choices: of what is computed, by a condition."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f32, f64
from gpuarray.compiler.ifelse import ifelse

for taken in (0, 1):
    case(
        f"ifelse_{taken}",
        lambda x, y, taken=taken: ifelse(
            T.gt(x.sum(), 1e9 * (1 - 2 * taken)), T.exp(x) * y, T.sin(x) + y[0]
        ),
        lambda x, y, taken=taken: np.exp(x) * y if taken else np.sin(x) + y[0],
        f64(3, 4),
        f64(3, 4),
    )
    case(
        f"ifelse_lengths_{taken}",
        lambda x, y, taken=taken: ifelse(T.eq(x.shape[0], 3 - taken), x * 2, y),
        lambda x, y, taken=taken: y if taken else x * 2,
        f32(3, 4),
        f32(2, 5),
    )
case(
    "ifelse_nested",
    lambda x, y: ifelse(
        T.eq(x.shape[0], 3), ifelse(T.lt(y.sum(), 1e9), x * y.sum(), x), x**2
    ),
    lambda x, y: x * y.sum(),
    f64(3),
    f64(2, 2),
)
