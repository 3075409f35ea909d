"""Rows of the case table: normalisation, and other layers of networks."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f64
from gpuarray.compiler.gpuarray import dnn
from gpuarray.compiler.ops.nnet import sampling
from sampled import grid_of, sampled

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
    f64(6, 5),
    *(f64(5) + i for i in range(4)),
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


# ---- neighbourhoods ----


def neighbourhoods(x, shape, step, before, count, wraps=False):
    padded = np.pad(
        x,
        ((0, 0), (0, 0), *((n, 20) for n in before)),
        mode="wrap" if wraps else "constant",
    )
    rows = [
        padded[b, c, a * step[0] :, d * step[1] :][: shape[0], : shape[1]].ravel()
        for b in range(x.shape[0])
        for c in range(x.shape[1])
        for a in range(count[0])
        for d in range(count[1])
    ]
    return np.array(rows, x.dtype).reshape(-1, shape[0] * shape[1])


NEIGHBOURHOODS = {
    "valid": ((2, 3), (1, 2), (0, 0), (4, 3)),
    "ignore_borders": ((2, 2), (3, 4), (0, 0), (2, 2)),
    "wrap_centered": ((3, 5), (2, 3), (1, 2), (3, 3)),
    "half": ((3, 2), (2, 1), (1, 1), (3, 8)),
    "full": ((2, 3), (1, 2), (1, 2), (6, 5)),
}
for mode, (shape, step, before, count) in NEIGHBOURHOODS.items():
    for dtype in ("float64", "complex64", "uint8", "bfloat16"):
        case(
            f"images2neibs_{mode}_{dtype}",
            lambda x, shape=shape, step=step, mode=mode: nnet.neighbours.images2neibs(
                x, shape, step, mode
            ),
            lambda x, shape=shape, step=step, before=before, count=count, mode=mode: (
                neighbourhoods(x, shape, step, before, count, mode == "wrap_centered")
            ),
            np.abs(f64(2, 3, 5, 7)).astype(dtype),
            has_gradient=dtype == "float64",
        )
case(
    "images2neibs_apart",
    lambda x: nnet.neighbours.images2neibs(x, (2, 3)),
    lambda x: neighbourhoods(x, (2, 3), (2, 3), (0, 0), (2, 2)),
    f64(2, 1, 4, 6),
)
case(
    "images2neibs_none",
    lambda x: nnet.neighbours.images2neibs(x, (2, 3), mode="ignore_borders"),
    lambda x: np.zeros((0, 6)),
    f64(2, 1, 1, 6),
    has_gradient=False,
)
case(
    "neibs2images",
    lambda x: nnet.neighbours.neibs2images(x, (2, 3), (2, 1, 4, 6)),
    lambda x: x.reshape(2, 1, 2, 2, 2, 3).swapaxes(3, 4).reshape(2, 1, 4, 6),
    f64(8, 6),
)
case(
    "neibs2images_ignore_borders",
    lambda x: nnet.neighbours.neibs2images(x, (2, 3), (2, 1, 5, 7), "ignore_borders"),
    lambda x: np.pad(
        x.reshape(2, 1, 2, 2, 2, 3).swapaxes(3, 4).reshape(2, 1, 4, 6),
        ((0, 0), (0, 0), (0, 1), (0, 1)),
    ),
    f64(8, 6),
)


# ---- spatial transformers ----

case(
    "spatial_grid",
    lambda theta: dnn.dnn_spatialtf_grid(theta, (2, 1, 3, 4)),
    lambda theta: grid_of(theta, 3, 4),
    f64(2, 2, 3) / 9,
)
case(
    "spatial_sampler",
    dnn.dnn_spatialtf_sampler,
    sampled,
    f64(2, 2, 3, 4),
    f64(2, 2, 3, 2) / 9,
)
case(
    "grid_sample_grad_grid",
    lambda x, grid, g: sampling.GridSampleGradGrid()(x, grid, g),
    lambda x, grid, g: slopes_of_samples(x, grid, g),
    f64(2, 2, 3, 4),
    f64(2, 2, 3, 2) / 9,
    f64(2, 2, 2, 3),
)
case(
    "spatial_transformer",
    lambda x, theta: dnn.dnn_spatialtf(x, theta, 0.5, 2),
    lambda x, theta: sampled(x, grid_of(theta, 6, 2)),
    f64(2, 2, 3, 4),
    f64(2, 2, 3) / 9,
)


def slopes_of_samples(x, grid, g, step=1e-6):
    """The gradient by the grid, by differences: exact between pixels."""
    along = np.eye(2) * step
    ends = [[sampled(x, grid + sign * move) for sign in (1, -1)] for move in along]
    return np.stack([((a - b) * g).sum(1) / (2 * step) for a, b in ends], axis=-1)


# ---- sequences ----

SEQUENCES = np.array([[1, 2, -1], [3, 3, 1], [-1, 2, 2]], "int32")
TIMES = np.array([5, 6, 3], "int32")
for dtype in ("float64", "float32", "bfloat16"):
    case(
        f"ctc_{dtype}",
        nnet.ctc.ctc,
        lambda x, labels, times: nnet.ctc.ConnectionistTemporalClassification(
            False
        ).reference(x, labels, times)[0],
        (f64(6, 3, 4) / 10).astype(dtype),
        SEQUENCES,
        TIMES,
        has_gradient=dtype == "float64",
    )


# ---- blocks ----

INS, OUTS = np.array([[0, 2], [1, 1]]), np.array([[3, 0, 0], [2, 1, 3]])


def block_products(w, h, ins, b, outs):
    chosen = w[ins[:, :, None], outs[:, None, :]]
    return b[outs] + np.einsum("bik,bijkl->bjl", h, chosen)


def added_products(o, x, y, rows, columns):
    out = o.copy()
    products = x[:, :, None, :, None] * y[:, None, :, None, :] / 2
    np.add.at(out, (rows[:, :, None], columns[:, None, :]), products)
    return out


case(
    "sparse_block_dot",
    nnet.blocksparse.sparse_block_dot,
    block_products,
    f64(3, 4, 2, 5),
    f64(2, 2, 2),
    INS,
    f64(4, 5),
    OUTS,
)
case(
    "sparse_block_dot_of_one",
    nnet.blocksparse.sparse_block_dot,
    lambda w, h, ins, b, outs: block_products(w, h[None], ins[None], b, outs[None]),
    f64(3, 4, 2, 5),
    f64(2, 2),
    INS[0],
    f64(4, 5),
    OUTS[0],
)
case(
    "sparse_block_outer",
    lambda o, x, y, rows, columns: nnet.blocksparse.SparseBlockOuter()(
        o, x, y, rows, columns, 0.5
    ),
    added_products,
    f64(3, 4, 2, 5),
    f64(2, 2, 2),
    f64(2, 3, 5),
    INS,
    OUTS,
)


# ---- responses ----


def response_normalised(x, n, k, alpha, beta):
    ends = [(0, 0), (n // 2, (n - 1) // 2), *[(0, 0)] * (x.ndim - 2)]
    whole = np.pad(x.astype("float64") ** 2, ends)
    squares = sum(whole[:, i : i + x.shape[1]] for i in range(n))
    return (x / (k + alpha / n * squares) ** beta).astype(x.dtype)


for n, shape in ((5, (2, 7, 3)), (4, (2, 3, 2, 2)), (1, (3, 4)), (9, (1, 2, 3))):
    case(
        f"local_response_normalization_{n}",
        lambda x, n=n: nnet.local_response_normalization(x, n, 1.5, 0.3, 0.6),
        lambda x, n=n: response_normalised(x, n, 1.5, 0.3, 0.6),
        f64(*shape),
    )
case(
    "local_response_normalization_float16",
    nnet.local_response_normalization,
    lambda x: response_normalised(x, 5, 2, 1e-4, 0.75),
    f64(2, 7, 3).astype("float16"),
    has_gradient=False,
)
