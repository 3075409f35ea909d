"""Errors of calls: caught before anything runs, all or nothing, told late but right."""

from __future__ import annotations

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray._core.profiling import profile
from gpuarray.compiler import Out, function, shared
from gpuarray.compiler.debug import explaining
from gpuarray.errors import ContextClosed, OutOfMemory

X = np.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True)
def on_first_context(first_context):
    """What is told does not depend on the device."""
    with theano.config.use(device=first_context.name):
        yield first_context
    first_context.launch_blocking = False


def text_of(error):
    """The message of an error with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def test_shapes_that_do_not_fit_are_caught_before_anything_runs(monkeypatch):
    x, y = T.dmatrix("x"), T.dmatrix("y")
    w = shared(np.zeros((2, 3)), name="w")
    grown = w + x
    product = T.dot(T.exp(x), y)  # the line that is named
    f = function([x, y], product, updates=[(w, grown)])
    f(X, X.T)
    context, kept = f.context, w.get_value()
    a, b = (gpuarray.asarray(each, context=context) for each in (X, X))
    monkeypatch.setattr(explaining, "values_before", lambda *args: {})  # runs steps
    with profile(context) as done, pytest.raises(ValueError) as caught:
        f(a, b)
    assert not done.spans
    assert "the line that is named" in text_of(caught.value)
    assert np.array_equal(w.get_value(), kept)


def chain(steps):
    """A function of so many steps, of which the last has a wrong index."""
    x, i = T.dvector("x"), T.lvector("i")
    value = x
    for k in range(steps):
        value = value[i] if k % 2 else T.cumsum(value)
    wrong = value[i + 100]  # the step that fails
    f = function([x, i], wrong, on_device=True)
    return f, (np.arange(4.0), np.arange(4))


WAITS = {
    "function": lambda f, result: f.sync(),
    "array": lambda f, result: result.sync(),
    "context": lambda f, result: f.context.sync(),
    "reading": lambda f, result: np.asarray(result),
}


@pytest.mark.parametrize("wait", WAITS)
def test_a_wrong_index_is_told_by_the_next_wait_with_its_line(wait):
    f, args = chain(3)
    result = f(*args)
    with pytest.raises(IndexError) as caught:
        WAITS[wait](f, result)
    assert "the step that fails" in text_of(caught.value)
    f.sync()  # it is told once, and the context works on


def test_a_blocking_launch_names_the_one_step_of_many_that_fails(first_context):
    f, args = chain(100)
    first_context.launch_blocking = True
    with pytest.raises(IndexError) as caught:
        f(*args)
    notes = [n for n in caught.value.__notes__ if "made at" in n]
    assert len(notes) == 1 and "the step that fails" in notes[0]
    assert notes[0].count("made at") == 1 and "input 0" in notes[0]


def test_the_setting_makes_launches_wait():
    with theano.config.use(launch_blocking=True):
        f, args = chain(1)
        assert f.context.launch_blocking
        with pytest.raises(IndexError):
            f(*args)
    assert not f.context.launch_blocking
    with theano.config.use(launch_blocking=True), pytest.raises(IndexError):
        f(*args)  # made before
    f.context.launch_blocking = True  # the program's own wish stays
    with theano.config.use(launch_blocking=True):
        pass
    assert f.context.launch_blocking


def test_memory_that_runs_out_in_a_call_leaves_all_shared_variables_as_they_were():
    n = 1 << 16
    x = T.dvector("x")
    a, b = shared(np.full(n, 1.0), name="a"), shared(np.full(n, 2.0), name="b")
    f = function(
        [x], Out(T.outer(a, x), on_device=True), updates=[(a, a + 1), (b, b * a)]
    )
    f(np.ones(2))
    context = f.context
    context.trim()
    limit = context.limit
    try:
        context.limit = context.memory_info().live + (1 << 20)
        with pytest.raises(OutOfMemory):
            f(np.ones(64))
    finally:
        context.limit = limit
    assert np.all(a.get_value() == 2) and np.all(b.get_value() == 2)
    f(np.ones(2))
    assert np.all(a.get_value() == 3) and np.all(b.get_value() == 4)


def test_memory_that_runs_out_after_a_pause_does_too():
    n = 1 << 16
    x = T.dvector("x")
    a = shared(np.full(n, 1.0), name="a")
    new = a + 1  # in the place of the old
    k = T.cast(T.argmax(new[:2]) + x.shape[0], "int64")  # the device computes a length
    result = Out(T.outer(new, T.zeros((k,))), on_device=True)
    f = function([x], result, updates=[(a, new)])
    f(np.ones(2))
    context = f.context
    context.trim()
    limit = context.limit
    try:
        context.limit = context.memory_info().live + (1 << 21)
        with pytest.raises(OutOfMemory):
            f(np.ones(64))
    finally:
        context.limit = limit
    assert np.all(a.get_value() == 2)


def test_an_array_of_another_context_is_refused(null):
    x = T.dmatrix("x")
    w = shared(np.zeros((2, 3)), name="w")
    f = function([x], x + 1, updates=[(w, w + x)])
    other = gpuarray.zeros((2, 3), context=null)
    with pytest.raises(ValueError, match="lives on null"):
        f(other)
    assert np.all(w.get_value() == 0)


@pytest.mark.parametrize("name", [None, "f"])
def test_an_axis_that_broadcasts_is_told_with_the_input(first_context, name):
    r = T.drow("r")  # the input
    f = function([r], r * 2, name=name)
    wrong = X, X.tolist(), gpuarray.asarray(X, context=first_context)
    texts = set()
    for each in wrong:
        with pytest.raises(TypeError) as caught:
            f(each)
        texts.add(str(caught.value))
    (text,) = texts
    assert f"{f.name}: input 0 (r): an array of float64, shape (2, 3), has" in text
    assert "length 2 on axis 0, expected 1" in text and "# the input" in text


@pytest.mark.parametrize("of_a_function", [False, True])
def test_an_array_of_a_closed_context_is_told_so(null, of_a_function):
    v = T.dvector("v")  # the input
    a = gpuarray.zeros(3, "float64", context=null)
    with theano.config.use(device="null"):
        if of_a_function:
            null.runs_dry = True
            a = function([v], Out(v + 1, on_device=True))(a)
        null.close()
        f = function([v], v * 2, name="f")  # on the context that is open now
    for place in (f, function([v], v * 2, name="f")):
        with pytest.raises(ContextClosed) as caught:
            place(a)
        text = str(caught.value)
        assert "f: input 0 (v): the array's context 'null' is closed; move" in text
        assert f"context={place.context.name!r})" in text and "# the input" in text


def test_a_read_only_value_is_not_written():
    w = shared(np.zeros(3), name="w")
    f = function([], [], updates=[(w, w + 1)])
    kept = gpuarray.asarray(np.ones(3), context=f.context)
    view = gpuarray.broadcast_to(kept, (3,))
    w.set_value(view, borrow=True)
    f()
    assert np.all(w.get_value() == 2) and np.all(np.asarray(kept) == 1)


def test_what_is_queued_without_waiting_is_bounded(first_context):
    x = shared(np.zeros(1 << 12), name="x")
    f = function([], [], updates=[(x, T.tanh(T.exp(x)) * 0.5)])
    f()
    f.sync()
    begin = first_context.record()
    for _ in range(10_000):
        f()
    assert begin.done  # of 10,000 calls no more than some thousand are unfinished
    f.sync()
