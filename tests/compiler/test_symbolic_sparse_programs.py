"""Programs of sparse matrices as users write them; two more are on the page."""

import numpy as np
import pytest
import scipy.sparse as sp
from gpuarray.compiler import (
    function,
    grad,
    hessian,
    jacobian,
    scan,
    shared,
    sparse as S,
    tensor as T,
)
from gpuarray.compiler.scan_module import until
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph


@pytest.fixture(autouse=True)
def in_single(on_context):
    return on_context


def test_graph_convolution():
    """Digits from their neighbours: one label in ten is known."""
    images, labels = load_digits(return_X_y=True)
    images, labels = (images[:600] / 16).astype("float32"), labels[:600].astype("int64")
    links = kneighbors_graph(images, 8, mode="connectivity", include_self=True)
    links = links.maximum(links.T)
    scale = sp.diags(1 / np.sqrt(np.asarray(links.sum(1)).ravel()))
    spread = shared(sp.csr_matrix(scale @ links @ scale, dtype="float32"), "spread")

    rng = np.random.default_rng(3)
    hidden = shared(rng.normal(0, 0.2, (64, 32)).astype("float32"))
    last = shared(rng.normal(0, 0.2, (32, 10)).astype("float32"))
    x, y, known = T.fmatrix("x"), T.lvector("y"), T.lvector("known")
    inner = T.tanh(S.dot(spread, T.dot(x, hidden)))
    scores = T.nnet.softmax(S.dot(spread, T.dot(inner, last)))
    cost = T.nnet.categorical_crossentropy(scores[known], y[known]).mean()
    slopes = grad(cost, [hidden, last])
    steps = [(hidden, hidden - slopes[0]), (last, last - slopes[1])]
    train = function([x, y, known], cost, updates=steps)
    told = np.arange(0, 600, 10)
    costs = [float(train(images, labels, told)) for _ in range(60)]
    assert costs[-1] < 0.2 * costs[0]
    guessed = function([x], scores.argmax(1))(images)
    assert (guessed == labels)[np.arange(600) % 10 != 0].mean() > 0.85


def test_conjugate_gradients():
    """A Poisson problem on a grid, solved in one loop on the device."""
    side = 20
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side))
    grid = sp.csr_matrix(sp.kronsum(line, line), dtype="float32")
    A, b = S.csr_matrix("A"), T.fvector("b")

    def turn(x, r, p, square, A):
        moved = S.dot(A, p)
        step = square / (p * moved).sum()
        residual = r - step * moved
        new = (residual**2).sum()
        further = residual + (new / square) * p
        return [x + step * p, residual, further, new], until(new < 1e-8)

    starts = [T.zeros_like(b), b, b, (b**2).sum()]
    (xs, _, _, squares), _ = scan(
        turn, outputs_info=starts, non_sequences=A, n_steps=500
    )
    solve = function([A, b], [xs[-1], squares.shape[0]])
    wanted = np.random.default_rng(1).normal(size=side**2).astype("float32")
    found, turns = solve(grid, grid @ wanted)
    np.testing.assert_allclose(found, wanted, atol=1e-3)
    assert turns < 120


def test_autoencoder_of_rare_words():
    """As Theano's users sample products: only what is stored is reconstructed."""
    words = sp.random(40, 300, 0.05, "csr", dtype="float32", random_state=4)
    rng = np.random.default_rng(5)
    w = shared(rng.normal(0, 0.1, (300, 8)).astype("float32"), "w")
    x = S.csr_matrix("x")
    code = T.tanh(S.structured_dot(x, w))
    again = S.sampling_dot(code, w, S.sp_ones_like(x))
    cost = S.sp_sum(S.sqr(again - x), sparse_grad=True)
    train = function([x], cost, updates=[(w, w - 0.05 * grad(cost, w))])
    costs = [float(train(words)) for _ in range(40)]
    assert costs[-1] < 0.5 * costs[0]
    weights = w.get_value()
    made = np.tanh(words @ weights) @ weights.T
    rows, columns = words.nonzero()
    wanted = ((made[rows, columns] - words.toarray()[rows, columns]) ** 2).sum()
    np.testing.assert_allclose(function([x], cost)(words), wanted, rtol=1e-4)


def test_jacobians_and_hessians():
    """Of products with a matrix of either format, by vectors."""
    host = sp.random(6, 4, density=0.5, random_state=3, format="csr")
    for name in ("csr", "csc"):
        A, v = S.matrix(name, "A", "float64"), T.dvector("v")
        cost = (S.dot(A, v) ** 3).sum()
        first, second = jacobian(S.dot(A, v), v), hessian(cost, v)
        inner = S.dot(S.true_dot(A.T, A), v)
        f = function([A, v], [first, second, jacobian(inner, v)])
        at = np.arange(4.0)
        slopes = 6 * (host @ at)[:, None] * host.toarray()
        expected = host.toarray(), host.T @ slopes, (host.T @ host).toarray()
        for got, wanted in zip(f(host.asformat(name), at), expected, strict=True):
            assert np.allclose(got, wanted)
