"""float16 and bfloat16 in kernels: what is decided is decided of the stored numbers."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, grad
from gpuarray.dtypes import as_dtype

DTYPES = ["float16", "bfloat16"]
VALUES = np.random.default_rng(4).standard_normal((5, 37))


def third(x):
    return x * T.constant(1 / 3).astype(x.dtype)


COMPUTED = {
    "softmax": T.nnet.softmax,
    "logsoftmax": T.nnet.logsoftmax,
    "divided": lambda x: x / abs(x).sum(1, keepdims=True),
    "times": third,
    "exponentials": lambda x: T.exp(x) * x,
}
EXTREMES = {
    "rows": lambda y: T.max(y, axis=1, keepdims=True),
    "columns": lambda y: T.max(y, axis=0, keepdims=True),
    "all": lambda y: T.min(y),
    "first": lambda y: T.shape_padright(y[:, 0]),
}
ways = pytest.mark.parametrize("way", ["as_it_is", "one_launch"])


@pytest.fixture
def one_way(request, way):
    """As the device prefers, or a program of rows in one launch."""
    if way == "one_launch":
        request.getfixturevalue("one_launch")


def given(dtype):
    return T.matrix("x", dtype=dtype), VALUES.astype(as_dtype(dtype))


@ways
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("which", EXTREMES)
@pytest.mark.parametrize("name", COMPUTED)
def test_an_element_is_equal_to_itself(name, which, dtype, on_context, one_way):
    x, host = given(dtype)
    y = COMPUTED[name](x)
    extreme = EXTREMES[which](y)
    f = function([x], [y, extreme, T.eq(y, extreme), y < extreme])
    values, most, same, less = map(np.asarray, f(host))
    np.testing.assert_array_equal(same, values == most)
    np.testing.assert_array_equal(less, values < most)
    (alone,) = function([x], [T.eq(y, extreme)])(host)
    assert np.asarray(alone).any(axis=1 if which in ("rows", "first") else None).all()


@ways
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gradient_of_a_largest_share_is_not_lost(dtype, on_context, one_way):
    def slope(kind):
        x = T.matrix("x", dtype=kind)
        host = VALUES.astype(as_dtype(dtype)).astype(as_dtype(kind))
        cost = T.max(T.nnet.softmax(x), axis=1).sum()
        return np.asarray(function([x], grad(cost, x))(host)).astype("float64")

    found, expected = slope(dtype), slope("float32")
    rounding = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=4 * rounding * abs(expected).max()
    )


def test_what_overflows_when_stored_is_not_finite(on_context):
    x = T.vector("x", dtype="float16")
    y = x * x
    f = function([x], [y, T.isinf(y), y * x.astype("float16")])
    values, is_inf, _ = map(np.asarray, f(np.array([2, 300, -300], "float16")))
    np.testing.assert_array_equal(is_inf, np.isinf(values))
    assert is_inf.tolist() == [False, True, True]


def test_integers_are_those_of_the_stored_numbers(on_context):
    x = T.vector("x", dtype="float16")
    y = x * T.constant(np.float16(0.3333))
    f = function([x], [y, y.astype("int32")])
    values, whole = map(np.asarray, f(np.arange(300).astype("float16")))
    np.testing.assert_array_equal(whole, values.astype("int32"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_several_arrays_are_equal_to_what_was_stored(dtype, on_context):
    shapes = (7,), (3, 4), (2, 1, 9)
    hosts = [VALUES.ravel()[: np.prod(s)].reshape(s) for s in shapes]
    hosts = [host.astype(as_dtype(dtype)) for host in hosts]
    given_ones, stored = (
        [T.tensor(dtype, (False,) * host.ndim) for host in hosts] for _ in range(2)
    )
    thirds = function(given_ones, list(map(third, given_ones)))(*hosts)
    pairs = zip(map(third, given_ones), stored, strict=True)
    same = function([*given_ones, *stored], [T.eq(*pair) for pair in pairs])
    assert all(np.asarray(each).all() for each in same(*hosts, *thirds))
