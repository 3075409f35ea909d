"""Shared variables keep their values where an index is wrong, beside other things."""

from __future__ import annotations

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, shared
from gpuarray.compiler.contexts import sync_all
from gpuarray.compiler.ifelse import ifelse
from gpuarray.errors import BadIndex

i, c = T.lvector("i"), T.iscalar("c")
TABLE = np.arange(12, dtype="float32").reshape(6, 2)
GOOD, WRONG = np.array([1, 2]), np.array([1, 99])


@pytest.fixture(autouse=True)
def on_each_context(on_context):
    """A wrong index is found by the device."""
    yield


def bits(variable):
    return variable.get_value().tobytes()


def keeps(f, variables, *args, good, **named):
    """Whether a call is told of, and leaves the variables as a good call made them."""
    f(*good, **named)
    before = list(map(bits, variables))
    with pytest.raises(IndexError):
        f(*args, **named)
        f.sync()
    kept = list(map(bits, variables)) == before
    f(*good, **named)
    f.sync()
    return kept and list(map(bits, variables)) != before


def test_a_new_value_that_is_a_condition_too():
    table, t = shared(TABLE, name="table"), shared(np.float32(0), name="t")
    later = t + 1
    zero = T.constant(np.float32(0))
    f = function([i], ifelse(later > 0, table[i].sum(), zero), updates={t: later})
    assert keeps(f, [table, t], WRONG, good=[GOOD])


def test_a_neighbour_in_the_kernel_that_gives_the_index():
    k, table = T.lscalar("k"), shared(TABLE, name="table")
    places = shared(np.arange(4), name="places")
    f = function([k], table[places * k].sum(), updates={places: places + 1})
    assert keeps(f, [places], 50, good=[0])


def test_what_is_read_in_a_branch_only_does_not_check_the_change():
    table, t = shared(TABLE, name="table"), shared(np.float32(0), name="t")
    picked = ifelse(c > 0, table[i].sum(), T.constant(np.float32(0)))
    changed = T.inc_subtensor(table[i], 1)
    f = function([i, c], picked, updates={table: changed, t: t + 1})
    for taken in (0, 1):
        assert keeps(f, [table, t], WRONG, taken, good=[GOOD, taken])


@pytest.mark.parametrize("subset", [[], [0], [1]])
def test_a_subset_of_the_outputs(subset):
    table = shared(TABLE, name="table")
    w = shared(np.ones((3, 2), "float32"), name="w")
    changed = T.inc_subtensor(table[i], 1)
    outputs = [T.dot(w, table[i].T), w * 2]
    f = function([i], outputs, updates={table: changed, w: w * 3})
    assert keeps(f, [table, w], WRONG, good=[GOOD], output_subset=subset)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "int32"])
def test_negative_zeros(dtype):
    table = shared(-np.zeros((3, 2)).astype(dtype), name="table")
    f = function([i], [], updates={table: T.inc_subtensor(table[i], 1)})
    assert keeps(f, [table], np.array([0, 9]), good=[np.array([1])])


def test_all_contexts_are_waited_for_where_one_fails():
    waited = []

    class Waiting:
        def sync(self):
            waited.append(self)
            raise BadIndex(f"{len(waited)}")

    with pytest.raises(BadIndex, match="2"):
        sync_all([Waiting(), Waiting()])
    assert len(waited) == 2


@pytest.mark.parametrize("kind", ["plain", "choice", "sides", "both"])
def test_one_new_value_of_two_variables(kind):
    table = shared(TABLE, name="table")
    s, t = (shared(TABLE + each, name=name) for each, name in [(1, "s"), (7, "t")])
    new = s * 2 + t
    other = {
        "plain": new,
        "choice": ifelse(c > 0, T.tanh(new), new),
        "sides": ifelse(c > 0, new, s),
        "both": ifelse(c > 0, new, new),
    }[kind]
    f = function(
        [i, c], table[i].sum(), updates=[(s, new), (t, other)], on_unused_input="ignore"
    )
    for condition in (0, 1):
        before = bits(s), bits(t)
        with pytest.raises(BadIndex):
            f(WRONG, condition)
            f.sync()
        assert (bits(s), bits(t)) == before
        f(GOOD, condition)
        f.sync()
        assert bits(s) != before[0]
    right_s, right_t = TABLE + 1, TABLE + 7
    s.set_value(right_s)
    t.set_value(right_t)
    for condition in (1, 0, 1):
        f(GOOD, condition)
        value = right_s * 2 + right_t
        chosen = {
            "plain": value,
            "choice": np.tanh(value) if condition else value,
            "sides": value if condition else right_s,
            "both": value,
        }[kind]
        right_s, right_t = value, chosen
        np.testing.assert_allclose(s.get_value(), right_s, rtol=1e-5)
        np.testing.assert_allclose(t.get_value(), right_t, rtol=1e-5)


def test_a_neighbours_choice_has_a_value_of_its_own():
    table = shared(TABLE, name="table")
    s, t = (shared(TABLE + each, name=name) for each, name in [(1, "s"), (7, "t")])
    chosen = ifelse(c > 0, s + t, s * t)
    f = function([i, c], table[i].sum(), updates=[(s, chosen), (t, chosen)])
    for condition in (0, 1, 0):
        assert keeps(f, [s, t], WRONG, condition, good=[GOOD, condition])
