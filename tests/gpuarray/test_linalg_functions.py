"""``gpuarray.linalg`` against ``numpy.linalg``."""

import gpuarray
import numpy as np
import pytest
from gpuarray import linalg
from gpuarray._products.contractions import _best_split
from judge import assert_same
from layouts import values

pytestmark = pytest.mark.filterwarnings("ignore::gpuarray.errors.HostNotice")

DTYPES = ["float32", "float64", "complex64", "complex128"]
STACKS = [(), (3,), (2, 1, 3), (0,)]
CLOSE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-10, "complex128": 1e-10}


def matrices(shape, dtype, seed=0):
    """Matrices far from singular."""
    host = values(dtype, shape, seed).astype(dtype)
    k = min(shape[-2:])
    host[..., range(k), range(k)] += 12
    return host


def hermitian(stack, n, dtype):
    """Positive definite matrices."""
    a = values(dtype, (*stack, n, n))
    product = a @ a.conj().swapaxes(-1, -2) + 5 * np.eye(n)
    return product.astype(dtype)


def put(host, context):
    return gpuarray.asarray(host, context=context)


def skip_without_double(context, dtype):
    if dtype in ("float64", "complex128") and not context.has_double:
        pytest.skip("the device lacks float64")


def adjoint(a):
    return np.asarray(a).conj().swapaxes(-1, -2)


LAYOUTS = {
    "c": lambda a: a,
    "transposed": lambda a: a.transpose(*range(a.ndim - 2), a.ndim - 1, a.ndim - 2),
    "backwards": lambda a: a[..., ::-1, :],
    "gaps": lambda a: a[..., 1:, 1:],
}
CASES = [(stack, n) for stack in STACKS for n in (1, 4, 7)] + [((), 0), ((2,), 0)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("stack", "n"), CASES, ids=str)
def test_cholesky(context, dtype, stack, n):
    skip_without_double(context, dtype)
    host = hermitian(stack, n, dtype)
    x = put(host, context)
    expected = np.linalg.cholesky(host)
    assert_same(linalg.cholesky(x), expected, rtol=CLOSE[dtype])
    upper = linalg.cholesky(x, upper=True)
    assert_same(upper, adjoint(expected), rtol=CLOSE[dtype])


def test_cholesky_reads_one_triangle(context):
    host = hermitian((2,), 5, "float32")
    lower, upper = np.tril(host) + 7 * np.tri(5).T, np.triu(host) - 3 * np.tri(5, k=-1)
    lower[..., range(5), range(5)] -= 7
    expected = np.linalg.cholesky(host)
    got = linalg.cholesky(put(lower.astype("f4"), context))
    assert_same(got, expected, rtol=2e-4)
    got = linalg.cholesky(put(upper.astype("f4"), context), upper=True)
    assert_same(got, adjoint(expected), rtol=2e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("stack", "n"), CASES, ids=str)
def test_inverse_and_determinant(context, dtype, stack, n):
    skip_without_double(context, dtype)
    host = matrices((*stack, n, n), dtype)
    x = put(host, context)
    assert_same(linalg.inv(x), np.linalg.inv(host), rtol=CLOSE[dtype])
    assert_same(linalg.det(x), np.linalg.det(host), rtol=CLOSE[dtype])
    sign, log = linalg.slogdet(x)
    expected = np.linalg.slogdet(host)
    assert_same(sign, expected.sign, rtol=CLOSE[dtype])
    assert_same(log, expected.logabsdet, rtol=CLOSE[dtype])


def test_determinant_of_exchanged_rows_and_of_singular_matrices(context):
    host = np.stack([np.eye(3)[[1, 0, 2]], np.zeros((3, 3)), np.ones((3, 3))])
    host = host.astype("float32")
    x = put(host, context)
    assert_same(linalg.det(x), np.linalg.det(host))
    assert_same(linalg.slogdet(x).sign, np.linalg.slogdet(host).sign)
    assert np.asarray(linalg.slogdet(x).logabsdet)[1] == -np.inf


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_every_layout(context, layout, dtype):
    view = LAYOUTS[layout]
    host, square = view(matrices((2, 6, 6), dtype)), view(hermitian((2,), 6, dtype))
    x = view(put(matrices((2, 6, 6), dtype), context))
    rtol = CLOSE[dtype]
    assert_same(linalg.inv(x), np.linalg.inv(host), rtol=20 * rtol)
    assert_same(linalg.solve(x, x), np.linalg.solve(host, host), rtol=20 * rtol)
    assert_same(linalg.svdvals(x), np.linalg.svdvals(host), rtol=rtol)
    if layout != "backwards":
        y = view(put(hermitian((2,), 6, dtype), context))
        assert_same(linalg.eigvalsh(y), np.linalg.eigvalsh(square), rtol=rtol)
        assert_same(linalg.cholesky(y), np.linalg.cholesky(square), rtol=rtol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((4, 4), (4,)),
        ((4, 4), (4, 3)),
        ((2, 4, 4), (4,)),
        ((2, 4, 4), (2, 4, 3)),
        ((3, 1, 4, 4), (2, 4, 1)),
        ((4, 4), (2, 4, 3)),
        ((0, 0), (0,)),
        ((2, 4, 4), (2, 4, 0)),
    ],
    ids=str,
)
def test_solve(context, dtype, a, b):
    skip_without_double(context, dtype)
    left, right = matrices(a, dtype), values(dtype, b, seed=1)
    got = linalg.solve(put(left, context), put(right, context))
    assert_same(got, np.linalg.solve(left, right), rtol=CLOSE[dtype])


@pytest.mark.parametrize("lower", [False, True])
def test_solve_triangular(context, lower):
    left, right = matrices((3, 6, 6), "float32"), values("float32", (6, 2), seed=1)
    triangle = np.tril(left) if lower else np.triu(left)
    for b in (right, right[:, 0]):
        a = left if b.ndim > 1 else left[0]
        expected = np.linalg.solve(triangle if b.ndim > 1 else triangle[0], b)
        got = linalg.solve_triangular(put(a, context), put(b, context), lower)
        assert_same(got, expected, rtol=CLOSE["float32"])


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(5, 3), (3, 5), (4, 4), (2, 6, 3), (2, 3, 6), (0, 3, 2)], ids=str
)
def test_qr(context, dtype, shape, mode):
    skip_without_double(context, dtype)
    host = values(dtype, shape)
    found, expected = linalg.qr(put(host, context), mode), np.linalg.qr(host, mode)
    if mode == "r":
        assert found.shape == expected.shape
        np.testing.assert_allclose(
            adjoint(found) @ np.asarray(found), adjoint(host) @ host, atol=2e-3
        )
        return
    q, r = (np.asarray(part) for part in found)
    assert (q.shape, r.shape) == (expected.Q.shape, expected.R.shape)
    assert q.dtype == r.dtype == expected.R.dtype
    np.testing.assert_allclose(q @ r, host, atol=100 * CLOSE[dtype])
    unit = np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], q.shape[-1], q.shape[-1]))
    np.testing.assert_allclose(adjoint(q) @ q, unit, atol=CLOSE[dtype])
    assert not np.tril(r, -1).any()


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(5, 3), (3, 5), (4, 4), (1, 1), (2, 6, 3), (2, 3, 6), (0, 3, 2)], ids=str
)
def test_svd(context, dtype, shape, full):
    skip_without_double(context, dtype)
    host = values(dtype, shape)
    x = put(host, context)
    expected = np.linalg.svd(host, full_matrices=full)
    found = linalg.svd(x, full_matrices=full)
    for part, other in zip(found, expected, strict=True):
        assert (part.shape, part.dtype) == (other.shape, other.dtype)
    assert_same(found.S, expected.S, rtol=CLOSE[dtype])
    assert_same(linalg.svdvals(x), expected.S, rtol=CLOSE[dtype])
    u, s, vh = (np.asarray(part) for part in found)
    k = s.shape[-1]
    product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    np.testing.assert_allclose(product, host, atol=100 * CLOSE[dtype])
    for columns in (u, adjoint(vh)):
        n = columns.shape[-1]
        unit = np.broadcast_to(np.eye(n), (*shape[:-2], n, n))
        np.testing.assert_allclose(adjoint(columns) @ columns, unit, atol=CLOSE[dtype])


@pytest.mark.parametrize(
    ("dtype", "uplo"), [*((dtype, "L") for dtype in DTYPES), ("complex64", "U")]
)
@pytest.mark.parametrize(("stack", "n"), CASES, ids=str)
def test_eigenvalues_of_hermitian_matrices(context, dtype, stack, n, uplo):
    skip_without_double(context, dtype)
    host = hermitian(stack, n, dtype)
    x = put(host, context)
    expected = np.linalg.eigvalsh(host, uplo)
    assert_same(linalg.eigvalsh(x, uplo), expected, rtol=CLOSE[dtype])
    w, v = linalg.eigh(x, uplo)
    assert_same(w, expected, rtol=CLOSE[dtype])
    w, v = np.asarray(w), np.asarray(v)
    scale = 1 + np.abs(host).max(initial=0)
    np.testing.assert_allclose(host @ v, v * w[..., None, :], atol=scale * CLOSE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("stack", [(), (3,), (0,), (2, 3)])
def test_eigenvalues_are_complex(context, dtype, stack):
    skip_without_double(context, dtype)
    host = values(dtype, (*stack, 4, 4))
    x = put(host, context)
    w, v = linalg.eig(x)
    assert w.dtype == v.dtype == np.result_type(host.dtype, np.complex64)
    w, v = np.asarray(w), np.asarray(v)
    np.testing.assert_allclose(host @ v, v * w[..., None, :], atol=100 * CLOSE[dtype])
    alone = np.sort_complex(np.asarray(linalg.eigvals(x)))
    expected = np.sort_complex(np.linalg.eigvals(host).astype(alone.dtype))
    for z in expected.reshape(-1, 4), alone.reshape(-1, 4):
        assert z.shape[-1] == 4
    np.testing.assert_allclose(alone.sum(-1), expected.sum(-1), atol=1e-3)


# ---- what is made of them ----


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 4), (2, 0, 3)], ids=str)
def test_pseudo_inverse_and_rank(context, dtype, shape):
    skip_without_double(context, dtype)
    host = values(dtype, shape)
    if host.size:
        host[..., :, 0] = host[..., :, 1]
    x = put(host, context)
    assert_same(linalg.pinv(x), np.linalg.pinv(host), rtol=100 * CLOSE[dtype])
    got = linalg.pinv(x, rtol=1e-3)
    assert_same(got, np.linalg.pinv(host, rtol=1e-3), rtol=100 * CLOSE[dtype])
    assert_same(linalg.matrix_rank(x), np.linalg.matrix_rank(host))
    assert_same(linalg.matrix_rank(x, 2.0), np.linalg.matrix_rank(host, 2.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("a", "b"), [((6, 3), (6,)), ((6, 3), (6, 2)), ((3, 6), (3, 2)), ((4, 4), (4,))]
)
def test_least_squares(context, dtype, a, b):
    skip_without_double(context, dtype)
    left, right = values(dtype, a), values(dtype, b, seed=1)
    found = linalg.lstsq(put(left, context), put(right, context))
    expected = np.linalg.lstsq(left, right)
    for part, other in zip(found[:2], expected[:2], strict=True):
        assert_same(part, other, rtol=100 * CLOSE[dtype])
    assert found[2] == expected[2]
    assert_same(found[3], expected[3], rtol=CLOSE[dtype])


def check_norms(name, x, host, order, axes):
    """Hold `norm` over these axes, and the standard's function, against NumPy."""
    for axis in axes:
        for keepdims in (False, True):
            expected = np.linalg.norm(host, order, axis, keepdims)
            assert_same(linalg.norm(x, order, axis, keepdims), expected, rtol=1e-4)
    if order is not None:
        expected = getattr(np.linalg, name)(host, ord=order)
        assert_same(getattr(linalg, name)(x, ord=order), expected, rtol=1e-4)


ORDERS = [None, 2, 1, -1, np.inf, -np.inf, 0, 3, 2.5, -2]


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32", "bool"])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_norms_of_vectors(context, dtype, order):
    if dtype in ("int32", "bool") and not context.has_double:
        pytest.skip("the device lacks float64")
    host = values(dtype, (4, 5))
    host[host == 0] = 1
    x = put(host, context)
    check_norms("vector_norm", x, host, order, (0, 1, -1))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms_of_matrices(context, dtype, order):
    host = values(dtype, (3, 4, 5))
    x = put(host, context)
    check_norms("matrix_norm", x, host, order, ((0, 1), (2, 0), (-1, -2)))
    if order not in (None, "fro", "nuc"):
        host = matrices((2, 4, 4), dtype)
        expected = np.linalg.cond(host, order)
        assert_same(linalg.cond(put(host, context), order), expected, rtol=1e-3)


def test_powers(context):
    host = matrices((2, 3, 3), "float32")
    x = put(host, context)
    for n in (-3, -1, 0, 1, 2, 3, 7):
        expected = np.linalg.matrix_power(host, n)
        assert_same(linalg.matrix_power(x, n), expected, rtol=1e-3)
    whole = values("int32", (3, 3))
    expected = np.linalg.matrix_power(whole, 3)
    assert_same(linalg.matrix_power(put(whole, context), 3), expected)


def test_tensor_equations(context):
    a, b = matrices((6, 6), "float32"), values("float32", (2, 3))
    a = a.reshape(2, 3, 1, 6)
    x, y = put(a, context), put(b, context)
    expected = np.linalg.tensorsolve(a, b)
    assert_same(linalg.tensorsolve(x, y), expected, rtol=1e-3)
    moved = np.moveaxis(a, -1, 0)
    expected = np.linalg.tensorsolve(moved, b, axes=(0,))
    got = linalg.tensorsolve(put(moved, context), y, axes=(0,))
    assert_same(got, expected, rtol=1e-3)
    assert_same(linalg.tensorinv(x, 2), np.linalg.tensorinv(a, 2), rtol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int32", "bool"])
def test_products(context, dtype):
    a, b = values(dtype, (4, 5)), values(dtype, (3, 5), seed=1)
    v, w = values(dtype, (5,), seed=2), values(dtype, (4,), seed=3)
    stack = values(dtype, (2, 3, 4, 5), seed=4)
    x, y, p, q, many = (put(host, context) for host in (a, b, v, w, stack))
    assert_same(linalg.inner(x, y), np.inner(a, b), rtol=1e-4)
    assert_same(linalg.inner(p, p), np.inner(v, v), rtol=1e-4)
    assert_same(linalg.inner(many, y), np.inner(stack, b), rtol=1e-4)
    assert_same(linalg.outer(p, q), np.outer(v, w))
    assert_same(linalg.kron(x, y), np.kron(a, b))
    assert_same(linalg.kron(many, p), np.kron(stack, v))
    assert_same(linalg.matvec(many, p), np.matvec(stack, v), rtol=1e-4)
    assert_same(
        linalg.matvec(many, y[:, None, :][:, 0]), np.matvec(stack, b), rtol=1e-4
    )
    assert_same(linalg.vecmat(q, many), np.vecmat(w, stack), rtol=1e-4)
    assert_same(linalg.vecdot(x, p), np.vecdot(a, v), rtol=1e-4)
    assert_same(linalg.dot(many, x.T), np.dot(stack, a.T), rtol=1e-4)
    assert_same(
        linalg.dot(x, many.transpose(0, 1, 3, 2)),
        np.dot(a, stack.transpose(0, 1, 3, 2)),
        rtol=1e-4,
    )
    assert_same(
        linalg.tensordot(many, x, ((2, 3), (0, 1))),
        np.tensordot(stack, a, ((2, 3), (0, 1))),
        rtol=1e-4,
    )
    assert_same(
        linalg.multi_dot([q, x, y.T]), np.linalg.multi_dot([w, a, b.T]), rtol=1e-4
    )
    assert_same(
        linalg.multi_dot([x, y.T, y, p]), np.linalg.multi_dot([a, b.T, b, v]), rtol=1e-4
    )


def test_a_product_of_several_costs_least():
    """The matrices of Cormen et al., Introduction to Algorithms, figure 15.5."""
    split = _best_split((30, 35, 15, 5, 10, 20, 25))
    assert [row[i + 1 :] for i, row in enumerate(split)] == [
        [0, 0, 2, 2, 2], [1, 2, 2, 2], [2, 2, 2], [3, 4], [4], []
    ]  # fmt: skip


def test_diagonals_and_cross_products(context):
    host = values("float32", (2, 4, 5))
    x = put(host, context)
    for offset in (-5, -1, 0, 2):
        expected = np.linalg.diagonal(host, offset=offset)
        assert_same(linalg.diagonal(x, offset=offset), expected)
        assert_same(
            linalg.trace(x, offset=offset), np.linalg.trace(host, offset=offset)
        )
    assert_same(linalg.matrix_transpose(x), np.matrix_transpose(host))
    a, b = values("int32", (4, 3)), values("int32", (2, 1, 3), seed=1)
    assert_same(linalg.cross(put(a, context), put(b, context)), np.linalg.cross(a, b))
    first = put(a.T.copy(), context)
    expected = np.linalg.cross(a.T, a.T[:, ::-1], axis=0)
    assert_same(linalg.cross(first, first[:, ::-1], axis=0), expected)


def test_integers_are_computed_as_float64(context):
    if not context.has_double:
        pytest.skip("the device lacks float64")
    host = values("int8", (4, 4)) + 60 * np.eye(4, dtype="int8")
    x = put(host.astype("int8"), context)
    host = np.asarray(x)
    assert_same(linalg.inv(x), np.linalg.inv(host))
    assert_same(linalg.solve(x, x), np.linalg.solve(host, host), rtol=1e-10)
