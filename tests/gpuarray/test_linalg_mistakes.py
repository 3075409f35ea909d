"""Messages of linear algebra for matrices that do not fit."""

import gpuarray
import numpy as np
import pytest
from gpuarray import linalg
from judge import assert_same
from test_linalg_functions import hermitian, matrices, put

pytestmark = pytest.mark.filterwarnings("ignore::gpuarray.errors.HostNotice")

# ---- errors ----


def test_what_is_no_square_matrix_is_refused(null):
    x = gpuarray.zeros((3, 4), context=null)
    square = gpuarray.zeros((3, 3), context=null)
    for function in ("inv", "det", "cholesky", "eigh", "eigvalsh", "slogdet", "eig"):
        with pytest.raises(np.linalg.LinAlgError, match=f"{function}: .*square"):
            getattr(linalg, function)(x)
        with pytest.raises(np.linalg.LinAlgError, match="last two axes"):
            getattr(linalg, function)(x[0])
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        linalg.matrix_power(x, 2)
    with pytest.raises(ValueError, match="expected as many rows"):
        linalg.solve(square, x[:2])
    with pytest.raises(ValueError, match="mode"):
        linalg.qr(x, "economic")
    with pytest.raises(ValueError, match="UPLO"):
        linalg.eigh(square, "X")
    with pytest.raises(ValueError, match="order"):
        linalg.norm(x, 3)
    with pytest.raises(ValueError, match="expected 3"):
        linalg.cross(x, x)
    with pytest.raises(TypeError, match=r"gpuarray\.asarray"):
        linalg.inv(np.eye(3))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_refused_by_name(null, dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    x = gpuarray.zeros((3, 3), dtype, context=null)
    for function in (linalg.inv, linalg.svd, linalg.qr, linalg.eigh, linalg.cholesky):
        with pytest.raises(TypeError, match=f"{np.dtype(dtype)} is unsupported"):
            function(x)


def test_a_matrix_without_a_solution_is_told_of_once(context):
    singular = put(np.ones((2, 3, 3), "float32"), context)
    negative = put(-np.eye(3, dtype="float32"), context)
    for function, x in ((linalg.inv, singular), (linalg.cholesky, negative)):
        with pytest.raises(np.linalg.LinAlgError):
            np.asarray(function(x))
        context.sync()
    if context.is_cpu:  # NumPy's, which says so before it returns
        with pytest.raises(np.linalg.LinAlgError, match="ingular"):
            linalg.matrix_power(singular, -2)
    assert_same(singular + 1, np.full((2, 3, 3), 2, "float32"))


def test_nothing_waits_on_a_device_that_factorizes(context):
    from gpuarray._linalg import solvers

    if not solvers.factorizes(context):
        pytest.skip("NumPy factorizes on the host")
    x = put(hermitian((5,), 6, "float32"), context)
    names = ("cholesky", "inv", "det", "slogdet", "qr", "svd", "eigh", "pinv", "cond")
    for name in (*names, "matrix_rank", "norm"):
        getattr(linalg, name)(x)
        before = context.waits
        getattr(linalg, name)(x), linalg.solve(x, x)
        assert context.waits == before, name


def test_the_host_is_told_of_once(context):
    from gpuarray._linalg import solvers

    if solvers.factorizes(context):
        pytest.skip("the device factorizes itself")
    solvers._told.discard("inv")
    x = put(np.eye(3, dtype="float32"), context)
    with pytest.warns(gpuarray.errors.HostNotice, match="inv: .*on the host") as seen:
        linalg.inv(x)
        linalg.inv(x)
    assert len(seen) == 1
    assert seen[0].filename == __file__


def test_numpys_names_lead_here(context):
    host = matrices((2, 4, 4), "float32")
    x = put(host, context)
    for name in ("inv", "det", "norm", "svdvals", "pinv", "matrix_rank"):
        found = getattr(np.linalg, name)(x)
        assert isinstance(found, gpuarray.Array)
        expected = getattr(np.linalg, name)(host)
        assert_same(found, expected, rtol=1e-3)
    assert_same(np.einsum("bij,bij->b", x, x), np.einsum("bij,bij->b", host, host))
    got, expected = np.asarray(np.fft.fft(x)), np.fft.fft(host)
    np.testing.assert_allclose(got, expected, atol=1e-4)


@pytest.mark.parametrize("shape", [(600, 2), (2, 600)])
def test_the_rank_of_a_long_matrix_is_by_its_longer_side(context, shape):
    """A singular value between 2 and 600 roundings of the largest is one's rounding."""
    host = np.zeros(shape, "float32")
    host[0, 0], host[1, 1] = 1, 300 * np.finfo("float32").eps
    x = gpuarray.asarray(host, context=context)
    assert np.linalg.matrix_rank(host) == 1
    assert_same(gpuarray.linalg.matrix_rank(x), np.linalg.matrix_rank(host))
    assert_same(gpuarray.linalg.matrix_rank(x * 2, rtol=1e-7), np.int64(2))
    if context.has_double:  # of float32 NumPy's is by the roundings of float64
        a, b = host.astype("float64"), np.ones(shape[0])
        a[1, 1] = 300 * np.finfo("float64").eps
        found = linalg.lstsq(put(a, context), put(b, context))
        assert found[2] == np.linalg.lstsq(a, b)[2] == 1
