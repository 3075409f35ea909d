"""What sparse matrices refuse: what was given, what is expected, what to do."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases_sparse import matrix
from gpuarray.compiler import config, function, shared, sparse as S, tensor as T

A, V = matrix(6, 4, "csr", 1), np.ones(4)
X, Y, W = S.csr_matrix("x", "float64"), S.csr_matrix("y", "float64"), T.dvector("w")

MISTAKES = {
    "another format": (lambda: S.bsr_matrix(), "'bsr' is not offered"),
    "no format": (lambda: S.SparseType("lil", "float64"), "expected 'csr' or 'csc'"),
    "two arrays": (lambda: S.dot(W, W), "expected a sparse matrix among them.*T.dot"),
    "a function of arrays": (lambda: T.exp(X), "make it dense with sparse.dense"),
    "a method of arrays": (lambda: X.reshape((3,)), "dense_from_sparse.x..reshape"),
    "division": (lambda: X / Y, "zeros to divide by"),
    "equality": (lambda: S.eq(X, Y), "true wherever both matrices are zero"),
    "three indices": (lambda: X[1, 2, 3], "3 indices"),
    "an index of floats": (lambda: X[W], "an integer, a slice or a vector of integers"),
    "a new axis": (lambda: X[None], "None makes a new axis.*dense_from_sparse"),
    "length": (lambda: len(X), r"x.shape\[0\]"),
    "truth": (lambda: bool(X), "symbolic"),
    "indices of floats": (lambda: S.CSR(W, W, W, [1, 2]), "a vector of integers"),
    "a shape of three": (
        lambda: S.CSR(W, T.ivector(), T.ivector(), [1, 2, 3]),
        "expected two lengths",
    ),
    "a matrix made sparse": (lambda: S.csr_from_dense(X), "expected a matrix"),
    "an array as constant": (lambda: S.constant(V), "matrix of scipy.sparse"),
    "a computed input": (lambda: function([X + X], X), "is computed.*givens"),
    "a scalar added": (lambda: X + 1.0, "expected a matrix.*structured_add"),
    "a vector taken away": (lambda: X - W, "expected a matrix.*structured_add_s_v"),
    "no list": (lambda: S.hstack(X), "given x, expected a list of matrices"),
    "a negative length": (
        lambda: S.CSR(W, T.ivector(), T.ivector(), (-1, 3)),
        "expected no length < 0",
    ),
    "a vector of rows": (
        lambda: S.construct_sparse_from_list(X, W, W),
        "expected a matrix and a vector of integers",
    ),
    "factors of usmm": (lambda: S.usmm(W, X, X, X), "expected a scalar and three"),
    "another type of update": (
        lambda: function([], [], updates={shared(A): Y.T}),
        "the update of",
    ),
    "a value of arrays": (lambda: shared(A).set_value(np.eye(3)), "given ndarray"),
}
"""Mistakes that are told where they are made."""

CALLS = {
    "an array": ([X], X, (np.eye(3),), "given ndarray of shape.*csr_matrix.x"),
    "more digits": ([X], X, (A.astype("complex128"),), "may lose digits.*astype"),
    "nothing": ([X], X, (), "given 0 inputs by position, expected 1: x"),
    "too many": ([X], X, (A, A), "given 2 inputs by position, expected 1: x"),
    "another length": ([X, W], S.dot(X, W), (A, np.ones(9)), "does not fit"),
    "another shape": (
        [X, Y],
        X + Y,
        (A, A.T.tocsr()),
        "number of rows is 4, expected 6",
    ),
    "factors": ([X, Y], S.dot(X, Y), (A, A), "number of rows is 6, expected 4"),
}
"""Mistakes of a call."""


@pytest.mark.parametrize("name", MISTAKES)
def test_told_where_it_is_made(name, on_null):
    make, text = MISTAKES[name]
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=text):
        make()


@pytest.mark.parametrize("name", CALLS)
def test_told_by_the_call(name, on_context):
    inputs, output, arguments, text = CALLS[name]
    f = function(inputs, output)
    with pytest.raises((TypeError, ValueError), match=text):
        f(*arguments)


def test_indices_out_of_range(on_context):
    wrong = sp.csr_matrix(A)
    wrong.indices = wrong.indices.copy()
    wrong.indices[0] = 99
    f = function([X, Y], X + Y)
    with pytest.raises(
        (ValueError, IndexError), match="index 99 at place 0 is out of 4 columns"
    ):
        f(wrong, A)


STARTS = {
    "falls": ([0, 3, 1, 4, 4, 4, 4], "indptr is 1 at place 2"),
    "begins late": ([1, 1, 2, 2, 2, 4, 4], "indptr is 1 at place 0"),
    "ends beyond": ([0, 1, 1, 1, 1, 1, 9], "indptr is 9 at place 6.*at most 4"),
    "too few": ([0, 4], "2 starts in indptr.*and 7 starts"),
}
"""Wrong arrays that scipy does not check when they are set."""


@pytest.mark.parametrize("name", STARTS)
def test_starts_that_are_none(name, on_context):
    starts, text = STARTS[name]
    wrong = sp.csr_matrix((6, 4))
    wrong.data, wrong.indices = np.ones(4), np.zeros(4, "int32")
    wrong.indptr = np.array(starts, "int32")
    f, kept = function([X, W], S.dot(X, W)), shared(A)
    with pytest.raises(ValueError, match=text):
        f(wrong, V)
    with pytest.raises(ValueError, match=text):
        kept.set_value(wrong)
    with pytest.raises(ValueError, match=text):
        S.constant(wrong)
    np.testing.assert_allclose(f(A, V), A @ V)
    assert (kept.get_value() != A).nnz == 0


def test_a_dtype_that_scipy_lacks(on_null):
    f = function([S.csr_matrix("h", "float16")], [], on_unused_input="ignore")
    with pytest.raises(TypeError, match=r"scipy has no float16; give gpuarray\.sparse"):
        f(A.astype("int8"))
    with pytest.raises(TypeError, match="may lose digits"):
        f(A)


def test_strict(on_null):
    from gpuarray.compiler import In

    f = function([In(X, strict=True)], X)
    with pytest.raises(TypeError, match="strict takes that format and dtype alone"):
        f(A.tocsc())


def test_of_the_settings(on_null):
    with config.use(floatX="float32"):
        assert S.csr_matrix().dtype == "float32"
