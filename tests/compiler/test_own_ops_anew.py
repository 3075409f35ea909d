"""Ops of a program's own that are defined a second time: which are the same."""

import pickle

import numpy as np
import pytest
from gpuarray.compiler import config, elementwise_op, function, kernel_op, tensor as T
from gpuarray.compiler.gradient import grad
from gpuarray.compiler.ops.custom import own


def test_a_name_may_be_loaded_again(restored_rows):
    for _ in range(2):

        @elementwise_op("x + 1", lambda x: x + 1)
        def own_successor(m, g, y, x):
            return g

    assert restored_rows["own_successor"].expression == "{0} + 1"


def defined(support, gradient=lambda g, x: g, reference=np.positive):
    @elementwise_op("own_helper(x)", reference, support=support)
    def own_edited(m, g, y, x):
        return gradient(g, x)

    return own_edited


HELPER = "WITHIN_KERNEL {t} own_helper({t} x) { return %s; }"


def test_an_operation_defined_anew_is_another_one(restored_rows, context):
    with config.use(device=context.name, floatX="float32"):
        u = T.fvector("u")
        first = defined(HELPER % "x + 1", lambda g, x: g, lambda x: x + 1)
        before = first(u)
        f = function([u], before)
        second = defined(HELPER % "x * 10", lambda g, x: g * 10, lambda x: x * 10)
        after = second(u)
        assert before.owner.op != after.owner.op
        assert first.__name__ == second.__name__ == "own_edited"
        values = np.array([1, 2, 3], "f4")
        np.testing.assert_array_equal(f(values), values + 1)
        for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode"):
            outputs = [before, after, before - after]
            one, ten, both = function([u], outputs, mode=mode)(values)
            np.testing.assert_array_equal(one, values + 1)
            np.testing.assert_array_equal(ten, values * 10)
            np.testing.assert_array_equal(both, values + 1 - values * 10)
        slopes = function([u], [grad(each.sum(), u) for each in (before, after)])
        np.testing.assert_array_equal(slopes(values), [[1] * 3, [10] * 3])
        loaded = pickle.loads(pickle.dumps([u, before, after]))
        one, ten = function(loaded[:1], loaded[1:])(values)
        np.testing.assert_array_equal(one, values + 1)
        np.testing.assert_array_equal(ten, values * 10)


def test_an_operation_of_another_gradient_or_reference_is_another_one(restored_rows):
    u = T.dvector("u")
    text = HELPER % "x"
    first = defined(text)(u).owner.op
    assert defined(text)(u).owner.op == first  # as of a module loaded again
    assert defined(text, lambda g, x: g * 2)(u).owner.op != first
    assert defined(text, reference=lambda x: x + 0)(u).owner.op != first
    assert defined(text)(u).owner.op == first


def test_a_pickle_of_an_operation_that_is_no_more_says_so(restored_rows, monkeypatch):
    text = HELPER % "x + 5"
    kept = pickle.dumps(defined(text)(T.dvector("u")))
    monkeypatch.setattr(own, "OWN", {})
    with pytest.raises(ValueError, match=r"needs the operation 'own_edited'.*none"):
        pickle.loads(kept)


def test_kernel_ops_of_another_gradient_are_others():
    def made(factor):
        @kernel_op(
            "T x[n] -> T y[n]", "STORE(y, i, LOAD(x, i));", reference=np.copy, n="n"
        )
        def own_copied(m, g, y, x):
            return g * factor

        return own_copied

    assert made(1) == made(1) and hash(made(1)) == hash(made(1))
    assert made(1) != made(2)
