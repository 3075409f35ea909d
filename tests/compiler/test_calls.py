"""What a call of a compiled function costs, in counts: bindings, copies, memory."""

import gc
import inspect
import pickle
import weakref

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler.function.call import Function


@pytest.fixture(autouse=True)
def float32(context):
    with theano.config.use(device=context.name, floatX="float32"):
        yield


def minibatch(size):
    x, i = T.fmatrix("x"), T.lscalar("i")
    return x, i, x[i * size : (i + 1) * size]


def test_minibatches_share_a_binding(context):
    x, i, part = minibatch(4)
    f = theano.function([x, i], [T.exp(part), part.sum(axis=0)])
    data = np.linspace(0, 1, 120, dtype="f4").reshape(30, 4)
    for batch in range(7):
        exp, total = f(data, batch)
        rows = data[batch * 4 : (batch + 1) * 4]
        np.testing.assert_allclose(exp, np.exp(rows), rtol=1e-6)
        np.testing.assert_allclose(total, rows.sum(axis=0), rtol=1e-6)
    assert f.info()["n_binds"] == 1
    assert f(data, 7)[0].shape == (2, 4)
    assert f(data, 8)[0].shape == (0, 4)
    assert f.info()["n_binds"] == 3
    np.testing.assert_allclose(f(data[::-1], 1)[0], np.exp(data[::-1][4:8]), rtol=1e-6)


def test_a_row_of_shared_data_and_of_a_constant(context):
    data = np.arange(32, dtype="f4").reshape(8, 4)
    i = T.lscalar("i")
    for values in (theano.shared(data), T.constant(data)):
        f = theano.function([i], values[i] * 2 + values[-i, 0])
        for row in (0, 3, -1, 5):
            np.testing.assert_array_equal(f(row), data[row] * 2 + data[-row, 0])
        assert f.info()["n_binds"] == 1
        with pytest.raises(IndexError, match="index 8 is out of bounds for axis 0"):
            f(8)


def test_an_integer_that_also_computes_binds_anew(context):
    x, i, part = minibatch(4)
    f = theano.function([x, i], part.sum() + i)
    data = np.ones((30, 4), "f4")
    assert [float(f(data, k)) for k in range(3)] == [16, 17, 18]
    assert f.info()["n_binds"] == 3


def test_a_part_that_is_overwritten_leaves_the_rest(context):
    data = theano.shared(np.zeros((6, 2), "f4"))
    i = T.lscalar("i")
    f = theano.function([i], data[i], updates=[(data, T.inc_subtensor(data[i], 1))])
    before = [f(k).copy() for k in (0, 1, 1, 2)]
    np.testing.assert_array_equal(before, [[0, 0], [0, 0], [1, 1], [0, 0]])
    np.testing.assert_array_equal(data.get_value()[:, 0], [1, 2, 1, 0, 0, 0])


def test_each_part_is_seen_by_kernels_that_do_more(context):
    """Kernels of several outputs and of rows: what they are told of offsets holds."""
    x, i, part = minibatch(4)
    f = theano.function([x, i], [T.exp(part), x[i] * 3, T.nnet.softmax(part)])
    data = np.linspace(0, 1, 120, dtype="f4").reshape(30, 4)
    for batch in (0, 3, 1, 3):
        rows = data[batch * 4 : (batch + 1) * 4]
        exp, row, softmax = f(data, batch)
        np.testing.assert_allclose(exp, np.exp(rows), rtol=1e-6)
        np.testing.assert_allclose(row, data[batch] * 3, rtol=1e-6)
        ratio = np.exp(rows) / np.exp(rows).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(softmax, ratio, rtol=1e-5)
    assert f.info()["n_binds"] == 1


@pytest.mark.parametrize("number", [0, -3])
def test_a_function_keeps_a_binding_at_least(number):
    with (
        pytest.raises(theano.errors.ConfigError, match=f"bindings={number}; .* one"),
        theano.config.use(bindings=number),
    ):
        pass


def test_how_many_bindings_are_kept(context):
    x = T.fvector("x")
    with theano.config.use(bindings=2):
        f = theano.function([x], x * 2)
    for n in (1, 2, 3, 3, 2, 1):
        f(np.ones(n, "f4"))
    assert f.info()["n_bindings"] == 2
    assert f.info()["n_binds"] == 4


def test_a_number_goes_up_where_it_changes(context):
    """It keeps its place on the device, and what is given next is what counts."""
    x, rate = T.fvector("x"), T.fscalar("rate")
    f = theano.function([x, rate], x * rate, on_device=True)
    given = gpuarray.ones(3, "float32", context=context)
    results = [f(given, r) for r in (0.5, 0.5, 0.1, -0.0, 0.0, np.float32(2), 3)]
    expected = [0.5, 0.5, np.float32(0.1), -0.0, 0.0, 2, 3]
    for result, value in zip(results, expected, strict=True):
        host = result.get()
        assert (host == value).all()
        assert (np.signbit(host) == np.signbit(value)).all()
    assert np.isnan(f(given, float("nan")).get()).all()


def test_what_numbers_an_input_takes(context):
    x, rate = T.fvector("x"), T.fscalar("rate")
    with theano.config.use(floatX="float64"):
        f = theano.function([x, rate], x * rate)
        assert f(np.ones(1, "f4"), 0.5) == [0.5]
        with pytest.raises(TypeError, match="float64 does not fit float32"):
            f(np.ones(1, "f4"), 0.1)
        f = theano.function([x, rate], x * rate, allow_input_downcast=True)
        assert f(np.ones(1, "f4"), 0.1) == [np.float32(0.1)]
    strict = theano.function([x, theano.In(rate, strict=True)], x * rate)
    with pytest.raises(TypeError, match="strict"):
        strict(np.ones(1, "f4"), 0.5)
    i = T.bscalar("i")
    f = theano.function([x, i], x[i])
    assert f(np.arange(3, dtype="f4"), 2) == 2
    with pytest.raises(TypeError, match="int8"):
        f(np.arange(3, dtype="f4"), 300)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "float64", "complex64"]
)
def test_hosts_arrays_of_any_layout(context, dtype):
    if dtype == "float64" and not context.has_double:
        pytest.skip("the device has no float64")
    x, s = T.TensorType(dtype, (False, False))("x"), T.TensorType(dtype, ())("s")
    f = theano.function([x, s], [x.T, T.switch(T.eq(x, s), x, s)])
    data = (np.arange(12).reshape(3, 4) % 3).astype(dtype)
    swapped = data.astype(data.dtype.newbyteorder())
    for given in (data, data[::2, ::-1], data.T, data[:0], swapped):
        turned, chosen = f(given, data[0, 1])
        np.testing.assert_array_equal(turned, given.T)
        np.testing.assert_array_equal(chosen, np.full(given.shape, data[0, 1]))
    with pytest.raises((TypeError, ValueError), match="axes"):
        f(data[0], data[0, 1])


def test_results_are_never_written_again(context):
    """Small results' memory stays with the function, but not what somebody has."""
    x = T.fvector("x")
    f = theano.function([x], x + 1, on_device=True)
    kept = [f(np.full(4, k, "f4")) for k in range(5)]
    views = [f(np.full(4, k, "f4"))[1:3] for k in range(5)]
    for k in range(5):
        np.testing.assert_array_equal(kept[k].get(), np.full(4, k + 1))
        np.testing.assert_array_equal(views[k].get(), np.full(2, k + 1))


def test_what_allow_gc_keeps(context):
    """False: intermediates stay with the function; True: the pool has them again."""
    x = T.fmatrix("x")
    given = gpuarray.ones((300, 300), "float32", context=context)
    held = {}
    for allow_gc in (True, False):
        with theano.config.use(allow_gc=allow_gc):
            f = theano.function([x], T.dot(T.dot(x, x) + 1, x).sum(), on_device=True)
        gc.collect()
        before = context.memory_info().live
        f(given)
        f(given)
        held[allow_gc] = context.memory_info().live - before
        assert f.info()["workspace"] >= 300 * 300 * 4
    assert held[True] < 300 * 300 * 4 <= held[False]
    del f
    gc.collect()
    assert context.memory_info().live <= before


def most_of_the_pool(info):
    """Bytes that the pool gives at most for a workspace: it wastes one in eight, and
    the smallest block has 512 (c/backend/pool.c)."""
    return info["workspace"] + info["workspace"] // 8 + 512 * info["n_allocs"]


def test_what_is_kept_is_of_the_last_signature(context):
    x = T.fmatrix("x")
    with theano.config.use(allow_gc=False):
        f = theano.function([x], T.dot(T.dot(x, x.T) + 1, x).sum(), on_device=True)
    given = {n: gpuarray.ones((n, n), "float32", context=context) for n in (300, 200)}
    gc.collect()
    before = context.memory_info().live
    for n in (300, 200, 300, 200):
        np.testing.assert_allclose(float(f(given[n])), n**4 + n**3, rtol=1e-5)
        held = context.memory_info().live - before
        info = f.info()
        assert info["workspace"] <= held <= most_of_the_pool(info)


def regression():
    x, y = T.fmatrix("x"), T.fvector("y")
    w, b = theano.shared(np.zeros(12, "f4")), theano.shared(np.float32(0))
    p = 1 / (1 + T.exp(-T.dot(x, w) - b))
    cost = (-y * T.log(p) - (1 - y) * T.log(1 - p)).mean() + 0.01 * (w * w).sum()
    grads = T.grad(cost, [w, b])
    updates = [(v, v - 0.1 * g) for v, g in zip((w, b), grads, strict=True)]
    return [x, y], cost, updates, [w, b]


def adam():
    inputs, cost, _, weights = regression()
    updates = []
    for v, g in zip(weights, T.grad(cost, weights), strict=True):
        value = np.zeros_like(v.get_value())
        m, s = theano.shared(value), theano.shared(value)
        new_m, new_s = 0.9 * m + 0.1 * g, 0.99 * s + 0.01 * g * g
        updates += [(m, new_m), (s, new_s)]
        updates += [(v, v - 0.01 * new_m / (T.sqrt(new_s) + 1e-7))]
    return inputs, cost, updates, [v for v, _ in updates]


@pytest.mark.parametrize("make", [regression, adam])
def test_updates_are_made_in_place(context, make):
    inputs, cost, updates, changed = make()
    f = theano.function(inputs, cost, updates=updates, on_device=True)
    assert not any("copy" in line.split("<-")[-1] for line in str(f.plan).split("\n"))
    x, y = (gpuarray.ones(n, "float32", context=context) for n in ((20, 12), 20))
    f(x, y)
    places = [buffer_of(v) for v in changed]
    f(x, y)
    assert [buffer_of(v) for v in changed] == places


def buffer_of(variable):
    value = variable.get_value(borrow=True, return_internal_type=True)
    return value.struct.data


def test_a_call_asks_the_pool_for_nothing(context):
    """With no more memory to be had, calls go on."""
    inputs, cost, updates, _ = regression()
    f = theano.function(inputs, cost, updates=updates, on_device=True)
    x, y = (gpuarray.ones(n, "float32", context=context) for n in ((20, 12), 20))
    first = float(f(x, y))
    f(x, y)
    gc.collect()
    context.trim()
    limit = context.limit
    context.limit = context.memory_info().live
    try:
        for _ in range(3):
            assert float(f(x, y)) < first
    finally:
        context.limit = limit


def test_many_calls_leave_nothing_behind(context):
    from steady import run

    assert run(context.name, 2000, timed=False) == []


def test_of_threads_with_numbers_of_their_own(context):
    from concurrent.futures import ThreadPoolExecutor

    x, rate = T.fvector("x"), T.fscalar("rate")
    f = theano.function([x, rate], x * rate)
    given = np.ones(5, "f4")

    def call(number):
        return all((f(given, number) == number).all() for _ in range(30))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, [1.0, 2.0, 3.0, 4.0]))


def test_calls_by_position_need_no_frame_of_python(monkeypatch):
    x, y = T.fvector("x"), T.fscalar("y")
    f = theano.function([x, y], x * y)
    keyed = theano.function([x], {"twice": x * 2})
    called, original = [], Function._call

    def call(self, *args, **named):
        called.append(args)
        return original(self, *args, **named)

    monkeypatch.setattr(Function, "_call", call)
    given = np.arange(3, dtype="f4")
    np.testing.assert_array_equal(f(given, 2.0), given * 2)
    assert called == []
    np.testing.assert_array_equal(f(given, y=3.0), given * 3)
    np.testing.assert_array_equal(f([1, 2, 3], 2.0), [2, 4, 6])  # is converted first
    np.testing.assert_array_equal(keyed(given)["twice"], given * 2)
    with pytest.raises(TypeError, match="given 1 inputs by position, expected 2"):
        f(given)
    assert len(called) == 4


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickles(protocol):
    x = T.fvector("x")
    f = pickle.loads(pickle.dumps(theano.function([x], x + 1), protocol))
    np.testing.assert_array_equal(f(np.ones(3, "f4")), np.full(3, 2, "f4"))


def test_a_function_has_a_signature():
    x = T.fvector("x")
    given = inspect.signature(theano.function([x], x + 1))
    assert str(given) == "(*args, **named)"


def test_a_function_goes_with_its_last_reference():
    x = T.fvector("x")
    f = theano.function([x], x + 1)
    f(np.ones(3, "f4"))
    gc.collect()
    gc.disable()
    try:
        gone = weakref.ref(f)
        del f
        assert gone() is None
    finally:
        gc.enable()


def test_compiling_leaves_the_search_for_garbage_as_it_was():
    x = T.fvector("x")
    try:
        for set_search, is_on in ((gc.disable, False), (gc.enable, True)):
            set_search()
            theano.function([x], x + 1)
            assert gc.isenabled() == is_on
    finally:
        gc.enable()
