"""Loops with ``until`` whose iterations are several launches."""

from functools import cache

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import config, function, scan
from gpuarray.compiler.ops.elemwise.elemwise import Composite, Elemwise
from gpuarray.compiler.scan_module import until
from loops import loop_nodes


def test_counters_beside_a_product_are_one_launch(context):
    """What counts iterations, and what ends them, is elementwise over one scalar."""
    with config.use(device=context.name, floatX="float32"):
        a, x = T.fmatrix("a"), T.fvector("x")

        def step(v, k, a):
            return [T.dot(a, v), k + 2], until(T.ge(k, 7))

        zero = T.constant(0, dtype="int64")
        (traces, counts), _ = scan(
            step, outputs_info=[x, zero], non_sequences=[a], n_steps=30
        )
        f = function([a, x], [traces[-1], counts])
    (loop,) = loop_nodes(f)
    steps = [n.op for n in loop.op.placed_body.toposort() if isinstance(n.op, Elemwise)]
    assert len([op for op in steps if isinstance(op.scalar, Composite)]) == 1
    assert len(steps) <= 2  # the vector stays what it was once the condition held
    turn = np.array([[0, 1], [-1, 0]], "float32")
    last, numbers = f(turn, np.array([1, 2], "float32"))
    np.testing.assert_array_equal(numbers, [2, 4, 6, 8, 10])
    np.testing.assert_array_equal(last, np.linalg.matrix_power(turn, 5) @ [1, 2])


def test_an_integer_of_a_state_may_be_a_length(context):
    with config.use(device=context.name, floatX="float32"):
        x, zero = T.fvector("x"), T.constant(0, dtype="int64")
        counts, sums = scan(
            lambda k, x: [k + 1, x[: k * 2 + 1].sum()],
            outputs_info=[zero, None],
            non_sequences=[x],
            n_steps=3,
        )[0]
        f = function([x], [counts, sums])
    numbers, totals = f(np.arange(1, 9, dtype="float32"))
    np.testing.assert_array_equal(numbers, [1, 2, 3])
    np.testing.assert_array_equal(totals, [1, 6, 15])


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
        return new, until(abs(new - s).max() < most)

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


def test_a_loop_that_ends_within_another_one(in_float64):
    """Each row of starts goes on until it is large, at most for 40 iterations."""
    starts, w = T.dmatrix("starts"), T.dmatrix("w")

    def grow(s, w):
        new = T.dot(s, w) + s[::-1]
        return new, until(new.sum() > 1000)

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
