"""Names of Theano's sparse namespaces: sandboxes, former modules, what to use."""

import numpy as np
import pytest
import scipy.sparse as host
from cases_sparse import drawn
from gpuarray.compiler import function, shared, sparse as S, tensor as T
from gpuarray.compiler.sparse import basic
from gpuarray.compiler.sparse.sandbox import sp, sp2
from gpuarray.compiler.sparse.type import SparseType
from scipy.signal import correlate2d

MEANS = host.random(12, 9, 0.4, "csr", random_state=1) * 20


@pytest.mark.parametrize(("mode", "step"), [("valid", (1, 1)), ("full", (2, 3))])
def test_convolutions_of_flat_images(mode, step, on_context):
    filters, images, bias = drawn(4, 12), drawn(3, 70), drawn(4)
    k, x, b = T.dmatrix("k"), T.dmatrix("x"), T.dvector("b")
    flat, shape = sp.convolve(k, (3, 2), 4, x, (2, 7, 5), step, b, mode)
    apart, _ = sp.convolve(k, (3, 2), 4, x, (2, 7, 5), step, mode=mode, flatten=False)
    every = images.reshape(3, 1, 2, 7, 5), filters.reshape(1, 4, 2, 3, 2)
    places = np.ndindex(3, 4, 2)
    parts = [
        correlate2d(every[0][i, 0, c], every[1][0, j, c], mode) for i, j, c in places
    ]
    wanted = np.reshape(parts, (3, 4, 2, *parts[0].shape)).sum(2)
    wanted = wanted[:, :, :: step[0], :: step[1]]
    assert tuple(shape) == wanted.shape[1:]
    found, others = function([k, x, b], [flat, apart])(filters, images, bias)
    np.testing.assert_allclose(others, wanted.reshape(3, 4, -1))
    biased = wanted + bias[:, None, None]
    np.testing.assert_allclose(found, biased.reshape(3, -1))


def test_pooling_of_flat_images(on_context):
    x, images = T.dmatrix("x"), drawn(3, 70)
    found, shape = sp.max_pool(x, (2, 7, 5), (2, 2))
    assert tuple(shape) == (3, 2)
    windows = images.reshape(3, 2, 7, 5)[:, :, :6, :4].reshape(3, 2, 3, 2, 2, 2)
    expected = windows.max((3, 5)).reshape(3, -1)
    np.testing.assert_array_equal(function([x], found)(images), expected)


def test_poisson_numbers(on_context):
    x = S.csr_matrix("x", "float64")
    np.random.seed(3)  # noqa: NPY002 - Theano's programs do
    f = function([x], sp2.poisson(x))
    first, second = f(MEANS), f(MEANS)
    np.random.seed(3)  # noqa: NPY002
    again = function([x], sp2.poisson(x))(MEANS)
    assert (first != again).nnz == 0 < (first != second).nnz
    assert first.dtype == "float64" and first.data.min() >= 1
    assert abs(first - MEANS).max() < 30 and set(first.data % 1) == {0}
    assert abs(first.sum() / MEANS.sum() - 1) < 0.2


def test_multinomial_counts(on_context):
    """In rows that have no outcome none is drawn."""
    x, n = S.csr_matrix("x", "float64"), T.lvector("n")
    p = host.csr_matrix(MEANS.multiply(1 / MEANS.sum(1)))
    p = host.vstack([p, host.csr_matrix((1, 9))], "csr")
    tries = np.arange(13) * 1000
    f = function([n, x], [sp2.multinomial(n, x), sp2.multinomial(7, x)])
    found, seven = f(tries, p)
    np.testing.assert_array_equal(found.indices, p.indices)
    sums = np.asarray(found.sum(1)).ravel()
    np.testing.assert_array_equal(sums, [*tries[:-1], 0])
    assert abs(found[11] / 11000 - p[11]).max() < 0.03
    assert np.asarray(seven.sum(1)).ravel().tolist() == [7] * 12 + [0]
    assert f(tries[:3], host.csr_matrix((3, 9)))[0].nnz == 0


def test_binomial_numbers(on_context):
    shape = T.lvector("shape")
    found = function([shape], sp2.csc_fbinomial(10, 0.3, shape))([20, 30])
    assert (found.format, found.dtype, found.shape) == ("csc", "float32", (20, 30))
    assert abs(found.mean() - 3) < 0.4 and found.data.max() <= 10


def test_former_modules():
    assert basic.structured_dot is S.structured_dot is S.basic.structured_dot
    assert SparseType is S.SparseType and sp.EliminateZeros is S.Remove0
    assert S.SparseTensorSharedVariable is type(shared(MEANS))
    assert sp2.hstack is S.hstack and sp.clean is S.clean


X, W = S.csr_matrix("x", "float64"), T.dvector("w")

MISTAKES = {
    "blocks": (lambda: S.bsr_fmatrix, "use csr_matrix: arguments in BSR are"),
    "a comparison": (lambda: S.less_than_s_d, "; use lt"),
    "of the same module": (lambda: basic.equal_s_s, "sparse' has no .*; use eq"),
    "of the sandbox": (lambda: sp.ConvolutionIndices, "; use convolve"),
    "an unknown name": (lambda: sp2.poison, "did you mean 'poisson'"),
    "a mode": (
        lambda: sp.convolve(X, (1, 1), 1, X, (2, 2), mode="same"),
        "'same', expected 'valid' or 'full'",
    ),
    "a vector of images": (
        lambda: sp.convolve(W, (1, 1), 1, W, (2, 2)),
        "given w of .*, expected a matrix with a row",
    ),
    "a length": (lambda: sp.max_pool(W, (4,), (2, 2)), r"imgshp is \(4,\), expected"),
    "draws of floats": (lambda: sp2.multinomial(W, X), "number of draws or a vector"),
    "columns": (lambda: sp2.multinomial(3, X.T), "expected a matrix of floats in CSR"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_told(name):
    make, text = MISTAKES[name]
    with pytest.raises((AttributeError, TypeError, ValueError), match=text):
        make()
