"""Runs of small launches, which a processor does in one launch after some thousands.

The results have the same bits before and after.
"""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan
from gpuarray.compiler.scan_module import until

ITERATIONS = 500
CALLS = 45
"""Enough of ITERATIONS launches each for the library to compile a chain."""


@pytest.fixture
def on_context(context):
    if not context.is_cpu:
        pytest.skip("a GPU has launches in graphs")
    with config.use(device=context.name):
        yield context


def numbers(dtype, *shape):
    values = np.random.default_rng(3).uniform(-1, 1, shape)
    if np.dtype(dtype).kind in "iu":
        values = values * 100 + 100
    if np.dtype(dtype).kind == "c":
        values = values + 1j * values[::-1]
    return values.astype(dtype)


def recurrence(x, step):
    """The states of iterations, of which each needs all elements of the one before."""
    return scan(step, outputs_info=[x], n_steps=ITERATIONS)[0]


BODIES = {
    "columns": lambda s: T.tanh(s - s.mean(axis=0)),
    "rows": lambda s: s / (abs(s).sum(axis=1, keepdims=True) + 1),
    "copies": lambda s: T.tanh(s.T.reshape(s.shape) - s.max(axis=0)),
}
"""Bodies that are no kernel with their loop."""


def chains_of(context, f, *arrays, calls=CALLS):
    """How often calls after the first one ask for a kernel.

    Each call has the bits of the first one.
    """
    first = np.asarray(f(*arrays))
    assert np.isfinite(first).all()
    before = sum(context.cache_info())
    for _ in range(calls - 1):
        assert np.asarray(f(*arrays)).tobytes() == first.tobytes()
    return sum(context.cache_info()) - before


@pytest.mark.parametrize("name", BODIES)
def test_results_keep_their_bits(on_context, name):
    x = T.fmatrix("x")
    states = recurrence(x, lambda s: BODIES[name](s).astype("float32"))
    f = function([x], states[-1], on_device=True)
    given = gpuarray.asarray(numbers("float32", 5, 40), context=on_context)
    assert chains_of(on_context, f, given) == 1


def test_few_launches_between_products_are_one_often_repeated(on_context):
    """A chain for each iteration, of one kernel, where a product is no part of it."""
    a, x = T.fmatrix("a"), T.fvector("x")

    def step(s, a):
        product = T.dot(a, s)
        return product / abs(product).sum()

    states, _ = scan(step, outputs_info=x, non_sequences=a, n_steps=ITERATIONS)
    f = function([a, x], states[-1], on_device=True)
    matrix = abs(numbers("float32", 12, 12)) + 1
    given = [gpuarray.asarray(y, context=on_context) for y in (matrix, matrix[0])]
    assert chains_of(on_context, f, *given) in (1, ITERATIONS)


@pytest.mark.parametrize("dtype", ["float16", "int32", "complex64"])
def test_other_dtypes_keep_their_bits(on_context, dtype):
    """Numbers that are arguments may be integers or real, but not complex."""
    x = T.TensorType(dtype, (False, False))("x")
    states = recurrence(x, lambda s: (s[::-1] - s.sum(axis=0) / 4).astype(dtype))
    f = function([x], states[-1] * 0 + states[2])
    n_chains = chains_of(on_context, f, numbers(dtype, 3, 20))
    assert n_chains == 1 or dtype == "complex64"


@pytest.mark.parametrize(
    ("iterations", "length", "n_chains"),
    [(7, 20, 0), (8, 20, 1), (500, 256, 1), (500, 20000, 0)],
)
def test_few_or_large_launches_are_no_chain(on_context, iterations, length, n_chains):
    """An elementwise launch of 20000 elements has several groups."""
    x = T.fmatrix("x")
    factor = np.float32(1 + iterations / 1000)  # so that each chain has its own text
    states, _ = scan(
        lambda s: T.tanh(s.T.reshape(s.shape) * factor),
        outputs_info=[x],
        n_steps=iterations,
    )
    f = function([x], states[-1], on_device=True)
    given = gpuarray.asarray(numbers("float32", length, 1), context=on_context)
    calls = 2 + 32768 // iterations
    assert chains_of(on_context, f, given, calls=calls) == n_chains
    assert f.info()["n_launches"] == iterations


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_numbers_of_a_call_are_arguments_of_its_launches(on_context, dtype):
    x, number = T.TensorType(dtype, (False, False))("x"), T.TensorType(dtype, ())("n")
    states = recurrence(x, lambda s: ((s[::-1] - s.sum(axis=0)) % number).astype(dtype))
    f = function([x, number], states[-1], on_device=True)
    given = gpuarray.asarray(numbers(dtype, 3, 20), context=on_context)
    one, other = np.asarray(3, dtype), np.asarray(5, dtype)
    apart = np.asarray(f(given, other))
    chains_of(on_context, f, given, one)
    assert np.asarray(f(given, other)).tobytes() == apart.tobytes()
    assert np.asarray(f(given, one)).tobytes() != apart.tobytes()


def test_a_loop_with_a_stop_condition_has_chains_between_looks_at_it(on_context):
    x, most = T.fmatrix("x"), T.fscalar("most")

    def step(s, most):
        new = T.tanh(s - s.mean(axis=0)) + s * np.float32(1.01)
        return new, until(abs(new).max() > most)

    states, _ = scan(step, outputs_info=x, non_sequences=most, n_steps=ITERATIONS)
    f = function([x, most], [states[-1], states.shape[0]], on_device=True)
    given = gpuarray.asarray(numbers("float32", 5, 40), context=on_context)
    bounds = [np.float32(bound) for bound in (0.1, 10, 20, 35, 60, 1e9)]
    before = [[np.asarray(each) for each in f(given, bound)] for bound in bounds]
    assert len({int(count) for _, count in before}) > 4
    kernels = sum(on_context.cache_info())
    for _ in range(CALLS):
        f(given, bounds[-1])
    assert sum(on_context.cache_info()) > kernels
    for bound, (last, count) in zip(bounds, before, strict=True):
        result = f(given, bound)
        assert np.asarray(result[0]).tobytes() == last.tobytes()
        assert int(result[1]) == int(count)


def test_inputs_may_lie_elsewhere_at_each_call(on_context):
    """A chain is bound to addresses by arguments, offsets of views among them."""
    x = T.fmatrix("x")
    states = recurrence(x, lambda s: T.tanh(s - s.mean(axis=0)) + 0.5)
    f = function([x], states[-1])
    whole = gpuarray.asarray(numbers("float32", 60, 12), context=on_context)
    for start in range(CALLS):
        part = whole[start : start + 5]
        expected = np.asarray(part)
        value = f(part)
        if start % 11 == 0:
            for _ in range(ITERATIONS):
                expected = np.tanh(expected - expected.mean(axis=0)) + np.float32(0.5)
            np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-5)
    repeated = f(whole[3:8])
    np.testing.assert_array_equal(repeated, f(np.asarray(whole[3:8])))


def test_a_profile_shows_single_launches_of_a_chain(on_context):
    x = T.fmatrix("x")
    f = function([x], recurrence(x, lambda s: T.tanh(s - s.mean(axis=0)))[-1])
    given = gpuarray.asarray(numbers("float32", 5, 40), context=on_context)
    assert chains_of(on_context, f, given) == 1
    with gpuarray.profile(on_context) as seen:
        f(given)
    assert len(seen.spans) > ITERATIONS
