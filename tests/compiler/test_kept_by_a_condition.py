"""Updates that a condition makes: in place where it holds, and nothing where not."""

import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler.ifelse import ifelse


@pytest.fixture
def state():
    n, x = T.lscalar("n"), T.fvector("x")
    values = [np.arange(4, dtype="f4"), np.ones(4, "f4")]
    w, v = (
        theano.shared(each, name=name) for each, name in zip(values, "wv", strict=True)
    )
    return n, x, w, v


def compiled(device, inputs, outputs, updates):
    with theano.config.use(device=str(device)):
        return theano.function(inputs, outputs, updates=updates)


def memory(variable):
    return variable.get_value(borrow=True, return_internal_type=True).struct.data


STEP = np.full(4, 0.5, "f4")


def test_the_plan_copies_nothing_and_overwrites(state):
    n, x, w, v = state
    f = compiled("null", [n, x], [], [(w, ifelse(n, w - x, w)), (v, ifelse(n, v, x))])
    kinds = [type(step).__name__ for step in f.plan.steps]
    copies = [step for step in f.plan.steps if type(step).__name__ == "Copy"]
    assert (
        kinds.count("Choose") == 3 and len(copies) == 1
    )  # of x, which is the caller's
    assert "in place of w" in str(f.plan)


def test_values_and_memory_stay(state, first_context):
    n, x, w, v = state
    updates = [(w, ifelse(n, w - x, w)), (v, ifelse(n, v * 2, v))]
    f = compiled(first_context.name, [n, x], w.sum(), updates)
    for truth in (0, 1):  # the first run of a side overwrites copies
        f(truth, STEP)
    places = memory(w), memory(v)
    wanted_w, wanted_v = np.arange(4, dtype="f4") - STEP, np.full(4, 2, "f4")
    for truth in (0, 1, 1, 0, 2, 0):
        assert float(f(truth, STEP)) == wanted_w.sum()
        if truth:
            wanted_w, wanted_v = wanted_w - STEP, wanted_v * 2
        np.testing.assert_array_equal(w.get_value(), wanted_w)
        np.testing.assert_array_equal(v.get_value(), wanted_v)
        assert (memory(w), memory(v)) == places


def test_each_side_overwrites_where_it_runs(state, first_context):
    n, x, w, _ = state
    inner = ifelse(T.eq(n, 1), w * 2, w + x)
    updates = [(w, ifelse(n, inner, w * w - 3))]
    f = compiled(first_context.name, [n, x], w.sum(), updates)
    assert str(f.plan).count("in place of") == 3
    f(1, STEP)
    place, wanted = memory(w), np.arange(4, dtype="f4") * 2
    for number, step in [(1, STEP), (0, STEP), (2, -STEP), (1, STEP), (2, STEP)]:
        assert float(f(number, step)) == wanted.sum()
        other = wanted * 2 if number == 1 else wanted + step
        wanted = other if number else wanted * wanted - 3
        np.testing.assert_array_equal(w.get_value(), wanted)
        assert memory(w) == place


def test_each_side_that_the_device_chooses_overwrites(state, first_context):
    _, x, w, _ = state
    f = compiled(
        first_context.name, [x], [], [(w, ifelse(x.sum() > 0, w + x, w - 2 * x))]
    )
    assert str(f.plan).count("in place of") == 2
    f(STEP)
    place, wanted = memory(w), np.arange(4, dtype="f4") + STEP
    for step in (STEP, -STEP, -STEP, STEP):
        f(step)
        wanted = wanted + (STEP if step[0] > 0 else 2 * STEP)
        np.testing.assert_array_equal(w.get_value(), wanted)
        assert memory(w) == place


def test_what_the_device_computes_settles_it_too(state, first_context):
    _, x, w, _ = state
    f = compiled(first_context.name, [x], [], [(w, ifelse(x.sum() > 0, w - x, w))])
    f(-STEP)
    np.testing.assert_array_equal(w.get_value(), np.arange(4))
    f(STEP)
    np.testing.assert_array_equal(w.get_value(), np.arange(4) - 0.5)


def test_what_is_read_elsewhere_is_not_overwritten_before(state, first_context):
    n, x, w, v = state
    new = ifelse(n, w - x, w)
    f = compiled(
        first_context.name,
        [n, x],
        [new, w, T.exp(w), T.sqr(new)],
        [(w, new), (v, ifelse(n, w, v))],
    )
    for truth in (1, 0, 1):
        old_w, old_v = w.get_value(), v.get_value()
        wanted = old_w - STEP if truth else old_w
        found = f(truth, STEP)
        for got, right in zip(
            found, (wanted, old_w, np.exp(old_w), wanted**2), strict=True
        ):
            np.testing.assert_allclose(got, right, rtol=1e-6)
        np.testing.assert_array_equal(w.get_value(), wanted)
        np.testing.assert_array_equal(v.get_value(), old_w if truth else old_v)
        first = f.info()["n_bindings"]
        assert first <= 2


def test_results_of_the_caller_are_the_caller_s(state, first_context):
    n, x, w, _ = state
    new = ifelse(n, w - x, w)
    with theano.config.use(device=str(first_context.name)):
        f = theano.function([n, x], new, updates=[(w, new)], on_device=True)
    kept = [f(0, STEP), f(1, STEP), f(0, STEP), f(1, STEP)]
    wanted = [np.arange(4) - 0.5 * k for k in (0, 1, 1, 2)]
    for got, right in zip(kept, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(got), right)


def test_a_choice_within_a_choice(state, first_context):
    n, x, w, v = state
    m = T.lscalar("m")
    new = ifelse(n, ifelse(m, w - x, w + x), w)
    swapped = [(w, new), (v, ifelse(n, ifelse(m, v, w), v))]
    f = compiled(first_context.name, [n, m, x], [], swapped)
    for truth, inner in ((0, 1), (1, 1), (1, 0), (0, 0), (1, 0)):
        old_w, old_v = w.get_value(), v.get_value()
        f(truth, inner, STEP)
        right = old_w + (0 if not truth else -STEP if inner else STEP)
        np.testing.assert_array_equal(w.get_value(), right)
        swaps = truth and not inner
        np.testing.assert_array_equal(v.get_value(), old_w if swaps else old_v)


def test_a_function_with_such_an_update_is_saved(state, first_context, tmp_path):
    n, x, w, _ = state
    f = compiled(first_context.name, [n, x], w.sum(), [(w, ifelse(n, w - x, w))])
    f(1, STEP)
    f(0, STEP)
    f.save(tmp_path / "f.plan")
    again = theano.load(tmp_path / "f.plan")
    sums = [float(again(truth, STEP)) for truth in (0, 1, 0, 1, 1)]
    assert sums == [4.0, 4.0, 2.0, 2.0, 0.0]
