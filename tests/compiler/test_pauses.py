"""Integers that the host must know, steps that are functions, plans that pause."""

from typing import ClassVar

import gpuarray
import gpuarray.compiler.tensor as T
import numpy as np
import pytest
from gpuarray.compiler import Op, function, shared
from gpuarray.compiler.gpukernels import lowers, step_function
from gpuarray.compiler.graph.core import Apply, as_variable
from gpuarray.compiler.graph.types import TensorType
from gpuarray.compiler.ops.variables.basic import as_tensor_variable


class First(Op):
    """The first ``n`` elements of a vector; ``recorded`` says how it is lowered."""

    __props__ = ("recorded",)
    view_map: ClassVar = {0: [0]}

    def __init__(self, recorded=True):
        self.recorded = recorded

    def make_node(self, x, n):
        x, n = as_variable(x), as_tensor_variable(n)
        return Apply(self, [x, n], [TensorType(x.dtype, (False,))()])

    def host_inputs(self, node):
        return (1,)

    def reference(self, x, n):
        return x[: int(n)]


CALLS = []


@step_function("test: first")
def first(x, n):
    CALLS.append(n)
    return x[:n]


@lowers(First)
def lower_first(op, node, k):
    k.call(node, "test: first", node.inputs, recorded=op.recorded)


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


X = np.arange(10.0)


@pytest.mark.parametrize("recorded", [True, False])
def test_an_integer_input_settles_a_shape(recorded, context):
    x, n = T.dvector("x"), T.iscalar("n")
    with gpuarray.context(context):
        f = function([x, n], [First(recorded)(x * 2, n + 1) + 1, n * 3])
        for count in (3, 5, 3):
            part, tripled = f(X, count)
            np.testing.assert_array_equal(part, X[: count + 1] * 2 + 1)
            assert tripled == 3 * count and tripled.dtype == np.int32
    # What is recorded is called once for each set of integers, the rest at each call.
    again = [] if recorded else [4]
    assert [*CALLS] == [4, 6, *again]


def test_an_integer_that_the_device_computes_is_read(context):
    x, v = T.dvector("x"), T.lvector("v")
    with gpuarray.context(context):
        f = function([x, v], First()(x + 1, v.sum()).sum())
        assert "read" in str(f.plan) and "waits" in str(f.plan)
        for values in ([1, 2], [4, 0, 0], [0]):
            assert f(X, np.array(values)) == (X[: sum(values)] + 1).sum()


def test_a_shared_integer_is_read(context):
    n = shared(np.int64(2), name="n")
    x = T.dvector("x")
    with gpuarray.context(context):
        f = function([x], First()(x, n), updates={n: n + 1})
        assert [len(f(X)) for _ in range(3)] == [2, 3, 4]


def test_a_reshape_to_a_vector_of_lengths(context):
    x, v = T.dvector("x"), T.lvector("v")
    with gpuarray.context(context):
        f = function([x, v], (x * 2).reshape(v, ndim=2).T)
        np.testing.assert_array_equal(f(X, [5, 2]), (X * 2).reshape(5, 2).T)
        with pytest.raises(ValueError, match="holds 3 lengths, expected 2") as caught:
            f(X, [5, 2, 1])
        assert "in function: Reshape{2}" in caught.value.__notes__[-1]
        np.testing.assert_array_equal(f(X, [2, 5]), (X * 2).reshape(2, 5).T)


def test_a_read_tells_of_wrong_indices_before_it(context):
    x, places = T.dvector("x"), T.lvector("places")
    w = shared(np.ones(3), name="w")
    with gpuarray.context(context):
        picked = x[places].sum()  # the line
        f = function([x, places], First()(x, T.cast(picked, "int64")), updates={w: -w})
        assert len(f(X, [1, 2])) == 3
        with pytest.raises(IndexError, match="index 22 is out of bounds") as caught:
            f(X, [1, 22])
        assert "# the line" in caught.value.__notes__[-1]
        np.testing.assert_array_equal(w.get_value(), [-1, -1, -1])
        assert len(f(X, [1, 2])) == 3


def test_lengths_cross_a_pause(context):
    x, y = T.dmatrix("x"), T.dvector("y")
    with gpuarray.context(context):
        picked = First(False)(y, x.shape[0] * 2)
        f = function([x, y], picked.reshape((x.shape[0], 2)) + x.shape[1])
        found = f(np.zeros((3, 4)), X)
    np.testing.assert_array_equal(found, X[:6].reshape(3, 2) + 4)


def test_integers_are_computed_on_the_host_as_the_device_would(context):
    n, m = T.bscalar("n"), T.lscalar("m")
    x = T.dvector("x")
    expressions = [
        n % 3,
        abs(-m),
        T.switch(T.lt(n, m), n, m),
        T.switch(T.ge(n, m) & T.neq(n, 2), m, n // 2),
        n * n,  # of int8: 12 * 12 wraps to -112
        T.cast(n * n, "uint8"),
        T.sgn(m) + T.maximum(n, m),
    ]
    with gpuarray.context(context):
        f = function([x, n, m], [*(First()(x, e) for e in expressions), *expressions])
        assert "read" not in str(f.plan)
        for given in ((1, 2), (12, 5), (3, 9)):
            found = f(np.arange(300.0), *given)
            for part, value in zip(found[:7], found[7:], strict=True):
                assert len(part) == len(range(300)[: int(value)])


def test_an_error_of_a_function_names_the_line(context):
    class Broken(First):
        pass

    @lowers(Broken)
    def lower(op, node, k):
        k.call(node, "test: first", [node.inputs[0], node.inputs[0]])

    x = T.dvector("x")
    with gpuarray.context(context):
        f = function([x], Broken()(x, 3))  # the line
        with pytest.raises(Exception) as caught:
            f(X)
    assert "# the line" in caught.value.__notes__[0]
