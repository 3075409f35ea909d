"""fuse: the bits of the unfused function, from fewer kernels."""

import pickle

import gpuarray
import numpy as np
import pytest
from layouts import LAYOUTS, pair, values


def arrays(context, dtype, n=3, shape=(257,)):
    return [
        gpuarray.asarray(values(dtype, shape, seed=i), context=context)
        for i in range(n)
    ]


def flat(result):
    if isinstance(result, dict):
        result = list(result.values())
    return list(result) if isinstance(result, tuple | list) else [result]


def same_bits(function, *given, is_fused=True):
    """Run both, twice with the fused one; the fused function."""
    expected = flat(function(*given))
    fused = gpuarray.fuse(function)
    for _ in range(2):
        got = flat(fused(*given))
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape
            assert one.get().tobytes() == other.get().tobytes()
    assert any(fused._plans.values()) == is_fused
    return fused


DTYPES = ["float16", "float32", "float64", "int8", "uint32", "complex64", "bfloat16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_value_is_rounded_as_if_it_were_stored(context, dtype):
    if dtype == "float64" and not context.has_double:
        pytest.skip("the device has no float64")
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    x, y, z = arrays(context, dtype)

    def joined(x, y, z):
        t = x * y
        return t + z, (t * t - z) * x, (x * y) * (x * x) - y * y

    same_bits(joined, x, y, z)


def test_functions_and_numbers(context):
    x, y, _ = arrays(context, "float32")

    def function(x, y, a, n):
        t = gpuarray.exp(-x * x) * a
        u = np.sin(y) + n
        return gpuarray.where(t > a, t, u), np.maximum(t, u), x**2 + n, x > y

    fused = same_bits(function, x, y, 0.1, 3)
    same_bits(function, x, y, np.float32(0.3), 2)
    for a in (0.2, 0.3, 0.7):
        fused(x, y, a, 4)
    assert len(fused._plans) == 1  # numbers are arguments of the kernel


def test_one_kernel_is_launched(context):
    x, y, _ = arrays(context, "float32")

    def several(x, y):
        t = x * y
        return t + 1, t - x

    fused = gpuarray.fuse(several)
    fused(x, y)
    (plan,) = fused._plans.values()
    assert len(plan.segments) == 1
    assert len(plan.segments[0].kernels) == 1


def test_results_of_several_shapes(context):
    x = gpuarray.asarray(values("float32", (7, 1)), context=context)
    y = gpuarray.asarray(values("float32", (1, 5), seed=1), context=context)

    def shapes(x, y):
        return x * 2 + 1, y - 1, x * y + x, x + 3

    fused = same_bits(shapes, x, y)
    (plan,) = fused._plans.values()
    assert len(plan.segments[0].kernels) == 3


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(context, layout):
    _, x = pair(layout, "float32", context)
    _, y = pair(layout, "int32", context, seed=1)
    same_bits(lambda x, y: ((x + y) * x, x * 0.5 + y), x, y)


def test_calls_of_whole_arrays_run_in_between(context):
    x = gpuarray.asarray(values("float32", (6, 9)), context=context)

    def softmax(x):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    fused = same_bits(softmax, x)
    (plan,) = fused._plans.values()
    assert [len(segment.stored) for segment in plan.segments] == [0, 1, 1]

    def views(x):
        t = x * 2 + 1
        return (t.T @ t) * 0.5 + t.sum(0), t[1:] + 1, t.reshape(-1) * 3

    same_bits(views, x)


def test_in_place_on_values_of_its_own(context):
    x, y, _ = arrays(context, "float32")

    def function(x, y):
        t = x + y
        u, same = t * 2, t
        t *= 3
        return t, u, same

    same_bits(function, x, y)


def test_results_keep_their_structure(context):
    x, _, _ = arrays(context, "float32")
    result = gpuarray.fuse(lambda x: {"a": x + 1, "b": [x * 2, None, 3], "c": x})(x)
    assert list(result) == ["a", "b", "c"]
    assert result["b"][1:] == [None, 3] and result["c"] is x
    assert (result["b"][0].get() == x.get() * 2).all()


def test_what_cannot_be_recorded_runs_as_it_is(context):
    x, y, _ = arrays(context, "float32")
    same_bits(lambda x: x + 1 if x.shape[0] > 2 else x, x, is_fused=False)
    same_bits(lambda x, y: x + 1 if float(y[0]) > 0 else x - 1, x, y, is_fused=False)
    same_bits(lambda x: gpuarray.sum(x * 2), x, is_fused=False)
    same_bits(lambda x: x + y, x, is_fused=False)

    def stores(x):
        x += 1
        return x

    host = x.get()
    fused = gpuarray.fuse(stores)
    assert fused(x) is x
    assert (x.get() == host + 1).all()


def test_a_kernel_has_at_most_32_arrays(first_context):
    every = gpuarray.ones((32, 2), "float32", context=first_context)
    for count in (31, 32):  # with the result 32, and one more
        same_bits(lambda *x: sum(x[1:], x[0]), *every[:count], is_fused=count == 31)


def test_numbers_that_decide_are_fixed(context):
    x = gpuarray.abs(arrays(context, "float32")[0])

    def power(x, n):
        return x**n + 1

    for exponent in (2, 0.5, 3.0):
        same_bits(power, x, exponent)

    def switched(x, y, mode="plus"):
        return x + y if mode == "plus" else x - y

    fused = gpuarray.fuse(switched)
    assert (fused(x, x).get() == (x + x).get()).all()
    assert (fused(x, x, mode="minus").get() == 0).all()
    assert len(fused._plans) == 2


def test_errors_are_those_of_the_function(context):
    x = gpuarray.asarray(np.ones(3, "int8"), context=context)
    y = gpuarray.asarray(np.ones(4, "int8"), context=context)
    fused = gpuarray.fuse(lambda x, y: x + y)
    with pytest.raises(OverflowError, match="300 is out of bounds for int8"):
        fused(x, 300)
    assert (fused(x, 100).get() == 101).all()
    with pytest.raises(ValueError):
        fused(x, y)
    with pytest.raises(ValueError):
        gpuarray.fuse(lambda x, y: (x + y, x + 1))(x, y)
    with pytest.raises(TypeError, match="there are none"):
        gpuarray.fuse(kernel_name="f")
    assert repr(gpuarray.fuse(test_one_kernel_is_launched)).startswith(
        "<fused function"
    )


def test_a_symbol_says_what_it_is(first_context):
    seen = []

    @gpuarray.fuse
    def function(a):
        seen.append(repr(a + 1))
        return a + 1

    function(gpuarray.ones(3, "float32", first_context))
    assert seen[0] == "<value of float32, not known while fuse records>"


@gpuarray.fuse
def decorated(x):
    return x + 1


def test_a_fused_function_is_pickled_by_its_name(null):
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    other = pickle.loads(pickle.dumps(gpuarray.fuse(flat)))
    assert other is not flat and other([1]) == [1]
