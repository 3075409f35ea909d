"""Parts of a join, which the steps that make them write into the joined array."""

import itertools

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, grad, scan

x, y, w = T.fmatrices("x", "y", "w")


@pytest.fixture
def on_context(context):
    with config.use(device=context.name, floatX="float32"):
        yield context


def numbers(*shape, seed=0):
    """Numbers of float32 in a range where all functions have values."""
    return np.random.default_rng(seed).uniform(0.1, 1, shape).astype("float32")


def compiled(inputs, outputs):
    return function(inputs, outputs, on_device=True, on_unused_input="ignore")


def launches(f, *arrays):
    """The results on the host, and the number of launches for them."""
    results = f(*(gpuarray.asarray(a, context=config.device) for a in arrays))
    results = results if isinstance(results, list) else [results]
    return [np.asarray(r) for r in results], f.info()["n_launches"]


WRITTEN_BY_ONE = {
    "rows": (lambda: T.join(0, T.exp(x), x * y), lambda a, b: [np.exp(a), a * b], 0),
    "columns": (lambda: T.join(1, T.exp(x), x * y), lambda a, b: [np.exp(a), a * b], 1),
    "three": (
        lambda: T.join(1, x - y, T.exp(x), x * y),
        lambda a, b: [a - b, np.exp(a), a * b],
        1,
    ),
}


@pytest.mark.parametrize("name", WRITTEN_BY_ONE)
def test_results_of_one_launch_are_written_into_the_join(on_context, name):
    make, parts, axis = WRITTEN_BY_ONE[name]
    f = compiled([x, y], make())
    for shape in ((3, 4), (1, 1), (5, 7), (4, 1)):
        a, b = numbers(*shape), numbers(*shape, seed=1)
        (value,), count = launches(f, a, b)
        assert count == 1
        np.testing.assert_allclose(value, np.concatenate(parts(a, b), axis), rtol=1e-6)


def test_parts_that_later_steps_make_have_their_places(on_context):
    """The second part needs a product of the first one's operand."""
    f = compiled([x, w], T.join(1, T.exp(x), T.tanh(T.dot(T.sqrt(x), w) + 1)))
    a, b = numbers(4, 3), numbers(3, 2)
    (value,), count = launches(f, a, b)
    expected = np.concatenate([np.exp(a), np.tanh(np.sqrt(a) @ b + 1)], 1)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    assert count <= 4


def test_a_part_that_is_no_result_of_a_launch_is_copied(on_context):
    f = compiled([x, y], T.join(0, T.exp(x), y, y[::-1]))
    a, b = numbers(2, 3), numbers(4, 3)
    (value,), count = launches(f, a, b)
    expected = np.concatenate([np.exp(a), b, b[::-1]])
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert count == 3


def test_a_part_that_is_read_elsewhere_keeps_its_memory(on_context):
    """A step that overwrites the part, as the sum does here, leaves the join alone."""
    part = T.exp(x)
    f = compiled([x, y], [T.join(0, part, x * y), part.T + 1, T.dot(part, y.T)])
    a, b = numbers(3, 3), numbers(3, 3, seed=1)
    (joined, turned, product), _ = launches(f, a, b)
    np.testing.assert_allclose(joined, np.concatenate([np.exp(a), a * b]), rtol=1e-6)
    np.testing.assert_allclose(turned, np.exp(a).T + 1, rtol=1e-6)
    np.testing.assert_allclose(product, np.exp(a) @ b.T, rtol=1e-5)


def test_a_part_twice_in_a_join_is_copied(on_context):
    part = T.exp(x)
    f = compiled([x], T.join(0, part, part))
    a = numbers(2, 3)
    (value,), _ = launches(f, a)
    np.testing.assert_allclose(value, np.concatenate([np.exp(a)] * 2), rtol=1e-6)


def test_a_part_of_two_joins_is_copied_into_one(on_context):
    """The first join's array is overwritten before the second one is there."""
    part, other = T.exp(x), x * y
    first = T.sqrt(T.join(0, other, part, part) + 1)
    second = T.join(0, part, T.tanh(T.dot(y, w)))
    f = compiled([x, y, w], [first, second])
    a, b, c = numbers(2, 3), numbers(2, 3, seed=1), numbers(3, 3, seed=2)
    values, count = launches(f, a, b, c)
    upper = np.sqrt(np.concatenate([a * b, np.exp(a), np.exp(a)]) + 1)
    np.testing.assert_allclose(values[0], upper, rtol=1e-6)
    np.testing.assert_allclose(
        values[1], np.concatenate([np.exp(a), np.tanh(b @ c)]), rtol=1e-5
    )
    assert count <= 6


def test_parts_of_other_shapes_are_refused(on_context):
    f = compiled([x, y], T.join(0, T.exp(x), T.exp(y)))
    with pytest.raises(ValueError, match="but for the length of axis 0"):
        f(numbers(2, 3), numbers(2, 4))
    (value,), _ = launches(f, numbers(2, 3), numbers(1, 3))
    assert value.shape == (3, 3)


@pytest.mark.parametrize("columns", [8, 12, 6, 3, 0])
@pytest.mark.parametrize("is_symbolic", [False, True])
def test_gradients_of_slices_are_written_once(on_context, columns, is_symbolic):
    """Also where slices end before the array does, and where it ends before them."""
    n = w.shape[0] if is_symbolic else 4
    left, right = x[:, :n], x[:, n : 2 * n]
    f = compiled([x, w], grad(T.exp(left).sum() + T.sqrt(right).sum(), x))
    a = numbers(5, columns)
    (value,), count = launches(f, a, np.zeros((4, 1), "float32"))
    expected = np.zeros_like(a)
    expected[:, :4] = np.exp(a[:, :4])
    expected[:, 4:8] = 0.5 / np.sqrt(a[:, 4:8])
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert count <= 3


OVERLAPPING = {
    "overlap": (slice(0, 5), slice(4, 8)),
    "gap": (slice(0, 3), slice(4, 8)),
    "from the end": (slice(0, 4), slice(-4, None)),
    "steps": (slice(0, None, 2), slice(1, None, 2)),
    "not from 0": (slice(1, 4), slice(4, None)),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_other_slices_add_up(on_context, name):
    one, other = OVERLAPPING[name]
    f = compiled([x], grad(T.exp(x[:, one]).sum() + T.sqrt(x[:, other]).sum(), x))
    a = numbers(3, 8)
    (value,), _ = launches(f, a)
    expected = np.zeros_like(a)
    expected[:, one] += np.exp(a[:, one])
    expected[:, other] += 0.5 / np.sqrt(a[:, other])
    np.testing.assert_allclose(value, expected, rtol=1e-6)


@pytest.mark.parametrize("columns", [4, 6])
def test_parts_that_fill_one_place_add_up(on_context, columns):
    """Two of the parts are added to one slice of the zeros."""
    zeros = T.zeros_like(x)
    one = T.inc_subtensor(zeros[:, :2], y[:, :2])
    two = T.inc_subtensor(one[:, :2], T.exp(y[:, 2:4]))
    f = compiled([x, y], T.inc_subtensor(two[:, 2:4], T.sqrt(y[:, :2])))
    a, b = numbers(3, columns), numbers(3, 4, seed=1)
    (value,), _ = launches(f, a, b)
    expected = np.zeros_like(a)
    expected[:, :2] = b[:, :2] + np.exp(b[:, 2:])
    expected[:, 2:4] = np.sqrt(b[:, :2])
    np.testing.assert_allclose(value, expected, rtol=1e-6)


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_the_order_of_slices_in_the_program_does_not_matter(on_context, order):
    """One launch for each part, each in its place."""
    functions, reference = (T.exp, T.sqrt, T.tanh), (np.exp, np.sqrt, np.tanh)
    bounds = [slice(0, 2), slice(2, 5), slice(5, None)]
    result = T.zeros_like(x)
    for i in order:
        result = T.inc_subtensor(result[:, bounds[i]], functions[i](x[:, bounds[i]]))
    f = compiled([x], result)
    a = numbers(3, 8)
    (value,), count = launches(f, a)
    expected = np.concatenate(
        [make(a[:, cut]) for make, cut in zip(reference, bounds, strict=True)], 1
    )
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert count == 3


def test_shapes_of_a_long_chain_of_products_are_not_looked_for_without_end(on_context):
    """The second part's shape is that of 60 products, each of a value with itself."""
    value = y
    for _ in range(60):
        value = T.dot(value, value)
    f = compiled([x, y], T.join(0, T.exp(x), T.tanh(value)))
    a, b = numbers(2, 2), np.eye(2, dtype="float32")
    (joined,), _ = launches(f, a, b)
    np.testing.assert_allclose(joined, np.concatenate([np.exp(a), np.tanh(b)]), 1e-6)


def gated(rows, state, weights):
    """The trace of a loop whose iterations cut a product into gates."""
    n = weights.shape[0]

    def step(row, h):
        sums = row + T.dot(h, weights)
        a, b, c = (sums[:, k * n : (k + 1) * n] for k in range(3))
        return T.nnet.sigmoid(a) * h + T.nnet.sigmoid(b) * T.tanh(c)

    return scan(step, sequences=[rows], outputs_info=[state])[0]


def test_the_gradient_of_gates_in_a_loop_is_written_into_its_trace(on_context):
    """An iteration back is a launch and a product, and the first one a copy more."""
    rows = T.ftensor3("rows")
    cost = (gated(rows, x, w) ** 2).sum()
    f = compiled([rows, x, w], grad(cost, [rows, x, w]))
    plain = function(
        [rows, x, w], grad(cost, [rows, x, w]), mode="FAST_COMPILE", on_device=True
    )
    weights = 0.3 * numbers(4, 12)
    counts = []
    for length in (5, 9):
        arrays = numbers(length, 3, 12), numbers(3, 4), weights
        values, count = launches(f, *arrays)
        counts.append(count)
        for value, expected in zip(values, plain(*arrays), strict=True):
            np.testing.assert_allclose(
                value, np.asarray(expected), rtol=2e-4, atol=1e-5
            )
    assert (counts[1] - counts[0]) / 4 <= 5  # two forward, two back


def gru(rows, state, weights):
    """The trace of a GRU, whose gates are cut of a sum of slices."""
    n = weights.shape[1] // 3

    def step(row, h):
        by_state = T.dot(h, weights)
        sums = by_state[:, : 2 * n] + row[:, : 2 * n]
        r, z = (T.nnet.sigmoid(sums[:, k * n : (k + 1) * n]) for k in range(2))
        new = T.tanh(row[:, 2 * n :] + r * by_state[:, 2 * n :])
        return (1 - z) * new + z * h

    return scan(step, sequences=[rows], outputs_info=[state])[0]


def gru_by_numpy(rows, state, weights):
    """The same, iteration by iteration."""
    n, trace = weights.shape[1] // 3, []
    for row in rows:
        by_state = state @ weights
        sums = by_state[:, : 2 * n] + row[:, : 2 * n]
        r, z = (1 / (1 + np.exp(-sums[:, k * n : (k + 1) * n])) for k in range(2))
        new = np.tanh(row[:, 2 * n :] + r * by_state[:, 2 * n :])
        state = (1 - z) * new + z * state
        trace.append(state)
    return np.stack(trace)


def test_an_iteration_of_a_gru_is_a_product_and_a_launch(on_context):
    rows = T.ftensor3("rows")
    f = compiled([rows, x, w], gru(rows, x, w))
    counts = []
    for length in (5, 9):
        arrays = numbers(length, 3, 12), numbers(3, 4), 0.3 * numbers(4, 12)
        (values,), count = launches(f, *arrays)
        counts.append(count)
        np.testing.assert_allclose(values, gru_by_numpy(*arrays), rtol=1e-5)
    assert (counts[1] - counts[0]) / 4 <= 2


def test_the_gradient_of_a_gru_joins_what_its_gates_give(on_context):
    """An iteration back: a launch, a product, a sum, copies of what both joins have."""
    rows = T.ftensor3("rows")
    cost = (gru(rows, x, w) ** 2).sum()
    slopes = grad(cost, [rows, x, w])
    f = compiled([rows, x, w], slopes)
    plain = function([rows, x, w], slopes, mode="FAST_COMPILE", on_device=True)
    counts = []
    for length in (5, 9):
        arrays = numbers(length, 3, 12), numbers(3, 4), 0.3 * numbers(4, 12)
        values, count = launches(f, *arrays)
        counts.append(count)
        for value, expected in zip(values, plain(*arrays), strict=True):
            np.testing.assert_allclose(
                value, np.asarray(expected), rtol=2e-4, atol=1e-5
            )
    assert (counts[1] - counts[0]) / 4 <= 6
