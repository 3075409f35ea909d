"""Both sides of conditions where arrays are joined, cut, picked,
 counted and multiplied.

Tables of calls, and NumPy is the judge.
"""

import gpuarray
import numpy as np
import pytest
from calls import assert_as_numpys, label, moved
from judge import assert_same

pytestmark = pytest.mark.filterwarnings("ignore::gpuarray.errors.HostNotice")

RANDOM = np.random.default_rng(12)
V = np.array([3.0, 1.0, 2.0, 1.0, 5.0])
M = RANDOM.normal(size=(3, 5))
A = RANDOM.normal(size=(2, 3, 4))
FOUR = RANDOM.normal(size=(2, 3, 4, 2))
SQUARE = RANDOM.normal(size=(3, 3)) + 3 * np.eye(3)
SYMMETRIC = SQUARE + SQUARE.T
HERMITIAN = SYMMETRIC + 1j * (SQUARE - SQUARE.T)
C = M + 1j * M[::-1]
COUNTS = np.array([[3, 1, 2], [0, 3, 1]])
CUBE = np.arange(24).reshape(2, 3, 4)
TRUE = np.array([True, False, True, True, False])
NONE = np.zeros(0)
NUMBER = np.array(2.0)
NAN = np.array([np.nan, 1.0, np.inf, np.nan, -np.inf, 1.0])
NARROW = np.array([7, 8, 250], "uint8")
POSITIVE = SQUARE @ SQUARE.T

JOINED = [
    *(("concatenate", (M, M[:, :2]), axis) for axis in (1, -1, None)),
    *(("stack", (M, M + 1), axis) for axis in (0, 1, 2, -1, -2, -3)),
    ("concatenate", (NARROW, V)), ("concatenate", (TRUE, NARROW), {"axis": 0}),
    ("concatenate", [V]), ("concatenate", (V, V), {"dtype": "float32"}),
    *((name, parts) for name in ("hstack", "vstack", "dstack", "column_stack")
      for parts in ((V, V[:5]), (M, M), (A, A))),
    ("vstack", (V, M)), ("column_stack", (M, V[:3])),
    ("hstack", (NUMBER, V)), ("vstack", (NUMBER[None], V[:1])),
    ("block", [[M, M[:, :1]], [M[:1, :5], M[:1, :1]]]), ("block", [V, V]), ("block", V),
    ("block", [[A], [A]]), ("block", [NUMBER, V]), ("block", [V, 2.0, NARROW]),
    *(("append", M, more, axis) for more, axis in ((M, 0), (M[:1], -2), (V, None),
                                                  (M[:, :2], 1), (NUMBER, None))),
    ("append", NARROW, 3.5), ("append", V, [1, 2]),
    *(("array_split", V, cut) for cut in (1, 2, 3, 7, [1, 3], [], [2, 9], [-1], (0,))),
    *((name, CUBE, cut) for name in ("hsplit", "dsplit", "vsplit")
      for cut in ([1], [1, 2], 1)),
    ("hsplit", V, 5), ("dsplit", CUBE, 2), ("vsplit", CUBE, 2), ("hsplit", CUBE, 3),
    ("split", M, 5, -1), ("split", M, [1, 4], 1), ("split", M, np.array([1, 2])),
    *(("repeat", M, times, axis) for times, axis in (
        (2, None), (0, 0), (1, 1), ([3], 1), ([1, 0, 2], 0), ([1, 0, 2], -2),
        (np.array([2, 0, 1, 1, 3]), -1), (np.int8(2), 1), (True, 0))),
    *(("tile", x, times) for x in (V, M, NUMBER, NONE)
      for times in (0, 1, 3, (2,), (2, 1), (1, 3), (2, 1, 2), ())),
    *(("roll", x, shift, axis) for x in (M, M.T) for shift, axis in (
        (1, None), (-4, None), (17, 0), (0, 1), ((1, 2), (0, 1)), ((1, 2), (1, 1)),
        (2, (0, -1)), ((1, -1), 1))),
    ("roll", NONE, 2), ("roll", A, (1, 2, 3), (2, 0, 1)), ("roll", NUMBER, 1),
    *(("resize", x, shape) for x in (V, M, NONE, NUMBER)
      for shape in (7, (2, 2), (0, 3), (4, 5), (), 5)),
    *(("delete", M, what, axis) for what, axis in (
        (1, 0), (-1, 1), ([0, 2], 1), (slice(None, None, 2), 1), (slice(3, 0, -2), -1),
        (TRUE, 1), ([], 0), (np.array([2, 2]), 0), (7, None), ([1, -1], None))),
    *(("insert", M, where, what, axis) for where, what, axis in (
        (1, 9.0, 0), (-1, V, 0), (3, V, 0), (0, M[:, 0], 1), ([1, 3], M[:, :2], 1),
        ([2, 2], V, 0), ([1], M[:1], 0), (slice(0, 4, 2), 5.0, 1), (TRUE, 7.0, 1),
        ([3, 1], [[1.0], [2.0], [3.0]], 1), (4, 1.0, None), ([], [], None),
        ([0, -1], 8.0, -1), (2, [1.0, 2.0], None), (np.array(1), M[0], 0))),
    *(("trim_zeros", x, trim) for x in (np.array([0, 0, 1, 0, 2, 0]), np.zeros(3), NONE)
      for trim in ("fb", "f", "b", "B")),
]  # fmt: skip
PICKED = [
    *(("take", M, where, axis, {"mode": mode}) for where, axis in (
        (1, 0), (-1, 1), ([[0, 2], [1, 1]], 1), (np.array([2, -3]), 0), ([], 1),
        (np.array([4, 14, -15]), None), (np.array([1], "uint8"), -1))
      for mode in ("raise", "wrap", "clip")),
    *(("take", V, [7, -9, 4, 5, -6], {"mode": mode}) for mode in ("wrap", "clip")),
    *(("take_along_axis", M, np.argsort(M, axis), axis) for axis in (0, 1, -1)),
    ("take_along_axis", M, np.array([3, -1]), None),
    ("take_along_axis", M, np.array([[0], [-1], [2]]), 1),
    *(("compress", condition, M, axis) for condition, axis in (
        (TRUE, 1), ([True, False], 0), ([0, 1, 2], -2), (TRUE, None), ([], 0))),
    ("extract", M > 0, M), ("extract", COUNTS, CUBE[0, :2, :3]),
    *((name, x) for name in ("nonzero", "flatnonzero", "argwhere")
      for x in (COUNTS, M > 0, NONE, CUBE, np.zeros((2, 0)), C * 0)),
    ("argwhere", NUMBER), ("where", COUNTS), ("where", M > 0, M, -1.0),
    *(("count_nonzero", COUNTS, {"axis": axis, "keepdims": keep})
      for axis in (None, 0, -1, (0, 1)) for keep in (True, False)),
]  # fmt: skip
COUNTED = [
    ("bincount", COUNTS[0]), ("bincount", COUNTS[0], {"minlength": 7}),
    ("bincount", COUNTS[0], {"minlength": 2}), ("bincount", NARROW[:2]),
    ("bincount", COUNTS[0], V[:3]), ("bincount", COUNTS[0], {"weights": COUNTS[1]}),
    ("bincount", np.zeros(0, int)), ("bincount", np.zeros(0, int), {"minlength": 3}),
    ("bincount", TRUE),
    *(("histogram", V, bins, options) for bins in (1, 3, [1, 2, 3, 5], [2.0, 1e9])
      for options in ({}, {"density": True}, {"weights": V[::-1].copy()},
                      {"density": True, "weights": V * V})),
    *(("histogram", V, 4, {"range": limits}) for limits in ((0, 10), (2, 3), (1, 1))),
    ("histogram", TRUE), ("histogram", NONE), ("histogram", COUNTS, 3),
    ("histogram", M.astype("float32"), 5), ("histogram", V * 0, 2),
    ("histogram_bin_edges", V, 3), ("histogram_bin_edges", NONE, 3),
    ("histogram_bin_edges", V, 2, (0, 1)), ("histogram_bin_edges", V, [1, 2, 5]),
    ("histogram_bin_edges", COUNTS, 4, {"weights": COUNTS}),
    *(("histogramdd", M, bins, options) for bins in (2, [2, 3, 1, 2, 2])
      for options in ({}, {"density": True}, {"weights": V[:3]})),
    ("histogramdd", V), ("histogramdd", V, [[0.0, 2.0, 4.0]]),
    ("histogramdd", M[:, :2], 2, {"range": [(-1, 1), None]}),
    *(("histogram2d", V, V[::-1].copy(), bins, options)
      for bins in (3, [2, 4], [0.0, 1.0, 3.0], [[0.0, 2, 9], 3], [[0, 1, 2, 3.0]] * 2)
      for options in ({}, {"density": True})),
    ("histogram2d", V, V, {"weights": V, "range": [(0, 4), (1, 3)]}),
]  # fmt: skip
SETS = [
    *(("unique", x, *wanted) for x in (COUNTS, NAN, TRUE, NONE, V[:1])
      for wanted in ((), (True,), (False, True), (False, False, True), (True,) * 3)),
    ("unique", NAN, {"equal_nan": False}), ("unique", NAN, {"return_counts": True}),
    *(("unique", np.array([[1, 2, 1], [0, 5, 0], [1, 2, 1]]), *wanted, {"axis": axis})
      for axis in (0, 1, -1) for wanted in ((), (True,), (True,) * 3)),
    ("unique", CUBE // 9, {"axis": 1}), ("unique", COUNTS[:1], {"axis": 0}),
    *((name, NAN) for name in ("unique_all", "unique_counts", "unique_inverse",
                               "unique_values")),
    *(("isin", COUNTS, of, {"invert": no}) for of in (np.array([1, 3]), np.array([7]),
      np.zeros(0, int), np.array([[0], [2]])) for no in (True, False)),
    ("isin", NARROW, V), ("isin", COUNTS, [0, 3]), ("isin", V, 1.0), ("isin", 3, V),
    ("isin", NAN, np.array([np.nan, 1.0])), ("isin", V, NONE, {"kind": "sort"}),
    *((name, a, b) for name in ("union1d", "setdiff1d", "intersect1d", "setxor1d")
      for a, b in ((V, M[0]), (V, V[:3]), (COUNTS, np.array([3, 7, 3])), (NONE, V),
                   (V, NONE), (NONE, NONE), (NARROW, V), (V, V))),
    *((name, V[2:], V[:3], {"assume_unique": True})
      for name in ("setdiff1d", "intersect1d", "setxor1d")),
    *((name, np.array([5.0, 1, 9, 7]), np.array([9.0, 1, 2]), {"assume_unique": True})
      for name in ("setdiff1d", "intersect1d", "setxor1d")),
    ("intersect1d", V, np.array([5.0, 7, 1, 1]), {"return_indices": True}),
]  # fmt: skip
COMPARED = [
    *(("isclose", a, b, {"equal_nan": equal}) for equal in (True, False)
      for a, b in ((NAN, NAN), (NAN, -NAN), (NAN, NAN[::-1].copy()))),
    ("isclose", V, V + 1e-4), ("isclose", V, V + 1e-4, 1e-3), ("isclose", V, V + 1e-6),
    ("isclose", V, V + 0.1, 0, 0.2), ("isclose", COUNTS, COUNTS[::-1] + 0.0),
    ("isclose", COUNTS[0], NARROW[:3]), ("isclose", V, -3.0000001),
    ("isclose", -V, -1.0),
    ("isclose", NAN, np.inf), ("isclose", NAN, np.nan, {"equal_nan": True}),
    ("isclose", 1.0, V), ("isclose", C, C + 1e-9), ("isclose", TRUE, V), ("isclose",
                                                                        1e9, V * 1e9),
    ("isclose", V.astype("float32"), -V.astype("float32"), {"rtol": 2.0}),
    *((name, a, b) for name in ("allclose", "array_equal", "array_equiv")
      for a, b in ((V, V), (V, V + 1), (V, V[:1]), (M, M[:1]), (V[:1] * 0 + 1, V),
                   (NONE, NONE), (NAN, NAN))
      if name != "allclose" or a.shape == b.shape),
    ("array_equal", NAN, NAN, True), ("array_equal", NAN, -NAN, {"equal_nan": True}),
    ("array_equiv", M, V[:3]), ("allclose", NAN, NAN, {"equal_nan": True}),
    *((name, x) for name in ("isposinf", "isneginf") for x in (NAN, COUNTS, V)),
    *(("spacing", x) for x in (V, -V, NAN, COUNTS, -COUNTS.astype("int8"),
                               V.astype("float32"), np.array([1, -1, np.inf, -np.inf, 0,
                                                             -8, 0.5], "float16"))),
    ("select", [V > 2, V > 1], [V, V * 10]), ("select", [TRUE], [V], -1.5),
    ("select", [V > 4, V > 1, TRUE], [1, V, 7]),
    ("lexsort", (V, np.round(V / 2))), ("lexsort", CUBE % 3),
    ("lexsort", [M, M > 0], 0),
    *(("diff", M, n, axis) for n in (0, 1, 2, 4) for axis in (-1, 0) if n < 4 or axis),
    ("diff", TRUE), ("diff", V, {"prepend": 0.0}), ("diff", V, {"append": V[:2]}),
    ("diff", M, {"prepend": M[:, :2], "append": 1.0}), ("diff", M, 1, 0, M[:1]),
    ("diff", V[:1], 3), ("diff", NARROW),
    ("ediff1d", M), ("ediff1d", V, 9.0, [1.0, 2.0]), ("ediff1d", V, None, V),
    ("ediff1d", NONE), ("ediff1d", NONE, 1.0), ("ediff1d", V[:1], {"to_begin": 4}),
    ("ediff1d", CUBE, np.array([1, 2], "int8")),
    *(("clip", x, *limits) for x in (V, COUNTS, NARROW) for limits in (
        (1, 2), (None, 2), (2, None), (2, 1), (0, 255))),
    ("clip", V, {"a_min": 2, "a_max": 4}),
    ("clip", V, V[::-1].copy(), 3), ("clip", NARROW, -5, 300), ("clip", V, np.nan, 3),
    *(("round", x, places) for x in (M * 30, CUBE * 5, C * 30) for places in (0, 1, -1,
     2)),
    ("round", NARROW, -1), ("round", TRUE, 0),
    *((name, M, axis, {"ddof": less, "keepdims": keep}) for name in ("var", "std")
      for axis in (None, 0, (1, 0)) for less in (0, 1, 2) for keep in (True, False)),
    *(("var", x, 1, {"ddof": less, "where": x.real > 0}) for x in (M, C)
      for less in (0, 0.5)),
    ("var", M, 1, {"ddof": 5}), ("var", M, 1, {"ddof": 7}), ("std", CUBE, {"ddof": 24}),
    ("var", M, 0, {"mean": M.mean(0, keepdims=True) + 1}), ("std", TRUE, 0),
    ("var", M, {"correction": 1.5}), ("var", M, {"dtype": "float32"}),
    *(("cumulative_sum", x, {"axis": axis, "include_initial": first})
      for x, axis in ((M, 0), (M, -1), (V, None), (TRUE, 0), (NARROW, 0))
      for first in (True, False)),
    ("cumulative_prod", M, {"axis": 1, "include_initial": True, "dtype": "float32"}),
    *(("partition", x, k) for x in (V[:1], np.ones(3)) for k in (0, -1)),
]  # fmt: skip
MULTIPLIED = [
    *((name, a, b) for name in ("matmul", "dot") for a, b in (
        (V, V), (M, V), (V[:3], M), (M, M.T), (A, V[:4]), (V[:3], A), (A, M.T[:4]),
        (M[:, :3], A), (FOUR, FOUR.transpose(0, 1, 3, 2)),
         (A[:1], A.transpose(0, 2, 1)),
        (COUNTS, COUNTS.T), (COUNTS, V[:3]), (CUBE, COUNTS[0].repeat(2)[:4]),
        (COUNTS[0], CUBE), (CUBE, CUBE.transpose(0, 2, 1)), (TRUE, TRUE),
        (C, C.T), (M, C.T), (M[:, :0], M[:0]), (A[:0], A[0].T), (NARROW, COUNTS[0]),
        (COUNTS[0], COUNTS[1]), (V.astype("float32"), COUNTS[:, :0].T.reshape(-1)[:0]))
      if not (name == "dot" and FOUR is a) and a.shape[-1] == b.shape[max(b.ndim - 2,
       0)]),
    ("dot", A, A.transpose(0, 2, 1)), ("dot", NUMBER, M), ("dot", M, NUMBER),
    ("dot", FOUR, A[0, :2, :3]), ("dot", V[:3], A), ("dot", A, V[:4]),
    *(("vdot", a, b) for a, b in ((V, V), (C, C), (M, M), (C, M), (COUNTS, COUNTS),
                                 (TRUE, TRUE), (NONE, NONE), (V, TRUE))),
    *(("tensordot", a, b, axes) for a, b, axes in (
        (A, A.T, 1), (A, A, 3), (A, A, ([0, 2], [0, 2])), (A, A, ([2, 0], [2, 0])),
        (A, A.T, ([2, 0], [0, 2])), (M, V, 0), (A, V[:3], (1, 0)), (A, V[:4], (-1, -1)),
        (CUBE, CUBE, ((1,), (1,))), (NUMBER, M, 0), (M, M, ([], [])),
         (M, V, ([1], 0)))),
    *(("vecdot", a, b, {"axis": axis}) for a, b, axis in (
        (M, V, -1), (M, M, 0), (C, C, 1), (C, M, -1), (COUNTS, COUNTS, -1), (V, V, 0),
        (TRUE, TRUE, 0), (A, M[:, :4], -1))),
    ("vecdot", M, V), ("linalg.vecdot", C, C), ("linalg.matmul", M, M.T),
    *(("einsum", text, *arrays, options) for text, arrays in (
        ("ij,jk->ki", (M, M.T)), ("ij->ji", (M,)), ("ii", (SQUARE,)),
         ("ii->i", (SQUARE,)),
        ("ij,ij->", (M, M)), ("i,j", (V, V)), ("...j,j->...", (A, V[:4])),
        ("b...,b...->...", (A, A)), ("i...->...", (A,)), ("ij,jk,kl", (M, M.T, M)),
        ("ij,i,j->j", (M, V[:3], V)), ("iji->j", (A[:, :, :2],)),
        ("abc,cd,ad->bd", (A, M.T[:4], M[:2, :3])), ("ba", (M,)), ("ij,j->ij", (M, V)),
        ("ij,ij->ij", (M, M[:1])), ("ij->", (TRUE[None],)), ("i,i", (NARROW, NARROW)),
        ("...,...", (M, V)), ("i,->i", (V, NUMBER)))
      for options in ({}, {"optimize": False})),
    ("einsum", M, [0, 1], V, [1], [0]), ("einsum", M, [0, 1], V, [1]),
    ("einsum", A, [Ellipsis, 2], V[:4], [2], [Ellipsis]), ("einsum", SQUARE, [0, 0]),
    ("einsum", "ij,jk", COUNTS, COUNTS.T, {"dtype": "float64"}),
    ("einsum", "ij,jk", M, M.T, {"dtype": "float32", "casting": "same_kind"}),
]  # fmt: skip
SOLVED = [
    ("linalg.cholesky", POSITIVE), ("linalg.cholesky", POSITIVE, {"upper": True}),
    ("linalg.cholesky", HERMITIAN @ HERMITIAN.conj().T),
    *((f"linalg.{name}", x, uplo) for name in ("eigvalsh",) for uplo in ("L", "U", "l")
      for x in (SYMMETRIC, SQUARE, HERMITIAN, np.stack([SYMMETRIC, POSITIVE]))),
    *(("linalg.svdvals", x) for x in (M, M.T, C, A)),
    *(("linalg.svd", x, {"compute_uv": False}) for x in (M, A)),
    ("linalg.qr", M, "r"), ("linalg.qr", M.T, "r"), ("linalg.qr", M.T, "raw"),
    *((f"linalg.{name}", x) for name in ("det", "slogdet", "inv")
      for x in (SQUARE, HERMITIAN, np.stack([SQUARE, SQUARE[::-1]]), SQUARE[:1, :1],
                SQUARE.astype("float32"), np.array([[0, 2], [3, 1]]),
                 SQUARE[[1, 2, 0]])),
    ("linalg.det", np.zeros((2, 2))), ("linalg.slogdet", np.zeros((2, 2))),
    ("linalg.slogdet", np.zeros((0, 0))), ("linalg.det", np.zeros((3, 0, 0))),
    *(("linalg.solve", a, b) for a, b in ((SQUARE, V[:3]), (SQUARE, M),
     (HERMITIAN, V[:3]),
      (np.stack([SQUARE, POSITIVE]), M), (SQUARE, A.transpose(0, 1, 2)),
      (np.array([[2, 0], [0, 4]]), np.array([2, 2])), (SQUARE, M[:, :0]),
      (np.stack([SQUARE, POSITIVE]), V[:3]))),
]  # fmt: skip


@pytest.mark.parametrize("text", ["ij,jk,kl->il", "ij,jk,kl"])
@pytest.mark.parametrize("optimize", ["greedy", "optimal", False])
def test_a_path_is_numpys(first_context, text, optimize):
    arrays = M, M.T, M[:, :1]
    made = gpuarray.einsum_path(text, *moved(arrays, first_context), optimize=optimize)
    told = np.einsum_path(text, *arrays, optimize=optimize)
    assert made[0] == told[0]
    assert made[1].splitlines()[1:5] == told[1].splitlines()[1:5]


def test_one_of_two_arrays_may_be_on_the_host(first_context):
    a = moved(M, first_context)
    for one, other in ((a, M), (M, a), (a, M[:1]), (M[:1], a)):
        hosts = np.asarray(one), np.asarray(other)
        assert gpuarray.array_equal(one, other) is np.array_equal(*hosts)
        assert gpuarray.array_equiv(one, other) is np.array_equiv(*hosts)
        assert gpuarray.allclose(one, other) is np.allclose(*hosts)


def test_vectors_of_two_elements_have_a_cross_product(first_context):
    a, b = moved((M[:, :2], M[:, 2:4]), first_context)
    told = M[:, 0] * M[:, 3] - M[:, 1] * M[:, 2]
    np.testing.assert_allclose(np.asarray(gpuarray.cross(a, b)), told, 1e-12)
    wide = np.asarray(gpuarray.cross(a, moved(M[:, 2:], first_context)))
    flat = np.concatenate([M[:, :2], np.zeros((3, 1))], 1)
    np.testing.assert_allclose(wide, np.cross(flat, M[:, 2:]), 1e-12)


def test_a_quantile_is_numpys_to_the_bit(first_context):
    """From the nearer one of two elements."""
    x = RANDOM.normal(size=(40, 2)) * [1e8, 1e-3]
    for q in np.arange(1, 32) / 32:  # whose products are exact
        made = gpuarray.quantile(moved(x, first_context), q, axis=1)
        np.testing.assert_array_equal(np.asarray(made), np.quantile(x, q, axis=1))
        made = gpuarray.nanquantile(moved(x, first_context), q, axis=1)
        np.testing.assert_array_equal(np.asarray(made), np.nanquantile(x, q, axis=1))


EVERY = JOINED + PICKED + COUNTED + SETS + COMPARED + MULTIPLIED + SOLVED


@pytest.mark.parametrize("call", EVERY, ids=label)
def test_a_call_gives_what_numpys_gives(first_context, call):
    assert_as_numpys(call, first_context)


CHANGES = [
    *(("put", x, where, what, mode) for x in (M, M.T, COUNTS) for mode in ("wrap",
     "clip")
      for where, what in ((1, 9), ([0, -1, 7], [1, 2]), ([3, 3, 99], [7, 8, 9]),
                          (np.array([[5], [2]]), 4), ([], [1]), ([1], []))),
    ("put", M, [1, -2], V), ("put", V, 2, 7.5), ("put", COUNTS, [1], [9, 8, 7]),
    ("put_along_axis", M, np.array([[0, 2], [1, 1], [-1, 3]]), 7.0, 1),
    ("put_along_axis", M, np.array([[0, 2, 1, 1, -1]]), V[None], 0),
]  # fmt: skip


@pytest.mark.parametrize("call", CHANGES, ids=label)
def test_an_array_is_changed_as_numpys_is(first_context, call):
    name, host, *arguments = call
    mine, theirs = moved(host, first_context), host.copy("K")
    getattr(gpuarray, name)(mine, *moved(tuple(arguments), first_context))
    getattr(np, name)(theirs, *arguments)
    assert_same(mine, theirs, exact=True)
