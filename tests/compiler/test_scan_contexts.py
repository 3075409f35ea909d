"""Loops whose bodies name several contexts: steps of the plan, run by the library."""

import gc

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, grad, scan, shared
from gpuarray.compiler.debug.mode import DebugMode
from gpuarray.compiler.ifelse import ifelse
from gpuarray.compiler.plan import TransferStep
from gpuarray.compiler.plan_stages import is_whole
from gpuarray.compiler.scan_module import until
from loops import by_turns, loop_steps, numbers
from two_contexts import named, two_devices, two_of_one_device

U, V = numbers(3, 3), numbers(3, 3, seed=1)
ROWS, START = numbers(5, 3, seed=2), numbers(3, seed=3)


@pytest.fixture(params=[two_devices, two_of_one_device], ids=["devices", "contexts"])
def two(request):
    """Two contexts as dev0 and dev1; the first is the default one."""
    with named(request.param()) as found:
        yield found


def weights(places):
    return [shared(U, target=places[0]), shared(V, target=places[1])]


def there_and_back(row, state, u, v, places):
    """The next state, of which a part is computed on the other context."""
    moved = T.tanh(T.dot(state, u) + row).transfer(places[1])
    return T.tanh(T.dot(moved, v)).transfer(places[0])


def by_numpy(row, state):
    return np.tanh(np.tanh(state @ U + row) @ V)


def loops_of(f):
    """The loops of a function by the host; nothing of it returns to Python."""
    assert is_whole(f.plan)
    return [step for step in loop_steps(f) if step.by_host]


def test_gradients_through_until_are_those_of_one_context(two):
    x, most = T.dmatrix("x"), T.dscalar("most")
    found = []
    for places in (["dev0", "dev1"], ["dev0", "dev0"]):
        u, v = weights(places)

        def turn(row, state, u, v, most, places=places):
            state = there_and_back(row, state, u, v, places)
            return (state, state * row.sum()), until(abs(state).max() > most)

        start = T.constant(START)
        (states, others), _ = scan(turn, x, [start, None], [u, v, most])
        cost = (states**2).sum() + others[-1].sum()
        f = function([x, most], [states, others, *grad(cost, [x, u, v])])
        assert len(loops_of(f)) == (2 if places[1] == "dev1" else 0)
        found.append([f(ROWS, limit) for limit in (0.0, 0.5, 9.0)])
    lengths = [len(states) for states, *_ in found[0]]
    assert lengths[0] == 1 and lengths[2] == 5
    for spread, alone in zip(*found, strict=True):
        for a, b in zip(spread, alone, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)
    (want,) = by_turns(lambda r, s: [by_numpy(r, s)], [ROWS], [START])
    np.testing.assert_allclose(found[0][2][0], want, rtol=1e-10)


def test_taps_updates_and_a_branch(two):
    x, side = T.dmatrix("x"), T.dscalar("side")
    u, v = weights(["dev0", "dev1"])
    count = shared(np.zeros(()), "count", target="dev0")

    def turn(row, before, last, u, v, side):
        state = there_and_back(row, last, u, v, ["dev0", "dev1"]) + before
        state = ifelse(T.gt(side * state.sum(), 0), state, row - state)
        return state, {count: count + side}

    first = T.constant(np.stack([START, START[::-1]]))
    states, updates = scan(turn, x, {"initial": first, "taps": [-2, -1]}, [u, v, side])
    f = function([x, side], states, updates=updates)
    (loop,) = loops_of(f)
    assert "by the host" in loop.detail()
    expected = 0.0
    for given, rows in ((1.0, ROWS), (-1.0, ROWS[:2]), (1.0, ROWS[:0])):
        past = [START, START[::-1]]
        for row in rows:
            state = by_numpy(row, past[-1]) + past[-2]
            past.append(state if given * state.sum() > 0 else row - state)
        want = np.array(past[2:]).reshape(len(rows), 3)
        np.testing.assert_allclose(f(rows, given), want, rtol=1e-10)
        expected += given * len(rows)
        assert count.get_value() == expected


def test_loops_within_loops(two):
    x = T.dmatrix("x")
    u, v = weights(["dev0", "dev1"])

    def outer(row, state, u, v):
        steps, _ = scan(
            lambda state, row, u, v: there_and_back(row, state, u, v, ["dev0", "dev1"]),
            outputs_info=state,
            non_sequences=[row, u, v],
            n_steps=3,
        )
        return steps[-1] * 2

    states, _ = scan(outer, x, T.constant(START), [u, v])
    f = function([x], [states, grad(states.sum(), x)])
    assert loops_of(f)
    state, want = START, []
    for row in ROWS:
        for _ in range(3):
            state = by_numpy(row, state)
        state = state * 2
        want.append(state)
    found, slope = f(ROWS)
    np.testing.assert_allclose(found, want, rtol=1e-10)
    moved = ROWS.copy()
    moved[2, 1] += 1e-6
    difference = (f(moved)[0].sum() - found.sum()) / 1e-6
    np.testing.assert_allclose(slope[2, 1], difference, rtol=1e-4)


def test_an_error_names_the_iteration_and_leaves_all_as_it_was(two):
    table, w = shared(V, "table", target="dev1"), shared(U, "w", target="dev0")
    places = T.lvector("places")

    def turn(i, state, table):
        picked = table[i].transfer("dev0")
        return T.inc_subtensor(state[0], picked[1])

    states, _ = scan(turn, places, T.constant(START), table, name="gathered")
    updates = [(w, w * 2), (table, table + 1)]
    f = function([places], states, updates=updates)
    assert loops_of(f)
    want = START + np.outer(V[[0, 2, 1], 1].cumsum(), [1, 0, 0])
    np.testing.assert_allclose(f([0, 2, 1]), want)
    for _ in range(2):
        with pytest.raises(IndexError, match="out of bounds") as caught:
            f([0, 2, 7, 1])
        text = "\n".join(caught.value.__notes__)
        assert "table[i].transfer" in text and "in iteration 2 of gathered" in text
        np.testing.assert_array_equal(w.get_value(), U * 2)
        np.testing.assert_array_equal(table.get_value(), V + 1)
    f([0])
    np.testing.assert_array_equal(w.get_value(), U * 4)


def test_an_index_of_what_was_brought_over(two):
    places, rows = T.lvector("places"), T.dmatrix("rows")
    states, _ = scan(
        lambda i, state, rows: state + T.exp(rows.transfer("dev1")[i]).transfer("cpu"),
        places,
        T.constant(START),
        rows,
    )
    f = function([places, rows], states)
    want = START + np.exp(ROWS[[0, 2, 2]]).cumsum(0)
    np.testing.assert_allclose(f([0, 2, 2], ROWS), want)


def test_a_loop_is_where_its_states_are(two):
    """Constants of other contexts stay there, and nothing goes to and fro for them."""
    x = T.dmatrix("x")
    w = shared(START, "w", target="dev1")
    states, _ = scan(
        lambda row, state, w: state + T.exp(row.transfer("dev1") * w).transfer("dev0"),
        x,
        T.zeros((3,), "float64"),
        w,
    )
    f = function([x], [states, grad(states.sum(), x)])
    loop, back = loop_steps(f)
    for step in (loop, back):
        copies = [s for s in step.body.plan.steps if isinstance(s, TransferStep)]
        assert step.place is None and len(copies) <= 2
    want = np.exp(ROWS * START).cumsum(0)
    np.testing.assert_allclose(f(ROWS)[0], want)


def test_what_is_given_to_a_loop_may_be_on_a_context(two):
    x, v = T.dmatrix("x"), T.dmatrix("v")
    there = v.transfer("dev1")

    def outer(row, state):
        moved = (row * 2).transfer("dev1")
        steps, _ = scan(
            lambda s: T.tanh(T.dot(s, there)) + moved, None, state, n_steps=2
        )
        return steps[-1]

    states, _ = scan(outer, x.transfer("dev1"), T.constant(START))
    f = function([x, v], states)
    state, want = START, []
    for row in ROWS:
        for _ in range(2):
            state = np.tanh(state @ V) + 2 * row
        want.append(state)
    np.testing.assert_allclose(f(ROWS, V), want, rtol=1e-10)


def test_modes_look_into_the_iterations(two):
    x = T.dmatrix("x")
    u, v = weights(["dev0", "dev1"])
    (want,) = by_turns(lambda r, s: [by_numpy(r, s)], [ROWS], [START])
    states, _ = scan(
        lambda row, state, u, v: there_and_back(row, state, u, v, ["dev0", "dev1"]),
        x,
        T.constant(START),
        [u, v],
    )
    debugged = function([x], states, mode=DebugMode())
    np.testing.assert_allclose(debugged(ROWS), want, rtol=1e-10)
    profiled = function([x], states, profile=True)
    np.testing.assert_allclose(profiled(ROWS), want, rtol=1e-10)
    (loop,) = profiled.profile.loops.values()
    assert loop.iterations == 5 and loop.calls == 1
    names = [str(node.op) for node in loop.seconds]
    assert sum(name.startswith("GpuToGpu") for name in names) == 2
    assert all(loop.commands[node] % 5 == 0 for node in loop.seconds), loop.commands
    printed = theano.printing.debugprint(profiled, file="str")
    assert "GpuToGpu<dev1>" in printed and "for{scan_fn}" in printed


def test_iterations_share_memory_and_bindings(two):
    x, n = T.dvector("x"), T.iscalar("n")
    state, _ = scan(
        lambda state: T.exp(-state.transfer("dev1")).transfer("dev0"),
        outputs_info=x,
        n_steps=n,
    )
    f = function([x, n], state[-1], on_device=True)
    assert loops_of(f)
    given = np.linspace(0, 1, 1000)
    bound, used = [], []
    for count in (3, 3, 300):
        gc.collect()
        f(given, count).sync()
        bound.append(f.info()["n_binds"])
        used.append([context.memory_info().peak for context in two])
    assert bound[2] <= bound[1] + 1  # of the lengths outside of the loop
    assert used[2] == used[1], used
