"""Iterative methods for sparse arrays; NumPy's dense ones are the judge."""

import gpuarray
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from gpuarray import sparse
from gpuarray.sparse import linalg
from judge import assert_same
from sparse_arrays import host, messy, on


def laplacian(side):
    """The five-point Laplacian of a square, of float64."""
    line = sp.diags_array([-1.0, 2, -1], offsets=[-1, 0, 1], shape=(side, side))
    eye = sp.eye_array(side)
    return (sp.kron(line, eye) + sp.kron(eye, line)).tocsr()


def right_side(n, seed=0):
    return np.random.default_rng(seed).standard_normal(n)


def residual(a, x, b):
    return np.linalg.norm(a @ x.get() - b) / np.linalg.norm(b)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_systems_are_solved(context, name):
    solve = getattr(linalg, name)
    a = laplacian(8)
    if name != "cg":
        a = a + sp.diags_array(np.full(63, 0.5), offsets=1)
    b = right_side(64)
    A, B = on(context, a.tocsr()), gpuarray.asarray(b, context=context)
    x, info = solve(A, B, rtol=1e-8)
    assert info == 0 and residual(a, x, b) < 2e-8
    M = linalg.LinearOperator((64, 64), lambda r: r / 4)
    seen = []
    x, info = solve(A, B, x0=x + 1, rtol=1e-8, M=M, callback=seen.append)
    assert info == 0 and residual(a, x, b) < 2e-8 and seen
    assert (seen[-1] - x).get().max() == 0
    again, info = solve(A, B, x0=x, rtol=1e-7)
    assert info == 0 and (again.get() == x.get()).all()
    x, info = solve(A, B, rtol=1e-12, maxiter=1)
    assert info == 1 and residual(a, x, b) < 1
    zero, info = solve(A, B * 0)
    assert info == 0 and not zero.get().any()
    x, info = solve(A.toarray(), B, rtol=1e-8)
    assert info == 0 and residual(a, x, b) < 2e-8
    with pytest.raises(gpuarray.BadValue, match="b has shape"):
        solve(A, B[1:])
    with pytest.raises(gpuarray.BadValue, match="expected a square"):
        solve(A[1:], B)


def test_gradients_wait_seldom_and_stop_by_themselves(context):
    a = laplacian(8)
    A = on(context, a)
    B = gpuarray.asarray(right_side(64), context=context)
    seen = []
    x, _ = linalg.cg(A, B, rtol=1e-8, callback=lambda x: seen.append(x.copy()))
    plain, _ = linalg.cg(A, B, rtol=1e-8)
    assert (plain.get() == x.get()).all()
    before = context.waits
    linalg.cg(A, B, rtol=0, maxiter=40)
    assert context.waits - before <= 6


def test_complex_systems(context):
    rng = np.random.default_rng(1)
    a = (rng.standard_normal((12, 12)) + 1j * rng.standard_normal((12, 12))) / 4
    a = a @ a.conj().T + np.eye(12)
    b = rng.standard_normal(12) + 1j
    A = sparse.csr_array(a, context=context)
    B = gpuarray.asarray(b, context=context)
    for solve in (linalg.cg, linalg.gmres):
        x, info = solve(A, B, rtol=1e-9)
        assert info == 0 and residual(a, x, b) < 1e-8


def test_operators(context):
    a, b = host((5, 7), dtype="float64"), host((7, 5), dtype="float64", seed=1)
    A, B = (linalg.aslinearoperator(on(context, x)) for x in (a, b))
    f, g = spl.aslinearoperator(a), spl.aslinearoperator(b)
    x, y = right_side(7), right_side(5)
    X, Y = (gpuarray.asarray(v, context=context) for v in (x, y))
    assert_same(A @ X, f @ x)
    assert_same(A.H @ Y, f.H @ y)
    assert_same((A @ B) @ Y, (f @ g) @ y)
    assert_same((A @ B).H @ Y, (f @ g).H @ y)
    assert_same((2 * A + B.H) @ X, (2 * f + g.H) @ x)
    assert_same((A - B.H).rmatvec(Y), (f - g.H).rmatvec(y))
    assert_same(A.T @ Y, f.T @ y)
    assert_same((A @ B) ** 2 @ Y, (f @ g) ** 2 @ y)
    turned = linalg.aslinearoperator(on(context, a * (1 + 2j)))
    assert_same(turned.T @ Y, a.T * (1 + 2j) @ y)
    assert_same(turned.T.T @ X, a * (1 + 2j) @ x)
    columns = gpuarray.stack([X, X * 2], axis=1)
    assert_same(A @ columns, f @ columns.get())
    own = linalg.LinearOperator((5, 7), A.matvec)
    assert_same(own.matmat(columns), f @ columns.get())
    for call in (own.adjoint, lambda: own.rmatvec(Y)):
        with pytest.raises(gpuarray.Unsupported, match="no rmatvec"):
            call()
    with pytest.raises(gpuarray.BadValue, match="operator of shape"):
        A.matvec(Y)
    with pytest.raises(gpuarray.BadValue, match="integer of at least 1"):
        (A @ B) ** 0.5
    with pytest.raises(gpuarray.BadType, match=r"gpuarray\.asarray"):
        A.matvec(x)


def test_norms(context):
    for a in (host((5, 7), dtype="float64"), messy((6, 9), "csr", "float64")):
        A = on(context, a)
        a = a.tocsr(copy=True)
        a.sum_duplicates()
        for order in (None, "fro", 1, -1, np.inf, -np.inf, 2):
            expected = np.linalg.norm(a.toarray(), order)
            np.testing.assert_allclose(float(linalg.norm(A, order)), expected, 1e-10)
        for order in (None, 1, np.inf):
            for axis in (0, 1):
                expected = np.linalg.norm(a.toarray(), order, axis=axis)
                assert_same(linalg.norm(A, order, axis=axis), expected)
    with pytest.raises(gpuarray.BadValue, match="'nuc'"):
        linalg.norm(A, "nuc")


def check_triplets(a, k, u, s, vt, tolerance=1e-8):
    expected = np.linalg.svd(a)[1][:k][::-1]
    scale = max(expected.max(), 1e-30)
    np.testing.assert_allclose(s.get(), expected, 0, tolerance * scale)
    u, vt = u.get(), vt.get()
    np.testing.assert_allclose(u.conj().T @ u, np.eye(k), atol=1e-8)
    np.testing.assert_allclose(vt @ vt.conj().T, np.eye(k), atol=1e-8)
    np.testing.assert_allclose(a @ vt.conj().T, u * s.get(), atol=tolerance * scale)


def test_singular_values(context):
    rng = np.random.default_rng(2)
    low = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 30))
    for a, k in (
        (host((80, 60), 0.1, "float64").toarray(), 4),
        (host((30, 80), 0.2, "float64").toarray(), 6),
        (low, 5),
        (np.eye(9), 9),
        (np.diag([5.0] * 30 + [1.0] * 30), 3),
        (np.ones((5, 1)), 1),
        (a_complex(rng), 3),
    ):
        u, s, vt = linalg.svds(sparse.csr_array(a, context=context), k, rng=1)
        check_triplets(a, k, u, s, vt)
    A = on(context, host((30, 20), 0.3))
    values = linalg.svds(A, 2, return_singular_vectors=False)
    expected = np.linalg.svd(A.toarray().get())[1][1::-1]
    np.testing.assert_allclose(values.get(), expected, 1e-5)
    with pytest.raises(gpuarray.BadValue, match="expected 1 to 20"):
        linalg.svds(A, 21)
    with pytest.raises(gpuarray.Unsupported, match="'LM'"):
        linalg.svds(A, 2, which="SM")


def a_complex(rng):
    return rng.standard_normal((20, 15)) + 1j * rng.standard_normal((20, 15))


def test_least_squares_are_scipys(context):
    rng = np.random.default_rng(0)
    for shape, damp in (((30, 10), 0), ((10, 30), 0), ((30, 10), 0.5)):
        a = sp.random_array(shape, density=0.5, rng=rng, format="csr")
        b, start = rng.standard_normal(shape[0]), rng.standard_normal(shape[1])
        A, B, x0 = (
            on(context, a),
            *(gpuarray.asarray(x, context=context) for x in (b, start)),
        )
        for ours, theirs in ((None, None), (x0, start)):
            found = linalg.lsqr(A, B, damp, calc_var=True, x0=ours)
            expected = spl.lsqr(a, b, damp, calc_var=True, x0=theirs)
            np.testing.assert_allclose(found[0].get(), expected[0], 1e-5, 1e-7)
            assert found[1] == expected[1] and abs(found[2] - expected[2]) <= 1
            np.testing.assert_allclose(found[3:7], expected[3:7], 1e-3, 1e-5)
            np.testing.assert_allclose(found[8], expected[8], 1e-5)
            np.testing.assert_allclose(found[9].get(), expected[9], 1e-2)
    assert linalg.lsqr(A, B, iter_lim=2)[1:3] == (7, 2)
    assert linalg.lsqr(A, B * 0)[1:4] == (0, 0, 0)
    assert linalg.lsqr(A, B, conlim=1.5)[1] == 3
    a = a + 1j * a.power(2)
    x = linalg.lsqr(on(context, a), gpuarray.asarray(b + 1j, context=context))[0]
    expected = np.linalg.lstsq(a.toarray(), b + 1j, rcond=None)[0]
    np.testing.assert_allclose(x.get(), expected, 1e-4, 1e-6)
    with pytest.raises(
        gpuarray.BadValue, match=r"b has shape \(10,\), expected \(30,\)"
    ):
        linalg.lsqr(A, x0)


def test_triangular_systems(context):
    a = host((9, 9), 0.4, "float64") + sp.diags_array(np.arange(8.0, 17))
    b = right_side(9)
    for format in ("csr", "csc", "coo"):
        A = on(context, a.asformat(format))
        for lower in (True, False):
            for unit in (True, False):
                part = np.tril(a.toarray()) if lower else np.triu(a.toarray())
                if unit:
                    np.fill_diagonal(part, 1)
                for right in (b, np.stack([b, 2 * b], axis=1)):
                    B = gpuarray.asarray(right, context=context)
                    x = linalg.spsolve_triangular(A, B, lower, unit_diagonal=unit)
                    np.testing.assert_allclose(part @ x.get(), right, 1e-9, 1e-9)
                    assert (B.get() == right).all()
    linalg.spsolve_triangular(A, B, overwrite_b=True)
    assert not (B.get() == right).all()
    with pytest.raises(gpuarray.BadValue, match="expected 9 rows"):
        linalg.spsolve_triangular(A, B[1:])


def test_eigenvalues_of_hermitian_matrices(context):
    n = 60
    rng = np.random.default_rng(5)
    parts = sp.random_array((n, n), density=0.1, rng=rng)
    a = sp.csr_array(parts + parts.T + sp.diags_array(np.arange(n) / 4.0))
    device = gpuarray.sparse.csr_array(a, context=context)
    every = np.linalg.eigvalsh(a.toarray())
    for which, order in (
        ("LA", -every),
        ("SA", every),
        ("LM", -abs(every)),
        ("SM", abs(every)),
    ):
        w, v = gpuarray.sparse.linalg.eigsh(device, 3, which=which)
        expected = np.sort(every[np.argsort(order)[:3]])
        np.testing.assert_allclose(w.get(), expected, rtol=1e-8, atol=1e-10)
        residual = a @ v.get() - v.get() * w.get()
        assert abs(residual).max() < 1e-8
    w = gpuarray.sparse.linalg.eigsh(device, 2, return_eigenvectors=False)
    assert w.shape == (2,)
    for text, options in (
        ("k is 61", {"k": 61}),
        ("which is 'BE'", {"which": "BE"}),
        ("M and sigma need systems", {"sigma": 0}),
    ):
        with pytest.raises((gpuarray.BadValue, gpuarray.Unsupported), match=text):
            gpuarray.sparse.linalg.eigsh(device, **options)
