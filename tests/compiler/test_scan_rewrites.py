"""Loops as rewrites leave them: steps, traces and products that a turn is spared."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan
from loops import by_turns, loop_nodes, loop_steps, numbers, recurrent

pytestmark = pytest.mark.usefixtures("in_float64")


def test_a_final_state_costs_no_trace():
    inputs, out, arrays, want = recurrent()
    f = function(inputs, out[-1])
    (step,) = loop_steps(f)
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
    assert [
        f.plan.array(n).ndim for n in loop_steps(f)[0].outs if n in f.plan.outputs
    ] == [1]
    np.testing.assert_allclose(f([2, 9, 100]), np.sqrt([2, 9, 100]), rtol=1e-15)
    turns = function([a], [out.shape[0], out[-1]])
    assert turns([2, 9, 100])[0] == 9


def test_the_last_row_of_no_turns_is_an_index_error():
    inputs, out, arrays, _ = recurrent()
    f = function(inputs, out[-1])
    with pytest.raises(IndexError):
        f(arrays[0][:0], *arrays[1:])


def test_a_loop_of_one_turn_is_no_loop():
    x = T.dvector("x")
    out, _ = scan(lambda s: s * 2, outputs_info=x, n_steps=1)
    f = function([x], out)
    assert not loop_nodes(f)
    assert f([1, 2]).tolist() == [[2, 4]]


def test_what_is_the_same_in_all_turns_is_done_before():
    x, w = T.dmatrix("x"), T.dmatrix("w")
    out, _ = scan(lambda row, s, w: T.tanh(row + s + T.exp(w).sum(0)), x, x[0], w)
    f = function([x, w], out)
    (step,) = loop_steps(f)
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
    (step,) = loop_steps(f)
    assert step.takes == "raf" and len(step.outs) == 3  # a state, its factor, a trace
    given = numbers(5, 3), numbers(3), numbers(3)
    np.testing.assert_allclose(f(*given), given[1] + given[0].cumsum(0), rtol=1e-12)


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
    return [step.body.plan.steps for step in loop_steps(f)]


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
    assert not loop_nodes(f)
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
