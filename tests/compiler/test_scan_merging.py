"""Loops of one length become one where neither needs the other's results."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, scan
from gpuarray.compiler.compile.mode import get_default_mode
from loops import by_turns, loops_in, numbers

pytestmark = pytest.mark.usefixtures("first_in_float64")


def decay(rate):
    return lambda row, state: [state * rate + row]


X, Y, W = T.dmatrix("X"), T.dmatrix("Y"), T.dmatrix("W")
S, V, N = T.dvector("S"), T.dvector("V"), T.lscalar("N")
GIVEN = {X: numbers(6, 3), Y: numbers(6, 3, seed=1), W: numbers(3, 3, seed=2) / 3,
         S: numbers(3, seed=3), V: numbers(4, seed=4), N: np.int64(5)}  # fmt: skip


def run(inputs, outputs, count):
    """Return the results of one function, which has so many loops."""
    f = function(inputs, outputs)
    assert loops_in(f) == count
    apart = function(inputs, outputs, mode=get_default_mode().excluding("merge_loops"))
    given = [GIVEN[x] for x in inputs]
    results, expected = f(*given), apart(*given)
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    return results


def test_elementwise_loops_over_rows_of_one_shape():
    slow, _ = scan(decay(0.9), X, S)
    fast, _ = scan(decay(0.1), X[::-1], S * 2)
    squares, _ = scan(lambda row, s: T.tanh(row + s * s), X**2, T.zeros_like(X[0]))
    results = run([X, S], [slow, fast[-1], squares], 1)
    x, s = GIVEN[X], GIVEN[S]
    want = [
        by_turns(decay(0.9), [x], [s])[0],
        by_turns(decay(0.1), [x[::-1]], [s * 2])[0][-1],
        by_turns(lambda r, s: [np.tanh(r + s * s)], [x**2], [s * 0])[0],
    ]
    for result, expected in zip(results, want, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_loops_of_a_given_number_of_iterations():
    powers, _ = scan(lambda s: s * T.tanh(s), outputs_info=S, n_steps=N)
    roots, _ = scan(lambda s: T.sqrt(abs(s)), outputs_info=S + 1, n_steps=N)
    first, second = run([S, N], [powers, roots[-1]], 1)
    assert first.shape == (5, 3) and second.shape == (3,)


def test_loops_that_reduce_all_elements():
    a, _ = scan(lambda row, s: s * 0.5 + row.sum(), X, S)
    b, _ = scan(lambda row, s: s * row.max(), X, S + 1)
    run([X, S], [a, b], 1)


def test_gradients_of_merged_loops():
    slow, _ = scan(decay(0.9), X, S)
    tanh, _ = scan(lambda row, s: T.tanh(row * s), X, S * 2)
    cost = (slow[-1] ** 2).sum() + tanh.sum()
    slopes = run([X, S], [cost, *theano.grad(cost, [X, S])][1:], 2)
    assert slopes[0].shape == (6, 3)

    def at(x, s):
        one = by_turns(decay(0.9), [x], [s])[0]
        other = by_turns(lambda row, s: [np.tanh(row * s)], [x], [s * 2])[0]
        return (one[-1] ** 2).sum() + other.sum()

    for place, slope in enumerate(slopes):
        for index in np.ndindex(slope.shape):
            costs = []
            for moved in (1e-6, -1e-6):
                given = [GIVEN[X].copy(), GIVEN[S].copy()]
                given[place][index] += moved
                costs.append(at(*given))
            want = (costs[0] - costs[1]) / 2e-6
            np.testing.assert_allclose(slope[index], want, rtol=1e-5, atol=1e-7)


def test_recorded_loops_that_compute_the_same():
    def turn(row, state, w):
        return T.tanh(T.dot(state, w) + T.sort(row))

    one, _ = scan(turn, X, S, W, name="one")
    other, _ = scan(turn, X, S * 2, W, name="other")
    run([X, S, W], [one, other], 1)
    f = function([X, S, W], [one, other])
    assert str(f.plan).count("sort(") == 1 and "one and other" in str(f.plan)


def test_equal_loops_are_one():
    one, _ = scan(decay(0.9), X, S)
    other, _ = scan(decay(0.9), X, S)
    first, second = run([X, S], [one, other], 1)
    np.testing.assert_array_equal(first, second)


def test_loops_that_stay_apart():
    slow, _ = scan(decay(0.9), X, S)
    # one reads the other's results
    after, _ = scan(lambda row, s: T.tanh(row * s), slow, S)
    run([X, S], [slow, after], 2)
    deep, _ = scan(lambda row, s: T.tanh(row * s), X, slow.sum(0))
    run([X, S], [slow[-1], deep], 2)
    # another number of iterations, or perhaps another one
    fewer, _ = scan(lambda row, s: T.tanh(row * s), X[1:], S)
    run([X, S], [slow, fewer], 2)
    others, _ = scan(lambda row, s: T.tanh(row * s), Y, S)
    run([X, Y, S], [slow, others], 2)
    # elements of another shape, of which a kernel would be none
    short, _ = scan(lambda s: s * T.tanh(s), outputs_info=S, n_steps=N)
    wide, _ = scan(lambda s: s * T.tanh(s), outputs_info=V, n_steps=N)
    number, _ = scan(lambda s: s * T.tanh(s), outputs_info=V[0], n_steps=N)
    run([S, V, N], [short, wide, number], 3)
    # a reduction, for which one group has all elements
    reduced, _ = scan(lambda row, s: s * row.max(), X, S)
    run([X, S], [slow, reduced], 2)
    # recorded, beside a kernel, and beside another that computes nothing the same
    sorted_, _ = scan(lambda row, s: T.sort(row * s), X, S)
    product, _ = scan(lambda row, s, w: T.tanh(row + T.dot(s, w)), X, S, W)
    run([X, S, W], [slow, sorted_, product], 3)
    # an end of its own
    ended, _ = scan(
        lambda row, s: (s + row * s, theano.scan_module.until(s.max() > 9)), X, S
    )
    run([X, S], [slow, ended], 2)


def test_a_loop_under_a_condition_does_not_run_with_another():
    slow, _ = scan(decay(0.9), X, S)
    fast, _ = scan(decay(0.1), X, S)
    chosen = theano.ifelse.ifelse(N > 3, fast[-1], S)
    f = function([X, S, N], [slow, chosen])
    for n in (2, 5):
        results = f(GIVEN[X], GIVEN[S], n)
        want = (
            by_turns(decay(0.1), [GIVEN[X]], [GIVEN[S]])[0][-1] if n > 3 else GIVEN[S]
        )
        np.testing.assert_allclose(results[1], want, rtol=1e-12)
    assert loops_in(f) == 2


def test_a_loop_whose_turns_have_only_a_constant_is_left_alone():
    half = T.constant(0.5, dtype="float64")
    halves, _ = scan(lambda row: half, X)
    states, _ = scan(lambda row, s: T.sin(s + row), X, S)
    f = function([X, S], [halves, states])
    constants, results = f(GIVEN[X], GIVEN[S])
    (want,) = by_turns(lambda row, s: [np.sin(s + row)], [GIVEN[X]], [GIVEN[S]])
    np.testing.assert_array_equal(constants, np.full(6, 0.5))
    np.testing.assert_allclose(results, want, rtol=1e-12)
