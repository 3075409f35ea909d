"""Cases of sorting, running sums, counts, sets, and places."""

import gpuarray.compiler.tensor as T
import numpy as np
from cases import case, f32, f64, i32
from gpuarray.compiler.ops.sorting.sorting import ArgSortRandom

N = np.array(3)
WITH_NAN = np.array([2.0, np.nan, -1.0, np.inf, 0.0, -np.inf, 2.0])
LABELS = np.array([3, 0, 4, 0, 3])

for axis in (None, 0, 1, -1):
    for name in ("sort", "argsort"):
        case(
            f"{name}_{axis}",
            lambda x, name=name, axis=axis: getattr(x, name)(axis),
            lambda x, name=name, axis=axis: getattr(np, name)(x, axis, kind="stable"),
            f64(3, 4),
            has_gradient=name == "sort",
        )
case("sort_nan", lambda x: T.sort(x), np.sort, WITH_NAN, has_gradient=False)
case(
    "sort_int",
    lambda x: T.sort(x, 0),
    lambda x: np.sort(x, 0),
    i32(5, 3),
    has_gradient=False,
)
case(
    "sort_bool",
    lambda x: T.sort(T.gt(x, 0)),
    lambda x: np.sort(x > 0),
    f64(5),
    has_gradient=False,
)
case("sort_empty", lambda x: T.sort(x), np.sort, f64(0, 3))
case(
    "argsort_ties",
    lambda x: T.argsort(x),
    lambda x: np.argsort(x, kind="stable"),
    LABELS,
    has_gradient=False,
)
case(
    "argsort_random",
    lambda x: ArgSortRandom(0)(x),
    lambda x: np.argsort(x, 0, kind="stable"),
    np.random.default_rng(0).integers(0, 2**64, (9, 3), "uint64"),
    has_gradient=False,
)


def largest(x, k, axis=-1):
    order = np.argsort(x if k < 0 else -x, axis, kind="stable")
    places = np.take(order, np.arange(abs(k)), axis)
    return np.take_along_axis(x, places, axis), places


for k in (1, 2, -1, -3):
    for axis in (0, 1):
        case(
            f"topk_{k}_{axis}",
            lambda x, k=k, axis=axis: T.topk_and_argtopk(x, k, axis),
            lambda x, k=k, axis=axis: largest(x, k, axis),
            f64(3, 4),
        )
case(
    "topk",
    lambda x: T.topk(x, 3, axis=None),
    lambda x: np.sort(x, None)[::-1][:3],
    f64(3, 4),
)
for shape in ((5,), (2, 3, 4)):
    case(
        f"topk_last_of_{len(shape)}",
        lambda x: [T.topk(x, 2), T.argtopk(x, 2), *T.topk_and_argtopk(x, 2)],
        lambda x: 2 * largest(x, 2),
        f64(*shape),
    )
case(
    "argtopk",
    lambda x: T.argtopk(x, 2, idx_dtype="int32"),
    lambda x: largest(x, 2)[1].astype("i4"),
    i32(3, 4),
    has_gradient=False,
)
case(
    "topk_symbolic",
    lambda x, n: T.topk(x, -n),
    lambda x, n: np.sort(x)[:, :3],
    f64(3, 4),
    N,
)
case(
    "topk_ties",
    lambda x: T.topk_and_argtopk(x, 3),
    lambda x: largest(x, 3),
    LABELS,
    has_gradient=False,
)
case(
    "take_along_axis",
    lambda x, i: T.take_along_axis(x, i, 0),
    lambda x, i: np.take_along_axis(x, i, 0),
    f64(3, 4),
    np.array([[2, 1, 0, -1], [0, 0, 1, 1]]),
)

# Running sums and products.
for name in ("cumsum", "cumprod"):
    for axis in (None, 0, 1, -1):
        case(
            f"{name}_{axis}",
            lambda x, name=name, axis=axis: getattr(x, name)(axis),
            lambda x, name=name, axis=axis: getattr(np, name)(x, axis),
            f64(3, 4) / 4,
        )
    case(
        f"{name}_int",
        lambda x, name=name: getattr(T, name)(x, 0),
        lambda x, name=name: getattr(np, name)(x, 0, dtype="i4"),
        i32(3, 4),
        has_gradient=False,
    )
    case(
        f"{name}_reverse",
        T.CumOp(1, {"cumsum": "add", "cumprod": "mul"}[name], reverse=True),
        lambda x, name=name: getattr(np, name)(x[:, ::-1], 1)[:, ::-1],
        f64(3, 4) / 4,
    )
case("cumsum_f4", lambda x: T.cumsum(x), np.cumsum, f32(7), has_gradient=False)
case(
    "cumsum_bool",
    lambda x: T.cumsum(T.gt(x, 0)),
    lambda x: np.cumsum(x > 0),
    f64(5),
    has_gradient=False,
)
case("cumsum_empty", lambda x: T.cumsum(x, 0), lambda x: np.cumsum(x, 0), f64(0, 3))
case(
    "cumprod_zeros",
    lambda x: T.cumprod(x),
    np.cumprod,
    np.array([2.0, 0.0, 3.0, 0.0, 1.5]),
)
case(
    "cumprod_zero",
    lambda x: T.cumprod(x, 1),
    lambda x: np.cumprod(x, 1),
    np.array([[2.0, 3.0, 0.0, 4.0], [0.0, 2.0, 1.0, 3.0]]),
)
for n in (0, 1, 2, 5):
    case(
        f"diff_{n}",
        lambda x, n=n: T.diff(x, n) * 1,
        lambda x, n=n: np.diff(x, n),
        f64(2, 4),
    )
case("diff_axis", lambda x: T.diff(x, axis=0), lambda x: np.diff(x, axis=0), f64(3, 4))

# Counts and sets.
case("bincount", lambda x: T.bincount(x), np.bincount, LABELS, has_gradient=False)
case(
    "bincount_min",
    lambda x, n: T.bincount(x, minlength=3 * n),
    lambda x, n: np.bincount(x, minlength=9),
    LABELS,
    N,
    has_gradient=False,
)
case("bincount_weights", lambda x, w: T.bincount(x, w), np.bincount, LABELS, f64(5))
case(
    "bincount_empty",
    lambda x: T.bincount(x),
    np.bincount,
    LABELS[:0],
    has_gradient=False,
)
case(
    "bincount_checked",
    lambda x: T.bincount(x, assert_nonneg=True),
    np.bincount,
    LABELS.astype("u1"),
    has_gradient=False,
)
UNIQUE = np.array([[3.0, 1.0, 3.0], [2.0, 1.0, 2.0], [3.0, 1.0, 3.0]])
case("unique", lambda x: T.unique(x), np.unique, f64(3, 2))
case("unique_int", lambda x: T.unique(x), np.unique, LABELS, has_gradient=False)
for axis in (None, 0, 1):
    case(
        f"unique_all_{axis}",
        lambda x, axis=axis: T.unique(x, True, True, True, axis),
        lambda x, axis=axis: np.unique(x, True, True, True, axis),
        UNIQUE,
        has_gradient=False,
    )
case(
    "unique_counts",
    lambda x: T.unique(x, return_counts=True),
    lambda x: np.unique(x, return_counts=True),
    UNIQUE,
    has_gradient=False,
)
case(
    "unique_rows",
    lambda x: T.Unique(axis=0)(x),
    lambda x: np.unique(x, axis=0),
    f64(3, 2),
)

# Places.
SORTED = np.array([-3.0, 0.0, 0.0, 2.5, 7.0])
WANTED = np.array([[0.0, 8.0, -5.0], [2.5, 2.0, 7.0]])
for side in ("left", "right"):
    case(
        f"searchsorted_{side}",
        lambda x, v, side=side: x.searchsorted(v, side),
        lambda x, v, side=side: np.searchsorted(x, v, side),
        SORTED,
        WANTED,
        has_gradient=False,
    )
case(
    "searchsorted_scalar",
    T.searchsorted,
    np.searchsorted,
    SORTED,
    np.array(1, "int32"),
    has_gradient=False,
)
case(
    "searchsorted_sorter",
    lambda x, v, s: T.searchsorted(x, v, sorter=s),
    lambda x, v, s: np.searchsorted(x, v, sorter=s),
    SORTED[::-1].copy(),
    WANTED,
    np.arange(5)[::-1].copy(),
    has_gradient=False,
)
PLACES = np.array([[0, 2], [1, 1]])
OTHERS = np.array([[3, 0], [2, 1]])
for order in "CF":
    case(
        f"ravel_multi_index_{order}",
        lambda i, j, order=order: T.ravel_multi_index((i, j), (3, 4), order=order),
        lambda i, j, order=order: np.ravel_multi_index((i, j), (3, 4), order=order),
        PLACES,
        OTHERS,
        has_gradient=False,
    )
    case(
        f"unravel_index_{order}",
        lambda i, n, order=order: T.unravel_index(i, (n, 4, 2), order),
        lambda i, n, order=order: np.unravel_index(i, (3, 4, 2), order),
        np.array([[0, 7], [23, 11]]),
        N,
        has_gradient=False,
    )
case(
    "ravel_multi_index_modes",
    lambda i, j: T.ravel_multi_index((i * 3, j * 3), (3, 4), ("wrap", "clip")),
    lambda i, j: np.ravel_multi_index((i * 3, j * 3), (3, 4), ("wrap", "clip")),
    PLACES,
    OTHERS,
    has_gradient=False,
)
case(
    "ravel_multi_index_scalar",
    lambda n: T.ravel_multi_index((n, 1), (5, 2)),
    lambda n: np.array(np.ravel_multi_index((3, 1), (5, 2))),
    N,
    has_gradient=False,
)

# Others.
for m in (0, 1, 2, 5, 6):
    case(
        f"bartlett_{m}",
        lambda n, m=m: T.bartlett(n - 3 + m),
        lambda n, m=m: np.bartlett(m),
        N,
        has_gradient=False,
    )
case("cpu_contiguous", lambda x: T.cpu_contiguous(x) * 1, lambda x: x, f64(3))
case("cov", lambda x: T.cov(x), np.cov, f64(3, 5))
case("cov_vector", lambda x: T.cov(x), np.cov, f64(5))
case(
    "cov_two",
    lambda x, y: T.cov(x, y, bias=True),
    lambda x, y: np.cov(x, y, bias=True),
    f64(2, 5),
    f64(1, 5),
)
case(
    "cov_columns",
    lambda x: T.cov(x, rowvar=False, ddof=0),
    lambda x: np.cov(x, rowvar=False, ddof=0),
    f64(5, 2),
)
case(
    "cov_weights",
    lambda x, f, a: T.cov(x, fweights=f, aweights=a),
    lambda x, f, a: np.cov(x, fweights=f, aweights=a),
    f64(3, 5),
    LABELS,
    np.abs(f64(5)),
)
