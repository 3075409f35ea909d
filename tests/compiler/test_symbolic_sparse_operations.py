"""Operations on sparse matrices, with scipy as the judge; their gradients, twice."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases_sparse import CASES, matrix
from gpuarray.compiler import In, config, function, grad, sparse as S, tensor as T
from gpuarray.compiler.gradient import verify_grad


@pytest.fixture(autouse=True)
def in_double(on_context):
    with config.use(floatX="float64"):
        yield


def dense(x):
    return x.toarray() if sp.issparse(x) else np.asarray(x)


def variable_of(value):
    if sp.issparse(value):
        return S.matrix(value.format, dtype=str(value.dtype))
    return T.TensorType(str(value.dtype), (False,) * value.ndim)()


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_scipy(case, format):
    arguments = case.arguments(format)
    variables = [variable_of(value) for value in arguments]
    result = case.op(*variables)
    found = function(variables, result, on_unused_input="ignore")(*arguments)
    wanted = dense(case.wanted(*arguments))
    assert found.shape == wanted.shape
    assert str(found.dtype) == result.dtype
    if sp.issparse(found):
        assert found.has_canonical_format
    np.testing.assert_allclose(dense(found), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", [c for c in CASES if c.gradient], ids=lambda c: c.name)
def test_gradient(case):
    arguments = case.arguments("csr")
    S.verify_grad_sparse(case.op, arguments, structured=True)
    if case.gradient == "all":
        S.verify_grad_sparse(case.op, arguments, structured=False)


TWICE = "dot by matrix", "sampling_dot", "dot of two", "add", "mul", "mul_s_d", "part"


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name in TWICE], ids=lambda c: c.name
)
def test_gradient_of_the_gradient(case):
    arguments = case.arguments("csc")
    values = [x.data if sp.issparse(x) else x for x in arguments]

    def slope(*arrays):
        made = [
            S.CSM(x.format)(array, x.indices, x.indptr, x.shape)
            if sp.issparse(x)
            else array
            for x, array in zip(arguments, arrays, strict=True)
        ]
        result = case.op(*made)
        cost = (S.dense_from_sparse(result) if result.is_sparse else result) ** 3
        return sum((g**2).sum() for g in grad(cost.sum(), list(arrays)))

    verify_grad(slope, values)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "int32", "bool"])
def test_dtypes(dtype, context):
    a = matrix(5, 4, "csr", 1)
    x, v = S.csr_matrix("x", dtype), T.TensorType(dtype, (False,))("v")
    f = function([x, v], [S.structured_dot(x, v), x.T], on_device=True)
    given = (a * 8).astype("float32" if dtype == "float16" else dtype)
    product, turned = f(context_matrix(given, dtype, context), np.ones(4, dtype))
    assert (str(product.dtype), str(turned.dtype)) == (dtype, dtype)
    wanted = given.astype("float64" if dtype == "float16" else dtype) @ np.ones(
        4, "float64" if dtype == "float16" else dtype
    )
    np.testing.assert_allclose(np.asarray(product), wanted, rtol=2e-3)


@pytest.mark.parametrize("dtype", ["int8", "bool"])
def test_sums_of_small_integers(dtype):
    """As those of arrays: in int64."""
    given = sp.csr_matrix(np.full((5, 100), 100).astype(dtype))
    x = S.csr_matrix("x", dtype)
    results = [S.sp_sum(x), S.sp_sum(x, 0), S.sp_sum(x, 1), x.mean(), x.mean(1)]
    whole = given.toarray().astype("int64")
    wanted = [whole.sum(), whole.sum(0), whole.sum(1), whole.mean(), whole.mean(1)]
    for found, right in zip(function([x], results)(given), wanted, strict=True):
        np.testing.assert_array_equal(found, right)
        assert found.dtype == right.dtype


def context_matrix(value, dtype, context):
    import gpuarray

    return gpuarray.sparse.csr_array(value, context=context).astype(dtype)


def messy():
    """Values in no order, two of them at one place: as arrays."""
    values, indices = np.arange(1.0, 7), np.array([2, 0, 1, 3, 1, 1], "int32")
    return values, indices, np.array([0, 3, 6], "int32")


@pytest.mark.parametrize("op", [S.add, S.mul, lambda x, y: S.dot(x, y.T)])
def test_what_is_not_canonical(op):
    values, indices, indptr = messy()
    made = sp.csr_matrix(messy(), shape=(2, 4))
    other = matrix(2, 4, "csr", 5)
    x, y = S.csr_matrix("x"), S.csr_matrix("y")
    found = function([x, y], op(x, y))(made, other)
    whole, part = S.dense_from_sparse, sp.csr_matrix(made.toarray())
    wanted = function([x, y], whole(op(x, y)))(part, other)
    np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-12)

    def of_values(data):
        return whole(op(S.CSR(data, indices, indptr, (2, 4)), other))

    verify_grad(of_values, [values])
    verify_grad(lambda d: grad((of_values(d) ** 3).sum(), d), [values])


def test_order_and_zeros():
    values, indices, indptr = messy()
    values[1] = 0
    given = sp.csr_matrix((values, indices, indptr), shape=(2, 4))
    x = S.csr_matrix("x")
    same, ordered, some = function(
        [x], [S.csm_data(x), S.ensure_sorted_indices(x), S.remove0(x)]
    )(given)
    np.testing.assert_array_equal(same, values)
    assert ordered.has_sorted_indices
    np.testing.assert_array_equal(ordered.indices, [0, 1, 2, 1, 1, 3])
    np.testing.assert_array_equal(some.data, [1, 3, 4, 5, 6])
    for found in (ordered, some):
        np.testing.assert_array_equal(found.toarray(), given.toarray())


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (1, 1)])
def test_nothing_in_it(shape):
    given = sp.csr_matrix(shape)
    x, v = S.csr_matrix("x"), T.dvector("v")
    results = [S.dot(x, v), S.dot(x.T, S.sp_sum(x, 1)), x + x, x * x, S.sp_sum(x), x.T]
    found = function([x, v], results)(given, np.ones(shape[1]))
    shapes = [(shape[0],), (shape[1],), shape, shape, (), shape[::-1]]
    assert [result.shape for result in found] == shapes
    assert all(abs(dense(result)).sum() == 0 for result in found)


def test_gradients_of_places_that_repeat():
    """Of each value, where a sparse gradient meets a dense one, or one of a product."""
    values, indices, indptr = messy()
    v, square = np.array([0.5, -1, 2, 1]), matrix(4, 4, "csc", 4)

    def cost(data):
        x = S.CSR(data, indices, indptr, (2, 4))
        y = S.tanh(x)
        stored = S.sp_sum(S.sqr(y), sparse_grad=True)
        return (S.dot(y, v) ** 3).sum() + stored + S.sp_sum(S.sqr(S.dot(y, square)))

    verify_grad(cost, [values / 4])
    verify_grad(lambda d: (grad(cost(d), d) ** 2).sum(), [values / 4])


def test_gradient_of_an_argument_whose_places_repeat():
    values, indices, indptr = messy()
    x, v = S.csr_matrix("x"), np.arange(4.0)
    cost = (S.dot(x, v) ** 2).sum() + (S.structured_dot(x, v) ** 2).sum()
    given = sp.csr_matrix((values, indices, indptr), shape=(2, 4))
    whole = given.toarray()
    found = function([x], grad(cost, x))(given)
    wanted = 2 * np.outer(whole @ v, v) * (1 + (whole != 0))
    np.testing.assert_allclose(found, wanted)


def test_a_constant_in_disorder():
    values, indices, indptr = messy()
    other = S.constant(sp.csr_matrix(messy(), shape=(2, 4)))

    def cost(data):
        x = S.remove0(S.CSR(data, indices, indptr, (2, 4)))
        return S.sp_sum(S.sqr(x - other)) + S.sp_sum(S.sqr(x), sparse_grad=True)

    verify_grad(cost, [values])


def test_the_kept_value_of_an_input():
    """It is a matrix, by the input's name or the variable; its arrays are kept, too."""
    x, v = S.csc_matrix("x", "float64"), T.dvector("v")
    host = sp.random(3, 4, density=0.5, random_state=1, format="csc")
    f = function([v, In(x, value=host)], S.dot(x, v))
    ones = np.ones(4)
    assert np.allclose(f(ones), host @ ones)
    assert abs(f.value["x"] - host).nnz == 0 and f.value["x"].format == "csc"
    f.value[x] = 2 * host
    assert "x" in f.value and np.allclose(f(ones), 2 * host @ ones)
    assert abs(f.value[x] - 2 * host).nnz == 0
    f.value["x"] = sp.csc_matrix(host.toarray()[:, :2])
    assert np.allclose(f(ones[:2]), host[:, :2] @ ones[:2])
    with pytest.raises(TypeError):
        f.value["x"] = host.toarray()
    with pytest.raises(KeyError, match="nothing is kept for 'y'"):
        f.value["y"]
