"""Pooling of arrays: drawn windows, layouts and dtypes against NumPy."""

from dataclasses import replace

import gpuarray
import numpy as np
import pytest
from gpuarray._nn import pooling
from gpuarray._nn.pooling import avg_pool, max_pool, sum_pool
from gpuarray.dtypes import as_dtype
from gpuarray.errors import BadType, BadValue
from judge import assert_same
from pooled import Windows, drawn, drawn_values
from simulated import is_simulated

RTOL = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12}
LONGEST = {1: 24, 2: 10, 3: 7}
LONG = {1: 3000, 2: 60, 3: 16}


def laid_out(random, host, context):
    """``host`` on the device: axes permuted, backwards, or every second element."""
    layout = random.integers(3)
    if layout == 0:
        order = random.permutation(host.ndim)
        packed = np.ascontiguousarray(host.transpose(order))
        back = np.argsort(order).tolist()
        return gpuarray.asarray(packed, context=context).transpose(*back)
    if layout == 1:
        return gpuarray.asarray(host[..., ::-1].copy(), context=context)[..., ::-1]
    return gpuarray.asarray(host.repeat(2, axis=-1), context=context)[..., ::2]


def check_draw(random, context, dtype, shortest, longest):
    nd = int(random.integers(1, 4))
    judge = drawn(random, nd)
    lengths = random.integers(shortest[nd], longest[nd], nd)
    shape = (*random.integers(1, 4, random.integers(0, 4)), *lengths)
    x = drawn_values(random, shape)
    y = judge.pooled(x)
    g, v = (random.integers(-3, 4, s).astype("float64") for s in (y.shape, shape))
    numbers = (getattr(judge, name) for name in judge.names)
    windows = pooling.Windows(*numbers, judge.mode, judge.ceil)

    def device(host):
        return laid_out(random, host.astype(as_dtype(dtype)), context)

    def check(result, expected):
        assert result.dtype.name == dtype
        got = np.asarray(result).astype("float64")
        text = f"{judge} of {shape}"
        np.testing.assert_allclose(got, expected, RTOL[dtype], 4 * RTOL[dtype], text)

    check(pooling.pool(device(x), windows), y)
    if judge.mode != "max":
        check(
            pooling.pool_grad(device(x), device(g), windows=windows),
            judge.gradient(x, y, g),
        )
        return
    gradient = pooling.pool_grad(device(x), device(y), device(g), windows=windows)
    check(gradient, judge.gradient(x, y, g))
    gathered = pooling.pool_at_maxima(device(x), device(y), device(v), windows)
    check(gathered, judge.at_maxima(x, y, v))
    windows = replace(windows, shared=True)
    shares = judge.shares(x, y)
    divided = pooling.pool_grad(device(x), device(y), device(g), windows=windows)
    check(divided, judge.gradient(x, y, g * shares))
    gathered = pooling.pool_at_maxima(device(x), device(y), device(v), windows)
    check(gathered, judge.at_maxima(x, y, v) * shares)
    check(pooling.pool_at_first(device(x), device(v), windows), judge.at_first(x, v))


@pytest.mark.every_case
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_drawn_windows(context, dtype):
    random = np.random.default_rng(len(dtype))
    for _ in range(40):
        check_draw(random, context, dtype, {1: 1, 2: 1, 3: 1}, LONGEST)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_drawn_windows_of_short_floats(context, dtype):
    random = np.random.default_rng(len(dtype))
    for _ in range(10):
        check_draw(random, context, dtype, {1: 1, 2: 1, 3: 1}, LONGEST)


@pytest.mark.oclgrind
@pytest.mark.every_case
def test_drawn_windows_of_many_results(context):
    """Kernels whose loops unroll."""
    random = np.random.default_rng(50)
    for _ in range(2 if is_simulated() else 5):
        check_draw(
            random, context, "float32", {nd: n - 4 for nd, n in LONG.items()}, LONG
        )


@pytest.mark.every_case
@pytest.mark.parametrize("mode", ["max", "sum", "average_exc_pad"])
def test_networks_windows_of_many_results(context, mode):
    random = np.random.default_rng(7)
    for window, stride, pad in [(3, 2, 1), (2, 2, 0), (3, 1, 1)]:
        judge = Windows(*((n, n) for n in (window, stride, pad, pad)), mode)
        x = random.normal(size=(3, 2, 53, 61))
        y = judge.pooled(x)
        g = random.normal(size=y.shape)
        windows = pooling.Windows(*(getattr(judge, k) for k in judge.names), mode)
        a, r, b = (gpuarray.asarray(part, context=context) for part in (x, y, g))
        assert_same(pooling.pool(a, windows), y)
        arrays = (r, b) if mode == "max" else (b,)
        found = pooling.pool_grad(a, *arrays, windows=windows)
        assert_same(found, judge.gradient(x, y, g))


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "window", "pad"),
    [((8, 8), 2, 0), ((9, 10), 3, 0), ((7, 8), 3, 1), ((4, 16), 2, 0), ((4, 13), 4, 1)],
)
def test_vectors_end_with_the_rows(context, dtype, shape, window, pad):
    """Nothing before or behind the arrays is read where loops unroll."""
    random = np.random.default_rng(11)
    judge = Windows(*((n, n) for n in (window, 2, pad, pad)), "max")
    results = np.prod(judge.shape(shape))
    x = random.normal(size=(-(-4096 // results), *shape)).astype(dtype)
    y = judge.pooled(x)
    g = random.normal(size=y.shape).astype(dtype)
    windows = pooling.Windows(*(getattr(judge, k) for k in judge.names), "max")
    a, r, b = (gpuarray.asarray(part, context=context) for part in (x, y, g))
    assert_same(pooling.pool(a, windows), y)
    found = pooling.pool_grad(a, r, b, windows=windows)
    assert_same(found, judge.gradient(x, y, g))


def test_maxima_and_sums_of_integers(context):
    random = np.random.default_rng(1)
    judge = Windows((2, 3), (2, 1), (1, 0), (0, 2))
    for dtype in ("int8", "uint64"):
        low = 0 if dtype[0] == "u" else -50
        x = random.integers(low, 50, (2, 5, 6)).astype(dtype)
        a = gpuarray.asarray(x, context=context)
        padding = [(1, 0), (0, 2)]
        assert_same(max_pool(a, (2, 3), (2, 1), padding), judge.pooled(x), exact=True)
        summed = Windows(judge.window, judge.stride, judge.before, judge.after, "sum")
        assert_same(sum_pool(a, (2, 3), (2, 1), padding), summed.pooled(x), exact=True)


def test_what_theano_gives(context):
    x = np.arange(16, dtype="float32").reshape(4, 4)
    a = gpuarray.asarray(x, context=context)
    sums = np.array([[0, 3, 3], [12, 30, 18], [12, 27, 15]], "float32")
    maxima = np.array([[0, 2, 3], [8, 10, 11], [12, 14, 15]], "float32")
    averages = np.array([[0, 1.5, 3], [6, 7.5, 9], [12, 13.5, 15]], "float32")
    assert_same(max_pool(a, (2, 2), padding=1), maxima)
    assert_same(sum_pool(a, (2, 2), padding=1), sums)
    assert_same(avg_pool(a, (2, 2), padding=1), sums / 4)
    assert_same(avg_pool(a, (2, 2), padding=1, include_padding=False), averages)
    b = gpuarray.zeros((5, 5), "float32", device=context)
    assert max_pool(b, (2, 2)).shape == (2, 2)
    assert max_pool(b, (2, 2), ceil=True).shape == (3, 3)


def test_nothing_to_pool(context):
    a = gpuarray.zeros((0, 3, 5), "float32", device=context)
    assert max_pool(a, (2, 2)).shape == (0, 1, 2)
    short = gpuarray.ones((2, 3, 1), "float32", device=context)
    assert avg_pool(short, (2, 2)).shape == (2, 1, 0)
    assert_same(max_pool(short, (5, 5), ceil=True), np.ones((2, 1, 1), "float32"))
    assert max_pool(a[:, :0, :0], (2, 2), ceil=True).shape == (0, 0, 0)
    windows = pooling.Windows((2, 2), (2, 2), (0, 0), (0, 0), "sum")
    g = gpuarray.zeros((2, 1, 0), "float32", device=context)
    found = pooling.pool_grad(short, g, windows=windows)
    assert_same(found, np.zeros((2, 3, 1), "float32"))


def test_places_beyond_an_int(context):
    """Rows of one element, repeated more often than an int counts."""
    one = gpuarray.ones(1, "float32", device=context)
    row = one.broadcast_to(2**33)
    assert_same(sum_pool(row, 3, 2**31 - 1), np.full(5, 3, "float32"), exact=True)
    assert_same(max_pool(row, 2, 2**31 - 1, 1), np.ones(5, "float32"), exact=True)
    rows = one.broadcast_to((2, 2**31, 2**22))
    found = avg_pool(rows, (2, 3), (2**30, 2**21))
    assert_same(found, np.ones((2, 2, 2), "float32"), exact=True)


def test_maxima_of_infinities_and_nan(context):
    x = np.array([-np.inf, -np.inf, np.nan, 1, 2, np.nan], "float32")
    a = gpuarray.asarray(x, context=context)
    expected = np.array([-np.inf, np.nan, np.nan], "float32")
    assert_same(max_pool(a, 2), expected, exact=True)
    windows = pooling.Windows((2,), (2,), (0,), (0,))
    v = gpuarray.arange(6, dtype="float32", device=context)
    found = pooling.pool_at_first(a, v, windows)
    assert_same(found, np.array([0, 2, 5], "float32"), exact=True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a: max_pool(a, (2, 2, 2)), BadValue, "window of 3 axes, expected 3"),
        (lambda a: max_pool(a, (2,) * 4), BadValue, "4 axes, expected 1 to 3"),
        (lambda a: max_pool(a, ()), BadValue, "0 axes, expected 1 to 3"),
        (lambda a: max_pool(a, (2, 0)), BadValue, "window 0 .* axis 1, expected 1"),
        (lambda a: max_pool(a, (2, -1)), BadValue, "window is -1 for spatial axis 1"),
        (lambda a: max_pool(a, 2**70), BadValue, r"window is \d+ for .* expected 0 to"),
        (lambda a: max_pool(a, 2, 0), BadValue, "stride 0 of spatial axis 0"),
        (
            lambda a: max_pool(a, (2, 2), (1,)),
            BadValue,
            r"stride is \(1,\), expected 2",
        ),
        (
            lambda a: sum_pool(a, 2, padding=2),
            BadValue,
            "padding 2 .* less than the win",
        ),
        (lambda a: max_pool(a, (2, 2), padding=(1,)), BadValue, "each of the 2 axes"),
        (lambda a: max_pool(a, 2.5), BadType, "window is 2.5, expected an integer"),
        (lambda a: max_pool(a, 2, padding="1"), BadType, "padding is '1'"),
        (lambda a: avg_pool(a.view("int32"), 2), BadType, "expected floating-point"),
        (
            lambda a: max_pool(a.view("complex64"), 2),
            BadType,
            "expected real numbers",
        ),
        (lambda a: max_pool(np.ones(3), 2), BadType, "max_pool: got ndarray"),
    ],
)
def test_errors(null, call, error, text):
    a = gpuarray.zeros((3, 4), "float32", device=null)
    with pytest.raises(error, match=text):
        call(a)
