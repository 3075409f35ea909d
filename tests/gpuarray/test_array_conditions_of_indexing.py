"""Both sides of conditions in indices, orders and searches: NumPy is the judge."""

import gpuarray
import numpy as np
import pytest
from calls import assert_as_numpys, label, moved, ours
from gpuarray.errors import (
    BadIndex,
    BadType,
    BadValue,
    ReadOnly,
    TooLarge,
    Unsupported,
)
from judge import assert_same

RANDOM = np.random.default_rng(14)
A = RANDOM.normal(size=(2, 3, 4))
M = RANDOM.normal(size=(3, 5))
V = np.array([3.0, 1.0, 2.0, 1.0, 5.0])
COUNTS = np.array([[3, 1, 2], [0, 3, 1]])
SORTED = np.array([1.0, 2.0, 2.0, 5.0, np.nan])
PARTS = np.array([1, 2, np.nan])
COMPLEX = np.sort([complex(x, y) for x in PARTS for y in PARTS])
NUMBER = np.array(2.5)
S, E = slice, Ellipsis

INDICES = [
    *(1, -2, S(None), S(1, None), S(None, -1), S(None, None, -1), S(5, 0, -2),
     S(9, 20)),
    *(S(-9, 2), S(2, 1), S(1, 2**70), S(-(2**70), None), S(None, None, 2**70), E, None),
    *((), (0, 1), (0, 1, 2), (E, 1), (1, E), (E, 0, 1), (0, E, S(1, 3)), (0, 1, 2, E)),
    *((None, 1), (1, None, S(2)), (E, None), (None, E, None, 0), (S(1), None, 0, E)),
    *((S(None, None, -1), S(2, None, -1), S(None, None, 3)),
     (np.int8(1), np.int64(-1))),
    *([0, 1, 1], [[1], [0]], (S(None), [2, 0]), ([0, 1], [2, 1]),
     ([0, 1], S(1), [3, 0])),
    *((S(None), [1], S(None), ), (0, [1, 2], S(1, 3)), (0, S(None), [1, 2]),
     (E, [3, -4])),
    *(([[0], [1]], [0, 2, 1]), ([0], E, [1]), (None, [0, 1], None),
     (S(1), [2], None, 0)),
    *(A > 0, A[:, 0, 0] > 9, (S(None), A[0, :, 0] > -1), (0, A[0] > 0),
     (E, A[0, 0] > 0)),
    *((A[:, :, 0] > 0, S(1, 3)), (A[:, :, 0] > 0, [0]), True, False, (True, 0),
     np.True_),
    *(np.array(1), (np.array(1), 0), (np.array(1), [0, 1]), (True, [0, 1]), [],
     ([], [])),
    *([True, False], (S(None), [True, False, True]), np.zeros((2, 0), int), [S(1), 1]),
    *(np.array([1, 0], "uint8"), np.array([-1, -2], "int16"), (S(0), [0])),
]  # fmt: skip


def named_index(index):
    """What a case is called."""
    return str(index).replace("\n", "")


def on_device(index, context):
    """The index with its lists and arrays on a context."""
    if isinstance(index, tuple):
        return tuple(on_device(entry, context) for entry in index)
    if isinstance(index, list) and S(1) not in index:
        index = np.array(index, int if index == [] else None)
    return moved(index, context)


@pytest.mark.parametrize("index", INDICES, ids=named_index)
def test_an_index_gets_and_sets_as_numpys(first_context, index):
    index = tuple(index) if isinstance(index, list) and S(1) in index else index
    for host in (A, A[::-1], np.asfortranarray(A)):
        a = moved(host, first_context)
        told = host[index]
        assert_same(a[index], np.asarray(told), exact=True)
        there = on_device(index, first_context)
        assert_same(a[there], np.asarray(told), exact=True)
        values = np.arange(np.size(told), dtype=float).reshape(np.shape(told))
        changed = host.copy("K")
        a[index], changed[index] = moved(values, first_context), values
        assert_same(a, changed, exact=True)
        a[there], changed[index] = -7, -7
        assert_same(a, changed, exact=True)


NO_INDICES = [
    (2, "index: 2 is out of bounds for axis 0 of length 2"),
    ((0, -4), "index: -4 is out of bounds for axis 1 of length 3"),
    ((S(None), 0, 4), "index: 4 is out of bounds for axis 2 of length 4"),
    ((0, 0, 0, 0), "index: 4 indices for an array of 3 axes"),
    ((0, 0, 0, 0, E), "index: 4 indices for an array of 3 axes"),
    ((E, 0, E), "index: only one Ellipsis"), (([0], E, E), "index: only one Ellipsis"),
    (([0], 0, 0, 0), "index: 4 indices for an array of 3 axes"),
    ("x", "index: got str|str of"), (1.5, "index: got float"), (S("a"), "index: slice"),
    (S(None, None, 0), "slice step cannot be zero"), (S(0, 1.5), "index: slice"),
    ([2], "index: 2 is out of bounds for axis 0 of length 2"),
    ([-3], "index: -3 is out of bounds for axis 0 of length 2"),
    ((0, [5, -9]), "index: 5 is out of bounds for axis 1 of length 3"),
    ([0.5], "index: list of float64"), ([[1], [1, 2]], "index: "),
    (np.array([0.5]), "index: ndarray of float64"),
    ([True], r"index: a mask of shape \(1,\) does not fit axis 0 of length 2"),
    (A[0] > 0, r"a mask of shape \(3, 4\) does not fit axis 0 of length 2"),
    ((0, 0, A[0] > 0), "4 indices for an array of 3"),
    ((S(None), A[:, 0] > 0), r"\(2, 4\) does not fit axis 1 of length 3"),
]  # fmt: skip


@pytest.mark.parametrize("case", NO_INDICES, ids=lambda case: named_index(case[0]))
def test_what_is_no_index_is_refused(first_context, case):
    index, fact = case
    a = moved(A, first_context)
    with pytest.raises(BadIndex, match=fact):
        a[index]
    with pytest.raises(BadIndex, match=fact):
        a[index] = 0
    assert a[1, :2].shape == (2, 4)  # the failure is no longer told of
    assert_same(a, A)


def test_a_value_that_does_not_fit_is_refused(first_context):
    a, counts = moved(A, first_context), moved(COUNTS.astype("int8"), first_context)
    for value, kind, fact in (
        (1j, BadType, "setitem: values of complex128 for an array of float64"),
        (V, BadValue, ""),
        (A[:, :2], BadValue, ""),
    ):
        for index in (E, [0, 1]):
            with pytest.raises(kind, match=fact or None):
                a[index] = moved(value, first_context) if fact == "" else value
    for value, kind, fact in (
        (300, TooLarge, "setitem"),
        (-129, TooLarge, "setitem"),
        (np.nan, BadValue, "expected numbers for int8"),
    ):
        with pytest.raises(kind, match=fact):
            counts[0] = value
    counts[0] = np.array([300, -129, 1])  # of NumPy's arrays the low bits are taken
    np.testing.assert_array_equal(np.asarray(counts)[0], [44, 127, 1])
    with pytest.raises(ReadOnly, match="setitem: the array is read-only"):
        gpuarray.broadcast_to(a[0], (2, 3, 4))[0] = 1
    element = a[0, 0, 0]
    with pytest.raises(ReadOnly, match="read-only"):
        element[...] = 1
    a[0, 0, 0] = 5
    assert float(element) == A[0, 0, 0]
    assert float(a[0, 0, 0, ...]) == 5


FOUND = [
    *((name, x, axis) for name in ("sort", "argsort") for x in (
        M, COUNTS, SORTED[::-1].copy(), COMPLEX[::-1].copy(), M.T, A.astype("float16"))
      for axis in (-1, 0, None)),
    ("argsort", NUMBER, 0), ("argsort", NUMBER, None), ("sort", NUMBER, None),
    ("argsort", np.ones(5)), ("argsort", V, -1, "stable"), ("sort", COUNTS > 1, 0),
    *(("searchsorted", a, v, side) for side in ("left", "right") for a, v in (
        (SORTED, V), (SORTED, SORTED), (SORTED, 2.0),
        (SORTED, [[0.0, 9.0], [2, np.inf]]),
        (COMPLEX, COMPLEX), (COMPLEX, 1.5), (np.array([1, 3, 5]), 3), (np.zeros(0), V),
        (np.array([1, 3, 5]), 2.5), (np.array([1, 3, 5], "uint8"), -1),
        (np.array([1, 3, 5], "uint8"), 300), (SORTED[::2][:2], V[::2]),
        (np.array([-1, 0, 1]), np.array([2**63], "uint64")), (SORTED, np.zeros(0)))),
    ("searchsorted", V, V, {"sorter": np.argsort(V)}),
    ("searchsorted", V, 2.0, "right", np.argsort(V).astype("int8")),
    *(("digitize", V, bins, right) for right in (True, False) for bins in (
        [1.0, 2, 3], [3.0, 2, 1], [1.0, 1, 1], [5.0], [1.0, 1.0, 3.0],
        [3.0, 1.0, 1.0])),
    ("digitize", COUNTS, np.array([1, 3])),
    *(("unravel_index", np.array([0, 5, 7, 23]), (2, 3, 4), order) for order in "CF"),
    ("unravel_index", np.array([2]), 5),
    *(("ravel_multi_index", (np.array([0, 1, 1]), np.array([2, 0, 1])), (2, 3), mode,
     order)
      for mode in ("raise", "wrap", "clip", ("wrap", "raise")) for order in "CF"),
    *(("ravel_multi_index", (np.array([-3, 4]), np.array([7, -1])), (2, 3), mode)
      for mode in ("wrap", "clip", ("clip", "wrap"))),
]  # fmt: skip


@pytest.mark.parametrize("call", FOUND, ids=label)
def test_a_call_gives_what_numpys_gives(first_context, call):
    assert_as_numpys(call, first_context)


REFUSED = [
    (BadType, "sort: kind is 'slow', expected one of", "sort", V, -1, "slow"),
    (BadType, "argsort: kind is 'slow'", "argsort", V, -1, "slow"),
    (Unsupported, "sort: order is for dtypes with fields", "sort", V, {"order": "x"}),
    (BadIndex, "sort: axis 1 is out of bounds", "sort", V, 1),
    (BadIndex, "argsort: axis 1 is out of bounds for 0", "argsort", NUMBER, 1),
    (BadValue, r"searchsorted: shape \(3, 5\), expected a vector", "searchsorted", M,
     V),
    (BadValue, "side is 'up', expected 'left' or 'right'", "searchsorted", V, V, "up"),
    (BadType, "a sorter of float64, expected int", "searchsorted", V, V, "left", V),
    (BadValue, r"a sorter of shape \(2,\) for a vector of 5", "searchsorted", V, V,
     "left", np.array([0, 1])),
    (BadValue, r"bins of shape \(3, 5\), expected a vector", "digitize", V, M),
    (BadValue, "the bins must ascend or descend", "digitize", V, [1.0, 3, 2]),
    (BadType, "lie in no intervals", "digitize", V, [1j]),
    (BadType, "lie in no intervals", "digitize", V * 1j, [1.0]),
    (BadType, "unravel_index: indices of float64", "unravel_index", V, (2, 3)),
    (BadValue, "order is 'K', expected 'C' or 'F'", "unravel_index", COUNTS, 9, "K"),
    (BadValue, "ravel_multi_index: 2 index arrays for 1 axes", "ravel_multi_index",
     (COUNTS, COUNTS), 4),
    (BadValue, "got mode 'no', expected 'raise', 'wrap'", "ravel_multi_index",
     (COUNTS, COUNTS), (4, 4), "no"),
    (BadType, "topk: k is -1", "topk", V, -1),
    (BadIndex, "topk: axis 1", "topk", V, 1, 1),
    (BadType, "take: indices of float64 are no integers", "take", M, V, 0),
    (BadType, "take: indices of float64 are no integers", "take", M, [0.5], 0),
    (BadValue, "take: got mode 'no', expected 'raise', 'wrap'", "take", M, [0], 0, None,
     "no"),
    (BadIndex, "index: 3 is out of bounds for axis 0 of length 3", "take", M, [3], 0),
    (BadValue, "take_along_axis: indices have 1 axes, the array 2", "take_along_axis",
     M,
     np.array([0]), 0),
    (BadValue, "compress: the condition has 2 axes, expected 1", "compress", M > 0, M),
    (BadValue, "nonzero: a 0-d array has no axes", "nonzero", NUMBER),
    (BadValue, "add_at: 3 index arrays for an array of 2", "add_at", M,
     ([0], [0], [0]), 1),
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: label(case[2:]))
def test_a_call_is_refused(first_context, case):
    kind, fact, *call = case
    with pytest.raises(kind, match=fact) as caught:
        ours(call, first_context)
    assert type(caught.value) is kind


@pytest.mark.parametrize("descending", [False, True])
def test_orders_that_descend_and_the_largest_elements(first_context, descending):
    host = np.array([[3, 1, 3, 2], [0, 5, 0, 5]])
    a, ordered = moved(host, first_context), np.sort(host, 1)
    keys = -host if descending else host
    places = np.argsort(keys, 1, kind="stable")
    told = np.take_along_axis(host, places, 1)
    assert_same(gpuarray.sort(a, descending=descending), told)
    assert_same(gpuarray.argsort(a, 1, descending=descending), places)
    pair = gpuarray.sort_pairs(a, a * 10, descending=descending)
    assert_same(pair[0], told)
    assert_same(pair[1], told * 10)
    for k in (0, 1, 3, 4):
        values, where = gpuarray.topk(a, k, largest=descending)
        assert_same(values, told[:, :k])
        assert_same(where, places[:, :k])
    values, where = gpuarray.topk(a, 1, axis=0)
    assert_same(values, host.max(0, keepdims=True))
    b = moved(host, first_context)
    b.sort()
    assert_same(b, ordered)
    a.sort(descending=descending)
    assert_same(a, ordered[:, ::-1] if descending else ordered)
