"""Calls from several threads: each reads and stores shared values as one step."""

import threading
from itertools import chain

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import In, Mode, config, function, shared

CALLS = 60


def in_threads(*works):
    """Call each function in a thread of its own; raise what one raises."""
    errors = []

    def run(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if errors:
        raise errors[0]


def counted(f, *args, calls=CALLS):
    """What calls one after the other, and the list of its results."""
    results = []

    def work():
        results.extend(f(*args) for _ in range(calls))

    return work, results


@pytest.fixture
def counter(context):
    with config.use(device=context.name, floatX="float64"):
        yield shared(np.zeros(50), name="counter")


PROGRAMS = {
    "one function": lambda s: [function([], s[0], updates={s: s + 1})] * 6,
    "several functions": lambda s: [
        function([], s[i], updates={s: s + 1}) for i in range(6)
    ],
    "copies": lambda s: [
        each for f in [function([], s[0], updates={s: s + 1})] for each in [f, f.copy()]
    ],
    "what stays on the device": lambda s: (
        [function([], s[0], updates={s: s + 1}, on_device=True)] * 4
    ),
    "what pauses": lambda s: (
        [function([], s[0], updates={s: s + T.nonzero(s + 1)[0].shape[0] / 50})] * 4
    ),
    "a default update": lambda s: [function([], s[0])] * 4,
    "a part": lambda s: [
        function([], s[0], updates={s: T.inc_subtensor(s[:25], 1.0)}),
        function([], s[0], updates={s: T.inc_subtensor(s[:1], 1.0)}),
    ],
    "DebugMode": lambda s: (
        [function([], s[0], updates={s: s + 1}, mode="DebugMode")] * 2
    ),
    "a profile": lambda s: [function([], s[0], updates={s: s + 1}, profile=True)] * 2,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_no_update_is_lost_and_each_call_sees_its_own_value(program, counter):
    if program is PROGRAMS["a default update"]:
        counter.default_update = counter + 1
    functions = program(counter)
    calls = 5 if program is PROGRAMS["DebugMode"] else CALLS
    works, results = zip(*(counted(f, calls=calls) for f in functions), strict=True)
    in_threads(*works)
    total = calls * len(functions)
    assert counter.get_value()[0] == total
    seen = sorted(float(np.asarray(each)) for each in chain(*results))
    assert seen == list(range(total))


def test_values_that_have_to_be_converted_are_no_other_way(counter):
    x = T.dvector("x")
    f = function([x], counter[0], updates={counter: counter + x})
    given = np.ones(50, "float32")
    works, results = zip(*(counted(f, given) for _ in range(4)), strict=True)
    in_threads(*works)
    seen = sorted(float(each) for each in chain(*results))
    assert seen == list(range(4 * CALLS))


def test_the_value_of_an_input_that_is_kept_is_updated_in_turns(counter):
    n = T.dscalar("n")
    f = function([In(n, value=0.0, update=n + 1)], n)
    works, results = zip(*(counted(f) for _ in range(4)), strict=True)
    in_threads(*works)
    assert sorted(map(float, chain(*results))) == list(range(4 * CALLS))
    assert f[n] == 4 * CALLS


def test_functions_of_several_variables_never_wait_for_one_another(counter):
    with config.use(floatX="float64"):
        a, b = (shared(np.zeros(3), name=name) for name in "ab")
        one_of_a = function([], [], updates={a: a + 1})
        one_of_b = function([], [], updates={b: b + 1})
        both = function([], a[0] + b[0], updates=[(a, b), (b, a)])
        other = function([], a[0] + b[0], updates=[(b, a), (a, b)])
    works = [counted(f)[0] for f in (one_of_a, one_of_b, both, other)]
    in_threads(*works)
    assert a.get_value()[0] + b.get_value()[0] == 2 * CALLS


def test_a_reader_sees_no_value_half_way(counter):
    s = counter
    step = function([], [], updates={s: T.inc_subtensor(s[25:], 1.0) + T.eq(s, s) * 0})
    half = function([], [], updates={s: T.set_subtensor(s[:25], s[25:])})
    read = function([], [s[:25].max() - s[:25].min(), s[25:].max() - s[25:].min()])
    results = []

    def look():
        for _ in range(CALLS):
            results.extend(read())
            value = s.get_value()
            results.append(np.ptp(value[:25]) + np.ptp(value[25:]))

    in_threads(counted(step)[0], counted(half)[0], look, look)
    assert {float(each) for each in results} == {0.0}


READERS = {
    "in C": lambda outputs: function([], outputs),
    "as written": lambda outputs: function([], outputs, mode=Mode(optimizer=None)),
    "what pauses": lambda outputs: function(
        [], [*outputs, T.nonzero(outputs[0])[0].shape[0]]
    ),
    "a profile": lambda outputs: function([], outputs, profile=True),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_values_that_are_results_as_they_are_belong_to_one_moment(reader, counter):
    other = shared(np.zeros(50), name="other")
    step = function([], [], updates={counter: counter + 1, other: other + 1})
    read = reader([counter, other.sum(), other])
    works, results = zip(*(counted(read) for _ in range(2)), strict=True)
    in_threads(*works, counted(step)[0], counted(step)[0])
    for each in chain(*results):
        assert set(each[0]) == set(each[2]) == {float(each[1]) / 50}


def test_a_result_that_becomes_the_value_is_the_call_s_own(counter):
    following = counter + 1
    calls = [function([], following, updates={counter: following}) for _ in range(4)]
    works, results = zip(*(counted(each) for each in calls), strict=True)
    in_threads(*works)
    seen = sorted(tuple(set(each)) for each in chain(*results))
    assert seen == [(float(i + 1),) for i in range(4 * CALLS)]


def test_a_value_that_is_set_is_not_overwritten_by_a_call_before_it(counter):
    f = function([], counter[0], updates={counter: counter + 1})
    work, results = counted(f, calls=4 * CALLS)

    def put():
        for _ in range(CALLS):
            counter.set_value(np.full(50, 1e6))

    in_threads(work, put)
    assert counter.get_value()[0] >= 1e6
    seen = [float(each) for each in results]
    first = next((i for i, each in enumerate(seen) if each >= 1e6), len(seen))
    assert all(each >= 1e6 for each in seen[first:])


def test_functions_without_updates_may_be_called_at_once(counter):
    x, n = T.dvector("x"), T.dscalar("n")
    f = function([x, n], (x * n).sum())
    given = [np.full(size, 1.0) for size in (3, 4, 3, 5)]
    works, results = zip(
        *(counted(f, each, float(i)) for i, each in enumerate(given)), strict=True
    )
    in_threads(*works)
    for i, (each, found) in enumerate(zip(given, results, strict=True)):
        assert {float(one) for one in found} == {each.size * float(i)}
