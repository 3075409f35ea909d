"""Arguments of functions: what is refused, and what its message says."""

import gpuarray
import gpuarray.compiler as theano
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import function, shared
from test_function import vector

pytestmark = pytest.mark.usefixtures("on_context")


def test_a_wrong_shape_names_the_step_and_the_user_s_line():
    x, y = T.vector("x"), T.vector("y")
    f = function([x, y], x * y)  # the line in question
    with pytest.raises(ValueError, match=r"was not declared|do not") as raised:
        f(vector(3), vector(4))
    assert "test_function_arguments.py" in "".join(raised.value.__notes__)
    assert np.array_equal(f(vector(3), vector(3)), vector(3) ** 2)


def test_a_wrong_dtype_says_what_to_do():
    x = T.fvector("x")
    f = function([x], x + 1)
    with pytest.raises(TypeError, match="astype"):
        f(vector(3, dtype="float64"))
    assert (
        function([x], x + 1, allow_input_downcast=True)(
            vector(3, dtype="float64")
        ).dtype
        == np.float32
    )


def test_an_array_of_another_context_is_refused(on_context):
    x = T.fvector("x")
    f = function([x], x + 1)
    elsewhere = gpuarray.asarray(vector(3), context="null")
    with pytest.raises(ValueError, match="lives on null"):
        f(elsewhere)


def test_mistakes_are_found_when_compiling():
    x, y = T.vector("x"), T.vector("y")
    w = shared(vector(3))
    with pytest.raises(ValueError, match="not used"):
        function([x, y], x)
    with pytest.raises(ValueError, match="no input"):
        function([x], x + y)
    with pytest.raises(TypeError, match="cast it"):
        function([], updates={w: T.cast(w, "float64")})
    with pytest.raises(TypeError, match="no shared variable"):
        function([x], updates={x: x + 1})
    with pytest.raises(TypeError, match="symbolic variable"):
        function([3], x)


def test_debugprint_and_repr_tell_what_runs(capsys):
    x = T.vector("x")
    f = function([x], T.exp(x), name="f")
    theano.printing.debugprint(f)
    assert "GpuElemwise{exp" in capsys.readouterr().out
    assert "f(x)" in repr(f)
    assert "launch" in str(f.plan)


def test_a_function_needs_neither_inputs_nor_outputs():
    assert function([])() == []
    assert function([], [])() == []


def test_wrong_arguments_are_counted_and_named():
    x, y, nameless = T.vector("x"), T.vector("y"), T.vector()
    f = function([x, y], x - y)
    for args, named in (((1,), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((), {"y": 1})):
        with pytest.raises(TypeError, match="expected 2: x, y"):
            f(*args, **named)
    g = function([nameless, y], nameless - y)
    assert np.array_equal(g(vector(3), y=vector(3)), np.zeros(3))
    with pytest.raises(TypeError, match="expected 2"):
        g(y=vector(3))


def test_a_failed_call_leaves_shared_variables_as_they_were():
    w, u, x = shared(vector(4)), shared(vector(4, 1)), T.vector("x")
    f = function([x], updates={w: w + 1, u: u * x})
    for wrong in (vector(3), vector(4, dtype="float64")):
        with pytest.raises((ValueError, TypeError)):
            f(wrong)
    assert np.array_equal(w.get_value(), vector(4))
    assert np.array_equal(u.get_value(), vector(4, 1))
    f(np.ones(4, "float32"))
    assert np.array_equal(w.get_value(), vector(4) + 1)


def test_a_device_array_of_the_wrong_type_is_refused_by_name(on_context):
    x = T.fvector("x")
    f = function([x], x + 1, name="f")
    for wrong in (np.ones((2, 2), "float32"), np.ones(3, "int32")):
        with pytest.raises(TypeError, match=r"f: input 0 \(x\): given .* axes, expect"):
            f(gpuarray.asarray(wrong, context=on_context))


def test_an_update_keeps_the_axes_that_broadcast():
    row = shared(np.ones((1, 3), "float32"), broadcastable=(True, False))
    m = T.matrix("m")
    with pytest.raises(TypeError, match="must do so in the update too"):
        function([m], updates={row: row + m})
    f = function([m], updates={row: row + m.sum(axis=0, keepdims=True)})
    f(np.ones((2, 3), "float32"))
    assert row.get_value().tolist() == [[3, 3, 3]]


def test_inputs_are_a_list_and_unused_ones_can_be_warned_of():
    x, y = T.vector("x"), T.vector("y")
    with pytest.raises(TypeError, match="expected a list"):
        function(x, x)
    with pytest.raises(ValueError, match="twice"):
        function([x, x], x)
    with pytest.warns(UserWarning, match="the input y is not used") as told:
        f = function([x, y], x, on_unused_input="warn")
    assert told[0].filename == __file__
    assert np.array_equal(f(vector(2), vector(2)), vector(2))
