"""Arithmetic, reductions and indexing of sparse arrays; scipy is the judge."""

import operator

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
from gpuarray import sparse
from judge import assert_same
from sparse_arrays import FORMATS, host, hosts, messy, on, same

LINES = [(5, 7), (40, 30), (6, 9)]


def pairs(context):
    """Two arrays of one shape, of all formats, canonical or not."""
    for first in FORMATS:
        for shape in LINES:
            a = host(shape, 0.3, format=first)
            b = host(shape, 0.3, format="csr", seed=5)
            yield a, b, on(context, a), on(context, b)
        a, b = messy((6, 9), first), messy((6, 9), "csr", seed=5)
        yield a, b, on(context, a), on(context, b)
    empty, some = host((3, 4), 0), host((3, 4), 0.4)
    for a, b in ((empty, some), (some, empty), (empty, empty)):
        yield a, b, on(context, a), on(context, b)


# ---- arithmetic ----


def test_sums_products_and_comparisons_of_two(context):
    for a, b, A, B in pairs(context):
        same(A + B, (a + b).asformat(a.format))
        same(A - B, (a - b).asformat(a.format))
        same(A * B, (a * b).asformat(a.format))
        assert (A + B).nnz == (a + b).nnz
        same(A.maximum(B), a.maximum(b).asformat(a.format))
        same(A != B, (a != b).asformat(a.format))
        same(A < B, (a < b).asformat(a.format))
        same(A > A * 2, (a > a * 2).asformat(a.format))
        same(A.minimum(A * 2), a.minimum(a * 2).asformat(a.format))
    with pytest.raises(gpuarray.BadValue, match="shapes"):
        A + on(context, host((5, 7)))
    with pytest.raises(gpuarray.Unsupported, match="compare by !="):
        A == B  # noqa: B015
    with np.errstate(all="ignore"):
        assert_same(A / A, (a / a).astype("float32"))


def test_numbers(context):
    for format in FORMATS:
        for a in (host((5, 7), format=format), messy((6, 9), format)):
            A = on(context, a)
            same(A * 2, a * 2)
            same(2.5 * A, 2.5 * a)
            same(A / 4, (a / 4).astype("float32"))  # scipy divides in float64
            same(-A, -a)
            same(abs(A), abs(a))
            same(A + 0, a)
            same(0 - A, -a)
            same(A**2, a.tocsr().power(2).asformat(format))
            same(A > 1, (a.tocsr() > 1).asformat(format))
            same(A <= -1, (a.tocsr() <= -1).asformat(format))
            same(A != 0, (a.tocsr() != 0).asformat(format))
            same(A == 2, (a.tocsr() == 2).asformat(format))
            same(A.maximum(-1), a.tocsr().maximum(-1).asformat(format))
            same(A.minimum(1), a.tocsr().minimum(1).asformat(format))
    refused = [
        lambda: A + 1,
        lambda: 1 - A,
        lambda: A < 1,
        lambda: A == 0,
        lambda: A**0,
        lambda: A.maximum(1),
        lambda: 1 / A,
    ]
    for call in refused:
        with pytest.raises(gpuarray.Unsupported, match="unasked"):
            call()
    with pytest.raises(TypeError):
        A + "1"


def test_dense_operands(context):
    rng = np.random.default_rng(0)
    for format in FORMATS:
        a = host((5, 7), format=format)
        A = on(context, a)
        x = rng.integers(1, 5, (5, 7)).astype("float32")
        X = gpuarray.asarray(x, context=context)
        assert_same(A + X, a + x, exact=True)
        assert_same(X - A, x - a, exact=True)
        assert_same(A < X, a.toarray() < x, exact=True)
        same(A * X, a * x, format=False)
        same(X * A, a * x, format=False)
        same(A / X, a / x, exact=False, format=False)
        same(A * X[0], a * x[0], format=False)
        same(A.multiply(X[:, :1]), a.multiply(x[:, :1]), format=False)
        row = host((1, 7), 0.6, format="csr", seed=3)
        same(A * on(context, row), a * row, format=False)
    with pytest.raises(gpuarray.Unsupported, match="not repeated"):
        A * gpuarray.ones((2, 5, 7), "float32", context)


@pytest.mark.parametrize("name", ["sin", "sqrt", "expm1", "sign", "floor"])
def test_functions_that_keep_zero(context, name):
    a = abs(messy((6, 9), "csr"))
    A = abs(on(context, messy((6, 9), "csr")))
    same(getattr(A, name)(), getattr(a, name)(), exact=False)
    same(getattr(np, name)(A), getattr(a, name)(), exact=False)


def test_numpy_s_functions_and_context(context):
    a = host((5, 7))
    A = on(context, a)
    same(np.multiply(A, 2), a * 2)
    same(np.negative(A), -a)
    with pytest.raises(TypeError):
        np.cos(A)
    null = sparse.csr_array((5, 7), dtype="float32", context="null")
    with pytest.raises(gpuarray.BadValue, match="bring one over"):
        A + null


def test_numbers_scale_the_array_itself(context):
    a = host((5, 7))
    A = on(context, a)
    B, T = A, A.T
    A *= 2
    A /= 8
    assert A is B
    same(A, a * 0.25)
    same(T, (a * 0.25).T)
    A *= on(context, a)
    assert A is not B
    same(A, a * 0.25 * a)
    whole = on(context, host((5, 7), dtype="int32"))
    with pytest.raises(TypeError):
        whole /= 2


def test_differences_of_bool_are_where_both_differ(context):
    a, b = (host((5, 7), seed=seed).astype(bool) for seed in (0, 1))
    A, B = on(context, a), on(context, b)
    same(A - B, a - b)
    same(A - A, a - a)


def test_what_scipy_copies_is_apart(context):
    a = host((5, 7))
    A = on(context, a)
    for part in (A[:], A[:, :], A[...], A.conj(), A.copy(), A.T[:]):
        part *= 0
    same(A, a)
    assert A.conj(copy=False) is A


def test_complex_arrays_and_dtypes(context):
    a = host((5, 7)).astype("complex64") * np.complex64(1 + 2j)
    A = on(context, a)
    for name in ("real", "imag"):
        same(getattr(A, name), getattr(a, name))
    same(A.conj(), a.conj())
    same(A.T.conj() @ A, (a.T.conj() @ a).asformat("csc"))
    a.data[:2] = np.inf, complex(1, -np.inf)  # one part alone is infinite
    b = host((5, 7), seed=5).astype("complex64")
    same(on(context, a) + on(context, b), a + b)
    same(on(context, b) - on(context, a), b - a)
    a = host((5, 7), dtype="int32")
    A = on(context, a)
    same(A.astype("float32"), a.astype("float32"))
    same(A * 0.5, a * 0.5)
    same(A.astype("float32") != A, a != a)


# ---- reductions ----


def test_sums_and_means(context):
    for a in hosts():
        A = on(context, a)
        for axis in (None, 0, 1, -1):
            assert_same(A.sum(axis=axis), a.sum(axis=axis), exact=True)
            if 0 not in a.shape:
                found, expected = A.mean(axis=axis), a.mean(axis=axis)
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found.get(), expected, 1e-5, 1e-6)
    a = host((5, 7), dtype="int8")
    A = on(context, a)
    assert_same(A.sum(axis=0), a.sum(axis=0), exact=True)
    assert A.sum().dtype == a.sum().dtype
    assert_same(A.mean(axis=1), a.mean(axis=1))
    with pytest.raises(gpuarray.BadIndex):
        A.sum(axis=2)


def test_extremes(context):
    for a in [*hosts(), host((4, 3), 1.0)]:
        if 0 in a.shape:
            continue
        A = on(context, a)
        for name in ("max", "min"):
            assert float(getattr(A, name)()) == getattr(a, name)()
            for axis in (0, 1):
                found, expected = (getattr(x, name)(axis=axis) for x in (A, a))
                same(found, expected)
                assert found.nnz == expected.nnz
    with pytest.raises(gpuarray.BadValue, match="no elements"):
        on(context, host((0, 4), 0)).max(axis=0)


def test_counts_diagonals_and_triangles(context):
    for a in hosts():
        A = on(context, a)
        canonical = a.tocsr(copy=True)
        canonical.sum_duplicates()
        assert A.count_nonzero() == canonical.count_nonzero()
        assert_same(A.count_nonzero(axis=0), canonical.count_nonzero(axis=0))
        rows, columns = (x.tolist() for x in A.nonzero())
        expected = np.nonzero(a.toarray())
        assert (rows, columns) == tuple(x.tolist() for x in expected)
        for k in (0, 1, -1, 2):
            if -a.shape[0] < k < a.shape[1]:
                assert_same(A.diagonal(k), a.diagonal(k), exact=True)
            same(sparse.tril(A, k), sp.tril(a, k), format=False)
            same(sparse.triu(A, k, "csr"), sp.triu(a, k), format=False)
        assert A.trace().item() == a.trace()


def test_diagonals_are_set(context):
    for format in FORMATS:
        for k, values in ((0, 7), (1, [1, 2, 3]), (-2, [9.0])):
            a = host((5, 7), format=format).tolil()
            A = on(context, host((5, 7), format=format))
            A.setdiag(values, k)
            a.setdiag(values, k)
            same(A, a.asformat(format))
    empty = sparse.csr_array((0, 5), context=context)
    empty.setdiag(1, 2)
    assert empty.nnz == 0


# ---- indexing ----

PARTS = [
    2,
    -1,
    slice(None),
    slice(1, 4),
    slice(4, None, -2),
    slice(None, None, 2),
    [3, 0, 3],
    np.array([-1, 2]),
    np.array([True, False, True, True, False]),
    [],
    range(3),
    (0, 2),
]


NEW_AXES = [
    (None, 2),
    (2, None),
    (2, None, slice(1, 4)),
    (slice(None), None, -1),
    (None, [3, 0], 1),
    (..., 1, None, slice(None)),
    (1, ..., None),
    (np.int64(1), slice(None, None, -1), None),
]


def same_part(found, expected):
    dense = found.toarray() if sparse.issparse(found) else found
    assert_same(dense, expected, exact=True)


def test_parts(context):
    for format in FORMATS:
        for a in (host((5, 5), 0.5, format=format), messy((5, 5), format)):
            A, array = on(context, a), a.toarray()
            for row in PARTS:
                row_of_many = (row, ...) if isinstance(row, tuple) else row
                same_part(A[row_of_many], array[row_of_many])
                for column in (1, slice(1, 4), slice(None, None, -1)):
                    same_part(A[row, column], array[row, column])
                    same_part(A[column, row], array[column, row])
            assert A[1:3].format == format and A[..., 2].shape == (5,)
            rows, columns = np.array([0, 4, 2]), np.array([1, 1, -1])
            same_part(A[rows, columns], array[rows, columns])
            same_part(A[rows[:, None], columns], array[rows[:, None], columns])
            given = [gpuarray.asarray(x, context=context) for x in (rows, columns)]
            same_part(A[given[0], given[1]], array[rows, columns])
            same_part(A[given[1]], array[columns])
            same_part(A[A > 1], array[array > 1])
            for part in NEW_AXES:
                same_part(A[part], array[part])
            assert A[None, 1].format == format
    assert [row.shape for row in A] == [(5,)] * 5


def test_operands_of_scipy_are_named(context):
    a = host((5, 5))
    A, text = on(context, a), r"scipy's csr_array; put it on the device first: gpuarray"
    for call in (
        lambda: A + a,
        lambda: a - A,
        lambda: A @ a,
        lambda: A * a,
        lambda: operator.gt(A, a),
    ):
        with pytest.raises(gpuarray.BadType, match=text):
            call()


def test_bad_indices(context):
    A = on(context, host((5, 7)))
    for index in (5, (0, 7), [5], (0, 0, 0), 0.5, np.ones(4, bool)):
        with pytest.raises(gpuarray.BadIndex):
            A[index]
    for index in (None, (None, 0, 0), (0, None, None), (slice(2), None)):
        with pytest.raises(gpuarray.Unsupported, match="new axis"):
            A[index]
    vector = A[0]
    same_part(vector[None], A.toarray().get()[:1])
    same_part(vector[:, None], A.toarray().get()[:1].T)
    assert not operator.truth(sparse.csr_array((1, 1), context=context))
