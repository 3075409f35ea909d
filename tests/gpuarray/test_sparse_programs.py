"""Programs as users of scipy write them, run with scipy's modules and with ours."""

import gpuarray
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

TEXTS = [
    "the cat sat on the mat",
    "the dog sat on the log",
    "a sparse matrix has few values that are not zero",
    "few values of the matrix are stored",
    "the cat and the dog are friends",
    "",
]


def similar_texts(xp, sparse):
    """Cosine similarities of TF-IDF vectors of hashed words, and the nearest texts."""
    width, rows, columns = 64, [], []
    for number, text in enumerate(TEXTS):
        for word in text.split():
            rows.append(number)
            columns.append(sum(map(ord, word)) * 7 % width)
    listed = np.ones(len(rows)), (rows, columns)
    counts = sparse.coo_array(listed, shape=(len(TEXTS), width)).tocsr()
    documents = (counts > 0).sum(axis=0)
    weights = xp.log((1 + len(TEXTS)) / (1 + documents)) + 1
    vectors = counts.multiply(weights[None, :]).tocsr()
    norms = xp.sqrt(vectors.power(2).sum(axis=1))
    vectors = sparse.diags_array(1 / xp.where(norms == 0, 1.0, norms)) @ vectors
    similar = (vectors @ vectors.T).tocsr()
    similar.setdiag(0)
    similar.eliminate_zeros()
    near = similar > 0.2
    return [
        similar.toarray(),
        similar.argmax(axis=1),
        similar.max(axis=1).toarray(),
        near.sum(axis=1),
        similar[[0, 3]][:, 1:].toarray(),
        similar.nnz,
    ]


def spectrum(xp, sparse, linalg):
    """Laplacian eigenmaps of nearest neighbours, and heat on the same graph."""
    rng = np.random.default_rng(1)
    places = np.concatenate([rng.normal(c, 0.3, (20, 2)) for c in ((0, 0), (3, 0))])
    apart = ((places[:, None] - places[None]) ** 2).sum(-1)
    near = np.argsort(apart, 1)[:, 1:6]
    rows = np.repeat(np.arange(40), 5)
    values = np.exp(-apart[rows, near.ravel()])
    graph = sparse.csr_array((values, (rows, near.ravel())), shape=(40, 40))
    graph = graph.maximum(graph.T)
    scale = sparse.diags_array(1 / xp.sqrt(graph.sum(axis=1)))
    laplacian = sparse.eye_array(40) - scale @ graph @ scale
    w, v = linalg.eigsh(laplacian, k=3, which="SA")
    heated, failed = linalg.cg(
        laplacian + sparse.eye_array(40), xp.ones(40), rtol=1e-12
    )
    return [w, abs(laplacian @ v - v * w).max(), heated, failed, graph.trace()]


def both(program, context, scipys, ours, tolerance):
    """What a program gives with scipy's modules and with ours, compared."""
    with context:
        found = program(gpuarray, *ours)
    for device, host in zip(found, program(np, *scipys), strict=True):
        if isinstance(device, int):
            assert device == host
        else:
            got = device.get()
            np.testing.assert_allclose(got, host, rtol=tolerance, atol=tolerance)
            assert got.dtype == np.asarray(host).dtype


def test_similar_texts(context):
    both(similar_texts, context, [sp], [gpuarray.sparse], 1e-12)


class Dense:
    """All eigenvalues, the lowest taken: ARPACK misses the second 0 at times."""

    cg = spl.cg

    @staticmethod
    def eigsh(matrix, k, which):
        assert which == "SA"
        values, vectors = np.linalg.eigh(matrix.toarray())
        return values[:k], vectors[:, :k]


def test_spectrum(context):
    ours = [gpuarray.sparse, gpuarray.sparse.linalg]
    both(spectrum, context, [sp, Dense], ours, 1e-9)
