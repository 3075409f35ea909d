"""Cases of loops; the first is one that no rewrite takes apart."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f32, f64, i32
from gpuarray.compiler import scan
from loops import by_turns

case(
    "scan_states",
    lambda x, s, w: scan(lambda r, s, w: T.sin(r + T.dot(s, w)), x, s, w)[0],
    lambda x, s, w: by_turns(lambda r, s: [np.sin(r + s @ w)], [x], [s])[0],
    f64(4, 3),
    f64(3),
    f64(3, 3),
)
case(
    "scan_rows",
    lambda x, y: scan(lambda row, y: (row * y).sum(), x, non_sequences=y)[0],
    lambda x, y: (x * y).sum(1),
    f64(4, 3),
    f64(3),
)
case(
    "scan_last_state",
    lambda x, s: scan(lambda r, s: r + s * 0.5, x, s, go_backwards=True)[0][-1],
    lambda x, s: by_turns(lambda r, s: [r + s * np.float32(0.5)], [x[::-1]], [s])[0][
        -1
    ],
    f32(4, 3),
    f32(3),
)
case(
    "scan_taps",
    lambda x, s: scan(
        lambda a, b, p, q: [a * p + b * q, (a * q).sum()],
        {"input": x, "taps": [-1, 1]},
        [{"initial": s, "taps": [-2, -1]}, None],
    )[0],
    lambda x, s: tuple(
        by_turns(
            lambda a, b, p, q: [a * p + b * q, (a * q).sum()],
            [{"input": x, "taps": [-1, 1]}],
            [{"initial": s, "taps": [-2, -1]}, None],
        )
    ),
    f64(5, 2),
    f64(2, 2),
)
case(
    "scan_of_integers",
    lambda x, s: scan(lambda row, s: row ^ (s * 3), x, s)[0],
    lambda x, s: by_turns(lambda row, s: [row ^ (s * 3)], [x], [s])[0],
    i32(4, 3),
    i32(3),
    has_gradient=False,
)
