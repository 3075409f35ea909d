"""Both sides of conditions in functions of arrays: options, limits and shapes."""

import gpuarray
import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::gpuarray.errors.HostNotice")


@pytest.mark.parametrize("name", ["hstack", "vstack", "stack", "concatenate"])
def test_stacks_hand_on_how_dtypes_may_be_cast(context, name):
    join, a = getattr(gpuarray, name), gpuarray.ones((2, 2), "float64", context=context)
    with pytest.raises(TypeError):
        join((a, a), dtype="float32", casting="no")
    assert join((a, a), dtype="float32", casting="same_kind").dtype == np.float32


def test_a_product_is_written_where_it_is_asked_to_be(context):
    a = gpuarray.asarray(np.arange(4, dtype="float32").reshape(2, 2), context=context)
    out = gpuarray.zeros((2, 2), "float32", context=context)
    assert gpuarray.matmul(a, a, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), np.asarray(a) @ np.asarray(a))
    assert gpuarray.matmul(a, a) is not out


@pytest.mark.parametrize("shape", [(4, 0), (0, 4), (2, 3, 0), (2, 0, 3)])
def test_the_pseudo_inverse_of_nothing_is_empty(context, shape):
    a = gpuarray.zeros(shape, "float32", context=context)
    assert gpuarray.linalg.pinv(a).shape == np.linalg.pinv(np.zeros(shape)).shape


def test_the_inverse_is_of_square_matrices(context):
    a = gpuarray.ones((2, 3), "float32", context=context)
    with pytest.raises(ValueError, match="square"):
        gpuarray.linalg.inv(a)


def test_a_rank_counts_by_the_longer_side(context):
    host = np.diag([1.0, 2e-6, 0.0]).astype("float32")
    host = np.concatenate([host, np.zeros((60, 3), "float32")])
    a = gpuarray.asarray(host, context=context)
    assert int(gpuarray.linalg.matrix_rank(a)) == int(np.linalg.matrix_rank(host))
    wide = gpuarray.asarray(np.ascontiguousarray(host.T), context=context)
    assert int(gpuarray.linalg.matrix_rank(wide)) == int(np.linalg.matrix_rank(host.T))


@pytest.mark.parametrize("points", [2, 3, 4])
def test_a_covariance_is_scaled_by_what_freedom_is_left(context, points):
    x = np.arange(float(points))
    y = x * 2 + np.array([0.1, -0.1, 0.2, 0.0])[:points]
    arrays = [gpuarray.asarray(each, context=context) for each in (x, y)]
    if points < 3:
        with pytest.raises(ValueError, match="freedom"):
            gpuarray.polyfit(*arrays, 1, cov=True)
        return
    _, spread = gpuarray.polyfit(*arrays, 1, cov=True)
    np.testing.assert_allclose(np.asarray(spread), np.polyfit(x, y, 1, cov=True)[1])


def test_weighted_quantiles_keep_nan(context):
    host = np.array([[1.0, np.nan, 2.0], [3.0, 1.0, 2.0]])
    weights = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 1.0]])
    a, w = (gpuarray.asarray(each, context=context) for each in (host, weights))
    found = gpuarray.quantile(a, 0.5, axis=1, weights=w, method="inverted_cdf")
    told = np.quantile(host, 0.5, axis=1, weights=weights, method="inverted_cdf")
    np.testing.assert_array_equal(np.asarray(found), told)
    assert found.shape == told.shape


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "bool"])
def test_a_mean_of_integers_is_exact_where_numpys_is(context, dtype):
    if not context.has_double:
        return
    top = 1 if dtype == "bool" else np.iinfo(dtype).max
    host = np.full(3001, top, dtype)
    host[::3] = 0
    made = gpuarray.asarray(host, context=context).mean()
    assert float(made) == pytest.approx(float(host.mean(dtype="float64")), rel=1e-15)


@pytest.mark.parametrize("layout", ["strided", "reversed"])
def test_a_sorter_may_have_strides(context, layout):
    host = np.array([3.0, 1.0, 2.0, 5.0])
    order = np.argsort(host)
    twice = np.repeat(order, 2)
    a, places = (gpuarray.asarray(each, context=context) for each in (host, twice))
    sorter = places[::2] if layout == "strided" else places[::-2][::-1]
    made = gpuarray.searchsorted(a, [1.5, 3.0, 9.0], sorter=sorter)
    told = np.searchsorted(host, [1.5, 3.0, 9.0], sorter=order)
    np.testing.assert_array_equal(np.asarray(made), told)


def test_labels_kept_of_a_product_are_not_summed(context):
    rng = np.random.default_rng(3)
    a, b = rng.random((2, 3, 4)), rng.random((2, 4, 5))
    arrays = [gpuarray.asarray(each, context=context) for each in (a, b)]
    for text in ("bij,bjk->bik", "bij,bjk->ik", "bij,bjk->bjk", "bij,bjk->bijk"):
        made = gpuarray.einsum(text, *arrays)
        np.testing.assert_allclose(np.asarray(made), np.einsum(text, a, b), rtol=1e-12)
