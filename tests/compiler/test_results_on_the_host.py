"""Results as NumPy arrays: nothing that happens later changes them."""

import gc
import os
import pickle
import subprocess
import sys
import threading

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import In, Mode, function, shared

N = 30_000  # elements: enough for memory of the library's


@pytest.fixture
def device(on_context):
    with on_context:
        yield on_context


@pytest.fixture
def x():
    return T.vector("x", dtype="float32")


def values(n=N, first=0):
    return np.arange(first, first + n).astype("float32") / n


def test_a_result_stays_as_it_is_when_the_function_runs_again(device, x):
    f = function([x], T.exp(x), on_device=False)
    given = [values(first=i) for i in range(12)]
    results = [f(each) for each in given]
    for each, result in zip(given, results, strict=True):
        np.testing.assert_allclose(result, np.exp(each), rtol=1e-5)


def test_a_result_belongs_to_the_caller(device, x):
    f = function([x], x * 2)
    first = f(values())
    assert first.flags.writeable and first.flags.c_contiguous
    first[:] = -1
    second = f(values())
    np.testing.assert_array_equal(second, values() * 2)
    np.testing.assert_array_equal(first, np.full(N, -1, "float32"))


@pytest.mark.parametrize("mode", [None, "FAST_COMPILE", Mode(optimizer=None)])
def test_results_that_are_inputs_values_or_each_other_are_apart(device, x, mode):
    w = shared(values(first=1), "w")
    f = function(
        [x], [x, w, x + 1, (x + 1)[5:], w * 2], updates=[(w, w * 2)], mode=mode
    )
    given = gpuarray.asarray(values())
    expected = [values(), values(first=1), values() + 1, (values() + 1)[5:]]
    expected.append(values(first=1) * 2)
    results = f(given)
    for result in results:
        assert not any(
            np.shares_memory(result, other) for other in results if other is not result
        )
    for result, each in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, each, rtol=1e-6)
        result[:] = -5
    np.testing.assert_array_equal(given.get(), values())
    np.testing.assert_array_equal(w.get_value(), values(first=1) * 2)
    again = f(given)
    np.testing.assert_allclose(again[1], values(first=1) * 2)
    np.testing.assert_allclose(again[2], values() + 1)


def test_updates_in_place_leave_earlier_results_alone(device):
    w = shared(np.zeros(N, "float32"), "w")
    step = function([], w + 1, updates=[(w, w + 1)])
    results = [step() for _ in range(8)]
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full(N, i + 1, "float32"))


def test_an_input_that_is_overwritten_leaves_the_result_alone(device, x):
    f = function([In(x, mutable=True)], x + 1)
    given = gpuarray.asarray(values())
    first = f(given)
    kept = first.copy()
    given[...] = 7
    f(given)
    np.testing.assert_array_equal(first, kept)


def test_an_array_of_the_device_and_its_copies_are_apart(device):
    a = gpuarray.asarray(values())
    for copied in (np.asarray(a), a.get(), gpuarray.asnumpy(a), np.array(a)):
        a += 1
        np.testing.assert_array_equal(copied, values())
        copied[:] = -1
        assert (a.get() >= 1).all()
        a -= 1
        a = gpuarray.asarray(values())


@pytest.mark.parametrize(
    "dtype", ["?", "int8", "uint16", "int32", "int64", "f2", "f4", "f8", "complex64"]
)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (200, 301), (30, 40, 50)])
@pytest.mark.parametrize("order", "CF")
def test_every_dtype_shape_and_order(device, dtype, shape, order):
    host = np.asarray(
        (np.arange(np.prod(shape, dtype=int)) % 100).reshape(shape), dtype, order=order
    )
    a = gpuarray.asarray(host)
    for got in (a.get(), a.T.get().T, np.asarray(a[::-1])[::-1] if shape else a.get()):
        assert got.dtype == host.dtype and got.shape == host.shape
        np.testing.assert_array_equal(got, host)


def test_results_outlive_their_function_and_are_pickled(device, x):
    f = function([x], [T.exp(x), x.reshape((100, 300)).T])
    first, second = f(values())
    del f
    gc.collect()
    np.testing.assert_allclose(first, np.exp(values()), rtol=1e-5)
    np.testing.assert_array_equal(second, values().reshape(100, 300).T)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)), first)


def test_results_outlive_a_closed_context():
    context = gpuarray.context("null")
    a = gpuarray.asarray(values(), context=context)
    results = [a.get() for _ in range(3)]
    context.close()
    del a, results[1]
    gc.collect()
    for result in results:
        np.testing.assert_array_equal(result, values())


def test_memory_beyond_the_limit_is_of_numpy(monkeypatch):
    gpuarray.context("null").close()
    monkeypatch.setenv("GPUARRAY_HOST_SIZE", str(4 * 4 * N))
    context = gpuarray.context("null")
    a = gpuarray.asarray(values(), context=context)
    results = [a.get() for _ in range(6)]
    assert [result.base is None for result in results] == [False] * 3 + [True] * 3
    for result in results:
        np.testing.assert_array_equal(result, values())
    context.close()


def test_the_limit_can_be_changed_while_results_are_in_use(device):
    before = device.host_limit
    a = gpuarray.asarray(values())
    device.trim()
    held = [a.get() for _ in range(3)]
    size = device.host_memory_info().live
    assert size >= 3 * held[0].nbytes
    del held[0]
    assert device.host_memory_info()[:2] == (size * 2 // 3, size // 3)
    device.host_limit = 0
    assert device.host_memory_info() == (size * 2 // 3, 0, 0)
    assert a.get().base is None
    for result in held:
        np.testing.assert_array_equal(result, values())
    del held, result
    assert device.host_memory_info() == (0, 0, 0)
    device.host_limit = before
    assert a.get().base is not None


@pytest.mark.parametrize("limit", ["limit", "host_limit"])
def test_a_limit_is_a_number_of_bytes(device, limit):
    before = getattr(device, limit)
    for wrong in (-1, 2**70):
        with pytest.raises(gpuarray.errors.BadValue, match=limit):
            setattr(device, limit, wrong)
    for wrong in ("1 GiB", 1.5, None):
        with pytest.raises(gpuarray.errors.BadType, match=limit):
            setattr(device, limit, wrong)
    assert getattr(device, limit) == before


def test_threads_change_the_limit_while_others_take_results(device, x):
    f = function([x], x * 3)
    f(values())
    before, wrong = device.host_limit, []

    def work(number):
        kept = []
        for i in range(40):
            given = values(first=number * 1000 + i)
            copied = gpuarray.asarray(given).get()
            kept = [*kept[-3:], (given * 3, f(given)), (given, copied)]
            wrong.extend(i for a, b in kept if not np.array_equal(a, b))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for each in threads:
        each.start()
    while any(each.is_alive() for each in threads):
        for device.host_limit in (0, 10**5, 10**6, before):
            device.trim()
    assert not wrong
    assert device.host_memory_info().live == 0


def test_results_are_there_until_the_interpreter_is_gone(device):
    """Some die with their modules, some after the context, some never."""
    program = f"""
import atexit, builtins, sys, threading
import numpy as np
import gpuarray
from gpuarray.compiler import function, tensor as T

x = T.fvector("x")
f = function([x], x + 1)
given = np.ones({N}, "float32")

class Kept:
    pass

kept, Kept.of_a_class = Kept(), f(given)
kept.itself, kept.result = kept, f(given)
builtins.result, builtins.copied = f(given), gpuarray.asarray(given).get()
sys.modules["no module"] = f(given)
local = threading.local()
local.result = f(given)
atexit.register(lambda: print(builtins.result.sum() + builtins.copied.sum()))
gpuarray.get_default_context().close()
sys.exit(5)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "GPUARRAY_DEVICE": device.name},
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (5, f"{3.0 * N}\n"), done.stderr


def test_a_processor_gives_its_own_memory(device, x):
    f = function([x], x + 1)
    given = gpuarray.asarray(values())
    f(given)
    gc.collect()
    before = device.memory_info().live
    results = [f(given) for _ in range(4)]  # one of which the plan keeps for the next
    lent = device.memory_info().live - before
    assert lent >= 3 * results[0].nbytes or not device.is_cpu
    del results
    assert device.memory_info().live <= before + 4 * N


def test_threads_get_their_own_results(device, x):
    f = function([x], x * 3)
    wrong = []

    def work(number):
        kept = []
        for i in range(30):
            given = values(first=number * 1000 + i)
            kept = [*kept[-3:], (given, f(given))]
            wrong.extend(i for a, b in kept if not np.array_equal(a * 3, b))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_a_forked_process_reads_results_of_its_parent(device, x):
    f = function([x], x + 1)
    result = f(values())
    copied = gpuarray.asarray(values()).get()
    child = os.fork()
    if child == 0:
        good = np.array_equal(result, values() + 1) and np.array_equal(copied, values())
        del result, copied
        gc.collect()
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    del copied
    again = gpuarray.asarray(values(first=5)).get()
    np.testing.assert_array_equal(result, values() + 1)
    np.testing.assert_array_equal(again, values(first=5))
