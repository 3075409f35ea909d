"""Loops as compiled functions have them: plans, files, copies, modes and rewrites."""

import copy
import pickle
from functools import cache

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan
from gpuarray.compiler.ops.scan.scan import Scan
from gpuarray.compiler.plan_steps import LoopStep
from loops import by_turns, numbers

pytestmark = pytest.mark.usefixtures("on_context")


@pytest.fixture
def on_context(context):
    with config.use(floatX="float64", device=context.name):
        yield context


def loops(f):
    """The loops of a compiled function."""
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, Scan)]


def steps(f):
    """The loop steps of its plan."""
    return [step for step in f.plan.steps if isinstance(step, LoopStep)]


# ---- as every other operation ----


def recurrent():
    """The inputs and the states of a small network, and arrays for the inputs."""
    x, start, w = T.dmatrix("x"), T.dvector("start"), T.dmatrix("w")
    out, _ = scan(
        lambda row, s, w: T.tanh(row + T.dot(s, w)),
        sequences=x,
        outputs_info=start,
        non_sequences=w,
        name="network",
    )
    arrays = numbers(5, 3), numbers(3, seed=1), numbers(3, 3, seed=2)
    want = by_turns(
        lambda r, s, w: [np.tanh(r + s @ w)], [arrays[0]], [arrays[1]], [arrays[2]]
    )
    return [x, start, w], out, arrays, want[0]


def test_a_loop_is_one_step_of_a_plan():
    inputs, out, arrays, want = recurrent()
    f = function(inputs, out)
    (step,) = steps(f)
    assert step.label == "network"
    assert "network" in str(f.plan)
    np.testing.assert_allclose(f(*arrays), want, rtol=1e-12)


def test_loops_are_pickled_and_copied():
    inputs, out, arrays, want = recurrent()
    f = pickle.loads(pickle.dumps(function(inputs, out)))
    np.testing.assert_allclose(f(*arrays), want, rtol=1e-12)
    np.testing.assert_allclose(f.copy()(*arrays), want, rtol=1e-12)
    inputs, out = pickle.loads(pickle.dumps((inputs, out)))
    np.testing.assert_allclose(function(inputs, out)(*arrays), want, rtol=1e-12)


def counting():
    """A function whose loop reads and updates shared variables; other weights."""
    x, start = T.dmatrix("x"), T.dvector("start")
    w = theano.shared(numbers(3, 3, seed=2), "w")
    other = theano.shared(numbers(3, 3, seed=3), "other")
    count = theano.shared(0.0, "count")
    out, updates = scan(
        lambda row, s: (T.tanh(row + T.dot(s, w)), {count: count + 1}), x, start
    )
    return function([x, start], out, updates=updates), w, other, count


def test_copies_of_a_function_with_a_loop_swap_share_and_drop_updates():
    f, w, other, count = counting()
    given = numbers(5, 3), numbers(3, seed=1)

    def wanted(weights):
        values = weights.get_value()
        turn = lambda r, s: [np.tanh(r + s @ values)]  # noqa: E731
        return by_turns(turn, [given[0]], [given[1]])[0]

    np.testing.assert_allclose(f(*given), wanted(w), rtol=1e-12)
    swapped = f.copy(swap={w: other})
    np.testing.assert_allclose(swapped(*given), wanted(other), rtol=1e-12)
    np.testing.assert_allclose(f(*given), wanted(w), rtol=1e-12)
    assert count.get_value() == 15
    f.copy(delete_updates=True)(*given)
    assert count.get_value() == 15
    again = pickle.loads(pickle.dumps(swapped))
    np.testing.assert_allclose(again(*given), wanted(other), rtol=1e-12)
    np.testing.assert_allclose(copy.deepcopy(f)(*given), wanted(w), rtol=1e-12)


def test_a_copy_of_a_function_with_a_loop_is_saved(tmp_path):
    f, w, other, _ = counting()
    swapped = f.copy(swap={w: other})
    given = numbers(5, 3), numbers(3, seed=1)
    swapped.save(tmp_path / "swapped.plan")
    np.testing.assert_array_equal(
        theano.load(tmp_path / "swapped.plan")(*given), swapped(*given)
    )


def test_an_op_of_a_loop_equals_its_pickle_and_a_loop_of_the_same_body():
    (_, out, _, _), (_, same, _, _) = recurrent(), recurrent()
    op = out.owner.op
    again = pickle.loads(pickle.dumps(op))
    assert op == again == same.owner.op
    assert hash(op) == hash(again) == hash(same.owner.op)


def test_a_profiled_function_with_a_loop_is_pickled():
    inputs, out, arrays, want = recurrent()
    f = pickle.loads(pickle.dumps(function(inputs, out, profile=theano.ProfileStats())))
    np.testing.assert_allclose(f(*arrays), want, rtol=1e-12)
    (loop,) = f.profile.loops.values()
    assert loop.iterations == 5 and loop.seconds


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "DebugMode", "NanGuardMode"])
def test_loops_in_modes(mode):
    inputs, out, arrays, want = recurrent()
    f = function(inputs, out, mode=mode)
    np.testing.assert_allclose(f(*arrays), want, rtol=1e-12)


def test_a_loop_without_rewrites():
    inputs, out, arrays, want = recurrent()
    with config.use(rewrites="none"):
        f = function(inputs, [out, out[-1]])
    got = f(*arrays)
    np.testing.assert_allclose(got[0], want, rtol=1e-12)
    np.testing.assert_allclose(got[1], want[-1], rtol=1e-12)


# ---- rewrites ----


def test_a_final_state_costs_no_trace():
    inputs, out, arrays, want = recurrent()
    f = function(inputs, out[-1])
    (step,) = steps(f)
    assert len(step.outs) == 1
    np.testing.assert_allclose(f(*arrays), want[-1], rtol=1e-12)


def test_a_final_state_of_a_loop_that_stops_costs_no_trace_and_no_reading():
    a = T.dvector("a")

    def step(x, a):
        new = 0.5 * (x + a / x)
        return new, theano.scan_module.until(abs(new - x).max() < 1e-12)

    out, _ = scan(step, outputs_info=T.ones_like(a), non_sequences=a, n_steps=64)
    f = function([a], out[-1])
    kinds = [type(step).__name__ for step in f.plan.steps]
    assert "Read" not in kinds
    assert [f.plan.array(n).ndim for n in steps(f)[0].outs if n in f.plan.outputs] == [
        1
    ]
    np.testing.assert_allclose(f([2, 9, 100]), np.sqrt([2, 9, 100]), rtol=1e-15)
    turns = function([a], [out.shape[0], out[-1]])
    assert turns([2, 9, 100])[0] == 9


def normalised(a, n, most):
    """Powers of a matrix with their sums as unit, until they move no more."""
    rows = []
    for _ in range(n):
        new = a @ a + 0.1 * a.T
        new = new / abs(new).sum()
        rows.append(new)
        if abs(new - a).max() < most:
            break
        a = new
    return np.array(rows)


@cache
def powers_on(device):
    """Such a loop; it is no kernel."""
    a, n, most = T.dmatrix("a"), T.iscalar("n"), T.dscalar("most")

    def step(s, most):
        new = T.dot(s, s) + 0.1 * s.T
        new = new / abs(new).sum()
        return new, theano.scan_module.until(abs(new - s).max() < most)

    out, _ = scan(step, outputs_info=a, non_sequences=most, n_steps=n)
    with config.use(floatX="float64", device=device):
        return function([a, n, most], [out, out[-1]])


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 256, 257, 300])
@pytest.mark.parametrize("most", [1e9, 1e-2, 1e-6, 1e-13, 0.0])
def test_blocks_of_a_loop_end_with_the_loop(context, n, most):
    """A loop that is no kernel looks at its condition once every 16 iterations."""
    a = np.abs(np.random.default_rng(0).normal(size=(4, 4)))
    want = normalised(a, n, most)
    found, last = powers_on(context.name)(a, n, most)
    np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(last, want[-1], rtol=1e-9, atol=1e-13)


def test_iterations_after_the_end_are_not_launched(context):
    powers = powers_on(context.name)
    a = np.abs(np.random.default_rng(0).normal(size=(4, 4)))
    counts = []
    for n in (64, 4096):
        powers(a, n, 1e-2)
        with gpuarray.profile(context) as seen:
            found, _ = powers(a, n, 1e-2)
        assert len(found) < 16
        counts.append(sum(span.kind != "read" for span in seen.spans))
    assert counts[0] == counts[1]


def test_a_loop_that_ends_within_another_one():
    """Each row of starts goes on until it is large, at most for 40 iterations."""
    starts, w = T.dmatrix("starts"), T.dmatrix("w")

    def grow(s, w):
        new = T.dot(s, w) + s[::-1]
        return new, theano.scan_module.until(new.sum() > 1000)

    def outer(start, total, w):
        out, _ = scan(grow, outputs_info=start, non_sequences=w, n_steps=40)
        return total + out[-1]

    totals, _ = scan(
        outer, sequences=starts, outputs_info=T.zeros((3,)), non_sequences=w
    )
    f = function([starts, w], totals)
    rng = np.random.default_rng(1)
    begin, weights = rng.uniform(0, 1, (20, 3)), rng.uniform(0, 0.1, (3, 3))
    want, total = [], np.zeros(3)
    for s in begin:
        state = s
        for _ in range(40):
            state = state @ weights + state[::-1]
            if state.sum() > 1000:
                break
        total = total + state
        want.append(total)
    np.testing.assert_allclose(f(begin, weights), want, rtol=1e-10)


def test_the_last_row_of_no_turns_is_an_index_error():
    inputs, out, arrays, _ = recurrent()
    f = function(inputs, out[-1])
    with pytest.raises(IndexError):
        f(arrays[0][:0], *arrays[1:])


def test_a_loop_of_one_turn_is_no_loop():
    x = T.dvector("x")
    out, _ = scan(lambda s: s * 2, outputs_info=x, n_steps=1)
    f = function([x], out)
    assert not loops(f)
    assert f([1, 2]).tolist() == [[2, 4]]


def test_what_is_the_same_in_all_turns_is_done_before():
    x, w = T.dmatrix("x"), T.dmatrix("w")
    out, _ = scan(lambda row, s, w: T.tanh(row + s + T.exp(w).sum(0)), x, x[0], w)
    f = function([x, w], out)
    (step,) = steps(f)
    assert len(step.body.plan.steps) == 1
    given = numbers(5, 3), numbers(2, 3, seed=1)
    (want,) = by_turns(
        lambda r, s, w: [np.tanh(r + s + np.exp(w).sum(0))],
        [given[0]],
        [given[0][0]],
        [given[1]],
    )
    np.testing.assert_allclose(f(*given), want, rtol=1e-12)


def test_unused_states_and_results_go():
    x, a, b = T.dmatrix("x"), T.dvector("a"), T.dvector("b")
    (p, *_), _ = scan(lambda row, s, t: [s + row, t * 2, row * 3], x, [a, b, None])
    f = function([x, a, b], p, on_unused_input="ignore")
    (step,) = steps(f)
    assert step.takes == "raf" and len(step.outs) == 3  # a state, its factor, a trace
    given = numbers(5, 3), numbers(3), numbers(3)
    np.testing.assert_allclose(f(*given), given[1] + given[0].cumsum(0), rtol=1e-12)


# ---- files ----


def test_a_loop_runs_from_a_file_at_other_lengths(tmp_path):
    inputs, out, arrays, _ = recurrent()
    path = tmp_path / "network.plan"
    f = function(inputs, [out, out[-1]])
    f(*arrays)
    f.save(path, graph=False)
    g = theano.load(path)
    for length in (5, 1, 8):
        given = numbers(length, 3, seed=length), *arrays[1:]
        for got, want in zip(g(*given), f(*given), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_gradient_with_functions_in_its_turns_runs_from_a_file(tmp_path):
    x, places, w = T.dmatrix("x"), T.lvector("places"), T.dmatrix("w")
    out, _ = scan(
        lambda row, i, s, w: T.nnet.softmax(s + row + w[i]),
        sequences=[x, places],
        outputs_info=x[0],
        non_sequences=w,
    )
    inputs = [x, places, w]
    f = function(inputs, [out, theano.grad((out**2).sum(), w)])
    path = tmp_path / "rows.plan"
    f.save(path, graph=False)
    g = theano.load(path)
    for length in (4, 6):
        given = numbers(length, 3), np.arange(length) % 3, numbers(3, 3, seed=2)
        for got, want in zip(g(*given), f(*given), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10)


def test_an_index_that_a_turn_computes_is_gathered():
    a, places = T.dmatrix("a"), T.lvector("places")
    out, _ = scan(lambda i: a[i] * a[i, 1], sequences=places)
    added, _ = scan(
        lambda i, s: T.inc_subtensor(s[i], 1.0),
        sequences=places,
        outputs_info=T.zeros_like(a[0]),
    )
    f = function([a, places], [out, added[-1]])
    given, at = numbers(4, 3), np.array([2, 0, -1, 2])
    got, counts = f(given, at % 3)
    np.testing.assert_allclose(got, given[at % 3] * given[at % 3, 1:2])
    assert counts.tolist() == [1, 0, 3]
    np.testing.assert_allclose(f(given, at)[0], given[at] * given[at, 1:2])


def bodies(f):
    """The steps of the bodies of a function's loops."""
    return [step.body.plan.steps for step in steps(f)]


def test_products_with_a_sequence_are_one_before_the_loop():
    x, s, u, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("u"), T.dmatrix("w")
    out, _ = scan(
        lambda row, s, u, w: T.tanh(T.dot(row, u) + T.dot(s, w)), x, s, [u, w]
    )
    f = function([x, s, u, w], out)
    (turn,) = bodies(f)
    assert [step.label for step in turn] == ["gemv", "tanh"]
    given = numbers(5, 3), numbers(3, seed=1), numbers(3, 3, seed=2), numbers(3, 3)
    (want,) = by_turns(
        lambda r, s, u, w: [np.tanh(r @ u + s @ w)], [given[0]], [given[1]], given[2:]
    )
    np.testing.assert_allclose(f(*given), want, rtol=1e-12)


def test_what_no_turn_reads_is_computed_of_the_trace():
    x, s, v = T.dmatrix("x"), T.dvector("s"), T.dmatrix("v")
    (_, out), _ = scan(
        lambda row, s, v: [T.sin(row + s), T.dot(T.sin(row + s), v)], x, [s, None], v
    )
    f = function([x, s, v], out)
    (turn,) = bodies(f)
    assert len(turn) == 1
    given = numbers(5, 3), numbers(3, seed=1), numbers(3, 2, seed=2)
    (_, want) = by_turns(
        lambda r, s, v: [np.sin(r + s), np.sin(r + s) @ v],
        [given[0]],
        [given[1], None],
        [given[2]],
    )
    np.testing.assert_allclose(f(*given), want, rtol=1e-12)


def test_a_loop_whose_turns_read_no_other_is_none():
    x, w = T.dmatrix("x"), T.dmatrix("w")
    out, _ = scan(lambda row, w: T.exp(T.dot(row, w)), x, non_sequences=w)
    f = function([x, w], out)
    assert not loops(f)
    given = numbers(5, 3), numbers(3, 2)
    np.testing.assert_allclose(f(*given), np.exp(given[0] @ given[1]), rtol=1e-12)


@pytest.mark.parametrize("ndim", [2, 3])
def test_a_gradient_by_weights_is_one_product_after_the_loop(ndim):
    x = T.TensorType("float64", (False,) * ndim)("x")
    s = T.TensorType("float64", (False,) * (ndim - 1))("s")
    w = T.dmatrix("w")
    out, _ = scan(lambda row, s, w: T.tanh(row + T.dot(s, w)), x, s, w)
    slope = theano.grad((out**2).sum(), w)
    f = function([x, s, w], slope)
    forward, backward = bodies(f)
    products = ["gemm", "gemv"]
    assert sum(step.label in products for step in forward) == 1
    assert sum(step.label in products for step in backward) == 1  # w.T alone
    shape = (2, 3)[3 - ndim :]
    given = numbers(5, *shape), numbers(*shape, seed=1), numbers(3, 3, seed=2)
    with config.use(rewrites="none"):
        want = function([x, s, w], slope)(*given)
    np.testing.assert_allclose(f(*given), want, rtol=1e-10)


def gated(slices):
    """A loop of a state of gates, which are slices of one sum."""
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dmatrix("w")

    def turn(row, s, w):
        sums = T.dot(s, w) + row
        parts = [sums[cut] for cut in slices]
        return T.nnet.sigmoid(parts[0]) * s + T.tanh(parts[1])

    out, _ = scan(turn, x, s, w)
    return function([x, s, w], out)


@pytest.mark.parametrize(
    "slices, beta",
    [
        ((np.s_[:3], np.s_[3:6]), 0),
        ((np.s_[3:], np.s_[:3]), 0),
        ((np.s_[:3], np.s_[2:5]), 1),
        ((np.s_[:3], np.s_[-3:]), 1),
        ((np.s_[:6:2], np.s_[3:6]), 1),
        ((np.s_[-6:-3], np.s_[3:6]), 1),
    ],
)
def test_gates_are_added_to_where_they_are_computed(slices, beta):
    """The product does not add, where each gate can: it would copy the row first."""
    f = gated(slices)
    (body,) = bodies(f)
    assert [step.beta for step in body if step.label == "gemv"] == [beta]
    given = numbers(5, 6), numbers(3, seed=1), numbers(3, 6, seed=2)

    def turn(row, s, w):
        sums = s @ w + row
        gate, new = (sums[cut] for cut in slices)
        return [s / (1 + np.exp(-gate)) + np.tanh(new)]

    (want,) = by_turns(turn, [given[0]], [given[1]], [given[2]])
    np.testing.assert_allclose(f(*given), want, rtol=1e-10)


def test_a_row_is_added_by_the_step_that_reads_the_sum():
    """A product that added to the row would need a copy of it first."""
    x, s, w = T.dtensor3("x"), T.dmatrix("s"), T.dmatrix("w")
    out, _ = scan(lambda row, s, w: T.tanh(row + T.dot(s, w)), x, s, w)
    f = function([x, s, w], out)
    (body,) = bodies(f)
    assert [step.label for step in body] == ["gemm", "add+tanh"]
    assert [step.beta for step in body if step.label == "gemm"] == [0]


# ---- memory ----


def test_a_turn_writes_its_results_where_their_rows_are():
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: T.sin(row + s[::-1]), x, s)
    f = function([x, s], out)
    counts = []
    for length in (5, 11):
        given = numbers(length, 3), numbers(3)
        (want,) = by_turns(lambda r, s: [np.sin(r + s[::-1])], [given[0]], [given[1]])
        np.testing.assert_allclose(f(*given), want, rtol=1e-12)
        counts.append(f.info()["n_launches"])
    assert counts[1] - counts[0] == 6  # one for each turn


def test_a_product_writes_its_results_where_their_rows_are():
    """Also with the step that reads it in one kernel: a trace costs a turn nothing."""
    x, s, w = T.ftensor3("x"), T.fmatrix("s"), T.fmatrix("w")
    out, _ = scan(lambda row, s, w: T.tanh(row + T.dot(s, w)), x, s, w)
    given = (
        numbers(20, 64, 64, dtype="float32"),
        numbers(64, 64, dtype="float32", seed=1),
        numbers(64, 64, dtype="float32", seed=2) / 8,
    )
    traced, final = function([x, s, w], out), function([x, s, w], out[-1])
    np.testing.assert_allclose(traced(*given)[-1], final(*given), rtol=1e-5, atol=1e-6)
    assert traced.info()["n_launches"] - final.info()["n_launches"] <= 2


def test_what_overwrites_the_last_state_leaves_the_trace():
    x, s, w = T.dmatrix("x"), T.dmatrix("s"), T.dmatrix("w")
    out, _ = scan(lambda row, s, w: T.tanh(row + T.dot(s, w)), x, s, w)
    f = function([x, s, w], [out, T.exp(out[-1]) + 1, out[-1]])
    given = numbers(4, 3), numbers(2, 3, seed=1), numbers(3, 3, seed=2)
    (want,) = by_turns(
        lambda r, s, w: [np.tanh(r + s @ w)], [given[0]], [given[1]], [given[2]]
    )
    trace, after, last = f(*given)
    np.testing.assert_allclose(trace, want, rtol=1e-12)
    np.testing.assert_allclose(after, np.exp(want[-1]) + 1, rtol=1e-12)
    np.testing.assert_allclose(last, want[-1], rtol=1e-12)


# ---- printing ----


def test_debugprint_shows_bodies_after_the_tree():
    x, s = T.dmatrix("x"), T.dvector("s")
    out, _ = scan(lambda row, s: row * s, x, s, name="products")
    assert theano.printing.debugprint(out, file="str") == (
        "for{products}.1 [id A] ''\n"
        " |Shape_i{0} [id B] ''\n"
        " | |x [id C]\n"
        " |x [id C]\n"
        " |s [id D]\n"
        "\n"
        "Inner graphs of the scan ops:\n"
        "\n"
        "for{products}.0 [id A] ''\n"
        " >Elemwise{mul,no_inplace} [id E] ''\n"
        " > |x[t] [id F] -> [id C]\n"
        " > |s[t-1] [id G] -> [id D]\n"
        " >Elemwise{mul,no_inplace} [id E] ''"
    )
    f = function([x, s], out)
    text = theano.printing.debugprint(f, file="str")
    assert "Inner graphs of the scan ops:" in text and "x[t]" in text
