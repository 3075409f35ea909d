"""Loops as compiled functions have them: plans, files, copies and modes."""

import copy
import pickle

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan
from loops import by_turns, loop_steps, numbers, recurrent

pytestmark = pytest.mark.usefixtures("in_float64")


# ---- as every other operation ----


def test_a_loop_is_one_step_of_a_plan():
    inputs, out, arrays, want = recurrent()
    f = function(inputs, out)
    (step,) = loop_steps(f)
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
