"""Both sides of conditions in functions of arrays, in tables: NumPy is the judge."""

import warnings
from itertools import pairwise

import gpuarray
import numpy as np
import pytest
from calls import assert_as_numpys, label
from gpuarray._native import lib
from gpuarray._products import matmul
from vendor_libraries import Library

pytestmark = pytest.mark.filterwarnings("ignore::gpuarray.errors.HostNotice")

RANDOM = np.random.default_rng(11)
V = np.array([1.0, 2.5, 4.0, 4.5, 7.0])
W = np.array([2.0, 1.0, 3.0, 1.0, 2.0])
APART = np.array([0.0, 1.0, 1.5, 3.0, 7.0])  # coordinates that are not equally apart
EVEN = np.array([0.0, 2.0, 4.0, 6.0, 8.0])
M = RANDOM.normal(size=(3, 5))
SQUARE = RANDOM.normal(size=(4, 4)) + 4 * np.eye(4)
C = M + 1j * M[::-1]
A = RANDOM.normal(size=(2, 3, 4))
FOUR = RANDOM.normal(size=(2, 3, 4, 5))
COUNTS = np.arange(24).reshape(2, 3, 4)
ONE = np.array([3.0])
NONE = np.zeros(0)
NUMBER = np.array(2.0)
INFINITE = np.array([np.inf, -np.inf, np.nan, 0.0, 1.0])
NAN = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [4.0, -1.0, 0.5]])

VIEWS = [
    *(("rollaxis", FOUR, axis, start) for axis in (0, 2, -1) for start in range(-4, 5)),
    *(("swapaxes", FOUR, one, other) for one, other in ((0, 3), (-1, 1), (2, 2))),
    ("moveaxis", FOUR, (0, 1), (-1, 0)),
    ("moveaxis", FOUR, (3, 0), (0, 1)),
    ("moveaxis", FOUR, -2, 0),
    ("expand_dims", A, (0, -1, 2)),
    ("expand_dims", NUMBER, 0),
    ("expand_dims", A, [1, 3]),
    ("squeeze", A[:, :1, None], (1, 2)),
    ("squeeze", A[:, :1, None], -3),
    ("squeeze", A[:1, :1], None),
    ("flip", A, None),
    ("flip", A, (0, 2)),
    ("flip", A, -1),
    ("fliplr", M),
    ("flipud", V),
    *(("rot90", A, k, axes) for k in (0, 1, 2, 3, -1, 5) for axes in ((0, 1), (2, 0))),
    ("broadcast_arrays", V, M, M[:, :1]),
    *((f"atleast_{n}d", x) for n in (1, 2, 3) for x in (NUMBER, V, M, A, FOUR)),
    ("atleast_2d", V, NUMBER),
    *(("diagonal", M, offset) for offset in range(-4, 7)),
    ("diagonal", FOUR, 1, 3, 1),
    ("diagonal", FOUR, -2, -1, -3),
    ("diagonal", FOUR[:, :0], 0, 1, 2),
    ("diagonal", COUNTS, np.int8(1)),
    ("trace", COUNTS, -1, 2, 1),
    ("trace", A, 1, {"dtype": "float32", "axis1": 1, "axis2": 2}),
]
JOINED = [
    *(("pad", COUNTS, 1, mode) for mode in ("constant", "edge", "wrap")),
    *(("pad", x, ((2, 1), (0, 3)), mode) for x in (M, M[:, :2], M[:2, :1])
      for mode in ("reflect", "symmetric", "wrap", "edge", "mean", "median")),
    *(("pad", x, (1, 2), mode, {"stat_length": length})
      for x in (M, (M * 9).astype("int32"), (abs(M) * 9).astype("uint8"))
      for length in (1, 2, ((3, 1), (1, 4))) for mode in ("mean", "median", "maximum",
                                                        "minimum")),
    ("pad", M, {0: (1, 2), -1: 3}, "constant"),
    ("pad", M, {1: (1, 0)}, "edge"),
    ("pad", M, 2, "linear_ramp", {"end_values": ((1, -2), (3.5, 9))}),
    ("pad", V, (3, 4), "linear_ramp", {"end_values": (-2, 7)}),
    ("pad", (V * 3).astype("int32"), (3, 4), "linear_ramp", {"end_values": (-2, 30)}),
    ("pad", C, (1, 2), "linear_ramp", {"end_values": (-2, 1 + 7j)}),
    ("pad", M, 1, "constant", {"constant_values": ((1, 2), (3, 4))}),
    ("pad", V > 2, (1, 2), "mean"),
    ("pad", V, 0, "edge"),
    ("pad", M, ((0, 0), (0, 0)), "reflect", {"reflect_type": "even"}),
    ("pad", NONE, (1, 2)),
    ("pad", M[:0], ((0, 0), (2, 1)), "edge"),
]  # fmt: skip
SUMMED = [
    *(("gradient", V, given, {"edge_order": order})
      for order in (1, 2) for given in (2.0, APART, EVEN, APART[::-1].copy())),
    ("gradient", M), ("gradient", M, 0.5), ("gradient", M, 2.0, APART),
    ("gradient", M, 2, 3, {"axis": (1, 0)}), ("gradient", A, {"axis": -1}),
    ("gradient", A, {"axis": (0, 2), "edge_order": 1}),
    ("gradient", M, np.array([0.0, 1.0, 5.0]), {"axis": 0, "edge_order": 2}),
    ("gradient", COUNTS), ("gradient", C, {"axis": 1}), ("gradient", V[:2], APART[:2]),
    ("gradient", V[:3], APART[1:4], {"edge_order": 2}),
    ("gradient", V[:3], APART[:3], {"edge_order": 2}),
    ("gradient", V[:2], np.array([0.0, np.nan])),
    ("gradient", V[:3], np.array([0.0, 1.0, np.nan])),
    *(("trapezoid", A, x, {"axis": axis}) for x, axis in (
        (None, 0), (None, 1), (A * A, 1), (APART[:3], 1), (APART[:2], 0),
        (APART[:4], -1))),
    ("trapezoid", COUNTS, {"dx": 0.5}), ("trapezoid", ONE),
    *(("interp", np.array([-1.0, 0.0, 0.7, 3.0, 6.9, 7.0, 8.5, np.nan]), APART, V,
     options)
      for options in ({}, {"left": -5.0}, {"right": 9.0}, {"left": 1, "right": 2},
                      {"period": 3.5}, {"period": -4}, {"period": 360, "left": 7})),
    ("interp", np.array([[0, 2], [5, 9]]), np.array([1, 4, 8]), np.array([3, 1, 7])),
    ("interp", V, ONE, ONE), ("interp", V, APART, V * 1j), ("interp", NUMBER, APART, V),
    *((name, a, v, mode) for name in ("convolve", "correlate")
      for a, v in ((V, W[:2]), (W[:2], V), (V, W), (C[0], C[1, :2]), (C[1, :2], C[0]),
                   (COUNTS[0, 0], COUNTS[0, 1, :3]))
      for mode in ("full", "same", "valid")),
    *((name, a[0, :4], a[1, :k], mode) for name in ("convolve", "correlate")
      for a in (M, C) for k in (2, 4) for mode in ("full", "same", "valid")),
    ("convolve", NUMBER, V), ("convolve", V, NUMBER),
    ("convolve", V, W), ("correlate", V, W[:3]), ("correlate", V > 1, W[:3] > 1),
    *(("average", M, axis, weights, {"returned": True, "keepdims": keep})
      for keep in (True, False)
      for axis, weights in ((None, None), (0, None), (1, W), (-1, W), (None, M * M),
                            (0, M * M), (0, W[:3]))),
    ("average", A, (2, 0), RANDOM.random((4, 2))), ("average", A, (0, 2),
                                                  RANDOM.random((2, 4))),
    ("average", COUNTS, 1, np.array([1, 2, 3])),
     ("average", COUNTS > 5, 1, np.array([1, 2, 3])),
    ("average", M.astype("float32"), 1, W), ("average", C, 0, W[:3]),
    ("average", COUNTS, {"returned": True}),
    ("average", COUNTS.astype("int8"), 2, W[:4].astype("float32")),
    ("average", M.astype("float32"), 1, np.array([1, 2, 3, 1, 2], "int8")),
    *(("cov", M, options) for options in (
        {}, {"rowvar": False}, {"bias": True}, {"ddof": 0}, {"ddof": 3}, {"ddof": 2,
        "bias": True}, {"fweights": np.array([1, 2, 3, 1, 2])}, {"aweights": W},
        {"aweights": W, "fweights": np.array([1, 2, 3, 1, 2])},
        {"aweights": W, "ddof": 0}, {"aweights": W, "bias": True},
        {"fweights": np.array([1, 1, 1, 1, 2]), "ddof": 9}, {"dtype": "float32"},
        {"ddof": 5}, {"ddof": 9})),
    ("cov", V, {"rowvar": False}), ("cov", C, {"aweights": W}),
    ("cov", C, {"fweights": np.array([1, 2, 3, 1, 2])}),
    ("cov", V, W), ("cov", M, V), ("cov", M, M * M), ("cov", M.T, V, False),
    ("cov", M.T, V[None], False),
    ("cov", V), ("cov", NUMBER), ("cov", C), ("cov", COUNTS[0]),
    ("corrcoef", M), ("corrcoef", V, W), ("corrcoef", C), ("corrcoef", V),
    ("corrcoef", M.T, {"rowvar": False}), ("corrcoef", M, {"dtype": "float32"}),
]  # fmt: skip
PRODUCTS = [
    ("inner", NUMBER, M), ("inner", M, NUMBER), ("inner", V, V), ("inner", M, V),
    ("inner", A, RANDOM.normal(size=(5, 4))), ("inner", A, A),
     ("inner", COUNTS, COUNTS),
    ("outer", M, V), ("outer", NUMBER, V), ("linalg.outer", V, W[:2]),
    *(("kron", a, b) for a, b in ((V, M), (M, V), (A, M), (NUMBER, M), (M, NUMBER))),
    ("matvec", M, V), ("matvec", A, RANDOM.normal(size=(2, 4))), ("matvec", A, V[:4]),
    ("vecmat", V[:3], M), ("vecmat", C[0, :3], C), ("vecmat", A[:, :, 0], A),
    ("linalg.multi_dot", (M, M.T)), ("linalg.multi_dot", [V, M.T, M, V]),
    ("linalg.multi_dot", [V, V]), ("linalg.multi_dot", [V[:3], M]),
    ("linalg.multi_dot", [M, V]),
    *(("linalg.multi_dot", [RANDOM.normal(size=pair) for pair in pairwise(n)])
      for n in ((2, 9, 1, 8, 3), (9, 1, 7, 2, 8), (1, 2, 3, 4, 5, 6))),
    ("cross", M[:, :3], M[:, 1:4]), ("cross", A, A[::-1], {"axis": 1}),
    ("cross", A, V[:3], 1, 0, 0), ("cross", A, V[:3], {"axisa": 1}),
]  # fmt: skip
GRIDS = [
    *(("meshgrid", *vectors, {"indexing": how, "sparse": sparse, "copy": copy})
      for vectors in ((V,), (V, ONE), (V, W[:2], EVEN[:3]), (V, NONE))
      for how in ("xy", "ij") for sparse in (True, False) for copy in (True, False)),
    ("ix_", np.array([0, 2]), np.array([1, 0, 2])), ("ix_", V > 2, np.array([1])),
    ("ix_", np.array([0, 2]), np.array([False, False])), ("ix_", ONE, []),
    *((name, x, k) for name in ("tril", "triu", "diagflat") for x in (V, M)
      for k in (-2, 0, 1, 9)),
    *((name, x, k) for name in ("tril", "triu") for x in (A, COUNTS > 3, M.T)
      for k in (-1, 2)),
    *(("diag", x, k) for x in (V, M, NONE) for k in (-2, 0, 3)),
    *(("vander", x, n, up) for x in (V, np.array([2, 3], "int8"), ONE, NONE)
      for n in (None, 0, 1, 4) for up in (True, False)),
    *((f"{name}_indices_from", M, k) for name in ("tril", "triu") for k in (-1, 0, 2)),
    ("diag_indices_from", SQUARE), ("diag_indices_from", np.zeros((2, 2, 2))),
]  # fmt: skip
QUANTILES = [
    *(("quantile", M, q, 1, {"method": method})
      for q in (0.0, 0.3, np.array([0.1, 0.5, 1.0]))
      for method in ("linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf",
                     "averaged_inverted_cdf", "closest_observation", "hazen",
                     "interpolated_inverted_cdf", "weibull", "median_unbiased",
                     "normal_unbiased")),
    *((name, NAN, q, axis, {"keepdims": keep})
      for name, q in (("nanquantile", 0.7), ("nanpercentile", 70), ("percentile", 35),
                      ("nanquantile", np.array([[0.2, 0.5], [0, 1]])))
      for axis in (None, 0, -1) for keep in (True, False)),
    *((name, FOUR, axis, {"keepdims": keep}) for name in ("median", "nanmedian")
      for axis in ((0, 2), (3, 0), [-1, 1], None, 2) for keep in (True, False)),
    ("median", NONE), ("median", M[:, :0], 1), ("nanmedian", M[:, :0], 1),
    ("median", NAN, 0), ("nanmedian", NAN, 1), ("nanmedian", COUNTS, 0),
     ("median", COUNTS),
    ("median", V[:4]), ("median", ONE), ("quantile", COUNTS, 0.3),
     ("quantile", COUNTS[0, 0], 0.5),
    ("quantile", COUNTS, 0.4, {"method": "lower"}), ("nanquantile", COUNTS, 0.25, 2),
    ("quantile", M.astype("float32"), 0.3), ("quantile", M, np.zeros(0), 1),
    ("quantile", M.astype("float32"), np.float64(0.5), 1),
    *((name, M, np.array([0.0, 0.4, 1.0]), axis,
     {"weights": w, "method": "inverted_cdf"})
      for name in ("quantile", "nanquantile")
      for axis, w in ((None, M * M), (1, M * M), (0, M * M))),
    *(("quantile", M, 0.4, axis, {"weights": w, "method": "inverted_cdf"})
      for axis, w in ((1, W), (0, W[:3]))),
    ("percentile", A, 40, (2, 0), {"weights": RANDOM.random((4, 2)),
                                  "method": "inverted_cdf"}),
    ("nanquantile", NAN, 0.5, 1, {"weights": M[:, :3] ** 2,
                                 "method": "inverted_cdf"}),
]  # fmt: skip
MISSING = [
    *((f"nan{name}", x, axis) for name in ("sum", "prod", "max", "min", "mean", "var",
                                        "std", "cumsum", "cumprod")
      for x in (NAN[::2], COUNTS[0], NAN[::2].astype("float32")) for axis in (None, 0,
       1)),
    *((f"nan{name}", NAN, 1, {"where": NAN != 3, "keepdims": True})
      for name in ("sum", "prod", "mean")),
    *((f"nan{name}", NAN, 0, {"initial": 2.5, "where": NAN > 0})
      for name in ("sum", "prod", "max", "min")),
    *((f"nanarg{name}", x, axis, {"keepdims": keep}) for name in ("max", "min")
      for x, axis in ((NAN[::2], 1), (NAN, 0), (NAN, None), (COUNTS, 2), (-NAN[::2], 1))
      for keep in (True, False)),
    ("nanvar", NAN, 1, {"ddof": 1}), ("nanstd", NAN[::2], 0, {"ddof": 1}),
    ("nanvar", COUNTS, 0, {"ddof": 2}), ("nanvar", M, 1, {"correction": 1}),
    ("nanstd", NAN, 1, {"mean": np.array([[2.0], [1.0], [0.0]])}),
    ("nanvar", NAN, {"dtype": "float32", "where": NAN > 0}),
    ("nanmean", COUNTS, {"dtype": "float32"}),
     ("nanmean", NAN, 0, {"dtype": "float32"}),
    ("nancumsum", NAN, 1, {"dtype": "float32"}), ("nancumsum", COUNTS, None, "float64"),
    ("nancumprod", NAN, 0, {"dtype": "float32"}),
     ("nancumprod", COUNTS[0] + 1, 1, "float64"),
    *(("nan_to_num", x, options) for x in (INFINITE, INFINITE.astype("float32"),
     COUNTS, NONE)
      for options in ({}, {"nan": 7.0}, {"posinf": 5}, {"neginf": -6.0})),
    ("nan_to_num", C * INFINITE, {"nan": 7.0, "posinf": 1, "neginf": 2}),
    ("nan_to_num", C * np.nan), ("nan_to_num", NAN, {"nan": [1, 2, 3]}),
     ("nan_to_num", NAN, {"nan": NAN[2][None]}),
    ("nan_to_num", INFINITE, {"posinf": np.arange(5.0)}),
    ("nan_to_num", INFINITE, {"posinf": np.arange(5.0)[None, None]}),
]  # fmt: skip
NORMS = [
    *(("linalg.norm", x, order) for x in (V, W[:1], C[0])
      for order in (None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf, np.float32(2.5))),
    *(("linalg.norm", A, order, axis, keep) for axis in ((0, 1), (2, 0), (-1, 1))
      for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
      for keep in (True, False)),
    *(("linalg.norm", A, order, axis, True) for axis in (0, -1)
      for order in (None, 0, 1, 3, np.inf, -np.inf)), ("linalg.vector_norm", A),
    ("linalg.lstsq", np.zeros((0, 2)), NONE), ("linalg.matrix_rank", A[:, :, :0]),
    ("linalg.pinv", A[:, :, :0]), ("linalg.cond", A[0, :, :3]),
    ("linalg.norm", A), ("linalg.norm", M), ("linalg.norm", M, "f"),
     ("linalg.norm", COUNTS),
    ("linalg.norm", M, 2), ("linalg.norm", NUMBER),
     ("linalg.norm", M, None, None, True),
    ("linalg.norm", NONE), ("linalg.norm", M[:, :0], None, 1),
    ("linalg.norm", NONE, np.inf),
    *(("linalg.vector_norm", A, {"axis": axis, "ord": order, "keepdims": keep})
      for axis in (None, 1, (0, 2)) for order in (2, 0, np.inf) for keep in (True,
       False)),
    *(("linalg.matrix_norm", A, {"ord": order, "keepdims": keep})
      for order in ("fro", 2, 1, np.inf) for keep in (True, False)),
    *(("linalg.cond", SQUARE, p) for p in (None, 1, -1, 2, -2, "fro", np.inf)),
    *(("linalg.cond", np.stack([SQUARE, SQUARE * 0, np.ones((4, 4))]), p)
      for p in (1, -1, "fro", np.inf)),
    ("linalg.cond", M, 2), ("linalg.cond", M, -2), ("linalg.cond", SQUARE * 0, 1),
    ("linalg.cond", M), ("linalg.cond", np.zeros((2, 2))), ("linalg.cond", COUNTS % 5),
    ("linalg.matrix_rank", V), ("linalg.matrix_rank", V * 0),
     ("linalg.matrix_rank", COUNTS),
    ("linalg.matrix_rank", M, 1.5), ("linalg.matrix_rank", A, np.array([0.5, 2.0])),
    ("linalg.matrix_rank", A, {"rtol": np.array([0.1, 0.9])}),
    ("linalg.matrix_rank", A, {"rtol": 0.5}), ("linalg.matrix_rank", A[:, :0]),
    ("linalg.matrix_rank", SQUARE + SQUARE.T, {"hermitian": True}),
    *(("linalg.pinv", A, options) for options in (
        {}, {"rcond": 0.5}, {"rtol": 0.5}, {"rcond": np.array([0.1, 0.9])})),
    ("linalg.pinv", SQUARE + SQUARE.T, {"hermitian": True}), ("linalg.pinv", C),
    *(("linalg.matrix_power", SQUARE, n) for n in (-2, -1, 0, 1, 2, 3, 5, 8)),
    ("linalg.matrix_power", np.array([[1, 1], [0, 1]]), 7),
    ("linalg.tensorsolve", np.eye(6).reshape(2, 3, 6) * 2, M[:2, :3]),
    ("linalg.tensorsolve", np.eye(6).reshape(6, 2, 3) * 2, M[0, [0, 1, 2, 3, 4, 0]]),
    ("linalg.tensorsolve", np.eye(6).reshape(2, 3, 6).transpose(2, 0, 1), M[:2, :3],
     {"axes": (0,)}),
    ("linalg.tensorinv", np.eye(6).reshape(2, 3, 6) * 2),
    ("linalg.tensorinv", np.eye(6).reshape(6, 3, 2) * 2, 1),
    *(("linalg.lstsq", a, b, options) for a,
     b in ((M, V[:3]), (M.T, V), (M.T, A[0, 0, 0] + SQUARE[0, :1] * np.eye(5, 2)),
                                                 (C.T, V), (SQUARE, V[:4]))
      for options in ({}, {"rcond": 0.6}, {"rcond": None})),
    ("linalg.lstsq", np.ones((3, 2)), V[:3]), ("linalg.lstsq", np.zeros((3, 0)), V[:3]),
]  # fmt: skip
POLYNOMIALS = [
    ("polyval", [1, 0, 2], M), ("polyval", V, M), ("polyval", [], M),
    ("polyval", np.array([1, 2]), COUNTS),
    *(("polyfit", APART, y, 2, options) for y in (V, M.T)
      for options in ({}, {"w": W}, {"cov": True}, {"cov": "unscaled"}, {"full": True},
                      {"rcond": 1e-3}, {"w": W, "cov": True})),
    ("polyfit", COUNTS[0, 0], COUNTS[0, 1], 1),
     ("polyfit", APART + 1j, C[0], 1, {"w": C[1]}),
    ("polyfit", APART, V, 0),
]  # fmt: skip

EVERY = VIEWS + JOINED + SUMMED + PRODUCTS + GRIDS + QUANTILES + MISSING + NORMS
EVERY += POLYNOMIALS


@pytest.mark.parametrize("call", EVERY, ids=label)
def test_a_call_gives_what_numpys_gives(first_context, call):
    assert_as_numpys(call, first_context)


def test_a_row_has_a_variable_in_each_column_if_told(first_context):
    row = gpuarray.asarray(V[None], context=first_context)
    made = gpuarray.cov(row, rowvar=False, ddof=0)  # NumPy before 2.2 had one variable
    np.testing.assert_array_equal(np.asarray(made), np.zeros((5, 5)))


def test_no_correlation_is_beyond_1(first_context):
    """Of multiples of one row roundings alone would be."""
    rows = np.outer(np.random.default_rng(0).normal(size=40), V)
    size = np.sqrt(np.diag(np.cov(rows)))
    assert abs(np.cov(rows) / size[:, None] / size).max() > 1
    for scale in (1, 1j):
        scales = np.where(np.arange(40) % 2, 1, scale)[:, None]
        given = gpuarray.asarray(rows * scales, context=first_context)
        found = np.asarray(gpuarray.corrcoef(given))
        np.testing.assert_allclose(found, np.corrcoef(rows * scales), rtol=1e-12)
        assert max(abs(found.real).max(), abs(found.imag).max()) == 1


@pytest.mark.parametrize("full", [False, True])
def test_points_that_decide_no_line_are_warned_of_unless_the_rank_is_told(
    first_context, full
):
    x, y = (gpuarray.asarray(each, context=first_context) for each in (V * 0 + 1, W))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", np.exceptions.RankWarning)
        found = gpuarray.polyfit(x, y, 1, full=full)
    told = [each for each in seen if each.category is np.exceptions.RankWarning]
    assert len(told) == (0 if full else 1)
    assert not full or found[2] == 1


def test_products_of_every_float_go_to_the_blas(first_context, monkeypatch):
    monkeypatch.setattr(matmul, "contract", None)
    for dtype in ("f2", "f4", "f8", "c8", "c16"):
        a = gpuarray.asarray(np.ones((2, 3), dtype), context=first_context)
        assert np.asarray(a @ a.T).tolist() == [[3, 3], [3, 3]]
        assert gpuarray.vdot(a, a).tolist() == 6
        assert np.asarray(a @ a[0]).tolist() == [3, 3]


def test_stacks_whose_axes_join_are_one_call(first_context, monkeypatch):
    calls = []

    def counted(*given):
        calls.append(given)
        return lib.GpuArray_rgemmBatch_3d(*given)

    library = Library(first_context)
    library.GpuArray_rgemmBatch_3d = counted
    monkeypatch.setattr(matmul, "lib", library)
    host = np.random.default_rng(0).normal(size=(2, 3, 4, 4)).astype("f4")
    a = gpuarray.asarray(host, context=first_context)
    for view, count in (
        (lambda x: x, 1), (lambda x: x[:, 0], 1), (lambda x: x[:, :1], 1),
        (lambda x: x[:1, ::2], 1), (lambda x: x[:, :2], 2), (lambda x: x[::-1], 2),
        (lambda x: x.transpose(1, 0, 3, 2), 3), (lambda x: x[:, 1:2, None], 1),
    ):  # fmt: skip
        calls.clear()
        got = view(a) @ view(a)
        np.testing.assert_allclose(got, view(host) @ view(host), rtol=1e-5, atol=1e-5)
        assert len(calls) == count
