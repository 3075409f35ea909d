"""States of loops that an iteration overwrites in place."""

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, printing, scan, shared
from gpuarray.compiler.scan_module import until
from loops import loop_nodes

N, COUNT = 6, 5
ROWS = np.random.default_rng(7).uniform(-1, 1, (COUNT, N)).astype("float32")
MATRICES = np.random.default_rng(8).uniform(-1, 1, (COUNT, N, N)).astype("float32")


def overwritten(f):
    """The inputs that steps of the bodies of a function's loops overwrite."""
    return [
        node.inputs[index]
        for loop in loop_nodes(f)
        for node in loop.op.placed_body.toposort()
        for indices in node.op.destroy_map.values()
        for index in indices
        if node.inputs[index] in loop.op.placed_body.inputs
    ]


@pytest.fixture
def floats(context):
    with config.use(device=context.name, floatX="float32"):
        yield context


def element(value, i, table):
    return T.set_subtensor(table[i], value)


def element_by_numpy(table, values, first=0):
    table = table.copy()
    for i, value in enumerate(values):
        table[first + i] = value
    return table


def test_an_element_of_a_state_is_set_in_place(floats):
    values, table = T.vector("values"), T.vector("table")
    traces, _ = scan(element, [values, T.arange(values.shape[0])], table)
    f = function([values, table], traces[-1])
    assert len(overwritten(f)) == 1
    start = gpuarray.asarray(ROWS[0], context=floats)
    for count in (1, 4):
        got = f(ROWS[1][:count], start)
        np.testing.assert_array_equal(got, element_by_numpy(ROWS[0], ROWS[1][:count]))
        np.testing.assert_array_equal(start, ROWS[0])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_initial_value_stays_what_it_was(floats, count):
    """An input, a constant, a shared variable, and one that is read after the loop."""
    x, n = T.vector("x"), T.iscalar("n")
    stored = shared(ROWS[1], "stored")
    fixed = T.constant(ROWS[2])
    computed = x * 2

    def body(i, *states):
        return [T.inc_subtensor(s[i], 1) for s in states]

    starts = [x, stored, fixed, computed]
    traces, _ = scan(body, [T.arange(n)], starts, return_list=True)
    finals = [
        T.concatenate([s[None], t])[-1] for s, t in zip(starts, traces, strict=True)
    ]
    f = function([x, n], [*finals, computed.sum(), (computed * 3)])
    for _ in range(2):
        *got, total, rest = f(ROWS[0], count)
        for result, start in zip(
            got, (ROWS[0], ROWS[1], ROWS[2], ROWS[0] * 2), strict=True
        ):
            wanted = start.copy()
            wanted[:count] += 1
            np.testing.assert_allclose(result, wanted, rtol=1e-6)
        np.testing.assert_allclose(total, 2 * ROWS[0].sum(), rtol=1e-5)
        np.testing.assert_allclose(rest, 6 * ROWS[0], rtol=1e-6)
        np.testing.assert_array_equal(stored.get_value(), ROWS[1])


def test_one_initial_value_of_two_states(floats):
    x = T.vector("x")
    (a, b), _ = scan(
        lambda i, a, b: [T.inc_subtensor(a[i], 1), T.inc_subtensor(b[i], 2)],
        [T.arange(COUNT)],
        [x, x],
    )
    f = function([x], [a[-1], b[-1]])
    assert len(overwritten(f)) == 2
    wanted = ROWS[0].copy()
    wanted[:COUNT] += 1
    got = f(ROWS[0])
    np.testing.assert_allclose(got[0], wanted, rtol=1e-6)
    wanted[:COUNT] += 1
    np.testing.assert_allclose(got[1], wanted, rtol=1e-6)


def test_states_that_change_places(floats):
    """A state that becomes another one is not overwritten before it is read."""
    x, y = T.vector("x"), T.vector("y")
    (a, b), _ = scan(
        lambda i, a, b: [b, T.inc_subtensor(a[i], b[i])], [T.arange(COUNT)], [x, y]
    )
    f = function([x, y], [a[-1], b[-1]])
    first, second = ROWS[0].copy(), ROWS[1].copy()
    for i in range(COUNT):
        added = first.copy()
        added[i] += second[i]
        first, second = second, added
    got = f(ROWS[0], ROWS[1])
    np.testing.assert_allclose(got[0], first, rtol=1e-6)
    np.testing.assert_allclose(got[1], second, rtol=1e-6)


def test_two_states_with_one_next_value(floats):
    """Both are in the memory of one; overwriting it leaves the other as it was."""
    x, y = T.vector("x"), T.vector("y")

    def body(i, a, b):
        after = T.inc_subtensor(a[i], 1)
        return [after, after, T.dot(after, after) + T.dot(b, b)]

    (a, b, sums), _ = scan(body, [T.arange(COUNT)], [x, y, None])
    f = function([x, y], [a[-1], b[-1], sums])
    assert len(overwritten(f)) == 1
    first, second, wanted = ROWS[0].copy(), ROWS[1].copy(), []
    for i in range(COUNT):
        after = first.copy()
        after[i] += 1
        wanted.append(after @ after + second @ second)
        first = second = after
    got = f(ROWS[0], ROWS[1])
    np.testing.assert_allclose(got[0], first, rtol=1e-6)
    np.testing.assert_allclose(got[1], second, rtol=1e-6)
    np.testing.assert_allclose(got[2], wanted, rtol=1e-5)


def test_a_state_whose_iterations_are_all_read(floats):
    x = T.vector("x")
    traces, _ = scan(lambda i, s: T.inc_subtensor(s[i], 1), [T.arange(COUNT)], x)
    f = function([x], traces)
    steps = np.tril(np.ones((COUNT, N), "float32"))
    np.testing.assert_allclose(f(ROWS[0]), ROWS[0] + steps, rtol=1e-6)


def test_a_state_that_is_read_before_and_after_it_is_overwritten(floats):
    x = T.vector("x")

    def body(i, s):
        after = T.inc_subtensor(s[i], 1)
        return [after, s.sum(), after.sum()]

    (last, before, after), _ = scan(body, [T.arange(COUNT)], [x, None, None])
    f = function([x], [last[-1], before, after])
    final, sums, others = f(ROWS[0])
    counts = np.arange(COUNT)
    np.testing.assert_allclose(sums, ROWS[0].sum() + counts, rtol=1e-4)
    np.testing.assert_allclose(others, ROWS[0].sum() + counts + 1, rtol=1e-4)
    np.testing.assert_allclose(final.sum(), ROWS[0].sum() + COUNT, rtol=1e-4)


def test_products_add_to_a_state_in_place(floats):
    a, start = T.tensor3("a"), T.matrix("start")
    traces, _ = scan(lambda m, s: s + T.dot(m, m.T), a, start)
    f = function([a, start], traces[-1])
    assert len(overwritten(f)) == 1
    wanted = MATRICES[0] + sum(m @ m.T for m in MATRICES)
    np.testing.assert_allclose(f(MATRICES, MATRICES[0]), wanted, rtol=1e-4)


def test_a_state_under_a_condition(floats):
    """After the iteration that ends the loop nothing is overwritten."""
    x, most = T.vector("x"), T.scalar("most")

    def body(i, s, most):
        after = T.inc_subtensor(s[i % N], 1)
        return after, until(after.sum() > most)

    traces, _ = scan(body, [T.arange(60)], x, [most])
    f = function([x, most], traces[-1])
    for count in (1, 7, 16, 33, 60):
        wanted = np.zeros(N, "float32")
        for i in range(count):
            wanted[i % N] += 1
        np.testing.assert_array_equal(f(np.zeros(N, "float32"), count - 0.5), wanted)


def test_nested_loops_overwrite_their_own_copy(floats):
    x = T.vector("x")

    def inner(i, s):
        return T.inc_subtensor(s[i], 1)

    def outer(row, s):
        swept, _ = scan(inner, [T.arange(N)], s + row)
        again, _ = scan(inner, [T.arange(N)], s)
        return [T.inc_subtensor(again[-1][0], swept[-1].sum())]

    rows = T.matrix("rows")
    traces, _ = scan(outer, [rows], x)
    f = function([rows, x], traces[-1])
    wanted = ROWS[0].astype("float64")
    for row in ROWS:
        total = (wanted + row + 1).sum()
        wanted = wanted + 1
        wanted[0] += total
    np.testing.assert_allclose(f(ROWS, ROWS[0]), wanted, rtol=1e-3)


def test_a_file_keeps_the_initial_value(floats, tmp_path):
    values, table = T.vector("values"), T.vector("table")
    traces, _ = scan(element, [values, T.arange(values.shape[0])], table)
    f = function([values, table], traces[-1])
    f(ROWS[0], ROWS[1])
    f.save(tmp_path / "f.plan")
    g = gpuarray.load_function(tmp_path / "f.plan", floats)
    start = gpuarray.zeros(9, "float32", context=floats)
    got = g(ROWS[0][:4], start)
    np.testing.assert_array_equal(got, element_by_numpy(np.zeros(9), ROWS[0][:4]))
    np.testing.assert_array_equal(start, np.zeros(9))


def test_an_index_out_of_range_names_its_iteration(floats):
    values, table = T.vector("values"), T.vector("table")
    places = T.lvector("places")
    traces, _ = scan(element, [values, places], table)
    f = function([values, places, table], traces[-1])
    start = gpuarray.asarray(ROWS[1], context=floats)
    with pytest.raises(IndexError) as caught:
        f(ROWS[0][:4], [0, 2, N, 1], start)
    assert "in iteration 2 of" in "\n".join(caught.value.__notes__)
    np.testing.assert_array_equal(start, ROWS[1])


@pytest.mark.parametrize("mode", ["DebugMode", None])
@pytest.mark.parametrize("pauses", [False, True])
def test_other_ways_to_run_keep_the_initial_value(floats, mode, pauses):
    values, table = T.vector("values"), T.vector("table")
    seen = []
    shown = printing.Print("value", global_fn=lambda op, x: seen.append(float(x)))

    def body(value, i, table):
        return element(shown(value) if pauses else value, i, table)

    traces, _ = scan(body, [values, T.arange(values.shape[0])], table)
    f = function([values, table], traces[-1], mode=mode)
    assert len(overwritten(f)) == 1
    start = gpuarray.asarray(ROWS[1], context=floats)
    np.testing.assert_array_equal(f(ROWS[0], start), ROWS[0])
    np.testing.assert_array_equal(start, ROWS[1])
    assert bool(seen) == pauses
