"""Shared variables: who owns the value, and where it is."""

import pickle

import gpuarray
import numpy as np
import pytest
from evaluate import evaluate
from gpuarray.compiler import TensorType, function, shared
from gpuarray.compiler.graph.core import Variable
from gpuarray.compiler.graph.types import generic


def test_a_shared_variable_has_the_type_of_its_value():
    assert shared(np.ones((2, 1), "f4")).type == TensorType("float32", (False, False))
    assert shared(0.0).type == TensorType("float64", ())
    assert shared(3).type == TensorType("int64", ())
    assert shared(np.float32(1)).type == TensorType("float32", ())
    row = shared(np.ones((1, 3)), broadcastable=(True, False))
    assert row.type == TensorType("float64", (True, False))


def test_a_shared_variable_prints_by_name():
    assert str(shared(0.0, name="b")) == "b"
    assert str(shared(0.0, "b")) == "b"
    assert str(shared(0.0)) == "<TensorType(float64, scalar)>"


def test_values_are_copied_in_and_out_unless_borrowed():
    array = np.ones(3)
    copied, lent = shared(array), shared(array, borrow=True)
    array[0] = 5
    assert copied.get_value()[0] == 1
    assert lent.get_value()[0] == 5
    assert lent.get_value(borrow=True) is array
    assert lent.get_value() is not array
    copied.set_value(array)
    array[0] = 7
    assert copied.get_value()[0] == 5
    copied.set_value(array, borrow=True)
    assert copied.get_value(borrow=True) is array


def test_a_value_keeps_its_type_and_may_change_its_shape():
    w = shared(np.ones(3, "f4"), name="w")
    w.set_value(np.zeros(5, "f2"))
    assert w.get_value().dtype == "float32"
    assert w.get_value().shape == (5,)
    with pytest.raises(TypeError, match="expected 1"):
        w.set_value(np.ones((2, 2), "f4"))
    with pytest.raises(
        TypeError, match=r"set_value: w: .*float64 does not fit float32"
    ):
        w.set_value(np.array([0.1]))
    w.set_value(np.array([3.0], "f4"))
    w.zero()
    np.testing.assert_array_equal(w.get_value(), [0])


def test_a_shared_variable_is_used_as_any_other():
    w = shared(np.arange(3.0), name="w")
    assert isinstance(w, Variable)
    np.testing.assert_array_equal(evaluate((w + 1) * 2), [2, 4, 6])
    w.set_value(np.zeros(2))
    np.testing.assert_array_equal(evaluate((w + 1) * 2), [2, 2])


def test_a_clone_shares_the_container():
    w = shared(np.arange(3.0), name="w")
    copy = w.clone("copy")
    w.set_value(np.zeros(2))
    np.testing.assert_array_equal(copy.get_value(), [0, 0])
    assert copy.name == "copy"


def test_what_is_no_value_is_refused():
    for value in (shared(1.0), np.array(["text"]), ["text"]):
        with pytest.raises(TypeError, match="shared: given"):
            shared(value)


def test_a_value_moves_to_a_context_once_and_stays_there():
    context = gpuarray.context("null")
    w = shared(np.arange(3.0), target="null")
    assert w.container.context_name == "null"
    assert isinstance(w.container.value, np.ndarray)
    there = w.container.device_value(context)
    assert isinstance(there, gpuarray.Array)
    assert w.container.device_value(context) is there
    assert w.container.value is there
    np.testing.assert_array_equal(w.get_value(), [0, 1, 2])
    assert isinstance(w.get_value(), np.ndarray)
    assert w.get_value(borrow=True, return_internal_type=True) is there
    w.set_value(np.ones(2))
    np.testing.assert_array_equal(w.get_value(), [1, 1])


def test_an_array_of_a_context_can_be_shared():
    context = gpuarray.context("null")
    array = gpuarray.asarray(np.arange(3.0), context=context)
    w = shared(array, borrow=True)
    assert w.container.value is array
    assert w.type == TensorType("float64", (False,))
    with pytest.raises(TypeError, match="expected TensorType"):
        w.set_value(gpuarray.asarray(np.arange(3), context=context))


# ---- objects ----


@pytest.mark.parametrize("value", [{"a": [1]}, "abc", None, {1, 2}, Variable])
def test_any_object_can_be_shared(value):
    kept = shared(value, "kept")
    assert kept.type == generic and str(kept) == "kept"
    assert kept.get_value() == value
    assert kept.clone().get_value() == value
    kept.set_value([3])
    assert kept.get_value() == [3]


def test_an_object_is_copied_unless_it_is_borrowed():
    given = {"a": [1]}
    own, lent = shared(given), shared(given, borrow=True)
    given["a"].append(2)
    assert own.get_value() == {"a": [1]} and lent.get_value() == {"a": [1, 2]}
    assert lent.get_value(borrow=True) is given and lent.get_value() is not given
    own.get_value()["a"].append(3)
    assert own.get_value() == {"a": [1]}
    assert pickle.loads(pickle.dumps(own)).get_value() == {"a": [1]}


def test_no_function_computes_with_an_object():
    table = shared({}, "table")
    x = TensorType("float32", ())("x")
    for make in (
        lambda: function([], table),
        lambda: function([x], x, updates=[(table, x)]),
    ):
        with pytest.raises(TypeError, match="table is of the type Generic") as caught:
            make()
        assert __file__ in str(caught.value)
    with pytest.raises(TypeError, match=r"table of Generic\(\), expected an array"):
        table + 1
    with pytest.raises(TypeError, match=r"table is .*, expected an array"):
        table.zero()


def test_arrays_of_other_things_are_no_objects():
    for value in (np.array(["a"]), np.array([{}], object), ["a"], np.str_("a")):
        with pytest.raises(TypeError, match="expected a number or an array"):
            shared(value)
    for options in ({"broadcastable": ()}, {"target": "cpu"}):
        with pytest.raises(TypeError, match="expected a number or an array"):
            shared("abc", **options)
