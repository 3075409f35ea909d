"""Queues, events and the count of waits."""

import threading

import gpuarray
import numpy as np
import pytest
from gpuarray._ufunc.elementwise import FUNCTIONS


def test_work_goes_to_the_queue_of_the_block(null):
    first = null.queue
    made = null.new_queue()
    assert made != first
    with made:
        assert null.queue == made
        with first:
            assert null.queue == first
        assert null.queue == made
        with made, pytest.raises(KeyError):
            raise KeyError
    assert null.queue == first
    assert len({made, first, null.queue}) == 2


def test_another_thread_keeps_its_queue(null):
    made, seen = null.new_queue(), []
    with made:
        thread = threading.Thread(target=lambda: seen.append(null.queue))
        thread.start()
        thread.join()
    assert seen[0] != made


def test_two_queues_and_one_array(context):
    """The library orders them; nothing else does."""
    made = context.new_queue()
    a = gpuarray.zeros((1000, 100), "f4", context)
    for _ in range(10):
        with made:
            a += 1
        a *= 2
    expected = np.float32(0)
    for _ in range(10):
        expected = (expected + 1) * 2
    assert (np.asarray(a) == expected).all()


def test_events_measure_device_time(context):
    a = gpuarray.zeros((1000, 1000), "f4", context)
    a += 1
    context.sync()
    start = context.record()
    for _ in range(5):
        a += 1
    end = context.record()
    seconds = end.seconds_since(start)
    assert 0 < seconds < 60
    assert start.done
    assert end.done


def test_a_queue_waits_for_an_event(context):
    made = context.new_queue()
    event = context.queue.record()
    made.wait(event)
    with made:
        b = gpuarray.zeros((10,), "f4", context) + 1
    made.sync()
    event.sync()
    assert b.sum().item() == 10


def test_the_handle_for_other_libraries(first_context, null):
    assert first_context.stream == first_context.queue.handle != 0
    made = first_context.new_queue()
    assert made.handle not in (0, first_context.stream)
    with pytest.raises(ValueError, match="a queue of null has none"):
        _ = null.stream


def test_misuse(null, first_context):
    with pytest.raises(TypeError, match="got int, expected an Event"):
        null.queue.wait(3)
    with pytest.raises(TypeError, match="got NoneType, expected an Event"):
        null.record().seconds_since(None)
    with pytest.raises(ValueError, match="the queue is of null"):
        null.queue.wait(first_context.record())
    assert repr(null.queue) == "<queue of 'null'>"
    assert "event" in repr(null.record())


def test_only_what_waits_counts(context):
    a = gpuarray.asarray(np.ones(100, "f4"), context=context)
    b = a + 1
    context.sync()
    before = context.waits
    for _ in range(10):
        b = (a + b) * 2
        c = b.sum()
        d = b[3:7].T.copy()
        d[...] = 0
    assert context.waits == before
    c.item()
    assert context.waits == before + 1
    b.sync()
    assert context.waits == before + 2


FAMILIES = {
    "shapes": lambda g, a: (
        a.reshape(-1)[3:9],
        a.T.copy(),
        g.concatenate([a, a]),
        g.stack([a, a], axis=1),
        g.repeat(a, 2),
        g.roll(a, 1, axis=0),
        g.flip(a, axis=1),
        g.where(a > 0, a, -a),
        g.broadcast_to(a[:1], a.shape) + a,
    ),
    "reductions": lambda g, a: (
        a.sum(),
        a.mean(axis=0),
        a.std(axis=1),
        a.max(axis=1),
        a.argmin(),
        g.any(a > 3),
        a.cumsum(axis=1),
        g.median(a, axis=1),
    ),
    "order": lambda g, a: (
        g.sort(a, axis=1),
        g.argsort(a, axis=0),
        g.topk(a, 3),
        g.searchsorted(g.sort(a[0]), a[1]),
    ),
    "indices": lambda g, a: (
        a[g.asarray([1, 0, 1], context=a.context)],
        a[:, ::-2],
        g.take(a, g.asarray([0, 2], context=a.context), axis=1),
        a[0, 0],
    ),
    "products": lambda g, a: (
        a @ a.T,
        g.tensordot(a, a, axes=([0], [0])),
        g.dot(a[0], a[1]),
    ),
    "filling": lambda g, a: (
        g.zeros_like(a),
        g.full((3, 4), 2.5, "f4", a.context),
        g.arange(10, context=a.context),
        a.astype("i4"),
        g.random.default_rng(1, a.context).random((5,)),
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_function_waits(first_context, family):
    """Of those whose results do not depend on values in their shape."""
    host = np.random.default_rng(0).standard_normal((6, 8)).astype("f4")
    a = gpuarray.asarray(host, context=first_context)
    before = first_context.waits
    results = FAMILIES[family](gpuarray, a)
    assert first_context.waits == before
    first_context.sync()
    assert first_context.waits == before + 1
    assert len(results) > 2


def test_no_elementwise_function_waits(first_context):
    a = gpuarray.asarray(np.full((3, 4), 0.5, "f4"), context=first_context)
    before, called = first_context.waits, 0
    for function in FUNCTIONS.values():
        for arity in (1, 2, 3):
            try:
                function(*[a] * arity)
            except (TypeError, NotImplementedError):
                continue
            called += 1
            break
    assert called > 60
    assert first_context.waits == before
