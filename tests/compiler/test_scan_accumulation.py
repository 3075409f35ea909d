"""Loops that sum or multiply: they are sums, products and their cumulative forms."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, scan
from loops import by_turns, loops_in, numbers

pytestmark = pytest.mark.usefixtures("first_in_float64")


STEPS = {
    "sum": lambda r, s: s + r,
    "sum of terms": lambda r, s: 3 + (r * 2 + s) + r * r,
    "product": lambda r, s: s * r,
    "product of terms": lambda r, s: (s * r) * (r + 2),
}
DTYPES = ["int8", "int32", "int64", "float32", "float64", "complex128"]


@pytest.mark.parametrize(
    "step, dtype",
    [
        *((step, dtype) for step in STEPS for dtype in DTYPES),
        ("sum", "uint16"),  # a term with a constant is wider
        ("product", "uint16"),
    ],
)
def test_traces_and_finals_are_those_turn_by_turn(step, dtype):
    x, s = T.TensorType(dtype, (False,))("x"), T.TensorType(dtype, ())("s")

    def turn(r, s):
        return T.cast(STEPS[step](r, s), dtype)

    def by_hand(r, s):
        return [np.asarray(STEPS[step](r, s)).astype(dtype)]

    out, _ = scan(turn, x, s)
    trace, final = function([x, s], out), function([x, s], out[-1])
    assert loops_in(trace) == loops_in(final) == 0
    for length in (1, 7, 40):
        given = numbers(length, dtype=dtype) * 2, numbers(1, dtype=dtype, seed=3)[0]
        with np.errstate(over="ignore"):
            (want,) = by_turns(by_hand, [given[0]], [given[1]])
        if np.dtype(dtype).kind in "iu":
            np.testing.assert_array_equal(trace(*given), want)
            np.testing.assert_array_equal(final(*given), want[-1])
        else:
            rtol = 1e-4 if dtype == "float32" else 1e-10
            np.testing.assert_allclose(trace(*given), want, rtol=rtol, atol=rtol)
            np.testing.assert_allclose(final(*given), want[-1], rtol=rtol, atol=rtol)
    assert np.shape(trace(numbers(0, dtype=dtype), given[1])) == (0,)


@pytest.mark.parametrize("step", STEPS)
def test_the_trace_and_the_last_state_together(step):
    x, s = T.dvector("x"), T.dscalar("s")
    out, _ = scan(STEPS[step], x, s)
    f = function([x, s], [out, out[-1]])
    assert not loops_in(f)
    given = numbers(9), np.float64(0.5)
    (want,) = by_turns(lambda r, s: [STEPS[step](r, s)], [given[0]], [given[1]])
    trace, final = f(*given)
    np.testing.assert_allclose(trace, want, rtol=1e-12)
    assert trace[-1] == final
    (want,) = by_turns(
        lambda r, s: [STEPS[step](r, s)], [given[0]], [given[1]], go_backwards=True
    )
    out, _ = scan(STEPS[step], x, s, go_backwards=True)
    f = function([x, s], out)
    assert not loops_in(f)
    np.testing.assert_allclose(f(*given), want, rtol=1e-12)


@pytest.mark.parametrize("step", STEPS)
def test_last_states_of_arrays_are_sums_over_rows(step):
    x, s, w = T.dmatrix("x"), T.dvector("s"), T.dscalar("w")
    total, _ = theano.reduce(lambda r, s, w: STEPS[step](r * w, s), x, s, [w])
    f = function([x, s, w], total)
    assert not loops_in(f)
    given = numbers(8, 3), numbers(3, seed=1), np.float64(0.7)
    (want,) = by_turns(
        lambda r, s: [STEPS[step](r * given[2], s)], [given[0]], [given[1]]
    )
    np.testing.assert_allclose(f(*given), want[-1], rtol=1e-12)
    with pytest.raises(IndexError):
        f(numbers(0, 3), *given[1:])


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("ndim", [0, 1])
def test_gradients(step, ndim):
    x = (T.dmatrix if ndim else T.dvector)("x")
    s = (T.dvector if ndim else T.dscalar)("s")
    out, _ = scan(STEPS[step], x, s)
    shape = (3,) * ndim
    given = [numbers(6, *shape) + 2, numbers(*shape, seed=1) + 1]
    for cost, at in ((out[-1].sum(), lambda out: out[-1].sum()),
                     (T.sqr(out).sum(), lambda out: (out**2).sum())):  # fmt: skip
        slopes = function([x, s], theano.grad(cost, [x, s]))(*given)
        for place, slope in enumerate(slopes):
            assert slope.shape == given[place].shape
            for index in np.ndindex(given[place].shape):
                costs = []
                for moved in (1e-6, -1e-6):
                    moved_to = [np.array(g) for g in given]
                    moved_to[place][index] += moved
                    (rows,) = by_turns(
                        lambda r, s: [STEPS[step](r, s)], [moved_to[0]], [moved_to[1]]
                    )
                    costs.append(at(rows))
                np.testing.assert_allclose(
                    slope[index], (costs[0] - costs[1]) / 2e-6, rtol=1e-5
                )


def test_a_sum_beside_another_state_leaves_the_loop():
    x, s = T.dvector("x"), T.dscalar("s")
    (total, mean), _ = scan(lambda r, t, m: [t + r * r, m * 0.5 + r], x, [s, s])
    f = function([x, s], [total, mean, total[-1]])
    assert loops_in(f) == 1 and len(f.plan.steps) > 1
    assert "cumulate" in str(f.plan)
    given = numbers(9), np.float64(0.5)
    want = by_turns(lambda r, t, m: [t + r * r, m * 0.5 + r], [given[0]], [0.5, 0.5])
    results = f(*given)
    np.testing.assert_allclose(results[0], want[0], rtol=1e-12)
    np.testing.assert_allclose(results[1], want[1], rtol=1e-12)


NEAR = {
    "a decay": lambda r, s: [s * 0.5 + r],
    "the state twice": lambda r, s: [s + s * r],
    "a difference from it": lambda r, s: [r - s],
    "no sequence": lambda r, s: [s + 1.5],
    "another function": lambda r, s: [T.tanh(s + r)],
}


@pytest.mark.parametrize("near", NEAR)
def test_near_misses_stay_loops(near):
    x, s = T.dvector("x"), T.dscalar("s")
    out, _ = scan(NEAR[near], x, s)
    assert loops_in(function([x, s], out)) == 1
    assert loops_in(function([x, s], out[-1])) == 1


def test_what_else_reads_the_state_keeps_the_loop():
    x, s, X, v = T.dvector("x"), T.dscalar("s"), T.dmatrix("X"), T.dvector("v")
    (total, other), _ = scan(lambda r, t, m: [t + r, m * t], x, [s, s])
    assert loops_in(function([x, s], [total, other])) == 1
    (_, total), _ = scan(lambda r, m, t: [T.sin(m + r), t + m], x, [s, s])
    assert loops_in(function([x, s], total)) == 1
    trace, _ = scan(lambda r, s: s + r, X, v)  # a scan along rows is slower
    assert loops_in(function([X, v], trace)) == 1
    ended, _ = scan(lambda r, s: (s + r, theano.scan_module.until(s > 9)), x, s)
    assert loops_in(function([x, s], ended[-1])) == 1
    truth, _ = scan(lambda r, s: s + r, T.gt(x, 0), T.gt(s, 0))
    assert loops_in(function([x, s], truth[-1])) == 1
