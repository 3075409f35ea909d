"""What becomes of shared variables: which updates run, and of what types they are."""

import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray import asarray
from gpuarray.compiler import In, OrderedUpdates, config, function, shared


def test_a_default_update_of_a_variable_that_is_not_read_does_not_run(context):
    with config.use(device=context.name, floatX="float64"):
        x = T.dscalar("x")
        a, b = (shared(np.float64(n), name=name) for n, name in ((1, "a"), (5, "b")))
        a.default_update, b.default_update = a + 1, b * 2 + a * 0
        f = function([x], b + x, givens={a: x})
        assert f(1.0) == 6 and a.get_value() == 1 and b.get_value() == 10
        f = function([x], b + x, no_default_updates=[b])
        assert f(1.0) == 11 and a.get_value() == 1 and b.get_value() == 10
        f = function([x], b + x, updates={b: b + 1.0})
        assert f(1.0) == 11 and a.get_value() == 1 and b.get_value() == 11
        f = function([x], b + x)
        assert f(1.0) == 12 and a.get_value() == 2 and b.get_value() == 22
        f = function([x], x + 1)
        assert f(1.0) == 2 and a.get_value() == 2 and b.get_value() == 22


def test_a_default_update_may_be_deleted(context):
    with config.use(device=context.name, floatX="float64"):
        a = shared(np.float64(1), name="a")
        a.default_update = a + 1
        del a.default_update
        assert a.default_update is None
        f = function([], a * 2)
        assert f() == 2 and f() == 2


def test_an_update_has_the_type_of_what_it_updates(context):
    with config.use(device=context.name, floatX="float64"):
        m, v = shared(np.zeros((3, 4)), name="m"), T.dvector("v")
        one = T.TensorType("float64", (True, True))("one")
        row = T.drow("row")
        for value in (one, row, T.ones((1, 1)), m.mean(0, keepdims=True)):
            with pytest.raises(TypeError, match=r"update of m.*and no others"):
                function([], [], updates={m: value}, on_unused_input="ignore")
        function([row], [], updates={m: m + row})([[1.0, 2, 3, 4]])
        np.testing.assert_array_equal(m.get_value(), [[1, 2, 3, 4]] * 3)
        r = shared(np.zeros((1, 4)), broadcastable=(True, False), name="r")
        function([row], [], updates={r: r + row})([[1.0, 2, 3, 4]])
        np.testing.assert_array_equal(r.get_value(), [[1, 2, 3, 4]])
        with pytest.raises(TypeError, match="the update of v"):
            function([In(v, value=[1.0], update=v[:1].mean(keepdims=True))], v)
        with pytest.raises(TypeError, match="the update of v"):
            function([In(v, value=[1.0], update=T.cast(v, "float32"))], v)


def test_updates_are_added_from_either_side():
    a, b, c = (shared(np.float32(i), name=n) for i, n in enumerate("abc"))
    ours, theirs = OrderedUpdates([(a, a + 1), (b, b + 2)]), {c: c + 3}
    for both in (ours + theirs, theirs + ours, ours + list(theirs.items())):
        assert type(both) is OrderedUpdates
        assert set(both) == {a, b, c} and both[c] is theirs[c] and both[a] is ours[a]
    assert [*(theirs + ours)] == [c, a, b] and [*(ours + theirs)] == [a, b, c]
    with pytest.raises(KeyError, match="a is updated already"):
        {a: a * 2} + ours
    assert {a: ours[a]} + ours == ours and len(ours) == 2


def test_a_value_that_stays_is_not_copied(context):
    """It is the variable's own memory; a result is not, nor what a caller gave."""
    with config.use(device=context.name, floatX="float64"):
        a, x = shared(np.ones(3), name="a"), T.dvector("x")
        f = function([], a, updates={a: a * 1}, on_device=True)
        results = [f(), f()]
        assert str(f.plan).count("copy(") == 1
        function([], [], updates={a: a * 2})()
        assert np.asarray(results[0]).tolist() == np.asarray(results[1]).tolist()
        assert f().tolist() == a.get_value().tolist() == [2, 2, 2]
        state = function([In(x, value=np.zeros(3), update=x)], x.sum())
        given = asarray(np.ones(3), context=context)
        assert state(given) == 3
        given += 1
        assert state() == 3
