"""Values that plans and files compute, each function with many results at once."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from cases import f64
from gpuarray.compiler import config, function
from gpuarray.compiler.plan import LaunchStep
from judge import assert_same
from written import rows

HOST = rows("""
n + k
n - k
k - n
n * k
n // (2 * k + 1)
k // n
n % (2 * k + 1)
k % n
m.minimum(n, k)
m.maximum(n, k)
n < k
n <= k
n > k
n >= k
k < 0
k <= 0
T.eq(n, k) :: n == k
T.neq(n, k) :: n != k
-n
-k
abs(k)
abs(n)
m.sign(k)
m.square(k)
m.logical_not(k)
m.logical_and(k, n)
m.logical_or(k, n - 3)
m.logical_or(k, n)
m.where(k, n, 7)
m.where(k > 3, n, k)
m.where(n - 3, n, k)
T.cast(k, 'int8') :: k.astype('int8')
T.cast(k, 'int16') :: k.astype('int16')
T.cast(k, 'int32') :: k.astype('int32')
T.cast(k, 'uint8') :: k.astype('uint8')
T.cast(k, 'uint16') :: k.astype('uint16')
T.cast(k, 'uint32') :: k.astype('uint32')
T.cast(k, 'bool') :: k.astype('bool')
T.cast(T.cast(k, 'int8'), 'int64') + n :: k.astype('int8').astype('int64') + n
T.cast(k, 'uint8') + T.cast(n, 'uint8') :: k.astype('uint8') + n.astype('uint8')
(n + k) * (n - k) // 2
""")


def value_of(text, side, names):
    ours, _, theirs = text.partition(" :: ")
    space = {"m": T if side == "ours" else np, "T": T, "np": np, **names}
    with np.errstate(all="ignore"):
        return eval(ours if side == "ours" else theirs or ours, space)


@pytest.fixture(scope="module")
def on_host(request):
    """A function of two lengths, which computes on the host alone."""
    first = request.config.gpuarray_contexts[0]
    x, y = T.bvector("x"), T.bvector("y")
    names = {"n": x.shape[0], "k": y.shape[0] - 300}
    with config.use(device=first):
        return function([x, y], [value_of(text, "ours", names) for text in HOST])


@pytest.mark.parametrize("k", [-300, -7, -1, 0, 1, 3, 5, 255, 300, 70000])
def test_integers_of_the_host_are_numpys(first_context, on_host, k):
    launched = (step for step in on_host.plan.steps if isinstance(step, LaunchStep))
    assert {step.label for step in launched} == {"scalar"}  # a result is an array
    names = {"n": np.int64(3), "k": np.int64(k)}
    lengths = (np.zeros(3, "int8"), np.zeros(300 + k, "int8"))
    for text, made in zip(HOST, on_host(*lengths), strict=True):
        expected = np.asarray(value_of(text, "theirs", names))
        assert (text, made.dtype, made) == (text, expected.dtype, expected)


REAL = {
    "q": f64(3, 3) + 4 * np.eye(3),
    "qs": f64(2, 3, 3) + 4 * np.eye(3),
    "a": f64(4, 3),
    "b": f64(3, 4),
    "c": f64(2, 4, 3),
    "v": f64(3),
    "w": f64(4),
    "low": np.outer(f64(4), f64(3)),
}
COMPLEX = {name: value * (1 + 0.3j) + 0.2j for name, value in REAL.items()}
COMPLEX["low"] = REAL["low"] * (1 + 0.3j)
COMPLEX["q"] = REAL["q"] + 0.3j * f64(3, 3)
COMPLEX["qs"] = REAL["qs"] + 0.2j * f64(2, 3, 3)

FACTORS = rows("""
np.linalg.inv(q)
np.linalg.inv(qs)
np.linalg.det(q)
np.linalg.det(qs)
np.linalg.solve(q, v)
np.linalg.solve(q, b)
np.linalg.solve(qs, b[None]) :: np.linalg.solve(qs, b)
np.linalg.solve(q[None], c.transpose(0, 2, 1)) :: np.linalg.solve(q,
    c.transpose(0, 2, 1))
T.slinalg.solve_lower_triangular(q, v) :: np.linalg.solve(np.tril(q), v)
T.slinalg.solve_upper_triangular(q, b) :: np.linalg.solve(np.triu(q), b)
T.slinalg.cholesky(T.dot(q, q.T.conj())) :: np.linalg.cholesky(q @ q.conj().T)
T.slinalg.cholesky(T.dot(q, q.T.conj()), lower=False) ::
    np.linalg.cholesky((q @ q.conj().T).T).T
T.slinalg.cholesky(-T.dot(q, q.T.conj()), on_error='nan') :: np.full_like(q, np.nan)
T.slinalg.cholesky(qs @ qs.transpose(0, 2, 1).conj() * [[[1]], [[-1]]], on_error='nan')
    :: np.full_like(qs, np.nan)
T.slinalg.cholesky(qs @ qs.transpose(0, 2, 1).conj(), on_error='nan') ::
    np.linalg.cholesky(qs @ qs.transpose(0, 2, 1).conj())
T.nlinalg.eigh(q)[0] :: np.linalg.eigh(q)[0]
T.nlinalg.eigh(q, 'U')[0] :: np.linalg.eigh(q, 'U')[0]
T.slinalg.eigvalsh(qs) :: np.linalg.eigvalsh(qs)
T.slinalg.eigvalsh(qs, lower=False) :: np.linalg.eigvalsh(qs, 'U')
T.nlinalg.svd(a, compute_uv=False) :: np.linalg.svd(a, compute_uv=False)
T.nlinalg.svd(a)[1] :: np.linalg.svd(a)[1]
abs(T.nlinalg.svd(a)[0][:, :3]) :: abs(np.linalg.svd(a)[0][:, :3])
T.nlinalg.svd(a)[0].shape :: np.array([4, 4])
T.nlinalg.svd(a, full_matrices=False)[0].shape :: np.array([4, 3])
abs(T.nlinalg.qr(a)[1]) :: abs(np.linalg.qr(a)[1])
abs(T.nlinalg.qr(a, 'r')) :: abs(np.linalg.qr(a, 'r'))
T.nlinalg.qr(a, 'complete')[0].shape :: np.array([4, 4])
abs(T.nlinalg.qr(a, 'raw')[0][0]) :: abs(np.linalg.qr(a, 'raw')[0][0])
np.linalg.pinv(a)
np.linalg.pinv(b)
np.linalg.pinv(c)
T.nlinalg.pinv(a, 0.9) :: np.linalg.pinv(a, 0.9)
T.slinalg.expm(qs / 9) :: sum(np.linalg.matrix_power(qs / 9, k) / np.prod(np.arange(1.0,
    k + 1)) for k in range(30))
T.nlinalg.lstsq(a, w)[0] :: np.linalg.lstsq(a, w)[0]
T.nlinalg.lstsq(a, c[0])[0] :: np.linalg.lstsq(a, c[0])[0]
T.nlinalg.lstsq(a, c[0])[1] :: np.linalg.lstsq(a, c[0])[1]
T.nlinalg.lstsq(a, w)[1] :: np.linalg.lstsq(a, w)[1]
T.nlinalg.lstsq(a, w)[3] :: np.linalg.lstsq(a, w)[3]
T.nlinalg.lstsq(b, v)[0] :: np.linalg.lstsq(b, v)[0]
T.nlinalg.lstsq(b, v)[1] :: np.linalg.lstsq(b, v)[1]
T.nlinalg.lstsq(low, w)[0] :: np.linalg.lstsq(low, w)[0]
T.nlinalg.lstsq(low, w)[1] :: np.linalg.lstsq(low, w)[1]
T.nlinalg.lstsq(low, w)[2] :: np.int64(1)
T.nlinalg.lstsq(a, w, 0.9)[0] :: np.linalg.lstsq(a, w, 0.9)[0]
""")


def parts_of(texts, count=8):
    """Some rows at a time: a test of all of them would take too long for one."""
    return [texts[start : start + count] for start in range(0, len(texts), count)]


def assert_files_compute(arrays, texts, context, folder):
    """What a function's file computes is NumPy's, as what the function does."""
    names = {
        name: T.tensor(array.dtype, (False,) * array.ndim, name)
        for name, array in arrays.items()
    }
    outputs = [value_of(text, "ours", names) for text in texts]
    with config.use(device=context.name):
        made = function(list(names.values()), outputs, on_unused_input="ignore")
    made.save(folder / "f", graph=False)
    for each in (made, gpuarray.load_function(folder / "f", context)):
        found = each(*arrays.values())
        for text, result in zip(texts, found, strict=True):
            expected = value_of(text, "theirs", arrays)
            try:
                assert_same(np.asarray(result), expected, rtol=1e-9)
            except AssertionError as error:
                raise AssertionError(f"{text}: {error}") from None


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
@pytest.mark.parametrize("arrays", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("texts", parts_of(FACTORS), ids=lambda texts: texts[0])
def test_factors_in_files_are_numpys(first_context, tmp_path, arrays, texts):
    assert_files_compute(arrays, texts, first_context, tmp_path)


INTEGERS = {
    "u": np.arange(3),
    "m2": np.arange(12).reshape(3, 4) - 5,
    "t2": np.arange(12).reshape(4, 3) % 5,
    "s3": np.arange(24).reshape(2, 3, 4) - 7,
    "g": np.arange(12).reshape(3, 4) % 3 > 0,
    "x16": np.arange(12).reshape(3, 4).astype("float16") / 8,
}
PRODUCTS = rows("""
m.dot(u, u)
m.dot(u, m2)
m.dot(t2, u)
m.dot(m2, t2)
m.matmul(u, s3)
m.matmul(s3, t2)
m.matmul(s3, m2[0])
m.matmul(m2, s3.transpose(0, 2, 1))
m.matmul(s3[:1], s3.transpose(0, 2, 1)[:1])
m.dot(g, g.T)
m.dot(g[0], g[1])
m.dot(m2, g.T)
m.dot(x16, x16.T)
m.dot(x16, x16[0])
m.dot(x16[0], x16[1])
m.matmul(x16[0], x16.T[None])
m.matmul(x16[None], x16[0])
m.kron(u, m2)
m.diagonal(m2, 1)
m.diagonal(s3, -1, 2, 0)
m.diag(u, 2)
m.diag(u, -1)
T.AllocDiag(1, 2, 0)(m2) :: np.stack([np.diag(row, 1) for row in m2]).transpose(2, 0, 1)
T.AllocDiag(0, 1, 2)(m2) :: np.stack([np.diag(row) for row in m2])
m2[u, u]
m2[:, u]
s3[0, :, u]
s3[:, u, 1:]
s3[1, u]
s3[..., u, 0]
m2[g]
s3[:, g]
s3[1, g[:, 0]]
m2[u[::-1], u[:, None]]
T.set_subtensor(m2[u, 1], u) :: np.c_[m2[:, :1], u, m2[:, 2:]]
T.set_subtensor(m2[g], 9) :: np.where(g, 9, m2)
T.inc_subtensor(m2[u * 0], m2) :: m2 + [[1], [0], [0]] * m2.sum(0)
T.inc_subtensor(m2[:, u % 2], m2[:, :3])[:, 2:] :: m2[:, 2:]
T.inc_subtensor(m2[1:, ::2], u[:2]) :: m2 + [[0], [1], [1]] * np.array([0, 0, 1, 0])
T.set_subtensor(m2[::-1, 1], u) :: np.c_[m2[:, :1], u[::-1], m2[:, 2:]]
T.set_subtensor(s3[:, g], 1) :: np.where(g, 1, s3)
m.nonzero(g)[1]
m.nonzero(u)[0]
T.nonzero(g, True)[0] :: np.nonzero(g)[0]
m.arange(u[2] * 3)
T.arange(u[2], dtype='float16') :: np.arange(2, dtype='float16')
T.arange(u[2], dtype='complex64') :: np.arange(2).astype('complex64')
T.arange(u[2] - 5) :: np.arange(-3)
""")


@pytest.mark.filterwarnings("ignore::gpuarray.HostNotice")
@pytest.mark.parametrize("texts", parts_of(PRODUCTS), ids=lambda texts: texts[0])
def test_integers_and_indices_in_files_are_numpys(first_context, tmp_path, texts):
    assert_files_compute(INTEGERS, texts, first_context, tmp_path)
