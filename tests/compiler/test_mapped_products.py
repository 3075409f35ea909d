"""Products of few terms with what is computed of them, in one launch on GPUs."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, shared
from gpuarray.compiler.ifelse import ifelse
from judge import assert_same

pytestmark = pytest.mark.oclgrind

TERMS = [1, 3, 16, 17, 200]  # of many a GPU sums parts
SHAPE = (40, 50)


def normal(shape, seed, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def compiled(context, inputs, outputs, **options):
    with config.use(device=str(context.name)):
        return function(inputs, outputs, **options)


def is_one_launch(f, context, terms):
    """On processors the library has the product."""
    launches = f.info()["n_launches"]
    assert launches == (1 if terms <= 16 and not context.is_cpu else 2)


def operands(terms, dtype="float32"):
    return normal((SHAPE[0], terms), 0, dtype), normal((terms, SHAPE[1]), 1, dtype)


@pytest.mark.parametrize("terms", TERMS)
def test_a_product_and_its_reader(first_context, terms):
    a, b, h = T.fmatrices("a", "b", "h")
    r, s = T.fvector("r"), T.fscalar("s")
    f = compiled(first_context, [a, b, h, r, s], T.dot(a, b) * (1 - h * h) * s + r)
    left, right = operands(terms)
    more, row = normal(SHAPE, 2), normal(SHAPE[1], 3)
    found = f(left, right, more, row, np.float32(0.5))
    assert_same(found, left @ right * (1 - more * more) * np.float32(0.5) + row, 1e-4)
    is_one_launch(f, first_context, terms)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_layout(first_context, dtype):
    if dtype == "float64" and not first_context.has_double:
        pytest.skip("the device has no float64")
    a, b, h = (T.matrix(name, dtype) for name in "abh")
    f = compiled(first_context, [a, b, h], T.dot(a, b) * h)
    left, right = operands(5, dtype)
    more = normal(SHAPE, 2, dtype)
    wanted = left @ right * more
    for turned in range(8):
        given = [
            gpuarray.asarray(host.T.copy(), context=first_context).T
            if turned >> place & 1
            else gpuarray.asarray(host, context=first_context)
            for place, host in enumerate((left, right, more))
        ]
        assert_same(f(*given), wanted, 1e-4)
        is_one_launch(f, first_context, 5)
    wide = gpuarray.asarray(normal((80, 100), 4, dtype), context=first_context)
    assert_same(
        f(left, right, wide[::2, ::-2]),
        left @ right * np.asarray(wide)[::2, ::-2],
        1e-4,
    )


def test_the_result_is_read_across_and_of_another_dtype(first_context):
    a, b, c = T.fmatrices("a", "b", "c")
    f = compiled(first_context, [a, b, c], T.gt(T.dot(a, b), c))
    left, right = operands(4)
    column = normal((SHAPE[0], 1), 5)
    given = [left, right, np.broadcast_to(column, SHAPE).copy()]
    assert_same(f(*given), left @ right > column)
    is_one_launch(f, first_context, 4)
    g = compiled(first_context, [a, b, c], T.tanh(T.dot(a, b)).T * c)
    more = normal(SHAPE[::-1], 6)
    assert_same(g(left, right, more), np.tanh(left @ right).T * more, 1e-4)


def test_an_update_takes_over_what_it_replaces(first_context):
    start = normal(SHAPE, 7)
    a, b = T.fmatrices("a", "b")
    with config.use(device=str(first_context.name)):
        w = shared(start)
        f = function([a, b], [], updates=[(w, T.tanh(w + T.dot(a, b)))])
    left, right = operands(6)
    f(left, right)
    assert_same(gpuarray.asarray(w.get_value()), np.tanh(start + left @ right), 1e-4)
    assert first_context.is_cpu or f.info()["workspace"] == 0


@pytest.mark.parametrize("way", ["choice", "split", "slice"])
def test_what_is_multiplied_by_another_name_is_not_written_over(first_context, way):
    x, n = T.fmatrix("x"), T.lscalar("n")
    host = normal((200, 70), 20)
    with config.use(device=str(first_context.name)):
        wide, other = shared(host), shared(normal((5, 70), 21))
        few = {
            "choice": lambda: ifelse(T.gt(n, 0), wide[:5], other),
            "split": lambda: T.split(wide, [5, 195], 2)[0],
            "slice": lambda: wide[:5],
        }[way]()
        new = T.dot(x, few) * wide
        f = function([x, n], [], updates=[(wide, new)], on_unused_input="ignore")
    left = normal((200, 5), 22)
    f(left, 1)
    expected = left @ host[:5] * host
    assert_same(gpuarray.asarray(wide.get_value()), expected, 1e-4)


@pytest.mark.parametrize("shape", [(0, 200, 50), (40, 200, 0), (40, 0, 50), (0, 0, 0)])
def test_products_of_nothing(first_context, shape):
    m, k, n = shape
    a, b = T.fmatrices("a", "b")
    f = compiled(first_context, [a, b], T.tanh(T.dot(a, b)) + 1)
    assert_same(f(np.ones((m, k), "f4"), np.ones((k, n), "f4")), np.ones((m, n), "f4"))
    given = (gpuarray.ones(s, "f4", context=first_context) for s in ((m, k), (k, n)))
    assert_same(gpuarray.matmul(*given), np.zeros((m, n), "f4"))


def test_what_is_multiplied_is_not_written_over(first_context):
    a = T.fmatrix("a")
    with config.use(device=str(first_context.name)):
        w = shared(normal((9, 9), 8))
        wide = shared(normal((40, 40), 9))
        f = function([], [], updates=[(w, T.tanh(T.dot(w, w)) - w)])
        g = function([a], [], updates=[(wide, T.dot(wide[:, :5], a) * wide)])
    small, large = w.get_value(), wide.get_value()
    f()
    assert_same(gpuarray.asarray(w.get_value()), np.tanh(small @ small) - small, 1e-4)
    right = normal((5, 40), 10)
    g(right)
    expected = large[:, :5] @ right * large
    assert_same(gpuarray.asarray(wide.get_value()), expected, 1e-4)


def test_what_is_between_the_two_steps_keeps_what_it_reads(first_context):
    """Weights change after the product with them, and before its reader."""
    x, h, d = T.fmatrices("x", "h", "d")
    start = normal((50, 8), 11)
    with config.use(device=str(first_context.name)):
        w, v = shared(start), shared(normal((30, 50), 12))
        before = v.get_value()
        slope = T.dot(d, w.T) * (1 - h * h)
        updates = [(w, w - 0.125 * T.dot(h.T, d)), (v, v - 0.125 * T.dot(x.T, slope))]
        with config.use(floatX="float32"):
            f = function([x, h, d], slope.sum(0), updates=updates)
    data = [normal((40, n), 13 + n) for n in (30, 50, 8)]
    total = f(*data)
    expected = data[2] @ start.T * (1 - data[1] * data[1])
    assert_same(total, expected.sum(0), 1e-4)
    w_new = start - 0.125 * (data[1].T @ data[2])
    v_new = before - 0.125 * (data[0].T @ expected)
    assert_same(gpuarray.asarray(w.get_value()), w_new.astype("f4"), 1e-4)
    assert_same(gpuarray.asarray(v.get_value()), v_new.astype("f4"), 1e-4)


def test_products_that_others_read_are_stored(first_context):
    a, b = T.fmatrices("a", "b")
    product = T.dot(a, b)
    f = compiled(first_context, [a, b], [T.exp(product), product])
    left, right = operands(3)
    found = f(left, right)
    assert_same(found[0], np.exp(left @ right), 1e-4)
    assert_same(found[1], left @ right, 1e-4)


def test_branches(first_context):
    a, b = T.fmatrices("a", "b")
    n = T.lscalar("n")
    made = T.exp(T.dot(a, b))
    f = compiled(first_context, [a, b, n], ifelse(T.gt(n, 0), made, made.T.T * 0))
    left, right = operands(3)
    assert_same(f(left, right, 1), np.exp(left @ right), 1e-4)
    assert_same(f(left, right, 0), np.zeros(SHAPE, "f4"), 1e-4)


def test_what_does_not_fit_is_told_of_as_ever(first_context):
    a, b, h = T.fmatrices("a", "b", "h")
    f = compiled(first_context, [a, b, h], T.dot(a, b) * h)
    left, right = operands(3)
    with pytest.raises(ValueError, match="do not broadcast"):
        f(left, right, normal((40, 49), 0))
    with pytest.raises(ValueError, match="inner dimensions"):
        f(left, normal((4, 50), 0), normal(SHAPE, 0))
    assert_same(f(left, right, normal(SHAPE, 1)), left @ right * normal(SHAPE, 1), 1e-4)


@pytest.fixture
def card(monkeypatch):
    """The null device, which describes itself as a card, without computing."""
    null = gpuarray.context("null")
    monkeypatch.setattr(null, "runs_dry", True)
    return null


@pytest.mark.parametrize("rows", [SHAPE[0], 300])
def test_a_result_larger_than_its_factors_is_one_launch(card, rows):
    # The product itself has no memory, and that of a factor is not enough for it.
    a, b, r = T.fmatrix("a"), T.fmatrix("b"), T.fvector("r")
    f = compiled(card, [a, b, r], T.tanh(T.dot(T.exp(a), b) + r))
    f(np.zeros((rows, 3), "f4"), np.zeros((3, 300), "f4"), np.zeros(300, "f4"))
    assert f.info()["n_launches"] == 2
